/*
 * By how much the prior is off in this process: its machine, its libraries' versions and its data are not those that
 * the prior was trained on, and what is measured tells soon.
 *
 *   kc_correction   a line over the predicted log time for each family of kernels
 *                   (ridge regression), and on top of it a shift for kernels whose names
 *                   begin alike
 *
 * A launch teaches a tenth of its weight when it is measured, and the rest when it is known to have run alone: beside
 * others, kernels of a few µs were seen to take ten times as long (engine.c). If the same launch shape takes clearly
 * less later on, something had delayed the first one, and the lesson is changed to what it takes now. What it takes
 * more is its own: it says less of other kernels.
 *
 * One thread learns. Any thread may ask meanwhile: everything read is a word of 64 bits.
 */
#ifndef KC_CORRECTION_H
#define KC_CORRECTION_H

#include "kernel_name.h"

#define KC_CORRECTION_KIN 64u

struct kc_correction {
	struct kc_correction_line {
		uint64_t published; /* two floats: offset and slope */
		/* learner only: */
		double weight, sum_x, sum_y, sum_xx, sum_xy;
		double log_fade; /* of all lessons so far: how much the first one counts, logarithm */
	} lines[KC_FAMILIES];
	struct kc_correction_shift {
		uint64_t published; /* a float, and whose it is: kc_name_traits.kin */
		float weight;       /* learner only */
	} shifts[KC_CORRECTION_KIN];
};

/* All zeros: nothing is known. */

/* What a launch shape has taught, to be changed later. All zeros: nothing. */
struct kc_correction_lesson {
	float off; /* log time */
	float weight;
	double log_fade; /* kc_correction_line.log_fade then */
};

/* What to add to log_ns, kc_prior_log_ns() of a kernel with this name. */
float kc_correction_of(const struct kc_correction *correction, const struct kc_name_traits *name, float log_ns);

/* Such a launch took e^measured_log_ns beyond KC_PRIOR_LEAST_NS. weight: what it is worth, 1 for a kernel's first.
 * lesson: what its launch shape has taught, with this. */
void kc_correction_learn(struct kc_correction *correction, const struct kc_name_traits *name, float log_ns,
			 float measured_log_ns, float weight, struct kc_correction_lesson *lesson);

/* A later launch of the shape took e^measured_log_ns beyond KC_PRIOR_LEAST_NS: changes the lesson if that is clearly
 * less than it says. */
void kc_correction_amend(struct kc_correction *correction, const struct kc_name_traits *name, float log_ns,
			 float measured_log_ns, struct kc_correction_lesson *lesson);

#endif
