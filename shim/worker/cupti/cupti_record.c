/* CUPTI's activity records: of each, the fields that all versions of its struct since CUDA 11.8 have in common. */
#define KC_WITH_CUPTI
#include "shim/shim.h"
#include "measuring.h"

#include <cupti.h>
#include <string.h>

/* CUpti_ActivityMemcpyKind */
static enum kc_transfer_kind kind_of(uint8_t copy)
{
	switch (copy) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
		return KC_COPY_HTOD;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
		return KC_COPY_DTOH;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
		return KC_COPY_DTOD;
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return KC_COPY_PEER;
	default:
		return KC_COPY_OTHER;
	}
}

bool kc__cupti_read(const void *at, int64_t offset_ns, struct kc__record *record)
{
	const CUpti_Activity *activity = at;
	uint64_t start, end;

	memset(record, 0, sizeof(*record));
	switch (activity->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
	case CUPTI_ACTIVITY_KIND_KERNEL: {
		const CUpti_ActivityKernel10 *k = (const void *)activity;

		record->is_kernel = 1;
		record->correlation = k->correlationId;
		record->graph_node = k->graphNodeId;
		record->grid[0] = (uint32_t)k->gridX;
		record->grid[1] = (uint32_t)k->gridY;
		record->grid[2] = (uint32_t)k->gridZ;
		record->block[0] = (uint32_t)k->blockX;
		record->block[1] = (uint32_t)k->blockY;
		record->block[2] = (uint32_t)k->blockZ;
		start = k->start;
		end = k->end;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		const CUpti_ActivityMemcpy6 *m = (const void *)activity;

		record->kind = kind_of(m->copyKind);
		record->bytes = m->bytes;
		record->correlation = m->correlationId;
		record->graph_node = m->graphNodeId;
		start = m->start;
		end = m->end;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY2: {
		const CUpti_ActivityMemcpyPtoP4 *m = (const void *)activity;

		record->kind = KC_COPY_PEER;
		record->bytes = m->bytes;
		record->correlation = m->correlationId;
		record->graph_node = m->graphNodeId;
		start = m->start;
		end = m->end;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		const CUpti_ActivityMemset4 *m = (const void *)activity;

		record->kind = KC_MEMSET;
		record->bytes = m->bytes;
		record->correlation = m->correlationId;
		record->graph_node = m->graphNodeId;
		start = m->start;
		end = m->end;
		break;
	}
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
		const CUpti_ActivityGraphTrace2 *g = (const void *)activity;

		record->is_graph = 1;
		record->correlation = g->correlationId;
		start = g->start;
		end = g->end;
		break;
	}
	default:
		return false;
	}
	/* A record without valid times keeps them at 0. */
	if (start && end >= start) {
		record->start_ns = (int64_t)start - offset_ns;
		record->end_ns = (int64_t)end - offset_ns;
	}
	return true;
}
