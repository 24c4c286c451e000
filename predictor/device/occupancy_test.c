#include "occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Volta tuning guide: 32 registers per thread give full occupancy; 64 halve it,
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

/* A100, programming guide: 164 KiB per SM, 1 KiB reserved per block, 163 KiB per
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
	    cmocka_unit_test(registers_limit),
	    cmocka_unit_test(shared_memory_limit),
	    cmocka_unit_test(warps_and_slots_limit),
	    cmocka_unit_test(footprint_is_in_allocation_units),
	    cmocka_unit_test(absurd_needs_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
