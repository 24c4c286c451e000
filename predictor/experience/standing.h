/*
 * Which model to believe.
 *
 *   kc_candidates   what each model says of one launch, before it runs. Those of
 *                   the time alone are multiplied by the slowdown that others on
 *                   the device will cause; the one from contexts has it in it.
 *   kc_standing     how far off each has been lately, for one kernel; its parent
 *                   is the device's, and is where a kernel starts
 *   kc_mix          their mean, as far as it is known before the launch has a
 *                   place on the timeline
 *
 * The mix is a mean in log time, weighted by the inverse twelfth power of the errors,
 * which leaves little to all but the best. How
 * good a model is depends on what was known of the launch (enum kc_evidence), so
 * it is kept apart for each case.
 *
 * To add a model: a name in enum kc_candidate, a value in kc_candidates at the
 * launch and again when it is learned from (outlook.h). One thread learns. Any
 * thread may mix meanwhile: what it reads is a word of 64 bits, read whole.
 */
#ifndef KC_STANDING_H
#define KC_STANDING_H

#include "cells.h"
#include "predictor/concurrency/duration_estimate.h"

#include <stdint.h>

enum kc_candidate {
	KC_CANDIDATE_BSP,     /* λ of shape, kernel or device; time alone */
	KC_CANDIDATE_CONTEXT, /* cells.h; whole duration */
	KC_CANDIDATES,
};
#define KC_CANDIDATES_MAX 4u /* weights in a word */

enum kc_evidence {
	KC_EVIDENCE_NONE,           /* first seen */
	KC_EVIDENCE_KERNEL,         /* new size, or never with these arguments */
	KC_EVIDENCE_SHAPE,          /* repeated, but not after this launch nor in this company */
	KC_EVIDENCE_NEW_CONCURRENT, /* the same, or after this launch, and others run that it was not seen with */
	KC_EVIDENCE_LAST,           /* after this launch, not in this company */
	KC_EVIDENCE_CONCURRENT,     /* in this company (which implies: after this launch) */
	KC_EVIDENCE_START,          /* as the so-many-th launch of an earlier run, after all the same launches */
	KC_EVIDENCES,
};

struct kc_candidates {
	uint32_t present;            /* a bit each */
	float log_ns[KC_CANDIDATES]; /* logarithm of nanoseconds */
	float spread[KC_CANDIDATES]; /* relative error to expect */
	enum kc_evidence evidence;
};

struct kc_standing {
	struct kc_standing *parent;      /* NULL: the device's */
	struct kc_estimators estimators; /* how good the context's cells' are. Learner only */
	struct kc_trust {
		uint64_t weights;           /* upper halves of floats, KC_CANDIDATES_MAX of them */
		float error[KC_CANDIDATES]; /* mean relative error. Learner only */
		uint32_t count;             /* measurements behind them. Learner only */
	} with[KC_EVIDENCES];
};

struct kc_mix {
	float solo_log_ns; /* of the time alone; where no model spoke of it, of the whole duration */
	float spread;      /* relative error to expect */
	struct kc_duration_estimate direct;
};

/* parent NULL: the device's. Nothing is learned yet. */
void kc_standing_init(struct kc_standing *standing, struct kc_standing *parent);

static inline void kc_candidates_add(struct kc_candidates *c, enum kc_candidate who, float log_ns, float spread)
{
	c->present |= 1u << who;
	c->log_ns[who] = log_ns;
	c->spread[who] = spread;
}

/* candidates: at least one. standing NULL: each weighs the same. */
void kc_standing_mix(const struct kc_standing *standing, const struct kc_candidates *candidates, struct kc_mix *out);

/* A launch took e^measured_log_ns, alone or not; slowdown ≥ 1: by which the
 * models of the time alone are multiplied. */
void kc_standing_learn(struct kc_standing *standing, const struct kc_candidates *candidates, float slowdown,
		       float measured_log_ns);

#endif
