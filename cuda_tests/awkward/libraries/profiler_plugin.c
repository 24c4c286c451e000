/* A library that is linked to CUPTI, like a framework's, and opened by profilers.c. */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int plugin_init(void);
EXPORT int plugin_subscribe(void);
EXPORT int plugin_register(void);
EXPORT int plugin_register_by_jump(void);
EXPORT int plugin_subscribe_globally(void);

static CUpti_SubscriberHandle subscriber;

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static void CUPTIAPI buffer_wanted(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
	*buffer = NULL;
	*bytes = *records_max = 0;
}

static void CUPTIAPI buffer_done(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	(void)context;
	(void)stream;
	(void)buffer;
	(void)bytes;
	(void)valid;
}

EXPORT int plugin_init(void)
{
	return cuInit(0);
}

/* Unsubscribes, so that the next subscriber is accepted. */
static int subscribed(CUptiResult result)
{
	if (result == CUPTI_SUCCESS)
		cuptiUnsubscribe(subscriber);
	return result;
}

EXPORT int plugin_subscribe(void)
{
	return subscribed(cuptiSubscribe(&subscriber, called, NULL));
}

EXPORT int plugin_register(void)
{
	volatile CUptiResult result = cuptiActivityRegisterCallbacks(buffer_wanted, buffer_done);

	return result;
}

/* The compiler turns this call into a jump: the return address is in the program. */
EXPORT int plugin_register_by_jump(void)
{
	return cuptiActivityRegisterCallbacks(buffer_wanted, buffer_done);
}

/* A look-up by a library searches the libraries that it is linked to last. */
EXPORT int plugin_subscribe_globally(void)
{
	__typeof__(&cuptiSubscribe) found = (__typeof__(&cuptiSubscribe))dlsym(RTLD_DEFAULT, "cuptiSubscribe");

	return found ? subscribed(found(&subscriber, called, NULL)) : -1;
}
