/*
 * What the kernels of two sides took, and the parts of the difference that have
 * other reasons than how long the launches that are compared took.
 */
#ifndef KC_DIFF_TOTALS_H
#define KC_DIFF_TOTALS_H

#include "compare.h"

/* Sets launches, total_ns, mix_ns with its parts, and company_ns of the kernels, which are by number, and total_ns of
 * all. 0 or -ENOMEM. */
int kc_diff_add_up(const struct kc_measured_names *names, const struct kc_diff_units *units, struct kc_diff *out);

#endif
