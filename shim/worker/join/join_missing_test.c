/* What becomes of launches whose records never come. */
#include "join_testing.h"

static void a_record_is_missing_five_seconds_after_a_later_one_of_its_stream(void **state)
{
	struct kc_slot *lost = launch(1, 7, 100), *other_stream = launch(2, 9, 100);

	(void)state;
	launch(1, 8, 110);
	deliver(8, 300, 400);
	step_at(10 * S);
	step_at(15 * S - 1);
	assert_int_equal(state_of(lost), KC_SLOT_RETURNED);
	assert_int_equal(step_at(17 * S), 1);
	assert_unmeasured(lost, KC_NOT_DELIVERED);
	assert_int_equal(state_of(other_stream), KC_SLOT_RETURNED);
	assert_int_equal(world.said[KC_MESSAGE_RECORDS_DROPPED], 0);
}

/* One record each second. Five seconds after the first one it is certain, and known five seconds later at most. */
static void a_record_is_missing_on_a_stream_that_stays_busy(void **state)
{
	struct kc_slot *lost = launch(1, 7, 100);

	(void)state;
	for (uint32_t s = 0; s < 12; s++) {
		if (s <= 5)
			assert_int_equal(state_of(lost), KC_SLOT_RETURNED);
		launch(1, 8 + s, 110);
		deliver(8 + s, 300 + s, 301 + s);
		step_at((10 + s) * S + s);
	}
	assert_unmeasured(lost, KC_NOT_DELIVERED);
}

static void a_missing_record_is_one_of_those_that_were_dropped(void **state)
{
	struct kc_slot *lost[2] = {launch(1, 5, 90), launch(1, 6, 100)};

	(void)state;
	launch(1, 8, 110);
	deliver(8, 300, 400);
	step_at(10 * S);
	world.dropped = 1;
	step_at(17 * S);
	assert_unmeasured(lost[0], KC_RECORD_DROPPED);
	assert_unmeasured(lost[1], KC_NOT_DELIVERED);
	assert_int_equal(counted(KC_COUNT_CUPTI_DROPPED), 1);
	assert_true(world.said[KC_MESSAGE_RECORDS_DROPPED] > 0);
}

/* Without a measured time, and final with the next step. */
static void pass_by(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct kc_slot *slot = call(1, 100);

		slot->launch.unmeasured = KC_NO_CORRELATION;
		returns(slot, 0);
		if (i % KC_SEGMENT_SLOTS == 0)
			kc_journal_prepare(world.journal);
	}
}

static void missing_record_far_behind_one_that_is_awaited(bool retired)
{
	struct kc_slot *awaited = launch(2, 5, 100), *lost;

	pass_by(70000);
	lost = launch(1, 7, 100);
	launch(1, 8, 110);
	deliver(8, 300, 400);
	step_at(10 * S);
	if (retired)
		for (int i = 0; i < 20; i++)
			kc_journal_retire(world.journal);
	for (int s = 11; s < 25; s++)
		assert_int_equal(step_at(s * S), 1);
	assert_unmeasured(lost, KC_NOT_DELIVERED);
	assert_int_equal(state_of(awaited), KC_SLOT_RETURNED);
}

static void a_missing_record_is_found_however_far_behind_one_that_is_awaited(void **state)
{
	(void)state;
	missing_record_far_behind_one_that_is_awaited(false);
}

static void so_it_is_where_what_lies_between_has_been_retired(void **state)
{
	(void)state;
	missing_record_far_behind_one_that_is_awaited(true);
}

/* As at a high rate: the journal holds what is awaited. */
static void records_of_many_launches_are_missing_at_once(void **state)
{
	enum { LOST = 200000 };

	(void)state;
	for (uint32_t i = 0; i < LOST; i++) {
		launch(1, 1 + i, 100);
		if (i % KC_SEGMENT_SLOTS == 0)
			kc_journal_prepare(world.journal);
	}
	launch(1, LOST + 1, 110);
	deliver(LOST + 1, 300, 400);
	world.dropped = LOST;
	step_at(10 * S);
	for (int ms = 0; ms < 2000; ms += 20)
		step_at(12 * S + ms * (S / 1000));
	assert_int_equal(world.ready, LOST + 1);
}

static void a_record_is_missing_after_two_seconds_while_others_were_dropped(void **state)
{
	struct kc_slot *lost = launch(1, 7, 100), *late = launch(2, 8, 100);

	(void)state;
	launch(1, 9, 110);
	launch(2, 10, 110);
	deliver(9, 300, 400);
	world.dropped = 1;
	step_at(10 * S);
	deliver(10, 300, 400);
	step_at(11 * S + S / 2);
	assert_int_equal(state_of(lost), KC_SLOT_RETURNED);
	world.enough_ready = true;
	step_at(13 * S);
	assert_int_equal(state_of(lost), KC_SLOT_RETURNED);
	world.enough_ready = false;
	step_at(13 * S + 1);
	assert_unmeasured(lost, KC_RECORD_DROPPED);
	step_at(15 * S); /* no more were dropped */
	assert_int_equal(state_of(late), KC_SLOT_RETURNED);
	step_at(17 * S);
	assert_unmeasured(late, KC_NOT_DELIVERED);
}

static void one_that_gives_way_may_have_been_dropped(void **state)
{
	struct kc_slot *before = launch(1, 3, 100);

	(void)state;
	world.dropped = 1;
	launch(1, 3 + (1u << 20), 110);
	step_at(1000);
	assert_unmeasured(before, KC_RECORD_DROPPED);
}

/* Kernels are held by their start, so the earlier ones go first. */
static void a_record_that_waits_goes_before_those_that_come_later(void **state)
{
	struct kc_slot *first = call(1, 100);

	(void)state;
	deliver(7, 200, 300);
	step_at(1000);
	returns(first, 7);
	launch(1, 8, 110);
	deliver(8, 400, 500);
	step_at(2000);
	assert_int_equal(world.launches_measured, 2);
	assert_int_equal(world.measured_last, 8);
}

static void giving_up_leaves_nothing_awaited(void **state)
{
	struct kc_slot *lost = launch(1, 7, 100), *held = launch(2, 8, 110), *inside = call(1, 120);

	(void)state;
	deliver(8, 300, 400);
	deliver(99, 300, 400);
	assert_int_equal(step_at(1000), 1);
	assert_int_equal(world.decided, 0);
	kc__join_give_up(world.join);
	assert_unmeasured(lost, KC_NOT_DELIVERED);
	assert_int_equal(held->launch.overlap, KC_OVERLAP_NONE);
	assert_int_equal(world.decided, 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
	assert_int_equal(state_of(inside), KC_SLOT_CALLED);
	returns(inside, 9);
	assert_int_equal(step_at(1000), 1);
	kc__join_give_up(world.join);
	assert_unmeasured(inside, KC_NOT_DELIVERED);
}

/* A thread has lost its core between claiming a slot and filling it: others that have returned are not behind it for
 * ever. */
static void the_last_look_goes_past_a_slot_that_is_not_filled(void **state)
{
	struct kc_slot *unfilled = kc_journal_claim(world.journal, KC_KIND_LAUNCH), *slot = launch(1, 7, 100);

	(void)state;
	deliver(7, 200, 300);
	step_at(1000);
	assert_int_equal(world.launches_measured, 0);
	kc__join_bound(world.join, kc_journal_claimed(world.journal));
	step_at(1000);
	assert_times(slot, 200, 300);
	kc__join_bound(world.join, UINT64_MAX);
	assert_int_equal(state_of(unfilled), KC_SLOT_EMPTY);
	returns(unfilled, 8);
	deliver(8, 400, 500);
	step_at(2000);
	assert_times(unfilled, 400, 500);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 0);
}

static void nothing_from_the_bound_on_is_looked_at(void **state)
{
	struct kc_slot *before = launch(1, 7, 100), *after;

	(void)state;
	kc__join_bound(world.join, kc_journal_claimed(world.journal));
	after = launch(1, 8, 110);
	assert_int_equal(step_at(1000), 1);
	kc__join_give_up(world.join);
	assert_unmeasured(before, KC_NOT_DELIVERED);
	assert_int_equal(state_of(after), KC_SLOT_RETURNED);
	kc__join_bound(world.join, UINT64_MAX);
	deliver(8, 300, 400);
	assert_int_equal(step_at(1000), 0);
	assert_times(after, 300, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_record_is_missing_five_seconds_after_a_later_one_of_its_stream),
	    TEST(a_record_is_missing_on_a_stream_that_stays_busy),
	    TEST(a_missing_record_is_one_of_those_that_were_dropped),
	    TEST(a_missing_record_is_found_however_far_behind_one_that_is_awaited),
	    TEST(so_it_is_where_what_lies_between_has_been_retired),
	    TEST(records_of_many_launches_are_missing_at_once),
	    TEST(a_record_is_missing_after_two_seconds_while_others_were_dropped),
	    TEST(one_that_gives_way_may_have_been_dropped),
	    TEST(a_record_that_waits_goes_before_those_that_come_later),
	    TEST(giving_up_leaves_nothing_awaited),
	    TEST(the_last_look_goes_past_a_slot_that_is_not_filled),
	    TEST(nothing_from_the_bound_on_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
