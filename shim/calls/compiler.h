/* Compilers and linkers in the process. */
#ifndef KC_SHIM_CALLS_COMPILER_H
#define KC_SHIM_CALLS_COMPILER_H

#include "shim/shim.h"

/* compiler.c: the number of a function of NVRTC or nvJitLink that is hooked; -1: it is none of them */
int kc__compiler_function(const char *symbol);
/* What dlsym() is to answer its caller, where the real one has found address. */
void *kc__compiler_route(int function, const char *symbol, void *address, const void *caller);

#endif
