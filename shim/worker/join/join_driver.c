/* What the join works on in the library, and what follows from a measurement and from a decision. */
#include "join.h"
#include "shim/calls/graph_plan.h"
#include "shim/worker/selection.h"
#include "shim/worker/windows.h"
#include "shim/tables/streams.h"
#include "shim/worker/cupti/measuring.h"
#include "shim/worker/learn.h"

static int64_t exit_ns(void)
{
	return atomic_load(&kc__shim.exit_ns);
}

static struct kc__stream_wait *stream_wait(uint32_t id)
{
	struct kc__stream *stream = kc__stream_by_id(id);

	return stream ? &stream->wait : NULL;
}

/* Ids are given from 1 on, each in the place of its low bits. */
static uint32_t stream_places(void)
{
	uint32_t last = kc__shim.stream_count;

	return last < KC__STREAM_PLACES ? last + 1 : KC__STREAM_PLACES;
}

static struct kc__stream_wait *stream_at(uint32_t place)
{
	struct kc__stream *stream = atomic_load_explicit(&kc__shim.stream_by_id[place], memory_order_acquire);

	return stream ? &stream->wait : NULL;
}

static bool explained(bool is_kernel)
{
	return kc__windows_explain(is_kernel) || kc__selection_explains(is_kernel);
}

static void (*stores)(struct kc_slot *slot);

static void ready(struct kc_slot *slot)
{
	kc__windows_passed(slot);
	if (kc_slot_not_asked(slot))
		kc__selection_leaves_out(slot);
	else
		stores(slot);
}

struct kc__join *kc__join_start(void (*store)(struct kc_slot *slot), bool (*enough_ready)(void))
{
	struct kc__join_driver driver = {
	    .journal = kc__shim.journal,
	    .device_count = (uint32_t)kc__shim.device_count,
	    .now_ns = kc__now_ns,
	    .exit_ns = exit_ns,
	    .say = kc__say,
	    .drain = kc__cupti_drain,
	    .dropped = kc__cupti_dropped,
	    .clock_error_ns = kc__cupti_clock_error_ns,
	    .id_matched = kc__correlation_matched,
	    .id_unmatched = kc__correlation_unmatched,
	    .not_asked = explained,
	    .stream_wait = stream_wait,
	    .stream_places = stream_places,
	    .stream_at = stream_at,
	    .expand = kc__plans_expand,
	    .load = kc__learn_load,
	    .launch_measured = kc__learn_measured,
	    .transfer_measured = kc__learn_transfer,
	    .graph_measured = kc__learn_graph,
	    .launch_decided = kc__learn_decided,
	    .ready = ready,
	    .enough_ready = enough_ready,
	};

	stores = store;
	return kc__join_new(&driver);
}
