/* When it is decided what a measured kernel met. */
#include "join_testing.h"

static void overlap_is_decided_when_no_other_launch_can_have_started_before_the_end(void **state)
{
	struct kc_slot *first = launch(1, 7, 100), *second = launch(2, 8, 150);

	(void)state;
	first->launch.solo_ns = 400;
	second->launch.solo_ns = 500;
	deliver(7, 200, 300);
	step_at(1000);
	assert_int_equal(world.decided, 0);
	deliver(8, 250, 400);
	step_at(1000);
	assert_int_equal(world.decided, 2);
	assert_int_equal(first->launch.overlap, KC_OVERLAP_OVERTAKEN);
	assert_int_equal(second->launch.overlap, KC_OVERLAP_BEHIND);
	/* The first one's load of 400 / 1000, during 50 ns of the second one's 150. */
	assert_true(world.met.of[0] > 0.1333f && world.met.of[0] < 0.1334f);
}

static void a_launch_called_after_the_end_holds_nothing_up(void **state)
{
	(void)state;
	launch(1, 7, 100);
	launch(2, 8, 300);
	deliver(7, 200, 300);
	assert_int_equal(step_at(1000), 1);
	assert_int_equal(world.decided, 1);
}

static void a_launch_starts_after_the_one_before_it_on_its_stream_has_ended(void **state)
{
	struct kc_slot *first = launch(1, 7, 100);

	(void)state;
	launch(2, 8, 110);
	launch(2, 9, 120);
	deliver(7, 200, 300);
	step_at(1000);
	assert_int_equal(world.decided, 0);
	deliver(8, 310, 320); /* number 9 starts at 320 or later */
	assert_int_equal(step_at(1000), 1);
	assert_int_equal(first->launch.overlap, KC_OVERLAP_NONE);
	assert_int_equal(world.decided, 2);
}

/* CUDA programming guide, "Programmatic Dependent Launch": it may begin before the one before it has ended, though not
 * before that has begun. */
static void a_programmatic_dependent_launch_may_start_before_the_one_before_it_has_ended(void **state)
{
	struct kc_slot *first = launch(1, 7, 100), *second = call(1, 110), *third = launch(2, 9, 120);

	(void)state;
	second->launch.beside = KC_BESIDE_PREVIOUS;
	returns(second, 8);
	deliver(9, 130, 180);
	deliver(7, 200, 300);
	step_at(1000);
	assert_int_equal(world.decided, 1); /* the third: the second began at 200 or later */
	assert_int_equal(third->launch.overlap, KC_OVERLAP_NONE);
	deliver(8, 250, 400);
	assert_int_equal(step_at(1000), 0);
	assert_int_equal(world.decided, 3);
	assert_int_equal(first->launch.overlap, KC_OVERLAP_OVERTAKEN);
	assert_int_equal(second->launch.overlap, KC_OVERLAP_BEHIND);
	assert_int_equal(counted(KC_COUNT_STREAM_OVERLAPS), 2);
}

/* What follows it in order still begins when it has ended. */
static void a_launch_in_order_holds_nothing_up_behind_a_programmatic_one(void **state)
{
	struct kc_slot *second;

	(void)state;
	launch(1, 7, 100);
	second = call(1, 110);
	second->launch.beside = KC_BESIDE_PREVIOUS;
	returns(second, 8);
	launch(1, 9, 120);
	deliver(7, 200, 300);
	deliver(8, 250, 400);
	assert_int_equal(step_at(1000), 1);
	assert_int_equal(world.decided, 2);
}

static struct kc_slot *branch(uint32_t graph_launch, uint32_t correlation, uint64_t record_id)
{
	struct kc_slot *slot = call(1, 100);

	slot->launch.beside = KC_BESIDE_IN_GRAPH;
	slot->launch.graph_launch = graph_launch;
	slot->launch.graph_record = record_id;
	returns(slot, correlation);
	return slot;
}

static void branches_of_a_graph_may_start_in_any_order(void **state)
{
	struct kc_slot *late = branch(1, 7, 41), *early = branch(1, 7, 42), *next = branch(2, 8, 41);

	(void)state;
	deliver(7, 300, 400)->graph_node = 41;
	step_at(1000);
	assert_int_equal(world.decided, 0);
	deliver(7, 200, 350)->graph_node = 42;
	step_at(1000);
	assert_int_equal(world.decided, 0); /* the next launch of the graph is not known to begin later */
	deliver(8, 410, 500)->graph_node = 41;
	assert_int_equal(step_at(1000), 0);
	assert_int_equal(late->launch.overlap, KC_OVERLAP_OVERTAKEN);
	assert_int_equal(early->launch.overlap, KC_OVERLAP_BEHIND);
	assert_int_equal(next->launch.overlap, KC_OVERLAP_NONE);
	assert_int_equal(counted(KC_COUNT_STREAM_OVERLAPS), 2);
}

static void a_call_that_has_not_returned_may_have_launched(void **state)
{
	struct kc_slot *inside = call(2, 150);

	(void)state;
	launch(1, 7, 100);
	deliver(7, 200, 300);
	step_at(1000);
	assert_int_equal(world.decided, 0);
	inside->launch.unmeasured = KC_CALL_FAILED;
	returns(inside, 0);
	step_at(1000);
	assert_int_equal(world.decided, 1);
}

static void so_may_one_behind_a_slot_that_is_not_filled(void **state)
{
	struct kc_slot *unfilled, *behind;

	(void)state;
	launch(1, 7, 100);
	unfilled = kc_journal_claim(world.journal, KC_KIND_LAUNCH);
	behind = launch(2, 8, 250);
	deliver(7, 200, 300);
	assert_int_equal(step_at(1000), 0);
	assert_int_equal(world.decided, 0);
	memset(&unfilled->launch, 0, sizeof(unfilled->launch));
	unfilled->launch.unmeasured = KC_CALL_FAILED;
	unfilled->launch.launched_ns = 240;
	kc_journal_commit(unfilled, KC_SLOT_RETURNED);
	deliver(8, 310, 320);
	assert_int_equal(step_at(1000), 0);
	assert_int_equal(world.decided, 2);
	assert_int_equal(behind->launch.overlap, KC_OVERLAP_NONE);
}

static void after_two_seconds_a_measured_launch_is_let_go(void **state)
{
	struct kc_slot *held = launch(1, 7, 100);

	(void)state;
	launch(2, 8, 150);
	deliver(7, 200, 300);
	step_at(1 * S);
	step_at(3 * S);
	assert_int_equal(world.decided, 0);
	step_at(3 * S + 1);
	assert_int_equal(world.decided, 1);
	assert_int_equal(held->launch.overlap, KC_OVERLAP_UNKNOWN);
	assert_int_equal(state_of(held), KC_SLOT_STORED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(overlap_is_decided_when_no_other_launch_can_have_started_before_the_end),
	    TEST(a_launch_called_after_the_end_holds_nothing_up),
	    TEST(a_launch_starts_after_the_one_before_it_on_its_stream_has_ended),
	    TEST(a_programmatic_dependent_launch_may_start_before_the_one_before_it_has_ended),
	    TEST(a_launch_in_order_holds_nothing_up_behind_a_programmatic_one),
	    TEST(branches_of_a_graph_may_start_in_any_order),
	    TEST(a_call_that_has_not_returned_may_have_launched),
	    TEST(so_may_one_behind_a_slot_that_is_not_filled),
	    TEST(after_two_seconds_a_measured_launch_is_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
