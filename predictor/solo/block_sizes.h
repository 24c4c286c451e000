/*
 * A kernel's time at block sizes never timed, from those that were.
 *
 *   kc_block_size    a block, and how many of them an SM holds
 *   kc_block_time    what one problem takes with it
 *   kc_block_curve   one problem of one kernel on one device over block sizes
 *
 * Time is a linear combination of functions of the block size. Where the kernel
 * is known on other devices of the architecture, their curves are the functions,
 * each shifted to the timed points and weighted by how well it then fits them.
 * Where it is not, four terms of the hardware are: lanes issued per thread,
 * sectors loaded per value, latency over the warps that hide it, and the cost of
 * each resident block. No coefficient is below 0, and where there are few points
 * all are drawn towards equal shares. The paper's predictor is tools/lab/basis/block_basis.h.
 *
 * No function here allocates, locks or reads a clock.
 */
#ifndef KC_BLOCK_SIZES_H
#define KC_BLOCK_SIZES_H

#include <stdint.h>

#define KC_BLOCK_SIZES_MAX 32u /* further ones are not read */

struct kc_block_size {
	uint32_t block[3];
	uint32_t blocks_per_sm; /* 0: not known, counts as 1 */
};

struct kc_block_time {
	struct kc_block_size size;
	double ns; /* > 0 */
};

struct kc_block_curve {
	const struct kc_block_time *times; /* in any order, blocks distinct */
	uint32_t count;
};

/* In ns. donors: the same problem of the same kernel on other devices of the architecture; one that knows neither the
 * target nor a block size of own is skipped. NAN: own is empty. */
double kc_blocks_predict(const struct kc_block_curve *own, const struct kc_block_curve *donors, uint32_t donor_count,
			 const struct kc_block_size *target);

/* Time at a problem size from times at others: straight lines over logarithms, continued by at most half a size either
 * way. sizes ascending, > 0. NAN: further away, or between two sizes more than 4 times apart. */
double kc_size_between(const double *sizes, const double *times_ns, uint32_t count, double size);

#endif
