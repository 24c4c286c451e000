/* Launches of graphs whose kernels had no slots yet: recovery makes them. */
#include "recovery_testing.h"
#include "unmade.h"

#include <time.h>

/* Two kernels, 2,000 ns in all: one of 600 and, after a gap of 100, one of 1,300. */
static void add_graph(struct kc_journal *j, uint64_t number, uint32_t state)
{
	struct {
		struct kc_graph_entry entry;
		struct kc_graph_kernel kernels[2];
	} graph = {
	    .entry = {.graph = number, .known = 5, .span_ns = 2000, .count = 2, .kernels = 2, .last = 2},
	    .kernels = {{.predicted = {.span_ns = 600, .solo_ns = 600, .slowdown = 1, .model = KC_MODEL_BSP_SHAPE},
			 .grid = {7, 1, 1},
			 .block = {32, 1, 1},
			 .node = 1},
			{.predicted = {.start_ns = 700,
				       .span_ns = 1300,
				       .solo_ns = 650,
				       .slowdown = 2,
				       .model = KC_MODEL_BSP_SHAPE},
			 .grid = {8, 1, 1},
			 .block = {32, 1, 1},
			 .node = 3}},
	};
	uint64_t first;
	int parts = kc_journal_put_at(j, KC_KIND_GRAPH, &graph, sizeof(graph), &first);

	assert_true(parts > 0);
	for (uint64_t i = 0; i < (uint64_t)parts; i++)
		kc_journal_commit(kc_journal_at(j, first + i), state);
}

/* Placed from 4,000,000 ns on, for twice as long as alone. Returns its slot. */
static struct kc_slot *add_graph_launch(struct kc_journal *j, uint64_t number, uint32_t state)
{
	struct kc_slot *slot = kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, 2);

	slot->graph_launch = (struct kc_graph_launch){
	    .graph = number,
	    .known = 6,
	    .predicted_at_ns = 3000000,
	    .start_ns = 4000000,
	    .end_ns = 4004000,
	    .kernels = 2,
	    .number = 9,
	    .result = state == KC_SLOT_CALLED ? INT32_MIN : 0,
	    .correlation = 77,
	};
	kc_journal_commit(slot, state);
	return slot;
}

/* Whether the worker had come to make them or not, and wherever the graph's kernels are in the journal. */
static void kernels_of_a_graph_are_launches(void **state)
{
	struct kc_journal *j = dead_journal(1);
	struct kc_slot *slot, *made;
	struct kc_recovered out;

	(void)state;
	add_graph(j, 40, KC_SLOT_STORED); /* of no more use: a copy follows */
	slot = add_graph_launch(j, 40, KC_SLOT_RETURNED);
	made = kc_journal_at(j, slot->index + 2);
	made->kind = KC_KIND_LAUNCH;
	made->index = slot->index + 2;
	made->launch = launch_of(0);
	made->launch.graph_launch = 8;
	kc_journal_commit(made, KC_SLOT_RETURNED);
	add_graph(j, 40, KC_SLOT_RETURNED);
	add_graph_launch(j, 40, KC_SLOT_CALLED);
	add_graph_launch(j, 41, KC_SLOT_CALLED); /* a damaged journal: nothing is known of the graph */
	finish(j, 0);
	out = recover();
	assert_int_equal(out.launches, 4);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE graph_launch = 9"), 3);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE graph_launch = 8"), 1);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE unmeasured = 'process_killed'"), 4);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE result IS NULL"), 2);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE graph_launch = 9 AND graph_node = 1"
				   " AND grid_x = 7 AND start_ns = 4000000 AND end_ns = 4001200 AND solo_ns = 600"
				   " AND known_events = 5 AND launched_ns = 3000000 AND correlation = 77"),
			 2);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE graph_launch = 9 AND graph_node = 3"
				   " AND grid_x = 8 AND start_ns = 4001400 AND end_ns = 4004000 AND solo_ns = 650"
				   " AND known_events = 5 AND launched_ns = 3000001"),
			 1);
	assert_int_equal(number_of("SELECT count(*) FROM stream_call WHERE kind = 9 AND ns = 40 AND known_events = 6"),
			 2);
}

/* Its kernels were stored long ago, and the segments that they were in are used again. */
static void of_a_graph_that_awaits_its_time_kernels_are_not_made_again(void **state)
{
	struct kc_journal *j = dead_journal(1);
	struct kc_slot *slot;

	(void)state;
	add_graph(j, 40, KC_SLOT_RETURNED);
	slot = add_graph_launch(j, 40, KC_SLOT_RETURNED);
	slot->graph_launch.whole = slot->graph_launch.made = 1;
	slot = add_graph_launch(j, 40, KC_SLOT_RETURNED);
	slot->graph_launch.whole = 1;
	finish(j, 0);
	assert_int_equal(recover().launches, 2);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE unmeasured = 'in_graph'"), 2);
	assert_int_equal(number_of("SELECT count(*) FROM stream_call WHERE kind = 9 AND graph_launch = 9"
				   " AND unmeasured = 'process_killed' AND end_ns - start_ns = 4000"),
			 2);
}

/* Their number squared would be a minute. */
static void many_graphs_take_no_time(void **state)
{
	struct {
		struct kc_graph_entry entry;
		struct kc_graph_kernel kernel;
	} graph = {.entry = {.count = 1, .kernels = 1}};
	struct kc__unmade unmade = {.graphs = NULL};
	struct kc_slot slot = {.kind = KC_KIND_GRAPH, .part = {.count = 1, .bytes = sizeof(graph)}};
	clock_t began = clock();

	(void)state;
	_Static_assert(sizeof(graph) <= sizeof(slot.part.payload), "in one part");
	for (graph.entry.graph = 1; graph.entry.graph <= 300000; graph.entry.graph++) {
		memcpy(slot.part.payload, &graph, sizeof(graph));
		assert_int_equal(kc__unmade_graph(&unmade, &slot), 0);
	}
	assert_int_equal(unmade.graph_count, 300000);
	kc__unmade_free(&unmade);
	assert_true(clock() - began < 5 * CLOCKS_PER_SEC);
}

/* They have their slots; what comes behind these is none of the graph's. */
static void a_graph_ends_with_its_last_kernel(void **state)
{
	struct kc_journal *j = dead_journal(1);
	struct kc_launch launch = launch_of(0);
	struct kc_slot *slot, *made;

	(void)state;
	add_graph(j, 40, KC_SLOT_RETURNED);
	slot = add_graph_launch(j, 40, KC_SLOT_RETURNED);
	for (uint64_t i = 1; i <= 2; i++) {
		made = kc_journal_at(j, slot->index + i);
		made->kind = KC_KIND_LAUNCH;
		made->index = slot->index + i;
		made->launch = launch_of(0);
		kc_journal_commit(made, KC_SLOT_RETURNED);
	}
	add_launch(j, &launch, KC_SLOT_STORED);
	add_launch(j, &launch, KC_SLOT_RETURNED);
	finish(j, 0);
	assert_int_equal(recover().launches, 3);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE graph_launch = 9"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(kernels_of_a_graph_are_launches, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(of_a_graph_that_awaits_its_time_kernels_are_not_made_again, begin_test,
					    end_test),
	    cmocka_unit_test(many_graphs_take_no_time),
	    cmocka_unit_test_setup_teardown(a_graph_ends_with_its_last_kernel, begin_test, end_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
