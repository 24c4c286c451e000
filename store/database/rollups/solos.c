#include "rollup.h"
#include "predictor/concurrency/overlap.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds. When there are MAX_SHAPES, or they take all the memory there is for them, everything is forgotten, and the
 * medians that are missing later are counted. Of one shape, no more than MAX_PENDING measurements that
 * end after the newest prediction are used. */
#define MAX_SHAPES 16384u
#define MAX_PENDING 256u
#define FIRST_SLOTS 256u

struct bucket {
	int32_t index; /* floor(log(duration) / log(gamma)) */
	uint32_t count;
};

struct pending {
	int64_t end_ns;
	int64_t duration_ns;
};

struct solo {
	int64_t process, shape; /* shape 0: free */
	struct bucket *buckets; /* by index */
	uint32_t bucket_count, bucket_capacity;
	uint64_t n;
	struct pending *pending; /* a ring of 2^n: measured after the newest prediction was made */
	uint32_t pending_first, pending_count, pending_capacity;
};

struct kc__solos {
	struct solo *at;
	size_t count, capacity;
	size_t bytes, max_bytes;
};

struct kc__solos *kc__solos_new(size_t max_bytes)
{
	struct kc__solos *solos = calloc(1, sizeof(*solos));

	if (solos)
		solos->max_bytes = max_bytes;
	return solos;
}

static void clear(struct kc__solos *solos)
{
	for (size_t i = 0; i < solos->capacity; i++) {
		free(solos->at[i].buckets);
		free(solos->at[i].pending);
	}
	free(solos->at);
	*solos = (struct kc__solos){.max_bytes = solos->max_bytes};
}

void kc__solos_free(struct kc__solos *solos)
{
	if (!solos)
		return;
	clear(solos);
	free(solos);
}

static struct solo *find(struct solo *at, size_t capacity, int64_t process, int64_t shape)
{
	uint64_t h = ((uint64_t)shape ^ (uint64_t)process << 40) * UINT64_C(0x9E3779B97F4A7C15);
	size_t i = (h >> 32) & (capacity - 1);

	while (at[i].shape && (at[i].shape != shape || at[i].process != process))
		i = (i + 1) & (capacity - 1);
	return &at[i];
}

static int grow(struct kc__solos *solos)
{
	size_t capacity = solos->capacity ? solos->capacity * 2 : FIRST_SLOTS;
	struct solo *at = calloc(capacity, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < solos->capacity; i++) {
		if (solos->at[i].shape)
			*find(at, capacity, solos->at[i].process, solos->at[i].shape) = solos->at[i];
	}
	free(solos->at);
	solos->bytes += (capacity - solos->capacity) * sizeof(*at);
	solos->at = at;
	solos->capacity = capacity;
	return 0;
}

static struct solo *find_or_add(struct kc__solos *solos, int64_t process, int64_t shape)
{
	struct solo *solo;

	if (solos->count >= MAX_SHAPES || solos->bytes > solos->max_bytes)
		clear(solos);
	if (solos->count * 2 >= solos->capacity && grow(solos))
		return NULL;
	solo = find(solos->at, solos->capacity, process, shape);
	if (!solo->shape) {
		solo->process = process;
		solo->shape = shape;
		solos->count++;
	}
	return solo;
}

static int count_duration(struct kc__solos *solos, struct solo *s, int64_t duration_ns)
{
	int32_t index = (int32_t)floor(log((double)duration_ns) / log(KC_SKETCH_GAMMA));
	uint32_t i = (uint32_t)KC_FIRST(b, s->bucket_count, s->buckets[b].index >= index);

	if (i == s->bucket_count || s->buckets[i].index != index) {
		if (s->bucket_count == s->bucket_capacity) {
			uint32_t capacity = s->bucket_capacity ? s->bucket_capacity * 2 : 4;
			struct bucket *buckets = realloc(s->buckets, capacity * sizeof(*buckets));

			if (!buckets)
				return -ENOMEM;
			solos->bytes += (capacity - s->bucket_capacity) * sizeof(*buckets);
			s->buckets = buckets;
			s->bucket_capacity = capacity;
		}
		memmove(s->buckets + i + 1, s->buckets + i, (s->bucket_count - i) * sizeof(*s->buckets));
		s->buckets[i] = (struct bucket){.index = index};
		s->bucket_count++;
	}
	s->buckets[i].count++;
	s->n++;
	return 0;
}

/* Launches of one shape end in the order of their calls, or nearly so: the search
 * stops at the first one that was not known yet. */
static void settle(struct kc__solos *solos, struct solo *s, int64_t at_ns)
{
	while (s->pending_count) {
		const struct pending *p = &s->pending[s->pending_first];

		if (p->end_ns > at_ns || count_duration(solos, s, p->duration_ns))
			return;
		s->pending_first = (s->pending_first + 1) & (s->pending_capacity - 1);
		s->pending_count--;
	}
}

static int grow_pending(struct kc__solos *solos, struct solo *s)
{
	uint32_t capacity = s->pending_capacity ? s->pending_capacity * 2 : 4;
	struct pending *pending = malloc(capacity * sizeof(*pending));

	if (!pending)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->pending_count; i++)
		pending[i] = s->pending[(s->pending_first + i) & (s->pending_capacity - 1)];
	free(s->pending);
	solos->bytes += (capacity - s->pending_capacity) * sizeof(*pending);
	s->pending = pending;
	s->pending_first = 0;
	s->pending_capacity = capacity;
	return 0;
}

double kc__solos_median(struct kc__solos *solos, int64_t process, int64_t shape, int64_t at_ns)
{
	struct solo *s;
	uint64_t seen = 0;

	if (!solos->capacity || !shape)
		return 0;
	s = find(solos->at, solos->capacity, process, shape);
	if (!s->shape)
		return 0;
	settle(solos, s, at_ns);
	for (uint32_t i = 0; i < s->bucket_count; i++) {
		seen += s->buckets[i].count;
		if (seen * 2 >= s->n)
			return pow(KC_SKETCH_GAMMA, s->buckets[i].index + 0.5);
	}
	return 0;
}

int kc__solos_add(struct kc__solos *solos, const struct kc__fact *fact)
{
	struct solo *s;

	if (!fact->shape || !fact->measured_ns || fact->key.overlap != KC_OVERLAP_NONE)
		return 0;
	s = find_or_add(solos, fact->key.process, fact->shape);
	if (!s)
		return -ENOMEM;
	settle(solos, s, fact->predicted_at_ns);
	if (s->pending_count == MAX_PENDING)
		return 0;
	if (s->pending_count == s->pending_capacity && grow_pending(solos, s))
		return -ENOMEM;
	s->pending[(s->pending_first + s->pending_count++) & (s->pending_capacity - 1)] =
	    (struct pending){.end_ns = fact->measured_end_ns, .duration_ns = fact->measured_ns};
	return 0;
}
