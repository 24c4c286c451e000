/*
 * An estimate of a launch's whole duration, whatever it runs beside.
 *
 *   kc_duration_estimate   what launches like it took. The rest, up to a share
 *                          of 1, is its solo time multiplied by the slowdown.
 */
#ifndef KC_DURATION_ESTIMATE_H
#define KC_DURATION_ESTIMATE_H

#include <stdint.h>

struct kc_duration_estimate {
	float log_ns;     /* of the whole duration */
	float share;      /* its weight; what is left to 1 is the time alone times the slowdown */
	uint32_t tick_ns; /* the clock that measures steps by so much; 0 or 1: not at all */
};

/* 1: the models of the time alone do not matter. */
int kc__estimate_is_all(const struct kc_duration_estimate *direct);
/* Duration of a launch whose solo time and slowdown make placed_ns; > 0. */
double kc__estimate_ns(const struct kc_duration_estimate *direct, double placed_ns);

#endif
