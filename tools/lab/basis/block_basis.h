/*
 * The basis over block sizes: a kernel's time at block sizes never timed, from
 * what the speed-ups of many kernels have in common.
 *
 * Rows hold rates: time at any reference / time; the rows of one kernel carry one group number.
 *
 * Source: Kanchiraju et al.: the speed-up of a kernel is a linear combination of
 * the singular vectors, whose coefficients are found by least squares over the
 * timed block sizes. The paper uses seven vectors and does not say how many are
 * best; here their number is chosen by cross-validation.
 *
 * No function here allocates, locks or reads a clock.
 */
#ifndef KC_BASIS_H
#define KC_BASIS_H

#include "store/replay/sweep.h"

#include <stdint.h>

/* 0; -EINVAL: no rows, no columns, too many columns. Each row is first normalised to length 1. */
int kc_basis_train(struct kc_basis *basis, const double *rows, uint32_t count, uint32_t columns);

/* Rates of all columns from those of the timed ones, by k components. Each is limited to a tenth of the smallest and
 * ten times the largest timed one. 0; -EINVAL: k or timed_count is 0 or too large. */
int kc_basis_fit(const struct kc_basis *basis, uint32_t k, const uint32_t *timed, const double *rates,
		 uint32_t timed_count, double *out);

/* The number of components, 1 to timed_count / 2, with the smallest mean error at the other columns when each group is
 * predicted from the rest. *error: that error, as a share; NAN where there is only one group, and k is 1. */
uint32_t kc_basis_choose(const double *rows, const uint32_t *groups, uint32_t count, uint32_t columns,
			 const uint32_t *timed, uint32_t timed_count, double *error);

#endif
