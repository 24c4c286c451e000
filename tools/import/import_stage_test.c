#include "import_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int keep(const struct kc_trace_row *row, void *arg)
{
	*(struct kc_trace_row *)arg = *row;
	return 0;
}

/* An operation at start_ns whose launch call was at launch_ns; times count from the start. */
static int64_t launched_ns(int64_t start_ns, int64_t launch_ns)
{
	struct kc_trace_row row = kc_trace_row_unknown, taken;
	struct kc_stage *stage;

	row.start_ns = start_ns;
	row.duration_ns = 1;
	row.correlation = 7;
	assert_int_equal(kc_stage_new(&stage), 0);
	assert_int_equal(kc_stage_add(stage, &row), 0);
	assert_int_equal(kc_stage_call(stage, "", "", 7, launch_ns), 0);
	assert_int_equal(kc_stage_take(stage, start_ns, 0, keep, &taken), 0);
	kc_stage_free(stage);
	assert_int_equal(taken.start_ns, 0);
	return taken.launch_ns;
}

static void a_call_counts_from_the_first_operation(void **state)
{
	(void)state;
	assert_int_equal(launched_ns(1000, 900), -100);
	assert_int_equal(launched_ns(KC_TRACE_LAST_NS, KC_TRACE_FIRST_NS), KC_TRACE_FIRST_NS - KC_TRACE_LAST_NS);
	assert_int_equal(launched_ns(KC_TRACE_FIRST_NS, KC_TRACE_LAST_NS), KC_TRACE_LAST_NS - KC_TRACE_FIRST_NS);
}

static void a_call_at_an_impossible_time_is_none(void **state)
{
	(void)state;
	assert_int_equal(launched_ns(1000, KC_TRACE_LAST_NS + 1), KC_TRACE_UNKNOWN);
	assert_int_equal(launched_ns(1000, KC_TRACE_FIRST_NS - 1), KC_TRACE_UNKNOWN);
	assert_int_equal(launched_ns(1000, INT64_MIN + 1), KC_TRACE_UNKNOWN);
	assert_int_equal(launched_ns(-1000, INT64_MAX), KC_TRACE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_call_counts_from_the_first_operation),
	    cmocka_unit_test(a_call_at_an_impossible_time_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
