/*
 * How wide an interval must be to contain nine launches in ten.
 *
 *   kc_margins   factors on the relative error that the models expect
 *                (kc_mix.spread): for each class of launches, for each kernel and
 *                for the device; separate ones below and above the prediction, as
 *                durations are skewed
 *
 * Online conformal prediction (Gibbs and Candès 2021): each measured launch moves
 * the factors that it was predicted with, up by much where it fell outside, down by
 * little where it did not, so that in the long run one in twenty falls outside on
 * either side, whatever the durations do. The class of a launch is what was known
 * of it and the size of the expected error.
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

struct kc_margins { /* of a device */
	struct kc_margin all, classes[KC_MARGIN_CLASSES];
};

uint32_t kc_margin_class(enum kc_evidence evidence, float spread);
static inline enum kc_evidence kc_margin_evidence(uint32_t class)
{
	return (enum kc_evidence)(class / KC_MARGIN_SPREADS);
}

/* Reach of the interval in log time, ≥ 0, below and above the prediction. margins, own: may be NULL. */
void kc_margins_reach(const struct kc_margins *margins, const struct kc_margin *own, uint32_t class, float spread,
		      float *below, float *above);

/* A launch of this class was measured. side: -1 below its interval, 1 above it, 0 inside. own: of its kernel. */
void kc_margins_learn(struct kc_margins *margins, struct kc_margin *own, uint32_t class, int side);

#endif
