/*
 * The application's own profiler takes precedence. CUPTI serves one subscriber
 * and one pair of buffer callbacks at a time: when the application asks for
 * either while we hold them, we hand over first.
 */
#define KC_WITH_CUPTI
#include "shim/shim.h"

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { SUBSCRIBE, SUBSCRIBE_V2, REGISTER, DOORS };

static const struct {
	const char *symbol;
	void *ours;
} doors[DOORS] = {
    [SUBSCRIBE] = {"cuptiSubscribe", (void *)cuptiSubscribe},
    [SUBSCRIBE_V2] = {"cuptiSubscribe_v2", (void *)cuptiSubscribe_v2},
    [REGISTER] = {"cuptiActivityRegisterCallbacks", (void *)cuptiActivityRegisterCallbacks},
};
static void *_Atomic real[DOORS];

int kc__profiler_door(const char *symbol)
{
	for (int i = 0; i < DOORS; i++)
		if (!strcmp(doors[i].symbol, symbol))
			return i;
	return -1;
}

static void *real_of(int door)
{
	void *address = atomic_load(&real[door]);

	if (!address)
		address = kc__real_dlsym(RTLD_NEXT, doors[door].symbol);
	return address ? address : kc__cupti_symbol(doors[door].symbol);
}

/* A global look-up meets our own export even where no CUPTI is loaded: answer
 * as the loader would without us. */
void *kc__profiler_route(int door, void *address)
{
	if (address == doors[door].ours)
		return real_of(door) ? address : kc__real_dlsym(RTLD_NEXT, doors[door].symbol);
	if (!address)
		return NULL;
	atomic_store(&real[door], address);
	return doors[door].ours;
}

static void hand_over(void)
{
	int saved_errno = errno;

	if (kc__recording() && kc__cupti_hand_over()) {
		atomic_store(&kc__shim.unmeasured, KC_PROFILER_BUSY);
		atomic_store(&kc__shim.transfers_unmeasured, KC_PROFILER_BUSY);
		kc__say(KC_MESSAGE_PROFILER_TOOK_OVER, NULL);
	}
	errno = saved_errno;
}

KC_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
					      void *data)
{
	__typeof__(&cuptiSubscribe) next = (__typeof__(&cuptiSubscribe))real_of(SUBSCRIBE);

	hand_over();
	return next ? next(subscriber, callback, data) : CUPTI_ERROR_NOT_INITIALIZED;
}

KC_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
						 void *data, CUpti_SubscriberParams *params)
{
	__typeof__(&cuptiSubscribe_v2) next = (__typeof__(&cuptiSubscribe_v2))real_of(SUBSCRIBE_V2);

	hand_over();
	return next ? next(subscriber, callback, data, params) : CUPTI_ERROR_NOT_INITIALIZED;
}

KC_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
							      CUpti_BuffersCallbackCompleteFunc completed)
{
	__typeof__(&cuptiActivityRegisterCallbacks) next =
	    (__typeof__(&cuptiActivityRegisterCallbacks))real_of(REGISTER);

	hand_over();
	return next ? next(requested, completed) : CUPTI_ERROR_NOT_INITIALIZED;
}
