/*
 * `kerncast-lab basis predict`: what is asked, and what is known to answer it from.
 */
#ifndef KC_TOOLS_BASIS_QUESTION_H
#define KC_TOOLS_BASIS_QUESTION_H

#include "store/query/query.h"
#include "store/replay/sweep.h"

struct kc_basis_blocks {
	uint32_t block[KC_BASIS_COLUMNS][3];
	int64_t ns[KC_BASIS_COLUMNS];
	uint32_t count;
};

struct kc_basis_question {
	const char *kernel, *device;         /* kernel NULL: times are given; device NULL: the only one */
	double size;                         /* 0: the usual */
	struct kc_basis_blocks timed, asked; /* none: all */
	struct kc_basis_blocks times;        /* given, with ns */
	uint32_t registers, shared_bytes;    /* with given times */
};

struct kc_basis_known {
	const struct kc_sweeps *sweeps;
	const struct kc_stored_basis *basis; /* NULL: none */
	const struct kc_device_row *devices;
	size_t device_count;
};

#endif
