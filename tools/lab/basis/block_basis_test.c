#include "block_basis.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b) + 1e-9;
}

static void rows_of_one_direction_are_one_component(void **state)
{
	double rows[6] = {1, 2, 4, 10, 20, 40}, rate = 6, out[3];
	uint32_t timed = 1;
	struct kc_basis basis;

	(void)state;
	assert_int_equal(kc_basis_train(&basis, rows, 2, 3), 0);
	assert_int_equal(basis.components, 2);
	assert_true(near(basis.values[0], sqrt(2)));
	assert_true(fabs(basis.values[1]) < 1e-6);
	assert_true(near(fabs(basis.vectors[0][1]), 2 / sqrt(21)));
	assert_int_equal(kc_basis_fit(&basis, 1, &timed, &rate, 1, out), 0);
	/* One point, one coefficient: v² / (v² + ridge) of it, v² = 4 / 21, ridge = 0.001 / 3. */
	assert_true(near(out[2], 12 * (4.0 / 21) / (4.0 / 21 + 0.001 / 3)));
}

/* e1 twice, e2 once. */
static void singular_values_are_those_of_the_rows(void **state)
{
	double rows[6] = {1, 0, 1, 0, 0, 1};
	struct kc_basis basis;

	(void)state;
	assert_int_equal(kc_basis_train(&basis, rows, 3, 2), 0);
	assert_true(near(basis.values[0], sqrt(2)) && near(basis.values[1], 1));
	assert_true(near(fabs(basis.vectors[0][0]), 1) && near(fabs(basis.vectors[1][1]), 1));
}

/* (1, 1, 1, 1) and (1, 2, 3, 4) span every straight line. */
static void two_components_continue_a_line(void **state)
{
	double rows[8] = {1, 1, 1, 1, 1, 2, 3, 4}, rising[3] = {3, 4, 5}, falling[3] = {3, 2, 1}, out[4];
	uint32_t timed[3] = {0, 1, 2};
	struct kc_basis basis;

	(void)state;
	assert_int_equal(kc_basis_train(&basis, rows, 2, 4), 0);
	assert_int_equal(kc_basis_fit(&basis, 2, timed, rising, 3, out), 0);
	assert_true(fabs(out[3] - 6) < 1e-4);
	/* No rate of 0: a tenth of the smallest timed one. */
	assert_int_equal(kc_basis_fit(&basis, 2, timed, falling, 3, out), 0);
	assert_true(near(out[3], 0.1));
	assert_int_equal(kc_basis_fit(&basis, 3, timed, rising, 3, out), -EINVAL);
	assert_int_equal(kc_basis_fit(&basis, 0, timed, rising, 3, out), -EINVAL);
	assert_int_equal(kc_basis_fit(&basis, 1, timed, rising, 0, out), -EINVAL);
}

static void components_are_chosen_on_kernels_left_out(void **state)
{
	/* Three kernels, each two rows: lines of any slope, six columns. */
	double lines[6 * 6], same[6 * 6], error;
	uint32_t groups[6] = {1, 1, 2, 2, 3, 3}, one[6] = {5, 5, 5, 5, 5, 5}, timed[4] = {0, 1, 3, 5};

	(void)state;
	for (int i = 0; i < 6; i++)
		for (int c = 0; c < 6; c++) {
			lines[i * 6 + c] = 10 + (i - 2.5) * c / 2;
			same[i * 6 + c] = (1 + i) * (1 + c);
		}
	assert_int_equal(kc_basis_choose(lines, groups, 6, 6, timed, 4, &error), 2);
	assert_true(error < 1e-6);
	assert_int_equal(kc_basis_choose(same, groups, 6, 6, timed, 3, &error), 1);
	assert_true(error < 1e-6);
	assert_int_equal(kc_basis_choose(lines, one, 6, 6, timed, 4, &error), 1);
	assert_true(isnan(error));
}

static void nothing_to_train_on_is_refused(void **state)
{
	double row[KC_BASIS_COLUMNS + 1] = {1};
	struct kc_basis basis;

	(void)state;
	assert_int_equal(kc_basis_train(&basis, row, 0, 2), -EINVAL);
	assert_int_equal(kc_basis_train(&basis, row, 1, 0), -EINVAL);
	assert_int_equal(kc_basis_train(&basis, row, 1, KC_BASIS_COLUMNS + 1), -EINVAL);
	assert_int_equal(kc_basis_train(&basis, row, 1, KC_BASIS_COLUMNS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_of_one_direction_are_one_component),
	    cmocka_unit_test(singular_values_are_those_of_the_rows),
	    cmocka_unit_test(two_components_continue_a_line),
	    cmocka_unit_test(components_are_chosen_on_kernels_left_out),
	    cmocka_unit_test(nothing_to_train_on_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
