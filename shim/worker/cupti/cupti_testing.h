/* A CUPTI for tests: how it answers, and what it was told. */
#ifndef KC_CUPTI_TESTING_H
#define KC_CUPTI_TESTING_H

#include "cupti_client.h"
#include "shim/entry/inject.h"
#include "shim/entry/lookup.h"

#include "store/common/cupti_library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define STEP_NS 100 /* between two looks at our clock */
#define AHEAD_NS 5000000
#define SUBSCRIBER ((CUpti_SubscriberHandle)0x5)
#define KINDS 64

static struct {
	/* how CUPTI answers */
	CUptiResult subscribing, enabling, registering;
	bool has_no_library, knows_no_callbacks, takes_a_clock, tells_no_version;
	/* what it was told */
	CUpti_CallbackFunc callback;
	int enabled[KINDS], unsubscribed, flushes, forced;
	uint32_t driver_callbacks, runtime_callbacks, injected_callbacks;
	uint8_t enabled_ids[4096]; /* of the driver's domain; the runtime's: */
	uint32_t runtime_ids[4];
	uint64_t (*clock)(void);
	/* what others were */
	enum kc_message_code said[4];
	int says;
	uint32_t driver_call, runtime_call, runtime_begins, cloned_by;
	bool clone_told, begun, both, transfers, is_injected, driver_apart;
	int64_t now_ns;
} seen;

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *data)
{
	(void)data;
	seen.callback = callback;
	*subscriber = SUBSCRIBER;
	return seen.subscribing;
}

static CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber)
{
	assert_ptr_equal(subscriber, SUBSCRIBER);
	seen.unsubscribed++;
	return CUPTI_SUCCESS;
}

static CUptiResult enable_callback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
				   CUpti_CallbackId id)
{
	assert_int_equal(enable, 1);
	assert_ptr_equal(subscriber, SUBSCRIBER);
	assert_in_range(id, 0, sizeof(seen.enabled_ids) - 1);
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
		seen.driver_callbacks++;
		seen.enabled_ids[id]++;
	}
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		seen.runtime_ids[seen.runtime_callbacks++ % 4] = id;
	seen.injected_callbacks += domain == CUPTI_CB_DOMAIN_DRIVER_API && id == kc__injected_ids[0];
	return seen.knows_no_callbacks ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

static CUptiResult enable_kind(CUpti_ActivityKind kind)
{
	assert_in_range(kind, 0, KINDS - 1);
	if (seen.enabling == CUPTI_SUCCESS)
		seen.enabled[kind]++;
	return seen.enabling;
}

static CUptiResult disable_kind(CUpti_ActivityKind kind)
{
	assert_in_range(kind, 0, KINDS - 1);
	seen.enabled[kind]--;
	return CUPTI_SUCCESS;
}

static CUptiResult flush_all(uint32_t flags)
{
	assert_int_equal(kc__cupti.forcing, flags == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	seen.flushes++;
	seen.forced += flags == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
	return CUPTI_SUCCESS;
}

/* As long after our first look at the clock as it is before the second. */
static CUptiResult clock_of_cupti(uint64_t *ns)
{
	*ns = (uint64_t)(seen.now_ns + STEP_NS / 2 + AHEAD_NS);
	return CUPTI_SUCCESS;
}

static CUptiResult version(uint32_t *number)
{
	*number = seen.tells_no_version ? KC__CUPTI_13_0 : KC__CUPTI_12_9;
	return seen.tells_no_version ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

static CUptiResult text_of(CUptiResult result, const char **text)
{
	(void)result;
	*text = "an error";
	return CUPTI_SUCCESS;
}

static CUptiResult register_callbacks(void)
{
	return seen.registering;
}

static CUptiResult node_id(CUgraphNode node, uint64_t *id)
{
	assert_ptr_equal(node, (CUgraphNode)0x61);
	*id = 77;
	return CUPTI_SUCCESS;
}

static CUptiResult register_timestamp(uint64_t (*clock)(void))
{
	seen.clock = clock;
	return CUPTI_SUCCESS;
}

static CUptiResult anything(void)
{
	return CUPTI_SUCCESS;
}

static void *find(void *library, const char *symbol)
{
	static const struct {
		const char *symbol;
		void *function;
	} functions[] = {
	    {"cuptiSubscribe", (void *)subscribe},
	    {"cuptiUnsubscribe", (void *)unsubscribe},
	    {"cuptiEnableCallback", (void *)enable_callback},
	    {"cuptiActivityRegisterCallbacks", (void *)register_callbacks},
	    {"cuptiActivityEnable", (void *)enable_kind},
	    {"cuptiActivityDisable", (void *)disable_kind},
	    {"cuptiActivityFlushAll", (void *)flush_all},
	    {"cuptiActivityGetNextRecord", (void *)anything},
	    {"cuptiActivityGetNumDroppedRecords", (void *)anything},
	    {"cuptiGetTimestamp", (void *)clock_of_cupti},
	    {"cuptiGetVersion", (void *)version},
	    {"cuptiGetResultString", (void *)text_of},
	    {"cuptiGetGraphNodeId", (void *)node_id},
	};

	(void)library;
	if (!strcmp(symbol, "cuptiActivityRegisterTimestampCallback"))
		return seen.takes_a_clock ? (void *)register_timestamp : NULL;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(functions[i].symbol, symbol))
			return functions[i].function;
	return NULL;
}

void *(*kc__real_dlsym)(void *, const char *) = find;

#endif
