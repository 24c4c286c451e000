/*
 * Which model to believe.
 *
 *   kc_candidates   what each model predicts of one launch. Predictions of solo
 *                   time are multiplied by the slowdown expected from concurrent
 *                   kernels; the one by context includes it.
 *   kc_standing     the recent error of each model for one kernel; its parent is
 *                   the device's, from which a kernel starts
 *   kc_mix          their mean, as far as it is known before the launch has a
 *                   place on the timeline
 *
 * The mix is a mean in log time, weighted by the inverse twelfth power of the
 * errors, which leaves little to all but the best. How good a model is depends on
 * what was known of the launch (enum kc_evidence), so errors are kept for each case.
 *
 * To add a model: a name in enum kc_candidate, and a value in kc_candidates both at
 * the launch and when it is learned from (outlook.h). One thread learns. Any thread
 * may mix meanwhile: it reads one word of 64 bits.
 */
#ifndef KC_STANDING_H
#define KC_STANDING_H

#include "cells.h"
#include "predictor/concurrency/duration_estimate.h"

#include <stdint.h>

enum kc_candidate {
	KC_CANDIDATE_LAMBDA,  /* λ of launch shape, kernel or device; solo time */
	KC_CANDIDATE_CONTEXT, /* cells.h; whole duration */
	KC_CANDIDATES,
};
#define KC_CANDIDATES_MAX 4u /* weights that fit a word */

enum kc_evidence {
	KC_EVIDENCE_NONE,           /* first seen */
	KC_EVIDENCE_KERNEL,         /* new size, or never with these arguments */
	KC_EVIDENCE_SHAPE,          /* repeated, but neither after this launch nor beside these kernels */
	KC_EVIDENCE_NEW_CONCURRENT, /* repeated or after this launch, beside kernels that it was never seen with */
	KC_EVIDENCE_LAST,           /* after this launch, not beside these kernels */
	KC_EVIDENCE_CONCURRENT,     /* beside these kernels (which implies: after this launch) */
	KC_EVIDENCE_START,          /* at the same position of an earlier run, after all the same launches */
	KC_EVIDENCES,
};

struct kc_candidates {
	uint32_t present;            /* a bit for each enum kc_candidate that predicts */
	float log_ns[KC_CANDIDATES]; /* logarithms of nanoseconds */
	float spread[KC_CANDIDATES]; /* relative error to expect */
	enum kc_evidence evidence;
};

struct kc_standing {
	struct kc_standing *parent;      /* NULL: this is the device's */
	struct kc_estimators estimators; /* errors of the context cells' estimates. Learner only */
	struct kc_trust {
		uint64_t weights;           /* upper halves of KC_CANDIDATES_MAX floats */
		float error[KC_CANDIDATES]; /* mean relative error. Learner only */
		uint32_t count;             /* measurements behind the errors. Learner only */
	} with[KC_EVIDENCES];
};

struct kc_mix {
	float solo_log_ns; /* of the solo time; of the whole duration where no model predicts the solo time */
	float spread;      /* relative error to expect */
	struct kc_duration_estimate direct;
};

/* parent NULL: this is the device's. Nothing is learned yet. */
void kc_standing_init(struct kc_standing *standing, struct kc_standing *parent);

static inline void kc_candidates_add(struct kc_candidates *c, enum kc_candidate who, float log_ns, float spread)
{
	c->present |= 1u << who;
	c->log_ns[who] = log_ns;
	c->spread[who] = spread;
}

/* candidates: at least one. standing NULL: equal weights. */
void kc_standing_mix(const struct kc_standing *standing, const struct kc_candidates *candidates, struct kc_mix *out);

/* A launch took e^measured_log_ns. slowdown ≥ 1: what predictions of solo time are multiplied by. */
void kc_standing_learn(struct kc_standing *standing, const struct kc_candidates *candidates, float slowdown,
		       float measured_log_ns);

#endif
