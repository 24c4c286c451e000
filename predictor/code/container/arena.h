/*
 * Memory that is freed all at once, with a limit: whatever a file contains, its
 * reader uses no more memory than it was allowed.
 */
#ifndef KC_ARENA_H
#define KC_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct kc_arena_block;

struct kc_arena {
	struct kc_arena_block *blocks;
	size_t used_bytes, limit_bytes;
	size_t held_bytes; /* of memory, for what is used and what comes next */
};

void kc_arena_init(struct kc_arena *arena, size_t limit_bytes);
void kc_arena_free(struct kc_arena *arena);

/* So that the next `bytes` bytes, each piece rounded up to the alignment, take no more memory than that. 0; -ENOMEM. */
int kc_arena_reserve(struct kc_arena *arena, size_t bytes);
/* Zeroed, aligned for any type. NULL: over the limit, or out of memory. */
void *kc_arena_take(struct kc_arena *arena, size_t bytes);
/* The same for `count` elements of `bytes` each; NULL also if the product overflows. */
void *kc_arena_array(struct kc_arena *arena, size_t count, size_t bytes);
/* Makes room for one more element: a full array *things of the arena moves to one of twice the capacity, and
 * what it leaves is free again where that had a block for itself. 0; -ENOMEM. */
int kc_arena_grow(struct kc_arena *arena, void *things, uint32_t *capacity, uint32_t count, size_t bytes);
/* A copy that ends in a NUL. */
char *kc_arena_text(struct kc_arena *arena, const char *text, size_t length);

#endif
