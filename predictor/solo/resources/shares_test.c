/* Shares of a small GPU's resources, and what is held in its caches, by hand. */
#include "shares.h"

#include "resources_testing.h"

/* Unlike assert_float_equal(), in double precision, and what is not known is near nothing. */
#define assert_near(got, wanted, by) assert_true(fabs((got) - (wanted)) <= (by))

static struct kc_counts counted(const struct kc_work *work, struct kc_counts counts)
{
	counts.threads = (double)work->blocks * work->threads_per_block;
	counts.exact = 1;
	return counts;
}

static struct kc_shares shares_of(const struct kc_device *on, const struct kc_work *work, struct kc_counts counts,
				  double footprint, double solo_ns)
{
	struct kc_shares shares;

	counts = counted(work, counts);
	assert_int_equal(kc_shares_of(on, work, &counts, footprint, solo_ns, &shares), 0);
	return shares;
}

/* Two blocks of 256 threads on each of ten SMs: 512 * 1000 multiplications on 128 lanes are 4,000 ns. Of one warp the
 * units of a quarter of the SM are used, for 1000 ns: a quarter of what the SM has. */
static void units(void **state)
{
	struct kc_counts fp32 = {.of = {COUNT(FMA, 1000)}};
	struct kc_work work = work_of(&device, 20, 256), warp = work_of(&device, 10, 32);

	(void)state;
	assert_near(shares_of(&device, &work, fp32, KC_FOOTPRINT_UNKNOWN, 8000).of[KC_RESOURCE_FP32], 0.5, 1e-9);
	assert_near(shares_of(&device, &work, fp32, KC_FOOTPRINT_UNKNOWN, 3000).of[KC_RESOURCE_FP32], 1, 1e-9);
	assert_near(shares_of(&device, &warp, fp32, KC_FOOTPRINT_UNKNOWN, 4000).of[KC_RESOURCE_FP32], 0.0625, 1e-9);
	assert_near(shares_of(&device, &warp, fp32, KC_FOOTPRINT_UNKNOWN, 4000).of[KC_RESOURCE_LATENCY], 0, 0);
	assert_int_equal(kc_shares_most(&(struct kc_shares){.of = {[KC_RESOURCE_DRAM] = 0.1}}), KC_RESOURCE_DRAM);
}

/* One memory, by the name of what is needed more of, and never more than all of it. */
static void shared_memory_and_l1(void **state)
{
	const struct kc_shares
	    some = {.of = {[KC_RESOURCE_FP32] = 0.5, [KC_RESOURCE_SHARED] = 0.4, [KC_RESOURCE_L1] = 0.3}},
	    most = {.of = {[KC_RESOURCE_SHARED] = 0.5, [KC_RESOURCE_L1] = 0.75}};
	struct kc_shares joined = kc_shares_joined(&some);

	(void)state;
	assert_int_equal(kc_shares_most(&some), KC_RESOURCE_FP32);
	assert_int_equal(kc_shares_most(&joined), KC_RESOURCE_SHARED);
	assert_near(joined.of[KC_RESOURCE_SHARED], 0.7, 1e-12);
	assert_near(joined.of[KC_RESOURCE_L1], 0, 0);
	joined = kc_shares_joined(&most);
	assert_near(joined.of[KC_RESOURCE_L1], 1, 0);
	assert_near(joined.of[KC_RESOURCE_SHARED], 0, 0);
}

/* 80 MB at 92 of 100 GB/s, of 10 ms. L2 is the whole device's: 80 MB of the 320 bytes a ns that ten SMs have of it, as
 * many as five SMs ask for. */
static void memory(void **state)
{
	struct kc_counts copy = copies();
	struct kc_work work = work_of(&device, 5, 1000);
	struct kc_shares shares;

	(void)state;
	for (int i = 0; i < KC_COUNTER_COUNT; i++)
		copy.of[i] *= 2000;
	shares = shares_of(&device, &work, copy, 16e6, 10e6);
	assert_near(shares.of[KC_RESOURCE_DRAM], 80e6 / 92 / 10e6, 1e-9);
	assert_near(shares.of[KC_RESOURCE_L2], 80e6 / 320 / 10e6, 1e-9);
	assert_int_equal(shares.l1.reuse, KC_REUSE_NONE);
}

/* Of 4,000 blocks' 8 KB, gone through ten times: six blocks of 256 threads on an SM hold 48 KB of 128 KiB, and all 60
 * blocks at once 480 KB of L2. 200 KB each are gone before they are asked for again. */
static void footprints(void **state)
{
	struct kc_device on = device;
	struct kc_counts ten_times = {.of = {COUNT(LD_GLOBAL, 80), COUNT(BYTES_LOADED, 320), COUNT(SECTORS, 10)}};
	struct kc_work work = work_of(&device, 4000, 256);
	struct kc_shares shares;

	(void)state;
	on.l2_bytes = 1000000;
	shares = shares_of(&on, &work, ten_times, 8000, 1e5);
	assert_int_equal(shares.l1.reuse, KC_REUSE_HELD);
	assert_near(shares.l1.bytes, 8000, 0);
	assert_int_equal(shares.l2.reuse, KC_REUSE_HELD);
	assert_near(shares.l2.bytes, 480000, 0);
	shares = shares_of(&on, &work, ten_times, 30000, 1e5);
	assert_int_equal(shares.l1.reuse, KC_REUSE_NONE);
	assert_int_equal(shares.l2.reuse, KC_REUSE_NONE);
	/* Before 7.0 nothing of global memory is in L1. */
	on.cc_major = 6;
	on.cc_minor = 1;
	assert_int_equal(shares_of(&on, &work, ten_times, 8000, 1e5).l1.reuse, KC_REUSE_NONE);
}

/* 246 MB loaded and 82 stored by blocks that go through 8 KB each: what L1 holds, L2 is not asked for but for 3/16 of
 * it (resources.c), and device memory has 32 MB to deliver and to take, at 92 bytes a ns. 30 KB are held nowhere. */
static void footprints_tell_traffic(void **state)
{
	struct kc_device on = device;
	struct kc_counts counts = {.of = {COUNT(LD_GLOBAL, 60), COUNT(ST_GLOBAL, 20), COUNT(BYTES_LOADED, 240),
					  COUNT(BYTES_STORED, 80), COUNT(SECTORS, 10)}};
	struct kc_work work = work_of(&device, 4000, 256);
	double loaded = 4000 * 256 * 240.0, stored = loaded / 3, held = 4000 * 8000 * 0.75;
	struct kc_shares shares;

	(void)state;
	on.l2_bytes = 1000000;
	shares = shares_of(&on, &work, counts, 8000, 1e7);
	assert_near(shares.of[KC_RESOURCE_DRAM], 4000 * 8000 / 92.0 / 1e7, 1e-9);
	assert_near(shares.of[KC_RESOURCE_L2], (held + 0.1875 * (loaded - held) + stored) / 320 / 1e7, 1e-9);
	shares = shares_of(&on, &work, counts, 30000, 1e7);
	assert_near(shares.of[KC_RESOURCE_DRAM], (loaded + stored) / 92 / 1e7, 1e-9);
	assert_near(shares.of[KC_RESOURCE_L2], (loaded + stored) / 320 / 1e7, 1e-9);
}

/* Where bytes are counted once: 81,920 bytes of each block are loaded ten times, but which of them soon again is not
 * known of more than L1 holds. Loaded once each, there is nothing to lose. */
static void counted_once(void **state)
{
	struct kc_device on = device;
	struct kc_counts loads = {.of = {COUNT(LD_GLOBAL, 80), COUNT(BYTES_LOADED, 320), COUNT(SECTORS, 10)}};
	struct kc_work work = work_of(&device, 4000, 256);
	double all = 4000 * 256 * 320.0;
	struct kc_shares shares;

	(void)state;
	on.l2_bytes = 1000000;
	loads.block_loaded_bytes = loads.distinct_loaded_bytes = all;
	shares = shares_of(&on, &work, loads, KC_FOOTPRINT_UNKNOWN, 1e7);
	assert_int_equal(shares.l1.reuse, KC_REUSE_NONE);
	assert_int_equal(shares.l2.reuse, KC_REUSE_NONE);
	loads.block_loaded_bytes = all / 10;
	loads.distinct_loaded_bytes = all / 1000;
	shares = shares_of(&on, &work, loads, KC_FOOTPRINT_UNKNOWN, 1e7);
	assert_int_equal(shares.l1.reuse, KC_REUSE_HELD);
	assert_near(shares.l1.bytes, 8192, 1e-6);
	assert_int_equal(shares.l2.reuse, KC_REUSE_HELD);
	assert_near(shares.l2.bytes, all / 1000, 1e-6);
	/* Not counted: all may come from the caches. */
	loads.block_loaded_bytes = loads.distinct_loaded_bytes = 0;
	shares = shares_of(&on, &work, loads, KC_FOOTPRINT_UNKNOWN, 1e7);
	assert_int_equal(shares.l1.reuse, KC_REUSE_UNKNOWN);
	assert_int_equal(shares.l2.reuse, KC_REUSE_UNKNOWN);
	/* 328 MB at 100 GB/s and 80 loads of 600 cycles in each of 67 waves are 6.5 ms: next to nothing of a second,
	 * for which nothing can be lost, but not of 250 ms. */
	assert_int_equal(shares_of(&on, &work, loads, KC_FOOTPRINT_UNKNOWN, 1e9).l2.reuse, KC_REUSE_NONE);
	assert_int_equal(shares_of(&on, &work, loads, KC_FOOTPRINT_UNKNOWN, 2.5e8).l2.reuse, KC_REUSE_UNKNOWN);
}

static void not_known(void **state)
{
	struct kc_work work = work_of(&device, 20, 256);
	struct kc_counts counts = counted(&work, (struct kc_counts){.of = {COUNT(FMA, 1000)}});
	struct kc_shares shares;

	(void)state;
	counts.assumed = KC_ASSUMED_TRIPS;
	counts.exact = 0;
	assert_int_equal(kc_shares_of(&device, &work, &counts, 0, 1000, &shares), -ENODATA);
	counts = counted(&work, (struct kc_counts){.of = {COUNT(FMA, 1000)}});
	counts.other_architecture = 1;
	assert_int_equal(kc_shares_of(&device, &work, &counts, 0, 1000, &shares), -ENODATA);
	counts.other_architecture = 0;
	assert_int_equal(kc_shares_of(&device, &work, &counts, 0, 0, &shares), -ENODATA);
	assert_int_equal(kc_shares_of(&device, &work, &counts, 0, 1000, &shares), 0);
}

/* CUDA C++ programming guide: 128 KiB of 7.0 and 8.6, 192 of 8.0, 256 of 9.0; what shared memory takes is left out. */
static void l1_sizes(void **state)
{
	static const struct {
		const char *name;
		double kib;
	} rows[] = {{"v100", 128}, {"t4", 96}, {"a100", 192}, {"rtx3080", 128}, {"h100", 256}, {"k40", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_near(kc_l1_bytes(kc_device_builtin(rows[i].name), 0), rows[i].kib * 1024, 0);
	assert_near(kc_l1_bytes(kc_device_builtin("v100"), 98304), 32768, 0);
	assert_near(kc_l1_bytes(kc_device_builtin("k40"), 98304), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(units),
	    cmocka_unit_test(shared_memory_and_l1),
	    cmocka_unit_test(memory),
	    cmocka_unit_test(footprints),
	    cmocka_unit_test(footprints_tell_traffic),
	    cmocka_unit_test(counted_once),
	    cmocka_unit_test(not_known),
	    cmocka_unit_test(l1_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
