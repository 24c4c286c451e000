#include "rollup.h"
#include "store/common/growing.h"
#include "store/journal/journal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64u

static uint64_t mix(uint64_t h, uint64_t value)
{
	h ^= value;
	h *= UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio: Knuth, TAOCP 6.4 */
	return h ^ h >> 32;
}

static uint64_t hash(const struct kc__rollup_key *key)
{
	uint64_t h = mix((uint64_t)key->process, (uint64_t)key->kernel);

	h = mix(h, (uint64_t)key->stream);
	return mix(h, (uint64_t)key->model << 24 | key->concurrency_case << 16 | key->novelty << 8 | key->overlap);
}

static int same(const struct kc__rollup_key *a, const struct kc__rollup_key *b)
{
	return a->kernel == b->kernel && a->stream == b->stream && a->process == b->process && a->model == b->model &&
	       a->concurrency_case == b->concurrency_case && a->novelty == b->novelty && a->overlap == b->overlap;
}

static uint32_t *find_slot(const struct kc__rollups *r, const struct kc__rollup_key *key)
{
	size_t i = hash(key) & (r->slot_count - 1);

	while (r->slots[i] && !same(&r->at[r->slots[i] - 1]->key, key))
		i = (i + 1) & (r->slot_count - 1);
	return &r->slots[i];
}

static int grow(struct kc__rollups *r)
{
	size_t capacity = r->capacity ? r->capacity * 2 : FIRST_SLOTS / 2;
	struct kc__rollup **at = realloc(r->at, capacity * sizeof(*at));
	uint32_t *slots;

	if (!at)
		return -ENOMEM;
	r->at = at;
	slots = calloc(capacity * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(r->slots);
	r->bytes += (capacity - r->capacity) * (sizeof(*at) + 2 * sizeof(*slots));
	r->slots = slots;
	r->slot_count = capacity * 2;
	r->capacity = capacity;
	for (size_t i = 0; i < r->count; i++)
		*find_slot(r, &r->at[i]->key) = (uint32_t)i + 1;
	return 0;
}

static struct kc__rollup *find_or_add(struct kc__rollups *r, const struct kc__rollup_key *key)
{
	struct kc__rollup *rollup;
	uint32_t *slot;

	if (r->count == r->capacity && grow(r))
		return NULL;
	slot = find_slot(r, key);
	if (*slot)
		return r->at[*slot - 1];
	rollup = calloc(1, sizeof(*rollup));
	if (!rollup)
		return NULL;
	rollup->key = *key;
	r->at[r->count++] = rollup;
	r->bytes += sizeof(*rollup);
	*slot = (uint32_t)r->count;
	return rollup;
}

static int keep_error(struct kc__rollup *r, double error)
{
	if (KC_ROOM(r->errors, r->error_capacity, r->error_count))
		return -ENOMEM;
	r->errors[r->error_count++] = (float)error;
	return 0;
}

/* Measured duration over the median of the solo launches that were known when it was predicted. */
static void add_slowdown(struct kc__sums *sums, struct kc__solos *solos, const struct kc__fact *fact)
{
	double median = kc__solos_median(solos, fact->key.process, fact->shape, fact->predicted_at_ns);
	double measured;

	if (median <= 0) {
		sums->slow_without++;
		return;
	}
	measured = (double)fact->measured_ns / median;
	sums->slow_n++;
	sums->slow_measured_sum += measured;
	sums->slow_predicted_sum += fact->slowdown;
	sums->slow_error_sum += fabs(fact->slowdown - measured) / measured;
	sums->slow_waves_sum += fact->slowdown_waves;
	sums->slow_waves_error_sum += fabs(fact->slowdown_waves - measured) / measured;
}

static double add_match(struct kc__sums *sums, const struct kc__fact *fact)
{
	double predicted = (double)fact->predicted_ns, measured = (double)fact->measured_ns;
	double difference = fabs(predicted - measured), ratio = predicted / measured, log_ratio = log(ratio);

	sums->matched++;
	sums->matched_ns += measured;
	sums->predicted_ns += predicted;
	sums->error_ns += difference;
	sums->error_sum += difference / measured;
	sums->log_sum += log_ratio;
	sums->log_square_sum += log_ratio * log_ratio;
	sums->within_20 += ratio >= 0.8 && ratio <= 1.2;
	return difference / measured;
}

int kc__rollup_count(struct kc__rollups *rollups, struct kc__rollup *rollup, uint32_t bucket, uint32_t count)
{
	size_t before = kc_sketch_bytes(&rollup->sketch);
	int rc = kc_sketch_count(&rollup->sketch, bucket, count);

	rollups->bytes += kc_sketch_bytes(&rollup->sketch) - before;
	return rc;
}

int kc__rollups_add(struct kc__rollups *rollups, struct kc__solos *solos, const struct kc__fact *fact)
{
	struct kc__rollup *rollup = find_or_add(rollups, &fact->key);
	double error;

	if (!rollup)
		return -ENOMEM;
	rollup->is_changed = 1;
	rollup->sums.launches++;
	if (!fact->measured_ns)
		return 0;
	rollup->sums.measured++;
	rollup->sums.measured_ns += (double)fact->measured_ns;
	if (fact->predicted_ns) {
		error = add_match(&rollup->sums, fact);
		if (kc__rollup_count(rollups, rollup, kc_sketch_bucket(error), 1))
			return -ENOMEM;
		if (rollups->keep_errors && keep_error(rollup, error))
			return -ENOMEM;
		if (solos && fact->key.overlap >= KC_OVERLAP_BEHIND)
			add_slowdown(&rollup->sums, solos, fact);
	}
	return solos ? kc__solos_add(solos, fact) : 0;
}

void kc__sums_add(struct kc__sums *to, const struct kc__sums *from)
{
#define ADD(name) to->name += from->name;
	KC__COUNT_SUMS(ADD)
	KC__REAL_SUMS(ADD)
#undef ADD
}

void kc__rollups_clear(struct kc__rollups *rollups)
{
	for (size_t i = 0; i < rollups->count; i++) {
		free(rollups->at[i]->errors);
		kc_sketch_free(&rollups->at[i]->sketch);
		free(rollups->at[i]);
	}
	free(rollups->at);
	free(rollups->slots);
	*rollups = (struct kc__rollups){.keep_errors = rollups->keep_errors};
}
