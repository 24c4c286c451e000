/* The entry points beside LD_PRELOAD. */
#ifndef KC_SHIM_ENTRY_INJECT_H
#define KC_SHIM_ENTRY_INJECT_H

#include "shim/shim.h"

void kc__tell_audit(void); /* the address of kerncast_route() */
/* Driver calls that must be seen where no function can be interposed. */
extern const uint32_t kc__injected_ids[];
extern const size_t kc__injected_count;
/* A CUpti_CallbackData of the driver's domain; true: nobody else is to look at it. */
bool kc__injected_call(uint32_t id, const void *data);
bool kc__injected(void);
bool kc__is_preloaded(void);   /* this copy of the library, in the base namespace */
bool kc__injected_alone(void); /* and not preloaded: transfers are not seen */

#endif
