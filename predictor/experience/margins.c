#include "margins.h"

#include <math.h>
#include <string.h>

#define ALL_STEP 1.0035f  /* a factor: a launch inside narrows by it, one outside widens by its 19th power, */
#define CLASS_STEP 1.004f /* so that one miss in twenty leaves the width unchanged */
#define OWN_STEP 1.01f
#define LARGEST_FACTOR 64.0f
#define LEAST_SPREAD_LOG2 -10 /* spreads below 2^-10 share a class */
#define LARGEST_SPREAD 1e9f   /* larger spreads count as this */
#define LARGEST_REACH 7.0f    /* log time: a factor of 1,100 */
#define LARGEST_REPEATED 1.6f /* log time, of a launch shape that was measured: a factor of 5 */

struct step { /* factors for a miss and a hit */
	float up, down;
};

#define POWER_4(x) ((x) * (x) * (x) * (x))
#define POWER_19(x) (POWER_4(POWER_4(x)) * (x) * (x) * (x))
static const struct step all_step = {POWER_19(ALL_STEP), 1 / ALL_STEP};
static const struct step class_step = {POWER_19(CLASS_STEP), 1 / CLASS_STEP};
static const struct step own_step = {POWER_19(OWN_STEP), 1 / OWN_STEP};

struct factors {
	float below, above;
};

static struct factors unpack(uint64_t word)
{
	struct factors f = {1, 1};

	if (word)
		memcpy(&f, &word, sizeof(f));
	return f;
}

static struct factors read_factors(const struct kc_margin *margin)
{
	return unpack(margin ? __atomic_load_n(&margin->factors, __ATOMIC_RELAXED) : 0);
}

uint32_t kc_margin_class(enum kc_evidence evidence, float spread)
{
	int size = spread > 0 ? ilogbf(fminf(spread, LARGEST_SPREAD)) - LEAST_SPREAD_LOG2 : 0;

	if (evidence == KC_EVIDENCE_START)
		return KC_EVIDENCE_START * KC_MARGIN_SPREADS;
	size = size < 0 ? 0 : size < (int)KC_MARGIN_SPREADS ? size : (int)KC_MARGIN_SPREADS - 1;
	return evidence * KC_MARGIN_SPREADS + (uint32_t)size;
}

void kc_margins_reach(const struct kc_margins *margins, const struct kc_margin *own, uint32_t class, float spread,
		      float *below, float *above)
{
	struct factors all = read_factors(margins ? &margins->all : NULL);
	struct factors of_class = read_factors(margins ? &margins->classes[class] : NULL);
	struct factors of_kernel = read_factors(own);
	float most = class < KC_EVIDENCE_SHAPE * KC_MARGIN_SPREADS ? LARGEST_REACH : LARGEST_REPEATED;

	*below = KC_MARGIN_START * spread * all.below * of_class.below * of_kernel.below;
	*below = *below < most ? *below : most;
	*above = KC_MARGIN_START * spread * all.above * of_class.above * of_kernel.above;
	*above = *above < most ? *above : most;
}

static float moved(float factor, int missed, const struct step *step)
{
	factor *= missed ? step->up : step->down;
	if (factor > LARGEST_FACTOR)
		return LARGEST_FACTOR;
	return factor < 1 / LARGEST_FACTOR ? 1 / LARGEST_FACTOR : factor;
}

static void move(struct kc_margin *margin, int side, const struct step *step)
{
	struct factors f = unpack(margin->factors);
	uint64_t word;

	f.below = moved(f.below, side < 0, step);
	f.above = moved(f.above, side > 0, step);
	memcpy(&word, &f, sizeof(word));
	__atomic_store_n(&margin->factors, word, __ATOMIC_RELAXED);
}

void kc_margins_learn(struct kc_margins *margins, struct kc_margin *own, uint32_t class, int side)
{
	move(&margins->all, side, &all_step);
	move(&margins->classes[class], side, &class_step);
	move(own, side, &own_step);
}
