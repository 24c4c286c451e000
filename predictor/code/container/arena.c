#include "arena.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Blocks grow with the arena, so that a small one holds little. */
#define BLOCK_BYTES ((size_t)64 << 10)
#define FIRST_BLOCK_BYTES ((size_t)1 << 10)
#define FIRST_CAPACITY 16u

struct kc_arena_block {
	struct kc_arena_block *next;
	size_t used, size;
	alignas(max_align_t) unsigned char bytes[];
};

void kc_arena_init(struct kc_arena *arena, size_t limit_bytes)
{
	*arena = (struct kc_arena){.limit_bytes = limit_bytes};
}

void kc_arena_free(struct kc_arena *arena)
{
	while (arena->blocks) {
		struct kc_arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->used_bytes = arena->held_bytes = 0;
}

static struct kc_arena_block *add_block(struct kc_arena *arena, size_t size)
{
	struct kc_arena_block *block = calloc(1, sizeof(*block) + size);

	if (!block)
		return NULL;
	block->size = size;
	arena->held_bytes += sizeof(*block) + size;
	block->next = arena->blocks;
	arena->blocks = block;
	return block;
}

/* Of the next block, which has room for `bytes` at least. */
static size_t block_size(const struct kc_arena *arena, size_t bytes)
{
	size_t left = arena->limit_bytes - arena->used_bytes;
	size_t next = arena->held_bytes < FIRST_BLOCK_BYTES ? FIRST_BLOCK_BYTES
		      : arena->held_bytes < BLOCK_BYTES     ? arena->held_bytes
							    : BLOCK_BYTES;

	return bytes > next || left < next ? bytes : next;
}

int kc_arena_reserve(struct kc_arena *arena, size_t bytes)
{
	return bytes <= arena->limit_bytes - arena->used_bytes && add_block(arena, bytes) ? 0 : -ENOMEM;
}

void *kc_arena_take(struct kc_arena *arena, size_t bytes)
{
	struct kc_arena_block *block = arena->blocks;
	size_t rounded = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	void *taken;

	if (rounded < bytes || rounded > arena->limit_bytes - arena->used_bytes)
		return NULL;
	if (!block || block->size - block->used < rounded)
		block = add_block(arena, block_size(arena, rounded));
	if (!block)
		return NULL;
	taken = block->bytes + block->used;
	block->used += rounded;
	arena->used_bytes += rounded;
	return taken;
}

void *kc_arena_array(struct kc_arena *arena, size_t count, size_t bytes)
{
	size_t all;

	return __builtin_mul_overflow(count, bytes, &all) ? NULL : kc_arena_take(arena, all);
}

int kc_arena_grow(struct kc_arena *arena, void *things, uint32_t *capacity, uint32_t count, size_t bytes)
{
	uint32_t larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void *old, *grown;

	if (count < *capacity)
		return 0;
	grown = larger > *capacity ? kc_arena_array(arena, larger, bytes) : NULL;
	if (!grown)
		return -ENOMEM;
	memcpy(&old, things, sizeof(old));
	if (count)
		memcpy(grown, old, count * bytes);
	memcpy(things, &grown, sizeof(grown));
	*capacity = larger;
	return 0;
}

char *kc_arena_text(struct kc_arena *arena, const char *text, size_t length)
{
	char *copy = length + 1 ? kc_arena_take(arena, length + 1) : NULL;

	if (copy)
		memcpy(copy, text, length);
	return copy;
}
