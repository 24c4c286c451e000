/* A profiler of the application's own. */
#ifndef KC_SHIM_ENTRY_PROFILER_H
#define KC_SHIM_ENTRY_PROFILER_H

#include "shim/shim.h"

/* profiler.c: the number of a CUPTI function whose use by the application takes precedence; -1: it is none of them */
int kc__profiler_function(const char *symbol);
/* Worker: the application's profiler has ended since this was asked last, and CUPTI may be called. */
bool kc__profiler_has_ended(void);
/* Functions that the application has registered with CUPTI, and may count on when it profiles again. NULL: none */
struct kc__profiler_told {
	void *requested, *completed, *clock;
};
void kc__profiler_told(struct kc__profiler_told *told);
void kc__profiler_forget(void); /* fork child */
/* What dlsym() is to answer its caller, where the real one has found address. */
void *kc__profiler_route(int function, void *address, const void *caller);

#endif
