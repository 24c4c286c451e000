/*
 * How the durations of one launch shape went on in a run: its level, and where
 * and by how much it was slower for a while.
 *
 * The run is divided into parts of equally many launches, as many parts as the
 * launches' scatter allows for their medians to be known within 1 %. The level is
 * that of all launches, unless the slowest part and the fastest are more than twice
 * the limit apart, and more than chance explains: then it is that of the fastest
 * parts, and the others have drifted from it; if the run begins or ends with a
 * slope from them, where that begins.
 */
#ifndef KC_SLOW_TREND_H
#define KC_SLOW_TREND_H

#include <stddef.h>
#include <stdint.h>

#define KC_SLOW_PARTS 32u

/* Logarithms of a duration over what was expected. */
struct kc_slow_sample {
	int64_t at_ns;
	double log;
};

struct kc_slow_trend {
	double level;
	double far;     /* a launch is not so much slower than the level and the drift; NAN: too few launches */
	uint32_t parts; /* 0: no drift */
	int64_t end_ns[KC_SLOW_PARTS]; /* where the next part begins; the last: INT64_MAX */
	double drift[KC_SLOW_PARTS];   /* above the level; 0 where chance explains it */
	double most;                   /* of drift */
};

/* samples: by time, n > 0. over: the limit, of the logarithm, > 0. values: room for n. */
void kc_slow_trend(const struct kc_slow_sample *samples, size_t n, double over, double *values,
		   struct kc_slow_trend *out);

/* The drift at a moment. */
double kc_slow_drift(const struct kc_slow_trend *trend, int64_t at_ns);

#endif
