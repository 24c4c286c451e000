/*
 * Sweeps as the predictors of block_basis.h and predictor/solo/block_sizes.h take them.
 *
 *   kc_basis_rows   the paper's matrix: a row each problem of each kernel on
 *                   each device, a column each block size, rates
 *   kc_basis_curve  one problem over block sizes, with room for it
 */
#ifndef KC_TOOLS_BASIS_H
#define KC_TOOLS_BASIS_H

#include "block_basis.h"
#include "predictor/solo/block_sizes.h"
#include "store/replay/sweep.h"

struct kc_basis_rows {
	double *rates; /* NAN: not measured */
	uint32_t *groups;
	uint32_t count, columns;
	uint32_t *threads; /* threads per block of each column, ascending */
};

/* Every problem measured with two block sizes or more. 0 or -ENOMEM; freed with kc_basis_rows_free. */
int kc_basis_rows_make(const struct kc_sweeps *sweeps, struct kc_basis_rows *out);
void kc_basis_rows_free(struct kc_basis_rows *rows);

/* Drops whole rows and columns, those with the most missing values first, until none is missing; also drops columns
 * beyond KC_BASIS_COLUMNS. */
void kc_basis_rows_complete(struct kc_basis_rows *rows);

/* The rows that have all of these columns, without the rows of one kernel. 0 or -ENOMEM. */
int kc_basis_rows_select(const struct kc_basis_rows *rows, const uint32_t *threads, uint32_t columns,
			 uint32_t without_kernel, struct kc_basis_rows *out);

struct kc_basis_curve {
	struct kc_block_time times[KC_BASIS_COLUMNS];
	uint32_t registers[KC_BASIS_COLUMNS], shared_bytes[KC_BASIS_COLUMNS];
	uint32_t count;
	uint64_t launches; /* number of launches behind the times */
};

/* The block sizes of a kernel on a device that have a time near enough to this problem size, ascending. */
void kc_basis_curve_at(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device, double size,
		       struct kc_basis_curve *out);

#endif
