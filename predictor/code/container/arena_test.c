/* What an arena's arrays take while they grow. */
#include "arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ELEMENTS 100000u
#define CAPACITY 131072u                   /* the power of two that has room for them */
#define SMALL_BYTES ((size_t)256 << 10)    /* arrays of less than a block stay, block of 64 KiB by block */
#define ARRAY_BYTES (CAPACITY * (size_t)8) /* 1 MiB */

static uint64_t *grown(struct kc_arena *arena, uint32_t count)
{
	uint64_t *array = NULL;
	uint32_t capacity = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (kc_arena_grow(arena, &array, &capacity, i, sizeof(*array)))
			return NULL;
		array[i] = i;
	}
	assert_int_equal(capacity, CAPACITY);
	return array;
}

static void test_only_the_last_place_of_a_large_array_is_held(void **state)
{
	struct kc_arena arena;
	uint64_t *array;

	(void)state;
	kc_arena_init(&arena, (size_t)16 << 20);
	array = grown(&arena, ELEMENTS);
	assert_non_null(array);
	for (uint32_t i = 0; i < ELEMENTS; i++)
		assert_int_equal(array[i], i);
	assert_in_range(arena.used_bytes, ARRAY_BYTES, ARRAY_BYTES + SMALL_BYTES);
	assert_in_range(arena.held_bytes, arena.used_bytes, ARRAY_BYTES + SMALL_BYTES);
	kc_arena_free(&arena);
}

/* Where it moves, both places are needed. */
static void test_the_limit_holds_both_places_of_a_move(void **state)
{
	size_t both = ARRAY_BYTES + ARRAY_BYTES / 2;
	struct kc_arena arena;

	(void)state;
	kc_arena_init(&arena, both - 1);
	assert_null(grown(&arena, ELEMENTS));
	kc_arena_free(&arena);
	kc_arena_init(&arena, both + SMALL_BYTES);
	assert_non_null(grown(&arena, ELEMENTS));
	kc_arena_free(&arena);
}

/* Pieces taken while an array grows keep their place and what is in them. */
static void test_other_pieces_stay(void **state)
{
	struct kc_arena arena;
	uint32_t capacity = 0;
	uint64_t *array = NULL;
	char *pieces[100];

	(void)state;
	kc_arena_init(&arena, (size_t)16 << 20);
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		assert_int_equal(kc_arena_grow(&arena, &array, &capacity, i, sizeof(*array)), 0);
		array[i] = i;
		if (i % 1000 == 0)
			assert_non_null(pieces[i / 1000] = kc_arena_text(&arena, "0123456789", i / 1000 % 11));
	}
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t k = 0; k < i % 11; k++)
			assert_int_equal(pieces[i][k], '0' + (char)k);
	for (uint32_t i = 0; i < ELEMENTS; i++)
		assert_int_equal(array[i], i);
	kc_arena_free(&arena);
}

/* A block of 64 KiB in use has room for 60 pieces of 1 KiB, whatever large pieces are taken between them. */
static void test_a_large_piece_leaves_the_small_ones_their_block(void **state)
{
	size_t before, large = (size_t)100 << 10;
	struct kc_arena arena;

	(void)state;
	kc_arena_init(&arena, (size_t)16 << 20);
	while (arena.held_bytes < (size_t)128 << 10)
		assert_non_null(kc_arena_take(&arena, 1000));
	before = arena.held_bytes;
	for (unsigned i = 0; i < 10; i++) {
		assert_non_null(kc_arena_take(&arena, large));
		assert_non_null(kc_arena_take(&arena, 1000));
	}
	assert_in_range(arena.held_bytes, before + 10 * large, before + 10 * large + 1024);
	kc_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_only_the_last_place_of_a_large_array_is_held),
	    cmocka_unit_test(test_the_limit_holds_both_places_of_a_move),
	    cmocka_unit_test(test_other_pieces_stay),
	    cmocka_unit_test(test_a_large_piece_leaves_the_small_ones_their_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
