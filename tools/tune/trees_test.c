#include "trees.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct kc_trees_options one_tree = {
    .trees = 1, .depth = 1, .bags = 1, .least_leaf = 1, .rate = 1, .rows = 1, .columns = 1, .seed = 7};

static int near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

static double at(const struct kc_trees *trees, double x)
{
	return kc_trees_predict(trees, &x);
}

/* 0 up to 4, 10 from 5 on: one split, halfway between. */
static void a_step_is_one_split(void **state)
{
	double x[10], y[10];
	struct kc_trees *trees;

	(void)state;
	for (int i = 0; i < 10; i++) {
		x[i] = i;
		y[i] = i < 5 ? 0 : 10;
	}
	assert_int_equal(kc_trees_fit(&trees, &one_tree, x, y, 10, 1), 0);
	assert_true(near(at(trees, -3), 0) && near(at(trees, 4.4), 0));
	assert_true(near(at(trees, 4.6), 10) && near(at(trees, 99), 10));
	kc_trees_free(trees);
}

/* From the mean, 5: half of what is left, then half of that: 5 ± 2.5 ± 1.25. Bags of it: the same. */
static void each_tree_takes_its_share_of_what_is_left(void **state)
{
	double x[2] = {0, 1}, y[2] = {0, 10};
	struct kc_trees_options options = one_tree;
	struct kc_trees *trees;

	(void)state;
	options.rate = 0.5;
	assert_int_equal(kc_trees_fit(&trees, &options, x, y, 2, 1), 0);
	assert_true(near(at(trees, 1), 7.5) && near(at(trees, 0), 2.5));
	kc_trees_free(trees);
	options.trees = 2;
	options.bags = 3;
	assert_int_equal(kc_trees_fit(&trees, &options, x, y, 2, 1), 0);
	assert_true(near(at(trees, 1), 8.75) && near(at(trees, 0), 1.25));
	kc_trees_free(trees);
}

/* 2a + b over {0, 1}²: the first split is on a, those below it on b. */
static void two_splits_deep_is_two_columns(void **state)
{
	double x[8] = {0, 0, 0, 1, 1, 0, 1, 1}, y[4] = {0, 1, 2, 3};
	struct kc_trees_options options = one_tree;
	struct kc_trees *trees;

	(void)state;
	options.depth = 2;
	assert_int_equal(kc_trees_fit(&trees, &options, x, y, 4, 2), 0);
	for (int i = 0; i < 4; i++)
		assert_true(near(kc_trees_predict(trees, x + (size_t)2 * i), y[i]));
	kc_trees_free(trees);
	assert_int_equal(kc_trees_fit(&trees, &one_tree, x, y, 4, 2), 0);
	assert_true(near(kc_trees_predict(trees, x), 0.5) && near(kc_trees_predict(trees, x + 6), 2.5));
	kc_trees_free(trees);
}

/* Of three rows no two halves of two. */
static void leaves_keep_their_least_size(void **state)
{
	double x[3] = {0, 1, 2}, y[3] = {0, 0, 9};
	struct kc_trees_options options = one_tree;
	struct kc_trees *trees;

	(void)state;
	options.least_leaf = 2;
	assert_int_equal(kc_trees_fit(&trees, &options, x, y, 3, 1), 0);
	assert_true(near(at(trees, 2), 3));
	kc_trees_free(trees);
}

/* 1,000 values in 64 steps of equally many: a ramp is met to the width of a step. */
static void many_values_share_steps(void **state)
{
	static double x[1000], y[1000];
	struct kc_trees_options options = one_tree;
	struct kc_trees *trees;

	(void)state;
	for (int i = 0; i < 1000; i++)
		x[i] = y[i] = i * 7 % 1000;
	options.depth = KC_TREES_DEPTH;
	assert_int_equal(kc_trees_fit(&trees, &options, x, y, 1000, 1), 0);
	for (int i = 0; i < 1000; i++)
		assert_true(fabs(at(trees, x[i]) - y[i]) <= 1000.0 / KC_TREES_BINS);
	kc_trees_free(trees);
}

/* Parts drawn at random are the seed's. */
static void the_seed_alone_decides(void **state)
{
	double x[200], y[100], answers[3];
	struct kc_trees_options options = {
	    .trees = 5, .depth = 3, .bags = 2, .least_leaf = 1, .rate = 0.5, .rows = 0.5, .columns = 0.5};
	const uint64_t seeds[3] = {1, 1, 99};

	(void)state;
	for (int i = 0; i < 100; i++) {
		x[2 * i] = i * 37 % 100;
		x[2 * i + 1] = i * 61 % 100;
		y[i] = x[2 * i] * x[2 * i + 1];
	}
	for (int i = 0; i < 3; i++) {
		struct kc_trees *trees;

		options.seed = seeds[i];
		assert_int_equal(kc_trees_fit(&trees, &options, x, y, 100, 2), 0);
		answers[i] = kc_trees_predict(trees, x + 100);
		kc_trees_free(trees);
	}
	assert_true(answers[0] == answers[1]);
	assert_true(answers[0] != answers[2]);
}

static void nothing_to_fit_is_refused(void **state)
{
	double x[1] = {0}, y[1] = {3};
	struct kc_trees_options options = one_tree;
	struct kc_trees *trees;

	(void)state;
	assert_int_equal(kc_trees_fit(&trees, &options, x, y, 0, 1), -EINVAL);
	assert_int_equal(kc_trees_fit(&trees, &options, x, y, 1, 0), -EINVAL);
	options.depth = KC_TREES_DEPTH + 1;
	assert_int_equal(kc_trees_fit(&trees, &options, x, y, 1, 1), -EINVAL);
	assert_int_equal(kc_trees_fit(&trees, &one_tree, x, y, 1, 1), 0);
	assert_true(near(at(trees, 5), 3));
	kc_trees_free(trees);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_step_is_one_split),
	    cmocka_unit_test(each_tree_takes_its_share_of_what_is_left),
	    cmocka_unit_test(two_splits_deep_is_two_columns),
	    cmocka_unit_test(leaves_keep_their_least_size),
	    cmocka_unit_test(many_values_share_steps),
	    cmocka_unit_test(the_seed_alone_decides),
	    cmocka_unit_test(nothing_to_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
