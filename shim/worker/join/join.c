#include "join_parts.h"
#include "shim/tables/memory.h"
#include "shim/worker/cupti/measuring.h"

#include <string.h>

#define ORPHAN_NS 1000000000ll /* a record without a launch for so long has none */

/* A record of what was not asked for is not counted, as there is no row that it belongs to. */
static void count_record(const struct kc__join *join, const struct kc_slot *slot, enum kc_counter counter)
{
	if (!kc_slot_not_asked(slot))
		kc__join_count(join, counter);
}

struct kc__join *kc__join_new(const struct kc__join_driver *driver)
{
	struct kc__join *join = kc__map_root(sizeof(*join));

	if (!join)
		return NULL;
	join->ids = kc__ids_new(driver->journal);
	if (!join->ids) {
		kc__unmap_root(join, sizeof(*join));
		return NULL;
	}
	join->driver = *driver;
	join->bound = UINT64_MAX;
	return join;
}

void kc__join_bound(struct kc__join *join, uint64_t end)
{
	join->bound = end;
}

void kc__join_free(struct kc__join *join)
{
	if (!join)
		return;
	for (int i = 0; i < KC__DEVICES_MAX; i++)
		kc_spans_free(&join->devices[i]);
	kc__ids_free(join->ids);
	kc__unmap_root(join, sizeof(*join));
}

void kc__join_finish(struct kc__join *join, struct kc_slot *slot)
{
	kc_journal_commit(slot, KC_SLOT_FINAL);
	kc_journal_touched(join->driver.journal, slot);
	join->driver.ready(slot);
}

/* Awaiting */

/* Of the launch's stream; NULL: a transfer, or the stream is not known. */
static struct kc__stream_wait *launch_wait(const struct kc__join *join, const struct kc_slot *slot)
{
	const struct kc__awaited_slot awaited = kc__awaited(slot);

	return awaited.in_timeline ? join->driver.stream_wait(awaited.stream) : NULL;
}

static void no_longer_awaited(struct kc__join *join, const struct kc_slot *slot)
{
	const struct kc__awaited_slot awaited = kc__awaited(slot);
	struct kc__stream_wait *wait = launch_wait(join, slot);

	join->awaited--;
	if (!wait)
		return;
	kc_awaited_resolve(&wait->awaited, *awaited.start_ns, *awaited.end_ns, awaited.beside, awaited.graph);
	if (*awaited.end_ns)
		kc__join_note_measured(join, wait, slot->index);
}

void kc__join_give_up_on(struct kc__join *join, struct kc_slot *slot, enum kc_unmeasured why)
{
	*kc__awaited(slot).unmeasured = (uint8_t)why;
	no_longer_awaited(join, slot);
	kc__join_finish(join, slot);
}

/* 524,288 calls later, its record has not been delivered. */
static void not_delivered(struct kc_slot *slot, void *join)
{
	kc__join_give_up_on(join, slot, kc__join_missing_why(join));
}

static void await_record(struct kc__join *join, struct kc_slot *slot)
{
	const struct kc__awaited_slot awaited = kc__awaited(slot);
	struct kc__stream_wait *wait = launch_wait(join, slot);

	kc__ids_add(join->ids, slot, not_delivered, join);
	join->awaited++;
	if (!wait)
		return;
	wait->device = awaited.device;
	kc_awaited_add(&wait->awaited, awaited.launched_ns, awaited.beside);
}

static enum kc__calls calls_of(const struct kc_slot *slot)
{
	if (slot->kind == KC_KIND_TRANSFER)
		return KC__TRANSFER_CALLS;
	return slot->kind == KC_KIND_GRAPH_LAUNCH || slot->launch.graph_launch ? KC__GRAPH_CALLS : KC__LAUNCH_CALLS;
}

/* From here on the launch or transfer has the id that its record has. */
static void take_id(const struct kc__join *join, struct kc_slot *slot, uint32_t id)
{
	if (kc__slot_enclosing(slot))
		join->driver.id_matched(calls_of(slot), kc__slot_id(slot) != id);
	*kc__awaited(slot).correlation = id;
}

/* Records */

static void matched_launch(struct kc__join *join, struct kc_slot *slot)
{
	count_record(join, slot, KC_COUNT_CUPTI_MATCHED);
	join->driver.launch_measured(&slot->launch);
	if (!kc__join_hold(join, slot))
		kc__join_decide(join, slot, &(struct kc_load){{0}});
}

static void matched_graph(struct kc__join *join, struct kc_slot *slot)
{
	join->driver.graph_measured(&slot->graph_launch);
	if (!kc__join_hold(join, slot))
		kc__join_finish(join, slot);
}

/* The nodes of a graph are not on the timeline, and what they were set to since they were read, the record alone says.
 */
static void matched_transfer(struct kc__join *join, struct kc_slot *slot, const struct kc__record *record)
{
	if (slot->transfer.in_graph) {
		slot->transfer.kind = (uint8_t)record->kind;
		slot->transfer.bytes = record->bytes;
	} else {
		join->driver.transfer_measured(&slot->transfer);
	}
	kc__join_finish(join, slot);
}

static void matched(struct kc__join *join, struct kc_slot *slot, const struct kc__record *record)
{
	const struct kc__awaited_slot awaited = kc__awaited(slot);

	*awaited.start_ns = record->start_ns;
	*awaited.end_ns = record->end_ns;
	no_longer_awaited(join, slot);
	if (slot->kind == KC_KIND_LAUNCH)
		matched_launch(join, slot);
	else if (slot->kind == KC_KIND_GRAPH_LAUNCH)
		matched_graph(join, slot);
	else
		matched_transfer(join, slot, record);
}

/* The kernels of a graph are launched together, and have a nanosecond each in its order (kc_graph_expand()). */
static int64_t earliest_start_ns(const struct kc_slot *slot)
{
	return kc__awaited(slot).launched_ns - (slot->kind == KC_KIND_LAUNCH ? slot->launch.graph_node : 0);
}

static bool has_times(const struct kc__join *join, const struct kc_slot *slot, const struct kc__record *record)
{
	return record->start_ns && record->start_ns >= earliest_start_ns(slot) - join->driver.clock_error_ns();
}

static bool match(struct kc__join *join, const struct kc__record *record, bool by_either)
{
	struct kc_slot *slot = kc__ids_take(join->ids, record, by_either);

	if (!slot)
		return false;
	join->matched++;
	take_id(join, slot, record->correlation);
	if (!record->is_graph)
		count_record(join, slot, record->is_kernel ? KC_COUNT_CUPTI_RECORDS : KC_COUNT_TRANSFER_RECORDS);
	if (!has_times(join, slot, record)) {
		kc__join_give_up_on(join, slot, KC_RECORD_INVALID);
		if (record->is_kernel) {
			count_record(join, slot, KC_COUNT_CUPTI_INVALID);
			count_record(join, slot, KC_COUNT_CUPTI_UNMATCHED);
		}
		if (record->is_kernel || record->is_graph)
			join->driver.say(KC_MESSAGE_RECORDS_INVALID, NULL);
	} else {
		matched(join, slot, record);
	}
	return true;
}

/* The record is of a launch that was only counted, as the process was about to exit. One that came by force while its
 * kernel had not ended has no times: the launch is one of those, as a recorded one would be awaited. */
static bool after_exit(const struct kc__join *join, const struct kc__record *record)
{
	int64_t exit_ns = join->driver.exit_ns();

	return exit_ns && (!record->start_ns || record->start_ns >= exit_ns);
}

static void unmatched(const struct kc__join *join, const struct kc__record *record)
{
	if (after_exit(join, record) || join->driver.not_asked(record->is_kernel || record->is_graph))
		return;
	if (record->is_graph) {
		kc__join_count(join, KC_COUNT_GRAPH_UNMATCHED);
		join->driver.id_unmatched(KC__GRAPH_CALLS);
		return;
	}
	kc__join_count(join, record->is_kernel ? KC_COUNT_CUPTI_RECORDS : KC_COUNT_TRANSFER_RECORDS);
	kc__join_count(join, record->is_kernel ? KC_COUNT_CUPTI_UNMATCHED : KC_COUNT_TRANSFER_UNMATCHED);
	if (record->is_kernel && !record->start_ns)
		kc__join_count(join, KC_COUNT_CUPTI_INVALID);
	join->driver.id_unmatched(!record->is_kernel   ? KC__TRANSFER_CALLS
				  : record->graph_node ? KC__GRAPH_CALLS
						       : KC__LAUNCH_CALLS);
}

static void match_last(struct kc__join *join, const struct kc__record *record)
{
	if (!match(join, record, true))
		unmatched(join, record);
}

static struct kc__orphan *orphan_at(struct kc__join *join, uint32_t i)
{
	return &join->orphans[(join->orphan_first + i) % KC__ORPHANS_MAX];
}

/* The launches of most have returned meanwhile. Before the records that have come since: kernels are held by their
 * start, and are put where they belong soonest in this order. */
static void match_orphans(struct kc__join *join)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->orphan_count; i++)
		if (!match(join, &orphan_at(join, i)->record, false))
			*orphan_at(join, kept++) = *orphan_at(join, i);
	join->orphan_count = join->looked_for = kept;
}

static void scan(struct kc__join *join);

/* The one that has waited longest gives way, but not before slots have been looked at since it came. */
static void make_room(struct kc__join *join)
{
	if (!join->looked_for) {
		scan(join);
		match_orphans(join);
	}
	if (join->orphan_count < KC__ORPHANS_MAX)
		return;
	match_last(join, &orphan_at(join, 0)->record);
	join->orphan_first = (join->orphan_first + 1) % KC__ORPHANS_MAX;
	join->orphan_count--;
	join->looked_for--;
}

/* Of records that come together those with the id of a driver's call choose first: it is of one launch. */
static void on_record(const struct kc__record *record, void *arg)
{
	struct kc__join *join = arg;

	if (match(join, record, false))
		return;
	if (join->orphan_count == KC__ORPHANS_MAX)
		make_room(join);
	*orphan_at(join, join->orphan_count++) = (struct kc__orphan){*record, join->driver.now_ns()};
}

static void retry_orphans(struct kc__join *join, int64_t now_ns, int64_t patience_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->orphan_count; i++) {
		const struct kc__orphan *orphan = orphan_at(join, i);

		if (match(join, &orphan->record, true))
			continue;
		if (now_ns - orphan->since_ns >= patience_ns)
			unmatched(join, &orphan->record);
		else
			*orphan_at(join, kept++) = *orphan;
	}
	join->orphan_count = kept;
}

/* Slots */

static void on_return(struct kc__join *join, struct kc_slot *slot)
{
	if (*kc__awaited(slot).unmeasured)
		kc__join_finish(join, slot);
	else
		await_record(join, slot);
}

static void on_filled(struct kc__join *join, struct kc_slot *slot, uint32_t state);

/* Behind it, of its nodes. */
static uint64_t slots_of_graph(const struct kc_slot *slot)
{
	return (uint64_t)slot->graph_launch.kernels + slot->graph_launch.copies;
}

/* passed: the slots of its nodes are looked at now, and else each in its turn. */
static void on_graph_launch(struct kc__join *join, struct kc_slot *slot, bool passed)
{
	uint64_t first = slot->index + 1, nodes = slots_of_graph(slot);

	join->driver.expand(slot);
	if (slot->graph_launch.whole && !slot->graph_launch.unmeasured)
		await_record(join, slot);
	else
		kc__join_finish(join, slot);
	for (uint64_t i = 0; passed && i < nodes; i++) {
		struct kc_slot *node = kc__join_slot(join, first + i);
		uint32_t state = node ? atomic_load_explicit(&node->state, memory_order_relaxed) : KC_SLOT_EMPTY;

		if (state == KC_SLOT_RETURNED)
			on_filled(join, node, state);
	}
}

static void on_filled(struct kc__join *join, struct kc_slot *slot, uint32_t state)
{
	/* The launch of a graph that awaits its record has been looked at. */
	if (state >= KC_SLOT_FINAL || (slot->kind == KC_KIND_GRAPH_LAUNCH && slot->graph_launch.made))
		return;
	if (slot->kind == KC_KIND_GRAPH) /* which is in use until its plan is not */
		return;
	if (slot->kind == KC_KIND_GRAPH_LAUNCH)
		on_graph_launch(join, slot, false);
	else if (slot->kind != KC_KIND_LAUNCH && slot->kind != KC_KIND_TRANSFER)
		kc__join_finish(join, slot);
	else
		on_return(join, slot);
}

static void scan_late(struct kc__join *join)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->late_count; i++) {
		struct kc_slot *slot = kc__join_slot(join, join->late[i] & ~KC__PASSED);
		uint32_t state = slot ? atomic_load_explicit(&slot->state, memory_order_acquire) : KC_SLOT_STORED;

		if (state == KC_SLOT_EMPTY || state == KC_SLOT_CALLED)
			join->late[kept++] = join->late[i];
		else if (join->late[i] & KC__PASSED)
			on_graph_launch(join, slot, true);
		else
			on_filled(join, slot, state);
	}
	join->late_count = kept;
}

/* Of a launch or transfer whose call has not returned, or of a slot that is claimed and not yet filled. The latter
 * takes nanoseconds, unless its thread has lost its core: then all wait for it, but for the last look at what is
 * recorded. */
static bool is_late(const struct kc__join *join, const struct kc_slot *slot, uint32_t state)
{
	if (state == KC_SLOT_EMPTY)
		return join->bound != UINT64_MAX;
	return state == KC_SLOT_CALLED &&
	       (slot->kind == KC_KIND_LAUNCH || slot->kind == KC_KIND_TRANSFER || slot->kind == KC_KIND_GRAPH_LAUNCH);
}

static void scan(struct kc__join *join)
{
	uint64_t end = kc_journal_claimed(join->driver.journal);

	if (end > join->bound)
		end = join->bound;
	scan_late(join);
	for (; join->scan < end; join->scan++) {
		struct kc_slot *slot = kc__join_slot(join, join->scan);
		uint32_t state = slot ? atomic_load_explicit(&slot->state, memory_order_acquire) : KC_SLOT_STORED;

		if (is_late(join, slot, state)) {
			bool passes = state == KC_SLOT_CALLED && slot->kind == KC_KIND_GRAPH_LAUNCH;

			if (join->late_count == KC__LATE_MAX)
				return;
			join->late[join->late_count++] = join->scan | (passes ? KC__PASSED : 0);
			join->scan += passes ? slots_of_graph(slot) : 0;
		} else if (state == KC_SLOT_EMPTY) {
			return;
		} else {
			on_filled(join, slot, state);
		}
	}
}

int kc__join_step(struct kc__join *join)
{
	int64_t unfilled_ns = join->driver.now_ns(), now_ns;

	scan(join);
	match_orphans(join);
	join->driver.drain(on_record, join);
	now_ns = join->driver.now_ns();
	retry_orphans(join, now_ns, ORPHAN_NS);
	if (!join->driver.enough_ready())
		kc__join_sweep(join, now_ns);
	kc__join_decide_all(join, unfilled_ns, now_ns);
	/* During the exit they may be of launches that are only counted. */
	if (join->driver.dropped() && !join->driver.exit_ns())
		join->driver.say(KC_MESSAGE_RECORDS_DROPPED, NULL);
	atomic_store_explicit(&kc_journal_header(join->driver.journal)->counters[KC_COUNT_CUPTI_DROPPED],
			      join->driver.dropped(), memory_order_relaxed);
	return join->awaited != 0;
}

/* What is late is listed in the order of the slots. */
bool kc__join_awaits(const struct kc__join *join, uint64_t end)
{
	return join->awaited || join->scan < end || (join->late_count && (join->late[0] & ~KC__PASSED) < end);
}

uint64_t kc__join_matched(const struct kc__join *join)
{
	return join->matched;
}

uint64_t kc__join_looked_at(const struct kc__join *join)
{
	return join->scan;
}

void kc__join_give_up(struct kc__join *join)
{
	scan(join);
	retry_orphans(join, join->driver.now_ns(), 0);
	kc__join_give_up_all(join);
	kc__join_decide_rest(join);
}
