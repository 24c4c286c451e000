#include "report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of 1,000 ns measured: a has 600 at 10 % (60 ns mispredicted), b 300 at 50 %
 * (150 ns), c 100 and no prediction, d nothing measured. */
static void test_worst_first_is_by_mispredicted_time(void **state)
{
	struct kc_group groups[] = {
	    {.time_share = 0.6, .accuracy = {.mape_time_weighted = 0.1}},
	    {.time_share = 0.1, .accuracy = {.mape_time_weighted = NAN}},
	    {.time_share = 0.3, .accuracy = {.mape_time_weighted = 0.5}},
	    {.time_share = 0, .accuracy = {.mape_time_weighted = NAN}},
	};
	struct kc_groups all = {groups, 4};
	size_t *order = kc_report_worst_first(&all, 1000);

	(void)state;
	assert_non_null(order);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 0);
	assert_int_equal(order[2], 1);
	assert_int_equal(order[3], 3);
	free(order);
}

static void test_nothing_has_no_worst(void **state)
{
	struct kc_groups none = {NULL, 0};
	size_t *order = kc_report_worst_first(&none, NAN);

	(void)state;
	assert_non_null(order);
	free(order);
}

static void test_reasons_leave_out_what_is_zero(void **state)
{
	uint64_t counts[KC_UNMEASURED_COUNT] = {[KC_MEASURED] = 7, [KC_NO_CUPTI] = 1234, [KC_RECORD_DROPPED] = 1};
	char out[128], cut[12];

	(void)state;
	kc_report_reasons(counts, KC_UNMEASURED_COUNT, kc_unmeasured_name, out, sizeof(out));
	assert_string_equal(out, "1,234 no CUPTI, 1 record dropped");
	kc_report_reasons(counts, KC_UNMEASURED_COUNT, kc_unmeasured_name, cut, sizeof(cut));
	assert_string_equal(cut, "1,234 no cu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_worst_first_is_by_mispredicted_time),
	    cmocka_unit_test(test_nothing_has_no_worst),
	    cmocka_unit_test(test_reasons_leave_out_what_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
