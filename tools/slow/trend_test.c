#include "trend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MOST 256
#define OVER 0.05

static struct kc_slow_sample samples[MOST];
static double values[MOST];

static struct kc_slow_trend trend_of(size_t n)
{
	struct kc_slow_trend out;

	for (size_t i = 0; i < n; i++)
		samples[i].at_ns = (int64_t)i * 1000;
	kc_slow_trend(samples, n, OVER, values, &out);
	return out;
}

static int near(double got, double wanted)
{
	return fabs(got - wanted) < 1e-9;
}

static void steady_launches_have_a_level_and_no_drift(void **state)
{
	struct kc_slow_trend t;

	(void)state;
	for (int i = 0; i < 64; i++)
		samples[i].log = 0.1;
	t = trend_of(64);
	assert_true(near(t.level, 0.1));
	assert_int_equal(t.parts, 0);
	assert_true(near(kc_slow_drift(&t, 5000), 0));
	assert_true(near(t.far, 0.05)); /* no scatter, and what is less than 0.05 past it is not far */
}

/* 0 for the first half, 0.3 for the second. */
static void a_step_is_a_drift_from_the_faster_part(void **state)
{
	struct kc_slow_trend t;

	(void)state;
	for (int i = 0; i < 128; i++)
		samples[i].log = i < 64 ? 0 : 0.3;
	t = trend_of(128);
	assert_true(near(t.level, 0));
	assert_true(t.parts >= 4);
	assert_true(near(kc_slow_drift(&t, 63000), 0));
	assert_true(near(kc_slow_drift(&t, 64000), 0.3));
	assert_true(near(kc_slow_drift(&t, 1000000), 0.3)); /* after the last sample */
	assert_true(near(t.most, 0.3));
	assert_true(near(t.far, 0.05)); /* the scatter around the drift, which is none */
	/* The other way round the level is the same. */
	for (int i = 0; i < 128; i++)
		samples[i].log = i < 64 ? 0.3 : 0;
	t = trend_of(128);
	assert_true(near(t.level, 0));
	assert_true(near(kc_slow_drift(&t, 0), 0.3));
	assert_true(near(kc_slow_drift(&t, 100000), 0));
}

/* From 0 to 0.32 over 256 launches, 32 parts of 8: the level is 0, not the 0.005 of the first part. */
static void a_slope_begins_at_its_level(void **state)
{
	(void)state;
	for (int down = 0; down < 2; down++) {
		struct kc_slow_trend t;

		for (int i = 0; i < 256; i++)
			samples[i].log = (down ? 255 - i : i) * 0.32 / 256;
		t = trend_of(256);
		assert_in_range(t.parts, 8, KC_SLOW_PARTS);
		assert_true(fabs(t.level) < 0.002);
		assert_true(fabs(kc_slow_drift(&t, 128000) - 0.16) < 0.32 / t.parts);
	}
}

/* A step after the first part is no slope. */
static void an_early_step_is_not_a_slope(void **state)
{
	struct kc_slow_trend t;

	(void)state;
	for (int i = 0; i < 256; i++)
		samples[i].log = i < 8 ? 0 : 0.3;
	t = trend_of(256);
	assert_int_equal(t.parts, KC_SLOW_PARTS); /* of 8 */
	assert_true(near(t.level, 0));
	assert_true(near(kc_slow_drift(&t, 100000), 0.3));
}

/* -0.02 and 0.02 in turns, in four parts of 32; the second is 0.01 higher, which is chance, the others 0.3. */
static void a_difference_by_chance_is_no_drift(void **state)
{
	static const double parts[4] = {0, 0.01, 0.3, 0.3};
	struct kc_slow_trend t;

	(void)state;
	for (int i = 0; i < 128; i++)
		samples[i].log = parts[i / 32] + (i % 2 ? 0.02 : -0.02);
	t = trend_of(128);
	assert_int_equal(t.parts, 4);
	assert_true(near(t.level, 0.005)); /* of the first two */
	assert_true(near(kc_slow_drift(&t, 40000), 0));
	assert_true(near(kc_slow_drift(&t, 100000), 0.295));
}

/* Twice the limit is 0.1: less is no drift, and the level is that of all. */
static void a_small_step_is_none(void **state)
{
	struct kc_slow_trend t;

	(void)state;
	for (int i = 0; i < 129; i++)
		samples[i].log = i < 64 ? 0 : 0.09;
	t = trend_of(129);
	assert_int_equal(t.parts, 0);
	assert_true(near(t.level, 0.09)); /* of 65 of 129 */
}

/* -0.02 and 0.02 in turns: from one tenth to nine tenths there are 0.04, less than 0.05. */
static void far_is_beyond_the_scatter(void **state)
{
	struct kc_slow_trend t;

	(void)state;
	for (int i = 0; i < 100; i++)
		samples[i].log = i % 2 ? 0.02 : -0.02;
	t = trend_of(100);
	assert_true(near(t.level, 0));
	assert_true(near(t.far, 0.02 + 0.05));
	for (int i = 0; i < 100; i++)
		samples[i].log = i % 2 ? 0.2 : -0.2;
	t = trend_of(100);
	assert_int_equal(t.parts, 0); /* by chance */
	assert_true(near(t.far, 0.2 + 0.4));
}

static void few_launches_have_no_scatter(void **state)
{
	struct kc_slow_trend t;

	(void)state;
	for (int i = 0; i < 7; i++)
		samples[i].log = i;
	t = trend_of(7);
	assert_true(near(t.level, 3));
	assert_true(isnan(t.far));
	assert_int_equal(t.parts, 0);
	t = trend_of(1);
	assert_true(near(t.level, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(steady_launches_have_a_level_and_no_drift),
	    cmocka_unit_test(a_step_is_a_drift_from_the_faster_part),
	    cmocka_unit_test(a_slope_begins_at_its_level),
	    cmocka_unit_test(an_early_step_is_not_a_slope),
	    cmocka_unit_test(a_small_step_is_none),
	    cmocka_unit_test(a_difference_by_chance_is_no_drift),
	    cmocka_unit_test(far_is_beyond_the_scatter),
	    cmocka_unit_test(few_launches_have_no_scatter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
