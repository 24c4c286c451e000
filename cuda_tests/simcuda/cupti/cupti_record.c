#include <string.h>

#include "cupti_private.h"

#define OTHER_CLOCK_NS UINT64_C(100000000000000)

static const struct {
	CUpti_ActivityKind kind;
	size_t bytes;
} record_kinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4)},
    {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4)},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(CUpti_ActivityGraphTrace2)},
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

/* Whether this one is the Nth since the last fault of its kind. every 0: never. */
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

/* Buffers on the device that are not used again, as github.com/parca-dev/parcagpu/issues/23 tells of kernels of graphs.
 */
static bool device_is_full(void)
{
	static _Atomic uint64_t records;
	uint64_t each = cupti__faults()->cupti_device_buffers;

	return each && records++ >= each * cupti__device_buffers();
}

/* How far its clock is ahead. */
static uint64_t other_clock_by_fault(void)
{
	static _Atomic uint32_t records, misdated;

	if (!strikes(cupti__faults()->cupti_other_clock, &records))
		return 0;
	return misdated++ % 2 ? -OTHER_CLOCK_NS : OTHER_CLOCK_NS;
}

static uint64_t start_of(const struct simcuda_activity *a, bool timeless)
{
	return timeless ? 0 : cupti__timestamp(a->start_ns);
}

static uint64_t end_of(const struct simcuda_activity *a, bool timeless)
{
	return timeless ? 0 : cupti__timestamp(a->end_ns);
}

static void fill_kernel(CUpti_ActivityKernel10 *record, const struct simcuda_activity *a, bool timeless)
{
	record->registersPerThread = (uint16_t)a->registers;
	record->start = start_of(a, timeless);
	record->end = end_of(a, timeless);
	record->completed = record->end;
	record->deviceId = a->device;
	record->contextId = a->context_id;
	record->streamId = a->stream_id;
	record->gridX = (int32_t)a->grid[0];
	record->gridY = (int32_t)a->grid[1];
	record->gridZ = (int32_t)a->grid[2];
	record->blockX = (int32_t)a->block[0];
	record->blockY = (int32_t)a->block[1];
	record->blockZ = (int32_t)a->block[2];
	record->staticSharedMemory = (int32_t)a->static_shared_bytes;
	record->dynamicSharedMemory = (int32_t)a->dynamic_shared_bytes;
	record->localMemoryPerThread = a->local_bytes;
	record->correlationId = a->correlation;
	record->gridId = (int64_t)a->grid_id;
	record->name = a->name;
	if (cupti__self.latency_timestamps) {
		record->queued = cupti__timestamp(a->queued_ns);
		record->submitted = cupti__timestamp(a->submitted_ns);
	}
	record->launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
	record->graphNodeId = a->graph_node_id;
	record->graphId = a->graph_id;
	record->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	record->clusterX = a->cluster[0];
	record->clusterY = a->cluster[1];
	record->clusterZ = a->cluster[2];
}

static void fill_memcpy(CUpti_ActivityMemcpy6 *record, const struct simcuda_activity *a, bool timeless)
{
	record->copyKind = (uint8_t)a->copy_kind;
	record->srcKind = (uint8_t)a->source_kind;
	record->dstKind = (uint8_t)a->destination_kind;
	record->flags = a->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	record->bytes = a->bytes;
	record->start = start_of(a, timeless);
	record->end = end_of(a, timeless);
	record->deviceId = a->device;
	record->contextId = a->context_id;
	record->streamId = a->stream_id;
	record->correlationId = a->correlation;
	record->graphNodeId = a->graph_node_id;
	record->graphId = a->graph_id;
	record->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	record->copyCount = 1;
}

static void fill_peer_memcpy(CUpti_ActivityMemcpyPtoP4 *record, const struct simcuda_activity *a, bool timeless)
{
	record->copyKind = (uint8_t)a->copy_kind;
	record->srcKind = (uint8_t)a->source_kind;
	record->dstKind = (uint8_t)a->destination_kind;
	record->flags = a->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	record->bytes = a->bytes;
	record->start = start_of(a, timeless);
	record->end = end_of(a, timeless);
	record->deviceId = a->device;
	record->contextId = a->context_id;
	record->streamId = a->stream_id;
	record->srcDeviceId = a->device;
	record->srcContextId = a->context_id;
	record->dstDeviceId = a->destination_device;
	record->correlationId = a->correlation;
	record->graphNodeId = a->graph_node_id;
	record->graphId = a->graph_id;
	record->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
}

static void fill_memset(CUpti_ActivityMemset4 *record, const struct simcuda_activity *a, bool timeless)
{
	record->value = a->value;
	record->bytes = a->bytes;
	record->start = start_of(a, timeless);
	record->end = end_of(a, timeless);
	record->deviceId = a->device;
	record->contextId = a->context_id;
	record->streamId = a->stream_id;
	record->correlationId = a->correlation;
	record->flags = a->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	record->memoryKind = (uint16_t)a->destination_kind;
	record->graphNodeId = a->graph_node_id;
	record->graphId = a->graph_id;
	record->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

/* "The ID of the device where the first node of the graph is executed" (cupti_activity.h), and of the last: here all
 * nodes are on the device of the stream. Their records are suppressed, but for the fault cupti-graph-nodes; with
 * cupti-graph-short the graph seems to end halfway. */
static void fill_graph(CUpti_ActivityGraphTrace2 *record, const struct simcuda_activity *a, bool timeless)
{
	record->correlationId = a->correlation;
	record->start = start_of(a, timeless);
	record->end = end_of(a, timeless);
	if (cupti__faults()->cupti_graph_short)
		record->end = record->start + (record->end - record->start) / 2;
	record->deviceId = record->endDeviceId = a->device;
	record->contextId = record->endContextId = a->context_id;
	record->graphId = a->graph_id;
	record->streamId = a->stream_id;
}

/* Returns the kind of record for a piece of work; INVALID: that kind is not enabled. */
static CUpti_ActivityKind kind_of(const struct simcuda_activity *a)
{
	CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_INVALID;

	if (a->kind == SIMCUDA_KERNEL)
		kind = cupti__enabled(CUPTI_ACTIVITY_KIND_KERNEL) ? CUPTI_ACTIVITY_KIND_KERNEL
								  : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	else if (a->kind == SIMCUDA_MEMSET)
		kind = CUPTI_ACTIVITY_KIND_MEMSET;
	else if (a->kind == SIMCUDA_GRAPH)
		kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	else if (a->kind == SIMCUDA_MEMCPY)
		kind = a->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP ? CUPTI_ACTIVITY_KIND_MEMCPY2
								       : CUPTI_ACTIVITY_KIND_MEMCPY;
	return cupti__enabled(kind) ? kind : CUPTI_ACTIVITY_KIND_INVALID;
}

union record {
	CUpti_Activity any;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 memcpy;
	CUpti_ActivityMemcpyPtoP4 peer_memcpy;
	CUpti_ActivityMemset4 memset;
	CUpti_ActivityGraphTrace2 graph;
};

/* Fills in a record of the kind that the activity's place names. Returns its size in bytes. */
static size_t fill(union record *record, const struct simcuda_activity *a, bool timeless)
{
	memset(record, 0, sizeof(*record));
	record->any.kind = (CUpti_ActivityKind)a->place.record_kind;
	switch (record->any.kind) {
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		fill_memcpy(&record->memcpy, a, timeless);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		fill_peer_memcpy(&record->peer_memcpy, a, timeless);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		fill_memset(&record->memset, a, timeless);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		fill_graph(&record->graph, a, timeless);
		break;
	default:
		fill_kernel(&record->kernel, a, timeless);
	}
	return cupti__record_bytes(record->any.kind);
}

/*
 * A forced flush returns incomplete records with times of 0: so does CUPTI, as PyTorch's
 * developers found (github.com/pytorch/pytorch/pull/195844). By its documentation
 * cuptiActivityGetNextRecord() may also answer CUPTI_ERROR_INVALID_KIND at such a record,
 * which is the fault cupti-incomplete-kind.
 */
static void place_now(struct simcuda_activity *a)
{
	union record record;
	size_t bytes = fill(&record, a, true);

	if (cupti__faults()->cupti_incomplete_kind)
		record.any.kind = CUPTI_ACTIVITY_KIND_INVALID;
	if (!cupti__put(a->place.thread, &record, bytes, &a->place))
		a->place.record_kind = CUPTI_ACTIVITY_KIND_INVALID;
}

/* "Fixed incorrect correlation IDs for cudaGraphLaunch API calls and their associated kernel launches in profiling
 * sessions after the first session": CUPTI's release notes, CUDA 13.1 Update 1. Which ids these were is not told; here
 * it is that of the last kernel that was launched without a graph. */
static void mistake_id(struct simcuda_activity *a)
{
	static _Atomic uint32_t last;

	if (a->kind == SIMCUDA_KERNEL && !a->graph_node_id)
		last = a->correlation;
	else if (a->graph_node_id && cupti__self.sessions > 1 && last)
		a->correlation = last;
}

void cupti__on_launched(void *user, struct simcuda_activity *a)
{
	CUpti_ActivityKind kind = kind_of(a);

	(void)user;
	if (kind == CUPTI_ACTIVITY_KIND_INVALID)
		return;
	if (dropped_by_fault()) {
		atomic_fetch_add(&cupti__self.dropped, 1);
		return;
	}
	if (cupti__faults()->cupti_graph_ids)
		mistake_id(a);
	a->place.record_kind = kind;
	a->place.thread = cupti__thread();
	if (!cupti__self.place_at_end)
		place_now(a);
}

void cupti__on_ended(void *user, const struct simcuda_activity *a)
{
	struct simcuda_activity dated = *a;
	union record record;
	uint64_t ahead_ns;
	size_t bytes;

	(void)user;
	if (a->place.record_kind == CUPTI_ACTIVITY_KIND_INVALID)
		return;
	ahead_ns = other_clock_by_fault();
	dated.start_ns += ahead_ns;
	dated.end_ns += ahead_ns;
	bytes = fill(&record, &dated, timeless_by_fault() || device_is_full());
	if (a->place.buffer)
		cupti__complete(&a->place, &record, bytes);
	else
		cupti__put(a->place.thread, &record, bytes, NULL);
}
