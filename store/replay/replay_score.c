#include "replay_figures.h"
#include "store/common/growing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOW_QUANTILE 0.05 /* of a 90 % interval */
#define HIGH_QUANTILE 0.95
#define MISS_COST 20.0   /* 2 / (1 - 0.9): the interval score of Gneiting and Raftery 2007, Equation 43 */
#define FEW_MEASURED 20u /* durations; quantiles of fewer mean little */

/* Yardsticks */

static int push(struct kc__heap *h, int64_t value)
{
	uint32_t i = h->count;

	if (KC_ROOM(h->at, h->capacity, i))
		return -ENOMEM;
	h->count++;
	for (; i && h->at[(i - 1) / 2] < value; i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = value;
	return 0;
}

static int64_t pop(struct kc__heap *h)
{
	int64_t top = h->at[0], last = h->at[--h->count];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < h->count) {
		if (child + 1 < h->count && h->at[child + 1] > h->at[child])
			child++;
		if (h->at[child] <= last)
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = last;
	return top;
}

static int add_to(struct kc__quantile *quantile, double q, int64_t value)
{
	struct kc__heap *up_to = &quantile->up_to, *rest = &quantile->rest;
	int rc = up_to->count && value <= up_to->at[0] ? push(up_to, value) : push(rest, -value);
	uint64_t rank = kc_quantile_rank(q, up_to->count + rest->count);

	while (rc == 0 && up_to->count < rank)
		rc = push(up_to, -pop(rest));
	while (rc == 0 && up_to->count > rank)
		rc = push(rest, -pop(up_to));
	return rc;
}

int kc__yardstick_add(struct kc__yardstick **made, int64_t ns)
{
	struct kc__yardstick *yardstick = *made ? *made : calloc(1, sizeof(*yardstick));
	int rc;

	if (!yardstick)
		return -ENOMEM;
	*made = yardstick;
	rc = add_to(&yardstick->low, LOW_QUANTILE, ns);
	if (rc == 0)
		rc = add_to(&yardstick->high, HIGH_QUANTILE, ns);
	yardstick->last_ns = ns;
	yardstick->count++;
	return rc;
}

void kc__yardstick_free(struct kc__yardstick *yardstick)
{
	if (!yardstick)
		return;
	free(yardstick->low.up_to.at);
	free(yardstick->low.rest.at);
	free(yardstick->high.up_to.at);
	free(yardstick->high.rest.at);
	free(yardstick);
}

void kc__yardstick_look(const struct kc__yardstick *yardstick, struct kc_replay_launch *l)
{
	if (!yardstick)
		return;
	l->last_ns = yardstick->last_ns;
	if (yardstick->count < FEW_MEASURED)
		return;
	l->past_low_ns = yardstick->low.up_to.at[0];
	l->past_high_ns = yardstick->high.up_to.at[0];
}

/* Errors */

/* 64 buckets per factor of 2, from 2^-20 to 2^20 */
#define FRACTION_BITS 6u
#define FIRST_BUCKET ((127u - 20u) << FRACTION_BITS)

static uint32_t bucket_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits >>= 23 - FRACTION_BITS;
	if (bits < FIRST_BUCKET)
		return 0;
	return bits - FIRST_BUCKET < KC__ERROR_BUCKETS ? bits - FIRST_BUCKET : KC__ERROR_BUCKETS - 1;
}

/* The middle of a bucket; 0 for the first one, which also holds all smaller values. */
static double value_of(uint32_t bucket)
{
	uint32_t bits = ((bucket + FIRST_BUCKET) << (23 - FRACTION_BITS)) | 1u << (22 - FRACTION_BITS);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return bucket ? (double)value : 0;
}

static void tally(struct kc__errors *t, double value)
{
	t->n++;
	t->sum += value;
	t->buckets[bucket_of((float)value)]++;
}

static double quantile(const struct kc__errors *t, double q)
{
	uint64_t rank = t->n ? kc_quantile_rank(q, t->n) : 0, seen = 0;

	for (uint32_t i = 0; rank && i < KC__ERROR_BUCKETS; i++) {
		seen += t->buckets[i];
		if (seen >= rank)
			return value_of(i);
	}
	return NAN;
}

static struct kc_replay_accuracy accuracy_of(const struct kc__errors *t)
{
	return (struct kc_replay_accuracy){
	    .n = t->n,
	    .mape = t->n ? t->sum / (double)t->n : NAN,
	    .median = quantile(t, 0.5),
	    .p90 = quantile(t, 0.9),
	};
}

static double error(int64_t said_ns, double measured)
{
	return fabs((double)said_ns - measured) / measured;
}

static double interval_score(int64_t low_ns, int64_t high_ns, double measured)
{
	double below = fmax((double)low_ns - measured, 0), above = fmax(measured - (double)high_ns, 0);

	return ((double)(high_ns - low_ns) + MISS_COST * (below + above)) / measured;
}

static void score_interval(struct kc__score *s, const struct kc_replay_launch *l, double measured)
{
	struct kc__coverage *c = &s->intervals[l->novelty];

	c->n++;
	c->covered += measured >= (double)l->low_ns && measured <= (double)l->high_ns;
	tally(&c->width, (double)(l->high_ns - l->low_ns) / measured);
	if (!l->past_high_ns || l->novelty != KC_REPEATED)
		return;
	s->scored++;
	s->score += interval_score(l->low_ns, l->high_ns, measured);
	s->past_score += interval_score(l->past_low_ns, l->past_high_ns, measured);
}

/* Launches 1, 2 to 3, 4 to 7, … */
static uint32_t stage_of(uint64_t launch)
{
	uint32_t stage = 63u - (uint32_t)__builtin_clzll(launch);

	return stage < KC_REPLAY_STAGES ? stage : KC_REPLAY_STAGES - 1;
}

void kc__score_add(struct kc__score *s, const struct kc_replay_launch *l)
{
	double measured = (double)(l->measured_end_ns - l->measured_start_ns), own;

	if (l->unpredictable || !l->measured_end_ns || l->excluded || !(measured > 0))
		return;
	own = error(l->end_ns - l->start_ns, measured);
	tally(&s->stages[stage_of(++s->launches)], own);
	for (uint32_t i = 0; i < KC_CANDIDATES; i++) {
		if (l->said_ns[i] > 0)
			tally(&s->models[i], error(l->said_ns[i], measured));
	}
	tally(&s->models[KC_REPLAY_MIX], own);
	if (l->last_ns && l->novelty == KC_REPEATED) {
		tally(&s->models[KC_REPLAY_LAST], error(l->last_ns, measured));
		s->beside_last += own;
	}
	score_interval(s, l, measured);
}

static double share(uint64_t part, uint64_t of)
{
	return of ? (double)part / (double)of : NAN;
}

void kc__score_finish(const struct kc__score *s, struct kc_replay *out)
{
	uint64_t n = 0, covered = 0, last = s->models[KC_REPLAY_LAST].n;

	for (uint32_t i = 0; i < KC_REPLAY_MODELS; i++)
		out->models[i] = accuracy_of(&s->models[i]);
	for (uint32_t i = 0; i < KC_REPLAY_NOVELTIES; i++) {
		const struct kc__coverage *c = &s->intervals[i];

		out->intervals[i] = (struct kc_replay_interval){
		    .n = c->n,
		    .coverage = share(c->covered, c->n),
		    .width = quantile(&c->width, 0.5),
		};
		n += c->n;
		covered += c->covered;
	}
	out->coverage = share(covered, n);
	out->scored = s->scored;
	out->score = s->scored ? s->score / (double)s->scored : NAN;
	out->past_score = s->scored ? s->past_score / (double)s->scored : NAN;
	out->beside_last = last ? s->beside_last / (double)last : NAN;
	for (uint32_t i = 0; i < KC_REPLAY_STAGES; i++)
		out->stages[i] = accuracy_of(&s->stages[i]);
}

const char *kc_replay_model_name(uint32_t model)
{
	static const char *const names[KC_REPLAY_MODELS] = {
	    [KC_CANDIDATE_LAMBDA] = "bsp",
	    [KC_CANDIDATE_CONTEXT] = "context",
	    [KC_REPLAY_MIX] = "mix",
	    [KC_REPLAY_LAST] = "last-value",
	};

	return model < KC_REPLAY_MODELS ? names[model] : "unknown";
}
