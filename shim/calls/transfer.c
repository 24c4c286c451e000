/*
 * Copies and memsets: they occupy a stream, so the timeline must know of them,
 * and CUPTI measures them. One call, one record in `transfer`.
 */
#include "launch.h"
#include "shim/entry/real.h"
#include "shim/tables/streams.h"
#include "calls.h"
#include "shim/worker/cupti/measuring.h"

#include <errno.h>
#include <limits.h>

/* Other threads may have told the timeline of more since then, so a replay must know when it was. */
void kc__cancel(struct kc__stream *stream, const struct kc_slot *slot, uint32_t ticket)
{
	int saved_errno = errno;
	int64_t now;

	if (!stream || !ticket)
		return;
	now = kc__now_ns();
	kc__lock(&stream->device->lock);
	kc_timeline_cancel(stream->device->timeline, stream->lane, ticket);
	if (slot)
		kc__put_stream_call(stream->device, stream, KC_CALL_CANCEL, kc__in_order(stream->device, now),
				    (int64_t)slot->index);
	kc__unlock(&stream->device->lock);
	errno = saved_errno;
}

static void passed(CUstream stream, bool per_thread)
{
	if (kc__was_paused() && !kc__capturing(stream, per_thread))
		kc__count(KC_COUNT_TRANSFERS_NOT_ASKED);
}

bool kc__transfer_begin(struct kc__call *call, enum kc_transfer_kind kind, uint64_t bytes, CUstream handle,
			bool per_thread)
{
	struct kc__thread *t = &kc__thread;
	struct kc__stream *stream;
	struct kc_placement placement;
	uint64_t known;
	int64_t now;

	/* Of 0 bytes the driver makes no work, and CUPTI no record. */
	if (!bytes || t->depth)
		return false;
	if (!kc__admitted()) {
		passed(handle, per_thread);
		return false;
	}
	if (kc__capturing(handle, per_thread))
		return false;
	call->saved_errno = errno;
	t->depth = 1;
	stream = kc__stream_of(handle, per_thread);
	if (!stream) {
		t->depth = 0;
		errno = call->saved_errno;
		return false;
	}
	call->stream = stream;
	now = kc__now_ns();
	kc__lock(&stream->device->lock);
	now = kc__in_order(stream->device, now);
	known = kc_engine_known(&kc__shim.engine);
	kc_timeline_copy(stream->device->timeline, stream->lane, now, kc_transfer_route(kind),
			 kc_engine_copy_ns(&stream->device->engine, kind, kc_transfer_route(kind), bytes), &placement);
	kc__unlock(&stream->device->lock);
	call->ticket = placement.ticket;
	t->recorded++;
	call->slot = kc_journal_claim(kc__shim.journal, KC_KIND_TRANSFER);
	if (call->slot) {
		call->slot->transfer = (struct kc_transfer){
		    .launched_ns = now,
		    .start_ns = placement.start_ns,
		    .end_ns = placement.end_ns,
		    .bytes = bytes,
		    .stream = stream->id,
		    .result = INT_MIN,
		    .thread = kc__thread_id(t),
		    .ticket = placement.ticket,
		    .kind = (uint8_t)kind,
		    .device = (uint8_t)stream->device->ordinal,
		    .unmeasured = kc__unmeasured(&kc__shim.transfers_unmeasured),
		    .not_asked = kc__shim.choosing,
		    .order.known = known,
		};
		if (kc__shim.choosing) {
			kc__count(KC_COUNT_TRANSFERS_NOT_ASKED);
			kc_journal_not_asked(kc__shim.journal, call->slot);
		}
		kc_journal_commit(call->slot, KC_SLOT_CALLED);
	} else {
		kc__count(KC_COUNT_TRANSFERS_DROPPED);
		kc__say_journal_full();
	}
	kc__expect_ids(KC__TRANSFER_CALLS);
	errno = call->saved_errno;
	return true;
}

void kc__transfer_end(struct kc__call *call, CUresult result, bool synchronous)
{
	struct kc__thread *t = &kc__thread;
	struct kc_slot *slot = call->slot;
	int64_t now;

	call->saved_errno = errno;
	if (result != CUDA_SUCCESS) {
		kc__cancel(call->stream, slot, call->ticket);
	} else if (synchronous) {
		now = kc__now_ns();
		kc__lock(&call->stream->device->lock);
		now = kc__in_order(call->stream->device, now);
		if (kc_timeline_stream_idle(call->stream->device->timeline, call->stream->lane, now))
			kc__put_stream_call(call->stream->device, call->stream, KC_CALL_STREAM_IDLE, now,
					    slot ? now - slot->transfer.launched_ns : 0);
		kc__unlock(&call->stream->device->lock);
	}
	if (slot) {
		slot->transfer.result = (int32_t)result;
		slot->transfer.correlation = t->correlation ? t->correlation : t->enclosing;
		slot->transfer.enclosing = t->enclosing;
		if (result != CUDA_SUCCESS)
			slot->transfer.unmeasured = KC_CALL_FAILED;
		else if (!slot->transfer.correlation && !slot->transfer.unmeasured)
			slot->transfer.unmeasured = KC_NO_CORRELATION;
		kc_journal_commit(slot, KC_SLOT_RETURNED);
	}
	t->depth = 0;
	if (synchronous && result == CUDA_SUCCESS)
		kc__work_ended();
	errno = call->saved_errno;
}

/* hook(symbol, parameters, arguments, kind, bytes, stream, twin, synchronous) */
#define TRANSFER(symbol, parameters, arguments, kind, bytes, stream, twin, synchronous)                                \
	KC_EXPORT CUresult CUDAAPI symbol parameters                                                                   \
	{                                                                                                              \
		struct kc__call call;                                                                                  \
		CUresult result;                                                                                       \
                                                                                                                       \
		if (!kc__transfer_begin(&call, kind, bytes, stream, twin))                                             \
			return KC_REAL(symbol) arguments;                                                              \
		result = KC_REAL(symbol) arguments;                                                                    \
		kc__transfer_end(&call, result, synchronous);                                                          \
		return result;                                                                                         \
	}

/* A call that copies within the device, or between ends that only the driver knows,
 * may return before the copy is done; one that copies to host memory may not. */
#define BOTH_SYNC(symbol, parameters, arguments, kind, bytes, synchronous)                                             \
	TRANSFER(symbol, parameters, arguments, kind, bytes, NULL, false, synchronous)                                 \
	TRANSFER(symbol##_ptds, parameters, arguments, kind, bytes, NULL, true, synchronous)
#define BOTH_ASYNC(symbol, parameters, arguments, kind, bytes, stream)                                                 \
	TRANSFER(symbol, parameters, arguments, kind, bytes, stream, false, false)                                     \
	TRANSFER(symbol##_ptsz, parameters, arguments, kind, bytes, stream, true, false)

/* clang-format off */
BOTH_SYNC(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t n), (to, from, n), KC_COPY_OTHER, n, false)
BOTH_ASYNC(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), (to, from, n, s), KC_COPY_OTHER, n, s)
BOTH_SYNC(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t n), (to, from, n), KC_COPY_HTOD, n, false)
BOTH_SYNC(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t n), (to, from, n), KC_COPY_DTOH, n, true)
BOTH_SYNC(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t n), (to, from, n), KC_COPY_DTOD, n, false)
BOTH_ASYNC(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t n, CUstream s), (to, from, n, s), KC_COPY_HTOD, n, s)
BOTH_ASYNC(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t n, CUstream s), (to, from, n, s), KC_COPY_DTOH, n, s)
BOTH_ASYNC(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), (to, from, n, s), KC_COPY_DTOD, n, s)
BOTH_SYNC(cuMemcpyPeer, (CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, size_t n), (to, tc, from, fc, n), KC_COPY_PEER, n, false)
BOTH_ASYNC(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, size_t n, CUstream s), (to, tc, from, fc, n, s), KC_COPY_PEER, n, s)
BOTH_SYNC(cuMemcpyAtoH_v2, (void *to, CUarray from, size_t at, size_t n), (to, from, at, n), KC_COPY_DTOH, n, true)
BOTH_SYNC(cuMemcpyHtoA_v2, (CUarray to, size_t at, const void *from, size_t n), (to, at, from, n), KC_COPY_HTOD, n, false)
BOTH_SYNC(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, size_t at, size_t n), (to, from, at, n), KC_COPY_DTOD, n, false)
BOTH_SYNC(cuMemcpyDtoA_v2, (CUarray to, size_t at, CUdeviceptr from, size_t n), (to, at, from, n), KC_COPY_DTOD, n, false)
BOTH_SYNC(cuMemcpyAtoA_v2, (CUarray to, size_t at, CUarray from, size_t from_at, size_t n), (to, at, from, from_at, n), KC_COPY_DTOD, n, false)
BOTH_ASYNC(cuMemcpyHtoAAsync_v2, (CUarray to, size_t at, const void *from, size_t n, CUstream s), (to, at, from, n, s), KC_COPY_HTOD, n, s)
BOTH_ASYNC(cuMemcpyAtoHAsync_v2, (void *to, CUarray from, size_t at, size_t n, CUstream s), (to, from, at, n, s), KC_COPY_DTOH, n, s)
/* clang-format on */

#define KIND(c) ((c) ? kc__copy_kind((c)->srcMemoryType, (c)->dstMemoryType) : KC_COPY_OTHER)
#define BYTES_2D(c) ((c) ? (uint64_t)(c)->WidthInBytes * (c)->Height : 0)
#define BYTES_3D(c) ((c) ? (uint64_t)(c)->WidthInBytes * (c)->Height * (c)->Depth : 0)
#define TO_HOST(c) (KIND(c) == KC_COPY_DTOH)

/* clang-format off */
BOTH_SYNC(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *c), (c), KIND(c), BYTES_2D(c), TO_HOST(c))
BOTH_SYNC(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *c), (c), KIND(c), BYTES_2D(c), TO_HOST(c))
BOTH_ASYNC(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *c, CUstream s), (c, s), KIND(c), BYTES_2D(c), s)
BOTH_SYNC(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *c), (c), KIND(c), BYTES_3D(c), TO_HOST(c))
BOTH_ASYNC(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *c, CUstream s), (c, s), KIND(c), BYTES_3D(c), s)
BOTH_SYNC(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *c), (c), KC_COPY_PEER, BYTES_3D(c), false)
BOTH_ASYNC(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *c, CUstream s), (c, s), KC_COPY_PEER, BYTES_3D(c), s)

/* Between arrays the extent counts elements, whose size the driver alone knows: taken as one byte each. */
#define BYTES_OF(c) ((c) ? (uint64_t)(c)->extent.width * (c)->extent.height * (c)->extent.depth : 0)
BOTH_ASYNC(cuMemcpyWithAttributesAsync, (CUdeviceptr to, CUdeviceptr from, size_t n, CUmemcpyAttributes *a, CUstream s), (to, from, n, a, s), KC_COPY_OTHER, n, s)
BOTH_ASYNC(cuMemcpy3DWithAttributesAsync, (CUDA_MEMCPY3D_BATCH_OP *c, unsigned long long flags, CUstream s), (c, flags, s), KC_COPY_OTHER, BYTES_OF(c), s)

#define MEMSET(symbol, type, size)                                                                                     \
	BOTH_SYNC(symbol##_v2, (CUdeviceptr to, type v, size_t n), (to, v, n), KC_MEMSET, (uint64_t)n * size, false)   \
	BOTH_ASYNC(symbol##Async, (CUdeviceptr to, type v, size_t n, CUstream s), (to, v, n, s), KC_MEMSET, (uint64_t)n * size, s)
#define MEMSET_2D(symbol, type, size)                                                                                  \
	BOTH_SYNC(symbol##_v2, (CUdeviceptr to, size_t p, type v, size_t w, size_t h), (to, p, v, w, h), KC_MEMSET, (uint64_t)w * h * size, false) \
	BOTH_ASYNC(symbol##Async, (CUdeviceptr to, size_t p, type v, size_t w, size_t h, CUstream s), (to, p, v, w, h, s), KC_MEMSET, (uint64_t)w * h * size, s)
MEMSET(cuMemsetD8, unsigned char, 1)
MEMSET(cuMemsetD16, unsigned short, 2)
MEMSET(cuMemsetD32, unsigned int, 4)
MEMSET_2D(cuMemsetD2D8, unsigned char, 1)
MEMSET_2D(cuMemsetD2D16, unsigned short, 2)
MEMSET_2D(cuMemsetD2D32, unsigned int, 4)
/* clang-format on */
