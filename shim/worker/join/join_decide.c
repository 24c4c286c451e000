/* What a measured kernel met on its device: it is held until no kernel that could have run at the same time is awaited.
 */
#include "join_parts.h"

/* Decided as unknown after so long. A thread that runs ahead gets its records back four at a time at the lowest rates
 * (buffers.h), so kernels up to 500 ms long are awaited. */
#define HELD_NS 2000000000ll

/* On all devices together. */
static uint32_t held(const struct kc__join *join)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < join->driver.device_count; i++)
		count += join->devices[i].count;
	return count;
}

bool kc__join_hold(struct kc__join *join, struct kc_slot *slot)
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

void kc__join_decide(struct kc__join *join, struct kc_slot *slot, const struct kc_load *met)
{
	if (slot->kind == KC_KIND_LAUNCH)
		join->driver.launch_decided(&slot->launch, met);
	kc__join_finish(join, slot);
}

static void span_decided(const struct kc_span *span, void *arg)
{
	if (span->in_stream)
		kc__join_count(arg, KC_COUNT_STREAM_OVERLAPS);
	kc__join_decide(arg, span->owner, &span->met);
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
	const struct kc_slot *slot = kc__join_slot(join, index);

	if (!slot || atomic_load_explicit(&slot->state, memory_order_acquire) == KC_SLOT_EMPTY)
		return;
	if (slot->kind == KC_KIND_LAUNCH)
		not_on_before(watermark_ns, slot->launch.device, slot->launch.launched_ns);
	else if (slot->kind == KC_KIND_GRAPH_LAUNCH)
		not_on_before(watermark_ns, slot->graph_launch.device, slot->graph_launch.predicted_at_ns);
}

void kc__join_decide_all(struct kc__join *join, int64_t unfilled_ns, int64_t now_ns)
{
	uint64_t end = kc_journal_claimed(join->driver.journal);
	int64_t watermark_ns[KC__DEVICES_MAX];

	for (int i = 0; i < KC__DEVICES_MAX; i++)
		watermark_ns[i] = unfilled_ns;
	for (uint32_t i = 0; i < join->late_count; i++)
		not_before(join, watermark_ns, join->late[i] & ~KC__PASSED);
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

void kc__join_decide_rest(struct kc__join *join)
{
	for (uint32_t i = 0; i < join->driver.device_count; i++)
		decide_before(join, i, INT64_MAX, join->driver.now_ns());
}
