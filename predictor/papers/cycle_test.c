/* The cycle model against its paper's list ranking, and by hand. */
#include "cycle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The GPU of the case studies: 30 SMs of 8 cores, 1.3 GHz. */
static const struct kc_cycle_machine gtx280 = {
    .sm_count = 30, .cores_per_sm = 8, .depth = KC_CYCLE_DEPTH, .clock_hz = 1.3e9};

#define UNCOALESCED_CYCLES 500.0 /* printed as 400 to 600; the case studies take 500 */

/* N / log N threads in blocks of 512; each ranks 4 · log N elements, each with three uncoalesced accesses. */
static void list_ranking(void **state)
{
	static const struct {
		int log_n;
		double ms;
	} rows[] = {{18, 1.33}, {19, 2.81}, {20, 5.91}, {21, 10.86}, {22, 21.12}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double log_n = rows[i].log_n, ranked = 4 * log_n;
		struct kc_cycle_thread thread = {ranked * KC_CYCLE_ADD, ranked * 3 * UNCOALESCED_CYCLES};
		uint64_t blocks = (uint64_t)ceil(exp2(log_n) / log_n / 512);
		double ms = kc_cycle_ns(&gtx280, &thread, blocks, 512).max_ns / 1e6;

		if (fabs(ms - rows[i].ms) > 0.005)
			fail_msg("list ranking of 2^%d: %.4f ms, not %.2f", rows[i].log_n, ms, rows[i].ms);
	}
}

/* One block of 33 threads is two warps on one SM: 2 · 32 · 24 / 32 cycles. */
static void rounding(void **state)
{
	struct kc_cycle_thread thread = {24, 20};

	(void)state;
	assert_true(fabs(kc_cycle_ns(&gtx280, &thread, 1, 33).max_ns - 48 / 1.3) < 1e-9);
	assert_true(fabs(kc_cycle_ns(&gtx280, &thread, 30, 33).sum_ns - 88 / 1.3) < 1e-9);
	assert_true(fabs(kc_cycle_ns(&gtx280, &thread, 31, 33).sum_ns - 176 / 1.3) < 1e-9);
}

/*
 * A device with 1 SM of 32 cores at 1 GHz and 32 GB/s: a sector a cycle. 1,024
 * threads with one coalesced load: 32 requests of 4 sectors are 128 cycles;
 * scattered 32 sectors each, 1,024; shared memory with a 4-way conflict 128.
 */
static void coalescing_and_conflicts(void **state)
{
	const struct kc_device device = {
	    .cc_major = 9, .sm_count = 1, .cores_per_sm = 32, .clock_khz = 1000000, .memory_bytes_per_s = 32000000000};
	struct kc_cycle_machine machine = kc_cycle_machine_of(&device);
	struct kc_counts counts = {.threads = 1024};
	struct kc_cycle_thread thread;

	(void)state;
	counts.of[KC_COUNT_OF_LD_GLOBAL] = 1;
	counts.of[KC_COUNT_OF_REQUESTS] = 1 / 32.0;
	counts.of[KC_COUNT_OF_SECTORS] = 4 / 32.0;
	thread = kc_cycle_thread_of(&device, &counts);
	assert_true(fabs(kc_cycle_ns(&machine, &thread, 4, 256).max_ns - 128) < 1e-6);
	counts.of[KC_COUNT_OF_SECTORS] = 1;
	thread = kc_cycle_thread_of(&device, &counts);
	assert_true(fabs(kc_cycle_ns(&machine, &thread, 4, 256).max_ns - 1024) < 1e-6);
	counts.of[KC_COUNT_OF_SECTORS] = 0;
	counts.of[KC_COUNT_OF_SHARED_REQUESTS] = 1 / 32.0;
	counts.of[KC_COUNT_OF_SHARED_PASSES] = 4 / 32.0;
	thread = kc_cycle_thread_of(&device, &counts);
	assert_true(fabs(kc_cycle_ns(&machine, &thread, 4, 256).max_ns - 128) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(list_ranking),
	    cmocka_unit_test(rounding),
	    cmocka_unit_test(coalescing_and_conflicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
