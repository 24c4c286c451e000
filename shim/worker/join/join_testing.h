/* What the tests of the join share: a real journal, and CUPTI, streams and a clock of the test's. */
#ifndef KC_SHIM_JOIN_TESTING_H
#define KC_SHIM_JOIN_TESTING_H

#include "join.h"
#include "shim/tables/memory.h"
#include "shim/worker/cupti/measuring.h"

#include "store/journal/journal_testing.h"

#define S 1000000000ll /* nanoseconds a second */

enum { STREAMS = 3, RECORDS_MAX = 20000 };

static struct {
	struct kc_journal *journal;
	struct kc__join *join;
	int64_t now_ns, exit_ns, clock_error_ns;
	uint64_t dropped;
	uint32_t not_asked[2];
	struct kc__record records[RECORDS_MAX];
	uint32_t record_count;
	struct kc__stream_wait waits[STREAMS + 1]; /* by id, from 1 */
	uint32_t said[KC_MESSAGE_COUNT];
	uint32_t by_driver[KC__CALLS], by_enclosing[KC__CALLS], strays[KC__CALLS]; /* ids of records */
	uint32_t ready, launches_measured, transfers_measured, graphs_measured, decided;
	uint32_t measured_last; /* its correlation id */
	bool enough_ready;
	void (*before_last)(void); /* of the records is handed over; NULL: nothing */
	struct kc_load met;        /* by the launch that was decided last */
} world;

/* In place of tables.c */
void *kc__map_root(size_t bytes)
{
	return calloc(1, bytes);
}

void kc__unmap_root(void *p, size_t bytes)
{
	(void)bytes;
	free(p);
}

/* ---- What the join is given ---- */

static inline int64_t now_ns(void)
{
	return world.now_ns;
}

static inline int64_t exit_ns(void)
{
	return world.exit_ns;
}

static inline void say(enum kc_message_code code, const char *detail)
{
	(void)detail;
	world.said[code]++;
}

static inline void drain(void (*on_record)(const struct kc__record *record, void *arg), void *arg)
{
	for (uint32_t i = 0; i < world.record_count; i++) {
		if (world.before_last && i + 1 == world.record_count)
			world.before_last();
		on_record(&world.records[i], arg);
	}
	world.record_count = 0;
}

static inline uint64_t dropped(void)
{
	return world.dropped;
}

static inline int64_t clock_error_ns(void)
{
	return world.clock_error_ns;
}

static inline void id_matched(enum kc__calls calls, bool by_enclosing)
{
	(by_enclosing ? world.by_enclosing : world.by_driver)[calls]++;
}

static inline void id_unmatched(enum kc__calls calls)
{
	world.strays[calls]++;
}

/* So many records of launches, and of transfers, are explained. */
static inline bool not_asked(bool is_kernel)
{
	return world.not_asked[is_kernel] && world.not_asked[is_kernel]--;
}

static inline struct kc__stream_wait *stream_wait(uint32_t id)
{
	return id <= STREAMS ? &world.waits[id] : NULL;
}

static inline uint32_t stream_places(void)
{
	return STREAMS + 1;
}

static inline void expand_copy(const struct kc_graph_launch *launch, struct kc_slot *slot, uint32_t i)
{
	slot->kind = KC_KIND_TRANSFER;
	slot->transfer = (struct kc_transfer){
	    .stream = launch->stream,
	    .launched_ns = launch->predicted_at_ns,
	    .correlation = launch->correlation,
	    .unmeasured = launch->unmeasured,
	    .kind = KC_COPY_HTOD,
	    .in_graph = 1,
	    .graph_record = 41 + launch->kernels + i,
	};
}

/* Kernels, and copies after them, each with an id in CUPTI's records. */
static inline void expand(struct kc_slot *launch)
{
	for (uint32_t i = 0; i < launch->graph_launch.copies; i++) {
		struct kc_slot *slot =
		    kc_journal_at(world.journal, launch->index + 1 + launch->graph_launch.kernels + i);

		slot->index = launch->index + 1 + launch->graph_launch.kernels + i;
		expand_copy(&launch->graph_launch, slot, i);
		kc_journal_commit(slot, state_of(launch));
	}
	for (uint32_t i = 0; i < launch->graph_launch.kernels; i++) {
		struct kc_slot *slot = kc_journal_at(world.journal, launch->index + 1 + i);

		slot->kind = KC_KIND_LAUNCH;
		slot->index = launch->index + 1 + i;
		slot->launch = (struct kc_launch){
		    .stream = launch->graph_launch.stream,
		    .launched_ns = launch->graph_launch.predicted_at_ns + i,
		    .correlation = launch->graph_launch.correlation,
		    .unmeasured = launch->graph_launch.unmeasured,
		    .graph_launch = launch->graph_launch.number,
		    .graph_record = 41 + i,
		};
		if (launch->graph_launch.whole && !launch->graph_launch.unmeasured)
			slot->launch.unmeasured = KC_IN_GRAPH;
		kc_journal_commit(slot, state_of(launch));
	}
	launch->graph_launch.made = 1;
}

static inline struct kc_load load(const struct kc_launch *launch)
{
	return (struct kc_load){.of = {(float)launch->solo_ns / 1000}};
}

static inline void launch_measured(struct kc_launch *launch)
{
	assert_true(launch->measured_end_ns > 0);
	world.launches_measured++;
	world.measured_last = launch->correlation;
}

static inline void transfer_measured(struct kc_transfer *transfer)
{
	assert_true(transfer->measured_end_ns > 0);
	world.transfers_measured++;
}

static inline void graph_measured(struct kc_graph_launch *launch)
{
	assert_true(launch->measured_end_ns > 0);
	world.graphs_measured++;
}

static inline void launch_decided(struct kc_launch *launch, const struct kc_load *met)
{
	(void)launch;
	world.decided++;
	world.met = *met;
}

static inline void ready(struct kc_slot *slot)
{
	assert_int_equal(state_of(slot), KC_SLOT_FINAL);
	world.ready++;
	kc_journal_commit(slot, KC_SLOT_STORED);
}

static inline bool enough_ready(void)
{
	return world.enough_ready;
}

static inline int begin(void **state)
{
	struct kc__join_driver driver = {
	    .device_count = 1,
	    .now_ns = now_ns,
	    .exit_ns = exit_ns,
	    .say = say,
	    .drain = drain,
	    .dropped = dropped,
	    .clock_error_ns = clock_error_ns,
	    .id_matched = id_matched,
	    .id_unmatched = id_unmatched,
	    .not_asked = not_asked,
	    .stream_wait = stream_wait,
	    .stream_places = stream_places,
	    .stream_at = stream_wait,
	    .expand = expand,
	    .load = load,
	    .launch_measured = launch_measured,
	    .transfer_measured = transfer_measured,
	    .graph_measured = graph_measured,
	    .launch_decided = launch_decided,
	    .ready = ready,
	    .enough_ready = enough_ready,
	};

	if (setup(state))
		return -1;
	memset(&world, 0, sizeof(world));
	driver.journal = world.journal = create(64 * MIB);
	world.join = kc__join_new(&driver);
	return world.join ? 0 : -1;
}

static inline int end(void **state)
{
	kc__join_free(world.join);
	finish(world.journal, 1);
	return teardown(state);
}

/* ---- One-line calls, records and steps ---- */

static inline struct kc_slot *call(uint32_t stream, int64_t launched_ns)
{
	struct kc_slot *slot = kc_journal_claim(world.journal, KC_KIND_LAUNCH);

	memset(&slot->launch, 0, sizeof(slot->launch));
	slot->launch.stream = stream;
	slot->launch.launched_ns = launched_ns;
	kc_journal_commit(slot, KC_SLOT_CALLED);
	return slot;
}

static inline void returns(struct kc_slot *slot, uint32_t correlation)
{
	slot->launch.correlation = correlation;
	kc_journal_commit(slot, KC_SLOT_RETURNED);
}

static inline struct kc_slot *launch(uint32_t stream, uint32_t correlation, int64_t launched_ns)
{
	struct kc_slot *slot = call(stream, launched_ns);

	returns(slot, correlation);
	return slot;
}

static inline struct kc_slot *graph_node(uint32_t correlation, uint64_t record_id, uint32_t blocks)
{
	struct kc_slot *slot = call(1, 100);

	slot->launch.graph_launch = 1;
	slot->launch.graph_record = record_id;
	slot->launch.grid[0] = blocks;
	returns(slot, correlation);
	return slot;
}

static inline struct kc__record *deliver(uint32_t correlation, int64_t start_ns, int64_t end_ns)
{
	struct kc__record *record = &world.records[world.record_count++];

	*record =
	    (struct kc__record){.correlation = correlation, .is_kernel = 1, .start_ns = start_ns, .end_ns = end_ns};
	return record;
}

static inline int step_at(int64_t ns)
{
	world.now_ns = ns;
	return kc__join_step(world.join);
}

static inline uint64_t counted(enum kc_counter counter)
{
	return atomic_load(&kc_journal_header(world.journal)->counters[counter]);
}

static inline void assert_times(const struct kc_slot *slot, int64_t start_ns, int64_t end_ns)
{
	assert_int_equal(slot->launch.measured_start_ns, start_ns);
	assert_int_equal(slot->launch.measured_end_ns, end_ns);
}

static inline void assert_unmeasured(struct kc_slot *slot, enum kc_unmeasured why)
{
	assert_int_equal(state_of(slot), KC_SLOT_STORED);
	assert_int_equal(slot->launch.unmeasured, why);
	assert_times(slot, 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
