/*
 * A launch with arguments that were never measured, of a kernel measured with others,
 * where its code does not tell its work: what the numbers among the arguments say. A
 * launch shape hides how deep a matrix product is; the numbers do not.
 *
 *   kc_argument_numbers   the logarithms of the numbers among a launch's arguments
 *   kc_arguments_fit      of one kernel on one device: a ridge regression of log time
 *                         over these, waves and grid, the launches measured last, from
 *                         which it is corrected nearby, and what its errors were, beside
 *                         those of the law over sizes (scaling.h)
 *
 * Which argument is a size nobody says, so each counts as half of one until more is
 * known. The two predictions are a mean in log time, weighted by the inverse sixth
 * power of their mean errors.
 *
 * For the learning thread, and under its lock; no function here allocates, locks or
 * reads a clock.
 */
#ifndef KC_ARGUMENTS_H
#define KC_ARGUMENTS_H

#include "scaling.h"

#include <stdint.h>

#define KC_ARGUMENT_NUMBERS 6u /* further ones are not looked at */
#define KC_ARGUMENT_FEATURES (KC_ARGUMENT_NUMBERS + 4u)
#define KC_ARGUMENT_COLUMNS (KC_ARGUMENT_FEATURES + 1u)
#define KC_ARGUMENT_POINTS 32u

struct kc_argument_numbers {
	uint32_t count; /* 0: there are none, or the work is counted */
	float log[KC_ARGUMENT_NUMBERS];
};

/* Arguments as text: "p0 = 131072, p1 = 8, p2 mod 32 = 0, p3 = ?", as a run records them, or "B=1 M=181", as traces
 * have them. What is known of an address alone is no number; an unknown number counts as 0. NULL: none. */
void kc_arguments_read(struct kc_argument_numbers *numbers, const char *text);

struct kc_arguments_fit {
	uint32_t numbers; /* of each launch; others are not learned from */
	uint32_t learned; /* launches */
	struct kc_arguments_point {
		float x[KC_ARGUMENT_FEATURES]; /* less those of the first launch */
		float log_ns;
	} points[KC_ARGUMENT_POINTS]; /* the last ones, in a ring */
	float first[KC_ARGUMENT_FEATURES];
	float least_log_ns, most_log_ns;
	double products[KC_ARGUMENT_COLUMNS * KC_ARGUMENT_COLUMNS]; /* XᵀX and the prior's weights */
	double sums[KC_ARGUMENT_COLUMNS];                           /* Xᵀy and the prior's */
	float error, law_error;                                     /* mean of |log error| */
};

/* Nothing is known: all zeros. */

/* The first launch with these arguments took measured_ns > 0. law: what sizes alone said before; model KC_MODEL_NONE:
 * nothing. */
void kc_arguments_learn(struct kc_arguments_fit *fit, const struct kc_argument_numbers *numbers,
			const struct kc_scaling_size *size, const struct kc_solo *law, int64_t measured_ns,
			struct kc_scaling_space *space);

/* Replaces what the law over sizes says (model KC_MODEL_NONE: nothing) by what both do. Takes about 2 µs. */
void kc_arguments_predict(const struct kc_arguments_fit *fit, const struct kc_argument_numbers *numbers,
			  const struct kc_scaling_size *size, struct kc_scaling_space *space, struct kc_solo *solo);

#endif
