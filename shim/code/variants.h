/* Launch shapes of kernels, told apart by the arguments that matter to a kernel's formula once that is known. */
#ifndef KC_SHIM_VARIANTS_H
#define KC_SHIM_VARIANTS_H

#include "shim/shim.h"

/* The first launch of a kernel may wait here for its code to be read. */
struct kc__variant *kc__variant_of(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims,
				   const struct kc__given *given);
/* The code has been read since the variant was looked up: kc__variant_of() finds the one with the arguments. */
bool kc__variant_is_outdated(const struct kc__variant *variant);
/* Worker, tables_lock held: the same launch, told by its arguments, before a launching thread has to work that out.
 * before: made without them. The formula need not have been published. */
void kc__variant_prepare(struct kc__variant *before, struct kc__formula *formula);

#endif
