/*
 * Memory that is let go all at once, with a bound: what is read from a program
 * must not take more than its reader allows.
 */
#ifndef KC_ARENA_H
#define KC_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct kc_arena_block;

struct kc_arena {
	struct kc_arena_block *blocks;
	size_t used_bytes, limit_bytes;
};

void kc_arena_init(struct kc_arena *arena, size_t limit_bytes);
void kc_arena_free(struct kc_arena *arena);

/* Zeroed, aligned for anything; NULL past the bound, or where there is no memory. */
void *kc_arena_take(struct kc_arena *arena, size_t bytes);
/* The same for `count` things; NULL also where the product overflows. */
void *kc_arena_array(struct kc_arena *arena, size_t count, size_t bytes);
/* Room for one more: *things, an array in the arena, moves to one of twice the capacity where it is full. 0; -ENOMEM.
 */
int kc_arena_grow(struct kc_arena *arena, void *things, uint32_t *capacity, uint32_t count, size_t bytes);
/* A copy, ended by a NUL. */
char *kc_arena_text(struct kc_arena *arena, const char *text, size_t length);

#endif
