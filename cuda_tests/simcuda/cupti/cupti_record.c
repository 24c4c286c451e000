#include <string.h>

#include "cupti_private.h"

static const struct {
	CUpti_ActivityKind kind;
	size_t bytes;
} record_kinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4)},
    {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4)},
    {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(CUpti_ActivityExternalCorrelation)},
};

size_t cupti__record_bytes(CUpti_ActivityKind kind)
{
	for (size_t i = 0; i < sizeof(record_kinds) / sizeof(record_kinds[0]); i++)
		if (record_kinds[i].kind == kind)
			return record_kinds[i].bytes;
	return 0;
}

bool cupti__enabled(CUpti_ActivityKind kind)
{
	return atomic_load_explicit(&cupti__self.kind_enabled[kind], memory_order_relaxed);
}

/* Every Nth of its kind of fault; 0: never. */
static bool strikes(uint32_t every, _Atomic uint32_t *count)
{
	return every && ++*count % every == 0;
}

static bool dropped_by_fault(void)
{
	static _Atomic uint32_t records;

	return strikes(cupti__faults()->cupti_drop, &records);
}

static bool timeless_by_fault(void)
{
	static _Atomic uint32_t records;

	return strikes(cupti__faults()->cupti_zero_time, &records);
}

static uint64_t start_of(const struct simcuda_activity *a, bool timeless)
{
	return timeless ? 0 : cupti__timestamp(a->start_ns);
}

static uint64_t end_of(const struct simcuda_activity *a, bool timeless)
{
	return timeless ? 0 : cupti__timestamp(a->end_ns);
}

static void put_kernel(const struct simcuda_activity *a, CUpti_ActivityKind kind, bool timeless)
{
	CUpti_ActivityKernel10 record;

	memset(&record, 0, sizeof(record));
	record.kind = kind;
	record.registersPerThread = (uint16_t)a->registers;
	record.start = start_of(a, timeless);
	record.end = end_of(a, timeless);
	record.completed = record.end;
	record.deviceId = a->device;
	record.contextId = a->context_id;
	record.streamId = a->stream_id;
	record.gridX = (int32_t)a->grid[0];
	record.gridY = (int32_t)a->grid[1];
	record.gridZ = (int32_t)a->grid[2];
	record.blockX = (int32_t)a->block[0];
	record.blockY = (int32_t)a->block[1];
	record.blockZ = (int32_t)a->block[2];
	record.staticSharedMemory = (int32_t)a->static_shared_bytes;
	record.dynamicSharedMemory = (int32_t)a->dynamic_shared_bytes;
	record.localMemoryPerThread = a->local_bytes;
	record.correlationId = a->correlation;
	record.gridId = (int64_t)a->grid_id;
	record.name = a->name;
	if (cupti__self.latency_timestamps) {
		record.queued = cupti__timestamp(a->queued_ns);
		record.submitted = cupti__timestamp(a->submitted_ns);
	}
	record.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
	record.graphNodeId = a->graph_node_id;
	record.graphId = a->graph_id;
	record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	record.clusterX = a->cluster[0];
	record.clusterY = a->cluster[1];
	record.clusterZ = a->cluster[2];
	cupti__put(&record, sizeof(record));
}

static void put_memcpy(const struct simcuda_activity *a, bool timeless)
{
	CUpti_ActivityMemcpy6 record;

	memset(&record, 0, sizeof(record));
	record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	record.copyKind = (uint8_t)a->copy_kind;
	record.srcKind = (uint8_t)a->source_kind;
	record.dstKind = (uint8_t)a->destination_kind;
	record.flags = a->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	record.bytes = a->bytes;
	record.start = start_of(a, timeless);
	record.end = end_of(a, timeless);
	record.deviceId = a->device;
	record.contextId = a->context_id;
	record.streamId = a->stream_id;
	record.correlationId = a->correlation;
	record.graphNodeId = a->graph_node_id;
	record.graphId = a->graph_id;
	record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	record.copyCount = 1;
	cupti__put(&record, sizeof(record));
}

static void put_peer_memcpy(const struct simcuda_activity *a, bool timeless)
{
	CUpti_ActivityMemcpyPtoP4 record;

	memset(&record, 0, sizeof(record));
	record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	record.copyKind = (uint8_t)a->copy_kind;
	record.srcKind = (uint8_t)a->source_kind;
	record.dstKind = (uint8_t)a->destination_kind;
	record.flags = a->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	record.bytes = a->bytes;
	record.start = start_of(a, timeless);
	record.end = end_of(a, timeless);
	record.deviceId = a->device;
	record.contextId = a->context_id;
	record.streamId = a->stream_id;
	record.srcDeviceId = a->device;
	record.srcContextId = a->context_id;
	record.dstDeviceId = a->destination_device;
	record.correlationId = a->correlation;
	record.graphNodeId = a->graph_node_id;
	record.graphId = a->graph_id;
	record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	cupti__put(&record, sizeof(record));
}

static void put_memset(const struct simcuda_activity *a, bool timeless)
{
	CUpti_ActivityMemset4 record;

	memset(&record, 0, sizeof(record));
	record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
	record.value = a->value;
	record.bytes = a->bytes;
	record.start = start_of(a, timeless);
	record.end = end_of(a, timeless);
	record.deviceId = a->device;
	record.contextId = a->context_id;
	record.streamId = a->stream_id;
	record.correlationId = a->correlation;
	record.flags = a->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	record.memoryKind = (uint16_t)a->destination_kind;
	record.graphNodeId = a->graph_node_id;
	record.graphId = a->graph_id;
	record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	cupti__put(&record, sizeof(record));
}

/* The kind of record that a piece of work becomes; INVALID: none is enabled. */
static CUpti_ActivityKind kind_of(const struct simcuda_activity *a)
{
	CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_INVALID;

	if (a->kind == SIMCUDA_KERNEL)
		kind = cupti__enabled(CUPTI_ACTIVITY_KIND_KERNEL) ? CUPTI_ACTIVITY_KIND_KERNEL
								  : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	else if (a->kind == SIMCUDA_MEMSET)
		kind = CUPTI_ACTIVITY_KIND_MEMSET;
	else if (a->kind == SIMCUDA_MEMCPY)
		kind = a->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP ? CUPTI_ACTIVITY_KIND_MEMCPY2
								       : CUPTI_ACTIVITY_KIND_MEMCPY;
	return cupti__enabled(kind) ? kind : CUPTI_ACTIVITY_KIND_INVALID;
}

void cupti__on_activity(void *user, const struct simcuda_activity *a)
{
	CUpti_ActivityKind kind = kind_of(a);
	bool timeless;

	(void)user;
	if (kind == CUPTI_ACTIVITY_KIND_INVALID)
		return;
	if (dropped_by_fault()) {
		atomic_fetch_add(&cupti__self.dropped, 1);
		return;
	}
	timeless = timeless_by_fault();
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		put_memcpy(a, timeless);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		put_peer_memcpy(a, timeless);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		put_memset(a, timeless);
		break;
	default:
		put_kernel(a, kind, timeless);
	}
}
