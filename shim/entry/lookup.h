/* What loaded objects export, and look-ups of our own. */
#ifndef KC_SHIM_ENTRY_LOOKUP_H
#define KC_SHIM_ENTRY_LOOKUP_H

#include "shim/shim.h"

struct link_map; /* link.h */

/* object.c: a function that one loaded object exports, NULL: it does not */
void *kc__object_symbol(const struct link_map *object, const char *name);
bool kc__same_name(const char *a, const char *b); /* as strcmp(), which is not always there for a look-up */
/* A function that the object with this address, or one that it is linked to, exports; NULL: none. It leaves dlerror()
 * as dlsym() does. */
void *kc__callers_symbol(const void *caller, const char *name);
bool kc__in_our_object(const void *address);
struct link_map *kc__object_of(const void *address); /* NULL: none */
/* The object calls the function by its name: the call is bound to the first library that has it. */
bool kc__object_calls(const struct link_map *object, const char *name);
/* Of the functions that the object calls by name, one is bound to an address for which this is true. */
bool kc__object_is_bound(const struct link_map *object, bool (*is)(const char *name, const void *address));

/* dlsym.c: the C library's, for look-ups of our own */
extern void *(*kc__real_dlsym)(void *, const char *);
void *(*kc__dlsym_find_real(void))(void *, const char *);
/* The first of all objects, which is a handle as of dlopen(NULL). */
struct link_map *kc__program(void);
/* Where it would answer with a function of the driver, another preloaded library's dlsym answers the application. */
bool kc__dlsym_interposed(void *handle, const char *name);
void *kc__dlsym_behind_us(const char *name); /* in the loader's order; dlerror() as dlsym() leaves it */
/* What the loader would have bound the caller to without us: the global scope comes first, then what the caller's
 * object is linked to. NULL: nothing, and dlerror() is as dlsym() leaves it. */
void *kc__found_without_us(const char *name, const void *caller);

/* bypass.c: at the end of a process of which nothing was seen: says it where the driver is loaded all the same */
void kc__say_bypassed(void);

#endif
