/* What calls that order streams, or wait for them, tell the timeline and the journal: each one, when it works and when
 * it fails, and whether anything is recorded. */
#include "calls.h"
#include "shim/entry/inject.h"
#include "shim/entry/real.h"
#include "shim/tables/streams.h"
#include "shim/tables/tables.h"
#include "shim/worker/cupti/measuring.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STREAM ((CUstream)0x10)
#define EVENT ((CUevent)0x20)
#define CONTEXT ((CUcontext)0x30)
#define MODE CU_STREAM_CAPTURE_MODE_GLOBAL
#define STEP_NS 10 /* between two looks at the clock */
#define HOST_NS 5000
#define GAP_MOST_NS 2000 /* between what follows one another in a stream */

/* ---- The rest of the library ---- */

struct kc__state kc__shim;
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));
void *_Atomic kc__real[KC_HOOK_COUNT];

static struct {
	int64_t now_ns;
	CUresult result;
	bool capturing, injected, unknown;
	struct kc__stream stream;
	struct kc__event event;
	/* what was seen of the call: */
	int real_calls, calls_before_end, created, streams_ended, events_ended, contexts_ended, work_ended, puts;
	CUstream asked;
	bool asked_per_thread;
	const struct kc__stream *put_stream;
	enum kc_stream_call_kind put_kind;
	int64_t put_at_ns, put_ns;
} seen;

int64_t kc__now_ns(void)
{
	return seen.now_ns += STEP_NS;
}

void *kc__real_slow(enum kc_hook hook)
{
	(void)hook;
	return NULL;
}

bool kc__injected(void)
{
	return seen.injected;
}

bool kc__capturing(CUstream stream, bool per_thread)
{
	(void)stream;
	(void)per_thread;
	return seen.capturing;
}

void kc__work_ended(void)
{
	seen.work_ended++;
}

struct kc__device *kc__current_device(struct kc__thread *t, CUcontext *context)
{
	(void)t;
	errno = EIO;
	*context = CONTEXT;
	return &kc__shim.devices[0];
}

void kc__context_ends(void)
{
	seen.contexts_ended++;
	seen.calls_before_end = seen.real_calls;
}

struct kc__stream *kc__stream_of(CUstream stream, bool per_thread)
{
	errno = EIO;
	seen.asked = stream;
	seen.asked_per_thread = per_thread;
	return seen.unknown ? NULL : &seen.stream;
}

void kc__stream_created(CUstream stream)
{
	assert_ptr_equal(stream, STREAM);
	seen.created++;
}

void kc__stream_destroyed(CUstream stream)
{
	assert_ptr_equal(stream, STREAM);
	seen.streams_ended++;
	seen.calls_before_end = seen.real_calls;
}

void kc__put_stream_call(const struct kc__device *device, const struct kc__stream *stream,
			 enum kc_stream_call_kind kind, int64_t time_ns, int64_t ns)
{
	assert_ptr_equal(device, &kc__shim.devices[0]);
	seen.puts++;
	seen.put_stream = stream;
	seen.put_kind = kind;
	seen.put_at_ns = time_ns;
	seen.put_ns = ns;
}

struct kc__event *kc__event_of(CUevent event, bool make)
{
	(void)make;
	assert_ptr_equal(event, EVENT);
	return &seen.event;
}

void kc__event_destroyed(CUevent event)
{
	assert_ptr_equal(event, EVENT);
	seen.events_ended++;
	seen.calls_before_end = seen.real_calls;
}

/* ---- The driver ---- */

static CUresult answer(void)
{
	seen.real_calls++;
	return seen.result;
}

static CUresult make_stream(CUstream *stream)
{
	*stream = STREAM;
	return answer();
}

/* ---- Calls ---- */

static CUstream made;
static CUgraph graph;
static CUdeviceptr memory;

#define CALL(symbol, ...)                                                                                              \
	static CUresult call_##symbol(void)                                                                            \
	{                                                                                                              \
		return symbol(__VA_ARGS__);                                                                            \
	}
CALL(cuStreamCreate, &made, 0)
CALL(cuStreamCreateWithPriority, &made, 0, 0)
CALL(cuStreamDestroy, STREAM)
CALL(cuStreamDestroy_v2, STREAM)
CALL(cuStreamSynchronize, STREAM)
CALL(cuStreamSynchronize_ptsz, STREAM)
CALL(cuLaunchHostFunc, STREAM, NULL, NULL)
CALL(cuLaunchHostFunc_ptsz, STREAM, NULL, NULL)
CALL(cuLaunchHostFunc_v2, STREAM, NULL, NULL, 0)
CALL(cuLaunchHostFunc_v2_ptsz, STREAM, NULL, NULL, 0)
CALL(cuStreamAddCallback, STREAM, NULL, NULL, 0)
CALL(cuStreamAddCallback_ptsz, STREAM, NULL, NULL, 0)
CALL(cuEventRecord, EVENT, STREAM)
CALL(cuEventRecord_ptsz, EVENT, STREAM)
CALL(cuEventRecordWithFlags, EVENT, STREAM, 0)
CALL(cuEventRecordWithFlags_ptsz, EVENT, STREAM, 0)
CALL(cuStreamWaitEvent, STREAM, EVENT, 0)
CALL(cuStreamWaitEvent_ptsz, STREAM, EVENT, 0)
CALL(cuEventSynchronize, EVENT)
CALL(cuEventDestroy, EVENT)
CALL(cuEventDestroy_v2, EVENT)
CALL(cuCtxSynchronize)
CALL(cuCtxSynchronize_v2, CONTEXT)
CALL(cuMemFree_v2, 0x1000)
CALL(cuMemFreeHost, &memory)
CALL(cuMemAllocAsync, &memory, 1, STREAM)
CALL(cuMemAllocAsync_ptsz, &memory, 1, STREAM)
CALL(cuMemAllocFromPoolAsync, &memory, 1, NULL, STREAM)
CALL(cuMemAllocFromPoolAsync_ptsz, &memory, 1, NULL, STREAM)
CALL(cuMemFreeAsync, 0x1000, STREAM)
CALL(cuMemFreeAsync_ptsz, 0x1000, STREAM)
CALL(cuStreamBeginCapture, STREAM)
CALL(cuStreamBeginCapture_ptsz, STREAM)
CALL(cuStreamBeginCapture_v2, STREAM, MODE)
CALL(cuStreamBeginCapture_v2_ptsz, STREAM, MODE)
CALL(cuStreamBeginCaptureToGraph, STREAM, NULL, NULL, NULL, 0, MODE)
CALL(cuStreamBeginCaptureToGraph_ptsz, STREAM, NULL, NULL, NULL, 0, MODE)
CALL(cuStreamBeginRecaptureToGraph, STREAM, MODE, NULL, NULL, NULL)
CALL(cuStreamBeginRecaptureToGraph_ptsz, STREAM, MODE, NULL, NULL, NULL)
CALL(cuStreamEndCapture, STREAM, &graph)
CALL(cuStreamEndCapture_ptsz, STREAM, &graph)
CALL(cuCtxDestroy, CONTEXT)
CALL(cuCtxDestroy_v2, CONTEXT)
CALL(cuDevicePrimaryCtxRelease, 0)
CALL(cuDevicePrimaryCtxRelease_v2, 0)
CALL(cuDevicePrimaryCtxReset, 0)
CALL(cuDevicePrimaryCtxReset_v2, 0)

enum effect {
	CREATES,     /* a stream begins */
	ENDS_STREAM, /* before the call */
	STREAM_IDLE,
	DEVICE_IDLE, /* and a wait of the host */
	FREES,       /* the same without one */
	HOST,        /* something of the host in the stream */
	MEMORY,      /* memory is given or taken in the stream's order */
	RECORDS,
	WAITS,
	EVENT_HAPPENED,
	ENDS_EVENT, /* before the call */
	CAPTURES,
	ENDS_CAPTURE,
	ENDS_CONTEXT, /* before the call */
};

static const struct call {
	enum kc_hook hook;
	CUresult (*make)(void);
	enum effect effect;
	bool per_thread;
} calls[] = {
#define OF(symbol, effect)                                                                                             \
	{                                                                                                              \
		KC_HOOK_##symbol, call_##symbol, effect, false                                                         \
	}
#define PER_THREAD(symbol, effect)                                                                                     \
	{                                                                                                              \
		KC_HOOK_##symbol##_ptsz, call_##symbol##_ptsz, effect, true                                            \
	}
#define BOTH(symbol, effect) OF(symbol, effect), PER_THREAD(symbol, effect)
    OF(cuStreamCreate, CREATES),
    OF(cuStreamCreateWithPriority, CREATES),
    OF(cuStreamDestroy, ENDS_STREAM),
    OF(cuStreamDestroy_v2, ENDS_STREAM),
    BOTH(cuStreamSynchronize, STREAM_IDLE),
    BOTH(cuLaunchHostFunc, HOST),
    BOTH(cuLaunchHostFunc_v2, HOST),
    BOTH(cuStreamAddCallback, HOST),
    BOTH(cuEventRecord, RECORDS),
    BOTH(cuEventRecordWithFlags, RECORDS),
    BOTH(cuStreamWaitEvent, WAITS),
    OF(cuEventSynchronize, EVENT_HAPPENED),
    OF(cuEventDestroy, ENDS_EVENT),
    OF(cuEventDestroy_v2, ENDS_EVENT),
    OF(cuCtxSynchronize, DEVICE_IDLE),
    OF(cuCtxSynchronize_v2, DEVICE_IDLE),
    OF(cuMemFree_v2, FREES),
    OF(cuMemFreeHost, FREES),
    BOTH(cuMemAllocAsync, MEMORY),
    BOTH(cuMemAllocFromPoolAsync, MEMORY),
    BOTH(cuMemFreeAsync, MEMORY),
    BOTH(cuStreamBeginCapture, CAPTURES),
    BOTH(cuStreamBeginCapture_v2, CAPTURES),
    BOTH(cuStreamBeginCaptureToGraph, CAPTURES),
    BOTH(cuStreamBeginRecaptureToGraph, CAPTURES),
    BOTH(cuStreamEndCapture, ENDS_CAPTURE),
    OF(cuCtxDestroy, ENDS_CONTEXT),
    OF(cuCtxDestroy_v2, ENDS_CONTEXT),
    OF(cuDevicePrimaryCtxRelease, ENDS_CONTEXT),
    OF(cuDevicePrimaryCtxRelease_v2, ENDS_CONTEXT),
    OF(cuDevicePrimaryCtxReset, ENDS_CONTEXT),
    OF(cuDevicePrimaryCtxReset_v2, ENDS_CONTEXT),
};
#define CALLS (sizeof(calls) / sizeof(*calls))

/* ---- */

#define LANE 2
#define BEGAN_NS 1000000
#define BUSY_NS 700000 /* what is in the stream before the call takes so long */
#define READY_NS (BEGAN_NS + 900000)
#define CAPTURES_BEFORE 3

static int64_t busy_until_ns;

static struct kc__device *const device = &kc__shim.devices[0];

static int64_t tail(void)
{
	return kc_timeline_tail(device->timeline, LANE, BEGAN_NS);
}

static void give_work(void)
{
	struct kc_placement placement;

	kc_timeline_init(device->timeline, &device->info);
	kc_timeline_stream(device->timeline, LANE, KC_STREAM_NONBLOCKING, 0);
	kc_timeline_occupy(device->timeline, LANE, BEGAN_NS, BUSY_NS, &placement);
	busy_until_ns = tail();
	assert_in_range(busy_until_ns, BEGAN_NS + BUSY_NS, READY_NS - 1);
}

/* One call, of a program whose stream is busy. */
static void make(const struct call *call, int stage, CUresult result)
{
	memset(&seen, 0, sizeof(seen));
	device->lock = (struct kc__lock){0};
	device->seen_ns = 0;
	give_work();
	seen.now_ns = BEGAN_NS;
	seen.result = result;
	seen.stream.device = device;
	seen.stream.lane = LANE;
	seen.event.ready_ns = READY_NS;
	kc__shim.stage = stage;
	kc__shim.captures = CAPTURES_BEFORE;
	errno = ENOENT;
	kc__real[call->hook] = call->effect == CREATES ? (void *)make_stream : (void *)answer;
	assert_int_equal(call->make(), result);
	assert_int_equal(seen.real_calls, 1);
	assert_int_equal(errno, ENOENT);
}

static void assert_nothing_told(const struct call *call)
{
	assert_int_equal(seen.puts, 0);
	assert_int_equal(tail(), busy_until_ns);
	if (call->effect != RECORDS && call->effect != EVENT_HAPPENED)
		assert_int_equal(seen.event.ready_ns, READY_NS);
}

static void assert_put(const struct kc__stream *stream, enum kc_stream_call_kind kind, int64_t at_ns, int64_t ns)
{
	assert_int_equal(seen.puts, 1);
	assert_ptr_equal(seen.put_stream, stream);
	assert_int_equal(seen.put_kind, kind);
	assert_int_equal(seen.put_at_ns, at_ns);
	assert_int_equal(seen.put_ns, ns);
}

/* The clock is looked at once, or before and after the call where the host may have waited. */
static void assert_told(const struct call *call)
{
	const int64_t once = BEGAN_NS + STEP_NS, after = BEGAN_NS + 2 * STEP_NS;

	switch (call->effect) {
	case STREAM_IDLE:
		assert_put(&seen.stream, KC_CALL_STREAM_IDLE, after, STEP_NS);
		assert_int_equal(tail(), after);
		break;
	case DEVICE_IDLE:
	case FREES:
		assert_put(NULL, KC_CALL_DEVICE_IDLE, after, STEP_NS);
		assert_int_equal(tail(), after);
		break;
	case HOST:
		assert_put(&seen.stream, KC_CALL_OCCUPY, once, HOST_NS);
		assert_in_range(tail(), busy_until_ns + HOST_NS, busy_until_ns + HOST_NS + GAP_MOST_NS);
		break;
	case MEMORY:
		assert_put(&seen.stream, KC_CALL_OCCUPY, once, 0);
		assert_in_range(tail(), busy_until_ns, busy_until_ns + GAP_MOST_NS);
		break;
	case WAITS:
		assert_put(&seen.stream, KC_CALL_WAIT, once, READY_NS);
		assert_int_equal(tail(), READY_NS);
		break;
	default:
		assert_nothing_told(call);
	}
	assert_int_equal(device->seen_ns,
			 call->effect == STREAM_IDLE || call->effect == DEVICE_IDLE || call->effect == FREES ? after
			 : call->effect >= HOST && call->effect <= WAITS                                     ? once
													     : 0);
}

static bool asks_for_stream(const struct call *call)
{
	return call->effect == STREAM_IDLE || (call->effect >= HOST && call->effect <= WAITS);
}

static void what_works_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		const struct call *call = &calls[i];

		make(call, KC__ON, CUDA_SUCCESS);
		assert_told(call);
		if (asks_for_stream(call)) {
			assert_ptr_equal(seen.asked, STREAM);
			assert_int_equal(seen.asked_per_thread, call->per_thread);
		}
		assert_int_equal(seen.event.ready_ns, call->effect == RECORDS          ? busy_until_ns
						      : call->effect == EVENT_HAPPENED ? 0
										       : READY_NS);
		assert_int_equal(seen.work_ended, call->effect == STREAM_IDLE || call->effect == DEVICE_IDLE ||
						      call->effect == EVENT_HAPPENED);
	}
}

/* Handles begin while recording is paused, too; they end whether the call works or not, before another thread may be
 * given them. */
static void handles_begin_and_end(void **state)
{
	static const int stages[] = {KC__ON, KC__PAUSED};

	(void)state;
	for (size_t i = 0; i < 2 * CALLS; i++) {
		const struct call *call = &calls[i / 2];

		for (int n = 0; n < 2; n++) {
			make(call, stages[n], i % 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
			assert_int_equal(seen.created, call->effect == CREATES && i % 2);
			assert_int_equal(seen.streams_ended, call->effect == ENDS_STREAM);
			assert_int_equal(seen.events_ended, call->effect == ENDS_EVENT);
			assert_int_equal(seen.contexts_ended, call->effect == ENDS_CONTEXT);
			assert_int_equal(seen.calls_before_end, 0);
		}
	}
}

static void what_fails_is_not_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		make(&calls[i], KC__ON, CUDA_ERROR_NOT_READY);
		assert_nothing_told(&calls[i]);
		assert_int_equal(seen.event.ready_ns, READY_NS);
		assert_int_equal(seen.work_ended, 0);
	}
}

/* Not recorded, paused, or within another call. */
static void what_is_not_watched_is_not_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4 * CALLS; i++) {
		const struct call *call = &calls[i / 4];
		static const int stages[] = {0, KC__DISABLED, KC__PAUSED, KC__ON};

		kc__thread.depth = stages[i % 4] == KC__ON;
		make(call, stages[i % 4], CUDA_SUCCESS);
		kc__thread.depth = 0;
		assert_nothing_told(call);
		assert_int_equal(seen.event.ready_ns, READY_NS);
		if (stages[i % 4] != KC__PAUSED)
			assert_int_equal(seen.created + seen.streams_ended + seen.events_ended, 0);
	}
}

static CUresult answer_captured(void)
{
	seen.capturing = true;
	return answer();
}

static CUresult answer_unknown(void)
{
	seen.unknown = true;
	return answer();
}

/* In a capture nothing happens yet; of a stream that is not known nothing can be told. */
static void what_is_captured_or_unknown_is_not_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		for (int n = 0; n < 2; n++) {
			if (calls[i].effect < HOST || calls[i].effect > WAITS)
				continue;
			make(&calls[i], KC__ON, CUDA_SUCCESS);
			give_work();
			seen.puts = 0;
			seen.event.ready_ns = READY_NS;
			kc__real[calls[i].hook] = n ? (void *)answer_unknown : (void *)answer_captured;
			assert_int_equal(calls[i].make(), CUDA_SUCCESS);
			assert_nothing_told(&calls[i]);
			assert_int_equal(seen.event.ready_ns, READY_NS);
		}
	}
}

/* Captures are counted whether anything is recorded (yet) or not, unless it never will be. */
static void captures_are_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		int begins = calls[i].effect == CAPTURES, ends = calls[i].effect == ENDS_CAPTURE;

		make(&calls[i], 0, CUDA_SUCCESS);
		assert_int_equal(kc__shim.captures, CAPTURES_BEFORE + begins - ends);
		make(&calls[i], 0, CUDA_ERROR_OUT_OF_MEMORY); /* of an end: the capture was broken */
		assert_int_equal(kc__shim.captures, CAPTURES_BEFORE - ends);
		make(&calls[i], KC__DISABLED, CUDA_SUCCESS);
		assert_int_equal(kc__shim.captures, CAPTURES_BEFORE - ends);
	}
}

static void an_end_without_a_capture_is_none(void **state)
{
	static const CUresult not_capturing[] = {CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_VALUE,
						 CUDA_ERROR_INVALID_CONTEXT};

	(void)state;
	memset(&seen, 0, sizeof(seen));
	for (int i = 0; i < 3; i++) {
		kc__shim.captures = 1;
		kc__capture_ended(not_capturing[i]);
		assert_int_equal(kc__shim.captures, 1);
	}
	seen.injected = true; /* captures may have begun before */
	kc__capture_ended(CUDA_SUCCESS);
	assert_int_equal(kc__shim.captures, 1);
	seen.injected = false;
	for (int i = 0; i < 2; i++) {
		kc__capture_ended(CUDA_SUCCESS);
		assert_int_equal(kc__shim.captures, 0);
	}
}

/* Nothing is freed, so nothing was waited for; of another context than the current one it is not known which device it
 * is on. What is idle already is told once. */
static void what_waits_for_nothing_is_not_told(void **state)
{
	const struct call *frees = NULL;

	(void)state;
	for (size_t i = 0; i < CALLS; i++)
		frees = calls[i].hook == KC_HOOK_cuMemFree_v2 ? &calls[i] : frees;
	make(frees, 0, CUDA_SUCCESS);
	kc__shim.stage = KC__ON;
	kc__real[KC_HOOK_cuMemFreeHost] = kc__real[KC_HOOK_cuCtxSynchronize_v2] = (void *)answer;
	assert_int_equal(cuMemFree_v2(0), CUDA_SUCCESS);
	assert_int_equal(cuMemFreeHost(NULL), CUDA_SUCCESS);
	assert_int_equal(cuCtxSynchronize_v2((CUcontext)0x31), CUDA_SUCCESS);
	assert_nothing_told(frees);
	assert_int_equal(cuCtxSynchronize_v2(CONTEXT), CUDA_SUCCESS);
	assert_int_equal(cuCtxSynchronize_v2(CONTEXT), CUDA_SUCCESS);
	assert_int_equal(seen.puts, 1);
	assert_int_equal(cuMemFree_v2(0x1000), CUDA_SUCCESS);
	assert_int_equal(seen.puts, 1);
}

static int begin(void **state)
{
	(void)state;
	device->info = *kc_device_builtin("a100");
	device->timeline = calloc(1, kc_timeline_size());
	return device->timeline ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(device->timeline);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_works_is_told),
	    cmocka_unit_test(handles_begin_and_end),
	    cmocka_unit_test(what_fails_is_not_told),
	    cmocka_unit_test(what_is_not_watched_is_not_told),
	    cmocka_unit_test(what_is_captured_or_unknown_is_not_told),
	    cmocka_unit_test(captures_are_counted),
	    cmocka_unit_test(an_end_without_a_capture_is_none),
	    cmocka_unit_test(what_waits_for_nothing_is_not_told),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
