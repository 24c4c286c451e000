#include "student.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int near(double got, double wanted, double by)
{
	return fabs(got - wanted) <= by;
}

/* Closed forms: with 1 degree of freedom 1/2 - atan(t)/pi, with 2 (1 - t / sqrt(2 + t^2)) / 2. */
static void tails_in_closed_form(void **state)
{
	(void)state;
	assert_true(near(kc_student_tail(0, 7), 0.5, 1e-15));
	assert_true(near(kc_student_tail(1, 1), 0.25, 1e-14));
	assert_true(near(kc_student_tail(-1, 1), 0.75, 1e-14));
	assert_true(near(kc_student_tail(100, 1), 0.5 - atan(100) / M_PI, 1e-14));
	for (double t = 0.5; t < 50; t *= 2)
		assert_true(near(kc_student_tail(t, 2), (1 - t / sqrt(2 + t * t)) / 2, 1e-13));
}

/* The usual table of quantiles, three decimals. */
static void points_of_the_table(void **state)
{
	static const struct {
		double tail, df, t;
	} table[] = {{0.025, 1, 12.706}, {0.05, 5, 2.015},   {0.025, 10, 2.228}, {0.005, 30, 2.750},
		     {0.1, 15, 1.341},   {0.0005, 8, 5.041}, {0.025, 120, 1.980}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_true(near(kc_student_point(table[i].tail, table[i].df), table[i].t, 0.0006));
}

/* With many degrees of freedom it is nearly the normal distribution's, P(Z > t) for t = 0.01, 1 and 3: more by the
 * density at t times (t^3 + t) / (4 df) (Fisher, 1925). */
static void tails_of_many_degrees_of_freedom(void **state)
{
	static const double normal[][2] = {{0.01, 0.4960106437}, {1, 0.1586552539}, {3, 0.0013498980}};
	const double df = 1e5;

	(void)state;
	for (size_t i = 0; i < sizeof(normal) / sizeof(*normal); i++) {
		double t = normal[i][0], density = exp(-t * t / 2) / sqrt(2 * M_PI);

		assert_true(near(kc_student_tail(t, df), normal[i][1] + density * (t * t * t + t) / (4 * df), 1e-9));
	}
}

static void points_and_tails_agree(void **state)
{
	(void)state;
	for (double tail = 0.4; tail > 1e-12; tail /= 7)
		for (double df = 1.5; df < 1000; df *= 3)
			assert_true(near(kc_student_tail(kc_student_point(tail, df), df) / tail, 1, 1e-6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tails_in_closed_form),
	    cmocka_unit_test(points_of_the_table),
	    cmocka_unit_test(tails_of_many_degrees_of_freedom),
	    cmocka_unit_test(points_and_tails_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
