/*
 * An estimate of a launch's whole duration, whatever runs beside it.
 *
 *   kc_duration_estimate   what launches like it took, and how much weight that
 *                          has beside solo time multiplied by slowdown
 */
#ifndef KC_DURATION_ESTIMATE_H
#define KC_DURATION_ESTIMATE_H

#include <stdint.h>

struct kc_duration_estimate {
	float log_ns;     /* of the whole duration */
	float share;      /* weight, 0 to 1; the rest goes to solo time multiplied by slowdown */
	uint32_t tick_ns; /* resolution of the clock that measured; 0 or 1: as fine as can be told */
};

#define KC__WHOLE_SHARE 0.99f /* the rest is not worth its logarithms */

/* 1: solo time and slowdown do not matter. */
static inline int kc__estimate_is_all(const struct kc_duration_estimate *direct)
{
	return direct->share > KC__WHOLE_SHARE;
}

/* Duration of a launch whose solo time and slowdown come to placed_ns; > 0. */
double kc__estimate_ns(const struct kc_duration_estimate *direct, double placed_ns);

#endif
