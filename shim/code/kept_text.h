/*
 * PTX of single kernels that is kept in the database for the next run, as that may load
 * their machine code without it: from a compiler's cache, or with too much other code.
 *
 * A database may be anybody's: a text from it is read like any PTX, for a kernel whose
 * parameters it has as the driver tells them, and where it is not understood the code
 * that was loaded is read as if there were none.
 */
#ifndef KC_SHIM_KEPT_TEXT_H
#define KC_SHIM_KEPT_TEXT_H

#include "shim/shim.h"

#include "predictor/code/ptx/ptx_cut.h"

/* Worker: the text of the kernel that was parsed last is in none of the files that the next run loads. */
void kc__text_keep(const struct kc__kernel *kernel, const struct kc_ptx_cut *cut);
/* Worker: what an earlier run has kept, to be freed; NULL: nothing. */
char *kc__text_kept(const struct kc__kernel *kernel, size_t *length);
/* Whether the kernel has these parameters, each as long and in the same place. */
bool kc__same_layout(const struct kc__kernel *kernel, const struct kc_ptx_function *function);

#endif
