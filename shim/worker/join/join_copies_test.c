/* Copies and memsets that are nodes of graphs: one slot for each node of a launch, and which record is of which. */
#include "join_testing.h"

static struct kc_slot *copy_node(uint32_t correlation, uint64_t record_id, enum kc_transfer_kind kind, uint64_t bytes)
{
	struct kc_slot *slot = kc_journal_claim(world.journal, KC_KIND_TRANSFER);

	slot->transfer = (struct kc_transfer){.stream = 1,
					      .launched_ns = 100,
					      .correlation = correlation,
					      .kind = (uint8_t)kind,
					      .bytes = bytes,
					      .in_graph = 1,
					      .graph_record = record_id};
	kc_journal_commit(slot, KC_SLOT_RETURNED);
	return slot;
}

static void deliver_copy(uint32_t correlation, uint64_t node, enum kc_transfer_kind kind, uint64_t bytes,
			 int64_t start_ns)
{
	struct kc__record *record = deliver(correlation, start_ns, start_ns + 10);

	record->is_kernel = 0;
	record->graph_node = node;
	record->kind = kind;
	record->bytes = bytes;
}

static void assert_start(const struct kc_slot *slot, int64_t start_ns)
{
	assert_int_equal(slot->transfer.measured_start_ns, start_ns);
	assert_int_equal(slot->transfer.measured_end_ns, start_ns + 10);
}

static void assert_all_matched(uint64_t records)
{
	assert_int_equal(counted(KC_COUNT_TRANSFER_RECORDS), records);
	assert_int_equal(counted(KC_COUNT_TRANSFER_UNMATCHED), 0);
}

/* Nothing is learned from it: the copies of a graph are not on the timeline. */
static void each_node_of_a_launch_has_its_record(void **state)
{
	struct kc_slot *launch = kc_journal_claim_with_room(world.journal, KC_KIND_GRAPH_LAUNCH, 4);

	(void)state;
	launch->graph_launch = (struct kc_graph_launch){
	    .kernels = 2, .copies = 2, .number = 1, .stream = 1, .predicted_at_ns = 100, .correlation = 7};
	kc_journal_commit(launch, KC_SLOT_RETURNED);
	deliver_copy(7, 44, KC_COPY_HTOD, 64, 400);
	deliver(7, 200, 300)->graph_node = 41;
	deliver_copy(7, 43, KC_COPY_HTOD, 64, 180);
	deliver(7, 300, 390)->graph_node = 42;
	step_at(1000);
	assert_int_equal(step_at(1001), 0);
	assert_start(kc_journal_at(world.journal, launch->index + 3), 180);
	assert_start(kc_journal_at(world.journal, launch->index + 4), 400);
	assert_all_matched(2);
	assert_int_equal(counted(KC_COUNT_CUPTI_MATCHED), 2);
	assert_int_equal(world.transfers_measured, 0);
	assert_int_equal(world.ready, 5);
}

/* The slots of a launch that had not returned when they were passed over. */
static void so_has_each_of_a_launch_that_returns_late(void **state)
{
	struct kc_slot *launch = kc_journal_claim_with_room(world.journal, KC_KIND_GRAPH_LAUNCH, 1), *after;

	(void)state;
	launch->graph_launch =
	    (struct kc_graph_launch){.copies = 1, .number = 1, .stream = 1, .predicted_at_ns = 100, .correlation = 7};
	kc_journal_commit(launch, KC_SLOT_CALLED);
	after = copy_node(8, 51, KC_MEMSET, 16);
	deliver_copy(8, 51, KC_MEMSET, 16, 300);
	assert_int_equal(step_at(400), 0);
	assert_start(after, 300);
	kc_journal_commit(launch, KC_SLOT_RETURNED);
	deliver_copy(7, 41, KC_COPY_HTOD, 64, 500);
	assert_int_equal(step_at(600), 0);
	assert_start(kc_journal_at(world.journal, launch->index + 1), 500);
	assert_all_matched(2);
}

/* Few of one id are a list, many are a table. */
static void the_id_of_the_node_tells_them_apart(void **state)
{
	static const uint32_t counts[] = {3, 100};

	(void)state;
	for (uint32_t c = 0; c < 2; c++) {
		struct kc_slot *nodes[100];

		for (uint32_t i = 0; i < counts[c]; i++)
			nodes[i] = copy_node(7 + c, 41 + i, i % 2 ? KC_MEMSET : KC_COPY_DTOH, 64);
		for (uint32_t i = counts[c]; i--;)
			deliver_copy(7 + c, 41 + i, i % 2 ? KC_MEMSET : KC_COPY_DTOH, 64, 1000 + i);
		assert_int_equal(step_at(5000), 0);
		for (uint32_t i = 0; i < counts[c]; i++)
			assert_start(nodes[i], 1000 + i);
	}
	assert_all_matched(103);
}

static void where_no_id_is_known_what_is_copied_does(void **state)
{
	struct kc_slot *set = copy_node(7, 0, KC_MEMSET, 64), *down = copy_node(7, 0, KC_COPY_DTOH, 64),
		       *longer = copy_node(7, 0, KC_COPY_DTOH, 128), *any = copy_node(7, 0, KC_COPY_OTHER, 64);

	(void)state;
	deliver_copy(7, 91, KC_COPY_DTOH, 128, 200);
	deliver_copy(7, 92, KC_COPY_DTOH, 64, 300);
	deliver_copy(7, 93, KC_COPY_PEER, 64, 400);
	deliver_copy(7, 94, KC_MEMSET, 64, 500);
	assert_int_equal(step_at(1000), 0);
	assert_start(longer, 200);
	assert_start(down, 300);
	assert_start(any, 400);
	assert_start(set, 500);
	assert_int_equal(any->transfer.kind, KC_COPY_PEER);
	assert_all_matched(4);
}

/* CUPTI 13.0 has another id in the records of such a node than when the graph is instantiated. */
static void in_a_child_graph_it_does_where_no_id_fits(void **state)
{
	struct kc_slot *first = copy_node(7, 41, KC_MEMSET, 64), *second = copy_node(7, 42, KC_COPY_HTOD, 64);

	(void)state;
	first->transfer.in_child = second->transfer.in_child = 1;
	deliver_copy(7, 142, KC_COPY_HTOD, 64, 200);
	deliver_copy(7, 41, KC_MEMSET, 64, 300);
	assert_int_equal(step_at(1000), 0);
	assert_start(second, 200);
	assert_start(first, 300);
	assert_all_matched(2);
}

static void what_a_node_was_set_to_since_its_record_tells(void **state)
{
	struct kc_slot *node = copy_node(7, 41, KC_COPY_HTOD, 64);

	(void)state;
	deliver_copy(7, 41, KC_COPY_DTOD, 4096, 200);
	assert_int_equal(step_at(1000), 0);
	assert_int_equal(node->transfer.kind, KC_COPY_DTOD);
	assert_int_equal(node->transfer.bytes, 4096);
}

/* Of a graph with nodes that nobody can count beforehand, or a copy that is none of a graph. */
static void a_record_of_no_node_counts_as_unmatched(void **state)
{
	struct kc_slot *plain = copy_node(8, 0, KC_COPY_HTOD, 64), *node = copy_node(9, 41, KC_COPY_HTOD, 64);

	(void)state;
	plain->transfer.in_graph = 0;
	deliver_copy(7, 42, KC_COPY_HTOD, 64, 300);
	deliver_copy(8, 42, KC_COPY_HTOD, 64, 300);
	deliver_copy(9, 42, KC_COPY_HTOD, 64, 300);
	deliver_copy(9, 0, KC_COPY_HTOD, 64, 300);
	assert_int_equal(step_at(1000), 1);
	assert_int_equal(counted(KC_COUNT_TRANSFER_UNMATCHED), 0);
	assert_int_equal(step_at(2 * S), 1);
	assert_int_equal(counted(KC_COUNT_TRANSFER_UNMATCHED), 4);
	assert_int_equal(plain->transfer.measured_end_ns, 0);
	kc__join_give_up(world.join);
	assert_int_equal(node->transfer.unmeasured, KC_NOT_DELIVERED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(each_node_of_a_launch_has_its_record),      TEST(so_has_each_of_a_launch_that_returns_late),
	    TEST(the_id_of_the_node_tells_them_apart),       TEST(where_no_id_is_known_what_is_copied_does),
	    TEST(in_a_child_graph_it_does_where_no_id_fits), TEST(what_a_node_was_set_to_since_its_record_tells),
	    TEST(a_record_of_no_node_counts_as_unmatched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
