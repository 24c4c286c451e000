/*
 * Runs compared step by step: what kernels took per step, in place of per run, so
 * that runs of different length can be compared. It is done where every run of both
 * sides tells steps, or has steps that are found (store/query/steps/known_steps.h),
 * if processes without steps make at most 5 % of a side's time, and launches in no
 * step at most half of it. Found ones may be another repeat in one run than in the
 * other: they are compared where kernels of at least half of OLD's time, of those
 * that both sides launched in steps, are launched as often per step on both sides.
 *
 * Launches in no step are not compared then; how many there are, and what they took,
 * is told.
 */
#ifndef KC_DIFF_STEPS_COMPARED_H
#define KC_DIFF_STEPS_COMPARED_H

#include "side.h"
#include "units.h"

enum kc_diff_per { KC_PER_ANY, KC_PER_RUN, KC_PER_STEP }; /* KC_PER_ANY: steps, where they can be compared */

/* Of one side. Times are means over its steps, in ns. */
struct kc_diff_step_side {
	enum kc_steps_are are;
	double steps;
	double outside_launches, outside_ns; /* measured, in no step, of all its runs */
	double time_ns;                      /* from start to end, on the host; NAN: not known, as below */
	double busy_ns;    /* of GPUs, added up: a kernel or a copy that matches the filter ran; NAN: not all launches
			      were measured */
	double idle_ns;    /* time_ns less busy_ns; NAN: that is below 0, a process used several GPUs, or launches of a
			      step are filtered */
	double exposed_ns; /* as busy_ns: a kernel communicated, and none computed */
};

enum kc_diff_steps_verdict { KC_STEPS_NOT_WANTED, KC_STEPS_COMPARED, KC_STEPS_LACKING, KC_STEPS_FEW, KC_STEPS_UNLIKE };

struct kc_diff_steps {
	enum kc_diff_steps_verdict verdict;
	struct kc_diff_step_side of[KC_SIDES];
};

/* Decides, and where steps are compared, makes launches in none count as not measured. sides: read with steps. Reads
 * what steps took, too. Returns an exit status. */
int kc_diff_steps(const struct kc_measured_names *names, struct kc_side *const sides[KC_SIDES], enum kc_diff_per per,
		  struct kc_diff_steps *out);

#endif
