/*
 * Readable names of kernels. A small reader of the Itanium C++ ABI's mangled
 * names (itanium-cxx-abi.github.io, section 5.1): nested names, templates,
 * substitutions, operators and parameter types, which is what kernels have. It
 * stands in for __cxa_demangle, which would bring libstdc++ into every app.
 */
#ifndef KC_DEMANGLE_H
#define KC_DEMANGLE_H

#include <stddef.h>

/* Writes the readable form, or the name itself where it is not mangled or uses
 * something this reader does not know. Returns 1 when it was demangled, else 0.
 * The result is cut to size - 1 bytes. No allocation; stack use below 128 KiB. */
int kc_demangle(const char *mangled, char *out, size_t size);

#endif
