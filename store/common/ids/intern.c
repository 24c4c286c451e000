#include "intern.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256u

struct key {
	char kind;
	const void *first, *second;
	size_t first_bytes, second_bytes;
};

static int is_key(const struct kc_interned *slot, uint64_t hash, const struct key *key)
{
	return slot->hash == hash && slot->bytes == 1 + key->first_bytes + key->second_bytes &&
	       slot->at[0] == key->kind && !memcmp(slot->at + 1, key->first, key->first_bytes) &&
	       !memcmp(slot->at + 1 + key->first_bytes, key->second, key->second_bytes);
}

static int grow(struct kc_intern *intern)
{
	size_t capacity = intern->capacity ? 2 * intern->capacity : FIRST_SLOTS;
	struct kc_interned *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < intern->capacity; i++) {
		size_t at = intern->slots[i].hash & (capacity - 1);

		if (!intern->slots[i].id)
			continue;
		while (slots[at].id)
			at = (at + 1) & (capacity - 1);
		slots[at] = intern->slots[i];
	}
	free(intern->slots);
	intern->slots = slots;
	intern->capacity = capacity;
	return 0;
}

static int fill(struct kc_interned *slot, uint64_t hash, const struct key *key)
{
	size_t bytes = 1 + key->first_bytes + key->second_bytes;

	slot->at = malloc(bytes);
	if (!slot->at)
		return -1;
	slot->at[0] = key->kind;
	memcpy(slot->at + 1, key->first, key->first_bytes);
	memcpy(slot->at + 1 + key->first_bytes, key->second, key->second_bytes);
	slot->hash = hash;
	slot->bytes = (uint32_t)bytes;
	return 0;
}

/* Of memory alone: eight bytes at a time, by multiplication (Knuth, TAOCP 6.4). */
static uint64_t add_to_hash(uint64_t hash, const char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, at + i, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	return hash;
}

static uint32_t find_or_add(struct kc_intern *intern, const struct key *key)
{
	uint64_t hash = add_to_hash((uint64_t)key->kind, key->first, key->first_bytes);
	size_t at;

	hash = add_to_hash(hash, key->second, key->second_bytes);
	if (2 * (size_t)intern->count >= intern->capacity && grow(intern))
		return 0;
	at = hash & (intern->capacity - 1);
	while (intern->slots[at].id && !is_key(&intern->slots[at], hash, key))
		at = (at + 1) & (intern->capacity - 1);
	if (!intern->slots[at].id) {
		if (fill(&intern->slots[at], hash, key))
			return 0;
		intern->slots[at].id = ++intern->count;
	}
	return intern->slots[at].id;
}

uint32_t kc_intern_find(const struct kc_intern *intern, char kind, const void *at, size_t bytes)
{
	const struct key key = {kind, at, "", bytes, 0};
	uint64_t hash = add_to_hash((uint64_t)kind, at, bytes);
	size_t place = intern->capacity ? hash & (intern->capacity - 1) : 0;

	if (!intern->capacity)
		return 0;
	while (intern->slots[place].id && !is_key(&intern->slots[place], hash, &key))
		place = (place + 1) & (intern->capacity - 1);
	return intern->slots[place].id;
}

uint32_t kc_intern(struct kc_intern *intern, char kind, const void *at, size_t bytes)
{
	return find_or_add(intern, &(struct key){kind, at, "", bytes, 0});
}

uint32_t kc_intern_two(struct kc_intern *intern, char kind, const void *first, size_t first_bytes, const void *second,
		       size_t second_bytes)
{
	return find_or_add(intern, &(struct key){kind, first, second, first_bytes, second_bytes});
}

void kc_intern_free(struct kc_intern *intern)
{
	for (size_t i = 0; i < intern->capacity; i++)
		free(intern->slots[i].at);
	free(intern->slots);
	*intern = (struct kc_intern){0};
}
