#include "report_forms.h"

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

/* The second and the third have as much error: they stay in their order. The fourth was not measured. */
static void test_other_orders_are_by_one_column(void **state)
{
	struct kc_group groups[] = {
	    {.time_share = 0.6, .launches = 10, .accuracy = {.mape = 0.1}},
	    {.time_share = 0.3, .launches = 30, .accuracy = {.mape = 0.5}},
	    {.time_share = 0.1, .launches = 20, .accuracy = {.mape = 0.5}},
	    {.time_share = 0, .launches = 40, .accuracy = {.mape = NAN}},
	};
	static const struct {
		enum kc_sort by;
		size_t order[4];
	} cases[] = {{KC_SORT_TIME, {0, 1, 2, 3}}, {KC_SORT_ERROR, {1, 2, 0, 3}}, {KC_SORT_COUNT, {3, 1, 2, 0}}};
	struct kc_groups all = {groups, 4};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t *order = kc_report_order(&all, 1000, cases[i].by);

		assert_non_null(order);
		assert_memory_equal(order, cases[i].order, sizeof(cases[i].order));
		free(order);
	}
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

static void test_nothing_measured_says_why(void **state)
{
	struct kc_ledger imported = {.launches = 5, .unpredictable_total = 5, .unpredictable[KC_IMPORTED] = 5};
	struct kc_ledger refused = {.launches = 5, .unpredictable_total = 5, .unpredictable[KC_TABLE_FULL] = 5};
	struct kc_ledger off = {
	    .launches = 2000, .predicted = 2000, .unmeasured_total = 2000, .unmeasured[KC_MEASURE_OFF] = 2000};
	struct kc_ledger busy = {.launches = 3,
				 .predicted = 3,
				 .unmeasured_total = 3,
				 .unmeasured = {[KC_MEASURE_OFF] = 1, [KC_PROFILER_BUSY] = 2}};
	struct kc_ledger some = {.launches = 3, .predicted = 3, .matched = 1};
	char out[256];

	(void)state;
	assert_string_equal(kc_report_nothing(&imported, "k.db", out, sizeof(out)),
			    "Imported: 5 launches are measured, none is predicted yet. Next: kerncast replay k.db");
	assert_string_equal(kc_report_nothing(&imported, NULL, out, sizeof(out)),
			    "Imported: 5 launches are measured. None is predicted, as no GPU is NVIDIA's.");
	assert_string_equal(kc_report_nothing(&refused, "k.db", out, sizeof(out)),
			    "NO PREDICTION: none of 5 launches could be predicted (5 table full).");
	assert_string_equal(kc_report_nothing(&off, "k.db", out, sizeof(out)),
			    "Not measured: --measure=off. Accuracy unknown for all 2,000 launches.");
	assert_string_equal(kc_report_nothing(&busy, "k.db", out, sizeof(out)),
			    "NO MEASUREMENT: accuracy unknown for all 3 launches (1 measure off, 2 profiler busy). "
			    "`kerncast doctor` names the problems.");
	assert_string_equal(kc_report_nothing(&some, "k.db", out, sizeof(out)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_worst_first_is_by_mispredicted_time),
	    cmocka_unit_test(test_other_orders_are_by_one_column),
	    cmocka_unit_test(test_nothing_has_no_worst),
	    cmocka_unit_test(test_reasons_leave_out_what_is_zero),
	    cmocka_unit_test(test_nothing_measured_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
