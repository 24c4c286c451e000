/*
 * Sweeps over block sizes: what `kerncast-lab basis train` keeps of the measured
 * launches of a database, and the basis made from it.
 *
 *   kc_sweep_point    one kernel with one block, at one problem size, on one
 *                     device: the median of its launches that ran alone
 *   kc_sweep_kernel   a kernel by module and name: block sizes may be compiled
 *                     in, so registers and shared memory stand with the points
 *   kc_sweeps         all of them; points in order of kernel, device, block, size
 *   kc_basis          the first right singular vectors of a matrix with a row for each
 *                     kernel and a column for each block size
 *   kc_stored_basis   those over threads per block, and how they were chosen
 */
#ifndef KC_SWEEP_H
#define KC_SWEEP_H

#include "store/database/store.h"

#include <stddef.h>
#include <stdint.h>

#define KC_BASIS_COLUMNS 32u /* block sizes, at most */

struct kc_sweep_point {
	uint32_t kernel; /* index */
	int64_t device;  /* row */
	uint32_t block[3], blocks_per_sm;
	uint32_t registers, shared_bytes; /* shared: static + dynamic */
	double size;                      /* of the problem, by problem.h */
	double ns;                        /* median */
	uint32_t launches;                /* behind it */
};

struct kc_sweep_kernel {
	int64_t id; /* row */
	char *module, *name;
};

struct kc_sweeps {
	struct kc_sweep_kernel *kernels;
	struct kc_sweep_point *points;
	size_t kernel_count, point_count;
	int simulated; /* some launch ran on a simulated device */
};

struct kc_basis {
	uint32_t columns, components;
	double values[KC_BASIS_COLUMNS];                    /* singular, the largest first */
	double vectors[KC_BASIS_COLUMNS][KC_BASIS_COLUMNS]; /* [component][column] */
};

struct kc_stored_basis {
	struct kc_basis basis;
	uint32_t threads[KC_BASIS_COLUMNS]; /* of a block, by column, ascending */
	uint32_t k, rows, kernels;
	double error; /* by cross-validation, a share; NAN: one kernel alone */
};

/* From the launches: kernels measured with at least two block sizes on a device. 0 or -errno. */
int kc_sweeps_collect(struct kc_store *s, struct kc_sweeps **out);
/* As they were stored; none: no kernels. 0 or -errno. */
int kc_sweeps_read(struct kc_store *s, struct kc_sweeps **out);
void kc_sweeps_free(struct kc_sweeps *sweeps);

/* Replaces what was stored, in one transaction. basis: NULL where none could be made. 0 or -errno. */
int kc_sweeps_store(struct kc_store *s, const struct kc_sweeps *sweeps, const struct kc_stored_basis *basis);

/* 0; -ENOENT: none is stored; -EBADMSG: it is damaged; -errno. */
int kc_stored_basis_read(struct kc_store *s, struct kc_stored_basis *out);

#endif
