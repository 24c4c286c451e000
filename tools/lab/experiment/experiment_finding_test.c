/* The arithmetic of claims, with measurements made up so that the answers can be worked out by hand. */
#include "experiment.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.9g, not %.9g", got, wanted);
}
#define EXACT 1e-9
#define ITERATED 1e-6 /* singular vectors are */

/* Two kernels a round, three rounds; one launch was not measured. */
static void test_medians_over_rounds(void **state)
{
	static const struct kc_step step = {.program = "x", .repeat = 3};
	struct kc_observed_launch launches[6] = {{.measured_ns = 10},  {.measured_ns = 100}, {.measured_ns = 30},
						 {.measured_ns = NAN}, {.measured_ns = 20},  {.measured_ns = 300}};
	struct kc_observed observed = {.step = &step, .launches = launches, .launch_count = 6};

	(void)state;
	assert_int_equal(kc_observed_round(&observed), 2);
	assert_near(kc_observed_median_ns(&observed, 0), 20, 0);
	assert_near(kc_observed_median_ns(&observed, 1), 200, 0);
	assert_near(kc_observed_round_ns(&observed), 220, 0);
	observed.launch_count = 5;
	assert_int_equal(kc_observed_round(&observed), 0);
	assert_true(isnan(kc_observed_round_ns(&observed)));
}

static void test_steps_have_names(void **state)
{
	const struct kc_step step = {"bsp", "subarray", 1024, 128, 5, NULL},
			     bare = {.program = "pairs", .more = "--scale"};
	char text[KC_STEP_TEXT];

	(void)state;
	kc_step_text(&step, text);
	assert_string_equal(text, "bsp --only subarray --size 1024 --block 128 --repeat 5");
	kc_step_text(&bare, text);
	assert_string_equal(text, "pairs --scale");
}

static void add(struct kc_finding *finding, double x, double measured, double predicted, int known)
{
	struct kc_point *point = kc_finding_point(finding, "kernel");

	point->x = x;
	point->measured = measured;
	point->predicted = predicted;
	point->known = known;
}

/* Ratios 0.9, 1.1 and 0.5; what the model was given, and what was not measured, do not count. */
static void test_ratios(void **state)
{
	struct kc_finding finding = {0};
	struct kc_claim *claim = kc_finding_claim(&finding, "ratio", "Equation", "0.8 to 1.2");

	(void)state;
	kc_claim_ratios(claim, &finding, 0.8, 1.2);
	assert_int_equal(claim->verdict, KC_NOT_MEASURED);
	assert_string_equal(claim->here, "-");
	add(&finding, 1, 100, 90, 0);
	add(&finding, 2, 100, 110, 0);
	add(&finding, 3, 100, 1000, 1);
	add(&finding, 4, NAN, 1000, 0);
	kc_claim_ratios(claim, &finding, 0.8, 1.2);
	assert_int_equal(claim->verdict, KC_HOLDS);
	assert_int_equal(claim->points, 2);
	assert_string_equal(claim->here, "0.90 to 1.10");
	add(&finding, 5, 100, 50, 0);
	kc_claim_ratios(claim, &finding, 0.8, 1.2);
	assert_int_equal(claim->verdict, KC_FAILS);
	assert_string_equal(claim->here, "0.50 to 1.10");
	assert_string_equal(claim->why, "1 of 3 outside; furthest: kernel at 5, 0.50");
	kc_finding_free(&finding);
}

static void test_bounds(void **state)
{
	struct kc_finding finding = {0};
	struct kc_claim *claim = kc_finding_claim(&finding, "bounds", "MAX and SUM", "bounds");
	static const double bounds[][3] = {{1, 2, 3}, {2, 2, 3}, {4, 3, 3.5}, {1, 2, 4}}; /* measured, low, high */

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct kc_point *point = kc_finding_point(&finding, "kernel");

		point->measured = bounds[i][0];
		point->low = bounds[i][1];
		point->high = bounds[i][2];
	}
	kc_claim_within(claim, &finding);
	assert_int_equal(claim->verdict, KC_FAILS);
	assert_string_equal(claim->here, "1 of 4");
	assert_string_equal(claim->why, "2 faster than the lower bound, 1 slower than the upper");
	kc_finding_free(&finding);
}

static void test_limits(void **state)
{
	struct kc_finding finding = {0};
	struct kc_claim *claim = kc_finding_claim(&finding, "error", "Table", "3.49 %");

	(void)state;
	kc_claim_at_most(claim, NAN, 0.0349, 0);
	assert_int_equal(claim->verdict, KC_NOT_MEASURED);
	kc_claim_at_most(claim, 0.0349, 0.0349, 7);
	assert_int_equal(claim->verdict, KC_HOLDS);
	assert_string_equal(claim->here, "3.49 %");
	kc_claim_at_most(claim, 0.04, 0.0349, 7);
	assert_int_equal(claim->verdict, KC_FAILS);
}

/* --- whole experiments */

static const struct kc_claim *judged(const struct kc_experiment *experiment, const struct kc_observations *evidence,
				     struct kc_finding *finding)
{
	*finding = (struct kc_finding){0};
	experiment->judge(evidence, finding);
	assert_false(finding->failed);
	return finding->claims;
}

/* Nothing measured: every claim says so, none of them fails. */
static void test_nothing_measured(void **state)
{
	const struct kc_observations evidence = {.programs = "/nowhere"};
	const struct kc_experiment *experiment;
	struct kc_finding finding;

	(void)state;
	for (unsigned i = 0; (experiment = kc_experiment_at(i)); i++) {
		judged(experiment, &evidence, &finding);
		assert_true(finding.claim_count > 0);
		assert_false(finding.uncounted);
		for (uint32_t k = 0; k < finding.claim_count; k++)
			assert_int_equal(finding.claims[k].verdict, KC_NOT_MEASURED);
		kc_finding_free(&finding);
	}
}

/* Alone 100 ns, beside the other 150: an actual slowdown of 1.5. The waves say 1.5, kerncast 1.2: 0 and 20 %. */
static void test_synthetic_pairs(void **state)
{
	struct kc_step steps[KC_STEPS];
	struct kc_observed observed = {.step = steps};
	const struct kc_observations evidence = {.steps = &observed, .step_count = 1};
	const struct kc_claim *claims;
	struct kc_finding finding;

	(void)state;
	assert_int_equal(kc_experiment_pairs.plan(KC_PLAN_SMALL, steps), 1);
	observed.launch_count = 200 * steps[0].repeat;
	observed.launches = calloc(observed.launch_count, sizeof(*observed.launches));
	for (uint32_t i = 0; i < observed.launch_count; i++)
		observed.launches[i] = (struct kc_observed_launch){
		    .measured_ns = i < observed.launch_count / 2 ? 100 : 150, .slowdown = 1.2, .slowdown_waves = 1.5};
	claims = judged(&kc_experiment_pairs, &evidence, &finding);
	assert_near(claims[0].value, 0, EXACT);
	assert_near(claims[1].value, 0.2, EXACT);
	assert_near(claims[2].value, 0.2, EXACT);
	assert_int_equal(claims[0].points, 50);
	assert_int_equal(claims[2].points, 50 * steps[0].repeat);
	kc_finding_free(&finding);
	free(observed.launches);
}

/*
 * An algorithm of one kernel, 100 ns alone, and a filter of two, 300 and 100 ns.
 * Second, the filter takes 600 and 100 (700 / 400 = 1.75), the algorithm 150 (1.5).
 */
static void test_real_pairs(void **state)
{
	static const double alone[] = {100, 300, 100}, filter_second[] = {100, 600, 100},
			    filter_first[] = {300, 100, 150};
	struct kc_step step = {.program = "real_pairs", .algorithm = "knn", .repeat = 2};
	struct kc_observed_launch launches[18];
	struct kc_observed observed = {.step = &step, .launches = launches, .launch_count = 18};
	const struct kc_observations evidence = {.steps = &observed, .step_count = 1};
	struct kc_finding finding;

	(void)state;
	for (uint32_t i = 0; i < 18; i++) {
		const double *durations = i < 6 ? alone : i < 12 ? filter_second : filter_first;
		int is_filter = i < 12 ? i % 3 > 0 : i % 3 < 2;

		launches[i] = (struct kc_observed_launch){.kernel = (char *)(is_filter ? "particle_x" : "knn_x"),
							  .measured_ns = durations[i % 3],
							  .slowdown = 1.75,
							  .slowdown_waves = 1.5};
	}
	judged(&kc_experiment_real_pairs, &evidence, &finding);
	assert_int_equal(finding.point_count, 4);
	assert_near(finding.points[0].measured, 1.75, EXACT);
	assert_near(finding.points[0].predicted, 1.5, EXACT);
	assert_near(finding.points[2].measured, 1.5, EXACT);
	/* |1.5 - 1.75| / 1.75 and 0; 0 and |1.75 - 1.5| / 1.5 */
	assert_near(finding.claims[0].value, 0.25 / 1.75 / 2, EXACT);
	assert_near(finding.claims[1].value, 0.25 / 1.5 / 2, EXACT);
	kc_finding_free(&finding);
}

/* The GTX 470 of Table 2. Kernels: 1.68 to 2.35 ms, worked out from the classes of Tables 1 and 4 (the erosion with
 * f = 7, no fused multiply-adds), where Table 5 prints 1.66 to 2.32 ms. Transfers: 0.82 ms, worked out for the image in
 * and two vectors out over Table 2's bus, where Table 5 prints 0.95 ms. The measurements are those that Table 5 prints:
 * 1.96 ms, 1.07 ms, and 3.03 ms in all. */
static void test_boat_hull_case_study(void **state)
{
	struct kc_step step = {.program = "boat_hull", .algorithm = "case_study", .size = 1024, .repeat = 1};
	struct kc_observed_launch launches[6] = {{.measured_ns = 1.96e6}};
	struct kc_observed_copy copies[] = {{"HtoD", 4 << 20, 1.05e6}, {"DtoH", 4096, 1e4}, {"DtoH", 4096, 1e4}};
	struct kc_observed observed = {
	    .step = &step, .launches = launches, .launch_count = 6, .copies = copies, .copy_count = 3};
	const struct kc_observations evidence = {
	    .steps = &observed, .step_count = 1, .rates = {95e9, 5.9e9, 1089e9, 5.1e9}};
	const struct kc_claim *claims;
	struct kc_finding finding;

	(void)state;
	claims = judged(&kc_experiment_boat_hull, &evidence, &finding);
	assert_near(claims[1].value, (1.68 + 2.35) / 2 / 1.96 - 1, 0.005);
	assert_near(claims[2].value, 1 - 0.82 / 1.07, 0.005);
	assert_near(claims[0].value, 1 - ((1.68 + 2.35) / 2 + 0.82) / 3.03, 0.005);
	assert_int_equal(claims[0].verdict, KC_HOLDS);
	assert_int_equal(claims[1].verdict, KC_HOLDS);
	assert_int_equal(claims[2].verdict, KC_FAILS);
	kc_finding_free(&finding);
}

/* Every benchmark has the same curve: its basis predicts any of them. */
static void test_block_sizes(void **state)
{
	struct kc_step steps[KC_STEPS];
	uint32_t count = kc_experiment_block_size.plan(KC_PLAN_SMALL, steps);
	struct kc_observed_launch launches[KC_STEPS];
	struct kc_observed observed[KC_STEPS] = {0};
	const struct kc_observations evidence = {.steps = observed, .step_count = count};
	const struct kc_claim *claims;
	struct kc_finding finding;

	(void)state;
	assert_int_equal(count, 8 * 12);
	for (uint32_t i = 0; i < count; i++) {
		steps[i].repeat = 1;
		launches[i].measured_ns = 1e6 / (1 + steps[i].block % 7);
		observed[i] = (struct kc_observed){.step = &steps[i], .launches = &launches[i], .launch_count = 1};
	}
	claims = judged(&kc_experiment_block_size, &evidence, &finding);
	assert_near(claims[0].value, 0, ITERATED);
	assert_int_equal(claims[0].points, 8 * 6);
	assert_near(claims[3].value, 1, ITERATED);
	assert_string_equal(claims[3].paper, "first 7; here: 90 %");
	kc_finding_free(&finding);
	for (uint32_t i = 0; i < count; i++)
		launches[i].measured_ns = INFINITY; /* speed-ups that are no numbers */
	claims = judged(&kc_experiment_block_size, &evidence, &finding);
	assert_int_equal(claims[3].verdict, KC_NOT_MEASURED);
	kc_finding_free(&finding);
}

/* A kernel that takes the same time at every launch leaves nothing to learn after the first. */
static void test_learning(void **state)
{
	struct kc_step step = {.program = "bsp", .algorithm = "subarray", .repeat = 40};
	struct kc_observed_launch launches[40];
	struct kc_observed observed = {.step = &step, .launches = launches, .launch_count = 40};
	struct kc_observations evidence = {.steps = &observed, .step_count = 1};
	const struct kc_claim *claims;
	struct kc_finding finding;

	(void)state;
	evidence.device = *kc_device_builtin("k40");
	for (uint32_t i = 0; i < 40; i++)
		launches[i] = (struct kc_observed_launch){
		    .measured_ns = 1e6, .grid = {32, 1, 1}, .block = {128, 1, 1}, .resources = {.registers = 32}};
	claims = judged(&kc_experiment_lambda, &evidence, &finding);
	assert_int_equal(finding.point_count, 39);
	assert_near(claims[0].value, 0, 1e-3);
	assert_string_equal(claims[0].paper, "here: 5 %"); /* the paper's 5 % is of predictions' errors */
	assert_near(claims[1].value, 0, 1e-3);
	assert_string_equal(claims[1].paper, "below 5 %");
	kc_finding_free(&finding);
}

/* More launches per round than any list has levels, as a database from elsewhere can hold: nothing to bound. */
static void test_list_of_too_many_levels(void **state)
{
	struct kc_step step = {.program = "cycles", .algorithm = "list_ranking", .size = 1024, .repeat = 1};
	struct kc_observed_launch launches[4 * KC_STEPS];
	struct kc_observed observed = {.step = &step, .launches = launches, .launch_count = 4 * KC_STEPS};
	struct kc_observations evidence = {.steps = &observed, .step_count = 1, .programs = "/nowhere"};
	const struct kc_claim *claims;
	struct kc_finding finding;

	(void)state;
	evidence.device = *kc_device_builtin("k40");
	for (uint32_t i = 0; i < 4 * KC_STEPS; i++)
		launches[i] = (struct kc_observed_launch){
		    .kernel = (char *)"list_walk", .measured_ns = 1e6, .grid = {2, 1, 1}, .block = {512, 1, 1}};
	claims = judged(&kc_experiment_cycles, &evidence, &finding);
	assert_int_equal(claims[0].verdict, KC_NOT_MEASURED);
	assert_true(isnan(finding.points[0].measured));
	assert_true(finding.uncounted);
	assert_non_null(strstr(finding.note, "by hand. The code of cycles cannot be read: no counts."));
	kc_finding_free(&finding);
}

/* --- the figure */

static void test_figure(void **state)
{
	struct kc_observations evidence = {.simulated = 1, .device.name = "The \"K40\""};
	struct kc_finding finding = {0};
	struct kc_shown shown = {.experiment = &kc_experiment_bsp, .evidence = &evidence, .finding = &finding};
	char *script;
	size_t size;
	FILE *to = open_memstream(&script, &size);

	(void)state;
	add(&finding, 512, 2e6, 1e6, 0);
	add(&finding, 1024, NAN, 3e6, 1);
	kc_figure_script(to, &shown);
	fclose(to);
	assert_non_null(strstr(script, "set title 'SIMULATED. bsp: predicted against measured time'"));
	assert_non_null(strstr(script, " . 'The \"K40\"' noenhanced"));
	assert_non_null(strstr(script, "\n 512 2000000 1000000 NaN NaN 0\n 1024 NaN 3000000 NaN NaN 1\nEOD\n"));
	assert_non_null(strstr(script, "0.8*x"));
	assert_non_null(strstr(script, "1.2*x"));
	assert_non_null(strstr(script, "set xlabel 'measured, ms' noenhanced"));
	evidence.simulated = 0;
	free(script);
	to = open_memstream(&script, &size);
	kc_figure_script(to, &shown);
	fclose(to);
	assert_null(strstr(script, "SIMULATED"));
	free(script);
	kc_finding_free(&finding);
}

/* gnuplot runs what stands between backquotes in double quotes: foreign text is in single ones alone. */
static void test_figure_of_foreign_names(void **state)
{
	struct kc_observations evidence = {.device.name = "`touch x`\n$(y) \\ @z's"};
	struct kc_finding finding = {0};
	struct kc_shown shown = {.experiment = &kc_experiment_bsp, .evidence = &evidence, .finding = &finding};
	char *script;
	size_t size;
	FILE *to = open_memstream(&script, &size);

	(void)state;
	kc_finding_point(&finding, "a `b`'c")->measured = 1;
	kc_figure_script(to, &shown);
	fclose(to);
	assert_non_null(strstr(script, " . '`touch x` $(y) \\ @z''s' noenhanced\n"));
	assert_non_null(strstr(script, "title 'a `b`''c'"));
	assert_null(strstr(script, "\"`"));
	free(script);
	kc_finding_free(&finding);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_medians_over_rounds),
	    cmocka_unit_test(test_steps_have_names),
	    cmocka_unit_test(test_ratios),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_nothing_measured),
	    cmocka_unit_test(test_synthetic_pairs),
	    cmocka_unit_test(test_real_pairs),
	    cmocka_unit_test(test_boat_hull_case_study),
	    cmocka_unit_test(test_block_sizes),
	    cmocka_unit_test(test_learning),
	    cmocka_unit_test(test_list_of_too_many_levels),
	    cmocka_unit_test(test_figure),
	    cmocka_unit_test(test_figure_of_foreign_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
