#include "window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS 1000000ll

static struct kc__window_view view(int64_t ms, uint64_t launches, uint32_t unknown, bool awaiting)
{
	return (struct kc__window_view){ms * MS, launches, unknown, awaiting};
}

static void step(struct kc__window *window, struct kc__window_view seen, bool changes, enum kc__window_state state)
{
	assert_int_equal(kc__window_step(window, &seen), changes);
	assert_int_equal(window->state, state);
}

/* A window is 80 ms. Of a hundred launches, five that are not known well are a twentieth. */
static void test_measures_while_much_is_unknown(void **state)
{
	struct kc__window window = {0};

	(void)state;
	step(&window, view(79, 100, 0, true), false, KC__MEASURING);
	step(&window, view(80, 100, 6, true), true, KC__MEASURING);
	step(&window, view(159, 200, 0, true), false, KC__MEASURING);
	step(&window, view(160, 200, 5, true), true, KC__DRAINING);
}

static void test_measures_while_nothing_is_launched(void **state)
{
	struct kc__window window = {0};

	(void)state;
	step(&window, view(100, 0, 0, false), true, KC__MEASURING);
	step(&window, view(200, 0, 0, false), true, KC__MEASURING);
	step(&window, view(300, 20, 0, true), true, KC__DRAINING);
}

static void test_rests_when_all_that_is_awaited_has_come(void **state)
{
	struct kc__window window = {.state = KC__DRAINING};

	(void)state;
	step(&window, view(19, 0, 0, false), false, KC__DRAINING); /* a call may be under way */
	step(&window, view(20, 0, 0, true), false, KC__DRAINING);
	step(&window, view(21, 0, 0, false), true, KC__RESTING);
	window = (struct kc__window){.state = KC__DRAINING};
	step(&window, view(499, 0, 0, true), false, KC__DRAINING);
	step(&window, view(500, 0, 0, true), true, KC__RESTING); /* a record that does not come holds up nothing */
}

static void test_measures_again_a_second_later(void **state)
{
	struct kc__window window = {.state = KC__RESTING};

	(void)state;
	step(&window, view(919, 1000, 0, false), false, KC__RESTING);
	step(&window, view(920, 1000, 0, false), true, KC__MEASURING);
	assert_int_equal(window.since_ns, 920 * MS);
	assert_int_equal(window.launches, 1000);
}

static void test_measures_again_at_once_where_much_is_new(void **state)
{
	struct kc__window window = {.state = KC__RESTING};

	(void)state;
	step(&window, view(5, 4, 4, false), false, KC__RESTING); /* a few launches are no reason */
	step(&window, view(6, 100, 5, false), false, KC__RESTING);
	step(&window, view(7, 100, 6, false), true, KC__MEASURING);
}

/* Intervals are to hold nine of ten: two misses in eight happen by chance (19 %), three seldom (4 %). */
static void test_what_is_known_well(void **state)
{
	(void)state;
	assert_false(kc__window_known_well(0));
	assert_false(kc__window_known_well(0x1f));
	assert_true(kc__window_known_well(0x3f));
	assert_true(kc__window_known_well(0xf9));
	assert_false(kc__window_known_well(0xf8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_measures_while_much_is_unknown),
	    cmocka_unit_test(test_measures_while_nothing_is_launched),
	    cmocka_unit_test(test_rests_when_all_that_is_awaited_has_come),
	    cmocka_unit_test(test_measures_again_a_second_later),
	    cmocka_unit_test(test_measures_again_at_once_where_much_is_new),
	    cmocka_unit_test(test_what_is_known_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
