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

/* 0 to 99 in another order, and values that are equal. */
static void quantiles_are_those_of_the_sorted_values(void **state)
{
	double values[100], equal[] = {7, 7, 1, 7, 7}, one[] = {3};

	(void)state;
	for (int i = 0; i < 100; i++)
		values[i] = i * 37 % 100;
	assert_true(kc_quantile(values, 100, 0) == 0);
	assert_true(kc_quantile(values, 100, 1) == 99);
	assert_true(fabs(kc_quantile(values, 100, 0.5) - 49.5) < 1e-12);
	assert_true(fabs(kc_quantile(values, 100, 0.1) - 9.9) < 1e-12);
	assert_true(kc_quantile(equal, 5, 0.5) == 7 && kc_quantile(equal, 5, 0) == 1);
	assert_true(kc_quantile(one, 1, 0.9) == 3);
}

/* Whatever the order, up to one in which each round finds the least value of those that are left. */
static void a_place_is_found_in_any_order(void **state)
{
	enum { COUNT = 4096 };
	static double values[COUNT];
	static size_t at[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		values[i] = (double)(i % 2 ? i : COUNT - i);
	kc_select(values, COUNT, COUNT / 2);
	for (size_t i = 0; i < COUNT; i++)
		assert_true(i < COUNT / 2 ? values[i] <= values[COUNT / 2] : values[i] >= values[COUNT / 2]);
	for (size_t i = 0; i < COUNT; i++)
		at[i] = i;
	for (size_t low = 0; low < COUNT / 2; low++) { /* where FIND has the middle value after so many exchanges */
		size_t middle = at[COUNT / 2];

		values[middle] = (double)low;
		at[COUNT / 2] = at[low];
		at[low] = middle;
	}
	for (size_t i = COUNT / 2; i < COUNT; i++)
		values[at[i]] = (double)i;
	kc_select(values, COUNT, COUNT / 2);
	assert_true(values[COUNT / 2] == COUNT / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_sorted),
	    cmocka_unit_test(the_middle_or_the_mean_of_two),
	    cmocka_unit_test(quantiles_are_those_of_the_sorted_values),
	    cmocka_unit_test(a_place_is_found_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
