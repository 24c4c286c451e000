/*
 * How wide an interval must be to contain nine launches in ten.
 *
 *   kc_margins   factors on the relative error that the models expect
 *                (kc_mix.spread): for each class of launches, for each kernel and
 *                for the device; separate ones below and above the prediction, as
 *                durations are skewed
 *   kc_range     the shortest and the longest duration of a launch shape so far
 *
 * Online conformal prediction (Gibbs and Candès 2021): each measured launch moves
 * factors, up by much where it fell outside, down by little where it did not, so
 * that in the long run one in twenty falls outside on either side, whatever the
 * durations do. The class of a launch is what is known of it and the size of the
 * expected error.
 *
 * Hundreds of launches may be in flight between a mistake and the measurement that
 * tells of it, and all of them repeat it. So a launch is judged by the interval that
 * it would be given when it is measured, not by its own. What predictions lose by
 * their age has factors of their own: by the number of launches awaited, or, where no
 * fewer launches of the shape are in flight than were measured, by how many times
 * more. Those of repeated launches start above 1. They do judge by the launch's own
 * interval, and the more was taken in between its prediction and its measurement, the
 * less each of them counts.
 *
 * One thread learns. Any thread may ask meanwhile: everything read is a word of
 * 64 bits, read and written whole.
 */
#ifndef KC_MARGINS_H
#define KC_MARGINS_H

#include "standing.h"

#include <stdint.h>

#define KC_MARGIN_SPREADS 10u /* ranges of expected error, each up to twice the one before, the last without limit */
#define KC_MARGIN_CLASSES (KC_EVIDENCE_START * KC_MARGIN_SPREADS + 1) /* KC_EVIDENCE_START has one class */
_Static_assert(KC_EVIDENCE_START + 1 == KC_EVIDENCES, "KC_EVIDENCE_START is the last");
_Static_assert(KC_MARGIN_CLASSES <= KC_CONTEXT_FREE_MASK + 1, "a class fits a context's free bits");

/* Before anything is learned, an interval reaches so many times the expected error below and above. */
#define KC_MARGIN_START 3.5f

struct kc_margin {
	uint64_t factors; /* below and above, two floats; 0: nothing was learned, both are 1 */
};

/* Ages: 0, 1, 2 to 3, 4 to 7, …, 1,024 or more launches awaited; then those at which of the launch shape 1 to 2 times
 * as many launches are in flight as were measured, 2 to 4 times, 4 to 8, 8 to 16, or more. */
#define KC_MARGIN_AWAITED_AGES 12u
#define KC_MARGIN_UNPROVED_AGES 5u
#define KC_MARGIN_AGES (KC_MARGIN_AWAITED_AGES + KC_MARGIN_UNPROVED_AGES)
#define KC_MARGIN_NOW KC_MARGIN_AGES /* in place of an age: without a factor */

struct kc_age_margin {
	struct kc_margin margin;
	uint32_t measured; /* launches of this age, up to some number. Learner only */
};

struct kc_margins { /* of a device */
	struct kc_margin all, classes[KC_MARGIN_CLASSES];
	struct kc_age_margin ages[KC_MARGIN_AGES];
};

uint32_t kc_margin_class(enum kc_evidence evidence, float spread);
/* 0, 1, 2 to 3, 4 to 7, …; the last of `most` is open. */
static inline uint32_t kc__doublings(uint32_t n, uint32_t most)
{
	uint32_t bits = n ? 32u - (uint32_t)__builtin_clz(n) : 0;

	return bits < most ? bits : most - 1;
}

/* awaited: operations of the stream that were launched and not yet measured. in_flight: those of them that are launches
 * of this shape. measured: launches of the shape so far. */
static inline uint32_t kc_margin_age(uint32_t awaited, uint32_t in_flight, uint32_t measured)
{
	if (!measured || in_flight < measured)
		return kc__doublings(awaited, KC_MARGIN_AWAITED_AGES);
	return KC_MARGIN_AWAITED_AGES - 1 + kc__doublings(in_flight / measured, KC_MARGIN_UNPROVED_AGES + 1);
}

/* Reach of the interval in log time, ≥ 0, below and above the prediction. margins, own: may be NULL.
 * age: kc_margin_age() or KC_MARGIN_NOW. */
void kc_margins_reach(const struct kc_margins *margins, const struct kc_margin *own, uint32_t class, float spread,
		      uint32_t age, float *below, float *above);

/* A launch was measured. side: -1 below its interval, 1 above it, 0 inside. own: of its kernel.
 * By the interval that it would be given now, which has this class: */
void kc_margins_learn(struct kc_margins *margins, struct kc_margin *own, uint32_t class, int side);
/* By the interval that it was given. events: how many were taken in between its prediction and its measurement. */
void kc_margins_learn_age(struct kc_margins *margins, uint32_t age, int side, uint64_t events);

struct kc_range {
	uint64_t ends;     /* ns, two floats: what intervals are cut to; 0: too few measurements */
	uint64_t measured; /* likewise the shortest and the longest duration; 0: none. Learner only */
	uint32_t count;    /* measurements. Learner only */
};

void kc_range_learn(struct kc_range *range, float measured_ns);
/* range: may be NULL. 0: intervals are not cut. age: more is left where more launches are in flight than were measured.
 */
int kc_range_ends(const struct kc_range *range, uint32_t age, float *low_ns, float *high_ns);

#endif
