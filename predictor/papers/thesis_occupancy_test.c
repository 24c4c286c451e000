/* Occupancy as the thesis prints it. */
#include "thesis_occupancy_testing.h"

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

/* Table 5.3: 512 and 256 registers per block, one per thread; "Active Blocks for k1 and k2 is 2 and 4". */
static void illustrative_example(void **state)
{
	struct kc_device device = example_device();
	struct kc_block_need k1 = {512, 1, 1024}, k2 = {256, 1, 1024};

	(void)state;
	assert_int_equal(occupancy_paper(&device, &k1, KC_REGISTER_UNIT), 2);
	assert_int_equal(occupancy_paper(&device, &k2, KC_REGISTER_UNIT), 4);
}

/* Table 6.4, blocks active on a K40 SM by hand: kNN 2048 / 256 threads = 8;
 * HS3 65536 / (36 * 32, rounded up to 512s: 1536) = 42 warps, 40 in fours, 5
 * blocks of 8, but 6 where rounded up to 256s: 1280, 51, 48, 6. */
static void registers_of_table_6_4(void **state)
{
	const struct kc_device *k40 = kc_device_builtin("k40");
	struct kc_block_need knn = {256, 8, 0}, hs3 = {256, 36, 0};

	(void)state;
	assert_int_equal(occupancy_paper(k40, &knn, KC_REGISTER_UNIT_TABLE_6_5), 8);
	assert_int_equal(occupancy_paper(k40, &hs3, KC_REGISTER_UNIT_TABLE_6_5), 5);
	assert_int_equal(occupancy_paper(k40, &hs3, KC_REGISTER_UNIT), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(illustrative_example),
	    cmocka_unit_test(registers_of_table_6_4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
