#include "join.h"
#include "join_ids.h"
#include "shim/tables/memory.h"
#include "shim/worker/cupti/measuring.h"

#include <string.h>

enum {
	LATE_MAX = 4096,     /* calls that have not returned: about one per thread */
	ORPHANS_MAX = 8192,  /* records whose launch has not returned yet, or not by the driver call's id */
	SWEEP_SLOTS = 16384, /* looked at in one step of a search for records that never came */
};
/* Of a launch of a graph in the list of what is late: the empty slots of its nodes have been passed over. */
#define PASSED (UINT64_C(1) << 63)
#define ORPHAN_NS 1000000000ll /* a record without a launch for so long has none */
/* Decided as unknown after so long. A thread that runs ahead gets its records back four at a time at the lowest rates
 * (buffers.h), so kernels up to 500 ms long are awaited. */
#define HELD_NS 2000000000ll
#define SWEEP_NS 1000000000ll /* from the end of one search to the next */
/* A record is missing when one of a later launch of its stream was delivered so long ago; or, while CUPTI has dropped
 * more records than are known to be missing, so long. */
#define DELIVERY_NS 5000000000ll
#define DELIVERY_DROPPED_NS 2000000000ll

struct orphan {
	struct kc__record record;
	int64_t since_ns;
};

struct kc__join {
	struct kc__join_driver driver;
	uint64_t scan;                /* next slot to look at */
	uint64_t bound;               /* none from there on is looked at */
	uint64_t oldest;              /* no slot before it is awaited */
	uint64_t sweep_at, sweep_end; /* a search for records that never came, SWEEP_SLOTS in a step */
	bool sweep_leading;           /* it has met no slot yet that must be looked at again */
	uint64_t late[LATE_MAX];
	uint32_t late_count;
	struct kc__ids *ids;
	uint64_t awaited, matched;          /* slots: now, and so far */
	struct orphan orphans[ORPHANS_MAX]; /* a ring, from the one that has waited longest */
	uint32_t orphan_first, orphan_count;
	uint32_t looked_for;                      /* so many of the first came before slots were looked at last */
	struct kc_spans devices[KC__DEVICES_MAX]; /* measured, not decided */
	int64_t swept_ns;
	uint64_t dropped_seen;
};

static void count(const struct kc__join *join, enum kc_counter counter)
{
	atomic_fetch_add_explicit(&kc_journal_header(join->driver.journal)->counters[counter], 1, memory_order_relaxed);
}

/* A record of what was not asked for is not counted, as there is no row that it belongs to. */
static void count_record(const struct kc__join *join, const struct kc_slot *slot, enum kc_counter counter)
{
	if (!kc_slot_not_asked(slot))
		count(join, counter);
}

static struct kc_slot *slot_at(const struct kc__join *join, uint64_t index)
{
	return kc_journal_at(join->driver.journal, index);
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

static void finish(struct kc__join *join, struct kc_slot *slot)
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

static int64_t delivery_ns(const struct kc__join *join)
{
	return join->dropped_seen < join->driver.dropped() ? DELIVERY_DROPPED_NS : DELIVERY_NS;
}

static void note_measured(const struct kc__join *join, struct kc__stream_wait *wait, uint64_t index)
{
	int64_t now_ns = join->driver.now_ns();

	if (now_ns - wait->marked_ns >= delivery_ns(join)) {
		wait->settled = wait->marked;
		wait->marked = wait->last_measured;
		wait->marked_ns = now_ns;
	}
	if (index > wait->last_measured) {
		wait->last_measured = index;
		wait->last_measured_ns = now_ns;
	}
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
		note_measured(join, wait, slot->index);
}

static void give_up(struct kc__join *join, struct kc_slot *slot, enum kc_unmeasured why)
{
	*kc__awaited(slot).unmeasured = (uint8_t)why;
	no_longer_awaited(join, slot);
	finish(join, slot);
}

/* Why a record did not come: CUPTI says how many it dropped, not which. */
static enum kc_unmeasured missing_why(struct kc__join *join)
{
	if (join->dropped_seen >= join->driver.dropped())
		return KC_NOT_DELIVERED;
	join->dropped_seen++;
	join->driver.say(KC_MESSAGE_RECORDS_DROPPED, NULL);
	return KC_RECORD_DROPPED;
}

/* 524,288 calls later, its record has not been delivered. */
static void not_delivered(struct kc_slot *slot, void *join)
{
	give_up(join, slot, missing_why(join));
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

/* Holding measured kernels until their overlap is decided */

/* On all devices together. */
static uint32_t held(const struct kc__join *join)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < join->driver.device_count; i++)
		count += join->devices[i].count;
	return count;
}

/* false: there is no room for it; what it met will not be known. */
static bool hold_until_decided(struct kc__join *join, struct kc_slot *slot)
{
	const struct kc__awaited_slot awaited = kc__awaited(slot);
	struct kc_spans *spans = &join->devices[awaited.device % KC__DEVICES_MAX];
	bool is_graph = slot->kind == KC_KIND_GRAPH_LAUNCH;
	struct kc_span span = {
	    .start_ns = *awaited.start_ns,
	    .end_ns = *awaited.end_ns,
	    .since_ns = join->driver.now_ns(),
	    .order = slot->index,
	    .overlap = is_graph ? &slot->graph_launch.overlap : &slot->launch.overlap,
	    .owner = slot,
	    .stream = awaited.stream,
	    .opaque = is_graph,
	};

	if (!is_graph)
		span.load = join->driver.load(&slot->launch);
	if (held(join) < KC_SPANS_MAX && kc_spans_add(spans, &span) == 0)
		return true;
	kc_spans_drop(spans, &span);
	return false;
}

static void decide(struct kc__join *join, struct kc_slot *slot, const struct kc_load *met)
{
	if (slot->kind == KC_KIND_LAUNCH)
		join->driver.launch_decided(&slot->launch, met);
	finish(join, slot);
}

static void span_decided(const struct kc_span *span, void *arg)
{
	if (span->in_stream)
		count(arg, KC_COUNT_STREAM_OVERLAPS);
	decide(arg, span->owner, &span->met);
}

static void decide_before(struct kc__join *join, uint32_t device, int64_t watermark_ns, int64_t now_ns)
{
	kc_spans_decide(&join->devices[device], watermark_ns, now_ns - HELD_NS, span_decided, join);
}

static void not_on_before(int64_t *watermark_ns, uint32_t device, int64_t launched_ns)
{
	int64_t *at = &watermark_ns[device % KC__DEVICES_MAX];

	*at = launched_ns < *at ? launched_ns : *at;
}

static void not_before(const struct kc__join *join, int64_t *watermark_ns, uint64_t index)
{
	const struct kc_slot *slot = slot_at(join, index);

	if (!slot || atomic_load_explicit(&slot->state, memory_order_acquire) == KC_SLOT_EMPTY)
		return;
	if (slot->kind == KC_KIND_LAUNCH)
		not_on_before(watermark_ns, slot->launch.device, slot->launch.launched_ns);
	else if (slot->kind == KC_KIND_GRAPH_LAUNCH)
		not_on_before(watermark_ns, slot->graph_launch.device, slot->graph_launch.predicted_at_ns);
}

/* unfilled_ns: a launch whose slot is not filled yet starts no earlier than this. */
static void decide_all(struct kc__join *join, int64_t unfilled_ns, int64_t now_ns)
{
	uint64_t end = kc_journal_claimed(join->driver.journal);
	int64_t watermark_ns[KC__DEVICES_MAX];

	for (int i = 0; i < KC__DEVICES_MAX; i++)
		watermark_ns[i] = unfilled_ns;
	for (uint32_t i = 0; i < join->late_count; i++)
		not_before(join, watermark_ns, join->late[i] & ~PASSED);
	/* Slots that are filled, behind one that is not. */
	for (uint64_t i = join->scan; i < end; i++)
		not_before(join, watermark_ns, i);
	for (uint32_t place = 0, count = join->driver.stream_places(); place < count; place++) {
		const struct kc__stream_wait *wait = join->driver.stream_at(place);

		if (wait && wait->awaited.count &&
		    kc_awaited_bound_ns(&wait->awaited) < watermark_ns[wait->device % KC__DEVICES_MAX])
			watermark_ns[wait->device % KC__DEVICES_MAX] = kc_awaited_bound_ns(&wait->awaited);
	}
	for (uint32_t i = 0; i < join->driver.device_count; i++)
		if (join->devices[i].count)
			decide_before(join, i, watermark_ns[i], now_ns);
}

/* Records */

static void matched_launch(struct kc__join *join, struct kc_slot *slot)
{
	count_record(join, slot, KC_COUNT_CUPTI_MATCHED);
	join->driver.launch_measured(&slot->launch);
	if (!hold_until_decided(join, slot))
		decide(join, slot, &(struct kc_load){{0}});
}

static void matched_graph(struct kc__join *join, struct kc_slot *slot)
{
	join->driver.graph_measured(&slot->graph_launch);
	if (!hold_until_decided(join, slot))
		finish(join, slot);
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
	finish(join, slot);
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
		give_up(join, slot, KC_RECORD_INVALID);
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
		count(join, KC_COUNT_GRAPH_UNMATCHED);
		join->driver.id_unmatched(KC__GRAPH_CALLS);
		return;
	}
	count(join, record->is_kernel ? KC_COUNT_CUPTI_RECORDS : KC_COUNT_TRANSFER_RECORDS);
	count(join, record->is_kernel ? KC_COUNT_CUPTI_UNMATCHED : KC_COUNT_TRANSFER_UNMATCHED);
	if (record->is_kernel && !record->start_ns)
		count(join, KC_COUNT_CUPTI_INVALID);
	join->driver.id_unmatched(!record->is_kernel   ? KC__TRANSFER_CALLS
				  : record->graph_node ? KC__GRAPH_CALLS
						       : KC__LAUNCH_CALLS);
}

static void match_last(struct kc__join *join, const struct kc__record *record)
{
	if (!match(join, record, true))
		unmatched(join, record);
}

static struct orphan *orphan_at(struct kc__join *join, uint32_t i)
{
	return &join->orphans[(join->orphan_first + i) % ORPHANS_MAX];
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
	if (join->orphan_count < ORPHANS_MAX)
		return;
	match_last(join, &orphan_at(join, 0)->record);
	join->orphan_first = (join->orphan_first + 1) % ORPHANS_MAX;
	join->orphan_count--;
	join->looked_for--;
}

/* Of records that come together those with the id of a driver's call choose first: it is of one launch. */
static void on_record(const struct kc__record *record, void *arg)
{
	struct kc__join *join = arg;

	if (match(join, record, false))
		return;
	if (join->orphan_count == ORPHANS_MAX)
		make_room(join);
	*orphan_at(join, join->orphan_count++) = (struct orphan){*record, join->driver.now_ns()};
}

static void retry_orphans(struct kc__join *join, int64_t now_ns, int64_t patience_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->orphan_count; i++) {
		const struct orphan *orphan = orphan_at(join, i);

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
		finish(join, slot);
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
		finish(join, slot);
	for (uint64_t i = 0; passed && i < nodes; i++) {
		struct kc_slot *node = slot_at(join, first + i);
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
		finish(join, slot);
	else
		on_return(join, slot);
}

static void scan_late(struct kc__join *join)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->late_count; i++) {
		struct kc_slot *slot = slot_at(join, join->late[i] & ~PASSED);
		uint32_t state = slot ? atomic_load_explicit(&slot->state, memory_order_acquire) : KC_SLOT_STORED;

		if (state == KC_SLOT_EMPTY || state == KC_SLOT_CALLED)
			join->late[kept++] = join->late[i];
		else if (join->late[i] & PASSED)
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
		struct kc_slot *slot = slot_at(join, join->scan);
		uint32_t state = slot ? atomic_load_explicit(&slot->state, memory_order_acquire) : KC_SLOT_STORED;

		if (is_late(join, slot, state)) {
			bool passes = state == KC_SLOT_CALLED && slot->kind == KC_KIND_GRAPH_LAUNCH;

			if (join->late_count == LATE_MAX)
				return;
			join->late[join->late_count++] = join->scan | (passes ? PASSED : 0);
			join->scan += passes ? slots_of_graph(slot) : 0;
		} else if (state == KC_SLOT_EMPTY) {
			return;
		} else {
			on_filled(join, slot, state);
		}
	}
}

static bool awaiting(const struct kc_slot *slot)
{
	const struct kc__awaited_slot awaited = kc__awaited(slot);
	bool may = slot->kind == KC_KIND_LAUNCH || slot->kind == KC_KIND_TRANSFER ||
		   (slot->kind == KC_KIND_GRAPH_LAUNCH && slot->graph_launch.made);

	return may && atomic_load_explicit(&slot->state, memory_order_relaxed) == KC_SLOT_RETURNED &&
	       !*awaited.unmeasured && !*awaited.end_ns;
}

/* The record of a later launch of the same stream came long ago. */
static bool is_missing(const struct kc__join *join, const struct kc_slot *slot, int64_t now_ns)
{
	const struct kc__stream_wait *wait = join->driver.stream_wait(kc__awaited(slot).stream);

	if (!wait)
		return false;
	return slot->index < wait->settled ||
	       (slot->index < wait->last_measured && now_ns - wait->last_measured_ns >= delivery_ns(join));
}

static void give_up_missing(struct kc__join *join, struct kc_slot *slot)
{
	kc__ids_remove(join->ids, slot);
	give_up(join, slot, missing_why(join));
}

/* The first slot from *index on and before the end that is still in the journal; NULL: there is none. Segments are
 * retired as a whole. */
static struct kc_slot *next_kept(const struct kc__join *join, uint64_t *index, uint64_t end)
{
	struct kc_slot *slot;

	for (; *index < end; *index = (*index / KC_SEGMENT_SLOTS + 1) * KC_SEGMENT_SLOTS)
		if ((slot = slot_at(join, *index)))
			return slot;
	return NULL;
}

/* Part of a pass over what may be awaited. The next pass begins where this one found the first slot that waits. */
static void sweep(struct kc__join *join, int64_t now_ns)
{
	struct kc_slot *slot;

	if (join->sweep_at >= join->sweep_end) {
		if (now_ns - join->swept_ns <= SWEEP_NS)
			return;
		join->sweep_at = join->oldest;
		join->sweep_end = join->scan;
		join->sweep_leading = true;
	}
	for (int n = 0; n < SWEEP_SLOTS && (slot = next_kept(join, &join->sweep_at, join->sweep_end)); n++) {
		bool waits = atomic_load_explicit(&slot->state, memory_order_relaxed) < KC_SLOT_RETURNED;

		if (awaiting(slot) && is_missing(join, slot, now_ns))
			give_up_missing(join, slot);
		else if (waits || awaiting(slot))
			join->sweep_leading = false;
		join->sweep_at++;
		if (join->sweep_leading)
			join->oldest = join->sweep_at;
	}
	join->swept_ns = now_ns;
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
		sweep(join, now_ns);
	decide_all(join, unfilled_ns, now_ns);
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
	return join->awaited || join->scan < end || (join->late_count && (join->late[0] & ~PASSED) < end);
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
	struct kc_slot *slot;

	scan(join);
	retry_orphans(join, join->driver.now_ns(), 0);
	for (uint64_t i = join->oldest; (slot = next_kept(join, &i, join->scan)); i++)
		if (awaiting(slot))
			give_up_missing(join, slot);
	for (uint32_t i = 0; i < join->driver.device_count; i++)
		decide_before(join, i, INT64_MAX, join->driver.now_ns());
}
