/*
 * A kernel's time at block sizes never timed, from those that were.
 *
 *   kc_block_size    a block, and how many of them an SM holds
 *   kc_block_time    what one problem takes with it
 *   kc_block_curve   one problem of one kernel on one device over block sizes
 *   kc_basis         what the speed-ups of many kernels have in common: the first
 *                    right singular vectors of a matrix with a row each kernel
 *                    and a column each block size (Kanchiraju et al.)
 *
 * Both predictors take time for a linear combination of functions of the block
 * size. kc_basis_fit() is the paper's: coefficients of the singular vectors by
 * least squares over the timed block sizes. kc_blocks_predict() is ours. Where
 * the kernel is known on other devices of the architecture, their curves are
 * the functions, each moved to the timed points and weighted by how well it
 * then meets them. Where it is not, four terms of the hardware are: lanes
 * issued for a thread, sectors loaded for a value, latency over the warps that
 * hide it, and what each resident block costs; none has a coefficient below 0,
 * and few points draw all of them to equal shares.
 *
 * No function here allocates, locks or reads a clock.
 */
#ifndef KC_BASIS_H
#define KC_BASIS_H

#include <stdint.h>

#define KC_BASIS_COLUMNS 32u /* block sizes; more are not looked at */

struct kc_block_size {
	uint32_t block[3];
	uint32_t blocks_per_sm; /* 0: not known, taken for 1 */
};

struct kc_block_time {
	struct kc_block_size size;
	double ns; /* > 0 */
};

struct kc_block_curve {
	const struct kc_block_time *times; /* in any order, no block twice */
	uint32_t count;
};

/* ns. siblings: the same problem of the same kernel on other devices of the
 * architecture; one that does not know the target and a block size of own is
 * passed over. NAN where own is empty. */
double kc_blocks_predict(const struct kc_block_curve *own, const struct kc_block_curve *siblings,
			 uint32_t sibling_count, const struct kc_block_size *target);

/* ns at a problem size from times at others: straight lines over logarithms,
 * continued by at most half a size either way. sizes ascending, > 0. NAN
 * beyond, and between two that lie further apart than 4 times. */
double kc_size_between(const double *sizes, const double *times_ns, uint32_t count, double size);

/* The paper's. Rows hold rates: time at any reference / time; the rows of one
 * kernel carry one group number. */
struct kc_basis {
	uint32_t columns, components;
	double values[KC_BASIS_COLUMNS];                    /* singular, the largest first */
	double vectors[KC_BASIS_COLUMNS][KC_BASIS_COLUMNS]; /* [component][column] */
};

/* 0; -EINVAL: no rows, no columns, too many columns. Each row is first brought to length 1. */
int kc_basis_train(struct kc_basis *basis, const double *rows, uint32_t count, uint32_t columns);

/* Rates of all columns from those of the timed ones, by k components. 0; -EINVAL: k or timed is 0 or too many. A rate
 * is kept within a tenth of the smallest and ten times the largest timed one. */
int kc_basis_fit(const struct kc_basis *basis, uint32_t k, const uint32_t *timed, const double *rates,
		 uint32_t timed_count, double *out);

/* Among 1 to timed_count / 2 components, those with the smallest mean error at
 * the other columns when every group is predicted from the rest. *error: that
 * error, a share, NAN where there is but one group (k is 1 then). */
uint32_t kc_basis_choose(const double *rows, const uint32_t *groups, uint32_t count, uint32_t columns,
			 const uint32_t *timed, uint32_t timed_count, double *error);

#endif
