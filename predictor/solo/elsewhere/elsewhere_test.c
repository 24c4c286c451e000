#include "elsewhere.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct kc_elsewhere_anchors none = {NAN, NAN, 0};

static const struct kc_device *gpu(const char *name)
{
	const struct kc_device *device = kc_device_builtin(name);

	assert_non_null(device);
	return device;
}

static int near(double got, double wanted)
{
	return fabs(got - wanted) <= 1e-9 * fabs(wanted);
}

/* A K20 has 13 SMs at 705.5 MHz and 208 GB/s, a K40 15 at 745 MHz and 288.384 GB/s: bandwidth 1.38646, clock 1.05599.
 * At 20 ms for 1,000 threads, memory could have moved 4.16 MB for each: none of the time is taken to be its. A grid of
 * 10.4 and 12 waves then takes √(1 + 12²) / √(1 + 10.4²) / 1.05599 of it. */
static void a_long_thread_goes_with_waves_and_clock(void **state)
{
	const struct kc_elsewhere_launch launch = {20e6, 1000, 10.4, 12};
	double ratio = sqrt(145.0) / sqrt(1 + 10.4 * 10.4) * 705.5 / 745;
	struct kc_elsewhere out;

	(void)state;
	kc_elsewhere(gpu("k20"), gpu("k40"), &launch, &none, &out);
	assert_true(near(out.ns, 20e6 * ratio));
	assert_int_equal(out.evidence, KC_ELSEWHERE_WITHIN);
	assert_true(near(out.high_ns / out.ns, out.ns / out.low_ns));
	assert_true(near(out.high_ns / out.ns, exp(0.25)));
}

/* 1.5 bytes per thread, a tenth of the law's 15: 0.85 / (1 + 10^(-1/0.3)) of the time goes with the bandwidth. */
static void a_short_thread_goes_with_bandwidth(void **state)
{
	const struct kc_elsewhere_launch launch = {1.5 / 208 * 1e6, 1e6, 3, 3};
	double share = 0.85 / (1 + pow(10, -1 / 0.3));
	double log_ratio = share * log(208 / 288.384) + (1 - share) * log(705.5 / 745);
	double got = kc_elsewhere_log_ratio(kc_elsewhere_law(gpu("k20"), gpu("k40")), gpu("k20"), gpu("k40"), &launch);

	(void)state;
	assert_true(near(got, log_ratio));
}

/* One block on either GPU: only the clock makes a difference, not the number of SMs. */
static void a_grid_that_fills_neither_goes_with_the_clock(void **state)
{
	const struct kc_elsewhere_launch launch = {1e6, 256, 1e-5, 1e-6};
	double got = kc_elsewhere_log_ratio(kc_elsewhere_law(gpu("k20"), gpu("k40")), gpu("k20"), gpu("k40"), &launch);

	(void)state;
	assert_true(fabs(got - log(705.5 / 745)) < 1e-9);
}

/* 0.8 of it by bandwidth, the rest by SMs and clock. */
static void a_grid_that_is_not_known(void **state)
{
	const struct kc_elsewhere_launch launch = {1e6, 0, 0, 0};
	double got = kc_elsewhere_log_ratio(kc_elsewhere_law(gpu("k20"), gpu("k40")), gpu("k20"), gpu("k40"), &launch);

	(void)state;
	assert_true(near(got, 0.8 * log(208 / 288.384) + 0.2 * log(13 / 15.0 * 705.5 / 745)));
}

static void nothing_changes_on_the_same_gpu(void **state)
{
	const struct kc_elsewhere_launch launch = {12345, 1e6, 3.5, 3.5};
	struct kc_elsewhere out;

	(void)state;
	kc_elsewhere(gpu("a100"), gpu("a100"), &launch, &none, &out);
	assert_true(near(out.ns, 12345));
}

static enum kc_elsewhere_evidence evidence(const char *here, const char *there)
{
	const struct kc_elsewhere_launch launch = {1e6, 1e6, 10, 10};
	struct kc_elsewhere out;

	kc_elsewhere(gpu(here), gpu(there), &launch, &none, &out);
	return out.evidence;
}

/* GP100 and GA100 have 64 lanes in an SM, GP104 and GA102 128. No Ada, Hopper or Blackwell was in training. */
static void what_the_law_rests_on(void **state)
{
	(void)state;
	assert_int_equal(evidence("rtx3090", "a6000"), KC_ELSEWHERE_WITHIN);
	assert_int_equal(evidence("h100", "h200"), KC_ELSEWHERE_WITHIN);
	assert_int_equal(evidence("p100", "p4"), KC_ELSEWHERE_ACROSS);
	assert_int_equal(evidence("a100", "rtx3090"), KC_ELSEWHERE_ACROSS);
	assert_int_equal(evidence("v100", "t4"), KC_ELSEWHERE_ACROSS);
	assert_int_equal(evidence("a100", "h100"), KC_ELSEWHERE_NEW);
	assert_int_equal(evidence("rtx3090", "rtx4090"), KC_ELSEWHERE_NEW);
}

/* The same kernel at another size took twice what the law says: this one is taken to be by 2^0.9 longer, too. Of
 * others, fewer than five change nothing; of five, 0.35 of their median does. */
static void anchors(void **state)
{
	const struct kc_elsewhere_launch launch = {1e6, 1e6, 10, 10};
	const struct kc_elsewhere_anchors size = {log(2), log(3), 9}, four = {NAN, log(2), 4}, five = {NAN, log(2), 5};
	struct kc_elsewhere by_law, out;

	(void)state;
	kc_elsewhere(gpu("k20"), gpu("v100"), &launch, &none, &by_law);
	kc_elsewhere(gpu("k20"), gpu("v100"), &launch, &size, &out);
	assert_true(near(out.ns, by_law.ns * pow(2, 0.9)));
	assert_int_equal(out.evidence, KC_ELSEWHERE_SIZE);
	kc_elsewhere(gpu("k20"), gpu("v100"), &launch, &four, &out);
	assert_true(near(out.ns, by_law.ns) && near(out.high_ns, by_law.high_ns));
	assert_int_equal(out.evidence, KC_ELSEWHERE_ACROSS);
	kc_elsewhere(gpu("k20"), gpu("v100"), &launch, &five, &out);
	assert_true(near(out.ns, by_law.ns * pow(2, 0.35)));
	assert_int_equal(out.evidence, KC_ELSEWHERE_OTHERS);
}

/* A range of a factor of 2 either way: from 2^0.35 = 1.27 on it is told. */
static void faster_slower_or_not_told(void **state)
{
	(void)state;
	assert_int_equal(kc_elsewhere_verdict(100, 70, 140), -1);
	assert_int_equal(kc_elsewhere_verdict(100, 80, 160), 0);
	assert_int_equal(kc_elsewhere_verdict(100, 120, 240), 0);
	assert_int_equal(kc_elsewhere_verdict(100, 130, 260), 1);
	assert_int_equal(kc_elsewhere_verdict(100, 99, 99), -1); /* measured there */
	assert_int_equal(kc_elsewhere_verdict(100, 100, 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_long_thread_goes_with_waves_and_clock),
	    cmocka_unit_test(a_short_thread_goes_with_bandwidth),
	    cmocka_unit_test(a_grid_that_fills_neither_goes_with_the_clock),
	    cmocka_unit_test(a_grid_that_is_not_known),
	    cmocka_unit_test(nothing_changes_on_the_same_gpu),
	    cmocka_unit_test(what_the_law_rests_on),
	    cmocka_unit_test(anchors),
	    cmocka_unit_test(faster_slower_or_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
