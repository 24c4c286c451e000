#include "diff_testing.h"

/* What the parts add up to, to a nanosecond. */
static void check_sums(const struct kc_diff *d)
{
	const struct kc_diff_sums *s = &d->sums;

	assert_true(near(s->difference, d->total_ns[KC_NEW] - d->total_ns[KC_OLD], 1));
	assert_true(near(s->slower + s->faster + s->new + s->gone + s->mix + s->company + s->rest, s->difference, 1));
}

/* 40 launches of 10 us each; then one of the two kernels takes 12 us: 40 * 2 us are lost. */
static void one_kernel_slower(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	const struct kc_diff_kernel *k;

	(void)state;
	for (int i = 0; i < 40; i++) {
		launch(&m, 0, "same", 10000);
		launch(&m, 0, "slow", 10000);
		launch(&m, 1, "same", 10000);
		launch(&m, 1, "slow", 12000);
	}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 1);
	k = d.kernels; /* most time lost first */
	assert_string_equal(kc_measured_kernel(&m.names, k->kernel)->name, "slow");
	assert_int_equal(k->what, KC_DIFF_SLOWER);
	assert_true(near(k->estimate.ns[KC_OLD], 10000, 0.01) && near(k->estimate.ns[KC_NEW], 12000, 0.01));
	/* The first two of each are after others, and one of a kind: 38 of 40 are compared at least. */
	assert_true(k->estimate.launches[KC_NEW] >= 38);
	assert_true(near(k->lost_ns, 2000 * k->estimate.launches[KC_NEW], 1));
	assert_true(k->p < 1e-6);
	assert_true(near(d.sums.difference, 80000, 1));
	assert_int_equal(kernel_named(&m, &d, "same")->what, KC_DIFF_SAME);
	kc_diff_free(&d);
	made_free(&m);
}

/* Other arguments in NEW, and the first three launches of each run without: the others are compared all the same. */
static void other_arguments_are_compared(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	const struct kc_diff_kernel *k;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 40; i++)
			launch(&m, run, "more", run ? 20000 : 10000)->arguments = i < 3 ? 0 : 1 + (uint32_t)run;
	compare(&m, 1, &d);
	check_sums(&d);
	k = kernel_named(&m, &d, "more");
	assert_int_equal(k->what, KC_DIFF_SLOWER);
	assert_true(k->estimate.launches[KC_NEW] >= 37);
	kc_diff_free(&d);
	made_free(&m);
}

/* 10 us after one kernel, 20 us after another, in both runs; the second more often in NEW. */
static void positions_are_told_apart(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 100; i++) {
			int second = i % (run ? 4 : 2) > 0;

			launch(&m, run, second ? "other" : "one", 5000);
			launch(&m, run, "here", second ? 20000 : 10000);
		}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 0);
	/* 25 more of them after "other": 25 * 10 us */
	assert_true(near(d.sums.difference, 250000, 1));
	assert_true(near(d.sums.mix, 250000, 1));
	kc_diff_free(&d);
	made_free(&m);
}

/* Overlapped launches take twice as long in both runs, and NEW has more of them. */
static void company_is_told_apart(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 100; i++) {
			int overlapped = i % 10 < (run ? 6 : 2);

			launch(&m, run, "k", overlapped ? 20000 : 10000)->overlap =
			    overlapped ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE;
		}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 0);
	assert_true(near(d.sums.company, 40 * 10000.0, 1));
	assert_true(near(d.sums.rest, 0, 1));
	kc_diff_free(&d);
	made_free(&m);
}

/* Arguments are part of a position: 10 us at one size, 40 us at another, the same launch shape. */
static void arguments_are_told_apart(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 120; i++) {
			int large = i < (run ? 90 : 30);

			launch(&m, run, "k", large ? 40000 : 10000)->arguments = large ? 2 : 1;
		}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 0);
	kc_diff_free(&d);
	made_free(&m);
}

/* OLD has none that are overlapped: those of NEW cost what they take more than OLD's others. */
static void company_that_old_has_not(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 100; i++) {
			int overlapped = run && i % 2;

			launch(&m, run, "k", overlapped ? 20000 : 10000)->overlap =
			    overlapped ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE;
		}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_true(near(d.sums.company, 50 * 10000.0, 1));
	assert_true(near(d.sums.mix, 0, 1));
	kc_diff_free(&d);
	made_free(&m);
}

/* Changes within --over or --floor are not reported, however sure they are. */
static void limits_hold(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int i = 0; i < 100; i++) {
		launch(&m, 0, "short", 1000 + i % 3);
		launch(&m, 1, "short", 1900 + i % 3); /* + 0.9 us */
		launch(&m, 0, "long", 100000 + i % 3);
		launch(&m, 1, "long", 104000 + i % 3); /* + 4 % */
	}
	compare(&m, 1, &d);
	assert_int_equal(reported(&d), 0);
	kc_diff_free(&d);
	compare_limits(&m, 1, &(struct kc_diff_limits){0.03, 800}, &d);
	assert_int_equal(reported(&d), 2);
	kc_diff_free(&d);
	made_free(&m);
}

/* Times in whole microseconds: one more of them may be 1 ns in truth. */
static void a_tick_is_no_change(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int i = 0; i < 100; i++) {
		launch(&m, 0, "k", 4000);
		launch(&m, 1, "k", 3000);
		launch(&m, 0, "l", 9000);
		launch(&m, 1, "l", 12000);
	}
	compare_limits(&m, 1, &(struct kc_diff_limits){0.05, 0}, &d);
	assert_true(near(d.pooled.tick_ns, 1000, 0));
	assert_int_equal(kernel_named(&m, &d, "k")->what, KC_DIFF_SAME);
	assert_int_equal(kernel_named(&m, &d, "l")->what, KC_DIFF_SLOWER);
	kc_diff_free(&d);
	made_free(&m);
}

static void too_few_launches(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int i = 0; i < 7; i++) {
		launch(&m, 0, "k", 10000);
		launch(&m, 1, "k", 20000);
	}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(kernel_named(&m, &d, "k")->what, KC_DIFF_FEW);
	assert_true(near(d.sums.rest, 70000, 1));
	kc_diff_free(&d);
	made_free(&m);
}

static void new_gone_and_replaced(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int i = 0; i < 20; i++) {
		launch(&m, 0, "first", 10000);
		launch(&m, 0, "gemm_v1", 50000);
		launch(&m, 0, "last", 10000);
		launch(&m, 0, "gone", 3000);
		launch(&m, 1, "first", 10000);
		launch(&m, 1, "gemm_v2", 40000);
		launch(&m, 1, "last", 10000);
	}
	for (int i = 0; i < 5; i++)
		launch(&m, 1, "new", 7000);
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 0);
	assert_int_equal(kernel_named(&m, &d, "gemm_v2")->what, KC_DIFF_NEW);
	assert_int_equal(kernel_named(&m, &d, "gemm_v2")->replaced, kernel_named(&m, &d, "gemm_v1")->kernel);
	assert_int_equal(kernel_named(&m, &d, "gemm_v1")->what, KC_DIFF_GONE);
	assert_int_equal(kernel_named(&m, &d, "new")->replaced, KC_DIFF_NOWHERE);
	assert_int_equal(kernel_named(&m, &d, "gone")->replaced, KC_DIFF_NOWHERE);
	assert_true(near(d.sums.new, 20 * 40000 + 5 * 7000, 1));
	assert_true(near(d.sums.gone, -20 * 53000, 1));
	kc_diff_free(&d);
	made_free(&m);
}

/* One of two launch shapes got 25 % faster; the other, which takes most of the time, 4 % slower, which is within
 * --over. */
static void a_shape_is_shown_by_itself(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 60; i++) {
			launch(&m, run, "k", 100000 * (run ? 1.04 : 1))->shape = shape_of(&m, "k", 8);
			launch(&m, run, "k", 8000 * (run ? 0.75 : 1));
		}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 1);
	assert_int_equal(d.kernels[0].what, KC_DIFF_FASTER);
	assert_true(near(d.kernels[0].shown_ns[KC_OLD], 8000, 1) && near(d.kernels[0].shown_ns[KC_NEW], 6000, 1));
	assert_true(near(d.kernels[0].lost_ns, -2000 * d.kernels[0].shown_launches, 1));
	assert_true(d.kernels[0].shown_launches <= 60);
	kc_diff_free(&d);
	made_free(&m);
}

/* A kernel that NEW has launched, but not measured, is not gone. */
static void unmeasured_is_not_gone(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int i = 0; i < 20; i++) {
		launch(&m, 0, "k", 10000);
		launch(&m, 0, "l", 10000);
		launch(&m, 1, "k", 0);
		launch(&m, 1, "l", 10000);
	}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(kernel_named(&m, &d, "k")->what, KC_DIFF_FEW);
	kc_diff_free(&d);
	made_free(&m);
}

/* Where the sides have nothing in common, nothing has replaced anything. */
static void nothing_in_common(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int i = 0; i < 20; i++) {
		launch(&m, 0, "a", 10000);
		launch(&m, 1, "b", 10000);
	}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(d.compared, 0);
	assert_int_equal(kernel_named(&m, &d, "b")->what, KC_DIFF_NEW);
	assert_int_equal(kernel_named(&m, &d, "b")->replaced, KC_DIFF_NOWHERE);
	kc_diff_free(&d);
	made_free(&m);
}

/* P(T > 2) with 10 degrees of freedom is 0.0367 (any table), and changes go both ways. */
static void p_counts_both_directions(void **state)
{
	struct kc_diff_estimate e = {.enough = 1, .log_change = -0.1, .error = 0.05, .error_df = 10};

	(void)state;
	assert_true(near(kc_diff_p(&e, 1e-9), 2 * 0.0367, 0.0001));
	assert_true(near(kc_diff_p(&e, 0.2), 1, 0));
	/* Past a margin of 0.08: at its half, (0.1 - 0.04) / 0.05 = 1.2 and (0.1 + 0.04) / 0.05 = 2.8 */
	assert_true(near(kc_diff_p(&e, 0.08), 0.1289 + 0.0094, 0.0002));
}

/* What OLD's runs differ by among themselves is no change. */
static void several_old_runs(void **state)
{
	static const double levels[4] = {10000, 11500, 10600, 11600};
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 4; run++)
		for (int i = 0; i < 60; i++) {
			launch(&m, run, "varies", levels[run] * (1 + 0.01 * normal()));
			launch(&m, run, "steady", 10000 * (run == 3 ? 1.2 : 1) * (1 + 0.01 * normal()));
			launch(&m, run, "a", 20000 * (1 + 0.01 * normal()));
			launch(&m, run, "b", 30000 * (1 + 0.01 * normal()));
			launch(&m, run, "c", 40000 * (1 + 0.01 * normal()));
		}
	compare(&m, 3, &d);
	check_sums(&d);
	assert_int_equal(kernel_named(&m, &d, "varies")->what, KC_DIFF_SAME);
	assert_int_equal(kernel_named(&m, &d, "steady")->what, KC_DIFF_SLOWER);
	/* The middle one of five kernels: its mean of 60 launches has an error of 1 % / sqrt(60). */
	assert_true(d.between > 0.0001 && d.between < 0.01);
	kc_diff_free(&d);
	/* Against the first of them alone, that is not known. */
	m.runs[7] = m.runs[1];
	m.runs[1] = m.runs[3];
	m.runs[3] = m.runs[7];
	m.runs[7] = (struct kc_measured_run){0};
	compare(&m, 1, &d);
	assert_true(isnan(d.between));
	assert_int_equal(kernel_named(&m, &d, "varies")->what, KC_DIFF_SLOWER);
	kc_diff_free(&d);
	made_free(&m);
}

/* One slow launch of many, or a few, are no slower kernel. */
static void outliers_are_no_change(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 200; i++)
			launch(&m, run, "k", run && i % 40 == 7 ? 500000 : 10000 * (1 + 0.02 * normal()));
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 0);
	assert_true(d.sums.rest > 5 * 480000.0);
	kc_diff_free(&d);
	made_free(&m);
}

enum { PAIRS = 20, KERNELS = 50, LAUNCHES = 60 };

/* 20 pairs of runs of 50 kernels each: independent noise of 1 to 8 %, and a drift of 3 % that changes slowly (its
 * correlation falls to 1/e within a fiftieth of the run) and is common to all kernels of a run. At most 1 in 200 is
 * reported. */
static void drift_is_no_change(void **state)
{
	size_t false_ones = 0, compared = 0;
	char name[16];

	(void)state;
	for (int pair = 0; pair < PAIRS; pair++) {
		struct made m = {0};
		struct kc_diff d;

		for (int run = 0; run < 2; run++) {
			const double keep = exp(-50.0 / (LAUNCHES * KERNELS));
			double drift = normal();

			for (int i = 0; i < LAUNCHES; i++)
				for (int k = 0; k < KERNELS; k++) {
					double noise = 0.01 + 0.07 * k / KERNELS;

					snprintf(name, sizeof(name), "k%d", k);
					drift = keep * drift + sqrt(1 - keep * keep) * normal();
					launch(&m, run, name, 50000 * exp(0.03 * drift + noise * normal()));
				}
		}
		compare(&m, 1, &d);
		check_sums(&d);
		false_ones += reported(&d);
		compared += d.compared;
		kc_diff_free(&d);
		made_free(&m);
	}
	assert_int_equal(compared, PAIRS * KERNELS);
	assert_in_range(false_ones, 0, PAIRS * KERNELS / 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_kernel_slower),
	    cmocka_unit_test(other_arguments_are_compared),
	    cmocka_unit_test(positions_are_told_apart),
	    cmocka_unit_test(company_is_told_apart),
	    cmocka_unit_test(arguments_are_told_apart),
	    cmocka_unit_test(company_that_old_has_not),
	    cmocka_unit_test(limits_hold),
	    cmocka_unit_test(a_tick_is_no_change),
	    cmocka_unit_test(too_few_launches),
	    cmocka_unit_test(new_gone_and_replaced),
	    cmocka_unit_test(several_old_runs),
	    cmocka_unit_test(outliers_are_no_change),
	    cmocka_unit_test(drift_is_no_change),
	    cmocka_unit_test(a_shape_is_shown_by_itself),
	    cmocka_unit_test(unmeasured_is_not_gone),
	    cmocka_unit_test(nothing_in_common),
	    cmocka_unit_test(p_counts_both_directions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
