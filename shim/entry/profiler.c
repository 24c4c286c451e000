/*
 * The application's own profiler takes precedence. CUPTI serves one subscriber,
 * one pair of buffer callbacks and one clock at a time: when the application asks
 * for any of them, or for records, while we hold it, we give it up first; when it
 * has done so before, we do not take it. In any case the call then goes to the
 * copy of CUPTI that it would have reached without us: a process can have several.
 */
#define KC_WITH_CUPTI
#include "shim/shim.h"

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* X(id, function, whether it makes the application the one that CUPTI works for, parameters, arguments). A clock and
 * kinds of records may be chosen before buffers are registered, and are the application's from then on. */
#define PROFILER_FUNCTIONS(X)                                                                                          \
	X(SUBSCRIBE, cuptiSubscribe, false,                                                                            \
	  (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void *data),                              \
	  (subscriber, callback, data))                                                                                \
	X(SUBSCRIBE_V2, cuptiSubscribe_v2, false,                                                                      \
	  (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void *data,                               \
	   CUpti_SubscriberParams *parameters),                                                                        \
	  (subscriber, callback, data, parameters))                                                                    \
	X(REGISTER, cuptiActivityRegisterCallbacks, requested != NULL,                                                 \
	  (CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed),                   \
	  (requested, completed))                                                                                      \
	X(CLOCK, cuptiActivityRegisterTimestampCallback, clock != NULL, (CUpti_TimestampCallbackFunc clock), (clock))  \
	X(ENABLE, cuptiActivityEnable, true, (CUpti_ActivityKind kind), (kind))                                        \
	X(ENABLE_CONTEXT, cuptiActivityEnableContext, true, (CUcontext context, CUpti_ActivityKind kind),              \
	  (context, kind))

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
			watched ? "launches that are not seen by preloading are not seen any more" : NULL);
	}
	errno = saved_errno;
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
#define FOUND_FUNCTION(n, id, function, parameters, arguments)                                                         \
	static CUptiResult CUPTIAPI function##_##n parameters                                                          \
	{                                                                                                              \
		return reach_##function(found[id][n], LIST arguments);                                                 \
	}
#define PROFILER_FUNCTION(id, function, claims, parameters, arguments)                                                 \
	static CUptiResult reach_##function(void *real, LIST parameters)                                               \
	{                                                                                                              \
		hand_over(claims);                                                                                     \
		return real ? ((__typeof__(&(function)))real)arguments : CUPTI_ERROR_NOT_INITIALIZED;                  \
	}                                                                                                              \
	KC_EXPORT CUptiResult CUPTIAPI function parameters                                                             \
	{                                                                                                              \
		return reach_##function(real_of(id, __builtin_return_address(0)), LIST arguments);                     \
	}                                                                                                              \
	COPIES(FOUND_FUNCTION, id, function, parameters, arguments)
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
