/*
 * The application's own profiler takes precedence. CUPTI serves one subscriber,
 * one pair of buffer callbacks and one clock at a time: when the application asks
 * for any of them, or for records, while we hold it, we give it up first; when it
 * has done so before, we do not take it. In any case the call then goes to the
 * copy of CUPTI that it would have reached without us: a process can have several.
 *
 * When it is no longer the subscriber and has enabled no kind of record, or has ended
 * CUPTI (cuptiFinalize), the worker takes CUPTI again. PyTorch's profiler ends it in one
 * of its own callbacks: nothing of CUPTI is called until that has returned, so callbacks
 * are called through us. What is linked statically calls none of these functions.
 */
#define KC_WITH_CUPTI
#include "shim/shim.h"
#include "lookup.h"
#include "profiler.h"
#include "shim/worker/cupti/measuring.h"

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* X(id, function, what comes before the call, what after it, parameters, arguments). A clock and kinds of records may
 * be chosen before buffers are registered, and are the application's from then on. */
#define PROFILER_FUNCTIONS(X)                                                                                          \
	X(SUBSCRIBE, cuptiSubscribe, (hand_over(false), pass_on(&callback, &data)), subscribed(result),                \
	  (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void *data),                              \
	  (subscriber, callback, data))                                                                                \
	X(SUBSCRIBE_V2, cuptiSubscribe_v2, (hand_over(false), pass_on(&callback, &data)), subscribed(result),          \
	  (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void *data,                               \
	   CUpti_SubscriberParams *parameters),                                                                        \
	  (subscriber, callback, data, parameters))                                                                    \
	X(UNSUBSCRIBE, cuptiUnsubscribe, (void)0, unsubscribed(result), (CUpti_SubscriberHandle subscriber),           \
	  (subscriber))                                                                                                \
	X(REGISTER, cuptiActivityRegisterCallbacks, hand_over(requested != NULL),                                      \
	  registered(result, requested, completed),                                                                    \
	  (CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed),                   \
	  (requested, completed))                                                                                      \
	X(CLOCK, cuptiActivityRegisterTimestampCallback, hand_over(clock != NULL), clock_chosen(result, clock),        \
	  (CUpti_TimestampCallbackFunc clock), (clock))                                                                \
	X(ENABLE, cuptiActivityEnable, hand_over(true), enabled(result, kind, true), (CUpti_ActivityKind kind),        \
	  (kind))                                                                                                      \
	X(ENABLE_CONTEXT, cuptiActivityEnableContext, hand_over(true), enabled(result, kind, true),                    \
	  (CUcontext context, CUpti_ActivityKind kind), (context, kind))                                               \
	X(DISABLE, cuptiActivityDisable, (void)0, enabled(result, kind, false), (CUpti_ActivityKind kind), (kind))     \
	X(DISABLE_CONTEXT, cuptiActivityDisableContext, (void)0, enabled(result, kind, false),                         \
	  (CUcontext context, CUpti_ActivityKind kind), (context, kind))                                               \
	X(FINALIZE, cuptiFinalize, hand_over(false), finalized(result), (void), ())

enum {
#define ID(id, function, ...) id,
	PROFILER_FUNCTIONS(ID) FUNCTIONS
};

static const struct {
	const char *symbol;
	void *ours;
} functions[FUNCTIONS] = {
#define NAMED(id, function, ...) [id] = {#function, (void *)(function)},
    PROFILER_FUNCTIONS(NAMED)};

int kc__profiler_function(const char *symbol)
{
	for (int i = 0; i < FUNCTIONS; i++)
		if (!strcmp(functions[i].symbol, symbol))
			return i;
	return -1;
}

/* The caller is not always known: a function that ends with this call may have jumped here. */
static void *real_of(int function, const void *caller)
{
	int saved_errno = errno;
	void *address = kc__found_without_us(functions[function].symbol, caller);

	if (!address)
		address = kc__cupti_symbol(functions[function].symbol);
	if (!address)
		dlerror();
	errno = saved_errno;
	return address;
}

static void hand_over(bool claims)
{
	int saved_errno = errno;
	uint32_t measured; /* not if it was switched off */
	bool watched;

	if (kc__shim.ours && kc__cupti_hand_over(claims, &watched)) {
		measured = KC_MEASURED;
		atomic_compare_exchange_strong(&kc__shim.unmeasured, &measured, KC_PROFILER_BUSY);
		measured = KC_MEASURED;
		atomic_compare_exchange_strong(&kc__shim.transfers_unmeasured, &measured, KC_PROFILER_BUSY);
		kc__say(KC_MESSAGE_PROFILER_TOOK_OVER,
			watched ? "nor are launches seen that are not seen by preloading" : NULL);
	}
	errno = saved_errno;
}

/* What the application's profiler has told CUPTI */

enum { KINDS_MAX = 256, PASSED_ON = 8 };

static struct {
	_Atomic bool subscribed, ended;
	_Atomic bool kinds[KINDS_MAX]; /* that are enabled */
	_Atomic(CUpti_BuffersCallbackRequestFunc) requested;
	_Atomic(CUpti_BuffersCallbackCompleteFunc) completed;
	_Atomic(CUpti_TimestampCallbackFunc) clock;
} theirs;

static struct passed_on { /* there is one subscriber at a time; callbacks of former ones may still run */
	CUpti_CallbackFunc callback;
	void *data;
} passed_on[PASSED_ON];
static _Atomic unsigned passed_on_next;

static __thread struct {
	unsigned callbacks; /* that this thread is in */
	bool ended;         /* in one of them */
} within __attribute__((tls_model("initial-exec")));

static void tell_ended(void)
{
	if (within.callbacks) {
		within.ended = true;
		return;
	}
	kc__cupti_unclaimed();
	atomic_store(&theirs.ended, true);
}

static void CUPTIAPI on_callback(void *subscriber, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const struct passed_on *to = subscriber;

	within.callbacks++;
	to->callback(to->data, domain, id, data);
	within.callbacks--;
	if (within.ended) {
		within.ended = false;
		tell_ended();
	}
}

static void pass_on(CUpti_CallbackFunc *callback, void **data)
{
	struct passed_on *to;

	if (!*callback || !kc__shim.ours || atomic_load(&kc__shim.stage) == KC__DISABLED)
		return;
	to = &passed_on[atomic_fetch_add(&passed_on_next, 1) % PASSED_ON];
	*to = (struct passed_on){*callback, *data};
	*callback = on_callback;
	*data = to;
}

static void end_if_unused(void)
{
	if (atomic_load(&theirs.subscribed))
		return;
	for (int i = 0; i < KINDS_MAX; i++)
		if (atomic_load_explicit(&theirs.kinds[i], memory_order_relaxed))
			return;
	tell_ended();
}

static void subscribed(CUptiResult result)
{
	if (result == CUPTI_SUCCESS)
		atomic_store(&theirs.subscribed, true);
}

static void unsubscribed(CUptiResult result)
{
	if (result == CUPTI_SUCCESS && atomic_exchange(&theirs.subscribed, false))
		end_if_unused();
}

static void registered(CUptiResult result, CUpti_BuffersCallbackRequestFunc requested,
		       CUpti_BuffersCallbackCompleteFunc completed)
{
	if (result != CUPTI_SUCCESS)
		return;
	atomic_store(&theirs.requested, requested);
	atomic_store(&theirs.completed, completed);
}

static void clock_chosen(CUptiResult result, CUpti_TimestampCallbackFunc clock)
{
	if (result == CUPTI_SUCCESS)
		atomic_store(&theirs.clock, clock);
}

static void enabled(CUptiResult result, CUpti_ActivityKind kind, bool enable)
{
	if (result == CUPTI_SUCCESS && (unsigned)kind < KINDS_MAX)
		atomic_store(&theirs.kinds[kind], enable);
}

static void finalized(CUptiResult result)
{
	if (result != CUPTI_SUCCESS)
		return;
	atomic_store(&theirs.subscribed, false);
	for (int i = 0; i < KINDS_MAX; i++)
		atomic_store_explicit(&theirs.kinds[i], false, memory_order_relaxed);
	tell_ended();
}

bool kc__profiler_has_ended(void)
{
	return atomic_load_explicit(&theirs.ended, memory_order_relaxed) && atomic_exchange(&theirs.ended, false);
}

void kc__profiler_told(struct kc__profiler_told *told)
{
	told->requested = (void *)atomic_load(&theirs.requested);
	told->completed = (void *)atomic_load(&theirs.completed);
	told->clock = (void *)atomic_load(&theirs.clock);
}

void kc__profiler_forget(void)
{
	memset(&theirs, 0, sizeof(theirs));
}

/*
 * An address that dlsym() has found must be reached whoever calls it, so each one
 * gets a function of its own. Of more copies of CUPTI than these, the further
 * ones are left unhooked.
 */
#define COPIES(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__)
enum { COPIES_MAX = 4 };
static void *_Atomic found[FUNCTIONS][COPIES_MAX];

#define LIST(...) __VA_ARGS__
#define FOUND_FUNCTION(n, id, function, before, after, parameters, arguments)                                          \
	static CUptiResult CUPTIAPI function##_##n parameters                                                          \
	{                                                                                                              \
		CALL_REAL(found[id][n], function, before, after, arguments)                                            \
	}
#define CALL_REAL(address, function, before, after, arguments)                                                         \
	void *real = address;                                                                                          \
	CUptiResult result = CUPTI_ERROR_NOT_INITIALIZED;                                                              \
	before;                                                                                                        \
	if (real)                                                                                                      \
		result = ((__typeof__(&(function)))real)arguments;                                                     \
	after;                                                                                                         \
	return result;
#define PROFILER_FUNCTION(id, function, before, after, parameters, arguments)                                          \
	KC_EXPORT CUptiResult CUPTIAPI function parameters{                                                            \
	    CALL_REAL(real_of(id, __builtin_return_address(0)), function, before, after,                               \
		      arguments)} COPIES(FOUND_FUNCTION, id, function, before, after, parameters, arguments)
PROFILER_FUNCTIONS(PROFILER_FUNCTION)

static void *const fronts[FUNCTIONS][COPIES_MAX] = {
#define FRONT(n, function) (void *)function##_##n,
#define FRONTS(id, function, ...) [id] = {COPIES(FRONT, function)},
    PROFILER_FUNCTIONS(FRONTS)};

static void *front_of(int function, void *address)
{
	for (int i = 0; i < COPIES_MAX; i++) {
		void *there = NULL;

		if (atomic_compare_exchange_strong(&found[function][i], &there, address) || there == address)
			return fronts[function][i];
	}
	return address;
}

/* A global look-up finds our own export even where no CUPTI is loaded. */
void *kc__profiler_route(int function, void *address, const void *caller)
{
	if (address == functions[function].ours &&
	    !(address = kc__found_without_us(functions[function].symbol, caller)))
		return kc__dlsym_behind_us(functions[function].symbol); /* for dlerror() */
	if (!address || atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) == KC__DISABLED)
		return address;
	return front_of(function, address);
}
