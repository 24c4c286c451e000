/*
 * Calls that order streams or wait for them: streams and events, host functions,
 * synchronisation, stream-ordered and synchronising memory calls, capture,
 * contexts. They keep the timeline and the table of streams true; what changes
 * the timeline is recorded, so that a replay can do the same.
 */
#include "shim/shim.h"
#include "shim/entry/real.h"
#include "shim/entry/inject.h"
#include "shim/tables/streams.h"
#include "shim/tables/tables.h"
#include "calls.h"
#include "shim/worker/cupti/measuring.h"

#include <errno.h>

/* Host functions run on a driver thread: a few µs even when they do nothing. */
#define HOST_FUNCTION_NS 5000

static bool watching(void)
{
	return kc__recording() && !kc__thread.depth;
}

/* Handles begin and end while recording is paused, too. */
static bool knowing(void)
{
	return kc__begun() && !kc__thread.depth;
}

/* With its device's lock held, which unlock_stream() gives back; *now_ns is the time of what the timeline is told.
 * NULL: nothing is recorded, or it is not known. */
static struct kc__stream *lock_stream(CUstream handle, bool per_thread, int64_t *now_ns)
{
	struct kc__stream *stream = watching() ? kc__stream_of(handle, per_thread) : NULL;

	if (!stream)
		return NULL;
	*now_ns = kc__now_ns();
	kc__lock(&stream->device->lock);
	*now_ns = kc__in_order(stream->device, *now_ns);
	return stream;
}

static void unlock_stream(struct kc__stream *stream)
{
	kc__unlock(&stream->device->lock);
}

/* only: do this only if that context is the current one; NULL: whichever is current. */
static void device_idle(const CUcontext *only, int64_t began_ns)
{
	int saved_errno = errno;
	CUcontext context;
	struct kc__device *device = watching() ? kc__current_device(&kc__thread, &context) : NULL;

	if (device && (!only || *only == context)) {
		int64_t now = kc__now_ns();

		kc__lock(&device->lock);
		now = kc__in_order(device, now);
		if (kc_timeline_device_idle(device->timeline, now))
			kc__put_stream_call(device, NULL, KC_CALL_DEVICE_IDLE, now, now - began_ns);
		kc__unlock(&device->lock);
	}
	errno = saved_errno;
}

/* Streams */

KC_EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags)
{
	CUresult result = KC_REAL(cuStreamCreate)(stream, flags);

	if (result == CUDA_SUCCESS && knowing())
		kc__stream_created(*stream);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	CUresult result = KC_REAL(cuStreamCreateWithPriority)(stream, flags, priority);

	if (result == CUDA_SUCCESS && knowing())
		kc__stream_created(*stream);
	return result;
}

/* Noted before the call: afterwards another thread may be given the handle. Programs that look the driver up by dlsym,
 * as Taichi does, call the ABI of CUDA 3.2. */
#define HANDLE_ENDS(symbol, type, note)                                                                                \
	KC_EXPORT CUresult CUDAAPI symbol(type handle)                                                                 \
	{                                                                                                              \
		if (knowing())                                                                                         \
			note(handle);                                                                                  \
		return KC_REAL(symbol)(handle);                                                                        \
	}
HANDLE_ENDS(cuStreamDestroy, CUstream, kc__stream_destroyed)
HANDLE_ENDS(cuStreamDestroy_v2, CUstream, kc__stream_destroyed)

static void stream_is_idle(CUstream handle, bool per_thread, int64_t began_ns)
{
	int saved_errno = errno;
	int64_t now;
	struct kc__stream *stream = lock_stream(handle, per_thread, &now);

	if (stream) {
		if (kc_timeline_stream_idle(stream->device->timeline, stream->lane, now))
			kc__put_stream_call(stream->device, stream, KC_CALL_STREAM_IDLE, now, now - began_ns);
		unlock_stream(stream);
	}
	errno = saved_errno;
}

#define STREAM_SYNCHRONIZE(symbol, twin)                                                                               \
	KC_EXPORT CUresult CUDAAPI symbol(CUstream stream)                                                             \
	{                                                                                                              \
		int64_t began_ns = kc__now_ns();                                                                       \
		CUresult result = KC_REAL(symbol)(stream);                                                             \
                                                                                                                       \
		if (result == CUDA_SUCCESS) {                                                                          \
			stream_is_idle(stream, twin, began_ns);                                                        \
			kc__work_ended();                                                                              \
		}                                                                                                      \
		return result;                                                                                         \
	}
STREAM_SYNCHRONIZE(cuStreamSynchronize, false)
STREAM_SYNCHRONIZE(cuStreamSynchronize_ptsz, true)

/* Something takes its turn in the stream. If it is captured, it does so when the graph is launched. */
static void occupied(CUstream handle, bool per_thread, int64_t ns)
{
	int saved_errno = errno;
	struct kc_placement placement;
	struct kc__stream *stream;
	int64_t now;

	if (!watching() || kc__capturing(handle, per_thread))
		return;
	stream = lock_stream(handle, per_thread, &now);
	if (stream) {
		kc_timeline_occupy(stream->device->timeline, stream->lane, now, ns, &placement);
		kc__put_stream_call(stream->device, stream, KC_CALL_OCCUPY, now, ns);
		unlock_stream(stream);
	}
	errno = saved_errno;
}

#define HOST_FUNCTION(symbol, parameters, arguments, twin)                                                             \
	KC_EXPORT CUresult CUDAAPI symbol parameters                                                                   \
	{                                                                                                              \
		CUresult result = KC_REAL(symbol) arguments;                                                           \
                                                                                                                       \
		if (result == CUDA_SUCCESS)                                                                            \
			occupied(stream, twin, HOST_FUNCTION_NS);                                                      \
		return result;                                                                                         \
	}
HOST_FUNCTION(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *data), (stream, fn, data), false)
HOST_FUNCTION(cuLaunchHostFunc_ptsz, (CUstream stream, CUhostFn fn, void *data), (stream, fn, data), true)
HOST_FUNCTION(cuLaunchHostFunc_v2, (CUstream stream, CUhostFn fn, void *data, unsigned int mode),
	      (stream, fn, data, mode), false)
HOST_FUNCTION(cuLaunchHostFunc_v2_ptsz, (CUstream stream, CUhostFn fn, void *data, unsigned int mode),
	      (stream, fn, data, mode), true)
HOST_FUNCTION(cuStreamAddCallback, (CUstream stream, CUstreamCallback fn, void *data, unsigned flags),
	      (stream, fn, data, flags), false)
HOST_FUNCTION(cuStreamAddCallback_ptsz, (CUstream stream, CUstreamCallback fn, void *data, unsigned flags),
	      (stream, fn, data, flags), true)

/* Events */

/* When what the stream has been given so far is predicted to be done; 0: not known. */
static int64_t stream_done_ns(CUstream handle, bool per_thread)
{
	int64_t done_ns = 0, now;
	struct kc__stream *stream = lock_stream(handle, per_thread, &now);

	if (stream) {
		done_ns = kc_timeline_tail(stream->device->timeline, stream->lane, now);
		unlock_stream(stream);
	}
	return done_ns;
}

static void event_recorded(CUevent event, CUstream stream, bool per_thread)
{
	int saved_errno = errno;
	struct kc__event *e;
	int64_t ready_ns;

	if (!watching() || kc__capturing(stream, per_thread))
		return;
	ready_ns = stream_done_ns(stream, per_thread);
	e = ready_ns ? kc__event_of(event, true) : NULL;
	if (e)
		atomic_store_explicit(&e->ready_ns, ready_ns, memory_order_relaxed);
	errno = saved_errno;
}

#define EVENT_RECORD(symbol, parameters, arguments, twin)                                                              \
	KC_EXPORT CUresult CUDAAPI symbol parameters                                                                   \
	{                                                                                                              \
		CUresult result = KC_REAL(symbol) arguments;                                                           \
                                                                                                                       \
		if (result == CUDA_SUCCESS)                                                                            \
			event_recorded(event, stream, twin);                                                           \
		return result;                                                                                         \
	}
EVENT_RECORD(cuEventRecord, (CUevent event, CUstream stream), (event, stream), false)
EVENT_RECORD(cuEventRecord_ptsz, (CUevent event, CUstream stream), (event, stream), true)
EVENT_RECORD(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags), false)
EVENT_RECORD(cuEventRecordWithFlags_ptsz, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags),
	     true)

static void stream_waits(CUstream handle, CUevent event, bool per_thread)
{
	int saved_errno = errno;
	struct kc__stream *stream;
	int64_t now;
	struct kc__event *e;

	if (!watching() || kc__capturing(handle, per_thread) || !(e = kc__event_of(event, false)))
		return;
	stream = lock_stream(handle, per_thread, &now);
	if (stream) {
		int64_t ready_ns = atomic_load_explicit(&e->ready_ns, memory_order_relaxed);

		kc_timeline_wait(stream->device->timeline, stream->lane, ready_ns);
		kc__put_stream_call(stream->device, stream, KC_CALL_WAIT, now, ready_ns);
		unlock_stream(stream);
	}
	errno = saved_errno;
}

#define STREAM_WAIT_EVENT(symbol, twin)                                                                                \
	KC_EXPORT CUresult CUDAAPI symbol(CUstream stream, CUevent event, unsigned flags)                              \
	{                                                                                                              \
		CUresult result = KC_REAL(symbol)(stream, event, flags);                                               \
                                                                                                                       \
		if (result == CUDA_SUCCESS)                                                                            \
			stream_waits(stream, event, twin);                                                             \
		return result;                                                                                         \
	}
STREAM_WAIT_EVENT(cuStreamWaitEvent, false)
STREAM_WAIT_EVENT(cuStreamWaitEvent_ptsz, true)

KC_EXPORT CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
	CUresult result = KC_REAL(cuEventSynchronize)(event);
	struct kc__event *e;

	/* The event has happened, even if it was predicted for later: nobody waits for it any more. */
	if (result == CUDA_SUCCESS && watching() && (e = kc__event_of(event, false)))
		atomic_store_explicit(&e->ready_ns, 0, memory_order_relaxed);
	if (result == CUDA_SUCCESS)
		kc__work_ended();
	return result;
}

HANDLE_ENDS(cuEventDestroy, CUevent, kc__event_destroyed)
HANDLE_ENDS(cuEventDestroy_v2, CUevent, kc__event_destroyed)

/* Whole devices */

KC_EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
	int64_t began_ns = kc__now_ns();
	CUresult result = KC_REAL(cuCtxSynchronize)();

	if (result == CUDA_SUCCESS) {
		device_idle(NULL, began_ns);
		kc__work_ended();
	}
	return result;
}

KC_EXPORT CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context)
{
	int64_t began_ns = kc__now_ns();
	CUresult result = KC_REAL(cuCtxSynchronize_v2)(context);

	if (result == CUDA_SUCCESS) {
		device_idle(&context, began_ns);
		kc__work_ended();
	}
	return result;
}

KC_EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr pointer)
{
	int64_t began_ns = kc__now_ns();
	CUresult result = KC_REAL(cuMemFree_v2)(pointer);

	if (result == CUDA_SUCCESS && pointer)
		device_idle(NULL, began_ns);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuMemFreeHost(void *pointer)
{
	int64_t began_ns = kc__now_ns();
	CUresult result = KC_REAL(cuMemFreeHost)(pointer);

	if (result == CUDA_SUCCESS && pointer)
		device_idle(NULL, began_ns);
	return result;
}

/* Stream-ordered memory calls take their turn in the stream, but no time worth predicting. */
#define STREAM_ORDERED(symbol, parameters, arguments)                                                                  \
	STREAM_ORDERED_AS(symbol, parameters, arguments, false)                                                        \
	STREAM_ORDERED_AS(symbol##_ptsz, parameters, arguments, true)
#define STREAM_ORDERED_AS(symbol, parameters, arguments, twin)                                                         \
	KC_EXPORT CUresult CUDAAPI symbol parameters                                                                   \
	{                                                                                                              \
		CUresult result = KC_REAL(symbol) arguments;                                                           \
                                                                                                                       \
		if (result == CUDA_SUCCESS)                                                                            \
			occupied(stream, twin, 0);                                                                     \
		return result;                                                                                         \
	}
STREAM_ORDERED(cuMemAllocAsync, (CUdeviceptr * pointer, size_t bytes, CUstream stream), (pointer, bytes, stream))
STREAM_ORDERED(cuMemAllocFromPoolAsync, (CUdeviceptr * pointer, size_t bytes, CUmemoryPool pool, CUstream stream),
	       (pointer, bytes, pool, stream))
STREAM_ORDERED(cuMemFreeAsync, (CUdeviceptr pointer, CUstream stream), (pointer, stream))

/* Capture */

/* Captures are counted before recording begins, too: it may begin in the middle of one. */
int kc__capture_begins(void)
{
	int counted = atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) != KC__DISABLED;

	atomic_fetch_add_explicit(&kc__shim.captures, counted, memory_order_relaxed);
	return counted;
}

void kc__capture_failed(int counted)
{
	atomic_fetch_sub_explicit(&kc__shim.captures, counted, memory_order_relaxed);
}

#define CAPTURE_BEGIN(symbol, parameters, arguments)                                                                   \
	KC_EXPORT CUresult CUDAAPI symbol parameters                                                                   \
	{                                                                                                              \
		int counted = kc__capture_begins();                                                                    \
		CUresult result = KC_REAL(symbol) arguments;                                                           \
                                                                                                                       \
		if (result != CUDA_SUCCESS)                                                                            \
			kc__capture_failed(counted);                                                                   \
		return result;                                                                                         \
	}
CAPTURE_BEGIN(cuStreamBeginCapture, (CUstream stream), (stream))
CAPTURE_BEGIN(cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
CAPTURE_BEGIN(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
CAPTURE_BEGIN(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
CAPTURE_BEGIN(cuStreamBeginCaptureToGraph,
	      (CUstream stream, CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t n,
	       CUstreamCaptureMode mode),
	      (stream, graph, nodes, edges, n, mode))
CAPTURE_BEGIN(cuStreamBeginCaptureToGraph_ptsz,
	      (CUstream stream, CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t n,
	       CUstreamCaptureMode mode),
	      (stream, graph, nodes, edges, n, mode))

#define RECAPTURE_BEGIN(symbol)                                                                                        \
	CAPTURE_BEGIN(                                                                                                 \
	    symbol,                                                                                                    \
	    (CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback mismatch, void *data), \
	    (stream, mode, graph, mismatch, data))
RECAPTURE_BEGIN(cuStreamBeginRecaptureToGraph)
RECAPTURE_BEGIN(cuStreamBeginRecaptureToGraph_ptsz)

/* A broken capture ends with an error, too; these three results say that the stream
 * was not capturing. With CUDA_INJECTION64_PATH captures may begin unseen, so the count
 * never returns to 0. */
void kc__capture_ended(CUresult result)
{
	if (!kc__injected() && result != CUDA_ERROR_ILLEGAL_STATE && result != CUDA_ERROR_INVALID_VALUE &&
	    result != CUDA_ERROR_INVALID_CONTEXT && atomic_load_explicit(&kc__shim.captures, memory_order_relaxed) > 0)
		atomic_fetch_sub_explicit(&kc__shim.captures, 1, memory_order_relaxed);
}

KC_EXPORT CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	CUresult result = KC_REAL(cuStreamEndCapture)(stream, graph);

	kc__capture_ended(result);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
	CUresult result = KC_REAL(cuStreamEndCapture_ptsz)(stream, graph);

	kc__capture_ended(result);
	return result;
}

/* Contexts: a new one may get the address of a destroyed one. */

#define CONTEXT_END(symbol, type)                                                                                      \
	KC_EXPORT CUresult CUDAAPI symbol(type which)                                                                  \
	{                                                                                                              \
		kc__context_ends();                                                                                    \
		return KC_REAL(symbol)(which);                                                                         \
	}
CONTEXT_END(cuCtxDestroy, CUcontext)
CONTEXT_END(cuCtxDestroy_v2, CUcontext)
CONTEXT_END(cuDevicePrimaryCtxRelease, CUdevice)
CONTEXT_END(cuDevicePrimaryCtxRelease_v2, CUdevice)
CONTEXT_END(cuDevicePrimaryCtxReset, CUdevice)
CONTEXT_END(cuDevicePrimaryCtxReset_v2, CUdevice)
