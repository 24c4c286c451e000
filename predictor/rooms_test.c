#include "rooms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct kc_footprint needs(int32_t warps)
{
	return (struct kc_footprint){{[KC_SM_SLOTS] = 1, [KC_SM_WARPS] = warps}};
}

/* Pascal, as in the paper: 5 SMs of 2048 threads, 64 warps, 32 blocks. */
static struct kc__rooms pascal(void)
{
	struct kc_footprint sm = {{[KC_SM_SLOTS] = 32, [KC_SM_WARPS] = 64}};
	struct kc__rooms rooms;

	kc__rooms_init(&rooms, &sm, 5);
	return rooms;
}

/* Turing: 68 SMs of 1024 threads, 32 warps, 16 blocks. Rank: even SMs first. */
static struct kc__rooms turing(void)
{
	struct kc_footprint sm = {{[KC_SM_SLOTS] = 16, [KC_SM_WARPS] = 32}};
	struct kc__rooms rooms;

	kc__rooms_init(&rooms, &sm, 68);
	return rooms;
}

static uint32_t turing_sm(uint32_t rank)
{
	return rank < 34 ? 2 * rank : 2 * (rank - 34) + 1;
}

/* The SM, by rank, that one more block went to. */
static uint32_t place_one(struct kc__rooms *rooms, const struct kc_footprint *need, uint32_t sm_count)
{
	struct kc__rooms before = *rooms;

	assert_int_equal(kc__rooms_place(rooms, need, 1), 1);
	for (uint32_t rank = 0; rank < sm_count; rank++) {
		struct kc_footprint old = kc__rooms_free(&before, rank), new = kc__rooms_free(rooms, rank);

		if (old.of[KC_SM_SLOTS] != new.of[KC_SM_SLOTS])
			return rank;
	}
	return UINT32_MAX;
}

static void on_pascal(int32_t resident_warps, int32_t warps, const uint32_t expected[3])
{
	struct kc__rooms rooms = pascal(), together;
	struct kc_footprint resident = needs(resident_warps), need = needs(warps);

	for (uint32_t sm = 1; sm < 5; sm++)
		assert_int_equal(kc__rooms_occupy(&rooms, sm, &resident), 0);
	together = rooms;
	for (int i = 0; i < 3; i++)
		assert_int_equal(place_one(&rooms, &need, 5), expected[i]);
	/* All at once makes no difference. */
	assert_int_equal(kc__rooms_place(&together, &need, 3), 3);
	for (uint32_t sm = 0; sm < 5; sm++) {
		struct kc_footprint a = kc__rooms_free(&rooms, sm), b = kc__rooms_free(&together, sm);

		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void on_turing(int32_t warps, unsigned blocks, const uint32_t *expected)
{
	struct kc__rooms rooms = turing();
	struct kc_footprint resident = needs(16), need = needs(warps);

	for (uint32_t rank = 0; rank < 67; rank++) /* all but SM 67 */
		assert_int_equal(kc__rooms_occupy(&rooms, rank, &resident), 0);
	for (unsigned i = 0; i < blocks; i++)
		assert_int_equal(turing_sm(place_one(&rooms, &need, 68)), expected[i]);
}

/* The six published placements (Gilman et al. 2021). Warps of 32 threads: 160
 * threads 5, 33 threads 2; residents of 256 threads 8, 1024 threads 32, 512 threads 16. */
static void published_placements(void **state)
{
	(void)state;
	on_pascal(8, 5, (const uint32_t[]){0, 0, 1});
	on_pascal(32, 1, (const uint32_t[]){0, 0, 1});
	on_pascal(32, 2, (const uint32_t[]){0, 0, 0});
	on_turing(2, 8, (const uint32_t[]){67, 67, 67, 67, 67, 67, 67, 67});
	on_turing(1, 8, (const uint32_t[]){67, 0, 2, 4, 6, 8, 10, 12});
	on_turing(2, 9, (const uint32_t[]){67, 67, 67, 67, 67, 67, 67, 67, 0});
}

/* 12 blocks of 16 warps over 5 SMs, four fit on each: 3, 3, 2, 2, 2. */
static void alone_it_is_round_robin(void **state)
{
	static const int32_t expected[] = {16, 16, 32, 32, 32};
	struct kc__rooms rooms = pascal();
	struct kc_footprint need = needs(16);

	(void)state;
	assert_int_equal(kc__rooms_slots(&rooms, &need), 20);
	assert_int_equal(kc__rooms_place(&rooms, &need, 12), 12);
	for (uint32_t sm = 0; sm < 5; sm++)
		assert_int_equal(kc__rooms_free(&rooms, sm).of[KC_SM_WARPS], expected[sm]);
	assert_int_equal(kc__rooms_place(&rooms, &need, 100), 8);
	assert_int_equal(kc__rooms_place(&rooms, &need, 100), 0);
}

static uint32_t random_below(uint32_t bound)
{
	static uint64_t s = 88172645463325252u; /* xorshift64, Marsaglia 2003 */

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)(s >> 33) % bound;
}

/* Whatever is placed: no SM goes below nothing free, and no block is lost. */
static void random_mixes(void **state)
{
	(void)state;
	for (int run = 0; run < 20000; run++) {
		struct kc__rooms rooms = turing();
		int32_t warps = 0;

		for (int k = 0; k < 16; k++) {
			struct kc_footprint need = needs(1 + (int32_t)random_below(32));

			warps += need.of[KC_SM_WARPS] * (int32_t)kc__rooms_place(&rooms, &need, random_below(200));
		}
		for (uint32_t rank = 0; rank < 68; rank++) {
			struct kc_footprint free = kc__rooms_free(&rooms, rank);

			assert_true(free.of[KC_SM_WARPS] >= 0 && free.of[KC_SM_SLOTS] >= 0);
			warps += free.of[KC_SM_WARPS];
		}
		assert_int_equal(warps, 68 * 32);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(published_placements),
	    cmocka_unit_test(alone_it_is_round_robin),
	    cmocka_unit_test(random_mixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
