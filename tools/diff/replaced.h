/* Kernels that came in the place of others. */
#ifndef KC_DIFF_REPLACED_H
#define KC_DIFF_REPLACED_H

#include "compare.h"

/*
 * Sets `replaced` of new and gone kernels where at least half of the launches of
 * both, of the one with more of them, come after the same launches of kernels that
 * both sides have, unless one multiplies or communicates, and the other does something
 * else, as their names tell (kernel_class.h). A gone kernel has one new kernel at most, and the reverse; those
 * that took most time choose first. diff->kernels must be by number. 0 or -ENOMEM.
 */
int kc_diff_replaced(const struct kc_measured_names *names, const struct kc_diff_units *units, struct kc_diff *diff);

#endif
