/*
 * Which other blocks a kernel does the same work with: whether its code tells a thread's work by its place in the
 * whole launch alone.
 *
 *   kc_block_freedom   the dimensions in which blocks may have another size, if the grid then covers
 *                      as many threads, or more that have nothing to do
 *
 * A dimension is free where %tid, %ctaid and %ntid occur as %ctaid · %ntid + %tid, there with multiples of %nctaid
 * beside %ctaid, or %ntid and %nctaid as their product, and nowhere else. None is free where threads of a block or a
 * warp work together: by shared memory, barriers, or instructions and registers that are of a warp. Atomics on global
 * memory may come in another order. What is not understood is not free, so a free dimension is certain; one that is not
 * may yet be.
 */
#ifndef KC_BLOCK_FREEDOM_H
#define KC_BLOCK_FREEDOM_H

#include "predictor/code/ptx/ptx.h"

struct kc_block_freedom {
	uint8_t fixed[3];     /* x, y, z: 1: a block keeps its size there */
	uint8_t counted[3];   /* 1: the code asks how many threads there are: not one more of them */
	char why[112];        /* as part of a sentence; "": none is fixed */
	uint32_t max_threads; /* of a block, by .maxntid; 0: no limit */
};

/* 0 or -ENOMEM. */
int kc_block_freedom(const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
		     struct kc_block_freedom *out);

#endif
