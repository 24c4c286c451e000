/* CUPTI: callbacks of launches, and kernel records. */
#include "facts.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../shim/hooks.h"

struct facts_cupti facts_cupti;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* CUPTI completes buffers on a thread of its own, too */

void facts_lock(void)
{
	pthread_mutex_lock(&lock);
}

void facts_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void facts_check_cupti(CUptiResult result, const char *call)
{
	const char *text = "unknown error";

	if (result == CUPTI_SUCCESS)
		return;
	facts_cupti.cuptiGetResultString(result, &text);
	facts_give_up(call, text);
}

static uint64_t CUPTIAPI timestamp(void)
{
	return (uint64_t)facts_now_ns();
}

static void CUPTIAPI on_request(uint8_t **bytes, size_t *size, size_t *max_records)
{
	*bytes = aligned_alloc(64, facts_cupti.buffer_bytes);
	*size = facts_cupti.buffer_bytes;
	*max_records = 0;
}

static void keep_record(const CUpti_ActivityKernel10 *k, const void *previous, int64_t now)
{
	struct facts_record *r = &facts_cupti.records[facts_cupti.record_count];

	if (facts_cupti.record_count == FACTS_RECORDS_MAX)
		return;
	facts_cupti.record_count++;
	*r = (struct facts_record){.start_ns = k->start,
				   .end_ns = k->end,
				   .node = k->graphNodeId,
				   .delivered_ns = now,
				   .correlation = k->correlationId,
				   .device = k->deviceId,
				   .registers = k->registersPerThread,
				   .grid = k->gridX,
				   .block = k->blockX,
				   .bytes = previous ? (size_t)((const char *)k - (const char *)previous) : 0};
	snprintf(r->name, sizeof(r->name), "%s", k->name ? k->name : "");
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	CUpti_Activity *activity = NULL;
	const void *previous = NULL;
	size_t dropped = 0;
	int64_t now = facts_now_ns();

	(void)size;
	facts_lock();
	while (valid && facts_cupti.cuptiActivityGetNextRecord(bytes, valid, &activity) == CUPTI_SUCCESS) {
		if (activity->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		keep_record((const CUpti_ActivityKernel10 *)activity, previous, now);
		previous = activity;
	}
	facts_unlock();
	if (facts_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped) {
		facts_lock();
		facts_cupti.dropped += dropped;
		facts_unlock();
	}
	free(bytes);
}

static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
	const CUpti_GraphData *graph = data->resourceDescriptor;
	struct facts_clone *c = &facts_cupti.clones[facts_cupti.clone_count];

	if (id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED || facts_cupti.clone_count == FACTS_CLONES_MAX)
		return;
	if (facts_cupti.cuptiGetGraphNodeId(graph->node, &c->node) == CUPTI_SUCCESS &&
	    facts_cupti.cuptiGetGraphNodeId(graph->originalNode, &c->original) == CUPTI_SUCCESS)
		facts_cupti.clone_count++;
}

static void CUPTIAPI on_callback(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *api = data;
	struct facts_call *c = &facts_cupti.calls[facts_cupti.call_count];

	(void)unused;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		on_resource(id, data);
		return;
	}
	if (api->callbackSite != CUPTI_API_ENTER || facts_cupti.call_count == FACTS_CALLS_MAX ||
	    !strstr(api->functionName, "Launch"))
		return;
	c->runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
	c->correlation = api->correlationId;
	snprintf(c->function, sizeof(c->function), "%s", api->functionName);
	facts_cupti.call_count++;
}

static void open_library(const char *path)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

	if (path)
		facts_cupti.handle = dlopen(path, RTLD_NOW);
	for (size_t i = 0; !path && !facts_cupti.handle && i < sizeof(names) / sizeof(*names); i++)
		facts_cupti.handle = dlopen(names[i], RTLD_NOW);
	if (!facts_cupti.handle)
		facts_give_up("CUPTI", dlerror());
#define FIND(symbol)                                                                                                   \
	*(void **)&facts_cupti.symbol = dlsym(facts_cupti.handle, #symbol);                                            \
	if (!facts_cupti.symbol)                                                                                       \
		facts_give_up("CUPTI", "it has no " #symbol);
	FACTS_CUPTI(FIND)
#undef FIND
}

void facts_cupti_open(const struct facts_options *options)
{
	if (facts_cupti.handle)
		return;
	facts_cupti.buffer_bytes = options->buffer_bytes / 64 * 64;
	open_library(options->cupti);
}

static void enable_callbacks(bool both_domains)
{
#define CALLBACK_ID(symbol, name, version, twin) CUPTI_DRIVER_TRACE_CBID_##symbol,
	static const CUpti_CallbackId launches[] = {KC_HOOKS_LAUNCH(CALLBACK_ID) CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
						    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
#undef CALLBACK_ID

	FACTS_CUPTI_CALL(cuptiEnableCallback, 1, facts_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
			 CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
	if (both_domains) {
		FACTS_CUPTI_CALL(cuptiEnableDomain, 1, facts_cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
		FACTS_CUPTI_CALL(cuptiEnableDomain, 1, facts_cupti.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
		return;
	}
	for (size_t i = 0; i < sizeof(launches) / sizeof(*launches); i++)
		FACTS_CUPTI_CALL(cuptiEnableCallback, 1, facts_cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				 launches[i]);
}

void facts_attach(const struct facts_options *options)
{
	int64_t begin = facts_now_ns(), subscribed, enabled;
	CUptiResult clock;

	if (options->cupti && !strcmp(options->cupti, "none"))
		return;
	facts_cupti_open(options);
	FACTS_CUPTI_CALL(cuptiSubscribe, &facts_cupti.subscriber, on_callback, NULL);
	enable_callbacks(options->both_domains);
	subscribed = facts_now_ns();
	clock = facts_cupti.cuptiActivityRegisterTimestampCallback(timestamp);
	FACTS_CUPTI_CALL(cuptiActivityRegisterCallbacks, on_request, on_complete);
	FACTS_CUPTI_CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	enabled = facts_now_ns();
	facts_cupti.own_clock = clock == CUPTI_SUCCESS;
	facts_say("own clock accepted", -1, "cuptiActivityRegisterTimestampCallback answers %d", clock);
	facts_say("time to attach", -1, "subscribe %.1f ms, enable %.1f ms", (double)(subscribed - begin) / 1e6,
		  (double)(enabled - subscribed) / 1e6);
}

int facts_collect(void)
{
	FACTS_CALL(cuCtxSynchronize);
	FACTS_CUPTI_CALL(cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return facts_cupti.record_count;
}

void facts_forget(void)
{
	facts_lock();
	facts_cupti.call_count = facts_cupti.record_count = 0;
	facts_unlock();
}

const struct facts_call *facts_call_of(bool runtime, uint32_t correlation)
{
	for (int i = 0; i < facts_cupti.call_count; i++)
		if (facts_cupti.calls[i].runtime == runtime && facts_cupti.calls[i].correlation == correlation)
			return &facts_cupti.calls[i];
	return NULL;
}
