/* Which launch a record belongs to, and what becomes of records without one. */
#include "join_testing.h"
#include "shim/worker/cupti/measuring.h"

#include <time.h>

static void a_record_finds_its_launch(void **state)
{
	struct kc_slot *slot = launch(1, 7, 100), *other = launch(1, 8, 110);

	(void)state;
	assert_int_equal(step_at(150), 1);
	deliver(8, 300, 350);
	assert_int_equal(step_at(1000), 1);
	deliver(7, 200, 300);
	assert_int_equal(step_at(1000), 0);
	assert_times(slot, 200, 300);
	assert_times(other, 300, 350);
	assert_int_equal(slot->launch.overlap, KC_OVERLAP_NONE);
	assert_int_equal(world.launches_measured, 2);
	assert_int_equal(world.decided, 2);
	assert_int_equal(world.ready, 2);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 2);
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 2);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 0);
}

static void a_transfer_is_final_when_it_is_measured(void **state)
{
	struct kc_slot *slot = kc_journal_claim(world.journal, KC_KIND_TRANSFER);

	(void)state;
	slot->transfer = (struct kc_transfer){.stream = 1, .correlation = 7};
	kc_journal_commit(slot, KC_SLOT_RETURNED);
	deliver(7, 200, 300); /* a kernel's */
	assert_int_equal(step_at(400), 1);
	deliver(7, 210, 310)->is_kernel = 0;
	assert_int_equal(step_at(400), 0);
	assert_int_equal(slot->transfer.measured_start_ns, 210);
	assert_int_equal(slot->transfer.measured_end_ns, 310);
	assert_int_equal(world.transfers_measured, 1);
	assert_int_equal(world.ready, 1);
	assert_int_equal(counted(KC_COUNT_TRANSFER_RECORDS), 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 0); /* the kernel's may still find a launch */
}

static void graph_nodes_are_told_apart_by_their_record_id(void **state)
{
	struct kc_slot *first = graph_node(7, 41, 5), *second = graph_node(7, 42, 5);

	(void)state;
	deliver(7, 300, 400)->graph_node = 42;
	deliver(7, 200, 300)->graph_node = 41;
	assert_int_equal(step_at(1000), 0);
	assert_times(first, 200, 300);
	assert_times(second, 300, 400);
}

static struct kc_slot *child_node(uint32_t correlation, uint64_t record_id, uint32_t blocks)
{
	struct kc_slot *slot = graph_node(correlation, record_id, blocks);

	slot->launch.in_child = 1;
	return slot;
}

/* CUPTI 13.0 tells 51 to 53 of the nodes in a child graph, and its records have 91 to 93; 12.x tells what they have. Of
 * many nodes as of few. */
static void nodes_of_child_graphs_are_told_apart_by_shape_and_order_where_their_ids_are_others(void **state)
{
	(void)state;
	for (uint32_t more = 0; more <= 50; more += 50) {
		uint32_t id = 7 + more;
		struct kc_slot *parent = graph_node(id, 41, 5), *first = child_node(id, 51, 5);
		struct kc_slot *second = child_node(id, 52, 6), *third = child_node(id, 53, 5);

		for (uint32_t i = 0; i < more; i++)
			graph_node(id, 1000 + i, 5);
		deliver(id, 200, 210)->graph_node = 91;
		world.records[world.record_count - 1].grid[0] = 5;
		deliver(id, 210, 230)->graph_node = 93;
		world.records[world.record_count - 1].grid[0] = 5;
		deliver(id, 230, 260)->graph_node = 92;
		world.records[world.record_count - 1].grid[0] = 6;
		deliver(id, 300, 310)->graph_node = 41;
		for (uint32_t i = 0; i < more; i++)
			deliver(id, 400 + i, 401 + i)->graph_node = 1000 + i;
		assert_int_equal(step_at(1000), 0);
		assert_times(first, 200, 210);
		assert_times(third, 210, 230);
		assert_times(second, 230, 260);
		assert_times(parent, 300, 310);
		assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 0);
	}
}

static void nodes_of_child_graphs_are_told_apart_by_their_ids_where_they_are_the_same(void **state)
{
	struct kc_slot *first = child_node(7, 51, 5), *second = child_node(7, 52, 5);

	(void)state;
	deliver(7, 300, 400)->graph_node = 52;
	deliver(7, 200, 300)->graph_node = 51;
	assert_int_equal(step_at(1000), 0);
	assert_times(first, 200, 300);
	assert_times(second, 300, 400);
}

static void graph_nodes_without_a_record_id_are_told_apart_by_launch_shape(void **state)
{
	struct kc_slot *first = graph_node(7, 0, 5), *second = graph_node(7, 0, 6), *third = graph_node(7, 0, 5);

	(void)state;
	deliver(7, 200, 210)->grid[0] = 5;
	deliver(7, 210, 230)->grid[0] = 5;
	deliver(7, 230, 260)->grid[0] = 6;
	assert_int_equal(step_at(1000), 0);
	assert_times(first, 200, 210);
	assert_times(second, 230, 260);
	assert_times(third, 210, 230);
}

static struct kc_slot *graph_call(int64_t launched_ns)
{
	struct kc_slot *slot = kc_journal_claim_with_room(world.journal, KC_KIND_GRAPH_LAUNCH, 2);

	slot->graph_launch =
	    (struct kc_graph_launch){.kernels = 2, .number = 1, .stream = 1, .predicted_at_ns = launched_ns};
	kc_journal_commit(slot, KC_SLOT_CALLED);
	return slot;
}

static void graph_returns(struct kc_slot *slot, uint32_t correlation)
{
	slot->graph_launch.correlation = correlation;
	kc_journal_commit(slot, KC_SLOT_RETURNED);
}

/* In the order of the calls, and in that of their returns. */
static void a_graph_becomes_its_kernels_when_its_launch_has_returned(void **state)
{
	struct kc_slot *slow = graph_call(100), *quick = graph_call(200), *after = launch(2, 9, 300);

	(void)state;
	graph_returns(quick, 8);
	deliver(8, 500, 600)->graph_node = 42;
	deliver(8, 400, 500)->graph_node = 41;
	deliver(9, 610, 650);
	assert_int_equal(step_at(700), 0);
	assert_times(kc_journal_at(world.journal, quick->index + 1), 400, 500);
	assert_times(kc_journal_at(world.journal, quick->index + 2), 500, 600);
	assert_times(after, 610, 650);
	/* Kernels of the other one may have run beside them. */
	assert_int_equal(world.decided, 0);
	assert_true(kc__join_awaits(world.join, after->index));
	assert_int_equal(state_of(kc_journal_at(world.journal, slow->index + 1)), KC_SLOT_EMPTY);
	graph_returns(slow, 7);
	deliver(7, 700, 800)->graph_node = 41;
	assert_int_equal(step_at(900), 1);
	deliver(7, 800, 900)->graph_node = 42;
	assert_int_equal(step_at(1000), 0);
	assert_times(kc_journal_at(world.journal, slow->index + 1), 700, 800);
	assert_times(kc_journal_at(world.journal, slow->index + 2), 800, 900);
	assert_int_equal(world.decided, 5);
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 5);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 0);
	assert_int_equal(world.ready, 7); /* with the launches of graphs themselves */
}

static struct kc_slot *whole_graph(int64_t launched_ns, uint32_t correlation)
{
	struct kc_slot *slot = graph_call(launched_ns);

	slot->graph_launch.whole = 1;
	graph_returns(slot, correlation);
	return slot;
}

static struct kc__record *deliver_graph(uint32_t correlation, int64_t start_ns, int64_t end_ns)
{
	struct kc__record *record = deliver(correlation, start_ns, end_ns);

	record->is_kernel = 0;
	record->is_graph = 1;
	return record;
}

/* Its kernels are stored at once. A kernel of another stream that ran beside it waits for its time, and is then not
 * taken for one that ran alone; the one after it in its stream is. */
static void a_graph_is_measured_as_one(void **state)
{
	struct kc_slot *graph = whole_graph(100, 7), *beside = launch(2, 8, 110), *after = launch(1, 9, 120);

	(void)state;
	deliver(8, 250, 350);
	assert_int_equal(step_at(1000), 1);
	assert_int_equal(world.ready, 2);
	assert_int_equal(kc_journal_at(world.journal, graph->index + 1)->launch.unmeasured, KC_IN_GRAPH);
	assert_int_equal(world.decided, 0);
	deliver_graph(7, 200, 300);
	deliver(9, 400, 500);
	assert_int_equal(step_at(2000), 0);
	assert_int_equal(graph->graph_launch.measured_start_ns, 200);
	assert_int_equal(graph->graph_launch.measured_end_ns, 300);
	assert_int_equal(world.graphs_measured, 1);
	assert_int_equal(world.decided, 2);
	assert_int_equal(beside->launch.overlap, KC_OVERLAP_UNKNOWN);
	assert_int_equal(after->launch.overlap, KC_OVERLAP_NONE);
	assert_int_equal(world.ready, 5);
	/* The ledger's records are those of kernels. */
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 2);
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 2);
	assert_int_equal(counted(KC_COUNT_GRAPH_UNMATCHED), 0);
	assert_int_equal(counted(KC_COUNT_TRANSFER_RECORDS), 0);
}

static void a_graphs_record_may_come_first_or_be_of_no_use_or_never_come(void **state)
{
	struct kc_slot *early = graph_call(100), *undated, *missing;

	(void)state;
	early->graph_launch.whole = 1;
	deliver_graph(7, 200, 300);
	step_at(400);
	graph_returns(early, 7);
	step_at(500);
	assert_int_equal(early->graph_launch.measured_end_ns, 300);
	undated = whole_graph(600, 8);
	missing = whole_graph(700, 9);
	deliver_graph(8, 0, 0);
	deliver_graph(10, 800, 900); /* nobody's */
	step_at(1000);
	step_at(2000000000);
	kc__join_give_up(world.join);
	assert_int_equal(undated->graph_launch.unmeasured, KC_RECORD_INVALID);
	assert_int_equal(missing->graph_launch.unmeasured, KC_NOT_DELIVERED);
	assert_int_equal(counted(KC_COUNT_GRAPH_UNMATCHED), 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_INVALID), 0);
	assert_int_equal(world.graphs_measured, 1);
	assert_int_equal(world.ready, 9);
}

/* While CUPTI is about to rest, the application goes on launching. */
static void what_is_launched_later_is_not_awaited(void **state)
{
	struct kc_slot *first = launch(1, 7, 100), *slow = call(1, 200), *later;
	uint64_t end = slow->index + 1;

	(void)state;
	assert_true(kc__join_awaits(world.join, end)); /* not looked at yet */
	deliver(7, 200, 300);
	step_at(400);
	assert_times(first, 200, 300);
	assert_true(kc__join_awaits(world.join, end)); /* a call has not returned */
	slow->launch.unmeasured = KC_CALL_FAILED;
	returns(slow, 8);
	later = call(1, 500);
	step_at(600);
	kc_journal_claim(world.journal, KC_KIND_LAUNCH);
	assert_false(kc__join_awaits(world.join, end));
	assert_true(kc__join_awaits(world.join, later->index + 1));
}

/* At the exit slots are passed over that are not filled, and its kernels' are. */
static void at_the_last_look_so_does_a_graph_that_was_not_filled(void **state)
{
	struct kc_slot *slot = kc_journal_claim_with_room(world.journal, KC_KIND_GRAPH_LAUNCH, 2);

	(void)state;
	kc__join_bound(world.join, 3);
	assert_int_equal(step_at(200), 0);
	slot->graph_launch = (struct kc_graph_launch){.kernels = 2, .number = 1, .stream = 1, .predicted_at_ns = 100};
	graph_returns(slot, 7);
	deliver(7, 300, 400)->graph_node = 41;
	deliver(7, 400, 500)->graph_node = 42;
	step_at(600);
	assert_int_equal(step_at(600), 0);
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 2);
	assert_int_equal(world.ready, 3);
}

static void any_node_of_a_graph_may_be_measured_last(void **state)
{
	enum { NODES = 4 };
	static const uint32_t orders[][NODES] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}, {2, 0, 3, 1}};

	(void)state;
	for (uint32_t o = 0; o < sizeof(orders) / sizeof(*orders); o++) {
		struct kc_slot *nodes[NODES];

		for (uint32_t i = 0; i < NODES; i++)
			nodes[i] = graph_node(o + 1, 41 + i, 5);
		for (uint32_t i = 0; i < NODES; i++) {
			deliver(o + 1, 200 + orders[o][i], 300)->graph_node = 41 + orders[o][i];
			assert_int_equal(step_at(1000), i + 1 < NODES);
		}
		for (uint32_t i = 0; i < NODES; i++)
			assert_times(nodes[i], 200 + i, 300);
	}
}

/* Whatever the order, finding the node of a record takes as long among many nodes as among few: the processor's time
 * for 64 times as many nodes is 64 times as long, not 4,096. */
static void nodes_of_a_large_graph_take_no_longer_each(void **state)
{
	enum { FEW = 512, MANY = 64 * FEW };
	static struct kc_slot *nodes[MANY];
	double few_s = 0, many_s;

	(void)state;
	for (uint32_t count = FEW, id = 1; count <= MANY; count *= MANY / FEW, id++) {
		clock_t began;

		for (uint32_t i = 0; i < count; i++)
			nodes[i] = graph_node(id, 41 + i, 5);
		step_at(150);
		began = clock();
		for (uint32_t done = 0; done < count; done += FEW) {
			for (uint32_t i = done; i < done + FEW; i++)
				deliver(id, 1000 + i, 1001 + i)->graph_node = 41 + count - 1 - i;
			step_at(200);
		}
		many_s = (double)(clock() - began) / CLOCKS_PER_SEC;
		if (count == FEW)
			few_s = many_s;
		assert_int_equal(kc__join_step(world.join), 0);
		for (uint32_t i = 0; i < count; i++)
			assert_times(nodes[i], 1000 + count - 1 - i, 1000 + count - i);
	}
	assert_true(many_s < 64 * 8 * (few_s + 1e-4));
}

static void a_record_waits_for_its_call_to_return(void **state)
{
	struct kc_slot *slot = call(1, 100);

	(void)state;
	deliver(7, 200, 300);
	assert_int_equal(step_at(1000), 0);
	returns(slot, 7);
	assert_int_equal(step_at(1001), 0);
	assert_times(slot, 200, 300);
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 1);
}

static void a_record_without_a_launch_counts_as_unmatched_after_a_second(void **state)
{
	(void)state;
	deliver(7, 200, 300);
	deliver(8, 200, 300)->is_kernel = 0;
	step_at(1 * S);
	step_at(2 * S - 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 0);
	step_at(2 * S);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
	assert_int_equal(counted(KC_COUNT_TRANSFER_RECORDS), 1);
	assert_int_equal(counted(KC_COUNT_TRANSFER_UNMATCHED), 1);
}

static void a_record_of_what_was_not_asked_for_is_not_counted(void **state)
{
	struct kc_slot *slot = call(1, 1 * S);

	(void)state;
	slot->launch.not_asked = 1;
	returns(slot, 7);
	deliver(7, 2 * S, 3 * S);
	deliver(8, 2 * S, 3 * S); /* of a launch that was passed on */
	deliver(9, 2 * S, 3 * S);
	world.not_asked[1] = 1;
	step_at(4 * S);
	step_at(5 * S);
	assert_int_equal(state_of(slot), KC_SLOT_STORED);
	assert_int_equal(world.launches_measured, 1); /* it teaches */
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 0);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
}

static void a_second_record_of_one_launch_is_unmatched(void **state)
{
	struct kc_slot *slot = launch(1, 7, 100);

	(void)state;
	deliver(7, 200, 300);
	deliver(7, 500, 600);
	step_at(1 * S);
	step_at(2 * S);
	assert_times(slot, 200, 300);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 2);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
}

static void what_started_after_the_exit_began_is_not_counted(void **state)
{
	(void)state;
	world.exit_ns = 500;
	deliver(7, 500, 600);
	deliver(8, 499, 600);
	deliver(9, 0, 0); /* by force, while it ran or waited */
	step_at(1 * S);
	step_at(2 * S);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
}

/* 8,192 are kept. */
static void past_the_bound_records_without_a_launch_are_counted_at_once(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8192 + 3; i++)
		deliver(i + 1, 200, 300);
	step_at(1000);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 3);
}

/* The call has not returned when its record comes, and others wait already. */
static void past_the_bound_the_oldest_gives_way(void **state)
{
	struct kc_slot *slot = call(1, 300);

	(void)state;
	for (uint32_t i = 0; i < 8192; i++)
		deliver(i + 1, 200, 300);
	step_at(1000);
	deliver(9000, 400, 500);
	step_at(1000);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
	returns(slot, 9000);
	step_at(1000);
	assert_times(slot, 400, 500);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
	launch(1, 2, 100);
	step_at(1000);
	assert_int_equal(world.launches_measured, 2);
	step_at(1 * S + 1000);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1 + 8190);
}

static void launch_them(void)
{
	for (uint32_t i = 0; i < 8192 + 3; i++)
		launch(1, i + 1, 100);
	world.before_last = NULL;
}

/* They are looked at before records are read, and both come faster than that. */
static void launches_may_be_made_while_records_are_read(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8192 + 1; i++)
		deliver(i + 1, 200 + i, 201 + i);
	world.before_last = launch_them;
	step_at(20000);
	step_at(20000);
	assert_int_equal(world.launches_measured, 8192 + 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 0);
}

static void a_record_without_times_measures_nothing(void **state)
{
	struct kc_slot *slot = launch(1, 7, 100);

	(void)state;
	deliver(7, 0, 0);
	assert_int_equal(step_at(1000), 0);
	assert_unmeasured(slot, KC_RECORD_INVALID);
	assert_int_equal(world.launches_measured, 0);
	assert_int_equal(counted(KC_COUNT_CUPTI_RECORDS), 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_INVALID), 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_UNMATCHED), 1);
	assert_int_equal(world.said[KC_MESSAGE_RECORDS_INVALID], 1);
}

static void a_record_of_before_its_launch_measures_nothing(void **state)
{
	struct kc_slot *before = launch(1, 7, 1000), *within_error = launch(1, 8, 1000);
	struct kc_slot *copy = kc_journal_claim(world.journal, KC_KIND_TRANSFER);

	(void)state;
	copy->transfer = (struct kc_transfer){.stream = 1, .correlation = 9, .launched_ns = 1000};
	kc_journal_commit(copy, KC_SLOT_RETURNED);
	world.clock_error_ns = 100;
	deliver(7, 899, 1200);
	deliver(9, -100, 1200)->is_kernel = 0;
	deliver(8, 900, 1200);
	assert_int_equal(step_at(2000), 0);
	assert_unmeasured(before, KC_RECORD_INVALID);
	assert_int_equal(copy->transfer.unmeasured, KC_RECORD_INVALID);
	assert_int_equal(world.transfers_measured, 0);
	assert_times(within_error, 900, 1200);
	assert_int_equal(world.launches_measured, 1);
	assert_int_equal(counted(KC_COUNT_CUPTI_INVALID), 1);
}

static void what_cannot_be_measured_is_final_at_once(void **state)
{
	struct kc_slot *slot = call(1, 100);

	(void)state;
	slot->launch.unmeasured = KC_CALL_FAILED;
	returns(slot, 7);
	assert_int_equal(
	    kc_journal_put(world.journal, KC_KIND_LAMBDA, &(struct kc_lambda_entry){0}, sizeof(struct kc_lambda_entry)),
	    0);
	assert_int_equal(step_at(1000), 0);
	assert_unmeasured(slot, KC_CALL_FAILED);
	assert_int_equal(world.ready, 2);
}

/* Ids are found by their low 20 bits. */
static void a_launch_gives_way_to_one_a_million_ids_later(void **state)
{
	struct kc_slot *node = graph_node(7, 41, 5), *second_node = graph_node(7, 42, 5);
	struct kc_slot *later = launch(1, 7 + (1u << 20), 200);

	(void)state;
	assert_int_equal(step_at(1000), 1);
	assert_unmeasured(node, KC_NOT_DELIVERED);
	assert_unmeasured(second_node, KC_NOT_DELIVERED);
	deliver(7 + (1u << 20), 300, 400);
	assert_int_equal(step_at(1000), 0);
	assert_times(later, 300, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_record_finds_its_launch),
	    TEST(a_transfer_is_final_when_it_is_measured),
	    TEST(graph_nodes_are_told_apart_by_their_record_id),
	    TEST(nodes_of_child_graphs_are_told_apart_by_shape_and_order_where_their_ids_are_others),
	    TEST(nodes_of_child_graphs_are_told_apart_by_their_ids_where_they_are_the_same),
	    TEST(graph_nodes_without_a_record_id_are_told_apart_by_launch_shape),
	    TEST(a_graph_becomes_its_kernels_when_its_launch_has_returned),
	    TEST(a_graph_is_measured_as_one),
	    TEST(a_graphs_record_may_come_first_or_be_of_no_use_or_never_come),
	    TEST(what_is_launched_later_is_not_awaited),
	    TEST(at_the_last_look_so_does_a_graph_that_was_not_filled),
	    TEST(any_node_of_a_graph_may_be_measured_last),
	    TEST(nodes_of_a_large_graph_take_no_longer_each),
	    TEST(a_record_waits_for_its_call_to_return),
	    TEST(a_record_without_a_launch_counts_as_unmatched_after_a_second),
	    TEST(a_record_of_what_was_not_asked_for_is_not_counted),
	    TEST(a_second_record_of_one_launch_is_unmatched),
	    TEST(what_started_after_the_exit_began_is_not_counted),
	    TEST(past_the_bound_records_without_a_launch_are_counted_at_once),
	    TEST(past_the_bound_the_oldest_gives_way),
	    TEST(launches_may_be_made_while_records_are_read),
	    TEST(a_record_without_times_measures_nothing),
	    TEST(a_record_of_before_its_launch_measures_nothing),
	    TEST(what_cannot_be_measured_is_final_at_once),
	    TEST(a_launch_gives_way_to_one_a_million_ids_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
