#include "counted.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* 1 GHz, 1,920 cores, 100 GB/s */
static const struct kc_device device = {
    .cc_major = 3,
    .cc_minor = 5,
    .sm_count = 10,
    .cores_per_sm = 192,
    .clock_khz = 1000000,
    .memory_bytes_per_s = 100000000000,
};

/* A million threads load and store 4 bytes each. */
static struct kc_counts copies(void)
{
	return (struct kc_counts){
	    .of = {[KC_COUNT_OF_LD_GLOBAL] = 1,
		   [KC_COUNT_OF_ST_GLOBAL] = 1,
		   [KC_COUNT_OF_BYTES_LOADED] = 4,
		   [KC_COUNT_OF_BYTES_STORED] = 4,
		   [KC_COUNT_OF_REQUESTS] = 2 / 32.0,
		   [KC_COUNT_OF_SECTORS] = 0.25},
	    .threads = 1e6,
	    .active_share = 1,
	};
}

static struct kc_work work_of_copies(void)
{
	return (struct kc_work){
	    .blocks = 4000, .threads_per_block = 250, .blocks_per_sm = 8, .waves = 2.5, .launch_ns = 750};
}

/* 8 MB at 92 of 100 GB/s are 86,957 ns, and at 32 bytes per cycle and SM of L2 25,000; starting 32,000 warps takes 13
 * cycles each, over 10 SMs 41,600 ns; accesses at 32 lanes per SM 6,250, while L1 takes as long, at 128 bytes; issue
 * slots, 192 lanes, 1,042; three waves of two instructions and a load from memory 3 · (8 + 466). The root of the sum of
 * their squares is 99,796 ns. */
#define COPIES_NS 99795.6

static void work_is_the_codes(void **state)
{
	struct kc_work work = work_of_copies();
	struct kc_counts counts = copies();
	struct kc_curve_point size;
	struct kc_solo solo;

	(void)state;
	assert_int_equal(kc_work_count(&work, &device, &counts, &size), 0);
	assert_float_equal(work.unit_ns, COPIES_NS, 1);
	assert_float_equal(work.traffic_bytes, 8e6, 0.1);
	assert_int_equal(work.counted, 1);
	assert_float_equal(size.work_cycles, 1e9, 1);
	assert_float_equal(size.waves, 2.5, 0);
	solo = kc_forecast_solo(&work, NULL, NULL, NULL); /* nothing measured */
	assert_float_equal((double)solo.ns, 750 + COPIES_NS, 2);
	assert_int_equal(solo.model, KC_MODEL_BSP_CODE);
}

/* One wave of the dependent instructions above takes 474 ns, or 2.4 of them where the longest warp has 1.4 times the
 * mean of all more to do: beside nothing that takes longer, 32 threads on one SM. */
static void the_last_wave_waits_for_its_longest_warp(void **state)
{
	struct kc_work work = {
	    .blocks = 1, .threads_per_block = 32, .blocks_per_sm = 8, .waves = 0.0125, .launch_ns = 750};
	struct kc_work longer = work;
	struct kc_counts counts = copies();
	struct kc_curve_point size;

	(void)state;
	counts.threads = 32;
	assert_int_equal(kc_work_count(&work, &device, &counts, &size), 0);
	counts.longest_warp = 2.4;
	assert_int_equal(kc_work_count(&longer, &device, &counts, &size), 0);
	assert_float_equal(work.unit_ns, 474, 1);
	assert_float_equal(longer.unit_ns, 2.4 * 474, 1);
	assert_float_equal(size.longest, 2.4, 0);
}

/* A floor above the launch term, as ncu's clock has it on 8.6, is part of what λ scales; the interval of 2,554 ns, not
 * limited by bandwidth (a factor of e^1.2 to each side), begins there. */
static void the_floor_is_part_of_the_work(void **state)
{
	struct kc_device ga102 = device;
	struct kc_work work = {
	    .blocks = 1, .threads_per_block = 32, .blocks_per_sm = 8, .waves = 0.0125, .launch_ns = 750};
	struct kc_counts counts = copies();
	struct kc_curve_point size;

	(void)state;
	ga102.cc_major = 8;
	ga102.cc_minor = 6;
	counts.threads = 32;
	assert_int_equal(kc_work_count(&work, &ga102, &counts, &size), 0);
	assert_float_equal(work.unit_ns, 2080 - 750 + 474, 2);
	assert_int_equal(kc_forecast_solo(&work, NULL, NULL, NULL).low_ns, 2080);
}

static void no_work_is_refused(void **state)
{
	struct kc_work work = {.waves = 1, .unit_ns = 5};
	struct kc_counts none = {.threads = 32};
	struct kc_curve_point size;

	(void)state;
	assert_int_equal(kc_work_count(&work, &device, &none, &size), -ENODATA);
	assert_float_equal(work.unit_ns, 5, 0);
	assert_int_equal(work.counted, 0);
}

static struct kc_curve_point size_of(double work_cycles)
{
	return (struct kc_curve_point){.work_cycles = work_cycles, .waves = work_cycles / 1e9};
}

/* Long enough that clocks and caches are warm: in proportion to the work. */
static void a_known_size_predicts_others(void **state)
{
	struct kc_curve_point one = size_of(1e9), two = size_of(2e9);
	struct kc_sizes sizes = {0};
	struct kc_solo solo;

	(void)state;
	assert_int_equal(kc_sizes_predict(&sizes, &device, &one, 750, &solo), -ENODATA);
	kc_sizes_learn(&sizes, &one, 750, 1000000750);
	assert_int_equal(kc_sizes_predict(&sizes, &device, &one, 750, &solo), 0);
	assert_float_equal((double)solo.ns, 1000000750, 2);
	assert_int_equal(solo.model, KC_MODEL_BSP_SIZES);
	assert_int_equal(kc_sizes_predict(&sizes, &device, &two, 750, &solo), 0);
	assert_float_equal((double)solo.ns, 2000000750, 2e5);
	assert_true(solo.low_ns < solo.ns && solo.ns < solo.high_ns);
}

/* Between two sizes it is surer than beyond them, beyond two surer than beyond one. */
static void more_sizes_narrow_the_interval(void **state)
{
	struct kc_curve_point one = size_of(1e9), two = size_of(2e9), four = size_of(4e9);
	struct kc_sizes sizes = {0};
	struct kc_solo from_one, from_two, between;

	(void)state;
	kc_sizes_learn(&sizes, &one, 0, 1000000000);
	kc_sizes_predict(&sizes, &device, &two, 0, &from_one);
	kc_sizes_learn(&sizes, &four, 0, 4000000000);
	kc_sizes_predict(&sizes, &device, &two, 0, &between);
	kc_sizes_learn(&sizes, &two, 0, 2000000000);
	kc_sizes_predict(&sizes, &device, &(struct kc_curve_point){.work_cycles = 8e9, .waves = 8}, 0, &from_two);
	assert_true((double)from_one.high_ns / (double)from_one.ns > (double)from_two.high_ns / (double)from_two.ns);
	assert_true((double)from_two.high_ns / (double)from_two.ns > (double)between.high_ns / (double)between.ns);
}

/* A new time counts a quarter, in logarithms: 16 after 1 makes 2. */
static void a_size_follows_its_times(void **state)
{
	struct kc_curve_point one = size_of(1e9);
	struct kc_sizes sizes = {0};

	(void)state;
	kc_sizes_learn(&sizes, &one, 0, 1000000);
	kc_sizes_learn(&sizes, &one, 0, 16000000);
	kc_sizes_learn(&sizes, &one, 0, 0); /* no time */
	assert_int_equal(sizes.count, 1);
	assert_float_equal(sizes.points[0].time_ns, 2000000, 1);
}

/* 11 lies between 10 and 100, no other between two so close. */
static void the_most_crowded_size_is_forgotten(void **state)
{
	static const double works[] = {1e4, 11, 1, 1e6, 100, 10, 1e3, 1e5};
	static const double left[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7};
	struct kc_sizes sizes = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		kc_sizes_learn(&sizes, &(struct kc_curve_point){.work_cycles = works[i], .waves = 1}, 0, 1000);
	assert_int_equal(sizes.count, KC_SIZES);
	kc_sizes_learn(&sizes, &(struct kc_curve_point){.work_cycles = 1e7, .waves = 1}, 0, 1000);
	assert_int_equal(sizes.count, KC_SIZES);
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		assert_float_equal(sizes.points[i].work_cycles, left[i], 0);
}

/* Units twice as large and λ twice as large are the same time. */
static void what_was_learned_is_adopted_in_other_units(void **state)
{
	struct kc_work nominal = {.unit_ns = 1000}, counted = {.unit_ns = 2000};
	struct kc_lambda device_level, from, node;
	struct kc_belief belief;

	(void)state;
	kc_lambda_init(&device_level, NULL);
	kc_lambda_init(&from, &device_level);
	kc_lambda_init(&node, &device_level);
	kc_lambda_learn(&from, &nominal, 4000, 0, 1);
	kc_lambda_copy(&node, &counted, &from, &nominal);
	belief = kc_lambda_belief(&node, 0);
	assert_float_equal((double)kc_forecast_solo(&counted, &belief, NULL, NULL).ns, 4000, 1);
	assert_ptr_equal(node.parent, &device_level);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(work_is_the_codes),
	    cmocka_unit_test(the_last_wave_waits_for_its_longest_warp),
	    cmocka_unit_test(the_floor_is_part_of_the_work),
	    cmocka_unit_test(no_work_is_refused),
	    cmocka_unit_test(a_known_size_predicts_others),
	    cmocka_unit_test(more_sizes_narrow_the_interval),
	    cmocka_unit_test(a_size_follows_its_times),
	    cmocka_unit_test(the_most_crowded_size_is_forgotten),
	    cmocka_unit_test(what_was_learned_is_adopted_in_other_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
