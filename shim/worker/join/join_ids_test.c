/* Records carry the correlation id of the driver's call, or that of the runtime call around it. */
#include "join_testing.h"

static struct kc_slot *nested(uint32_t enclosing, uint32_t id, uint32_t blocks)
{
	struct kc_slot *slot = call(1, 100);

	slot->launch.grid[0] = blocks;
	slot->launch.enclosing = enclosing;
	returns(slot, id);
	return slot;
}

static struct kc_slot *nested_copy(uint32_t enclosing, uint32_t id)
{
	struct kc_slot *slot = kc_journal_claim(world.journal, KC_KIND_TRANSFER);

	slot->transfer = (struct kc_transfer){.stream = 1, .correlation = id, .enclosing = enclosing};
	kc_journal_commit(slot, KC_SLOT_RETURNED);
	return slot;
}

static void assert_told(uint32_t by_driver, uint32_t by_enclosing)
{
	assert_int_equal(world.by_driver[KC__LAUNCH_CALLS], by_driver);
	assert_int_equal(world.by_enclosing[KC__LAUNCH_CALLS], by_enclosing);
}

static void a_record_may_carry_either_id(void **state)
{
	struct kc_slot *first = nested(6, 7, 1), *second = nested(8, 9, 1);

	(void)state;
	deliver(7, 200, 300);
	deliver(8, 300, 400);
	assert_int_equal(step_at(1000), 0);
	assert_times(first, 200, 300);
	assert_times(second, 300, 400);
	assert_told(1, 1);
	assert_int_equal(first->launch.correlation, 7); /* the record's, in either case */
	assert_int_equal(second->launch.correlation, 8);
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 2);
}

static void a_launch_with_one_id_tells_nothing(void **state)
{
	(void)state;
	launch(1, 7, 100);
	deliver(7, 200, 300);
	step_at(1000);
	assert_told(0, 0);
}

static void where_both_calls_have_one_id_it_is_the_drivers(void **state)
{
	struct kc_slot *slot = nested(7, 7, 1);

	(void)state;
	deliver(7, 200, 300);
	assert_int_equal(step_at(1000), 0);
	assert_times(slot, 200, 300);
	assert_told(1, 0);
}

/* As a cooperative launch on several devices is one runtime call. */
static void launches_of_one_runtime_call_by_their_own_ids(void **state)
{
	struct kc_slot *first = nested(6, 7, 5), *second = nested(6, 8, 5), *third = nested(6, 9, 5);

	(void)state;
	deliver(9, 400, 500)->grid[0] = 5;
	deliver(7, 200, 300)->grid[0] = 5;
	deliver(8, 300, 400)->grid[0] = 5;
	assert_int_equal(step_at(1000), 0);
	assert_times(first, 200, 300);
	assert_times(second, 300, 400);
	assert_times(third, 400, 500);
}

static void launches_of_one_runtime_call_by_its_id_and_their_shapes(void **state)
{
	struct kc_slot *first = nested(6, 7, 5), *second = nested(6, 8, 9), *third = nested(6, 10, 5);

	(void)state;
	deliver(6, 300, 400)->grid[0] = 9;
	deliver(6, 200, 300)->grid[0] = 5;
	deliver(6, 400, 500)->grid[0] = 5;
	assert_int_equal(step_at(1000), 0);
	assert_times(first, 200, 300);
	assert_times(second, 300, 400);
	assert_times(third, 400, 500);
}

static void the_drivers_id_wins(void **state)
{
	struct kc_slot *slot = nested(6, 7, 1);

	(void)state;
	deliver(6, 500, 600); /* of a kernel that the runtime launched in a way that was not seen */
	deliver(7, 200, 300);
	assert_int_equal(step_at(1000), 0);
	assert_times(slot, 200, 300);
	step_at(3 * S);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 2);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
	assert_int_equal(world.strays[KC__LAUNCH_CALLS], 1);
}

static void a_record_matches_once(void **state)
{
	struct kc_slot *first = nested(6, 7, 1), *second = nested(6, 8, 1);

	(void)state;
	deliver(6, 200, 300);
	assert_int_equal(step_at(1000), 1);
	assert_times(first, 200, 300);
	assert_times(second, 0, 0);
	deliver(8, 300, 400);
	assert_int_equal(step_at(1000), 0);
	assert_times(second, 300, 400);
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 2);
}

static void transfers_of_one_runtime_call(void **state)
{
	struct kc_slot *first = nested_copy(6, 7), *kernel = nested(6, 8, 1), *second = nested_copy(6, 9);

	(void)state;
	deliver(6, 200, 300)->is_kernel = 0;
	deliver(6, 400, 500);
	deliver(9, 300, 400)->is_kernel = 0;
	assert_int_equal(step_at(1000), 0);
	assert_int_equal(first->transfer.measured_start_ns, 200);
	assert_int_equal(second->transfer.measured_start_ns, 300);
	assert_times(kernel, 400, 500);
	assert_int_equal(world.by_driver[KC__TRANSFER_CALLS], 1);
	assert_int_equal(world.by_enclosing[KC__TRANSFER_CALLS], 1);
	assert_told(0, 1);
}

static void nodes_of_a_graph_by_the_runtime_calls_id(void **state)
{
	enum { NODES = 3 };
	static const uint32_t order[NODES] = {1, 2, 0};
	struct kc_slot *nodes[NODES];

	(void)state;
	for (uint32_t i = 0; i < NODES; i++) {
		nodes[i] = call(1, 100);
		nodes[i]->launch.graph_launch = 1;
		nodes[i]->launch.graph_record = 41 + i;
		nodes[i]->launch.enclosing = 6;
		returns(nodes[i], 7);
	}
	for (uint32_t i = 0; i < NODES; i++)
		deliver(6, 200 + order[i], 300)->graph_node = 41 + order[i];
	assert_int_equal(step_at(1000), 0);
	for (uint32_t i = 0; i < NODES; i++)
		assert_times(nodes[i], 200 + i, 300);
	assert_int_equal(world.by_enclosing[KC__GRAPH_CALLS], NODES);
}

static void a_record_of_a_graph_is_of_no_other_launch(void **state)
{
	struct kc_slot *plain = launch(1, 7, 100), *node = graph_node(9, 41, 1);

	(void)state;
	deliver(7, 200, 300)->graph_node = 41;
	deliver(7, 400, 500);
	step_at(1000);
	assert_times(plain, 400, 500);
	assert_times(node, 0, 0);
	step_at(1000 + 2 * S);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
}

/* What the sweep takes out of the middle of a list leaves the others to be found. */
static void one_of_a_runtime_call_goes_missing(void **state)
{
	struct kc_slot *first = nested(6, 7, 1), *lost = nested(6, 8, 1), *last = nested(6, 9, 1);

	(void)state;
	last->launch.stream = 2;
	deliver(7, 200, 300);
	step_at(1 * S);
	launch(1, 12, 400);
	deliver(12, 500, 600);
	step_at(2 * S);
	step_at(9 * S);
	assert_unmeasured(lost, KC_NOT_DELIVERED);
	deliver(9, 300, 400);
	step_at(9 * S + 1);
	assert_times(first, 200, 300);
	assert_times(last, 300, 400);
}

/* 524,288 ids later another launch takes the place in the table. */
static void an_id_gives_way_to_one_with_the_same_low_bits(void **state)
{
	enum { PLACES = 1 << 19 };
	struct kc_slot *old = nested(6, 7, 1), *young = nested(PLACES + 6, PLACES + 7, 1), *other;

	(void)state;
	deliver(PLACES + 7, 200, 300);
	assert_int_equal(step_at(1000), 0);
	assert_unmeasured(old, KC_NOT_DELIVERED);
	assert_times(young, 200, 300);
	/* An alias gives way, too; the launch is still found by the other id. */
	old = nested(20, 21, 1);
	other = launch(1, PLACES + 21, 100);
	deliver(20, 300, 400);
	deliver(PLACES + 21, 400, 500);
	assert_int_equal(step_at(1000), 0);
	assert_times(old, 300, 400);
	assert_times(other, 400, 500);
}

/* Runtime calls that launched two kernels each: the first of 8,193 is given up. */
static void the_oldest_of_many_lists_gives_way(void **state)
{
	enum { LISTS = 1 << 13 };
	struct kc_slot *pairs[LISTS + 1][2];

	(void)state;
	for (uint32_t i = 0; i <= LISTS; i++)
		for (uint32_t k = 0; k < 2; k++)
			pairs[i][k] = nested(3 * i + 1, 3 * i + 2 + k, 1);
	for (uint32_t i = 0; i <= LISTS; i++)
		deliver(3 * i + 2, 200, 300);
	step_at(1000);
	assert_unmeasured(pairs[0][0], KC_NOT_DELIVERED);
	assert_unmeasured(pairs[0][1], KC_NOT_DELIVERED);
	for (uint32_t i = 1; i <= LISTS; i++) {
		assert_times(pairs[i][0], 200, 300);
		assert_times(pairs[i][1], 0, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_record_may_carry_either_id),
	    TEST(a_launch_with_one_id_tells_nothing),
	    TEST(where_both_calls_have_one_id_it_is_the_drivers),
	    TEST(launches_of_one_runtime_call_by_their_own_ids),
	    TEST(launches_of_one_runtime_call_by_its_id_and_their_shapes),
	    TEST(the_drivers_id_wins),
	    TEST(a_record_matches_once),
	    TEST(transfers_of_one_runtime_call),
	    TEST(nodes_of_a_graph_by_the_runtime_calls_id),
	    TEST(a_record_of_a_graph_is_of_no_other_launch),
	    TEST(one_of_a_runtime_call_goes_missing),
	    TEST(an_id_gives_way_to_one_with_the_same_low_bits),
	    TEST(the_oldest_of_many_lists_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
