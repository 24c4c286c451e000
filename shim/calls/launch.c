/*
 * The launch hooks. Between entry and the real call: look up, predict, place,
 * record. No allocation, no system call, and one short lock once a kernel and
 * its launch shape have been seen.
 */
#include "launch.h"
#include "shim/code/variants.h"
#include "shim/worker/windows.h"
#include "shim/entry/real.h"
#include "shim/tables/functions.h"
#include "shim/code/early.h"
#include "shim/tables/ranges.h"
#include "shim/tables/streams.h"
#include "calls.h"
#include "shim/worker/cupti/measuring.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static __attribute__((noinline, cold)) bool ask_capturing(CUstream stream, bool per_thread)
{
	static CUresult(CUDAAPI * _Atomic asks[2])(CUstream, CUstreamCaptureStatus *);
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult(CUDAAPI * ask)(CUstream, CUstreamCaptureStatus *);
	int saved_errno;
	bool captured;

	if (kc__cig_capturing(stream, per_thread))
		return true;
	saved_errno = errno;
	ask = asks[per_thread];
	if (!ask) {
		ask = (CUresult(CUDAAPI *)(CUstream, CUstreamCaptureStatus *))kc__driver_symbol(
		    per_thread ? "cuStreamIsCapturing_ptsz" : "cuStreamIsCapturing");
		asks[per_thread] = ask;
	}
	captured = ask && ask(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
	errno = saved_errno;
	return captured;
}

bool kc__capturing(CUstream stream, bool per_thread)
{
	return __builtin_expect(atomic_load_explicit(&kc__shim.captures, memory_order_relaxed) != 0, 0) &&
	       ask_capturing(stream, per_thread);
}

__attribute__((hot)) void kc__know_stream(struct kc__known *known, CUstream handle, bool per_thread)
{
	*known = (struct kc__known){.unpredictable = KC_PREDICTED};
	known->stream = kc__stream_on(handle, per_thread, &known->device);
	if (!known->device)
		known->unpredictable = KC_NO_DEVICE;
}

__attribute__((hot)) void kc__know_kernel(struct kc__known *known, const struct kc_shape *dims)
{
	struct kc__function *fn;
	struct kc__variant *variant;

	if (!known->device)
		return;
	fn = kc__function_of(known->function, known->device);
	known->kernel = fn ? atomic_load_explicit(&fn->kernel, memory_order_acquire) : NULL;
	known->unpredictable = KC_TABLE_FULL;
	if (!known->kernel) {
		if (fn)
			known->unpredictable = atomic_load_explicit(&fn->unpredictable, memory_order_relaxed);
		return;
	}
	if (!known->stream && !known->any_stream)
		return;
	variant = kc__variant_of(known->kernel, known->function, dims, known->given);
	known->unpredictable = variant ? variant->unpredictable : KC_TABLE_FULL;
	if (known->unpredictable == KC_PREDICTED)
		known->variant = variant;
}

static struct kc__variant *current_variant(const struct kc__known *known, const struct kc_shape *dims)
{
	struct kc__variant *variant = known->variant, *current = NULL;

	if (__builtin_expect(kc__variant_is_outdated(variant), 0))
		current = kc__variant_of(known->kernel, known->function, dims, known->given);
	return current ? current : variant;
}

/* From here on nothing is learned: kc__shim.learning is held. The driver is asked without it, as what the driver waits
 * for may be what the worker does. */
static void learn_nothing(const struct kc__known *launch, const struct kc_shape *dims, struct kc__variant **variant)
{
	pthread_mutex_lock(&kc__shim.learning);
	if (!kc__variant_is_outdated(*variant))
		return;
	pthread_mutex_unlock(&kc__shim.learning);
	*variant = current_variant(launch, dims);
	pthread_mutex_lock(&kc__shim.learning);
}

/* What is asked before the lock and what is read under it are to be of one moment. Where something was learned in
 * between, which takes a microsecond and happens with one launch in thousands, it is asked again, and nothing is
 * learned meanwhile. The device's lock is held before and after. */
static __attribute__((noinline, cold)) struct kc_prediction_request *ask(struct kc__device *device,
									 const struct kc__known *launch,
									 const struct kc_shape *dims,
									 struct kc__variant **variant)
{
	struct kc_prediction_request said;
	uint64_t known;

	kc__unlock(&device->lock);
	known = kc_engine_known(&kc__shim.engine);
	*variant = current_variant(launch, dims);
	kc_engine_ask(&kc__shim.engine, &(*variant)->engine, device->answers, &said);
	kc__lock(&device->lock);
	if (kc_engine_known(&kc__shim.engine) == known)
		return kc_engine_keep(&(*variant)->engine, &said);
	kc__unlock(&device->lock);
	learn_nothing(launch, dims, variant);
	kc_engine_ask(&kc__shim.engine, &(*variant)->engine, device->answers, &said);
	kc__lock(&device->lock);
	pthread_mutex_unlock(&kc__shim.learning);
	return kc_engine_keep(&(*variant)->engine, &said);
}

static void predict(const struct kc__known *known, const struct kc_shape *dims, struct kc_launch *launch)
{
	struct kc__stream *stream = known->stream;
	struct kc__device *device = stream->device;
	struct kc__variant *variant = known->variant;
	const struct kc_engine_stage stage = {device->timeline, &device->history, device->answers};
	struct kc_engine_launch kept;
	struct kc_prediction_request *request = NULL;
	struct kc_prediction p;

	kc__lock(&device->lock);
	if (__builtin_expect(!kc__variant_is_outdated(variant), 1))
		request = kc_engine_asked(&kc__shim.engine, &variant->engine);
	if (__builtin_expect(!request, 0))
		request = ask(device, known, dims, &variant);
	kc__windows_meet(variant, launch, request);
	launch->predicted_at_ns = kc__in_order(device, launch->predicted_at_ns);
	launch->order.known = request->known;
	kc_engine_predict(request, &stage, stream->lane, launch->predicted_at_ns, &p, &kept);
	if (__builtin_expect(variant->early != NULL, 0))
		launch->not_kept = !kc__early_made(variant, launch->predicted_at_ns);
	launch->novelty = request->novelty & 7u;
	launch->model_state = request->solo.state;
	kc__unlock(&device->lock);
	kc__keep_prediction(launch, variant, &p, &kept);
}

/* In parts, each of which is a few stores: for all of it at once the compiler takes an instruction that repeats itself,
 * which takes longer to begin than these take. */
static inline void clear(struct kc_launch *launch)
{
	enum { PART = 64, WHOLE = sizeof(*launch) / PART * PART };
	char *at = (char *)launch;

	_Static_assert(sizeof(*launch) / PART == 3, "three parts, and the rest");
	memset(at, 0, PART);
	memset(at + PART, 0, PART);
	memset(at + 2 * PART, 0, PART);
	memset(at + WHOLE, 0, sizeof(*launch) - WHOLE);
}

/* Written where it stays: a record is filled once. */
__attribute__((hot)) void kc__record(struct kc_launch *launch, const struct kc__known *known, enum kc_api api,
				     const struct kc_shape *dims)
{
	clear(launch);
	launch->predicted_at_ns = kc__now_ns();
	launch->order.known = kc_engine_known(&kc__shim.engine);
	for (int i = 0; i < 3; i++) {
		launch->grid[i] = dims->grid[i];
		launch->block[i] = (uint16_t)dims->block[i];
	}
	launch->dynamic_shared_bytes = dims->dynamic_shared_bytes;
	launch->api = (uint8_t)api;
	launch->result = INT_MIN;
	launch->thread = kc__thread.id ? kc__thread.id : kc__thread_id(&kc__thread);
	launch->call_site = kc__thread.call_site;
	launch->scope = kc__scope_of(&kc__thread);
	launch->unmeasured = kc__unmeasured(&kc__shim.unmeasured);
	launch->unpredictable = (uint8_t)known->unpredictable;
	kc__record_kernel(launch, known->kernel);
	if (known->device)
		launch->device = (uint8_t)known->device->ordinal;
	if (known->stream)
		launch->stream = known->stream->id;
	if (known->variant)
		predict(known, dims, launch);
}

static __attribute__((noinline, cold)) bool enter_unusually(void)
{
	if (!kc__recording())
		kc__start(true);
	return kc__admitted();
}

bool kc__launch_enter(void)
{
	kc__thread.reached_driver = true;
	if (kc__thread.depth)
		return false;
	if (__builtin_expect(kc__usual(), 1))
		return true;
	return enter_unusually();
}

void kc__launch_without_slot(void)
{
	if (kc__ended()) {
		kc__count_after_end(1);
		return;
	}
	kc__count(KC_COUNT_DROPPED);
	kc__say_journal_full();
}

void kc__launch_passed(CUstream stream, bool per_thread, uint64_t kernels, uint64_t records)
{
	int saved_errno = errno;

	if (!kc__thread.depth && (kc__ended() || kc__begun()) && !kc__capturing(stream, per_thread)) {
		if (kc__was_paused())
			kc__passed_over(kernels, records);
		else
			kc__count_after_end(kernels);
	}
	errno = saved_errno;
}

__attribute__((hot)) void kc__returned(struct kc_slot *slot, struct kc__stream *stream, CUresult result,
				       uint32_t correlation)
{
	struct kc_launch *launch = &slot->launch;

	if (result != CUDA_SUCCESS)
		kc__cancel(stream, slot, launch->ticket);
	launch->result = (int32_t)result;
	launch->enclosing = kc__thread.enclosing;
	launch->correlation = correlation ? correlation : launch->enclosing;
	if (result != CUDA_SUCCESS)
		launch->unmeasured = KC_CALL_FAILED;
	else if (!launch->correlation && !launch->unmeasured)
		launch->unmeasured = KC_NO_CORRELATION;
	kc_journal_commit(slot, KC_SLOT_RETURNED);
}

/* Does not launch now, or after the last one that is asked for. */
static bool is_none(CUstream stream, bool per_thread)
{
	if (kc__capturing(stream, per_thread)) {
		kc__count(KC_COUNT_CAPTURED);
		return true;
	}
	return __builtin_expect(!kc__usual(), 0) && kc__counting() && !kc__selection_takes(1, 1);
}

/* A launch meets empty caches. What it is sure to read of the device is fetched now, all at once, while it is looked up
 * which launch this is: of the first device, which is the only one of nearly all processes. */
static inline void expect_launch(void)
{
	const struct kc__device *device = &kc__shim.devices[0];

	__builtin_prefetch(&kc__shim.header->counters[KC_COUNT_CALLS], 1);
	__builtin_prefetch(&device->lock, 1);
	kc_history_expect(&device->history);
}

__attribute__((hot)) bool kc__launch_begin(struct kc__call *call, enum kc_api api, CUfunction f,
					   const struct kc_shape *dims, const struct kc__given *given, CUstream stream,
					   bool per_thread)
{
	struct kc__thread *t = &kc__thread;
	struct kc__known known;

	if (!kc__launch_enter()) {
		kc__launch_passed(stream, per_thread, 1, 1);
		return false;
	}
	expect_launch();
	call->saved_errno = *kc__errno(t);
	t->depth = 1;
	if (is_none(stream, per_thread)) {
		kc__count(KC_COUNT_CALLS);
		t->depth = 0;
		*t->error = call->saved_errno;
		return false;
	}
	/* What is new goes into the journal before the launch that refers to it. */
	kc__know_stream(&known, stream, per_thread);
	if (known.stream)
		kc_timeline_expect(known.device->timeline, known.stream->lane);
	known.function = f;
	known.given = given;
	kc__know_kernel(&known, dims);
	call->stream = known.stream;
	t->recorded++;
	kc__count(KC_COUNT_CALLS);
	call->slot = kc_journal_claim(kc__shim.journal, KC_KIND_LAUNCH);
	if (call->slot) {
		kc__record(&call->slot->launch, &known, api, dims);
		/* Less lies between the two moments than reading the clock again takes to tell. */
		call->slot->launch.launched_ns = call->slot->launch.predicted_at_ns;
		kc_journal_commit(call->slot, KC_SLOT_CALLED);
	} else {
		kc__launch_without_slot();
	}
	kc__expect_ids(KC__LAUNCH_CALLS);
	*t->error = call->saved_errno;
	return true;
}

/* When such an event happens is not predicted: nobody waits for what it stood for before. */
static void recorded_within(CUevent event)
{
	struct kc__event *e = kc__event_of(event, false);

	if (e)
		atomic_store_explicit(&e->ready_ns, 0, memory_order_relaxed);
}

void kc__launch_attributes(const struct kc__call *call, const CUlaunchConfig *config)
{
	for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION && call->slot)
			call->slot->launch.beside =
			    a->value.programmaticStreamSerializationAllowed ? KC_BESIDE_PREVIOUS : KC_IN_ORDER;
		else if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
			recorded_within(a->value.programmaticEvent.event);
		else if (a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
			recorded_within(a->value.launchCompletionEvent.event);
	}
}

__attribute__((hot)) void kc__launch_end(struct kc__call *call, CUresult result)
{
	struct kc__thread *t = &kc__thread;

	if (call->slot)
		kc__returned(call->slot, call->stream, result, t->correlation);
	t->depth = 0;
}

#define SHAPE(gx, gy, gz, bx, by, bz, shared)                                                                          \
	(&(struct kc_shape){.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_shared_bytes = shared})

#define GIVEN(kernel_params, kernel_extra) (&(struct kc__given){.params = kernel_params, .extra = kernel_extra})

#define LAUNCH_KERNEL(symbol, api, twin)                                                                               \
	KC_EXPORT __attribute__((hot)) CUresult CUDAAPI symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz,    \
							       unsigned bx, unsigned by, unsigned bz, unsigned shared, \
							       CUstream stream, void **params, void **extra)           \
	{                                                                                                              \
		struct kc__call call;                                                                                  \
		CUresult result;                                                                                       \
                                                                                                                       \
		if (!kc__launch_begin(&call, api, f, SHAPE(gx, gy, gz, bx, by, bz, shared), GIVEN(params, extra),      \
				      stream, twin))                                                                   \
			return KC_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);              \
		result = KC_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);                    \
		kc__launch_end(&call, result);                                                                         \
		return result;                                                                                         \
	}

LAUNCH_KERNEL(cuLaunchKernel, KC_API_LAUNCH_KERNEL, false)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, KC_API_LAUNCH_KERNEL, true)

#define LAUNCH_COOPERATIVE(symbol, twin)                                                                               \
	KC_EXPORT CUresult CUDAAPI symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,            \
					  unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params)   \
	{                                                                                                              \
		struct kc__call call;                                                                                  \
		CUresult result;                                                                                       \
                                                                                                                       \
		if (!kc__launch_begin(&call, KC_API_LAUNCH_COOPERATIVE, f, SHAPE(gx, gy, gz, bx, by, bz, shared),      \
				      GIVEN(params, NULL), stream, twin))                                              \
			return KC_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params);                     \
		result = KC_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params);                           \
		kc__launch_end(&call, result);                                                                         \
		return result;                                                                                         \
	}

LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

#define LAUNCH_EX(symbol, twin)                                                                                        \
	KC_EXPORT CUresult CUDAAPI symbol(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)     \
	{                                                                                                              \
		struct kc__call call;                                                                                  \
		CUresult result;                                                                                       \
                                                                                                                       \
		if (!config ||                                                                                         \
		    !kc__launch_begin(&call, KC_API_LAUNCH_KERNEL_EX, f,                                               \
				      SHAPE(config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,   \
					    config->blockDimY, config->blockDimZ, config->sharedMemBytes),             \
				      GIVEN(params, extra), config->hStream, twin))                                    \
			return KC_REAL(symbol)(config, f, params, extra);                                              \
		kc__launch_attributes(&call, config);                                                                  \
		result = KC_REAL(symbol)(config, f, params, extra);                                                    \
		kc__launch_end(&call, result);                                                                         \
		return result;                                                                                         \
	}

LAUNCH_EX(cuLaunchKernelEx, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, true)
