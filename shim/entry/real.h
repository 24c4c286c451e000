/* The functions behind the hooks, and the C library's own. */
#ifndef KC_SHIM_ENTRY_REAL_H
#define KC_SHIM_ENTRY_REAL_H

#include "shim/shim.h"

struct link_map; /* link.h */

extern void *_Atomic kc__real[KC_HOOK_COUNT];
#define KC_REAL(symbol) ((__typeof__(&symbol))kc__real_of(KC_HOOK_##symbol))
void *kc__real_slow(enum kc_hook hook);
static inline void *kc__real_of(enum kc_hook hook)
{
	void *f = atomic_load_explicit(&kc__real[hook], memory_order_relaxed);
	return __builtin_expect(f != NULL, 1) ? f : kc__real_slow(hook);
}
/* The driver's own function, hooked or not; NULL where the driver lacks it. */
void *kc__driver_symbol(const char *symbol);
#define KC_ASK(symbol) ((__typeof__(&symbol))kc__driver_symbol(#symbol))
/* The hook for an exported symbol's name, -1 for none. */
int kc__hook_by_symbol(const char *symbol);
/* What to answer with in place of an address that the driver has found: our hook, or the address itself. */
void *kc__route_symbol(const char *symbol, void *handle, void *address);
void *kc__route_proc(const char *name, int version, bool per_thread, void *address);
int kc__is_ours(const void *address);
/* Or ours, in its place. handle: by which the application asked for it */
bool kc__is_drivers(const void *address, void *handle);
/* The same for a binding, which the loader asks about in the middle of its work.
 * base_driver: the driver in the base namespace, NULL where there is none. */
void *kc__route_binding(const char *symbol, void *address, struct link_map *base_driver);
bool kc__driver_reached(void); /* by a call or look-up that we have seen */
bool kc__driver_apart(void);   /* the driver is in a namespace of its own (dlmopen) */
bool kc__apart(void);          /* we are in one: the driver there has loaded us (inject.c) */

/* libc.c */
void kc__libc_find(void); /* kc__real_dlsym is known */

/* process_end.c */
void kc__process_end_find(void);  /* likewise */
void kc__process_end_begin(void); /* recording begins */

#endif
