#include "dense.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int near(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

/* [4 2; 2 5] = [2 0; 1 2]·[2 1; 0 2] */
static void a_matrix_is_the_square_of_its_factor(void **state)
{
	double a[4] = {4, NAN, 2, 5}, b[2] = {2, 5};

	(void)state;
	assert_int_equal(kc__cholesky(a, 2), 0);
	assert_true(near(a[0], 2));
	assert_true(near(a[2], 1));
	assert_true(near(a[3], 2));
	kc__solve_lower(a, 2, b); /* 2x = 2; x + 2y = 5 */
	assert_true(near(b[0], 1));
	assert_true(near(b[1], 2));
	kc__solve_upper(a, 2, b); /* 2y = 2; 2x + y = 1 */
	assert_true(near(b[1], 1));
	assert_true(near(b[0], 0));
}

static void what_has_no_root_is_refused(void **state)
{
	double a[4] = {1, 0, 2, 1}; /* determinant 1 - 4 */

	(void)state;
	assert_int_equal(kc__cholesky(a, 2), -EDOM);
}

/* y = 1 + 2x through (0, 1), (1, 3), (2, 5); with a ridge on one column the coefficient shrinks: Σxy / (Σxx + ridge) */
static void a_line_is_found_and_shrunk(void **state)
{
	double line[6] = {1, 0, 1, 1, 1, 2}, y[3] = {1, 3, 5}, one[2] = {1, 2}, values[2] = {2, 4};
	double coefficients[2], work[4];

	(void)state;
	assert_int_equal(kc__ridge(line, y, 3, 2, 0, coefficients, work), 0);
	assert_true(near(coefficients[0], 1));
	assert_true(near(coefficients[1], 2));
	assert_int_equal(kc__ridge(one, values, 2, 1, 5, coefficients, work), 0);
	assert_true(near(coefficients[0], 1)); /* 10 / (5 + 5) */
}

/* [2 1; 1 2]: 3 along (1, 1), 1 along (1, -1) */
static void eigenvalues_come_largest_first(void **state)
{
	double a[4] = {2, 1, 1, 2}, values[2], vectors[4];

	(void)state;
	kc__eigen(a, 2, values, vectors);
	assert_true(near(values[0], 3));
	assert_true(near(values[1], 1));
	assert_true(near(vectors[0], vectors[2]));
	assert_true(near(fabs(vectors[0]), sqrt(0.5)));
	assert_true(near(vectors[1], -vectors[3]));
}

/* The second difference of four points: 2 - 2 cos(k·π / 5) */
static void a_known_spectrum_is_found(void **state)
{
	double a[16] = {2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2}, values[4], vectors[16];

	(void)state;
	kc__eigen(a, 4, values, vectors);
	for (int k = 1; k <= 4; k++)
		assert_true(near(values[4 - k], 2 - 2 * cos(k * M_PI / 5)));
}

static void no_matrix_is_no_work(void **state)
{
	double a[1] = {0}, values[1], vectors[1];

	(void)state;
	kc__eigen(a, 1, values, vectors);
	assert_true(near(values[0], 0));
	assert_true(near(vectors[0], 1));
	assert_int_equal(kc__cholesky(a, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_matrix_is_the_square_of_its_factor),
	    cmocka_unit_test(what_has_no_root_is_refused),
	    cmocka_unit_test(a_line_is_found_and_shrunk),
	    cmocka_unit_test(eigenvalues_come_largest_first),
	    cmocka_unit_test(a_known_spectrum_is_found),
	    cmocka_unit_test(no_matrix_is_no_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
