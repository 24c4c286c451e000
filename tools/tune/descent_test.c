#include "descent.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STEPS = 200 };

/* (x - 3)² + 100 (y + 1)² */
static double bowl(void *context, const double *at, double *slopes)
{
	(void)context;
	slopes[0] = 2 * (at[0] - 3);
	slopes[1] = 200 * (at[1] + 1);
	return (at[0] - 3) * (at[0] - 3) + 100 * (at[1] + 1) * (at[1] + 1);
}

/* Rosenbrock 1960: a bent valley, 0 at (1, 1). */
static double valley(void *context, const double *at, double *slopes)
{
	double off = at[1] - at[0] * at[0];

	++*(int *)context;
	slopes[0] = -400 * at[0] * off - 2 * (1 - at[0]);
	slopes[1] = 200 * off;
	return 100 * off * off + (1 - at[0]) * (1 - at[0]);
}

/* -log(1 - x²) + x: least at √2 - 1 below 0; nothing beyond ±1. */
static double between_walls(void *context, const double *at, double *slopes)
{
	(void)context;
	if (fabs(*at) >= 1)
		return INFINITY;
	*slopes = 2 * *at / (1 - *at * *at) + 1;
	return -log(1 - *at * *at) + *at;
}

static void the_bottom_of_a_bowl(void **state)
{
	double at[2] = {0, 0};

	(void)state;
	assert_int_equal(kc__descend(bowl, NULL, at, 2, STEPS), 0);
	assert_true(fabs(at[0] - 3) < 1e-2 && fabs(at[1] + 1) < 1e-3);
}

static void the_end_of_a_bent_valley(void **state)
{
	double at[2] = {-1.2, 1};
	int asked = 0;

	(void)state;
	assert_int_equal(kc__descend(valley, &asked, at, 2, STEPS), 0);
	assert_true(fabs(at[0] - 1) < 1e-2 && fabs(at[1] - 1) < 2e-2 && asked < STEPS);
}

static void walls_are_not_crossed(void **state)
{
	double at = 0.9;

	(void)state;
	assert_int_equal(kc__descend(between_walls, NULL, &at, 1, STEPS), 0);
	assert_true(fabs(at - (1 - sqrt(2))) < 1e-3);
	at = 2;
	assert_int_equal(kc__descend(between_walls, NULL, &at, 1, STEPS), -EDOM);
}

static void no_steps_no_move(void **state)
{
	double at[2] = {0, 0};

	(void)state;
	assert_int_equal(kc__descend(bowl, NULL, at, 2, 0), 0);
	assert_true(at[0] == 0 && at[1] == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_bottom_of_a_bowl),
	    cmocka_unit_test(the_end_of_a_bent_valley),
	    cmocka_unit_test(walls_are_not_crossed),
	    cmocka_unit_test(no_steps_no_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
