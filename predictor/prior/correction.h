/*
 * By how much the prior is off in this process: its machine, its libraries' versions and its data are not those that
 * the prior was trained on, and what is measured tells soon.
 *
 *   kc_correction   what the last launch shapes taught, and between them a Gaussian
 *                   process (kriging): a launch takes as much longer than the prior says
 *                   as those did that are like it
 *
 * Two launches are the more alike, the more words of all that their kernels' names have are words of both, and the
 * nearer the prior's guesses of them are (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
 * equation 2.25).
 *
 * A launch teaches 3 % of its weight when it is measured, and the rest when it is known to have run alone:
 * beside others, kernels of a few µs were seen to take ten times as long (engine.c). If the same launch shape takes
 * clearly less later on, something had delayed the first one, and the lesson is changed to what it takes now. What it
 * takes more is its own: it says less of other kernels.
 *
 * One thread learns. Any thread may ask meanwhile, without a lock and without waiting: a sequence number tells it to
 * ask again, and after a few times that there is no correction at present.
 */
#ifndef KC_CORRECTION_H
#define KC_CORRECTION_H

#include "kernel_name.h"

#include <stdatomic.h>

#define KC_CORRECTION_LESSONS 48u /* the last ones; older ones are forgotten */

struct kc_correction {
	_Atomic uint32_t sequence; /* odd: what is told is being written */
	_Atomic uint32_t count;    /* lessons that are told */
	struct kc_correction_told {
		_Atomic uint64_t marks; /* of the kernel's name */
		_Atomic uint64_t pull; /* two floats: the prior's log_ns, and what is added for a launch just like it */
	} told[KC_CORRECTION_LESSONS];
	/* learner only */
	struct kc_correction_taught {
		uint64_t marks;
		float log_ns, off, weight;
		uint32_t number; /* kc_correction_lesson.number */
	} taught[KC_CORRECTION_LESSONS];
	uint32_t lessons; /* so far */
};

/* All zeros: nothing is known. */

/* Which lesson a launch shape has taught, to be changed later. All zeros: none. */
struct kc_correction_lesson {
	uint32_t number;
};

/* What to add to log_ns, kc_prior_log_ns() of a kernel with this name; 0 also where the
 * learner was found writing a few times. 1 µs. */
float kc_correction_of(const struct kc_correction *correction, const struct kc_name_traits *name, float log_ns);

/* Such a launch took e^measured_log_ns beyond KC_PRIOR_LEAST_NS. weight: what it is worth, 1 for a kernel's first.
 * lesson: what its launch shape has taught, with this. 50 µs. */
void kc_correction_learn(struct kc_correction *correction, const struct kc_name_traits *name, float log_ns,
			 float measured_log_ns, float weight, struct kc_correction_lesson *lesson);

/* A later launch of the shape took e^measured_log_ns beyond KC_PRIOR_LEAST_NS: changes the lesson if that is clearly
 * less than it says, and it is not forgotten. */
void kc_correction_amend(struct kc_correction *correction, const struct kc_name_traits *name, float log_ns,
			 float measured_log_ns, const struct kc_correction_lesson *lesson);

#endif
