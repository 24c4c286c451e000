#include "sketch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t kc_sketch_bucket(double value)
{
	double steps;

	if (isnan(value))
		return KC_SKETCH_BUCKETS - 1;
	if (value < KC_SKETCH_LEAST)
		return 0;
	steps = log(value / KC_SKETCH_LEAST) / log(KC_SKETCH_GAMMA);
	return steps >= KC_SKETCH_BUCKETS - 2 ? KC_SKETCH_BUCKETS - 1 : 1 + (uint32_t)steps;
}

double kc_sketch_value(uint32_t bucket)
{
	if (bucket == 0)
		return 0;
	return KC_SKETCH_LEAST * pow(KC_SKETCH_GAMMA, (double)bucket - 0.5);
}

/* As doubles, 0.07 * 100 is a little more than 7. */
#define ROUNDING 1e-9

uint64_t kc_quantile_rank(double q, uint64_t n)
{
	double rank = ceil(q * (double)n * (1 - ROUNDING));

	return rank < 1 ? 1 : rank > (double)n ? n : (uint64_t)rank;
}

double kc_sketch_quantile(const uint64_t counts[KC_SKETCH_BUCKETS], double q)
{
	uint64_t n = 0, seen = 0, rank;

	for (uint32_t i = 0; i < KC_SKETCH_BUCKETS; i++)
		n += counts[i];
	if (n == 0)
		return NAN;
	rank = kc_quantile_rank(q, n);
	for (uint32_t i = 0; i < KC_SKETCH_BUCKETS; i++) {
		seen += counts[i];
		if (seen >= rank)
			return kc_sketch_value(i);
	}
	return kc_sketch_value(KC_SKETCH_BUCKETS - 1);
}

static size_t put_number(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		out[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[n++] = (uint8_t)value;
	return n;
}

static int get_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return 0;
	}
	return -EINVAL;
}

#define GROUPS_MORE 4

static int add_group(struct kc_sketch *sketch, uint8_t *place)
{
	size_t capacity = sketch->capacity + GROUPS_MORE;
	void *groups;

	if (sketch->count == sketch->capacity) {
		groups = realloc(sketch->groups, capacity * sizeof(*sketch->groups));
		if (!groups)
			return -ENOMEM;
		sketch->groups = groups;
		sketch->capacity = (uint8_t)capacity;
	}
	memset(sketch->groups[sketch->count], 0, sizeof(*sketch->groups));
	*place = ++sketch->count;
	return 0;
}

int kc_sketch_count(struct kc_sketch *sketch, uint32_t bucket, uint32_t count)
{
	uint8_t *place = &sketch->place[bucket / KC_SKETCH_GROUP];

	if (!*place && add_group(sketch, place))
		return -ENOMEM;
	sketch->groups[*place - 1][bucket % KC_SKETCH_GROUP] += count;
	return 0;
}

uint32_t kc_sketch_counted(const struct kc_sketch *sketch, uint32_t bucket)
{
	uint8_t place = sketch->place[bucket / KC_SKETCH_GROUP];

	return place ? sketch->groups[place - 1][bucket % KC_SKETCH_GROUP] : 0;
}

size_t kc_sketch_bytes(const struct kc_sketch *sketch)
{
	return sketch->capacity * sizeof(*sketch->groups);
}

void kc_sketch_free(struct kc_sketch *sketch)
{
	free(sketch->groups);
	*sketch = (struct kc_sketch){0};
}

size_t kc_sketch_encode(const struct kc_sketch *sketch, uint8_t *out)
{
	size_t n = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; i < KC_SKETCH_GROUPS; i++) {
		const uint32_t *counts = sketch->place[i] ? sketch->groups[sketch->place[i] - 1] : NULL;

		for (uint32_t k = 0; counts && k < KC_SKETCH_GROUP; k++) {
			uint32_t bucket = i * KC_SKETCH_GROUP + k;

			if (!counts[k])
				continue;
			n += put_number(out + n, bucket - last);
			n += put_number(out + n, counts[k]);
			last = bucket;
		}
	}
	return n;
}

int kc_sketch_add(uint64_t counts[KC_SKETCH_BUCKETS], const uint8_t *encoded, size_t bytes)
{
	const uint8_t *end = bytes ? encoded + bytes : encoded;
	uint64_t bucket = 0, step, count;

	while (encoded < end) {
		if (get_number(&encoded, end, &step) || get_number(&encoded, end, &count))
			return -EINVAL;
		bucket += step;
		if (step >= KC_SKETCH_BUCKETS || bucket >= KC_SKETCH_BUCKETS)
			return -EINVAL;
		counts[bucket] += count;
	}
	return 0;
}
