/*
 * From RETURNED to FINAL, on the worker thread.
 *
 * Slots are looked at in index order. A launch that awaits its measured time is
 * found again by correlation id. A measured kernel is held until no kernel that
 * could have run at the same time is still awaited; then it is known whether it
 * ran alone, it teaches λ, and it is final.
 *
 * When is that? An awaited launch starts no earlier than its own host time, and
 * no earlier than the last measured end of its stream. The least of these bounds
 * over a device's streams is the watermark: what ended before it is decided. What
 * has waited too long is let go: what it met is not known.
 */
#include "shim/shim.h"

#include <string.h>
#include <sys/mman.h>

enum {
	LATE_MAX = 4096,        /* calls that have not returned: about one a thread */
	CORRELATIONS = 1 << 20, /* awaited at once, by the low bits of the id */
	ORPHANS_MAX = 16384,    /* records whose launch has not returned yet */
	SWEEP_SLOTS = 65536,    /* looked at in one search for records that never came */
};
#define ORPHAN_NS 1000000000ll /* a record without a launch for so long has none */
#define HELD_NS 2000000000ll   /* let go without waiting any longer */
#define SWEEP_NS 1000000000ll
#define DELIVERY_NS 5000000000ll /* a later launch of the stream was delivered so long ago */

struct orphan {
	struct kc__record record;
	int64_t since_ns;
};

struct correlation { /* the slots awaited under one id: several after a graph launch, linked */
	uint32_t id;
	uint32_t used;
	uint64_t first, last;
};

struct kc__join {
	uint64_t scan, oldest; /* next slot to look at; no awaited slot before */
	uint64_t bound;        /* none from there on is looked at */
	uint64_t late[LATE_MAX];
	uint32_t late_count;
	struct correlation *correlations;
	uint64_t awaited;
	struct orphan orphans[ORPHANS_MAX];
	uint32_t orphan_count;
	struct kc_spans devices[KC__DEVICES_MAX]; /* measured, not decided */
	int64_t swept_ns;
	uint64_t dropped_seen;
	void (*ready)(struct kc_slot *slot, void *arg);
	void *arg;
};

static void count(enum kc_counter counter)
{
	atomic_fetch_add_explicit(&kc__shim.header->counters[counter], 1, memory_order_relaxed);
}

struct kc__join *kc__join_new(void)
{
	struct kc__join *join = kc__map_root(sizeof(*join));

	if (!join)
		return NULL;
	join->correlations = mmap(NULL, CORRELATIONS * sizeof(*join->correlations), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (join->correlations == MAP_FAILED) {
		kc__unmap_root(join, sizeof(*join));
		return NULL;
	}
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
	munmap(join->correlations, CORRELATIONS * sizeof(*join->correlations));
	kc__unmap_root(join, sizeof(*join));
}

static void finish(struct kc__join *join, struct kc_slot *slot)
{
	kc_journal_commit(slot, KC_SLOT_FINAL);
	join->ready(slot, join->arg);
}

static struct kc__stream *stream_by_id(uint32_t id)
{
	return id < KC__STREAM_IDS_MAX ? atomic_load_explicit(&kc__shim.stream_by_id[id], memory_order_acquire) : NULL;
}

/* Awaiting */

static void resolved(struct kc__join *join, const struct kc_slot *slot)
{
	const struct kc_launch *l = &slot->launch;
	struct kc__stream *stream;

	join->awaited--;
	if (slot->kind != KC_KIND_LAUNCH || !(stream = stream_by_id(l->stream)))
		return;
	kc_awaited_resolve(&stream->awaited, l->measured_end_ns);
	stream->last_resolved = slot->index;
	stream->resolved_ns = kc__now_ns();
}

static void give_up(struct kc__join *join, struct kc_slot *slot, enum kc_unmeasured why)
{
	if (slot->kind == KC_KIND_LAUNCH)
		slot->launch.unmeasured = (uint8_t)why;
	else
		slot->transfer.unmeasured = (uint8_t)why;
	resolved(join, slot);
	finish(join, slot);
}

static uint32_t correlation_of(const struct kc_slot *slot)
{
	return slot->kind == KC_KIND_LAUNCH ? slot->launch.correlation : slot->transfer.correlation;
}

static struct correlation *correlation_at(struct kc__join *join, uint32_t id)
{
	return &join->correlations[id & (CORRELATIONS - 1)];
}

static struct kc_slot *next_of(const struct kc_slot *slot)
{
	return slot->kind == KC_KIND_LAUNCH && slot->launch.link
		   ? kc_journal_at(kc__shim.journal, slot->launch.link - 1)
		   : NULL;
}

/* A million calls later, and not delivered. */
static void evict(struct kc__join *join, struct correlation *c)
{
	struct kc_slot *slot = kc_journal_at(kc__shim.journal, c->first), *next;

	for (; slot; slot = next) {
		next = next_of(slot);
		give_up(join, slot, KC_NOT_DELIVERED);
	}
	c->used = 0;
}

static void await(struct kc__join *join, struct kc_slot *slot)
{
	uint32_t id = correlation_of(slot);
	struct correlation *c = correlation_at(join, id);
	struct kc_slot *last = c->used && c->id == id ? kc_journal_at(kc__shim.journal, c->last) : NULL;
	struct kc__stream *stream;

	if (slot->kind == KC_KIND_LAUNCH)
		slot->launch.link = 0;
	if (last && last->kind == KC_KIND_LAUNCH) {
		last->launch.link = slot->index + 1;
		c->last = slot->index;
	} else {
		if (c->used)
			evict(join, c);
		*c = (struct correlation){.id = id, .used = 1, .first = slot->index, .last = slot->index};
	}
	join->awaited++;
	if (slot->kind != KC_KIND_LAUNCH || !(stream = stream_by_id(slot->launch.stream)))
		return;
	kc_awaited_add(&stream->awaited, slot->launch.launched_ns);
}

/* No longer awaited. before: the one linked to it, NULL: it is the first. */
static void unlink_slot(struct correlation *c, struct kc_slot *before, const struct kc_slot *slot)
{
	uint64_t link = slot->kind == KC_KIND_LAUNCH ? slot->launch.link : 0;

	if (before)
		before->launch.link = link;
	else if (link)
		c->first = link - 1;
	else
		c->used = 0;
	if (before && c->last == slot->index)
		c->last = before->index;
}

static void abandon(struct kc__join *join, struct kc_slot *slot)
{
	struct correlation *c = correlation_at(join, correlation_of(slot));
	struct kc_slot *at, *before = NULL;

	if (!c->used || c->id != correlation_of(slot))
		return;
	for (at = kc_journal_at(kc__shim.journal, c->first); at && at != slot; at = next_of(at))
		before = at;
	if (at)
		unlink_slot(c, before, at);
}

static bool same_shape(const struct kc_launch *l, const struct kc__record *record)
{
	for (int i = 0; i < 3; i++)
		if (l->grid[i] != record->grid[i] || l->block[i] != record->block[i])
			return false;
	return true;
}

/* A graph's nodes share an id: CUPTI's name of the node decides, or, where it
 * is not known, the launch shape. */
static bool means(const struct kc__record *record, const struct kc_slot *slot)
{
	if (record->is_kernel != (slot->kind == KC_KIND_LAUNCH))
		return false;
	if (!record->is_kernel || !slot->launch.graph_launch)
		return true;
	return slot->launch.graph_record && record->graph_node ? slot->launch.graph_record == record->graph_node
							       : same_shape(&slot->launch, record);
}

static struct kc_slot *take(struct kc__join *join, const struct kc__record *record)
{
	struct correlation *c = correlation_at(join, record->correlation);
	struct kc_slot *slot, *before = NULL;

	if (!c->used || c->id != record->correlation)
		return NULL;
	for (slot = kc_journal_at(kc__shim.journal, c->first); slot; before = slot, slot = next_of(slot))
		if (means(record, slot)) {
			unlink_slot(c, before, slot);
			return slot;
		}
	return NULL;
}

/* Holding measured kernels until it is known what they met */

/* false: there is no room, it is let go. */
static bool hold(struct kc__join *join, struct kc_slot *slot)
{
	struct kc_spans *spans = &join->devices[slot->launch.device % KC__DEVICES_MAX];
	struct kc_span span = {
	    .start_ns = slot->launch.measured_start_ns,
	    .end_ns = slot->launch.measured_end_ns,
	    .since_ns = kc__now_ns(),
	    .order = slot->index,
	    .overlap = &slot->launch.overlap,
	    .owner = slot,
	};

	kc__learn_measured(&slot->launch, &span.load);
	if (kc_spans_add(spans, &span) == 0)
		return true;
	kc_spans_let_go(spans, &span);
	return false;
}

static void decide(struct kc__join *join, struct kc_slot *slot, const struct kc_load *met)
{
	kc__learn_decided(&slot->launch, met);
	finish(join, slot);
}

static void decided(const struct kc_span *span, void *arg)
{
	decide(arg, span->owner, &span->met);
}

static void decide_before(struct kc__join *join, uint32_t device, int64_t watermark_ns, int64_t now_ns)
{
	kc_spans_decide(&join->devices[device], watermark_ns, now_ns - HELD_NS, decided, join);
}

static void not_before(int64_t *watermark_ns, uint64_t index)
{
	const struct kc_slot *slot = kc_journal_at(kc__shim.journal, index);
	uint32_t device;

	if (!slot || atomic_load_explicit(&slot->state, memory_order_acquire) == KC_SLOT_EMPTY ||
	    slot->kind != KC_KIND_LAUNCH)
		return;
	device = slot->launch.device % KC__DEVICES_MAX;
	if (slot->launch.launched_ns < watermark_ns[device])
		watermark_ns[device] = slot->launch.launched_ns;
}

/* unfilled_ns: no launch whose slot was not filled before has started earlier. */
static void decide_all(struct kc__join *join, int64_t unfilled_ns, int64_t now_ns)
{
	uint64_t end = kc_journal_claimed(kc__shim.journal);
	int64_t watermark_ns[KC__DEVICES_MAX];

	for (int i = 0; i < KC__DEVICES_MAX; i++)
		watermark_ns[i] = unfilled_ns;
	for (uint32_t i = 0; i < join->late_count; i++)
		not_before(watermark_ns, join->late[i]);
	/* Filled, behind one that is not. */
	for (uint64_t i = join->scan; i < end; i++)
		not_before(watermark_ns, i);
	for (uint32_t id = 1; id <= kc__shim.stream_count && id < KC__STREAM_IDS_MAX; id++) {
		struct kc__stream *s = stream_by_id(id);

		if (s && s->awaited.count && s->awaited.bound_ns < watermark_ns[s->device->ordinal])
			watermark_ns[s->device->ordinal] = s->awaited.bound_ns;
	}
	for (int i = 0; i < kc__shim.device_count; i++)
		if (join->devices[i].count)
			decide_before(join, (uint32_t)i, watermark_ns[i], now_ns);
}

/* Records */

static void correct_timeline(uint32_t stream_id, uint32_t ticket, int64_t start_ns, int64_t end_ns)
{
	struct kc__stream *stream = stream_by_id(stream_id);
	struct kc__device *device;

	if (!stream || !ticket)
		return;
	device = stream->device;
	pthread_mutex_lock(&device->lock);
	if (stream->id == stream_id)
		kc_timeline_measured(device->timeline, stream->lane, ticket, start_ns, end_ns);
	pthread_mutex_unlock(&device->lock);
}

static void matched_launch(struct kc__join *join, struct kc_slot *slot, const struct kc__record *record)
{
	struct kc_launch *l = &slot->launch;

	count(KC_COUNT_CUPTI_MATCHED);
	l->measured_start_ns = record->start_ns;
	l->measured_end_ns = record->end_ns;
	resolved(join, slot);
	correct_timeline(l->stream, l->ticket, record->start_ns, record->end_ns);
	if (!hold(join, slot))
		decide(join, slot, &(struct kc_load){{0}});
}

static void matched_transfer(struct kc__join *join, struct kc_slot *slot, const struct kc__record *record)
{
	struct kc_transfer *t = &slot->transfer;

	t->measured_start_ns = record->start_ns;
	t->measured_end_ns = record->end_ns;
	resolved(join, slot);
	correct_timeline(t->stream, t->ticket, record->start_ns, record->end_ns);
	kc__learn_transfer(t);
	finish(join, slot);
}

static bool match(struct kc__join *join, const struct kc__record *record)
{
	struct kc_slot *slot = take(join, record);

	if (!slot)
		return false;
	count(record->is_kernel ? KC_COUNT_CUPTI_RECORDS : KC_COUNT_TRANSFER_RECORDS);
	if (!record->start_ns) {
		give_up(join, slot, KC_RECORD_INVALID);
		if (record->is_kernel) {
			count(KC_COUNT_CUPTI_INVALID);
			count(KC_COUNT_CUPTI_UNMATCHED);
			kc__say(KC_MESSAGE_RECORDS_INVALID, NULL);
		}
	} else if (slot->kind == KC_KIND_LAUNCH) {
		matched_launch(join, slot, record);
	} else {
		matched_transfer(join, slot, record);
	}
	return true;
}

/* Of a launch that was only counted, as the process was about to exit. */
static bool after_exit(const struct kc__record *record)
{
	int64_t exit_ns = atomic_load(&kc__shim.exit_ns);

	return exit_ns && record->start_ns >= exit_ns;
}

static void unmatched(const struct kc__record *record)
{
	if (after_exit(record))
		return;
	count(record->is_kernel ? KC_COUNT_CUPTI_RECORDS : KC_COUNT_TRANSFER_RECORDS);
	count(record->is_kernel ? KC_COUNT_CUPTI_UNMATCHED : KC_COUNT_TRANSFER_UNMATCHED);
	if (record->is_kernel && !record->start_ns)
		count(KC_COUNT_CUPTI_INVALID);
}

static void on_record(const struct kc__record *record, void *arg)
{
	struct kc__join *join = arg;

	if (match(join, record))
		return;
	if (join->orphan_count == ORPHANS_MAX) {
		unmatched(record);
		return;
	}
	join->orphans[join->orphan_count++] = (struct orphan){*record, kc__now_ns()};
}

static void retry_orphans(struct kc__join *join, int64_t now_ns, int64_t patience_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->orphan_count; i++) {
		if (match(join, &join->orphans[i].record))
			continue;
		if (now_ns - join->orphans[i].since_ns >= patience_ns)
			unmatched(&join->orphans[i].record);
		else
			join->orphans[kept++] = join->orphans[i];
	}
	join->orphan_count = kept;
}

/* Slots */

static void returned(struct kc__join *join, struct kc_slot *slot)
{
	uint8_t unmeasured = slot->kind == KC_KIND_LAUNCH ? slot->launch.unmeasured : slot->transfer.unmeasured;

	if (unmeasured)
		finish(join, slot);
	else
		await(join, slot);
}

static void scan_late(struct kc__join *join)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < join->late_count; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, join->late[i]);

		if (!slot)
			continue;
		if (atomic_load_explicit(&slot->state, memory_order_acquire) == KC_SLOT_CALLED)
			join->late[kept++] = join->late[i];
		else
			returned(join, slot);
	}
	join->late_count = kept;
}

/* Stops at a slot that is claimed and not yet filled: nanoseconds away, unless its thread lost its core. */
static void scan(struct kc__join *join)
{
	uint64_t end = kc_journal_claimed(kc__shim.journal);

	if (end > join->bound)
		end = join->bound;
	scan_late(join);
	for (; join->scan < end; join->scan++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, join->scan);
		uint32_t state = slot ? atomic_load_explicit(&slot->state, memory_order_acquire) : KC_SLOT_STORED;

		if (state == KC_SLOT_EMPTY)
			return;
		if (!slot || state >= KC_SLOT_FINAL)
			continue;
		if (slot->kind != KC_KIND_LAUNCH && slot->kind != KC_KIND_TRANSFER) {
			finish(join, slot);
		} else if (state == KC_SLOT_CALLED) {
			if (join->late_count == LATE_MAX)
				return;
			join->late[join->late_count++] = join->scan;
		} else {
			returned(join, slot);
		}
	}
}

/* Why a record did not come: CUPTI says how many it dropped, not which. */
static enum kc_unmeasured missing_why(struct kc__join *join)
{
	if (join->dropped_seen >= kc__cupti_dropped())
		return KC_NOT_DELIVERED;
	join->dropped_seen++;
	kc__say(KC_MESSAGE_RECORDS_DROPPED, NULL);
	return KC_RECORD_DROPPED;
}

static bool awaiting(const struct kc_slot *slot)
{
	return slot && atomic_load_explicit(&slot->state, memory_order_relaxed) == KC_SLOT_RETURNED &&
	       (slot->kind == KC_KIND_LAUNCH
		    ? !slot->launch.unmeasured && !slot->launch.measured_end_ns
		    : slot->kind == KC_KIND_TRANSFER && !slot->transfer.unmeasured && !slot->transfer.measured_end_ns);
}

/* A record that is missing while later ones of its stream came long ago. */
static void sweep(struct kc__join *join, int64_t now_ns)
{
	bool leading = true;
	uint64_t i = join->oldest;

	for (int n = 0; n < SWEEP_SLOTS && i < join->scan; n++, i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);
		struct kc__stream *s;

		if (awaiting(slot)) {
			s = stream_by_id(slot->kind == KC_KIND_LAUNCH ? slot->launch.stream : slot->transfer.stream);
			if (s && s->last_resolved > i && now_ns - s->resolved_ns < DELIVERY_NS)
				s = NULL;
			if (s && s->last_resolved > i) {
				abandon(join, slot);
				give_up(join, slot, missing_why(join));
			} else {
				leading = false;
			}
		} else if (slot && atomic_load_explicit(&slot->state, memory_order_relaxed) < KC_SLOT_RETURNED) {
			leading = false;
		}
		if (leading)
			join->oldest = i + 1;
	}
	join->swept_ns = now_ns;
}

int kc__join_step(struct kc__join *join, void (*ready)(struct kc_slot *slot, void *arg), void *arg)
{
	int64_t unfilled_ns = kc__now_ns(), now_ns;

	join->ready = ready;
	join->arg = arg;
	scan(join);
	kc__cupti_drain(on_record, join);
	now_ns = kc__now_ns();
	retry_orphans(join, now_ns, ORPHAN_NS);
	if (now_ns - join->swept_ns > SWEEP_NS)
		sweep(join, now_ns);
	decide_all(join, unfilled_ns, now_ns);
	/* At the exit they may be of launches that are only counted. */
	if (kc__cupti_dropped() && !atomic_load(&kc__shim.exit_ns))
		kc__say(KC_MESSAGE_RECORDS_DROPPED, NULL);
	atomic_store_explicit(&kc__shim.header->counters[KC_COUNT_CUPTI_DROPPED], kc__cupti_dropped(),
			      memory_order_relaxed);
	return join->awaited != 0;
}

void kc__join_give_up(struct kc__join *join, void (*ready)(struct kc_slot *slot, void *arg), void *arg)
{
	join->ready = ready;
	join->arg = arg;
	scan(join);
	retry_orphans(join, kc__now_ns(), 0);
	for (uint64_t i = join->oldest; i < join->scan; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);

		if (awaiting(slot)) {
			abandon(join, slot);
			give_up(join, slot, missing_why(join));
		}
	}
	for (int i = 0; i < kc__shim.device_count; i++)
		decide_before(join, (uint32_t)i, INT64_MAX, kc__now_ns());
}
