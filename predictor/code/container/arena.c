#include "arena.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Blocks grow with the arena, so that a small one holds little. */
#define BLOCK_BYTES ((size_t)64 << 10)
#define FIRST_BLOCK_BYTES ((size_t)1 << 10)
#define FIRST_CAPACITY 16u

/* For AddressSanitizer what was not taken is no memory of anyone's, and neither are the bytes behind each piece, the
 * elements that an array has room for, and one that has moved. */
#ifdef __has_feature
#define IS_CHECKED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define IS_CHECKED 1
#else
#define IS_CHECKED 0
#endif
#if IS_CHECKED
#include <sanitizer/asan_interface.h>
#define APART_BYTES alignof(max_align_t)
#define GIVE(at, size) __asan_unpoison_memory_region(at, size)
#define TAKE_BACK(at, size) __asan_poison_memory_region(at, size)
#else
#define APART_BYTES ((size_t)0)
#define GIVE(at, size) ((void)(at), (void)(size))
#define TAKE_BACK(at, size) ((void)(at), (void)(size))
#endif

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

static struct kc_arena_block *add_block(struct kc_arena *arena, size_t size, struct kc_arena_block **at)
{
	struct kc_arena_block *block = calloc(1, sizeof(*block) + size);

	if (!block)
		return NULL;
	block->size = size;
	TAKE_BACK(block->bytes, size);
	arena->held_bytes += sizeof(*block) + size;
	block->next = *at;
	*at = block;
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
	return bytes <= arena->limit_bytes - arena->used_bytes && add_block(arena, bytes, &arena->blocks) ? 0 : -ENOMEM;
}

/* What the arena has for a piece of so many bytes. */
static size_t piece_bytes(size_t bytes)
{
	return (bytes + APART_BYTES + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
}

void *kc_arena_take(struct kc_arena *arena, size_t bytes)
{
	struct kc_arena_block *block = arena->blocks;
	size_t rounded = piece_bytes(bytes);
	void *taken;

	if (rounded < bytes || rounded > arena->limit_bytes - arena->used_bytes)
		return NULL;
	/* Behind a large piece's own block, what the first one has left is still to be had. */
	if (!block || block->size - block->used < rounded)
		block = add_block(arena, block_size(arena, rounded),
				  block && rounded >= BLOCK_BYTES ? &block->next : &arena->blocks);
	if (!block)
		return NULL;
	taken = block->bytes + block->used;
	GIVE(taken, bytes);
	block->used += rounded;
	arena->used_bytes += rounded;
	return taken;
}

void *kc_arena_array(struct kc_arena *arena, size_t count, size_t bytes)
{
	size_t all;

	return __builtin_mul_overflow(count, bytes, &all) ? NULL : kc_arena_take(arena, all);
}

/* An array that has moved away, if it was alone in its block, as large ones are. */
static void free_alone(struct kc_arena *arena, const unsigned char *array, size_t bytes)
{
	struct kc_arena_block **at = &arena->blocks, *block;

	if (bytes < BLOCK_BYTES)
		return;
	while (*at && (*at)->bytes != array)
		at = &(*at)->next;
	block = *at;
	if (!block || block->used != piece_bytes(bytes))
		return;
	*at = block->next;
	arena->used_bytes -= block->used;
	arena->held_bytes -= sizeof(*block) + block->size;
	GIVE(block->bytes, block->size);
	free(block);
}

int kc_arena_grow(struct kc_arena *arena, void *things, uint32_t *capacity, uint32_t count, size_t bytes)
{
	uint32_t larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	unsigned char *old, *grown;

	memcpy(&old, things, sizeof(old));
	if (count < *capacity) {
		GIVE(old + count * bytes, bytes);
		return 0;
	}
	grown = larger > *capacity ? kc_arena_array(arena, larger, bytes) : NULL;
	if (!grown)
		return -ENOMEM;
	if (count) {
		memcpy(grown, old, count * bytes);
		TAKE_BACK(old, count * bytes);
		free_alone(arena, old, count * bytes);
	}
	TAKE_BACK(grown + (count + 1) * bytes, (larger - count - 1) * bytes);
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
