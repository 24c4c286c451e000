#include "median.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_are_sorted(void **state)
{
	double values[] = {2, -1, 1e300, 0.5, 2}, wanted[] = {-1, 0.5, 2, 2, 1e300};

	(void)state;
	kc_sort(values, 5);
	assert_memory_equal(values, wanted, sizeof(wanted));
}

static void the_middle_or_the_mean_of_two(void **state)
{
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

	(void)state;
	assert_true(fabs(kc_median(odd, 3) - 2) < 1e-12);
	assert_true(fabs(kc_median(even, 4) - 2.5) < 1e-12);
	assert_true(isnan(kc_median(odd, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_sorted),
	    cmocka_unit_test(the_middle_or_the_mean_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
