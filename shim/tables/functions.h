/* The kernels behind the driver's handles, and their launch shapes. */
#ifndef KC_SHIM_TABLES_FUNCTIONS_H
#define KC_SHIM_TABLES_FUNCTIONS_H

#include "shim/shim.h"

/* Asks the driver for a function's parameters, of which it takes KC__PARAMETERS_MAX at most. as_kernel: the handle is a
 * CUkernel where nothing else tells. Returns false if the driver cannot tell, or if the function has no parameter. */
bool kc__ask_parameters(CUfunction f, bool as_kernel, struct kc__parameter *at, uint32_t *count);
struct kc__function *kc__function_of(CUfunction f, struct kc__device *device);
void kc__function_gone(CUfunction f); /* on any device. tables_lock held */
struct kc__variant *kc__variant_of(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims,
				   const struct kc__given *given);
/* The code has been read since the variant was looked up: kc__variant_of() finds the one with the arguments. */
bool kc__variant_is_outdated(const struct kc__variant *variant);
/* Worker, tables_lock held: the same launch, told by its arguments, before a launching thread has to work that out.
 * before: made without them. The formula need not have been published. */
void kc__variant_prepare(struct kc__variant *before, struct kc__formula *formula);

#endif
