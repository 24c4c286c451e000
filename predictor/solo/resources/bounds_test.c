/* The least time that launches can take, and how wide the intervals around their times are, by hand. */
#include "resources_testing.h"

static double bound_on(const struct kc_device *on, uint32_t blocks, uint32_t threads, struct kc_counts counts,
		       uint32_t *by)
{
	struct kc_work work = work_of(on, blocks, threads);

	counts.threads = (double)blocks * threads;
	counts.exact = 1;
	return kc_resource_bound_ns(on, &work, &counts, by);
}

#define LEAST_FLOOR_NS (2080 * 2 / 3.0)

/* 256,000 threads over 10 SMs are 25,600 lanes each. Integers take half as many issue slots, branches none. */
static void bounds_of_units(void **state)
{
	struct kc_counts counts = {.of = {COUNT(INT, 30), COUNT(DIVMOD, 2), COUNT(LD_SHARED, 1), COUNT(CONTROL, 10)}};
	uint32_t by;

	(void)state;
	assert_float_equal(bound_on(&device, 1000, 256, counts, &by), LEAST_FLOOR_NS + 25600 * 16 / 128.0, 1e-6);
	assert_string_equal(kc_resource_key(by), "issue");
	counts.of[KC_COUNT_OF_ADD] = counts.of[KC_COUNT_OF_DOUBLE] = 20;
	assert_float_equal(bound_on(&device, 1000, 256, counts, &by), LEAST_FLOOR_NS + 25600 * 20 / 2.0, 1e-6);
	assert_string_equal(kc_resource_key(by), "fp64");
	/* Eleven blocks may be spread over ten SMs in any way. */
	assert_float_equal(bound_on(&device, 11, 256, counts, &by), LEAST_FLOOR_NS + 1.1 * 256 * 20 / 2.0, 1e-6);
}

/* Whatever the warps and lanes have of it each: what the longest executes may be none of what is counted here. */
static void bound_of_a_warp(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 4000)}};
	uint32_t by;

	(void)state;
	assert_float_equal(bound_on(&device, 1, 32, counts, &by), LEAST_FLOOR_NS + 4000, 1e-6);
	counts.longest_warp = 3;
	counts.active_share = 0.125;
	assert_float_equal(bound_on(&device, 1, 128, counts, &by), LEAST_FLOOR_NS + 4000, 1e-6);
	assert_string_equal(kc_resource_key(by), "issue");
}

/* Of 4 MB each, 1 MB may be in L2 before, and 1 MB after; 100 GB/s, whatever a copy was measured to reach. */
static void bound_of_memory(void **state)
{
	struct kc_device with_l2 = device;
	struct kc_counts counts = copies();
	uint32_t by;

	(void)state;
	with_l2.l2_bytes = 1000000;
	with_l2.copy_bytes_per_s = 80000000000;
	counts.distinct_loaded_bytes = counts.distinct_stored_bytes = 4e6;
	assert_float_equal(bound_on(&with_l2, 10000, 100, counts, &by), LEAST_FLOOR_NS + 6e6 / 100, 1e-3);
	assert_string_equal(kc_resource_key(by), "dram");
	counts.distinct_stored_bytes = 5e6; /* an estimate; 4 MB are stored */
	assert_float_equal(bound_on(&with_l2, 10000, 100, counts, &by), LEAST_FLOOR_NS + 6e6 / 100, 1e-3);
	counts.distinct_loaded_bytes = counts.distinct_stored_bytes = 0; /* not known */
	assert_float_equal(bound_on(&with_l2, 10000, 100, counts, &by), LEAST_FLOOR_NS + 2e6 / 16 / 10, 1e-3);
	assert_string_equal(kc_resource_key(by), "load_store");
	counts.distinct_loaded_bytes = counts.distinct_stored_bytes = 4e6;
	assert_float_equal(bound_on(&device, 10000, 100, counts, &by), LEAST_FLOOR_NS + 2e6 / 16 / 10, 1e-3);
}

static void bound_of_next_to_nothing(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 1)}};
	struct kc_device without_clock = device;
	struct kc_work work = work_of(&device, 1, 32);
	uint32_t by;

	(void)state;
	assert_float_equal(bound_on(&device, 1, 32, counts, &by), LEAST_FLOOR_NS + 1, 1e-6);
	assert_int_equal(by, KC_RESOURCE_COUNT);
	counts.threads = 32;
	assert_float_equal(kc_resource_bound_ns(&device, &work, &counts, &by), 0, 0); /* not exact */
	counts.exact = 1;
	without_clock.clock_khz = 0;
	assert_float_equal(kc_resource_bound_ns(&without_clock, &work, &counts, &by), 0, 0);
	counts.of[KC_COUNT_OF_FMA] = INFINITY;
	assert_float_equal(kc_resource_bound_ns(&device, &work, &counts, &by), 0, 0);
}

/* Before 7.0, two instructions of a warp in a cycle: 192 lanes of K40's. */
static void bound_where_two_are_issued(void **state)
{
	struct kc_counts counts = {.of = {COUNT(INT, 768)}};
	struct kc_device kepler = device;
	uint32_t by;

	(void)state;
	kepler.cc_major = 3;
	kepler.cc_minor = 5;
	assert_float_equal(bound_on(&kepler, 1000, 256, counts, &by), 500 + 25600 * 384 / 192.0 / 2, 1e-6);
}

static double least_of(struct kc_counts counts)
{
	struct kc_work work = work_of(&device, 1000, 256);

	counts.threads = 1000.0 * 256;
	counts.of[KC_COUNT_OF_FMA] = 16;
	return kc_resource_least_ns(&device, &work, &counts);
}

/* The time of FP32 as above; of a sample, which is within 2 %, 0.98 of it; of what is not sure an empty kernel's. */
static void intervals_begin_at_the_bound(void **state)
{
	double bound = LEAST_FLOOR_NS + 25600 * 16 / 128.0, empty = kc_resource_floor_ns(&device);

	(void)state;
	assert_float_equal(least_of((struct kc_counts){.exact = 1}), bound, 1e-6);
	assert_float_equal(least_of((struct kc_counts){.sampled = 1}), 0.98 * bound, 1e-6);
	assert_float_equal(least_of((struct kc_counts){.sampled = 1, .assumed = KC_ASSUMED_BRANCH}), empty, 0);
	assert_float_equal(least_of((struct kc_counts){.sampled = 1, .other_architecture = 1}), empty, 0);
	assert_float_equal(kc_resource_low_ns(1000, 2, 300), 500, 0);
	assert_float_equal(kc_resource_low_ns(1000, 2, 600), 600, 0);
	assert_float_equal(kc_resource_low_ns(1000, 2, 1600), 1000, 0);
}

/* A quarter of 500 ns, 100 of which are those of an empty kernel, are in loops of unknown length: a fifth of the time
 * may be a factor of e^1.3 or e^2.65 more. */
static void intervals_of_loops(void **state)
{
	struct kc_resource_times times = {.ns = {[KC_RESOURCE_DRAM] = 400}, .floor_ns = 100, .total_ns = 500};
	struct kc_counts counts = {.assumed = KC_ASSUMED_LENGTH, .unsure_share = 0.25};

	(void)state;
	assert_float_equal(kc_resource_half_width(&counts, &times), fmax(0.4, log(0.8 + 0.2 * exp(1.3))), 1e-6);
	counts.assumed = KC_ASSUMED_TRIPS;
	assert_float_equal(kc_resource_half_width(&counts, &times), log(0.8 + 0.2 * exp(2.65)), 1e-6);
	counts.unsure_share = 0;
	assert_float_equal(kc_resource_half_width(&counts, &times), 0.4 + 0.5, 1e-6);
}

static float half_width(struct kc_counts counts, double fp32_ns, double dram_ns)
{
	struct kc_resource_times times = {.ns = {[KC_RESOURCE_FP32] = fp32_ns, [KC_RESOURCE_DRAM] = dram_ns}};

	return kc_resource_half_width(&counts, &times);
}

/* Counts that are exact, or of a sample in which nothing was assumed: of 3² + 4² = 25, device memory's 16 are 0.64 and
 * that of arithmetic 0.36, so half of the logarithm's width is 0.64 * 0.4 + 0.36 * 0.6 = 0.472. With latency in the
 * place of arithmetic it is 0.64 * 0.4 + 0.36 * 1.2 = 0.688. */
static void intervals_where_nothing_was_assumed(void **state)
{
	static const struct kc_resource_times waiting = {.ns = {[KC_RESOURCE_LATENCY] = 300, [KC_RESOURCE_DRAM] = 400}};
	static const struct kc_counts exact = {.exact = 1};

	(void)state;
	assert_float_equal(half_width((struct kc_counts){.exact = 1}, 300, 400), 0.472, 1e-6);
	assert_float_equal(half_width((struct kc_counts){.sampled = 1}, 300, 400), 0.472, 1e-6);
	assert_float_equal(half_width((struct kc_counts){.exact = 1}, 0, 400), 0.4, 1e-6);
	assert_float_equal(half_width((struct kc_counts){.exact = 1}, 0, 0), 1.2, 1e-6);
	assert_float_equal(kc_resource_half_width(&exact, &waiting), 0.688, 1e-6);
}

/* 0.5 more where all depends on branches, 0.125 where a quarter does; at least 1 where addresses are not known. */
static void intervals_by_what_was_assumed(void **state)
{
	struct kc_counts branch = {.assumed = KC_ASSUMED_BRANCH, .unsure_share = 0.25};

	(void)state;
	assert_float_equal(half_width(branch, 300, 400), 0.472 + 0.125, 1e-6);
	branch.assumed |= KC_ASSUMED_ADDRESS;
	assert_float_equal(half_width(branch, 300, 400), 1, 1e-6);
	assert_float_equal(half_width((struct kc_counts){.assumed = KC_ASSUMED_ADDRESS}, 300, 400), 1, 1e-6);
	assert_float_equal(half_width((struct kc_counts){.sampled = 1, .other_architecture = 1}, 300, 400), 1.75, 1e-6);
	branch = (struct kc_counts){.assumed = KC_ASSUMED_BRANCH, .unsure_share = 1e300}; /* of a database */
	assert_float_equal(half_width(branch, 300, 400), 0.472 + 0.5, 1e-6);
	branch.assumed |= KC_ASSUMED_TRIPS;
	assert_float_equal(half_width(branch, 300, 400), 2.65, 1e-6);
	assert_float_equal(half_width((struct kc_counts){.assumed = KC_ASSUMED_UNTOLD}, 300, 400), 2.65, 1e-6);
	assert_float_equal(half_width((struct kc_counts){.assumed = KC_ASSUMED_UNTOLD_TRIPS}, 300, 400), 2.65, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bounds_of_units),
	    cmocka_unit_test(bound_of_a_warp),
	    cmocka_unit_test(bound_of_memory),
	    cmocka_unit_test(bound_of_next_to_nothing),
	    cmocka_unit_test(bound_where_two_are_issued),
	    cmocka_unit_test(intervals_begin_at_the_bound),
	    cmocka_unit_test(intervals_where_nothing_was_assumed),
	    cmocka_unit_test(intervals_by_what_was_assumed),
	    cmocka_unit_test(intervals_of_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
