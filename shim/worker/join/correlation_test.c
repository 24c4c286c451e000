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

static uint32_t enabled, disabled; /* calls */
static size_t asked_now;           /* ids whose callbacks come */

void kc__cupti_runtime_callbacks(const uint32_t *ids, size_t count, bool enable)
{
	assert_non_null(ids);
	assert_true(count > 0);
	if (enable) {
		enabled++;
		asked_now += count;
	} else {
		disabled++;
		asked_now -= count;
	}
}

static int begin(void **state)
{
	(void)state;
	memset((void *)kc__shim.enclosing_of, 0, sizeof(kc__shim.enclosing_of));
	memset(&kc__thread, 0, sizeof(kc__thread));
	enabled = disabled = 0;
	asked_now = 0;
	return 0;
}

static void matched(enum kc__calls calls, uint32_t times, bool by_enclosing)
{
	for (uint32_t i = 0; i < times; i++)
		kc__correlation_matched(calls, by_enclosing);
}

static bool asked(enum kc__calls calls)
{
	return kc__shim.enclosing_of[calls];
}

static void both_ids_are_asked_for_at_first(void **state)
{
	(void)state;
	kc__correlation_begin(true);
	assert_true(asked(KC__LAUNCH_CALLS) && asked(KC__GRAPH_CALLS) && asked(KC__TRANSFER_CALLS));
	assert_int_equal(enabled, 3);
	begin(state);
	kc__correlation_begin(false);
	assert_false(asked(KC__TRANSFER_CALLS));
	assert_int_equal(enabled, 2);
}

static void once_records_carry_the_drivers_id_the_runtimes_is_asked_for_no_more(void **state)
{
	size_t all;

	(void)state;
	kc__correlation_begin(true);
	all = asked_now;
	matched(KC__LAUNCH_CALLS, 63, false);
	assert_int_equal(disabled, 0);
	matched(KC__LAUNCH_CALLS, 1, false);
	assert_int_equal(disabled, 1);
	assert_true(asked_now < all);
	assert_false(asked(KC__LAUNCH_CALLS));
	assert_true(asked(KC__TRANSFER_CALLS)); /* its records may be of the other kind */
	matched(KC__LAUNCH_CALLS, 1000, false);
	assert_int_equal(disabled, 1);
}

static void where_records_carry_the_runtimes_id_both_stay(void **state)
{
	(void)state;
	kc__correlation_begin(true);
	matched(KC__LAUNCH_CALLS, 1, true);
	matched(KC__LAUNCH_CALLS, 1000, false);
	assert_int_equal(disabled, 0);
	assert_true(asked(KC__LAUNCH_CALLS));
}

static void when_nothing_matches_any_more_both_are_asked_for_again(void **state)
{
	(void)state;
	kc__correlation_begin(true);
	for (int i = 0; i < 1000; i++)
		kc__correlation_unmatched(KC__LAUNCH_CALLS); /* of a library that is not seen */
	matched(KC__LAUNCH_CALLS, 64, false);
	assert_false(asked(KC__LAUNCH_CALLS));
	for (int i = 0; i < 63; i++)
		kc__correlation_unmatched(KC__LAUNCH_CALLS);
	assert_false(asked(KC__LAUNCH_CALLS));
	kc__correlation_unmatched(KC__LAUNCH_CALLS);
	assert_true(asked(KC__LAUNCH_CALLS));
	matched(KC__LAUNCH_CALLS, 1000, false);
	assert_true(asked(KC__LAUNCH_CALLS));
}

static void a_launch_has_the_id_of_the_runtime_call_it_is_in(void **state)
{
	(void)state;
	kc__correlation_begin(true);
	kc__correlation_runtime_call(6, true);
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

/* A thread that was in a runtime call when its callbacks ceased does not hear of the call's end. */
static void an_old_runtime_call_is_not_taken_for_the_present_one(void **state)
{
	(void)state;
	kc__correlation_begin(true);
	kc__correlation_runtime_call(6, true);
	matched(KC__LAUNCH_CALLS, 64, false);
	kc__expect_ids(KC__LAUNCH_CALLS);
	assert_int_equal(kc__thread.enclosing, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(both_ids_are_asked_for_at_first),
	    TEST(once_records_carry_the_drivers_id_the_runtimes_is_asked_for_no_more),
	    TEST(where_records_carry_the_runtimes_id_both_stay),
	    TEST(when_nothing_matches_any_more_both_are_asked_for_again),
	    TEST(a_launch_has_the_id_of_the_runtime_call_it_is_in),
	    TEST(an_old_runtime_call_is_not_taken_for_the_present_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
