#include "gauss.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIDE = 12, GRID = SIDE * SIDE, SOME_ROWS = 15, SOME_COLUMNS = 3 };

/* Amplitudes, shares, lengths and noise of 1. */
static const double ones[10] = {0};
static const struct kc_gauss_options options = {.steps = 60, .scale_rows = 100};

static int near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* How alike 0 and 1 are: each part is (1 + likeness) / 2, of e^-1/2, (1 + √3) e^-√3 and e^-1. */
static double one_apart(void)
{
	return (3 + exp(-0.5) + (1 + sqrt(3)) * exp(-sqrt(3)) + exp(-1)) / 2;
}

static double at(const struct kc_gauss *gauss, double x)
{
	double out;

	assert_int_equal(kc_gauss_predict(gauss, &x, 1, &out), 0);
	return out;
}

/* K is 1 + 1 + 1 + noise of 1. */
static void one_row_pulls_by_how_alike_it_is(void **state)
{
	double x = 0, y = 4;
	struct kc_gauss *gauss;

	(void)state;
	assert_int_equal(kc__gauss_with(&gauss, ones, &x, &y, 1, 1), 0);
	assert_true(near(at(gauss, 0), 3));
	assert_true(near(at(gauss, 1), one_apart()));
	/* Shares of 1: half of the likeness is there whatever the distance. */
	assert_true(near(at(gauss, 1e6), 1.5));
	kc_gauss_free(gauss);
}

/* K = (4 c; c 4), K⁻¹·(1, 2) = (4 - 2c, 8 - c) / (16 - c²). */
static void two_rows_by_hand(void **state)
{
	double x[2] = {0, 1}, y[2] = {1, 2}, c = one_apart();
	struct kc_gauss *gauss;

	(void)state;
	assert_int_equal(kc__gauss_with(&gauss, ones, x, y, 2, 1), 0);
	assert_true(near(at(gauss, 0), (3 * (4 - 2 * c) + c * (8 - c)) / (16 - c * c)));
	assert_true(near(at(gauss, 1), (c * (4 - 2 * c) + 3 * (8 - c)) / (16 - c * c)));
	kc_gauss_free(gauss);
}

/* Equation 5.8 with one value of variance 4: y² / 8 + log(4) / 2. */
static void the_likelihood_of_one_value(void **state)
{
	double x = 0, y = 4, neg_log_likelihood, slopes[10];
	struct kc_gauss *gauss;

	(void)state;
	assert_int_equal(kc__gauss_scales(1), 10);
	assert_int_equal(kc__gauss_with(&gauss, ones, &x, &y, 1, 1), 0);
	assert_int_equal(kc__gauss_neg_log_likelihood(gauss, ones, &neg_log_likelihood, slopes), 0);
	assert_true(near(neg_log_likelihood, 2 + log(2)));
	/* By the noise n, d/d log n = n · (-y² / K² + 1 / K) / 2. */
	assert_true(near(slopes[9], (-16.0 / 16 + 1.0 / 4) / 2));
	kc_gauss_free(gauss);
}

static void slopes_are_those_of_finite_differences(void **state)
{
	double x[SOME_ROWS * SOME_COLUMNS], y[SOME_ROWS], scales[64], slopes[64], spare[64], above, below;
	uint32_t count = kc__gauss_scales(SOME_COLUMNS);
	struct kc_gauss *gauss;

	(void)state;
	for (int i = 0; i < SOME_ROWS * SOME_COLUMNS; i++)
		x[i] = i * 37 % 11 / 4.0;
	for (int i = 0; i < SOME_ROWS; i++)
		y[i] = sin(x[SOME_COLUMNS * i]) + i * 7 % 5 / 5.0;
	for (uint32_t i = 0; i < count; i++)
		scales[i] = (i * 5 % 7) / 4.0 - 1;
	assert_int_equal(kc__gauss_with(&gauss, scales, x, y, SOME_ROWS, SOME_COLUMNS), 0);
	assert_int_equal(kc__gauss_neg_log_likelihood(gauss, scales, &above, slopes), 0);
	for (uint32_t i = 0; i < count; i++) {
		const double step = 1e-5;

		scales[i] += step;
		assert_int_equal(kc__gauss_neg_log_likelihood(gauss, scales, &above, spare), 0);
		scales[i] -= 2 * step;
		assert_int_equal(kc__gauss_neg_log_likelihood(gauss, scales, &below, spare), 0);
		scales[i] += step;
		assert_true(fabs((above - below) / (2 * step) - slopes[i]) < 1e-6 * (1 + fabs(slopes[i])));
	}
	kc_gauss_free(gauss);
}

/* What matters in steps of 0.25, what matters not, and a column that never changes. */
static void a_smooth_surface_is_followed(void **state)
{
	static double x[GRID * 3], y[GRID], some[GRID * 3], known[GRID], out[GRID];
	struct kc_gauss *gauss;
	uint32_t n = 0;

	(void)state;
	for (int i = 0; i < GRID; i++) {
		x[3 * i] = 0.25 * (i / SIDE);
		x[3 * i + 1] = i * 31 % 13;
		x[3 * i + 2] = 0.25 * (i % SIDE);
		y[i] = 100 + 10 * sin(x[3 * i]) * cos(x[3 * i + 2]);
	}
	for (int i = 0; i < GRID; i += 2 + i % 3) {
		known[n] = y[i];
		for (int c = 0; c < 3; c++)
			some[3 * n + (uint32_t)c] = x[3 * i + c];
		n++;
	}
	assert_int_equal(kc_gauss_fit(&gauss, &options, some, known, n, 3), 0);
	assert_int_equal(kc_gauss_predict(gauss, x, GRID, out), 0);
	for (int i = 0; i < GRID; i++)
		assert_true(fabs(out[i] - y[i]) < 0.5);
	kc_gauss_free(gauss);
}

static void values_all_alike_are_kept(void **state)
{
	double x[4] = {1, 2, 3, 4}, y[4] = {5, 5, 5, 5}, still[4] = {7, 7, 7, 7};
	struct kc_gauss *gauss;

	(void)state;
	assert_int_equal(kc_gauss_fit(&gauss, &options, x, y, 4, 1), 0);
	assert_true(near(at(gauss, 9), 5));
	kc_gauss_free(gauss);
	assert_int_equal(kc_gauss_fit(&gauss, &options, still, x, 4, 1), 0);
	assert_true(near(at(gauss, 7), 2.5));
	kc_gauss_free(gauss);
}

/* A tenth of 1, ten times, is not quite 1: a column of ones is alike all the same, and 0 not far from it. */
static void a_column_of_ones_says_little(void **state)
{
	double x[20], y[10], asked[2][2] = {{8, 1}, {8, 0}}, out[2];
	struct kc_gauss *gauss;

	(void)state;
	for (int i = 0; i < 10; i++) {
		x[2 * i] = y[i] = i;
		x[2 * i + 1] = 1;
	}
	assert_int_equal(kc_gauss_fit(&gauss, &options, x, y, 10, 2), 0);
	assert_int_equal(kc_gauss_predict(gauss, asked[0], 2, out), 0);
	assert_true(fabs(out[0] - 8) < 0.1);
	assert_true(fabs(out[1] - out[0]) < 0.3);
	kc_gauss_free(gauss);
}

static void nothing_to_fit_is_refused(void **state)
{
	static const struct kc_gauss_options none = {.steps = 1, .scale_rows = 0};
	double x = 0, y = 0;
	struct kc_gauss *gauss;

	(void)state;
	assert_int_equal(kc_gauss_fit(&gauss, &options, &x, &y, 0, 1), -EINVAL);
	assert_int_equal(kc_gauss_fit(&gauss, &options, &x, &y, 1, 0), -EINVAL);
	assert_int_equal(kc_gauss_fit(&gauss, &none, &x, &y, 1, 1), -EINVAL);
	kc_gauss_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_row_pulls_by_how_alike_it_is),
	    cmocka_unit_test(two_rows_by_hand),
	    cmocka_unit_test(the_likelihood_of_one_value),
	    cmocka_unit_test(slopes_are_those_of_finite_differences),
	    cmocka_unit_test(a_smooth_surface_is_followed),
	    cmocka_unit_test(values_all_alike_are_kept),
	    cmocka_unit_test(a_column_of_ones_says_little),
	    cmocka_unit_test(nothing_to_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
