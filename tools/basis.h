/*
 * Sweeps as the predictors of predictor/papers/block_basis.h take them.
 *
 *   kc_basis_rows   the paper's matrix: a row each problem of each kernel on
 *                   each device, a column each block size, rates
 *   kc_basis_curve  one problem over block sizes, with room for it
 */
#ifndef KC_TOOLS_BASIS_H
#define KC_TOOLS_BASIS_H

#include "store/replay/sweep.h"

struct kc_basis_rows {
	double *rates; /* NAN: not measured */
	uint32_t *groups;
	uint32_t count, columns;
	uint32_t *threads; /* of a block, by column, ascending */
};

/* Every problem measured with two block sizes or more. 0 or -ENOMEM; freed with kc_basis_rows_free. */
int kc_basis_rows_make(const struct kc_sweeps *sweeps, struct kc_basis_rows *out);
void kc_basis_rows_free(struct kc_basis_rows *rows);

/* Leaves out whole columns and rows, those with the most gaps first, until none
 * is left; and columns past KC_BASIS_COLUMNS. */
void kc_basis_rows_complete(struct kc_basis_rows *rows);

/* Only these columns of the rows that have all of them, without one kernel's. 0 or -ENOMEM. */
int kc_basis_rows_select(const struct kc_basis_rows *rows, const uint32_t *threads, uint32_t columns,
			 uint32_t without_kernel, struct kc_basis_rows *out);

struct kc_basis_curve {
	struct kc_block_time times[KC_BASIS_COLUMNS];
	uint32_t registers[KC_BASIS_COLUMNS], shared_bytes[KC_BASIS_COLUMNS];
	uint32_t count;
	uint64_t launches; /* behind the times */
};

/* A kernel on a device at this problem size, block sizes ascending: those with a time near enough. */
void kc_basis_curve_at(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device, double size,
		       struct kc_basis_curve *out);

#endif
