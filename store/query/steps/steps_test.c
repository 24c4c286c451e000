/* Which step a launch call belongs to. */
#include "steps.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>

/* In the order of kc_steps_load(). Process 2: a step in another one; a gap; one that ends before it starts. */
static struct kc_step at[] = {
    {1, 9, 0, 50, 0},    {2, 1, 100, 200, 0}, {2, 2, 120, 150, 0},
    {2, 3, 300, 400, 0}, {2, 4, 400, 390, 0}, {3, 5, INT64_MIN, INT64_MAX, 0},
};
static const struct kc_steps steps = {{at, sizeof(at) / sizeof(*at), sizeof(at) / sizeof(*at)}};

static int64_t number_at(int64_t process, int64_t ns)
{
	const struct kc_step *step = kc_steps_find(&steps, process, ns);

	return step ? step->number : -1;
}

static void a_step_holds_its_start_and_not_its_end(void **state)
{
	(void)state;
	assert_int_equal(number_at(1, -1), -1);
	assert_int_equal(number_at(1, 0), 9);
	assert_int_equal(number_at(1, 49), 9);
	assert_int_equal(number_at(1, 50), -1);
	assert_int_equal(number_at(2, 99), -1);
	assert_int_equal(number_at(2, 300), 3);
}

static void the_step_that_began_last_decides(void **state)
{
	(void)state;
	assert_int_equal(number_at(2, 119), 1);
	assert_int_equal(number_at(2, 120), 2);
	assert_int_equal(number_at(2, 150), -1);
	assert_int_equal(number_at(2, 395), 3);
	assert_int_equal(number_at(2, 400), -1);
}

static void any_times_and_processes_are_looked_up(void **state)
{
	const struct kc_steps none = {{0}};

	(void)state;
	assert_int_equal(number_at(3, INT64_MIN), 5);
	assert_int_equal(number_at(3, INT64_MAX - 1), 5);
	assert_int_equal(number_at(3, INT64_MAX), -1);
	assert_int_equal(number_at(4, 0), -1);
	assert_int_equal(number_at(INT64_MIN, 0), -1);
	assert_int_equal(number_at(2, INT64_MAX), -1);
	assert_null(kc_steps_find(&none, 1, 0));
}

static void a_step_lasts_to_its_end_if_that_is_known(void **state)
{
	const struct kc_step open = {1, 9, 0, 50, 1};

	(void)state;
	assert_true(kc_step_time(at) == 50);
	assert_true(isnan(kc_step_time(at + 4))); /* ends before it starts */
	assert_true(isnan(kc_step_time(&open)));
	assert_true(kc_step_time(at + 5) == (double)INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_step_holds_its_start_and_not_its_end),
	    cmocka_unit_test(the_step_that_began_last_decides),
	    cmocka_unit_test(any_times_and_processes_are_looked_up),
	    cmocka_unit_test(a_step_lasts_to_its_end_if_that_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
