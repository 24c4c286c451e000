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

/* Programming guide, technical specifications: 64 Ki registers per block of 3.5 and 7.0, 48 and 96 KiB of shared
 * memory, 1,024 threads. 65,536 registers are 64 for each of 1,024 threads. */
static void the_most_that_a_block_can_have(void **state)
{
	const struct kc_device *v100 = kc_device_builtin("v100"), *a100 = kc_device_builtin("a100");
	struct kc_block_need greedy = {2048, 300, 200 * 1024}, shared = {256, 32, 163 * 1024},
			     registers = {1024, 96, 0};
	struct kc_block_need fits = {256, 255, 96 * 1024};

	(void)state;
	assert_int_equal(kc_block_clamp(v100, &greedy), KC_BEYOND_THREADS | KC_BEYOND_REGISTERS | KC_BEYOND_SHARED);
	assert_int_equal(greedy.threads, 1024);
	assert_int_equal(greedy.registers, 64);
	assert_int_equal(greedy.shared_bytes, 96 * 1024);
	assert_int_equal(kc_block_clamp(a100, &shared), 0);
	assert_int_equal(shared.shared_bytes, 163 * 1024);
	assert_int_equal(kc_block_clamp(v100, &shared), KC_BEYOND_SHARED);
	assert_int_equal(shared.shared_bytes, 96 * 1024);
	assert_int_equal(kc_block_clamp(v100, &registers), KC_BEYOND_REGISTERS);
	assert_int_equal(registers.registers, 64);
	assert_int_equal(kc_block_clamp(v100, &fits), 0);
	assert_int_equal(fits.registers, 255);
}

/* On every device: a block that fits stays as it is, any other one fits when it is clamped, and then once and for all.
 */
static void a_clamped_block_fits(void **state)
{
	uint64_t random_state = 0x2545f4914f6cdd1d;
	const struct kc_device *device;
	unsigned clamped = 0;

	(void)state;
	for (unsigned i = 0; (device = kc_device_builtin_at(i)); i++) {
		for (unsigned k = 0; k < 2000; k++) {
			struct kc_block_need need, asked;
			uint32_t beyond;

			random_state = random_state * 6364136223846793005 + 1442695040888963407;
			need = (struct kc_block_need){1 + (uint32_t)(random_state >> 33) % 1400,
						      (uint32_t)(random_state >> 20) % 300,
						      (uint32_t)(random_state >> 40) % (300 * 1024)};
			asked = need;
			beyond = kc_block_clamp(device, &need);
			clamped += beyond != 0;
			assert_true((beyond != 0) == (kc_occupancy(device, &asked) == 0));
			assert_true(kc_occupancy(device, &need) > 0);
			assert_int_equal(kc_block_clamp(device, &need), 0);
		}
	}
	assert_true(clamped > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(registers_limit),
	    cmocka_unit_test(shared_memory_limit),
	    cmocka_unit_test(warps_and_slots_limit),
	    cmocka_unit_test(footprint_is_in_allocation_units),
	    cmocka_unit_test(absurd_needs_do_not_overflow),
	    cmocka_unit_test(the_most_that_a_block_can_have),
	    cmocka_unit_test(a_clamped_block_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
