/* What is asked of CUPTI, as its records show which id they carry. CUPTI is the test's. */
#include "shim/shim.h"
#include "shim/calls/calls.h"
#include "shim/worker/cupti/measuring.h"

#include <setjmp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct kc__state kc__shim;
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));

static uint32_t enabled; /* calls */

void kc__cupti_runtime_callbacks(const uint32_t *ids, size_t count)
{
	assert_non_null(ids);
	assert_true(count > 0);
	enabled++;
}

static int begin(void **state)
{
	(void)state;
	memset((void *)kc__shim.enclosing_of, 0, sizeof(kc__shim.enclosing_of));
	memset(&kc__thread, 0, sizeof(kc__thread));
	enabled = 0;
	kc__correlation_begin(false, true);
	return 0;
}

static void unmatched(enum kc__calls calls, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		kc__correlation_unmatched(calls);
}

static bool asked(enum kc__calls calls)
{
	return kc__shim.enclosing_of[calls];
}

static void the_drivers_id_alone_is_asked_for(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++)
		kc__correlation_matched(KC__LAUNCH_CALLS, false);
	assert_int_equal(enabled, 0);
	assert_false(asked(KC__LAUNCH_CALLS));
}

static void where_it_is_not_known_which_id_records_have_both_are_asked_for(void **state)
{
	kc__correlation_begin(true, false);
	assert_true(asked(KC__LAUNCH_CALLS) && asked(KC__GRAPH_CALLS) && !asked(KC__TRANSFER_CALLS));
	begin(state);
	kc__correlation_begin(true, true);
	assert_true(asked(KC__TRANSFER_CALLS));
	kc__correlation_matched(KC__TRANSFER_CALLS, false);
	assert_int_equal(enabled, 3);
}

static void where_records_match_nothing_the_runtimes_is_asked_for_as_well(void **state)
{
	(void)state;
	unmatched(KC__LAUNCH_CALLS, 7);
	assert_false(asked(KC__LAUNCH_CALLS));
	unmatched(KC__LAUNCH_CALLS, 1);
	assert_true(asked(KC__LAUNCH_CALLS));
	assert_false(asked(KC__TRANSFER_CALLS)); /* its records may be of the other kind */
	assert_int_equal(enabled, 1);
	unmatched(KC__LAUNCH_CALLS, 1000);
	assert_int_equal(enabled, 1);
}

/* Of a library that is not seen there are some, too. */
static void once_the_drivers_id_has_matched_it_takes_more_of_them(void **state)
{
	(void)state;
	unmatched(KC__GRAPH_CALLS, 7);
	kc__correlation_matched(KC__GRAPH_CALLS, false);
	unmatched(KC__GRAPH_CALLS, 56);
	assert_false(asked(KC__GRAPH_CALLS));
	unmatched(KC__GRAPH_CALLS, 1);
	assert_true(asked(KC__GRAPH_CALLS));
}

/* After another profiler, CUPTI has forgotten it. */
static void what_was_asked_for_is_asked_for_again(void **state)
{
	(void)state;
	unmatched(KC__TRANSFER_CALLS, 8);
	assert_int_equal(enabled, 1);
	kc__correlation_begin(false, true);
	assert_int_equal(enabled, 2);
	assert_true(asked(KC__TRANSFER_CALLS));
}

static void a_launch_has_the_id_of_the_runtime_call_it_is_in(void **state)
{
	(void)state;
	kc__correlation_runtime_call(6, true);
	kc__expect_ids(KC__LAUNCH_CALLS);
	assert_int_equal(kc__thread.enclosing, 0);
	unmatched(KC__LAUNCH_CALLS, 8);
	kc__expect_ids(KC__LAUNCH_CALLS);
	assert_int_equal(kc__thread.enclosing, 6);
	kc__correlation_runtime_call(6, false);
	assert_int_equal(kc__thread.enclosing, 6); /* until the launch has returned */
	kc__expect_ids(KC__LAUNCH_CALLS);
	assert_int_equal(kc__thread.enclosing, 0);
	/* Recorded at the runtime's level: the record is begun before CUPTI reports the call. */
	kc__thread.depth = 1;
	kc__correlation_runtime_call(8, true);
	kc__correlation_runtime_call(8, false);
	assert_int_equal(kc__thread.enclosing, 8);
}

/* What CUPTI 13.0 did to a thread that was in call 7 when callbacks were switched off (H100, driver 580). */
static void an_id_that_comes_again_is_not_used(void **state)
{
	(void)state;
	kc__expect_ids(KC__LAUNCH_CALLS);
	kc__correlation_driver_call(7);
	kc__correlation_driver_call(7); /* within the same call */
	assert_int_equal(kc__thread.correlation, 7);
	for (int i = 0; i < 3; i++) {
		kc__expect_ids(KC__LAUNCH_CALLS);
		kc__correlation_driver_call(7);
		assert_int_equal(kc__thread.correlation, 0);
	}
	kc__expect_ids(KC__LAUNCH_CALLS);
	kc__correlation_driver_call(9);
	assert_int_equal(kc__thread.correlation, 9);
	/* With the runtime's calls, driver calls within one have its id. */
	unmatched(KC__LAUNCH_CALLS, 64);
	kc__expect_ids(KC__LAUNCH_CALLS);
	kc__correlation_driver_call(9);
	assert_int_equal(kc__thread.correlation, 9);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_drivers_id_alone_is_asked_for),
	    TEST(where_it_is_not_known_which_id_records_have_both_are_asked_for),
	    TEST(where_records_match_nothing_the_runtimes_is_asked_for_as_well),
	    TEST(once_the_drivers_id_has_matched_it_takes_more_of_them),
	    TEST(what_was_asked_for_is_asked_for_again),
	    TEST(a_launch_has_the_id_of_the_runtime_call_it_is_in),
	    TEST(an_id_that_comes_again_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
