/*
 * Capture into a command list of a graphics API (CUDA in Graphics): what is put into the stream meanwhile runs when the
 * graphics API executes the list, perhaps never. Whether cuStreamIsCapturing tells of such a capture is not documented,
 * so the streams are remembered.
 */
#include "shim/shim.h"
#include "shim/entry/real.h"
#include "calls.h"

/* At once; more are taken for streams that run what they are given. */
enum { STREAMS_MAX = 16 };

static _Atomic uint64_t streams[STREAMS_MAX]; /* 0: free */

/* A per-thread default stream is the thread's own. */
static uint64_t key_of(CUstream stream, bool per_thread)
{
	if (stream == CU_STREAM_PER_THREAD || (!stream && per_thread))
		return (uint64_t)kc__thread_id(&kc__thread) << 8 | (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD;
	return stream ? (uint64_t)(uintptr_t)stream : (uint64_t)(uintptr_t)CU_STREAM_LEGACY;
}

bool kc__cig_capturing(CUstream stream, bool per_thread)
{
	uint64_t key = key_of(stream, per_thread);

	for (int i = 0; i < STREAMS_MAX; i++)
		if (atomic_load_explicit(&streams[i], memory_order_relaxed) == key)
			return true;
	return false;
}

static void change(uint64_t from, uint64_t to)
{
	for (int i = 0; i < STREAMS_MAX; i++) {
		uint64_t expected = from;

		if (atomic_compare_exchange_strong(&streams[i], &expected, to))
			return;
	}
}

#define BEGIN(symbol, twin)                                                                                            \
	KC_EXPORT CUresult CUDAAPI symbol(CUstream stream, CUstreamCigCaptureParams *params)                           \
	{                                                                                                              \
		int counted = kc__capture_begins();                                                                    \
		CUresult result = KC_REAL(symbol)(stream, params);                                                     \
                                                                                                                       \
		if (result != CUDA_SUCCESS)                                                                            \
			kc__capture_failed(counted);                                                                   \
		else if (counted)                                                                                      \
			change(0, key_of(stream, twin));                                                               \
		return result;                                                                                         \
	}
BEGIN(cuStreamBeginCaptureToCig, false)
BEGIN(cuStreamBeginCaptureToCig_ptsz, true)

#define END(symbol, twin)                                                                                              \
	KC_EXPORT CUresult CUDAAPI symbol(CUstream stream)                                                             \
	{                                                                                                              \
		CUresult result = KC_REAL(symbol)(stream);                                                             \
                                                                                                                       \
		if (result == CUDA_SUCCESS && kc__cig_capturing(stream, twin)) {                                       \
			change(key_of(stream, twin), 0);                                                               \
			kc__capture_ended(result);                                                                     \
		}                                                                                                      \
		return result;                                                                                         \
	}
END(cuStreamEndCaptureToCig, false)
END(cuStreamEndCaptureToCig_ptsz, true)
