#include "margins.h"

#include <math.h>
#include <string.h>

#define ALL_STEP 1.0035f  /* a factor: a launch inside narrows by it, one outside widens by its 19th power, */
#define CLASS_STEP 1.004f /* so that one miss in twenty leaves the width unchanged */
#define OWN_STEP 1.01f
#define AGE_STEP 1.005f /* the same, of the factors by launches awaited */
#define AGE_MOST 16.0f  /* so much wider by as many misses as events; about half of the events measure a launch */
#define AGE_PROVED 500u /* launches measured before intervals of their age may be narrower than they began */
#define LARGEST_FACTOR 64.0f
#define LEAST_SPREAD_LOG2 -10 /* spreads below 2^-10 share a class */
#define LARGEST_SPREAD 1e9f   /* larger spreads count as this */
#define LARGEST_REACH 7.0f    /* log time: a factor of 1,100 */
#define LARGEST_REPEATED 1.6f /* log time, of a launch shape that was measured: a factor of 5 */

/* How much wider the interval of a repeated launch begins for its age: chosen on traces marked "choose", measurements
 * known after 10 ms, with AGE_MOST. */
#define AWAITED_WIDENING 0.12f /* for each doubling of the launches awaited */
#define AWAITED_FREE_AGE 3u    /* up to 7 launches awaited cost nothing */
static const float unproved_widening[KC_MARGIN_UNPROVED_AGES] = {1.5f, 2, 3, 4, 6};

struct step { /* factors for a miss and a hit */
	float up, down;
};

#define POWER_4(x) ((x) * (x) * (x) * (x))
#define POWER_19(x) (POWER_4(POWER_4(x)) * (x) * (x) * (x))
static const struct step all_step = {POWER_19(ALL_STEP), 1 / ALL_STEP};
static const struct step class_step = {POWER_19(CLASS_STEP), 1 / CLASS_STEP};
static const struct step own_step = {POWER_19(OWN_STEP), 1 / OWN_STEP};

#define RANGE_MEASUREMENTS 20u /* before it cuts intervals */
/* Of its width in log time, on either side: what comes next may lie outside. Half the width where more launches are in
 * flight than were measured. */
#define RANGE_SLACK 0.05f

struct factors { /* or the two ends of a range */
	float below, above;
};

static struct factors unpack(uint64_t word)
{
	struct factors f = {1, 1};

	if (word)
		memcpy(&f, &word, sizeof(f));
	return f;
}

static void publish(uint64_t *to, struct factors f)
{
	uint64_t word;

	memcpy(&word, &f, sizeof(word));
	__atomic_store_n(to, word, __ATOMIC_RELAXED);
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

/* What was measured last says less of a launch that is further away, and at first nothing tells by how much. */
static float widening_at_first(uint32_t age, int repeated)
{
	if (!repeated)
		return 1;
	if (age >= KC_MARGIN_AWAITED_AGES)
		return unproved_widening[age - KC_MARGIN_AWAITED_AGES];
	return age > AWAITED_FREE_AGE ? 1 + AWAITED_WIDENING * (float)(age - AWAITED_FREE_AGE) : 1;
}

static struct factors factors_of_age(const struct kc_margins *margins, uint32_t age, int repeated)
{
	struct factors f = {1, 1};
	float widening;

	if (!margins || age == KC_MARGIN_NOW)
		return f;
	f = read_factors(&margins->ages[age].margin);
	widening = widening_at_first(age, repeated);
	return (struct factors){fmaxf(f.below * widening, 1), fmaxf(f.above * widening, 1)};
}

void kc_margins_reach(const struct kc_margins *margins, const struct kc_margin *own, uint32_t class, float spread,
		      uint32_t age, float *below, float *above)
{
	struct factors all = read_factors(margins ? &margins->all : NULL);
	struct factors of_class = read_factors(margins ? &margins->classes[class] : NULL);
	struct factors of_kernel = read_factors(own);
	int repeated = class >= KC_EVIDENCE_SHAPE * KC_MARGIN_SPREADS;
	struct factors of_age = factors_of_age(margins, age, repeated);
	float most = repeated ? LARGEST_REPEATED : LARGEST_REACH;

	*below = KC_MARGIN_START * spread * all.below * of_class.below * of_kernel.below * of_age.below;
	*below = *below < most ? *below : most;
	*above = KC_MARGIN_START * spread * all.above * of_class.above * of_kernel.above * of_age.above;
	*above = *above < most ? *above : most;
}

static float moved(float factor, int missed, const struct step *step)
{
	factor *= missed ? step->up : step->down;
	if (factor > LARGEST_FACTOR)
		return LARGEST_FACTOR;
	return factor < 1 / LARGEST_FACTOR ? 1 / LARGEST_FACTOR : factor;
}

static struct factors moved_both(struct factors f, int side, const struct step *step)
{
	return (struct factors){moved(f.below, side < 0, step), moved(f.above, side > 0, step)};
}

static void move(struct kc_margin *margin, int side, const struct step *step)
{
	publish(&margin->factors, moved_both(unpack(margin->factors), side, step));
}

void kc_margins_learn(struct kc_margins *margins, struct kc_margin *own, uint32_t class, int side)
{
	move(&margins->all, side, &all_step);
	move(&margins->classes[class], side, &class_step);
	move(own, side, &own_step);
}

/* Launches that are predicted before the first of them is measured make the same mistake, and learn from it together.
 */
static struct step step_of_age(uint64_t events)
{
	float step = fminf(logf(AGE_STEP), logf(AGE_MOST) / 19 / (float)(events ? events : 1));

	return (struct step){expf(19 * step), expf(-step)};
}

/* An older prediction is never the better one. */
static float least_of_age(const struct kc_age_margin *of_age, uint32_t age)
{
	return of_age->measured < AGE_PROVED ? 1 : 1 / widening_at_first(age, 1);
}

void kc_margins_learn_age(struct kc_margins *margins, uint32_t age, int side, uint64_t events)
{
	struct kc_age_margin *of_age = &margins->ages[age];
	struct step step = step_of_age(events);
	struct factors f = moved_both(unpack(of_age->margin.factors), side, &step);
	float least = least_of_age(of_age, age);

	of_age->measured += of_age->measured < AGE_PROVED;
	publish(&of_age->margin.factors, (struct factors){fmaxf(f.below, least), fmaxf(f.above, least)});
}

void kc_range_learn(struct kc_range *range, float measured_ns)
{
	struct factors ns = range->measured ? unpack(range->measured) : (struct factors){measured_ns, measured_ns};
	int wider = !range->measured || measured_ns < ns.below || measured_ns > ns.above;
	float slack;

	if (wider) {
		ns = (struct factors){fminf(ns.below, measured_ns), fmaxf(ns.above, measured_ns)};
		publish(&range->measured, ns);
	}
	range->count += range->count < RANGE_MEASUREMENTS;
	if (range->count < RANGE_MEASUREMENTS || (!wider && range->ends))
		return;
	slack = powf(ns.above / ns.below, RANGE_SLACK);
	publish(&range->ends, (struct factors){ns.below / slack, ns.above * slack});
}

int kc_range_ends(const struct kc_range *range, uint32_t age, float *low_ns, float *high_ns)
{
	uint64_t word = range ? __atomic_load_n(&range->ends, __ATOMIC_RELAXED) : 0;
	struct factors ends = unpack(word);
	float slack = age >= KC_MARGIN_AWAITED_AGES ? sqrtf(ends.above / ends.below) : 1;

	*low_ns = ends.below / slack;
	*high_ns = ends.above * slack;
	return word != 0;
}
