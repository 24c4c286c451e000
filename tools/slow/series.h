/*
 * What was to be expected of a launch: what its peers took (peers.h), corrected by what became of the launches that
 * are expected in the same way, their series: its level and drift in this run (trend.h), whether it is slower than
 * in earlier runs (compare.h), and whether running beside other kernels makes it slower.
 */
#ifndef KC_SLOW_SERIES_H
#define KC_SLOW_SERIES_H

#include "peers.h"
#include "trend.h"

/* Launches of one shape that are expected in the same way. */
struct kc_slow_series {
	struct kc_slow_trend trend; /* far NAN: too few launches */
	uint32_t shape;
	uint32_t samples;
	int64_t first_ns;      /* start of the first */
	uint8_t from;          /* enum kc_slow_from */
	uint8_t is_new;        /* of a new size */
	uint8_t company_costs; /* its overlapped launches are slower as a whole */
};

struct kc_slow_all_series {
	const struct kc_measured_names *names;
	const struct kc_measured_moment *moments;
	const struct kc_slow_launch *launches;
	size_t launch_count;
	double over;         /* the limit, of the logarithm */
	uint32_t *series_of; /* by launch, less 1 its place in series; 0: it has no peers */
	struct kc_slow_series *series;
	uint32_t count;
	uint32_t *main_series; /* main_series_of(), less 1 the one of a known size that has most launches; 0: none */
	double *slower;        /* by shape: by how much than in earlier runs, of the logarithm; NAN: it is not */
};

struct kc_slow_expected {
	double peers;  /* all of the logarithm of ns: what should be */
	double slower; /* than in earlier runs */
	double drift;
	double far;
};

/* launches: kc_slow_peers(), kept by the caller. diff: NULL: there are no earlier runs. 0 or -ENOMEM; *out is to be
 * freed either way. */
int kc_slow_all_series(const struct kc_slow_runs *runs, const struct kc_diff *diff,
		       const struct kc_slow_launch *launches, size_t launch_count, double over,
		       struct kc_slow_all_series *out);
void kc_slow_all_series_free(struct kc_slow_all_series *all);

/* The series of launch i, and what was expected of it: of one that has peers. */
const struct kc_slow_series *kc_slow_series_of(const struct kc_slow_all_series *all, size_t i);
struct kc_slow_expected kc_slow_expect(const struct kc_slow_all_series *all, size_t i);

#endif
