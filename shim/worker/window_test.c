#include "window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS 1000000ll

static struct kc__window_view view(int64_t ms, uint64_t launches, uint32_t unknown, bool awaiting)
{
	return (struct kc__window_view){
	    .now_ns = ms * MS, .launches = launches, .unknown = unknown, .awaiting = awaiting};
}

static struct kc__window_view drifting(int64_t ms, uint64_t launches)
{
	return (struct kc__window_view){.now_ns = ms * MS, .launches = launches, .drifts = true};
}

static void step(struct kc__window *window, struct kc__window_view seen, bool changes, enum kc__window_state state)
{
	assert_int_equal(kc__window_step(window, &seen), changes);
	assert_int_equal(window->state, state);
}

static struct kc__window in_state(enum kc__window_state state, uint64_t rest)
{
	struct kc__window window = kc__window_begin(0, 0);

	window.state = state;
	window.learning = false;
	window.rest = rest;
	window.share.size = rest / 8;
	return window;
}

/* Half a second. Of a hundred launches, five that are not known well are a twentieth. */
static void test_measures_all_while_much_is_unknown(void **state)
{
	struct kc__window window = kc__window_begin(0, 0);

	(void)state;
	step(&window, view(499, 100, 0, true), false, KC__MEASURING);
	step(&window, view(500, 101, 6, true), true, KC__MEASURING);
	step(&window, view(999, 200, 0, true), false, KC__MEASURING);
	step(&window, view(1000, 201, 5, true), true, KC__DRAINING);
}

static void test_time_in_which_nothing_is_launched_does_not_count(void **state)
{
	struct kc__window window = kc__window_begin(0, 0);

	(void)state;
	step(&window, view(600, 0, 0, false), false, KC__MEASURING);
	step(&window, view(1099, 20, 0, true), false, KC__MEASURING);
	step(&window, view(1500, 20, 0, true), false, KC__MEASURING);
	step(&window, view(1501, 21, 0, true), true, KC__DRAINING);
	window = in_state(KC__MEASURING, 1000);
	step(&window, view(700, 0, 0, false), false, KC__MEASURING);
	step(&window, view(729, 1, 0, true), false, KC__MEASURING);
	step(&window, view(900, 1, 0, true), false, KC__MEASURING);
	step(&window, view(901, 2, 0, true), true, KC__DRAINING);
}

/* Made in bursts, 1,024 launches in half a second are enough to tell, too. */
static void test_bursts_are_learned_from_however_short(void **state)
{
	struct kc__window window = kc__window_begin(0, 0), same;

	(void)state;
	step(&window, view(399, 0, 0, false), false, KC__MEASURING);
	step(&window, view(400, 1023, 0, true), false, KC__MEASURING);
	step(&window, view(500, 1023, 0, true), false, KC__MEASURING);
	same = window;
	step(&window, view(501, 1024, 0, true), true, KC__DRAINING);
	step(&same, view(501, 1024, 52, true), true, KC__MEASURING); /* 51.2 are a twentieth */
	window = kc__window_begin(0, 0);
	step(&window, view(498, 0, 0, false), false, KC__MEASURING);
	step(&window, view(499, 2000, 0, true), false, KC__MEASURING);
	step(&window, view(500, 2000, 0, true), true, KC__DRAINING);
}

static void test_rests_when_all_that_is_awaited_has_come(void **state)
{
	struct kc__window window = in_state(KC__DRAINING, 0);

	(void)state;
	step(&window, view(19, 0, 0, false), false, KC__DRAINING); /* a call may be under way */
	step(&window, view(20, 0, 0, true), false, KC__DRAINING);
	step(&window, view(21, 0, 0, false), true, KC__RESTING);
	window = in_state(KC__DRAINING, 0);
	step(&window, view(499, 0, 0, true), false, KC__DRAINING);
	step(&window, view(500, 0, 0, true), true, KC__RESTING); /* a record that does not come holds up nothing */
}

static struct kc__window_view in_window(int64_t ms, uint64_t launches, uint64_t measured)
{
	return (struct kc__window_view){
	    .now_ns = ms * MS, .launches = launches, .measured = measured, .awaiting = true};
}

/* 30 ms, or an eighth of the launches of the rest before it, but not fewer than 64. Other slots do not count. */
static void test_a_window_is_short(void **state)
{
	struct kc__window window, same = in_state(KC__RESTING, 1000);

	(void)state;
	step(&same, view(200, 1000, 0, false), true, KC__MEASURING);
	window = same;
	step(&window, in_window(210, 1130, 124), false, KC__MEASURING);
	step(&window, in_window(211, 1131, 125), true, KC__DRAINING);
	window = same;
	step(&window, in_window(229, 1123, 123), false, KC__MEASURING);
	step(&window, in_window(230, 1124, 124), true, KC__DRAINING);
	window = in_state(KC__RESTING, 100);
	step(&window, view(200, 100, 0, false), true, KC__MEASURING);
	step(&window, in_window(205, 163, 63), false, KC__MEASURING);
	step(&window, in_window(206, 164, 64), true, KC__DRAINING);
}

static unsigned measured_of(struct kc__window_share share, unsigned from, unsigned to)
{
	unsigned measured = 0;

	for (unsigned i = from; i < to; i++)
		measured += kc__window_measures(share, i);
	return measured;
}

/* 1,600 launches every two seconds, all made before the worker looks again. A rest ends by its time before they come,
 * so that they meet a window each time. An eighth of what was missed since the one before is measured, behind 0.618,
 * 0.236 and 0.854 times the rest of that: 200 of 1,600, 175 of 1,400, 178 of 1,425, 177 of 1,422. */
static void test_of_a_burst_a_share_is_measured(void **state)
{
	static const uint64_t sizes[] = {200, 175, 178, 177}, skips[] = {0, 757, 294, 1063};
	struct kc__window window = in_state(KC__RESTING, 1601);
	uint64_t launches = 1600;
	int64_t ms = 900;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct kc__window_view seen;

		step(&window, view(ms - 1, launches, 0, false), false, KC__RESTING);
		step(&window, view(ms, launches, 0, false), true, KC__MEASURING);
		assert_int_equal(window.share.size, sizes[i]);
		assert_int_equal(window.share.skip, skips[i]);
		assert_int_equal(measured_of(window.share, 0, 1600), sizes[i]);
		ms = 2000 * (i + 1);
		step(&window, view(ms - 2, launches, 0, false), false, KC__MEASURING);
		launches += 1600;
		seen = in_window(ms, launches, sizes[i]);
		seen.left_out = 1600 - sizes[i];
		step(&window, seen, true, KC__DRAINING);
		assert_int_equal(window.last, sizes[i]);
		step(&window, view(ms + 20, launches, 0, false), true, KC__RESTING);
		ms += 920;
	}
}

/* At least 32, where fewer than 264 were made since the last window. Of 1,600 that come then, 32 are measured six
 * times, and 256 left out after each. */
static void test_of_more_than_was_awaited_more_is_measured(void **state)
{
	struct kc__window window = in_state(KC__RESTING, 1000);

	(void)state;
	step(&window, view(900, 263, 0, false), true, KC__MEASURING);
	assert_int_equal(window.share.size, 32);
	assert_int_equal(measured_of(window.share, 0, 32), 32);
	assert_int_equal(measured_of(window.share, 32, 288), 0);
	assert_int_equal(measured_of(window.share, 288, 320), 32);
	assert_int_equal(measured_of(window.share, 0, 1600), 6 * 32);
	window = in_state(KC__RESTING, 1000);
	step(&window, view(900, 264, 0, false), true, KC__MEASURING);
	assert_int_equal(window.share.size, 33);
}

/* Launches go on for 30 ms, and so far all of them were before the window's share. */
static void test_what_is_no_burst_is_measured_from_then_on(void **state)
{
	struct kc__window window = in_state(KC__RESTING, 1000);

	(void)state;
	window.turn = 1; /* 0.618 of 7 / 8 of 800 */
	step(&window, view(900, 800, 0, false), true, KC__MEASURING);
	assert_int_equal(window.share.skip, 432);
	step(&window, in_window(929, 829, 0), false, KC__MEASURING);
	step(&window, in_window(930, 830, 0), true, KC__MEASURING);
	assert_int_equal(window.share.skip, 0);
	step(&window, in_window(959, 859, 29), false, KC__MEASURING);
	step(&window, in_window(960, 860, 30), true, KC__DRAINING);
	assert_int_equal(window.last, 30);
}

/* The rest is over by its launches. */
static void test_of_what_goes_on_nothing_is_skipped(void **state)
{
	struct kc__window window = in_state(KC__RESTING, 1600);

	(void)state;
	step(&window, view(900, 1600, 0, false), true, KC__MEASURING);
	assert_int_equal(window.share.size, 200);
	assert_int_equal(window.share.skip, 0);
}

/* 520 launches in 520 ms. The first rest lasts for 0.6 + 0.8 * 0.618 times 330 ms, which is 361.2 launches at this
 * rate; but at least 120 and at most 900 ms. */
static void test_a_rest_is_counted_in_launches(void **state)
{
	struct kc__window window = kc__window_begin(0, 0), same;

	(void)state;
	step(&window, view(500, 500, 0, true), true, KC__DRAINING);
	step(&window, view(520, 520, 0, false), true, KC__RESTING);
	same = window;
	step(&window, view(520 + 180, 520 + 360, 0, false), false, KC__RESTING);
	step(&window, view(520 + 181, 520 + 362, 0, false), true, KC__MEASURING);
	assert_int_equal(window.since_ns, 701 * MS);
	assert_int_equal(window.launches, 882);
	window = same;
	step(&window, view(520 + 119, 520 + 362, 0, false), false, KC__RESTING);
	step(&window, view(520 + 120, 520 + 362, 0, false), true, KC__MEASURING);
	window = same;
	step(&window, view(520 + 899, 520 + 10, 0, false), false, KC__RESTING);
	step(&window, view(520 + 900, 520 + 10, 0, false), true, KC__MEASURING);
}

/* A window in which more was measured, as of graphs, is followed by a longer rest: eight times as many launches. */
static void test_a_long_window_is_made_up_for(void **state)
{
	struct kc__window window = in_state(KC__MEASURING, 100);

	(void)state;
	step(&window, in_window(100, 500, 500), true, KC__DRAINING);
	step(&window, view(120, 500, 0, false), true, KC__RESTING);
	step(&window, view(520, 4499, 0, false), false, KC__RESTING);
	step(&window, view(521, 4500, 0, false), true, KC__MEASURING);
}

/* A twentieth of the launches of 550 ms, of which a rest has 330 on average: first for a window, then until it is known
 * well. 1,000 / 330 * 550 are 1,666. */
static void test_measures_again_at_once_where_much_is_new(void **state)
{
	struct kc__window window = in_state(KC__RESTING, 0);

	(void)state;
	step(&window, view(5, 4, 4, false), false, KC__RESTING); /* a few launches are no reason */
	step(&window, view(6, 100, 5, false), false, KC__RESTING);
	step(&window, view(7, 100, 6, false), true, KC__MEASURING);
	assert_false(window.learning);
	window = in_state(KC__RESTING, 1000);
	step(&window, view(6, 90, 83, false), false, KC__RESTING);
	step(&window, view(7, 90, 84, false), true, KC__MEASURING);
	assert_false(window.learning);
	step(&window, view(17, 150, 83, false), false, KC__MEASURING);
	step(&window, view(18, 150, 84, false), true, KC__MEASURING);
	assert_true(window.learning);
}

/* Few launches may take much of the time: a twentieth of 550 ms are 27.5. */
static void test_measures_again_where_what_takes_long_is_new(void **state)
{
	struct kc__window window = in_state(KC__RESTING, 1000);
	struct kc__window_view seen = view(100, 500, 5, false);

	(void)state;
	seen.unknown_ns = 27500000;
	step(&window, seen, false, KC__RESTING);
	seen.unknown_ns++;
	step(&window, seen, true, KC__MEASURING);
}

/* Of 1,200 launches in 6 s, 12 are few, and 31 ms; a twentieth of the time are 300. */
static void test_what_is_new_is_compared_with_all_that_was_measured_meanwhile(void **state)
{
	struct kc__window window = kc__window_begin(0, 0), same = window;
	struct kc__window_view seen = view(6000, 1200, 12, true);

	(void)state;
	seen.unknown_ns = 31000000;
	step(&same, seen, true, KC__DRAINING);
	seen.unknown_ns = 300000001;
	step(&window, seen, true, KC__MEASURING);
	assert_true(window.learning);
	window = in_state(KC__RESTING, 1000);
	seen = view(800, 500, 5, false);
	seen.unknown_ns = 40000000; /* a twentieth of 800 ms */
	step(&window, seen, false, KC__RESTING);
	seen.unknown_ns++;
	step(&window, seen, true, KC__MEASURING);
}

/* As much as is spare at first: four times half a second. */
static void test_measures_all_where_much_has_changed(void **state)
{
	struct kc__window window = in_state(KC__RESTING, 1000);

	(void)state;
	step(&window, drifting(6, 10), true, KC__MEASURING);
	assert_true(window.learning);
	step(&window, drifting(505, 1010), false, KC__MEASURING);
	for (int64_t ms = 506; ms < 2006; ms += 500)
		step(&window, drifting(ms, (uint64_t)ms), true, KC__MEASURING);
	step(&window, drifting(2006, 2006), true, KC__DRAINING);
	window = in_state(KC__MEASURING, 1000);
	step(&window, drifting(7, 10), true, KC__MEASURING);
	assert_true(window.learning);
	step(&window, view(507, 1000, 0, true), true, KC__DRAINING);
}

/* A twentieth of the time: of 9,980 ms, 499, and of 10,000, half a second. */
static void test_measures_no_more_where_that_does_not_help(void **state)
{
	struct kc__window window = in_state(KC__DRAINING, 0), same;

	(void)state;
	window.spare_ns = 0;
	same = window;
	step(&window, view(9980, 10000, 0, false), true, KC__RESTING);
	step(&window, drifting(9981, 10001), false, KC__RESTING);
	window = same;
	step(&window, view(10000, 10000, 0, false), true, KC__RESTING);
	step(&window, drifting(10001, 10001), true, KC__MEASURING);
	assert_true(window.learning);
	window = same;
	step(&window, view(100000, 10000, 0, false), true, KC__RESTING);
	assert_int_equal(window.spare_ns, 2000 * MS);
}

/* A program of equal steps, 1,000 launches per second, for a minute: windows begin in each fifth of the step, and
 * measure a twelfth of its launches. */
static void test_windows_meet_all_of_a_step(void **state)
{
	static const int64_t steps_ms[] = {100, 200, 300, 500, 600, 620, 1000, 1200};

	(void)state;
	for (unsigned i = 0; i < sizeof(steps_ms) / sizeof(*steps_ms); i++) {
		struct kc__window window = kc__window_begin(0, 0);
		unsigned begun[5] = {0}, measured = 0;

		for (int64_t ms = 0; ms < 60000; ms += 5) {
			struct kc__window_view seen = view(ms, (uint64_t)ms, 0, false);

			if (kc__window_step(&window, &seen) && window.state == KC__MEASURING)
				begun[ms % steps_ms[i] * 5 / steps_ms[i]]++;
			measured += window.state == KC__MEASURING ? 5 : 0;
		}
		for (int fifth = 0; fifth < 5; fifth++)
			assert_in_range(begun[fifth], 16, 64);
		assert_in_range(measured, 60000 / 14, 60000 / 10);
	}
}

static bool learn(struct kc__familiar *familiar, const char *durations)
{
	bool known_well = false;

	for (; *durations; durations++)
		known_well = kc__window_learn(familiar, *durations == 'i');
	return known_well;
}

static bool known_after(const char *durations)
{
	struct kc__familiar familiar = {0};

	return learn(&familiar, durations);
}

/* i: inside its interval, o: outside. */
static void test_what_is_known_well(void **state)
{
	(void)state;
	assert_false(known_after("iii"));
	assert_true(known_after("iiii"));
	assert_true(known_after("oiii"));
	assert_false(known_after("ooii"));
	assert_false(known_after("ooiiiii"));
	assert_true(known_after("ooiiiiii")); /* two of eight */
	assert_false(known_after("oooiiiii"));
}

/* Three more are needed, however many were predicted before the first had been measured. */
static void test_what_was_predicted_before_all_measurements_does_not_tell(void **state)
{
	struct kc__familiar familiar = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		kc__window_meet(&familiar);
	assert_false(familiar.known_well);
	assert_false(learn(&familiar, "ii"));
	assert_true(learn(&familiar, "i"));
	kc__window_meet(&familiar);
	assert_true(familiar.known_well);
	assert_false(learn(&familiar, "ooooo"));
}

/* Four of eight may be outside by chance, five are a change. */
static void test_what_changes_is_not_known_well(void **state)
{
	(void)state;
	assert_true(known_after("iiiiiiiioooo"));
	assert_false(known_after("iiiiiiiiooooo"));
	assert_false(known_after("iiiiiiiiooooo" /* three of eight */ "iiiii"));
	assert_true(known_after("iiiiiiiiooooo" /* two of eight */ "iiiiii"));
}

static unsigned drifts_after(struct kc__drift *drift, float error, float width, unsigned most)
{
	for (unsigned i = 1; i <= most; i++)
		if (kc__window_drifts(drift, 8, error, width, false))
			return i;
	return 0;
}

/* Intervals from -5 to +5 %: half of one and 2 % are 7 %, and 10 % are 1.43 of that. The mean of eight such launches is
 * 0.66 of it, as (7 / 8)^8 is 0.34: 6.6 % and 0.94; after two more that are as predicted, 5.0 % and 0.72; and after
 * nine that are 10 % shorter, as (7 / 8)^9 is 0.30, 0.22 - 1.00. */
static void test_what_drifts(void **state)
{
	struct kc__drift drift = {0}, known;

	(void)state;
	assert_int_equal(drifts_after(&drift, 0.1f, 0.1f, 100), 8);
	known = drift;
	assert_true(kc__window_drifts(&drift, 8, 0, 0.1f, false));
	assert_false(kc__window_drifts(&drift, 8, 0, 0.1f, false));
	assert_int_equal(drifts_after(&drift, -0.1f, 0.1f, 100), 9);
	/* 6.6 % times (7 / 8)^6 are 2.9 %. */
	for (int i = 0; i < 5; i++)
		assert_true(kc__window_drifts(&known, 8, 0, 0.1f, true));
	assert_false(kc__window_drifts(&known, 8, 0, 0.1f, true));
}

/* 2 % are too little. Of intervals from -15 to +15 %, 10 % are 0.59. A launch that takes ten times as long counts as
 * 20 %, of which an eighth is 2.5 %. */
static void test_what_does_not_drift(void **state)
{
	struct kc__drift drift = {0};

	(void)state;
	assert_int_equal(drifts_after(&drift, 0.02f, 0, 100), 0);
	drift = (struct kc__drift){0};
	assert_int_equal(drifts_after(&drift, 0.1f, 0.3f, 100), 0);
	drift = (struct kc__drift){0};
	for (int i = 0; i < 100; i++)
		assert_false(kc__window_drifts(&drift, 8, i % 2 ? 0.1f : -0.1f, 0.1f, false));
	drift = (struct kc__drift){.measured = 8};
	assert_false(kc__window_drifts(&drift, 8, 2.3f, 0.01f, true));
}

static void test_what_varies_without_a_rule_is_not_measured_for_ever(void **state)
{
	struct kc__familiar familiar = {0};

	(void)state;
	for (int i = 0; i < 16; i++)
		assert_false(learn(&familiar, "oi"));
	assert_true(learn(&familiar, "o"));
	for (int i = 0; i < 100; i++) /* at times a change, for one launch */
		assert_true(learn(&familiar, "o") || learn(&familiar, "o"));
	for (int i = 0; i < 64; i++) /* it has become regular: a change is one again */
		learn(&familiar, "i");
	assert_false(learn(&familiar, "ooooo"));
	assert_false(learn(&familiar, "o"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_measures_all_while_much_is_unknown),
	    cmocka_unit_test(test_time_in_which_nothing_is_launched_does_not_count),
	    cmocka_unit_test(test_bursts_are_learned_from_however_short),
	    cmocka_unit_test(test_rests_when_all_that_is_awaited_has_come),
	    cmocka_unit_test(test_a_window_is_short),
	    cmocka_unit_test(test_of_a_burst_a_share_is_measured),
	    cmocka_unit_test(test_of_more_than_was_awaited_more_is_measured),
	    cmocka_unit_test(test_what_is_no_burst_is_measured_from_then_on),
	    cmocka_unit_test(test_of_what_goes_on_nothing_is_skipped),
	    cmocka_unit_test(test_a_rest_is_counted_in_launches),
	    cmocka_unit_test(test_a_long_window_is_made_up_for),
	    cmocka_unit_test(test_measures_again_at_once_where_much_is_new),
	    cmocka_unit_test(test_measures_again_where_what_takes_long_is_new),
	    cmocka_unit_test(test_what_is_new_is_compared_with_all_that_was_measured_meanwhile),
	    cmocka_unit_test(test_measures_all_where_much_has_changed),
	    cmocka_unit_test(test_measures_no_more_where_that_does_not_help),
	    cmocka_unit_test(test_windows_meet_all_of_a_step),
	    cmocka_unit_test(test_what_is_known_well),
	    cmocka_unit_test(test_what_was_predicted_before_all_measurements_does_not_tell),
	    cmocka_unit_test(test_what_changes_is_not_known_well),
	    cmocka_unit_test(test_what_drifts),
	    cmocka_unit_test(test_what_does_not_drift),
	    cmocka_unit_test(test_what_varies_without_a_rule_is_not_measured_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
