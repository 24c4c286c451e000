#include "scaling.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Only what a test turns on counts. interval 1: the half width is the deviation. */
static const struct kc_scaling_law bare = {.size_reach = 1, .grid_reach = 1, .interval = 1};

static struct kc_scaling_space space;

static struct kc_scaling_size waves(double log_waves)
{
	return (struct kc_scaling_size){.log_waves = (float)log_waves, .log_threads = 10};
}

static double predict(const struct kc_scaling_law *law, const struct kc_scaling *scaling, double log_waves)
{
	struct kc_scaling_size size = waves(log_waves);
	struct kc_solo solo;

	assert_int_equal(kc_scaling_predict(law, scaling, &size, &space, &solo), 0);
	return log((double)solo.ns);
}

static void learn(struct kc_scaling *scaling, double log_waves, double log_ns)
{
	struct kc_scaling_size size = waves(log_waves);

	kc_scaling_learn(scaling, &size, (int64_t)llround(exp(log_ns)));
}

static int near(double a, double b)
{
	return fabs(a - b) < 1e-4;
}

static void nothing_known_is_said(void **state)
{
	struct kc_scaling scaling;
	struct kc_scaling_size size = waves(1);
	struct kc_solo solo;

	(void)state;
	kc_scaling_init(&scaling);
	assert_int_equal(kc_scaling_predict(&kc_scaling_law_default, &scaling, &size, &space, &solo), -ENODATA);
	kc_scaling_learn(&scaling, &size, 0);
	kc_scaling_learn(&scaling, &size, -5);
	assert_int_equal(kc_scaling_predict(&kc_scaling_law_default, &scaling, &size, &space, &solo), -ENODATA);
}

/* ½ log(1 + 3): a grid far below a wave is no size of its own. */
static void size_is_flat_below_a_wave(void **state)
{
	struct kc_work work = {.blocks = 10, .threads_per_block = 100, .waves = sqrt(3)};
	struct kc_shape shape = {.grid = {10, 1, 1}};
	struct kc_scaling_size size = kc_scaling_size(&work, &shape);

	(void)state;
	assert_true(near(size.log_waves, log(2)));
	assert_true(near(size.log_threads, log(1000)));
	assert_true(near(size.log_grid[0], log(10)));
	assert_true(near(size.log_grid[1], 0));
	work.waves = 1e-3;
	assert_true(kc_scaling_size(&work, &shape).log_waves < 1e-6F);
}

/* Mean 12, deviation 1, noise 1, one point at 14: halfway. Variance 1 + 1 - 1/2. */
static void a_point_draws_the_level_half_way(void **state)
{
	struct kc_scaling_law law = bare;
	struct kc_scaling scaling;
	struct kc_scaling_size size = waves(0);
	struct kc_solo solo;

	(void)state;
	law.level = 12;
	law.level_spread = law.noise = 1;
	kc_scaling_init(&scaling);
	learn(&scaling, 0, 14);
	assert_int_equal(kc_scaling_predict(&law, &scaling, &size, &space, &solo), 0);
	assert_true(near(log((double)solo.ns), 13));
	assert_true(near(log((double)solo.high_ns), 13 + sqrt(1.5)));
	assert_true(near(log((double)solo.low_ns), 13 - sqrt(1.5)));
	law.caution = 0.2;
	assert_true(near(predict(&law, &scaling, 0), 13 - 0.2 * 1.5));
}

/* No slope expected, deviation 1, noise 1: residuals 1 and 2 at 1 and 2 give the
 * slope of a ridge of 1: (1 · 1 + 2 · 2) / (1 + 4 + 1). */
static void two_points_draw_the_slope(void **state)
{
	struct kc_scaling_law law = bare;
	struct kc_scaling scaling;

	(void)state;
	law.level = 12;
	law.slope_spread = law.noise = 1;
	kc_scaling_init(&scaling);
	learn(&scaling, 1, 13);
	learn(&scaling, 2, 14);
	assert_true(near(predict(&law, &scaling, 1.5), 12 + 1.5 * 5 / 6));
}

/* Nothing but what departs from the line, without noise: the points are met, and
 * far from them the line is back: covariance e^-1 of 1. */
static void points_are_met_and_forgotten_with_distance(void **state)
{
	struct kc_scaling_law law = bare;
	struct kc_scaling scaling;

	(void)state;
	law.level = 12;
	law.size_spread = 1;
	law.noise = 1e-4;
	kc_scaling_init(&scaling);
	learn(&scaling, 1, 13);
	assert_true(near(predict(&law, &scaling, 1), 13));
	assert_true(near(predict(&law, &scaling, 2), 12 + exp(-1)));
}

/* Slope 1 from (0, 12): followed to log 4, then 0.3 of it. */
static void beyond_four_times_the_line_is_nearly_left(void **state)
{
	struct kc_scaling_law law = bare;
	struct kc_scaling scaling;

	(void)state;
	law.level = 12;
	law.slope = 1;
	law.noise = 1;
	kc_scaling_init(&scaling);
	learn(&scaling, 0, 12);
	assert_true(near(predict(&law, &scaling, 1), 13));
	assert_true(near(predict(&law, &scaling, 4), 12 + log(4) + 0.3 * (4 - log(4))));
	kc_scaling_init(&scaling);
	learn(&scaling, 9, 12);
	assert_true(near(predict(&law, &scaling, 0), 21 - log(4) - 0.3 * (9 - log(4))));
}

/* 1.5 µs, unless the kernel has been seen to be shorter. */
static void times_do_not_shrink_to_nothing(void **state)
{
	struct kc_scaling_law law = bare;
	struct kc_scaling scaling;

	(void)state;
	law.noise = law.level_spread = 1;
	kc_scaling_init(&scaling);
	learn(&scaling, 3, log(4000));
	assert_true(near(predict(&law, &scaling, 0), log(1500)));
	learn(&scaling, 2, log(1000));
	assert_true(near(predict(&law, &scaling, 0), log(1000)));
}

static void repeated_measurements_are_one_point(void **state)
{
	struct kc_scaling_law law = bare;
	struct kc_scaling scaling;

	(void)state;
	law.level = 12;
	law.level_spread = 1;
	law.noise = 1e-4;
	kc_scaling_init(&scaling);
	learn(&scaling, 1, 12);
	learn(&scaling, 1, 14);
	assert_int_equal(scaling.count, 1);
	assert_int_equal(scaling.points[0].count, 2);
	assert_true(near(predict(&law, &scaling, 1), 13));
}

/* Whatever is learned: as many points as there is room, with both ends and the last one. */
static void room_is_bounded_and_the_ends_stay(void **state)
{
	struct kc_scaling scaling;
	float low = INFINITY, high = 0;

	(void)state;
	kc_scaling_init(&scaling);
	for (int i = 0; i < 1000; i++) {
		learn(&scaling, 1 + (i * 7 % 100) / 10.0, 12 + i % 3);
		assert_true(near(scaling.points[scaling.last].size.log_waves, 1 + (i * 7 % 100) / 10.0));
	}
	assert_int_equal(scaling.count, KC_SCALING_POINTS);
	for (uint32_t i = 0; i < scaling.count; i++) {
		low = fminf(low, scaling.points[i].size.log_waves);
		high = fmaxf(high, scaling.points[i].size.log_waves);
	}
	assert_true(near(low, 1));
	assert_true(near(high, 10.9));
}

/* Grids up to 2^31 - 1 blocks and a month of time: still a number, within its interval. */
static void the_largest_sizes_are_numbers(void **state)
{
	struct kc_scaling_size huge = {.log_waves = 60, .log_threads = 90, .log_grid = {22, 22, 22}};
	struct kc_scaling_size tiny = waves(0);
	struct kc_scaling scaling;
	struct kc_solo solo;

	(void)state;
	kc_scaling_init(&scaling);
	kc_scaling_learn(&scaling, &tiny, 1);
	kc_scaling_learn(&scaling, &huge, INT64_MAX);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
		    kc_scaling_predict(&kc_scaling_law_default, &scaling, i ? &huge : &tiny, &space, &solo), 0);
		assert_true(solo.low_ns >= 1 && solo.low_ns <= solo.ns && solo.ns <= solo.high_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_known_is_said),
	    cmocka_unit_test(size_is_flat_below_a_wave),
	    cmocka_unit_test(a_point_draws_the_level_half_way),
	    cmocka_unit_test(two_points_draw_the_slope),
	    cmocka_unit_test(points_are_met_and_forgotten_with_distance),
	    cmocka_unit_test(beyond_four_times_the_line_is_nearly_left),
	    cmocka_unit_test(times_do_not_shrink_to_nothing),
	    cmocka_unit_test(repeated_measurements_are_one_point),
	    cmocka_unit_test(room_is_bounded_and_the_ends_stay),
	    cmocka_unit_test(the_largest_sizes_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
