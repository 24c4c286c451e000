/*
 * A kernel with what each of its threads does, as one writes it on the command
 * line:
 *
 *	blocks=4096,threads=256,fma=1024,ld_global=2048,st_global=1,sectors_per_request=2
 *
 * the kernel of kernel_spec.h and any counters of predictor/code/cost.h by
 * their names there, averages per thread.
 */
#ifndef KC_COUNT_SPEC_H
#define KC_COUNT_SPEC_H

#include "kernel_spec.h"

#include "predictor/code/cost.h"

struct kc_count_spec {
	struct kc_kernel_spec kernel;
	struct kc_counts counts;
};

/* Counters that are not given follow from the others: 4 bytes per load or store, full warps, sectors and shared
 * memory passes of neighbouring lanes on neighbouring words (or from sectors_per_request= and
 * bank_conflict_degree=). 0; -EINVAL with a sentence in why; -ENOMEM. Keeps text. */
int kc_count_spec(const char *text, struct kc_count_spec *out, char *why, size_t why_size);

#endif
