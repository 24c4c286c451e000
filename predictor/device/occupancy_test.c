#include "occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Table 5.2 of the thesis. */
static struct kc_device example_device(void)
{
	return (struct kc_device){
	    .cc_major = 3,
	    .cc_minor = 5,
	    .sm_count = 16,
	    .warp_size = 32,
	    .max_threads_per_block = 1024,
	    .max_threads_per_sm = 1024,
	    .max_blocks_per_sm = 8,
	    .registers_per_sm = 32768,
	    .registers_per_block = 32768,
	    .shared_per_sm_bytes = 4096,
	    .shared_per_block_bytes = 4096,
	};
}

/* Table 5.3: 512 and 256 registers a block, one a thread; "Active Blocks for k1 and k2 is 2 and 4". */
static void illustrative_example_of_the_thesis(void **state)
{
	struct kc_device device = example_device();
	struct kc_block_need k1 = {512, 1, 1024}, k2 = {256, 1, 1024};

	(void)state;
	assert_int_equal(kc_occupancy_paper(&device, &k1, KC_REGISTER_UNIT), 2);
	assert_int_equal(kc_occupancy_paper(&device, &k2, KC_REGISTER_UNIT), 4);
}

/* Table 6.4, blocks active on a K40 SM by hand: kNN 2048 / 256 threads = 8;
 * HS3 65536 / (36 * 32, rounded up to 512s: 1536) = 42 warps, 40 in fours, 5
 * blocks of 8, but 6 where rounded up to 256s: 1280, 51, 48, 6. */
static void registers_of_table_6_4(void **state)
{
	const struct kc_device *k40 = kc_device_builtin("k40");
	struct kc_block_need knn = {256, 8, 0}, hs3 = {256, 36, 0};

	(void)state;
	assert_int_equal(kc_occupancy_paper(k40, &knn, KC_REGISTER_UNIT_TABLE_6_5), 8);
	assert_int_equal(kc_occupancy_paper(k40, &hs3, KC_REGISTER_UNIT_TABLE_6_5), 5);
	assert_int_equal(kc_occupancy_paper(k40, &hs3, KC_REGISTER_UNIT), 6);
	assert_int_equal(kc_occupancy(k40, &hs3), 6);
}

/* Volta tuning guide: 32 registers a thread give full occupancy; 64 halve it,
 * 255 leave 65536 / (255 * 32 rounded up to 8192) = 8 warps. */
static void registers_limit(void **state)
{
	const struct kc_device *v100 = kc_device_builtin("v100");
	struct kc_block_need full = {256, 32, 0}, half = {256, 64, 0}, most = {256, 255, 0}, too_many = {512, 255, 0};

	(void)state;
	assert_int_equal(kc_occupancy(v100, &full), 8);
	assert_int_equal(kc_occupancy(v100, &half), 4);
	assert_int_equal(kc_occupancy(v100, &most), 1);
	assert_int_equal(kc_occupancy(v100, &too_many), 0);
}

/* A100, programming guide: 164 KiB an SM, 1 KiB reserved a block, 163 KiB a
 * block by opting in. 40 KiB + 1 KiB: 4 blocks; 163 + 1: 1; more: none. */
static void shared_memory_limit(void **state)
{
	const struct kc_device *a100 = kc_device_builtin("a100");
	struct kc_block_need forty = {32, 16, 40 * 1024}, largest = {32, 16, 163 * 1024},
			     more = {32, 16, 163 * 1024 + 1};

	(void)state;
	assert_int_equal(kc_occupancy(a100, &forty), 4);
	assert_int_equal(kc_occupancy(a100, &largest), 1);
	assert_int_equal(kc_occupancy(a100, &more), 0);
}

static void warps_and_slots_limit(void **state)
{
	const struct kc_device *k40 = kc_device_builtin("k40"), *t4 = kc_device_builtin("t4");
	struct kc_block_need tiny = {1, 0, 0}, odd = {33, 0, 0}, large = {1024, 0, 0}, larger = {1025, 0, 0},
			     none = {0, 0, 0};

	(void)state;
	assert_int_equal(kc_occupancy(k40, &tiny), 16); /* block slots */
	assert_int_equal(kc_occupancy(t4, &odd), 16);   /* 32 warps / 2 */
	assert_int_equal(kc_occupancy(t4, &large), 1);  /* 32 warps / 32 */
	assert_int_equal(kc_occupancy(k40, &large), 2); /* 64 warps / 32 */
	assert_int_equal(kc_occupancy(k40, &larger), 0);
	assert_int_equal(kc_occupancy(k40, &none), 0);
}

static void footprint_is_in_allocation_units(void **state)
{
	struct kc_block_need need = {33, 17, 1000};
	struct kc_footprint k40 = kc_footprint(kc_device_builtin("k40"), &need);
	struct kc_footprint a100 = kc_footprint(kc_device_builtin("a100"), &need);

	(void)state;
	assert_int_equal(k40.of[KC_SM_SLOTS], 1);
	assert_int_equal(k40.of[KC_SM_WARPS], 2);
	assert_int_equal(k40.of[KC_SM_REGISTERS], 2 * 768);  /* 17 * 32 = 544, in 256s */
	assert_int_equal(k40.of[KC_SM_SHARED_BYTES], 1024);  /* in 256s */
	assert_int_equal(a100.of[KC_SM_SHARED_BYTES], 2048); /* 1000 + 1024 reserved, in 128s */
}

static void absurd_needs_do_not_overflow(void **state)
{
	struct kc_block_need need = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
	const struct kc_device *h200 = kc_device_builtin("h200");
	struct kc_footprint footprint = kc_footprint(h200, &need);

	(void)state;
	assert_int_equal(kc_occupancy(h200, &need), 0);
	for (int r = 0; r < KC_SM_RESOURCES; r++)
		assert_true(footprint.of[r] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(illustrative_example_of_the_thesis),
	    cmocka_unit_test(registers_of_table_6_4),
	    cmocka_unit_test(registers_limit),
	    cmocka_unit_test(shared_memory_limit),
	    cmocka_unit_test(warps_and_slots_limit),
	    cmocka_unit_test(footprint_is_in_allocation_units),
	    cmocka_unit_test(absurd_needs_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
