/* What the join works on in the library, and what follows from a measurement and from a decision. */
#include "join.h"

static int64_t exit_ns(void)
{
	return atomic_load(&kc__shim.exit_ns);
}

static uint32_t stream_count(void)
{
	return kc__shim.stream_count;
}

static struct kc__stream *stream_by_id(uint32_t id)
{
	return id < KC__STREAM_IDS_MAX ? atomic_load_explicit(&kc__shim.stream_by_id[id], memory_order_acquire) : NULL;
}

static struct kc__stream_wait *stream_wait(uint32_t id)
{
	struct kc__stream *stream = stream_by_id(id);

	return stream ? &stream->wait : NULL;
}

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

static void launch_measured(struct kc_launch *launch)
{
	correct_timeline(launch->stream, launch->ticket, launch->measured_start_ns, launch->measured_end_ns);
	kc__learn_measured(launch);
}

static void transfer_measured(struct kc_transfer *transfer)
{
	correct_timeline(transfer->stream, transfer->ticket, transfer->measured_start_ns, transfer->measured_end_ns);
	kc__learn_transfer(transfer);
}

struct kc__join *kc__join_start(void (*ready)(struct kc_slot *slot))
{
	struct kc__join_driver driver = {
	    .journal = kc__shim.journal,
	    .device_count = (uint32_t)kc__shim.device_count,
	    .now_ns = kc__now_ns,
	    .exit_ns = exit_ns,
	    .say = kc__say,
	    .drain = kc__cupti_drain,
	    .dropped = kc__cupti_dropped,
	    .stream_count = stream_count,
	    .stream_wait = stream_wait,
	    .load = kc__learn_load,
	    .launch_measured = launch_measured,
	    .transfer_measured = transfer_measured,
	    .launch_decided = kc__learn_decided,
	    .ready = ready,
	};

	return kc__join_new(&driver);
}
