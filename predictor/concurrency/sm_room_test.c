#include "sm_room.h"

#include "predictor/device/occupancy_testing.h"
#include "predictor/math/random_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SMS_MAX = 80 };

static struct kc_footprint needs(int32_t warps)
{
	return (struct kc_footprint){{[KC_SM_SLOTS] = 1, [KC_SM_WARPS] = warps}};
}

static struct kc_grid grid_of(const struct kc_footprint *block, uint32_t blocks)
{
	struct kc_device device = {.sm_count = 1};
	struct kc_grid grid;

	kc_grid_init(&grid, &device, blocks, 32, block);
	return grid;
}

/* Pascal, as in the paper: 5 SMs of 2048 threads, 64 warps, 32 blocks. */
static struct kc__sm_room pascal(void)
{
	struct kc_footprint sm = {{[KC_SM_SLOTS] = 32, [KC_SM_WARPS] = 64}};
	struct kc__sm_room room;

	kc__sm_room_init(&room, &sm, 5);
	return room;
}

/* Turing: 68 SMs of 1024 threads, 32 warps, 16 blocks. Rank: even SMs first. */
static struct kc__sm_room turing(void)
{
	struct kc_footprint sm = {{[KC_SM_SLOTS] = 16, [KC_SM_WARPS] = 32}};
	struct kc__sm_room room;

	kc__sm_room_init(&room, &sm, 68);
	return room;
}

static uint32_t turing_sm(uint32_t rank)
{
	return rank < 34 ? 2 * rank : 2 * (rank - 34) + 1;
}

/* What a kernel has on each SM. */
static void unfold(const struct kc__sm_blocks *sm_blocks, uint32_t blocks[SMS_MAX])
{
	memset(blocks, 0, SMS_MAX * sizeof(blocks[0]));
	for (uint32_t rank = 0, i = 0; i < sm_blocks->count; i++)
		for (; rank <= sm_blocks->steps[i].last; rank++)
			blocks[rank] = sm_blocks->steps[i].blocks;
}

static void place(struct kc__sm_room *room, int32_t warps, uint32_t blocks, uint32_t placed[SMS_MAX])
{
	struct kc_footprint block = needs(warps);
	struct kc_grid grid = grid_of(&block, blocks);
	struct kc__offer offer;
	struct kc__sm_blocks sm_blocks;

	kc__sm_blocks_init(&sm_blocks, &block);
	assert_true(kc__sm_room_offer(room, &grid, &offer) >= blocks);
	assert_int_equal(kc__sm_blocks_most_room(&sm_blocks, &offer, blocks), 0);
	kc__sm_room_take(room, &sm_blocks);
	unfold(&sm_blocks, placed);
}

/* The SM, by rank, that one more block goes to. */
static uint32_t place_one(struct kc__sm_room *room, int32_t warps)
{
	uint32_t placed[SMS_MAX], rank = 0;

	place(room, warps, 1, placed);
	while (!placed[rank])
		rank++;
	return rank;
}

static void on_pascal(int32_t resident_warps, int32_t warps, const uint32_t expected[3])
{
	struct kc__sm_room room = pascal(), together;
	struct kc__sm_blocks resident = {
	    .warps = resident_warps & 0x7f, .count = 2, .steps = {{0, 0}, {4, 1}}}; /* on SMs 1 to 4 */
	uint32_t one_by_one[SMS_MAX] = {0}, at_once[SMS_MAX];

	kc__sm_room_take(&room, &resident);
	together = room;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(place_one(&room, warps), expected[i]);
		one_by_one[expected[i]]++;
	}
	place(&together, warps, 3, at_once);
	assert_memory_equal(one_by_one, at_once, sizeof(at_once));
}

static void on_turing(int32_t warps, unsigned blocks, const uint32_t *expected)
{
	struct kc__sm_room room = turing();
	struct kc__sm_blocks resident = {.warps = 16, .count = 2, .steps = {{66, 1}, {67, 0}}}; /* on all but SM 67 */

	kc__sm_room_take(&room, &resident);
	for (unsigned i = 0; i < blocks; i++)
		assert_int_equal(turing_sm(place_one(&room, warps)), expected[i]);
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
	static const uint32_t expected[SMS_MAX] = {3, 3, 2, 2, 2};
	struct kc_even even = {2, 2};
	struct kc__sm_room room = pascal();
	struct kc__sm_blocks sm_blocks = {.warps = 16};
	uint32_t placed[SMS_MAX];

	(void)state;
	kc__sm_blocks_evenly(&sm_blocks, &even, 5, 0);
	unfold(&sm_blocks, placed);
	assert_memory_equal(placed, expected, sizeof(placed));
	kc__sm_blocks_evenly(&sm_blocks, &even, 5, 4);
	unfold(&sm_blocks, placed);
	assert_memory_equal(placed, ((uint32_t[SMS_MAX]){3, 2, 2, 2, 3}), sizeof(placed));
	assert_int_equal(kc__sm_blocks_largest(&sm_blocks)[KC_SM_WARPS], 48);
	place(&room, 16, 12, placed);
	assert_memory_equal(placed, expected, sizeof(placed));
	place(&room, 16, 8, placed);
	assert_memory_equal(placed, ((uint32_t[SMS_MAX]){1, 1, 2, 2, 2}), sizeof(placed));
}

struct sms { /* one by one */
	struct kc_footprint free[SMS_MAX];
	uint32_t count;
};

static void add(struct sms *sms, const struct kc_footprint *block, const uint32_t *blocks, int sign)
{
	for (uint32_t i = 0; i < sms->count; i++) {
		for (int r = 0; r < KC_SM_RESOURCES; r++) {
			sms->free[i].of[r] -= sign * (int32_t)blocks[i] * block->of[r];
			assert_true(sms->free[i].of[r] >= 0);
		}
	}
}

/* Gilman's rule, block by block. */
static void most_room(struct sms sms, const struct kc_footprint *block, uint32_t count, uint32_t blocks[SMS_MAX])
{
	memset(blocks, 0, SMS_MAX * sizeof(blocks[0]));
	while (count--) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < sms.count; i++)
			if (blocks_fitting(&sms.free[i], block) > blocks_fitting(&sms.free[best], block))
				best = i;
		for (int r = 0; r < KC_SM_RESOURCES; r++)
			sms.free[best].of[r] -= block->of[r];
		blocks[best]++;
	}
}

struct kernel {
	struct kc_footprint block;
	struct kc__sm_blocks sm_blocks;
	uint32_t blocks[SMS_MAX];
};

static struct kc_footprint random_block(void)
{
	return (struct kc_footprint){{1, 1 + (int32_t)random_below(16), 256 * (int32_t)random_below(40),
				      random_below(2) ? 128 * (int32_t)random_below(100) : 0}};
}

static uint32_t sum(const uint32_t *blocks, uint32_t count)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < count; i++)
		all += blocks[i];
	return all;
}

static uint32_t check_offer(const struct sms *sms, const struct kc_footprint *block, const struct kc__offer *offer)
{
	uint32_t slots = 0;

	for (uint32_t rank = 0, i = 0; i < offer->count; i++) {
		for (; rank < offer->parts[i].end; rank++) {
			assert_int_equal(offer->parts[i].fit, blocks_fitting(&sms->free[rank], block));
			slots += offer->parts[i].fit;
		}
	}
	assert_int_equal(offer->slots, slots);
	return slots;
}

/* A random kernel takes some of what it is offered; where its blocks lie is checked against the rule. */
static unsigned long held[3]; /* by the rule, round, given less room */

static void enter_random(struct kc__sm_room *room, struct sms *sms, struct kernel *kernel)
{
	uint32_t slots, count, expected[SMS_MAX];
	struct kc__offer offer;
	struct kc_grid grid;

	kernel->block = random_block();
	grid = grid_of(&kernel->block, 1);
	kc__sm_blocks_init(&kernel->sm_blocks, &kernel->block);
	kc__sm_room_offer(room, &grid, &offer);
	slots = check_offer(sms, &kernel->block, &offer);
	count = slots ? 1 + random_below(random_below(2) ? slots : slots < 30 ? slots : 30) : 0;
	if (random_below(2) && !kc__sm_blocks_round_robin(&kernel->sm_blocks, &offer, count)) {
		held[1]++;
	} else if (!kc__sm_blocks_most_room(&kernel->sm_blocks, &offer, count)) {
		most_room(*sms, &kernel->block, count, expected);
		unfold(&kernel->sm_blocks, kernel->blocks);
		assert_memory_equal(kernel->blocks, expected, sizeof(expected));
		held[0]++;
	} else {
		kc__offer_simplify(&offer);
		assert_true(offer.slots && offer.slots < slots);
		count = 1 + random_below(offer.slots);
		assert_int_equal(kc__sm_blocks_most_room(&kernel->sm_blocks, &offer, count), 0);
		held[2]++;
	}
	unfold(&kernel->sm_blocks, kernel->blocks);
	assert_int_equal(sum(kernel->blocks, sms->count), count);
	kc__sm_room_take(room, &kernel->sm_blocks);
	add(sms, &kernel->block, kernel->blocks, 1);
}

/* What is offered beside this kernel alone, and beside none. */
static void check_beside(const struct kc_footprint *limits, uint32_t sm_count, const struct kernel *kernel)
{
	struct kc_footprint block = random_block();
	struct kc_grid grid = grid_of(&block, 1);
	struct sms sms = {.count = sm_count};
	struct kc__offer offer;
	uint32_t slots;

	for (uint32_t i = 0; i < sm_count; i++)
		sms.free[i] = *limits;
	slots = kc__sm_room_beside(limits, sm_count, NULL, &grid, &offer);
	assert_int_equal(slots, check_offer(&sms, &block, &offer));
	assert_int_equal(offer.count, 1);
	add(&sms, &kernel->block, kernel->blocks, 1);
	slots = kc__sm_room_beside(limits, sm_count, &kernel->sm_blocks, &grid, &offer);
	assert_int_equal(slots, check_offer(&sms, &block, &offer));
	assert_int_equal(offer.parts[offer.count - 1].end, sm_count);
}

/* Kernels come and go: what is offered is what is free on every SM, and no block lies where there is none. */
static void random_mixes(void **state)
{
	enum { KERNELS = 12, ROUNDS = 300, EVENTS = 40 };
	static const struct kc_footprint limits = {{32, 64, 65536, 98304}};

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct kernel kernels[KERNELS] = {0};
		struct sms sms = {.count = 1 + random_below(SMS_MAX)};
		struct kc__sm_room room;

		kc__sm_room_init(&room, &limits, sms.count);
		for (uint32_t i = 0; i < sms.count; i++)
			sms.free[i] = limits;
		for (int event = 0; event < EVENTS; event++) {
			struct kernel *kernel = &kernels[random_below(KERNELS)];

			kc__sm_room_release(&room, &kernel->sm_blocks);
			add(&sms, &kernel->block, kernel->blocks, -1);
			enter_random(&room, &sms, kernel);
			check_beside(&limits, sms.count, kernel);
		}
	}
	assert_true(held[0] > 1000 && held[1] > 1000 && held[2] > 100);
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
