/* Kernels that changed on one of several processes. */
#include "diff_testing.h"

enum { PROCESSES = 4, LAUNCHES = 60 };

/* 60 launches of "k" on each of four processes, of 30 us times these factors. */
static void launch_on_each(struct made *m, int run, const double factors[PROCESSES])
{
	for (uint32_t p = 0; p < PROCESSES; p++)
		for (int i = 0; i < LAUNCHES; i++)
			launch_on(m, run, p, "k", 30000 * factors[p]);
}

static const double all_alike[PROCESSES] = {1, 1, 1, 1}, second_slower[PROCESSES] = {1, 1.5, 1, 1};

/* The second of four takes 45 us in place of 30: 15 us for each of 60 launches, the first two of which are after
 * others. */
static void slower_on_one_process(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	const struct kc_diff_kernel *k;

	(void)state;
	launch_on_each(&m, 0, all_alike);
	launch_on_each(&m, 1, second_slower);
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 1);
	k = d.kernels;
	assert_string_equal(kc_measured_kernel(&m.names, k->kernel)->name, "k on rank 1");
	assert_int_equal(k->what, KC_DIFF_SLOWER);
	assert_true(near(k->shown_ns[KC_OLD], 30000, 300) && near(k->shown_ns[KC_NEW], 45000, 300));
	assert_true(near(k->lost_ns, 15000 * (LAUNCHES - 2), 20000));
	assert_int_equal(d.count, PROCESSES);
	assert_int_equal(d.compared, PROCESSES);
	for (size_t i = 0; i < d.count; i++)
		assert_true(near(d.kernels[i].launches[KC_OLD], LAUNCHES, 0) &&
			    near(d.kernels[i].launches[KC_NEW], LAUNCHES, 0));
	kc_diff_free(&d);
	made_free(&m);
}

/* A process that was slower before is compared with itself; nothing changed, so that the kernel stays one. */
static void always_slower_is_no_change(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	launch_on_each(&m, 0, second_slower);
	launch_on_each(&m, 1, second_slower);
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 0);
	assert_int_equal(d.count, 1);
	assert_int_equal(d.compared, 1);
	assert_int_equal(d.on_processes, PROCESSES);
	assert_string_equal(kc_measured_kernel(&m.names, d.kernels[0].kernel)->name, "k");
	kc_diff_free(&d);
	made_free(&m);
}

/* The same factor on every process is one change of one kernel. */
static void slower_on_all_is_one_change(void **state)
{
	static const double slower[PROCESSES] = {1.5, 1.5, 1.5, 1.5};
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	launch_on_each(&m, 0, all_alike);
	launch_on_each(&m, 1, slower);
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 1);
	assert_string_equal(kc_measured_kernel(&m.names, d.kernels[0].kernel)->name, "k");
	assert_true(near(d.kernels[0].lost_ns, 15000 * PROCESSES * LAUNCHES, 60000));
	kc_diff_free(&d);
	made_free(&m);
}

/* Ranks 2 and 3 have no name of their own in NEW, and run 2 of OLD has only the first two: these are told apart. */
static void others_are_compared_together(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_measured_launch *launches;
	const struct kc_diff_kernel *others;

	(void)state;
	launch_on_each(&m, 0, all_alike);
	for (uint32_t p = 0; p < 2; p++)
		for (int i = 0; i < LAUNCHES; i++)
			launch_on(&m, 1, p, "k", 30000);
	launch_on_each(&m, 2, second_slower);
	launches = m.runs[2].launches.at;
	for (size_t i = 2 * LAUNCHES; i < 4 * LAUNCHES; i++)
		launches[i].process = 0;
	compare(&m, 2, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 1);
	assert_string_equal(kc_measured_kernel(&m.names, d.kernels[0].kernel)->name, "k on rank 1");
	others = kernel_named(&m, &d, "k on other processes");
	assert_true(near(others->launches[KC_OLD], 2 * LAUNCHES / 2.0, 1e-9)); /* mean of two runs */
	assert_true(near(others->launches[KC_NEW], 2 * LAUNCHES, 0));
	assert_int_equal(others->what, KC_DIFF_SAME);
	assert_int_equal(d.count, 3);
	kc_diff_free(&d);
	made_free(&m);
}

/* What one process alone launches is not compared twice. */
static void kernels_of_one_process_are_left(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < LAUNCHES; i++) {
			launch_on(&m, run, 0, "a", 10000);
			launch_on(&m, run, 1, "b", 10000);
		}
	compare(&m, 1, &d);
	assert_int_equal(d.on_processes, 0);
	assert_int_equal(d.count, 2);
	kc_diff_free(&d);
	made_free(&m);
}

static void launch_kernels(struct made *m, int run, int kernels, int slower_on_second)
{
	char name[16];

	for (uint32_t p = 0; p < PROCESSES; p++)
		for (int i = 0; i < 30; i++)
			for (int k = 0; k < kernels; k++) {
				snprintf(name, sizeof(name), "k%d", k);
				launch_on(m, run, p, name,
					  50000 * (p == 1 && k < slower_on_second ? 1.5 : 1) * (1 + 0.05 * normal()));
			}
}

/* Benjamini and Hochberg with weights: of 5 kernels, one changed on one of four processes. Half of the false
 * discoveries may be kernels, half the 20 kernels on a process: with the least p of all, q is 2 * 20 p; for another
 * kernel it is at least 2 * 5 p / 5, if all were surer. */
static void q_counts_every_comparison(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	launch_kernels(&m, 0, 5, 0);
	launch_kernels(&m, 1, 5, 1);
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 1);
	assert_int_equal(d.on_processes, 5 * PROCESSES);
	assert_string_equal(kc_measured_kernel(&m.names, d.kernels[0].kernel)->name, "k0 on rank 1");
	assert_true(d.kernels[0].p > 0 && near(d.kernels[0].q / d.kernels[0].p, 2 * 5 * PROCESSES, 1e-6));
	for (size_t i = 1; i < d.count; i++)
		assert_true(d.kernels[i].q >= fmin(2 * d.kernels[i].p, 1));
	kc_diff_free(&d);
	made_free(&m);
}

/* In 60 trials nothing changed; a false discovery in more than 8 of them would be one time in 300 with 5 % (binomial).
 * In each of 60 more, 4 of 8 kernels changed on a process, which are found, and at most 5 % of what is found is wrong,
 * on average; the error of that mean is below 1 %. The limits are next to none. */
static void five_percent_are_found_by_chance(void **state)
{
	const struct kc_diff_limits none = {1e-4, 0};
	int with_any = 0, found = 0;
	double wrong = 0;

	(void)state;
	for (int trial = 0; trial < 120; trial++) {
		struct made m = {0};
		struct kc_diff d;
		int right = 0;

		launch_kernels(&m, 0, 8, 0);
		launch_kernels(&m, 1, 8, trial < 60 ? 0 : 4);
		compare_limits(&m, 1, &none, &d);
		for (size_t i = 0; i < reported(&d); i++) {
			const char *name = kc_measured_kernel(&m.names, d.kernels[i].kernel)->name;

			right += trial >= 60 && name[1] < '4' && strstr(name, " on rank 1");
		}
		with_any += trial < 60 && reported(&d) > 0;
		found += right;
		if (trial >= 60 && reported(&d))
			wrong += (double)((int)reported(&d) - right) / (double)reported(&d) / 60;
		kc_diff_free(&d);
		made_free(&m);
	}
	assert_in_range(with_any, 0, 8);
	assert_int_equal(found, 240);
	assert_true(wrong < 0.06);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slower_on_one_process),
	    cmocka_unit_test(always_slower_is_no_change),
	    cmocka_unit_test(slower_on_all_is_one_change),
	    cmocka_unit_test(others_are_compared_together),
	    cmocka_unit_test(kernels_of_one_process_are_left),
	    cmocka_unit_test(q_counts_every_comparison),
	    cmocka_unit_test(five_percent_are_found_by_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
