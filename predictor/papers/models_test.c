/* Every model's time of one small launch, by hand; the table of throughputs. */
#include "models.h"
#include "predictor/device/throughput.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECTOR_SHARE (4 / 32.0) /* a thread's share of the 4 sectors of a coalesced request for floats */

/* 10 SMs of 128 cores at 1 GHz, 100 GB/s: vector add of a million floats. */
static const struct kc_device device = {
    .cc_major = 9, .sm_count = 10, .cores_per_sm = 128, .clock_khz = 1000000, .memory_bytes_per_s = 100000000000};

static struct kc_counts vector_add(void)
{
	struct kc_counts counts = {.threads = 1024000};

	counts.of[KC_COUNT_OF_ADD] = 1;
	counts.of[KC_COUNT_OF_LD_GLOBAL] = 2;
	counts.of[KC_COUNT_OF_ST_GLOBAL] = 1;
	counts.of[KC_COUNT_OF_BYTES_LOADED] = 8;
	counts.of[KC_COUNT_OF_BYTES_STORED] = 4;
	counts.of[KC_COUNT_OF_REQUESTS] = 3 / 32.0;
	counts.of[KC_COUNT_OF_SECTORS] = 3 * SECTOR_SHARE;
	return counts;
}

static void assert_near(double value, double expected)
{
	if (!(fabs(value / expected - 1) < 1e-9))
		fail_msg("%.9g, not %.9g", value, expected);
}

static void vector_add_by_every_model(void **state)
{
	struct kc_counts counts = vector_add();
	struct kc_model_times times;

	(void)state;
	assert_int_equal(kc_model_times(&device, 4000, 256, &counts, 2, &times), 0);
	/* 1,024,000 · (1 + 3 · 500) / (1 GHz · 1,280 · 2) */
	assert_near(times.bsp_ns, 1024000 * 1501.0 / 2560);
	/* 12 bytes per thread at 100 GB/s; an addition per core and cycle */
	assert_near(times.cycle_max_ns, 1024000 * 12 / 100.0);
	assert_near(times.cycle_sum_ns, 1024000 * 12 / 100.0 + 1024000 / 1280.0);
	assert_int_equal(times.boathull_class, KC_BOATHULL_TWO_ELEMENTS);
	/* 12 bytes per thread at three quarters of the peak; (1 + 32) · 2 operations at 2,560 per ns are fewer */
	assert_near(times.boathull_low_ns, 1024000 * 12 / 75.0);
	assert_near(times.boathull_high_ns, 1024000 * 12 / 75.0);
	assert_near(times.roofline_low_ns, 1024000 * 12 / 100.0);
	assert_near(times.roofline_high_ns, 1024000 * 12 / 100.0 + 1024000 / 1280.0);
}

static void what_makes_no_sense(void **state)
{
	struct kc_counts counts = vector_add();
	struct kc_device none = {0};
	struct kc_model_times times;

	(void)state;
	assert_int_equal(kc_model_times(&device, 0, 256, &counts, 1, &times), -EINVAL);
	assert_int_equal(kc_model_times(&device, 1, 0, &counts, 1, &times), -EINVAL);
	assert_int_equal(kc_model_times(&device, 1, 1, &counts, 0, &times), -EINVAL);
	assert_int_equal(kc_model_times(&none, 1, 1, &counts, 1, &times), -EINVAL);
}

/* A matrix product's threads share what they load: only what is stored must cross the bus. */
static void least_bytes(void **state)
{
	struct kc_counts counts = vector_add();

	(void)state;
	assert_near(kc_roofline_least_bytes(&counts), 12 * 1024000.0);
	counts.of[KC_COUNT_OF_LD_GLOBAL] = 2048;
	counts.of[KC_COUNT_OF_BYTES_LOADED] = 8192;
	assert_near(kc_roofline_least_bytes(&counts), 4 * 1024000.0);
}

/* CUDA C++ programming guide, "Throughput of native arithmetic instructions". */
static void throughputs(void **state)
{
	(void)state;
	assert_true(kc_throughput(3, 5)->fp64 == 64);
	assert_true(kc_throughput(3, 7)->fp32 == 192);
	assert_true(kc_throughput(5, 2)->fp32 == 128 && kc_throughput(5, 2)->fp64 == 4);
	assert_true(kc_throughput(6, 0)->fp16 == 128 && kc_throughput(6, 1)->fp16 == 2);
	assert_true(kc_throughput(7, 0)->special == 16 && kc_throughput(7, 0)->integer == 64);
	assert_true(kc_throughput(8, 9)->fp64 == 2);
	assert_true(kc_throughput(99, 0) == kc_throughput(12, 1));
	assert_true(kc_throughput(2, 0) == kc_throughput(3, 0));
	for (unsigned i = 0; kc_device_builtin_at(i); i++) {
		const struct kc_device *d = kc_device_builtin_at(i);

		assert_true(kc_throughput(d->cc_major, d->cc_minor)->fp32 == d->cores_per_sm);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(vector_add_by_every_model),
	    cmocka_unit_test(what_makes_no_sense),
	    cmocka_unit_test(least_bytes),
	    cmocka_unit_test(throughputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
