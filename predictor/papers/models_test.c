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

/* Where the memory's rate is not known: an addition per core and cycle, of 1,280 cores at 1 GHz. */
static void memory_that_is_not_known(void **state)
{
	struct kc_counts counts = vector_add();
	struct kc_device without = device;
	struct kc_roofline roofline;

	(void)state;
	without.memory_bytes_per_s = 0;
	roofline = kc_roofline_ns(&without, &counts);
	assert_near(roofline.low_ns, 1024000 / 1280.0);
	assert_near(roofline.high_ns, 1024000 / 1280.0);
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

/* CUDA C++ programming guide, "Throughput of native arithmetic instructions": additions of 16, 32 and 64 bits, special
 * functions, additions of integers, "all other type conversions"; then by the white papers: multiply-adds of tensor
 * cores (Volta 8 cores of 64, A100 4 of 256, H100 4 of 512), load and store units, and bytes of L1. */
static void throughputs(void **state)
{
	static const struct {
		uint32_t cc_major, cc_minor;
		double fp16, fp32, fp64, special, integer, convert, tensor, units, l1;
	} guide[] = {
	    {3, 0, 192, 192, 8, 32, 160, 32, 0, 32, 128},     {3, 2, 192, 192, 8, 32, 160, 32, 0, 32, 128},
	    {3, 5, 192, 192, 64, 32, 160, 32, 0, 32, 128},    {3, 7, 192, 192, 64, 32, 160, 32, 0, 32, 128},
	    {5, 0, 128, 128, 4, 32, 128, 32, 0, 32, 64},      {5, 2, 128, 128, 4, 32, 128, 32, 0, 32, 64},
	    {5, 3, 256, 128, 4, 32, 128, 32, 0, 32, 64},      {6, 0, 128, 64, 32, 16, 64, 16, 0, 16, 64},
	    {6, 1, 2, 128, 4, 32, 128, 32, 0, 32, 64},        {6, 2, 256, 128, 4, 32, 128, 32, 0, 32, 64},
	    {7, 0, 128, 64, 32, 16, 64, 16, 512, 32, 128},    {7, 5, 128, 64, 2, 16, 64, 16, 512, 16, 64},
	    {8, 0, 256, 64, 32, 16, 64, 16, 1024, 32, 128},   {8, 6, 128, 128, 2, 16, 64, 16, 512, 16, 128},
	    {8, 9, 128, 128, 2, 16, 64, 16, 512, 16, 128},    {9, 0, 256, 128, 64, 16, 64, 16, 2048, 32, 128},
	    {10, 0, 256, 128, 64, 16, 64, 16, 4096, 32, 128}, {12, 0, 128, 128, 2, 16, 64, 16, 512, 16, 128},
	    {12, 1, 128, 128, 2, 16, 64, 16, 512, 16, 128},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(guide) / sizeof(guide[0]); i++) {
		const struct kc_throughput *row = kc_throughput(guide[i].cc_major, guide[i].cc_minor);

		assert_float_equal(row->fp16, guide[i].fp16, 0);
		assert_float_equal(row->fp32, guide[i].fp32, 0);
		assert_float_equal(row->fp64, guide[i].fp64, 0);
		assert_float_equal(row->special, guide[i].special, 0);
		assert_float_equal(row->integer, guide[i].integer, 0);
		assert_float_equal(row->convert, guide[i].convert, 0);
		assert_float_equal(row->tensor, guide[i].tensor, 0);
		assert_float_equal(row->load_store, guide[i].units, 0);
		assert_float_equal(row->l1_bytes, guide[i].l1, 0);
		assert_float_equal(row->shared_passes, (row == kc_throughput(7, 5) ? 0.5 : 1),
				   0); /* Turing: half of Volta's */
	}
	assert_ptr_equal(kc_throughput(99, 0), kc_throughput(12, 1));
	assert_ptr_equal(kc_throughput(2, 0), kc_throughput(3, 0));
	for (unsigned i = 0; kc_device_builtin_at(i); i++) {
		const struct kc_device *d = kc_device_builtin_at(i);

		assert_true(kc_throughput(d->cc_major, d->cc_minor)->fp32 == d->cores_per_sm);
	}
}

/* Bytes per cycle and SM: the A100 white paper's 2,048 and 5,120 of a V100's 80 and an A100's 108 SMs; 1,624 and
 * 1,270 GB/s of a P100's 56 at 1,328 MHz and a T4's 40 at 1,590 MHz, as Jia et al. measured. */
static void rates_of_l2(void **state)
{
	(void)state;
	assert_float_equal(kc_throughput(7, 0)->l2_bytes, 2048.0 / 80, 0.5);
	assert_float_equal(kc_throughput(8, 0)->l2_bytes, 5120.0 / 108, 0.5);
	assert_float_equal(kc_throughput(6, 0)->l2_bytes, 1624e9 / 56 / 1328e6, 0.5);
	assert_float_equal(kc_throughput(7, 5)->l2_bytes, 1270e9 / 40 / 1590e6, 0.5);
	assert_float_equal(kc_throughput(5, 0)->l2_bytes, kc_throughput(6, 0)->l2_bytes, 0); /* of the nearest */
	assert_float_equal(kc_throughput(5, 3)->l2_bytes, kc_throughput(6, 0)->l2_bytes, 0);
	assert_float_equal(kc_throughput(6, 1)->l2_bytes, kc_throughput(6, 0)->l2_bytes, 0);
	assert_float_equal(kc_throughput(6, 2)->l2_bytes, kc_throughput(6, 0)->l2_bytes, 0);
	assert_float_equal(kc_throughput(9, 0)->l2_bytes, kc_throughput(8, 0)->l2_bytes, 0);
	assert_float_equal(kc_throughput(10, 0)->l2_bytes, kc_throughput(8, 0)->l2_bytes, 0);
	assert_float_equal(kc_throughput(12, 0)->l2_bytes, kc_throughput(8, 6)->l2_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(vector_add_by_every_model),
	    cmocka_unit_test(what_makes_no_sense),
	    cmocka_unit_test(memory_that_is_not_known),
	    cmocka_unit_test(least_bytes),
	    cmocka_unit_test(throughputs),
	    cmocka_unit_test(rates_of_l2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
