#include "found_steps.h"
#include "repeat.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_PERIODS 16u /* that are looked at */
#define FEWEST_REPEATS 3u
#define COVER 0.5      /* share of the recording that repeats are */
#define EVEN 0.7       /* share of the repeats with nearly as many calls */
#define ALIKE 0.6      /* share of the calls of a repeat that the one before has, too */
#define COPYING 0.8    /* share of the repeats that copy from the host */
#define CLEAR 3.0      /* a wait over the next longest in a repeat: it marks on its own */
#define LONGEST 1.2    /* likewise: it tells the start */
#define COMPOSITE 0.5  /* share of the calls of a repeat that are made several times in it */
#define LONG 100u      /* launches; of a repeat that holds repeats */
#define LAYERS 200u    /* the deepest public models have fewer; the 405 billion parameters of Llama 3.1 are 126 */
#define MOSTLY 0.6     /* share of the recording that repeats are; of those without a clear mark */
#define MORE_ALIKE 0.1 /* for repeats that are found otherwise */
#define NOT_LONGER 1.1 /* likewise: launches of one over those of the other */
#define WITHIN 1.8     /* a period over the next shorter one that counts */

/* One period, looked at. */
struct level {
	struct kc_repeat repeat;
	struct kc_mark mark;
	struct kc_repeat_is is;
	uint32_t period;
};

static int copies(const struct kc_mark *mark)
{
	return mark->copying >= COPYING && mark->copy_is_steady;
}

static int has_clear_mark(const struct level *l)
{
	return copies(&l->mark) || l->mark.times >= CLEAR;
}

/* The host may wait in each layer, too, as where a layer is several CUDA graphs with an operator between them. */
static int may_be_layers(const struct level *l)
{
	return l->is.composite < COMPOSITE && l->is.foreign > 0 && l->repeat.count < LAYERS;
}

/* Whether its repeats are steps, unless those within are marked as well. */
static int is_step(const struct level *l)
{
	if (has_clear_mark(l) && (copies(&l->mark) || !may_be_layers(l)))
		return 1;
	if (l->is.composite < COMPOSITE || l->repeat.launches < LONG || l->is.cover < MOSTLY)
		return 0;
	return l->is.foreign <= 0 && (l->mark.times >= LONGEST || 2 * l->repeat.regular >= l->repeat.count);
}

static int is_repeat(const struct level *l)
{
	return l->repeat.count >= FEWEST_REPEATS && l->is.cover >= COVER && l->is.alike >= ALIKE && l->is.even >= EVEN;
}

static enum kc_step_start start_by(const struct kc_mark *mark)
{
	if (mark->times >= CLEAR)
		return KC_START_GAP;
	if (copies(mark))
		return KC_START_COPY;
	return mark->times >= LONGEST ? KC_START_GAP : KC_START_ASSUMED;
}

static int look(const struct kc_calls *calls, const struct kc_period *period, struct level *out)
{
	struct kc_origins origins;
	int rc = kc_origins_find(calls, period, &origins);

	*out = (struct level){.period = period->calls};
	if (rc == 0 && origins.count >= FEWEST_REPEATS) {
		rc = kc_mark_find(calls, &origins, period->calls, &out->mark);
		out->repeat.start = start_by(&out->mark);
		if (rc == 0)
			rc = kc_repeat_make(calls, &origins, period->calls, &out->mark, &out->repeat);
		if (rc == 0)
			rc = kc_repeat_describe(calls, &out->repeat, &out->is);
	}
	free(origins.at);
	return rc;
}

static void decide(struct level *outer, struct level *inner, struct kc_found_steps *out)
{
	int is_nested = inner->repeat.count > 0 && is_step(inner);

	out->verdict = is_nested ? KC_STEPS_NESTED : is_step(outer) ? KC_STEPS_FOUND : KC_STEPS_REPEAT;
	out->alike = outer->is.alike;
	out->outer = outer->repeat;
	out->inner = inner->repeat;
	outer->repeat.at = inner->repeat.at = NULL;
}

/* Whether its anchors recur often enough: with some that are missing. */
static int may_cover(const struct kc_calls *calls, const struct kc_period *period)
{
	uint64_t most = 0;

	for (size_t i = 0; i < period->votes; i++)
		most = period->vote[i].count > most ? period->vote[i].count : most;
	return (double)most * period->calls >= COVER * 0.8 * (double)calls->count;
}

/* The longest period that is one, and the next within it. */
static int find_levels(const struct kc_calls *calls, struct kc_found_steps *out)
{
	struct level levels[2] = {{.period = 0}, {.period = 0}}, next;
	struct kc_periods periods;
	size_t found = 0, looked = 0;
	int rc = kc_periods_find(calls, &periods);

	*out = (struct kc_found_steps){.verdict = KC_STEPS_NONE};
	for (size_t i = 0; rc == 0 && i < periods.count && looked < MOST_PERIODS && found < 2; i++) {
		if (found && (double)periods.at[i].calls * WITHIN > (double)levels[0].period)
			continue;
		if (!may_cover(calls, &periods.at[i]))
			continue;
		looked++;
		rc = look(calls, &periods.at[i], &next);
		if (rc == 0 && is_repeat(&next))
			levels[found++] = next;
		else
			free(next.repeat.at);
	}
	kc_periods_free(&periods);
	if (rc == 0 && found)
		decide(&levels[0], &levels[1], out);
	free(levels[0].repeat.at);
	free(levels[1].repeat.at);
	return rc;
}

static int find_by(const struct kc_recording *recording, const uint32_t *id, uint32_t ids, struct kc_found_steps *out)
{
	struct kc_calls calls = {
	    .at = recording->at,
	    .id = id,
	    .name = recording->name,
	    .count = recording->count,
	    .ids = ids,
	    .names = recording->names,
	};
	int rc = kc_calls_index(&calls);

	*out = (struct kc_found_steps){.verdict = KC_STEPS_NONE};
	if (rc == 0)
		rc = find_levels(&calls, out);
	kc_calls_free(&calls);
	return rc;
}

static int is_of_steps(const struct kc_found_steps *found)
{
	return found->verdict == KC_STEPS_FOUND || found->verdict == KC_STEPS_NESTED;
}

/* Keeps the better of both in `best`, and frees the other one. */
static void take_better(struct kc_found_steps *best, struct kc_found_steps *next)
{
	struct kc_found_steps worse = *next;
	int is_better = next->verdict > best->verdict && !is_of_steps(best);

	if (is_of_steps(best) && is_of_steps(next))
		is_better = next->alike >= best->alike + MORE_ALIKE &&
			    (double)next->outer.launches <= (double)best->outer.launches * NOT_LONGER;
	if (is_better) {
		worse = *best;
		*best = *next;
	}
	kc_found_steps_free(&worse);
}

int kc_found_steps_find(const struct kc_recording *recording, struct kc_found_steps *out)
{
	struct kc_found_steps next;
	int rc = find_by(recording, recording->shape, recording->shapes, out);

	if (rc == 0)
		rc = find_by(recording, recording->name, recording->names, &next);
	if (rc == 0)
		take_better(out, &next);
	else
		kc_found_steps_free(out);
	return rc;
}

void kc_found_steps_free(struct kc_found_steps *steps)
{
	free(steps->outer.at);
	free(steps->inner.at);
	*steps = (struct kc_found_steps){.verdict = KC_STEPS_NONE};
}
