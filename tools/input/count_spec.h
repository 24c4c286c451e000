/*
 * A kernel with what each of its threads does, as one writes it on the command
 * line:
 *
 *	blocks=4096,threads=256,fma=1024,ld_global=2048,st_global=1,sectors_per_request=2
 *
 * the kernel of kernel_spec.h and any counters of predictor/code/cost.h by
 * their names there, averages per thread. Beside another kernel it has cluster=
 * and time= as well, as in kernel_spec.h, and footprint=: bytes of global memory
 * that a block goes through before it comes back to one of them.
 */
#ifndef KC_COUNT_SPEC_H
#define KC_COUNT_SPEC_H

#include "kernel_spec.h"

#include "predictor/solo/resources/shares.h"

struct kc_count_spec {
	struct kc_kernel_spec kernel;
	struct kc_counts counts;
	int has_counters;       /* some were given */
	double footprint_bytes; /* KC_FOOTPRINT_UNKNOWN: not given */
};

/* Counters that are not given follow from the others: 4 bytes per load or store, full warps, sectors and shared
 * memory passes of neighbouring lanes on neighbouring words (or from sectors_per_request= and
 * bank_conflict_degree=). 0; -EINVAL with a sentence in why; -ENOMEM. Keeps text. */
int kc_count_spec(const char *text, struct kc_count_spec *out, char *why, size_t why_size);

/* The same of a kernel beside another one. */
int kc_neighbour_spec(const char *text, struct kc_count_spec *out, char *why, size_t why_size);

#endif
