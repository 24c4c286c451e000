#include "ids.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64u

static size_t place_of(int64_t id, size_t capacity)
{
	uint64_t h = (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio */

	return (h ^ h >> 32) & (capacity - 1);
}

/* The slot of the id, or the free slot for it; at most half of the slots are taken. */
static struct kc_id *find(struct kc_id *slots, size_t capacity, int64_t id)
{
	size_t at = place_of(id, capacity);

	while (slots[at].number && slots[at].id != id)
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

static int grow(struct kc_ids *ids)
{
	size_t capacity = ids->capacity ? 2 * ids->capacity : FIRST_SLOTS;
	struct kc_id *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < ids->capacity; i++) {
		if (ids->slots[i].number)
			*find(slots, capacity, ids->slots[i].id) = ids->slots[i];
	}
	free(ids->slots);
	ids->slots = slots;
	ids->capacity = capacity;
	return 0;
}

uint32_t kc_ids_find(const struct kc_ids *ids, int64_t id)
{
	return ids->count ? find(ids->slots, ids->capacity, id)->number : 0;
}

uint32_t kc_ids_number(struct kc_ids *ids, int64_t id)
{
	struct kc_id *slot;

	if (2 * (size_t)ids->count >= ids->capacity && (ids->count == UINT32_MAX || grow(ids)))
		return 0;
	slot = find(ids->slots, ids->capacity, id);
	if (!slot->number)
		*slot = (struct kc_id){id, ++ids->count};
	return slot->number;
}

void kc_ids_clear(struct kc_ids *ids)
{
	if (ids->count)
		memset(ids->slots, 0, ids->capacity * sizeof(*ids->slots));
	ids->count = 0;
}

void kc_ids_free(struct kc_ids *ids)
{
	free(ids->slots);
	*ids = (struct kc_ids){0};
}
