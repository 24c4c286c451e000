/* As much of another version of CUPTI as profiler_plugin.c needs: its answers show that it was called. */
#include <cupti.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user)
{
	(void)subscriber;
	(void)callback;
	(void)user;
	return CUPTI_ERROR_NOT_COMPATIBLE;
}

EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	(void)subscriber;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc wanted,
							   CUpti_BuffersCallbackCompleteFunc done)
{
	(void)wanted;
	(void)done;
	return CUPTI_ERROR_HARDWARE;
}
