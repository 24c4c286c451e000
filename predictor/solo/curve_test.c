/* The law of new sizes, term by term and by hand; what donors contribute. Real GPUs: curve_trace_test.c. */
#include "curve_donors_testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GBPS_100 100e9
#define POINTS(...)                                                                                                    \
	(struct kc_curve_point[])                                                                                      \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}

/* 1,000 cores at 1 GHz. */
static struct kc_curve curve_of(const struct kc_curve_point *points, uint32_t count)
{
	return (struct kc_curve){.core_hz = 1e12, .bytes_per_s = GBPS_100, .points = points, .count = count};
}

static const struct kc_curve nothing = {.core_hz = 1e12};

static void assert_ns(double ns, double expected)
{
	if (!(fabs(ns / expected - 1) < 1e-9))
		fail_msg("%.9g ns, not %.9g", ns, expected);
}

static double own_only(const struct kc_curve_law *law, const struct kc_curve *own, struct kc_curve_point target)
{
	return kc_curve_predict(law, own, &target);
}

/* With every term off, Equation 3: time follows work. */
static void work_alone(void **state)
{
	static const struct kc_curve_law law = {.bandwidth_share = 1};
	struct kc_curve own = curve_of(POINTS({.work_cycles = 100, .waves = 1, .time_ns = 5000}), 1);

	(void)state;
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 300, .waves = 3}), 15000);
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 50, .waves = 0.5}), 2500);
	assert_true(isnan(own_only(&law, &nothing, (struct kc_curve_point){.work_cycles = 1, .waves = 1})));
}

/* A half of what a begun wave lacks is paid for: 2.5 waves cost 2.75. */
static void begun_waves(void **state)
{
	static const struct kc_curve_law law = {.wave_share = 0.5, .bandwidth_share = 1};
	struct kc_curve own = curve_of(POINTS({.work_cycles = 200, .waves = 2, .time_ns = 8000}), 1);

	(void)state;
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 250, .waves = 2.5}), 11000);
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 300, .waves = 3}), 12000);
}

/* The last wave lasts as long as its longest warp. A quarter of a wave costs 0.5 + 0.125; where the
 * longest warp has 1.6 times the mean, 0.5 * 1.6 + 0.125, 1.48 times as much. Of ten waves the last alone is longer:
 * 10 + 0.5 * 0.6. */
static void longest_warps(void **state)
{
	static const struct kc_curve_law law = {.wave_share = 0.5, .bandwidth_share = 1};
	struct kc_curve own = curve_of(POINTS({.work_cycles = 100, .waves = 0.25, .time_ns = 6250}), 1);
	struct kc_curve_point target = {.work_cycles = 100, .waves = 0.25, .longest = 1.6};

	(void)state;
	assert_ns(own_only(&law, &own, target), 9250);
	target = (struct kc_curve_point){.work_cycles = 4000, .waves = 10, .longest = 1.6};
	assert_ns(own_only(&law, &own, target), 103000);
	target.longest = 1;
	assert_ns(own_only(&law, &own, target), 100000);
}

/* 2 MB at half of 100 GB/s are 40 µs, whatever the cache gave the small size; a smaller size may have it still. */
static void memory_floor(void **state)
{
	static const struct kc_curve_law law = {.bandwidth_share = 0.5};
	struct kc_curve own =
	    curve_of(POINTS({.work_cycles = 100, .waves = 1, .least_bytes = 2e5, .time_ns = 1000}), 1);

	(void)state;
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 1000, .waves = 10, .least_bytes = 2e6}),
		  40000);
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 100, .waves = 1, .least_bytes = 2e5}),
		  1000);
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 50, .waves = 0.5, .least_bytes = 1e5}),
		  500);
}

/* A kernel of 100 µs carries half of the 20 %; one that is 10,000 times as long next to nothing of it. */
static void warm_up(void **state)
{
	static const struct kc_curve_law law = {.bandwidth_share = 1, .warmup_share = 0.2, .warmup_ns = 1e5};
	struct kc_curve own = curve_of(POINTS({.work_cycles = 1, .waves = 1, .time_ns = 1e5}), 1);
	double long_ns = own_only(&law, &own, (struct kc_curve_point){.work_cycles = 1e4, .waves = 1});

	(void)state;
	assert_true(fabs(long_ns / (1e9 / 1.1) - 1) < 1e-4);
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 1, .waves = 1}), 1e5);
}

/* Between 10 and 40 µs at 100 and 400, at their geometric middle. */
static void between_two(void **state)
{
	static const struct kc_curve_law law = {.bandwidth_share = 1};
	struct kc_curve own = curve_of(POINTS({.work_cycles = 100, .waves = 1, .time_ns = 10000},
					      {.work_cycles = 400, .waves = 4, .time_ns = 90000}),
				       2);

	(void)state;
	/* from below 20 µs, from above 45 µs */
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 200, .waves = 2}), 30000);
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 400, .waves = 4}), 90000);
	assert_ns(own_only(&law, &own, (struct kc_curve_point){.work_cycles = 100, .waves = 1}), 10000);
}

/* Elsewhere ten times the work took eight times as long: so it does here. */
static void a_donor_contributes_its_shape(void **state)
{
	static const struct kc_curve_law law = {.bandwidth_share = 1};
	struct kc_curve own = curve_of(POINTS({.work_cycles = 100, .waves = 1, .time_ns = 5000}), 1);
	struct kc_curve donors[] = {nothing, curve_of(POINTS({.work_cycles = 100, .waves = 1, .time_ns = 2000},
							     {.work_cycles = 1000, .waves = 10, .time_ns = 16000}),
						      2)};
	struct kc_curve_point target = {.work_cycles = 1000, .waves = 10}, same = {.work_cycles = 100, .waves = 1};

	(void)state;
	assert_ns(predict_with_donors(&law, &own, donors, 2, &target), 40000);
	assert_ns(predict_with_donors(&law, &own, donors, 2, &same), 5000);
	assert_ns(predict_with_donors(&law, &own, donors, 1, &target), 50000);
}

/* Of four times as much work, elsewhere twice, four and eight times as long: the one in the middle; of two, as long as
 * their geometric mean. */
static void of_donors_the_one_in_the_middle_counts(void **state)
{
#define TIMES_AS_LONG(times)                                                                                           \
	curve_of(POINTS({.work_cycles = 100, .waves = 1, .time_ns = 2000},                                             \
			{.work_cycles = 400, .waves = 4, .time_ns = 2000 * (times)}),                                  \
		 2)
	static const struct kc_curve_law law = {.bandwidth_share = 1};
	struct kc_curve own = curve_of(POINTS({.work_cycles = 100, .waves = 1, .time_ns = 5000}), 1);
	struct kc_curve donors[] = {TIMES_AS_LONG(8), TIMES_AS_LONG(2), TIMES_AS_LONG(4)};
	struct kc_curve_point target = {.work_cycles = 400, .waves = 4};

	(void)state;
	assert_ns(predict_with_donors(&law, &own, donors, 1, &target), 40000);
	assert_ns(predict_with_donors(&law, &own, donors, 2, &target), 20000);
	assert_ns(predict_with_donors(&law, &own, donors, 3, &target), 20000);
	assert_ns(predict_with_donors(&law, &own, donors + 1, 2, &target), 5000 * sqrt(8));
	/* with nothing measured here, of their times */
	assert_ns(predict_with_donors(&law, &nothing, donors, 3, &target), 8000);
	assert_ns(predict_with_donors(&law, &nothing, donors + 1, 2, &target), 2000 * sqrt(8));
}

/* Nothing measured here: a device with twice the cores times clock took 2 µs, this one takes 4. */
static void a_donor_contributes_its_time(void **state)
{
	static const struct kc_curve_law law = {.bandwidth_share = 1};
	struct kc_curve donor = {.core_hz = 2e12,
				 .points = POINTS({.work_cycles = 100, .waves = 1, .time_ns = 2000},
						  {.work_cycles = 400, .waves = 4, .time_ns = 8000}),
				 .count = 2};
	struct kc_curve_point target = {.work_cycles = 100, .waves = 2};

	(void)state;
	assert_ns(predict_with_donors(&law, &nothing, &donor, 1, &target), 4000);
	target.work_cycles = 200;
	assert_ns(predict_with_donors(&law, &nothing, &donor, 1, &target), 8000);
	target.work_cycles = 4000;
	assert_ns(predict_with_donors(&law, &nothing, &donor, 1, &target), 160000);
}

static void kinship(void **state)
{
	(void)state;
	assert_int_equal(kc_curve_relatedness(kc_device_builtin("k40"), kc_device_builtin("k20")), 2);
	assert_int_equal(kc_curve_relatedness(kc_device_builtin("k40"), kc_device_builtin("gtx680")), 1);
	assert_int_equal(kc_curve_relatedness(kc_device_builtin("k40"), kc_device_builtin("gtx980")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(work_alone),
	    cmocka_unit_test(begun_waves),
	    cmocka_unit_test(longest_warps),
	    cmocka_unit_test(memory_floor),
	    cmocka_unit_test(warm_up),
	    cmocka_unit_test(between_two),
	    cmocka_unit_test(a_donor_contributes_its_shape),
	    cmocka_unit_test(a_donor_contributes_its_time),
	    cmocka_unit_test(of_donors_the_one_in_the_middle_counts),
	    cmocka_unit_test(kinship),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
