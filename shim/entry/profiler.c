/*
 * The application's own profiler takes precedence. CUPTI serves one subscriber
 * and one pair of buffer callbacks at a time: when the application asks for
 * either while we hold it, we give it up first. In any case the call then goes to
 * the copy of CUPTI that it would have reached without us: a process can have
 * several.
 */
#define KC_WITH_CUPTI
#include "shim/shim.h"

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { SUBSCRIBE, SUBSCRIBE_V2, REGISTER, FUNCTIONS };

static const struct {
	const char *symbol;
	void *ours;
} functions[FUNCTIONS] = {
    [SUBSCRIBE] = {"cuptiSubscribe", (void *)cuptiSubscribe},
    [SUBSCRIBE_V2] = {"cuptiSubscribe_v2", (void *)cuptiSubscribe_v2},
    [REGISTER] = {"cuptiActivityRegisterCallbacks", (void *)cuptiActivityRegisterCallbacks},
};

int kc__profiler_function(const char *symbol)
{
	for (int i = 0; i < FUNCTIONS; i++)
		if (!strcmp(functions[i].symbol, symbol))
			return i;
	return -1;
}

/* What the loader would have bound the caller to without us: the global scope comes first, then what the caller's
 * object is linked to. */
static void *behind_us(int function, const void *caller)
{
	void *address;

	if (!kc__real_dlsym)
		kc__dlsym_find_real();
	address = kc__dlsym_behind_us(functions[function].symbol);
	return address ? address : kc__callers_symbol(caller, functions[function].symbol);
}

/* The caller is not always known: a function that ends with this call may have jumped here. */
static void *real_of(int function, const void *caller)
{
	int saved_errno = errno;
	void *address = behind_us(function, caller);

	if (!address)
		address = kc__cupti_symbol(functions[function].symbol);
	if (!address)
		dlerror();
	errno = saved_errno;
	return address;
}

static void hand_over(void)
{
	int saved_errno = errno;
	uint32_t measured; /* not if it was switched off */
	bool watched;

	if (kc__shim.ours && kc__cupti_hand_over(&watched)) {
		measured = KC_MEASURED;
		atomic_compare_exchange_strong(&kc__shim.unmeasured, &measured, KC_PROFILER_BUSY);
		measured = KC_MEASURED;
		atomic_compare_exchange_strong(&kc__shim.transfers_unmeasured, &measured, KC_PROFILER_BUSY);
		kc__say(KC_MESSAGE_PROFILER_TOOK_OVER,
			watched ? "launches that are not seen by preloading are not seen any more" : NULL);
	}
	errno = saved_errno;
}

static CUptiResult subscribe(void *real, CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *data)
{
	hand_over();
	return real ? ((__typeof__(&cuptiSubscribe))real)(subscriber, callback, data) : CUPTI_ERROR_NOT_INITIALIZED;
}

static CUptiResult subscribe_v2(void *real, CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *data,
				CUpti_SubscriberParams *params)
{
	hand_over();
	return real ? ((__typeof__(&cuptiSubscribe_v2))real)(subscriber, callback, data, params)
		    : CUPTI_ERROR_NOT_INITIALIZED;
}

static CUptiResult register_callbacks(void *real, CUpti_BuffersCallbackRequestFunc requested,
				      CUpti_BuffersCallbackCompleteFunc completed)
{
	hand_over();
	return real ? ((__typeof__(&cuptiActivityRegisterCallbacks))real)(requested, completed)
		    : CUPTI_ERROR_NOT_INITIALIZED;
}

#define CALLER __builtin_return_address(0)

KC_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
					      void *data)
{
	return subscribe(real_of(SUBSCRIBE, CALLER), subscriber, callback, data);
}

KC_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
						 void *data, CUpti_SubscriberParams *params)
{
	return subscribe_v2(real_of(SUBSCRIBE_V2, CALLER), subscriber, callback, data, params);
}

KC_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
							      CUpti_BuffersCallbackCompleteFunc completed)
{
	return register_callbacks(real_of(REGISTER, CALLER), requested, completed);
}

/*
 * An address that dlsym() has found must be reached whoever calls it, so each one
 * gets a function of its own. Of more copies of CUPTI than these, the further
 * ones are left unhooked.
 */
#define COPIES(X) X(0) X(1) X(2) X(3)
enum { COPIES_MAX = 4 };
static void *_Atomic found[FUNCTIONS][COPIES_MAX];

#define FOUND_FUNCTIONS(n)                                                                                             \
	static CUptiResult CUPTIAPI subscribe_##n(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,     \
						  void *data)                                                          \
	{                                                                                                              \
		return subscribe(found[SUBSCRIBE][n], subscriber, callback, data);                                     \
	}                                                                                                              \
	static CUptiResult CUPTIAPI subscribe_v2_##n(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,  \
						     void *data, CUpti_SubscriberParams *params)                       \
	{                                                                                                              \
		return subscribe_v2(found[SUBSCRIBE_V2][n], subscriber, callback, data, params);                       \
	}                                                                                                              \
	static CUptiResult CUPTIAPI register_##n(CUpti_BuffersCallbackRequestFunc requested,                           \
						 CUpti_BuffersCallbackCompleteFunc completed)                          \
	{                                                                                                              \
		return register_callbacks(found[REGISTER][n], requested, completed);                                   \
	}
COPIES(FOUND_FUNCTIONS)

static void *const fronts[FUNCTIONS][COPIES_MAX] = {
#define SUBSCRIBE_FRONT(n) (void *)subscribe_##n,
#define SUBSCRIBE_V2_FRONT(n) (void *)subscribe_v2_##n,
#define REGISTER_FRONT(n) (void *)register_##n,
    [SUBSCRIBE] = {COPIES(SUBSCRIBE_FRONT)},
    [SUBSCRIBE_V2] = {COPIES(SUBSCRIBE_V2_FRONT)},
    [REGISTER] = {COPIES(REGISTER_FRONT)},
};

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
	if (address == functions[function].ours && !(address = behind_us(function, caller)))
		return kc__dlsym_behind_us(functions[function].symbol); /* for dlerror() */
	if (!address || atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) == KC__DISABLED)
		return address;
	return front_of(function, address);
}
