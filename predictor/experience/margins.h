/*
 * How wide an interval must be to hold nine launches in ten.
 *
 *   kc_margins   factors on the relative error that the models expect
 *                (kc_mix.spread): one for each class of launches, one for each
 *                kernel, one for the device; those below and above the
 *                prediction apart, as durations are skewed
 *
 * Online conformal prediction (Gibbs and Candès 2021): each measured launch
 * moves the factors it was predicted with, up by much where it fell outside, down
 * by little where it did not, so that in the long run one in twenty falls outside on
 * either side, whatever the durations do. A class is what was known of the
 * launch and the size of the expected error.
 *
 * One thread learns. Any thread may ask meanwhile: everything read is a word of
 * 64 bits, read and written whole.
 */
#ifndef KC_MARGINS_H
#define KC_MARGINS_H

#include "standing.h"

#include <stdint.h>

#define KC_MARGIN_SPREADS 10u                                         /* each a factor of 2 wide, the last open */
#define KC_MARGIN_CLASSES (KC_EVIDENCE_START * KC_MARGIN_SPREADS + 1) /* of KC_EVIDENCE_START one */
_Static_assert(KC_EVIDENCE_START + 1 == KC_EVIDENCES, "it is the last");
_Static_assert(KC_MARGIN_CLASSES <= KC_CONTEXT_FREE_MASK + 1, "a class fits a context's free bits");

/* Half an interval before anything was learned, in errors to expect. */
#define KC_MARGIN_START 3.5f

struct kc_margin {
	uint64_t factors; /* below and above, two floats; 0: nothing learned, 1 */
};

struct kc_margins { /* a device's */
	struct kc_margin all, classes[KC_MARGIN_CLASSES];
};

uint32_t kc_margin_class(enum kc_evidence evidence, float spread);
static inline enum kc_evidence kc_margin_evidence(uint32_t class)
{
	return (enum kc_evidence)(class / KC_MARGIN_SPREADS);
}

/* Of the logarithm of the duration, ≥ 0, below and above. margins, own: may be NULL. */
void kc_margins_reach(const struct kc_margins *margins, const struct kc_margin *own, uint32_t class, float spread,
		      float *below, float *above);

/* A launch of this class was measured: side -1 below its interval, 1 above it, 0 inside. own: its kernel's. */
void kc_margins_learn(struct kc_margins *margins, struct kc_margin *own, uint32_t class, int side);

#endif
