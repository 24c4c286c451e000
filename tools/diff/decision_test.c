/* Which kernels, and which of their launch shapes, are called slower or faster. */
#include "diff_testing.h"

enum { SHAPES_MOST = 5, LAUNCHES = 64 };

/* The ticks of the clock are 1 ns where durations are no multiples. */
static const struct kc_diff_limits five_percent = {0.05, 0}, one_percent = {0.01, 0};

/* Durations of the shapes of a kernel "k", one after the other in each round; of NEW, in the first half of the rounds
 * and in the second one. */
struct shapes {
	uint32_t count;
	double old[SHAPES_MOST], early[SHAPES_MOST], late[SHAPES_MOST];
};

static void launch_shape(struct made *m, int run, uint32_t number, double ns)
{
	launch(m, run, "k", ns)->shape = shape_of(m, "k", number + 1);
}

/* The two launches before the rounds give the first launches of them the positions of the others, and have the kernel's
 * only odd times. */
static void launch_rounds(struct made *m, const struct shapes *s)
{
	for (int run = 0; run < 2; run++) {
		launch_shape(m, run, s->count > 1 ? s->count - 2 : 0, 5001);
		launch_shape(m, run, s->count - 1, 5001);
		for (int i = 0; i < LAUNCHES; i++)
			for (uint32_t k = 0; k < s->count; k++)
				launch_shape(m, run, k,
					     run == 0           ? s->old[k]
					     : i < LAUNCHES / 2 ? s->early[k]
								: s->late[k]);
	}
}

static const struct kc_diff_shape *shape_in(struct made *m, const struct kc_diff *d, uint32_t number)
{
	for (size_t i = 0; i < d->shape_count; i++)
		if (d->shapes[i].shape == shape_of(m, "k", number + 1))
			return d->shapes + i;
	fail_msg("no shape %u", number);
	return NULL;
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

/* Three shapes take 1.25 times as long, the longest one three quarters of its time. By the logarithm all of them
 * together take longer, but in truth 18 us became 17.5 us: it is the shapes that changed. */
static void shapes_are_shown_together(void **state)
{
	static const struct shapes s = {
	    4, {8000, 16000, 8000, 40000}, {10000, 20000, 10000, 30000}, {10000, 20000, 10000, 30000}};
	struct made m = {0};
	struct kc_diff d;
	const struct kc_diff_kernel *k;

	(void)state;
	launch_rounds(&m, &s);
	compare_limits(&m, 1, &five_percent, &d);
	k = d.kernels;
	assert_true(near(k->estimate.log_change, (3 * log(1.25) + log(0.75)) / 4, 1e-9));
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(shape_in(&m, &d, i)->what, i < 3 ? KC_DIFF_SLOWER : KC_DIFF_FASTER);
	assert_true(near(k->shown_launches, 4 * LAUNCHES, 0));
	assert_true(near(k->shown_ns[KC_OLD], 18000, 1e-6) && near(k->shown_ns[KC_NEW], 17500, 1e-6));
	assert_true(near(k->lost_ns, -500 * 4 * LAUNCHES, 1e-3));
	assert_int_equal(k->what, KC_DIFF_FASTER);
	check_sums(&d);
	kc_diff_free(&d);
	made_free(&m);
}

/* Logarithms and durations may differ in direction: after "a" 1 us became 0.6 us, after "b" 100 us became 120. */
static void a_change_in_no_direction_is_none(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	const struct kc_diff_estimate *e;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i <= LAUNCHES; i++) {
			launch(&m, run, "a", 5001);
			launch(&m, run, "k", run ? 600 : 1000);
			launch(&m, run, "b", 5001);
			launch(&m, run, "k", run ? 120000 : 100000);
		}
	compare_limits(&m, 1, &five_percent, &d);
	e = &kernel_named(&m, &d, "k")->estimate;
	assert_true(e->log_change < -0.15 && e->ns[KC_NEW] > 1.15 * e->ns[KC_OLD]);
	assert_true(kernel_named(&m, &d, "k")->q < 1e-6);
	assert_int_equal(reported(&d), 0);
	kc_diff_free(&d);
	made_free(&m);
}

/* One shape takes 1.25 times as long. The other one takes 0.8 times and then twice as long, so that nothing is sure of
 * it, nor of both together. */
static void what_is_not_sure_is_not_shown(void **state)
{
	static const struct shapes s = {2, {10000, 10000}, {12500, 8000}, {12500, 20000}};
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	launch_rounds(&m, &s);
	compare_limits(&m, 1, &five_percent, &d);
	assert_int_equal(d.kernels[0].what, KC_DIFF_SLOWER);
	assert_int_equal(shape_in(&m, &d, 0)->what, KC_DIFF_SLOWER);
	assert_int_equal(shape_in(&m, &d, 1)->what, KC_DIFF_SAME);
	assert_true(near(d.kernels[0].shown_launches, LAUNCHES, 0));
	assert_true(near(d.kernels[0].shown_ns[KC_NEW], 12500, 1e-6));
	kc_diff_free(&d);
	made_free(&m);
}

/* Of two shapes one is sure to be slower. The p of the other one is between 0.025 and 0.05, too much for one of two:
 * with L for log(11906 / 10773) = 0.1, the change is 0.1245, its error L/2 and t (0.1245 - 0.0245) / (L/2) = 2, of 15
 * degrees of freedom: 0.032 for a longer time, and 0.005 for a shorter one. */
static void one_of_two_shapes_must_be_surer(void **state)
{
	static const struct shapes s = {2, {10000, 10000}, {15000, 10773}, {15000, 11906}};
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	launch_rounds(&m, &s);
	compare_limits(&m, 1, &five_percent, &d);
	assert_int_equal(shape_in(&m, &d, 0)->what, KC_DIFF_SLOWER);
	assert_true(shape_in(&m, &d, 1)->p > 0.025 && shape_in(&m, &d, 1)->p <= 0.05);
	assert_int_equal(shape_in(&m, &d, 1)->what, KC_DIFF_SAME);
	kc_diff_free(&d);
	made_free(&m);
}

/* --- p and q */

/* Simes: the least of n p / rank. */
static double simes(const struct kc_diff *d)
{
	double least = 1;

	for (size_t i = 0; i < d->shape_count; i++) {
		double rank = 0;

		for (size_t k = 0; k < d->shape_count; k++)
			rank += d->shapes[k].p <= d->shapes[i].p;
		least = fmin(least, (double)d->shape_count * d->shapes[i].p / rank);
	}
	return least;
}

/* All launches together did not change: 0.75 * 1.04^3 is 0.84, its fourth root 0.958; nor 1.25^2 * 0.8^2. So a kernel's
 * p is twice that of its shapes. */
static void p_of_a_kernel_by_its_shapes(void **state)
{
	static const struct shapes one = {
	    4, {20000, 20000, 20000, 20000}, {15000, 20800, 20800, 20800}, {15000, 20800, 20800, 20800}};
	static const struct shapes all = {
	    4, {20000, 20000, 20000, 20000}, {25000, 25000, 16000, 16000}, {25000, 25000, 16000, 16000}};

	(void)state;
	for (int is_all = 0; is_all < 2; is_all++) {
		struct made m = {0};
		struct kc_diff d;
		double p;

		launch_rounds(&m, is_all ? &all : &one);
		compare_limits(&m, 1, &five_percent, &d);
		p = shape_in(&m, &d, 0)->p;
		assert_true(p > 0 && p < 1e-6);
		assert_true(near(d.kernels[0].p / (2 * simes(&d)), 1, 1e-9));
		/* One shape of four counts four times; four that are as sure, about once. */
		assert_true(near(d.kernels[0].p / (2 * p), is_all ? 1 : 4, is_all ? 0.2 : 1e-9));
		kc_diff_free(&d);
		made_free(&m);
	}
}

/* Benjamini and Hochberg: the least of n p / rank over all kernels with a p as large or larger. */
static double q_of(const struct kc_diff *d, const struct kc_diff_kernel *kernel)
{
	double least = 1;

	for (size_t i = 0; i < d->count; i++) {
		double rank = 0;

		if (d->kernels[i].p < kernel->p)
			continue;
		for (size_t k = 0; k < d->count; k++)
			rank += d->kernels[k].p <= d->kernels[i].p;
		least = fmin(least, (double)d->count * d->kernels[i].p / rank);
	}
	return least;
}

/* Of 100 kernels that did not change, any limit but chance left out, about five have a p below 0.05. */
static void q_is_of_all_kernels(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	char name[16];
	size_t by_chance = 0;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 40; i++)
			for (int k = 0; k < 100; k++) {
				snprintf(name, sizeof(name), "k%d", k);
				launch(&m, run, name, 50000 * (1 + 0.05 * normal()));
			}
	compare_limits(&m, 1, &(struct kc_diff_limits){1e-4, 0}, &d);
	assert_int_equal(d.compared, 100);
	for (size_t i = 0; i < d.count; i++) {
		by_chance += d.kernels[i].p <= KC_DIFF_FALSE;
		assert_true(near(d.kernels[i].q, q_of(&d, d.kernels + i), 1e-12));
	}
	assert_in_range(by_chance, 1, 15);
	assert_int_equal(reported(&d), 0);
	kc_diff_free(&d);
	made_free(&m);
}

/* --- the least slowdown that would have been reported */

/* Nothing scatters, so that the error is 0.3 %, of 15 degrees of freedom; half of 1 % is allowed for, and a tick. */
static double detectable(double t)
{
	return expm1(log1p(0.01) / 2 + 1.0 / 100003 + 0.003 * t);
}

/* t for 5 % / comparisons in both directions together, of 15 degrees of freedom (Bonferroni's table). */
static void detectable_in_as_many_comparisons(void **state)
{
	static const struct {
		uint32_t kernels, shapes;
		double t;
	} table[] = {{1, 1, 2.131}, {1, 2, 2.490}, {5, 1, 2.947}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct made m = {0};
		struct kc_diff d;

		for (int run = 0; run < 2; run++)
			for (uint32_t k = 0; k < table[i].kernels * table[i].shapes * (LAUNCHES + 2); k++) {
				char name[16];

				snprintf(name, sizeof(name), "k%u", k % table[i].kernels);
				launch(&m, run, name, k ? 100003 : 100001)->shape =
				    shape_of(&m, name, 1 + k % table[i].shapes);
			}
		compare_limits(&m, 1, &one_percent, &d);
		assert_int_equal(d.compared, table[i].kernels);
		for (size_t k = 0; k < d.count; k++)
			assert_true(near(d.kernels[k].detectable, detectable(table[i].t), 2e-5));
		kc_diff_free(&d);
		made_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_shape_is_shown_by_itself),
	    cmocka_unit_test(shapes_are_shown_together),
	    cmocka_unit_test(a_change_in_no_direction_is_none),
	    cmocka_unit_test(what_is_not_sure_is_not_shown),
	    cmocka_unit_test(one_of_two_shapes_must_be_surer),
	    cmocka_unit_test(p_of_a_kernel_by_its_shapes),
	    cmocka_unit_test(q_is_of_all_kernels),
	    cmocka_unit_test(detectable_in_as_many_comparisons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
