#include "diff_testing.h"

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

/* Arguments are part of a position: 10 us at one size, 40 us at another, the same launch shape. NEW has 60 more of the
 * large ones, evenly among the others. */
static void arguments_are_told_apart(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 120; i++) {
			int large = run ? i % 4 != 1 : i % 4 == 0;

			launch(&m, run, "k", large ? 40000 : 10000)->arguments = large ? 2 : 1;
		}
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 0);
	assert_true(near(d.sums.mix, 60 * 30000.0, 1));
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

/* 40 launches of 10 us, then 60 of 12 us: 20 more at 10 us, and 2 us more for each but the first two, which nothing of
 * OLD is compared with. */
static void more_launches_and_slower(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int i = 0; i < 40; i++)
		launch(&m, 0, "k", 10000);
	for (int i = 0; i < 60; i++)
		launch(&m, 1, "k", 12000);
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(d.kernels[0].what, KC_DIFF_SLOWER);
	assert_true(near(d.sums.mix, 20 * 10000.0, 1));
	assert_true(near(d.sums.slower, 58 * 2000.0, 1));
	assert_true(near(d.sums.rest, 2 * 2000.0, 1));
	kc_diff_free(&d);
	made_free(&m);
}

/* By time lost, then by time. Kernels of other runs are not among them. */
static void most_first(void **state)
{
	static const struct {
		const char *name;
		double old, new;
	} kernels[] = {{"little time", 5000, 5000}, {"faster", 20000, 10000},    {"lost 3", 10000, 13000},
		       {"lost 9", 30000, 39000},    {"most time", 50000, 50000}, {"lost 6", 20000, 26000}};
	static const char *const wanted[] = {"lost 9", "lost 6", "lost 3", "faster", "most time", "little time"};
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 40; i++)
			for (size_t k = 0; k < 6; k++)
				launch(&m, run, kernels[k].name, run ? kernels[k].new : kernels[k].old);
	shape_of(&m, "of another run", 1);
	compare(&m, 1, &d);
	assert_int_equal(d.count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(kc_measured_kernel(&m.names, d.kernels[i].kernel)->name, wanted[i]);
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
		launch(&m, 0, "falls", 200000 + i % 3);
		launch(&m, 1, "falls", 190200 + i % 3); /* - 4.9 %, by the logarithm - 5.02 % */
	}
	compare(&m, 1, &d);
	assert_int_equal(reported(&d), 0);
	assert_true(near(kernel_named(&m, &d, "falls")->p, 1, 0));
	kc_diff_free(&d);
	compare_limits(&m, 1, &(struct kc_diff_limits){0.03, 800}, &d);
	assert_int_equal(reported(&d), 3);
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
	    cmocka_unit_test(more_launches_and_slower),
	    cmocka_unit_test(most_first),
	    cmocka_unit_test(limits_hold),
	    cmocka_unit_test(a_tick_is_no_change),
	    cmocka_unit_test(too_few_launches),
	    cmocka_unit_test(several_old_runs),
	    cmocka_unit_test(outliers_are_no_change),
	    cmocka_unit_test(drift_is_no_change),
	    cmocka_unit_test(unmeasured_is_not_gone),
	    cmocka_unit_test(nothing_in_common),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
