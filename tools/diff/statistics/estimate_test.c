#include "tools/diff/diff_testing.h"

/* Times change as they would by no tick: 1 ns against 10 us. */
static const struct kc_diff_limits exact = {0.05, 0};

/* Two launches that come after none and one, and 64 of 10 us, in 32 cells. NEW: the later 32 take 11 us. */
static void step(struct made *m)
{
	for (int i = 0; i < 66; i++) {
		launch(m, 0, "k", 10000);
		launch(m, 1, "k", i < 34 ? 10000 : 11000);
	}
}

/*
 * With L for log 1.1: the change is L/2. Each of 16 batches, of two cells, lies L/2 off with a weight of 1/16. Their
 * sum of squares is 16 (L/32)^2, and without the share that the mean takes of it (1 - 16/16^2 = 15/16) the variance is
 * L^2/60. Of the 15 products of neighbours all but one are positive.
 */
static void variance_comes_from_batches(void **state)
{
	const double l = log(1.1);
	struct made m = {0};
	struct kc_diff d;
	const struct kc_diff_estimate *e;

	(void)state;
	step(&m);
	compare_limits(&m, 1, &exact, &d);
	e = &d.kernels[0].estimate;
	assert_true(near(e->launches[KC_OLD], 64, 0) && near(e->launches[KC_NEW], 64, 0));
	assert_int_equal(e->cells, 32);
	assert_true(near(e->log_change, l / 2, 1e-9));
	assert_true(near(e->variance, l * l / 60, 1e-9));
	assert_true(near(e->batches, 16, 1e-9) && near(e->df, 15, 1e-9));
	assert_true(near(e->lag / e->lag_of, 13.0 / 16, 1e-9));
	assert_true(isnan(e->between));
	assert_true(near(e->scatter, 0, 1e-12));
	/* It is the only kernel, so that its autocorrelation, 13/16 + 1/16, is also that of all: the variance is
	 * (1 + 7/8) / (1 - 7/8) = 15 times as large, L^2/4. */
	assert_true(near(d.pooled.autocorrelation, 7.0 / 8, 1e-9));
	assert_true(near(e->error, l / 2, 1e-9));
	kc_diff_free(&d);
	made_free(&m);
}

/*
 * After "a", nothing scatters or changes. After "b", the two launches of each cell lie a factor of 1.2 below and above
 * their mean, and NEW takes 1.2 times as long. With L for log 1.2, in each unit of 16 + 16 launches in 8 cells:
 * squares 0 and 32 L^2 of 16 degrees of freedom each, together L^2. Eight launches are worth of that.
 */
static void units_that_scatter_weigh_less(void **state)
{
	const double l2 = log(1.2) * log(1.2), calm = 1 / (8 * l2 / 24 + 1e-4), wild = 1 / ((32 + 8) * l2 / 24 + 1e-4);
	struct made m = {0};
	struct kc_diff d;
	const struct kc_diff_estimate *e;

	(void)state;
	for (int run = 0; run < 2; run++) {
		launch(&m, run, "k", 10000);
		for (int i = 0; i < 16; i++) {
			launch(&m, run, "a", 5000);
			launch(&m, run, "k", 10000);
			launch(&m, run, "b", 5000);
			launch(&m, run, "k", (i % 2 ? 14400 : 10000) * (run ? 1.2 : 1));
		}
	}
	compare_limits(&m, 1, &exact, &d);
	e = &kernel_named(&m, &d, "k")->estimate;
	assert_int_equal(e->cells, 16);
	assert_true(near(e->scatter, l2, 1e-9));
	assert_true(near(e->log_change, wild / (calm + wild) * log(1.2), 1e-9));
	kc_diff_free(&d);
	made_free(&m);
}

/* After "a", 8 launches of OLD and 24 of NEW in 4 cells, each worth 2 * 6 / 8 = 1.5 launches; after "b", 16 of each in
 * 8 cells, each worth one. Only those after "a" take longer, 12 us instead of 10. Both sides' mean durations are of
 * NEW's launches, 24 of 10 or 12 us and 16 of 20 us. */
static void cells_weigh_by_both_sides(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	const struct kc_diff_estimate *e;

	(void)state;
	for (int run = 0; run < 2; run++) {
		launch(&m, run, "k", 10000);
		for (int i = 0; i < 8; i++) {
			for (int k = 0; k < (run ? 3 : 1); k++) {
				launch(&m, run, "a", 5000);
				launch(&m, run, "k", run ? 12000 : 10000);
			}
			for (int k = 0; k < 2; k++) {
				launch(&m, run, "b", 5000);
				launch(&m, run, "k", 20000);
			}
		}
	}
	compare_limits(&m, 1, &exact, &d);
	e = &kernel_named(&m, &d, "k")->estimate;
	assert_true(near(e->launches[KC_OLD], 24, 0) && near(e->launches[KC_NEW], 40, 0));
	assert_true(near(e->log_change, 4 * 1.5 / (4 * 1.5 + 8) * log(1.2), 1e-9));
	assert_true(near(e->ns[KC_OLD], (24 * 10000 + 16 * 20000) / 40.0, 1e-6));
	assert_true(near(e->ns[KC_NEW], (24 * 12000 + 16 * 20000) / 40.0, 1e-6));
	kc_diff_free(&d);
	made_free(&m);
}

/* OLD's runs lie -L, 0 and L from their mean, L for the logarithm of a kernel's factor: (L^2 + L^2) / (3 - 1). */
static void variance_between_runs(void **state)
{
	static const double factors[3] = {1.3, 1.1, 1.2};
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 4; run++)
		for (int i = 0; i < 40; i++)
			for (int k = 0; k < 3; k++)
				launch(&m, run, (const char *[]){"x", "y", "z"}[k],
				       10000 * pow(factors[k], run < 3 ? run : 1));
	compare_limits(&m, 3, &exact, &d);
	assert_true(near(kernel_named(&m, &d, "x")->estimate.between, log(1.3) * log(1.3), 1e-9));
	assert_true(near(kernel_named(&m, &d, "y")->estimate.between, log(1.1) * log(1.1), 1e-9));
	/* The middle one */
	assert_true(near(d.pooled.between, log(1.2) * log(1.2), 1e-9));
	assert_true(near(d.between, log(1.2), 1e-9));
	/* Each OLD run has as many launches as NEW, so nothing is lost by more of them. */
	assert_true(near(d.sums.mix, 0, 1e-3));
	kc_diff_free(&d);
	made_free(&m);
}

/* OLD's runs: 10, 11 and 12.1 us; NEW: 13. The variance between runs, log(1.1)^2, is also that of all kernels, and
 * counts 1 + 1/3 times: t is (log(13/11) - log(1.05)/2) / (log(1.1) sqrt(4/3)) = 1.3. */
static void a_change_as_between_old_runs_is_none(void **state)
{
	static const double levels[4] = {10000, 11000, 12100, 13000};
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 4; run++)
		for (int i = 0; i < 40; i++)
			launch(&m, run, "k", levels[run]);
	compare_limits(&m, 3, &exact, &d);
	assert_true(near(d.kernels[0].estimate.log_change, log(13.0 / 11), 1e-9));
	assert_true(d.kernels[0].p > 0.05 && d.kernels[0].p < 0.5);
	assert_int_equal(d.kernels[0].what, KC_DIFF_SAME);
	kc_diff_free(&d);
	made_free(&m);
}

/* --- what is taken from all kernels together */

static struct kc_diff_estimate finished(struct kc_diff_estimate e, struct kc_diff_pooled pooled)
{
	e.ns[KC_OLD] = 10000;
	kc_diff_finish(&e, &pooled);
	return e;
}

static const struct kc_diff_estimate alone = {
    .batches = 16, .df = 15, .variance = 1e-4, .scatter = NAN, .between = NAN, .lag = 0.3, .lag_of = 1};

/* A kernel's own 0.3 + 1/16 of 16 batches, and 0.5 of all kernels, worth 20. */
static void autocorrelation_is_corrected(void **state)
{
	const double correlation = (16 * 0.3625 + 20 * 0.5) / 36;
	struct kc_diff_pooled pooled = {.autocorrelation = 0.5, .between = NAN, .old_runs = 1, .tick_ns = 1};
	struct kc_diff_estimate e = alone;

	(void)state;
	assert_true(near(finished(e, pooled).error, 0.01 * sqrt((1 + correlation) / (1 - correlation)), 1e-12));
	assert_true(near(finished(e, pooled).error_df, 15, 0));
	/* It counts from 0 to 0.9. */
	e.lag = pooled.autocorrelation = 0.95;
	assert_true(near(finished(e, pooled).error, 0.01 * sqrt(1.9 / 0.1), 1e-12));
	e.lag = -0.9;
	pooled.autocorrelation = 0;
	assert_true(near(finished(e, pooled).error, 0.01, 1e-12));
	/* Never less than 0.3 % */
	e.variance = 1e-8;
	assert_true(near(finished(e, pooled).error, 0.003, 1e-12));
}

/* Three OLD runs: a kernel's own 4e-4 has 2 degrees of freedom, 1e-4 of all kernels is worth 4, and NEW is one more
 * run: 2e-4 (1 + 1/3). Degrees of freedom by Welch and Satterthwaite. */
static void variance_between_runs_is_added(void **state)
{
	const struct kc_diff_pooled pooled = {.between = 1e-4, .old_runs = 3, .tick_ns = 1};
	const double between = 2e-4 * 4 / 3, all = 1e-4 + between, unknown = 1e-4 * 4 / 3;
	struct kc_diff_estimate e = alone;

	(void)state;
	e.lag_of = 0;
	e.between = 4e-4;
	assert_true(near(finished(e, pooled).error, sqrt(all), 1e-12));
	assert_true(near(finished(e, pooled).error_df, all * all / (1e-8 / 15 + between * between / 6), 1e-9));
	e.between = NAN;
	assert_true(near(finished(e, pooled).error, sqrt(1e-4 + unknown), 1e-12));
}

/* Ticks of 1 us at 10 us. A variance of a quarter of a tick's square may come from rounding alone; what is more,
 * exp(-2 pi^2 0.05) = exp(-0.98696) = 0.3727, hides less. */
static void coarse_times_hide_up_to_a_tick(void **state)
{
	const struct kc_diff_pooled pooled = {.between = NAN, .old_runs = 1, .tick_ns = 1000};
	struct kc_diff_estimate e = alone;

	(void)state;
	assert_true(near(finished(e, pooled).coarse, 0.1, 1e-12));
	e.scatter = 0.25 * 0.01;
	assert_true(near(finished(e, pooled).coarse, 0.1, 1e-12));
	e.scatter = 0.30 * 0.01;
	assert_true(near(finished(e, pooled).coarse, 0.03727, 1e-5));
}

/* --- p */

/* P(T > 2) with 10 degrees of freedom is 0.0367 (any table), and changes go both ways. */
static void p_counts_both_directions(void **state)
{
	struct kc_diff_estimate e = {.enough = 1, .log_change = -0.1, .error = 0.05, .error_df = 10};

	(void)state;
	assert_true(near(kc_diff_p(&e, 1e-9), 2 * 0.0367, 0.0001));
	assert_true(near(kc_diff_p(&e, 0.2), 1, 0));
	/* Past a margin of 0.08: at its half, (0.1 - 0.04) / 0.05 = 1.2 and (0.1 + 0.04) / 0.05 = 2.8 */
	assert_true(near(kc_diff_p(&e, 0.08), 0.1289 + 0.0094, 0.0002));
	/* The same where half of a margin of 0.04 and coarse times make up 0.04 */
	e.coarse = 0.02;
	assert_true(near(kc_diff_p(&e, 0.04), 0.1289 + 0.0094, 0.0002));
}

/* The table's t of 10 degrees of freedom for 5 % in both directions together is 2.228. */
static void the_least_detectable_change(void **state)
{
	const struct kc_diff_estimate e = {.enough = 1, .error = 0.05, .error_df = 10, .coarse = 0.02};
	const struct kc_diff_estimate sure = {.enough = 1, .error = 0.001, .error_df = 10};

	(void)state;
	assert_true(near(kc_diff_detectable(&e, 0.04, 0.05), 0.02 + 0.02 + 2.228 * 0.05, 0.0001));
	assert_true(near(kc_diff_detectable(&sure, 0.2, 0.05), 0.2, 0));
}

/* --- whether there is enough to compare */

/* Two OLD runs of 8 launches and NEW of 10, of which the first two of each are at a position of their own: the 12 of
 * OLD fill three cells, and four are needed. With 10 launches each, the 16 fill them. */
static void four_cells_are_needed(void **state)
{
	(void)state;
	for (int more = 0; more <= 2; more += 2) {
		struct made m = {0};
		struct kc_diff d;

		for (int i = 0; i < 8 + more; i++) {
			launch(&m, 0, "k", 10000);
			launch(&m, 1, "k", 10000);
		}
		for (int i = 0; i < 10; i++)
			launch(&m, 2, "k", 10000);
		compare(&m, 2, &d);
		assert_int_equal(d.kernels[0].what, more ? KC_DIFF_SAME : KC_DIFF_FEW);
		kc_diff_free(&d);
		made_free(&m);
	}
}

/* Four parts of a baseline, of one launch or of two */
static void eight_launches_of_old_are_needed(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= 2; count++) {
		struct made m = {0};
		struct kc__list parts = {0};
		struct kc_diff d;

		for (int i = 0; i < 10; i++)
			launch(&m, 0, "k", 10000);
		for (int i = 0; i < 4; i++)
			part_of(&m, &parts, "k", ((float)i + 0.5f) / 4, count);
		compare_parts(&m, &parts, 0, &d);
		assert_int_equal(d.kernels[0].what, count == 1 ? KC_DIFF_FEW : KC_DIFF_SAME);
		kc_diff_free(&d);
		free(parts.at);
		made_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(variance_comes_from_batches),
	    cmocka_unit_test(units_that_scatter_weigh_less),
	    cmocka_unit_test(cells_weigh_by_both_sides),
	    cmocka_unit_test(variance_between_runs),
	    cmocka_unit_test(a_change_as_between_old_runs_is_none),
	    cmocka_unit_test(autocorrelation_is_corrected),
	    cmocka_unit_test(variance_between_runs_is_added),
	    cmocka_unit_test(coarse_times_hide_up_to_a_tick),
	    cmocka_unit_test(p_counts_both_directions),
	    cmocka_unit_test(the_least_detectable_change),
	    cmocka_unit_test(four_cells_are_needed),
	    cmocka_unit_test(eight_launches_of_old_are_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
