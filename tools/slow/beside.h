/*
 * What ran at the same time as a launch: measured intervals on the same device
 * that meet its own.
 */
#ifndef KC_SLOW_BESIDE_H
#define KC_SLOW_BESIDE_H

#include "store/query/measured.h"

#include <stddef.h>
#include <stdint.h>

#define KC_SLOW_BESIDE_MOST 4u /* kernels that are named of a launch */

struct kc_slow_beside {
	uint32_t kernels[KC_SLOW_BESIDE_MOST]; /* of the names, longest first */
	int64_t ns[KC_SLOW_BESIDE_MOST];       /* together */
	uint32_t count;
	int64_t total_ns; /* of all kernels; where several met it at once, their sum */
};

struct kc_slow_intervals {
	const struct kc_measured_names *names;
	const struct kc_measured_run *run; /* with moments */
	struct kc_slow_interval *at;       /* by device and start */
	size_t count;
	int64_t earliest_ns; /* start of the first; 0: there is none */
};

/* 0 or -ENOMEM. *out is to be freed either way. */
int kc_slow_intervals(const struct kc_measured_names *names, const struct kc_measured_run *run,
		      struct kc_slow_intervals *out);
void kc_slow_intervals_free(struct kc_slow_intervals *intervals);

/* Kernels that ran at the same time as others of their GPU. */
struct kc_slow_overlapped {
	uint64_t launches;
	double alone_ns;    /* what they would have taken one after the other */
	double together_ns; /* from the start of the first to the end of the last, of each group that met */
};

/* longer_ns: by place, by how much a launch is longer than alone. Groups with a launch that does not match the filter
 * are left out. */
void kc_slow_find_overlapped(const struct kc_slow_intervals *intervals, const double *longer_ns,
			     struct kc_slow_overlapped *out);

/* place: of the launch in the run's list. At most 4,096 launches on either side of it are looked at. */
void kc_slow_find_beside(const struct kc_slow_intervals *intervals, uint32_t place, struct kc_slow_beside *out);

#endif
