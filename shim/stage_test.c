/* What a refused launch or transfer is counted as, whatever the stage has become since it was refused. */
#include "shim.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct kc__state kc__shim;
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));
static bool room;

/* In the place of lifecycle.c */
bool kc__exit_allows(void)
{
	return room;
}

static bool was_paused(int stage, int64_t exit_ns)
{
	atomic_store(&kc__shim.stage, stage);
	atomic_store(&kc__shim.exit_ns, exit_ns);
	return kc__was_paused();
}

static void a_pause_that_has_ended_meanwhile_was_one(void **state)
{
	(void)state;
	assert_true(was_paused(KC__PAUSED, 0));
	assert_true(was_paused(KC__ON, 0));
	assert_true(was_paused(KC__COUNTED, 0));
	assert_true(was_paused(KC__PAUSED, 500)); /* the exit does not end a pause */
}

static void the_exit_is_no_pause_even_when_it_waits_no_longer(void **state)
{
	(void)state;
	assert_false(was_paused(KC__EXITING, 500));
	assert_false(was_paused(KC__ON, 500));
	assert_false(was_paused(KC__DISABLED, 500));
}

static void nothing_of_a_process_that_is_not_recorded_was_refused(void **state)
{
	(void)state;
	assert_false(was_paused(KC__OFF, 0));
	assert_false(was_paused(KC__DISABLED, 0));
}

static bool admitted(int stage, bool exit_allows)
{
	atomic_store(&kc__shim.stage, stage);
	room = exit_allows;
	return kc__admitted();
}

static void what_is_recorded_depends_on_the_stage_and_while_the_exit_waits_on_the_room_it_leaves(void **state)
{
	(void)state;
	assert_true(admitted(KC__ON, false));
	assert_true(admitted(KC__COUNTED, false));
	assert_true(admitted(KC__EXITING, true));
	assert_false(admitted(KC__EXITING, false));
	assert_false(admitted(KC__PAUSED, true));
	assert_false(admitted(KC__DISABLED, true));
	assert_false(admitted(KC__OFF, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_pause_that_has_ended_meanwhile_was_one),
	    cmocka_unit_test(the_exit_is_no_pause_even_when_it_waits_no_longer),
	    cmocka_unit_test(nothing_of_a_process_that_is_not_recorded_was_refused),
	    cmocka_unit_test(what_is_recorded_depends_on_the_stage_and_while_the_exit_waits_on_the_room_it_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
