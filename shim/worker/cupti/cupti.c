/*
 * CUPTI, found at run time and never linked. Launch and transfer callbacks give
 * the correlation ids on the calling thread (correlation.c); activity records bring
 * the measured times, in buffers that are handed to the worker whole.
 */
#define KC_WITH_CUPTI
#include "shim/shim.h"
#include "cupti_client.h"
#include "shim/entry/real.h"
#include "shim/entry/profiler.h"
#include "shim/entry/inject.h"
#include "shim/calls/graph_nodes.h"
#include "measuring.h"
#include "shim/worker/threads.h"
#include "shim/entry/lookup.h"

#include "store/common/cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct kc__cupti kc__cupti = {
    .most_bytes = SIZE_MAX, .control = PTHREAD_MUTEX_INITIALIZER, .rate_lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t CUPTIAPI timestamp(void)
{
	return (uint64_t)kc__now_ns();
}

/* "By default ... Linux ... uses clock_gettime(CLOCK_REALTIME)": CUPTI's documentation. */
static uint64_t CUPTIAPI default_timestamp(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CUPTI clears every buffer on the launching thread unless it is told that they come cleared. */
static bool set_cleared(uint8_t cleared)
{
	size_t bytes = sizeof(cleared);

	return kc__cupti.set_attribute && kc__cupti.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
								  &bytes, &cleared) == CUPTI_SUCCESS;
}

/* For the next client, which counts on the defaults, or on what it told CUPTI before: CUPTI keeps what it was told, and
 * a clock cannot be taken from it but for another. This library is never unloaded, so the function stays. */
static void give_defaults_back(void)
{
	struct kc__profiler_told told;

	kc__profiler_told(&told);
	if (kc__cupti.our_clock)
		kc__cupti.register_timestamp(told.clock ? (uint64_t(*)(void))told.clock : default_timestamp);
	kc__cupti.our_clock = false;
	set_cleared(0);
	kc__device_buffers_give_back();
	if (told.requested)
		kc__cupti.cuptiActivityRegisterCallbacks((CUpti_BuffersCallbackRequestFunc)told.requested,
							 (CUpti_BuffersCallbackCompleteFunc)told.completed);
}

/* Callbacks: the correlation id of the call this thread is in */

/* A node copied while this thread instantiates a graph. */
static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *resource)
{
	const CUpti_GraphData *graph = resource->resourceDescriptor;
	uint64_t node_id;

	if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && kc__thread.clones && graph && kc__cupti.get_graph_node_id &&
	    kc__cupti.get_graph_node_id(graph->node, &node_id) == CUPTI_SUCCESS)
		kc__graph_node_cloned(graph->originalNode, node_id);
}

static void CUPTIAPI on_call(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)unused;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		on_resource(id, data);
		return;
	}
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
		kc__correlation_runtime_call(call->correlationId, call->callbackSite == CUPTI_API_ENTER);
		return;
	}
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || (kc__cupti.watching && kc__injected_call(id, call)))
		return;
	if (call->callbackSite == CUPTI_API_ENTER && kc__thread.depth)
		kc__correlation_driver_call(call->correlationId);
}

/* Those that tell the ids of launches and transfers, and of copied nodes. Returns how many of launches CUPTI knows. */
static int enable_callbacks(bool transfers)
{
#define CALLBACK_ID(symbol, name, version, twin) CUPTI_DRIVER_TRACE_CBID_##symbol,
	static const CUpti_CallbackId launches[] = {KC_HOOKS_LAUNCH(CALLBACK_ID) CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
						    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
	static const CUpti_CallbackId copies[] = {KC_HOOKS_TRANSFER(CALLBACK_ID)};
#undef CALLBACK_ID
	int set = 0;

	/* An older CUPTI does not know the newest ids: one that it knows is enough. */
	for (size_t i = 0; i < sizeof(launches) / sizeof(*launches); i++)
		set += kc__cupti.cuptiEnableCallback(1, kc__cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
						     launches[i]) == CUPTI_SUCCESS;
	for (size_t i = 0; transfers && i < sizeof(copies) / sizeof(*copies); i++)
		kc__cupti.cuptiEnableCallback(1, kc__cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, copies[i]);
	kc__cupti.cuptiEnableCallback(1, kc__cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
				      CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
	return set;
}

struct runtime_callbacks {
	const uint32_t *ids;
	size_t count;
};

static void set_runtime_callbacks(void *arg)
{
	const struct runtime_callbacks *set = arg;

	pthread_mutex_lock(&kc__cupti.control);
	for (size_t i = 0; kc__cupti.subscriber && i < set->count; i++)
		kc__cupti.cuptiEnableCallback(1, kc__cupti.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, set->ids[i]);
	pthread_mutex_unlock(&kc__cupti.control);
}

void kc__cupti_runtime_callbacks(const uint32_t *ids, size_t count)
{
	kc__application_do(set_runtime_callbacks, &(struct runtime_callbacks){ids, count});
}

/* CUPTI's clock is read between two readings of ours, and compared with their mean. */
static void compare_clocks(void)
{
	int64_t before = kc__now_ns(), after;
	uint64_t theirs;

	if (kc__cupti.our_clock || kc__cupti.cuptiGetTimestamp(&theirs) != CUPTI_SUCCESS)
		return;
	after = kc__now_ns();
	atomic_store_explicit(&kc__cupti.clock_offset_ns, (int64_t)theirs - (before + (after - before) / 2),
			      memory_order_relaxed);
}

/* control held. Unfinished work comes back without times. So does finished work whose times CUPTI could not take,
 * which is counted: to tell them apart, buffers without unfinished work come back first. */
static void force_flush(void)
{
	kc__cupti.cuptiActivityFlushAll(0);
	atomic_store(&kc__cupti.forcing, true);
	kc__cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	atomic_store(&kc__cupti.forcing, false);
}

struct flush {
	bool forced;
	int64_t took_ns;
};

static void flush(void *arg)
{
	struct flush *flush = arg;

	flush->took_ns = -kc__processor_ns();
	pthread_mutex_lock(&kc__cupti.control);
	if (kc__cupti.attached) {
		compare_clocks();
		if (flush->forced)
			force_flush();
		else
			kc__cupti.cuptiActivityFlushAll(0);
	}
	pthread_mutex_unlock(&kc__cupti.control);
	flush->took_ns += kc__processor_ns();
}

int64_t kc__cupti_flush(bool forced)
{
	struct flush asked = {.forced = forced};

	kc__application_do(flush, &asked);
	return asked.took_ns;
}

/* Attaching */

static bool find_functions(void *library)
{
#define FIND(symbol)                                                                                                   \
	if (!(kc__cupti.symbol = (__typeof__(&symbol))kc__real_dlsym(library, #symbol)))                               \
		return false;
	CUPTI_FUNCTIONS(FIND)
#undef FIND
	if (kc__cupti.cuptiGetVersion(&kc__cupti.version) != CUPTI_SUCCESS)
		kc__cupti.version = 0;
	kc__cupti.register_timestamp = (CUptiResult(CUPTIAPI *)(uint64_t(*)(void)))kc__real_dlsym(
	    library, "cuptiActivityRegisterTimestampCallback");
	kc__cupti.set_attribute =
	    (__typeof__(kc__cupti.set_attribute))kc__real_dlsym(library, "cuptiActivitySetAttribute");
	kc__cupti.get_attribute =
	    (__typeof__(kc__cupti.get_attribute))kc__real_dlsym(library, "cuptiActivityGetAttribute");
	kc__cupti.get_graph_node_id =
	    (CUptiResult(CUPTIAPI *)(CUgraphNode, uint64_t *))kc__real_dlsym(library, "cuptiGetGraphNodeId");
	return true;
}

static void say_result(enum kc_message_code code, CUptiResult result)
{
	const char *text = NULL;

	kc__cupti.cuptiGetResultString(result, &text);
	kc__say(code, text);
}

/* By default where CUPTI can (12.3), so it is only asked. */
static bool has_buffer_per_thread(void)
{
	uint8_t answer = 0;
	size_t bytes = sizeof(answer);

	return kc__cupti.get_attribute &&
	       kc__cupti.get_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &answer) ==
		   CUPTI_SUCCESS &&
	       answer;
}

/* Of graphs there are records of either kind: while this one is enabled, there are none of their nodes. */
static CUptiResult enable_kinds(bool transfers)
{
	CUptiResult result = kc__cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);

	if (result == CUPTI_SUCCESS && kc__shim.options.graphs == KC_GRAPHS_WHOLE)
		result = kc__cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	if (result != CUPTI_SUCCESS || !transfers)
		return result;
	kc__cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
	kc__cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2);
	kc__cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	return CUPTI_SUCCESS;
}

static CUptiResult enable_activity(bool transfers)
{
	CUptiResult result;

	kc__cupti.our_clock = kc__cupti.register_timestamp && kc__cupti.register_timestamp(timestamp) == CUPTI_SUCCESS;
	kc__buffers_begin(set_cleared(1));
	kc__device_buffers_bound();
	kc__cupti.buffer_per_thread = has_buffer_per_thread();
	kc__cupti.transfers = transfers;
	result = kc__cupti.cuptiActivityRegisterCallbacks(kc__cupti_buffer_requested, kc__cupti_buffer_completed);
	return result == CUPTI_SUCCESS ? enable_kinds(transfers) : result;
}

/* This may be before the devices are known. */
static int driver_version(void)
{
	__typeof__(&cuDriverGetVersion) ask = KC_ASK(cuDriverGetVersion);
	int version = 0;

	return ask && ask(&version) == CUDA_SUCCESS ? version : 0;
}

/* Of the copy of CUPTI that was tried last. */
static struct {
	CUptiResult result;
	char text[64];
} tried;

/* NVIDIA's ends in a crash if it is unloaded after it has refused. */
static void keep_loaded(void *library)
{
	struct link_map *map;

	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
		dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Another copy would find no more where a profiler is the subscriber. */
static bool takes_us(void *library)
{
	const char *text = NULL;

	if (!find_functions(library))
		return false;
	tried.result = kc__cupti.cuptiSubscribe(&kc__cupti.subscriber, on_call, NULL);
	if (tried.result == CUPTI_SUCCESS)
		return true;
	kc__cupti.subscriber = NULL;
	keep_loaded(library);
	kc__cupti.cuptiGetResultString(tried.result, &text);
	snprintf(tried.text, sizeof(tried.text), "%s", text ? text : "");
	return tried.result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

/* Finds CUPTI and makes us its subscriber, unless we are already. */
static enum kc_unmeasured subscribe(const struct kc_options *options)
{
	enum kc_cupti_place place;
	void *library;

	if (kc__cupti.subscriber)
		return KC_MEASURED;
	tried.result = CUPTI_SUCCESS;
	library = kc_cupti_open(options->cupti, driver_version(), takes_us, &place);
	kc__cupti.handle = library;
	if (library && tried.result == CUPTI_SUCCESS)
		return KC_MEASURED;
	if (library) {
		kc__say(KC_MESSAGE_PROFILER_BUSY, tried.text);
		return KC_PROFILER_BUSY;
	}
	if (tried.result != CUPTI_SUCCESS)
		kc__say(KC_MESSAGE_CUPTI_FAILED, tried.text);
	else
		kc__say(KC_MESSAGE_NO_CUPTI, options->cupti[0] ? dlerror() : NULL);
	return KC_NO_CUPTI;
}

/* control held, or nobody else knows of CUPTI yet. */
static bool watch(const struct kc_options *options)
{
	if (subscribe(options) != KC_MEASURED || !enable_callbacks(false))
		return false;
	kc__cupti.watching = true;
	for (size_t i = 0; i < kc__injected_count; i++)
		kc__cupti.cuptiEnableCallback(1, kc__cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kc__injected_ids[i]);
	return true;
}

bool kc__cupti_watch(const struct kc_options *options)
{
	return watch(options);
}

/* control held */
static enum kc_unmeasured attach(const struct kc_options *options, bool transfers)
{
	enum kc_unmeasured why;
	CUptiResult result;

	if (atomic_load(&kc__cupti.claimed))
		return KC_PROFILER_BUSY;
	why = subscribe(options);
	if (why != KC_MEASURED)
		return why;
	result = enable_callbacks(transfers) ? enable_activity(transfers) : CUPTI_ERROR_UNKNOWN;
	if (result != CUPTI_SUCCESS) {
		say_result(KC_MESSAGE_CUPTI_FAILED, result);
		give_defaults_back();
		if (!kc__cupti.watching) {
			kc__cupti.cuptiUnsubscribe(kc__cupti.subscriber);
			kc__cupti.subscriber = NULL;
		}
		return KC_NO_CUPTI;
	}
	kc__cupti.attached = true;
	return KC_MEASURED;
}

static bool takes_transfers(const struct kc_options *options)
{
	return options->measure != KC_MEASURE_KERNELS && !(kc__cupti.watching && kc__injected_alone());
}

/* Outside of control, which this takes. */
static void begin(bool transfers)
{
	kc__correlation_begin(kc__cupti.version < KC__CUPTI_13_0, transfers);
	compare_clocks();
}

enum kc_unmeasured kc__cupti_attach(const struct kc_options *options)
{
	bool transfers = takes_transfers(options);
	enum kc_unmeasured why;

	if (kc__driver_apart()) {
		kc__say(KC_MESSAGE_APART, NULL);
		return KC_NO_CUPTI;
	}
	pthread_mutex_lock(&kc__cupti.control);
	why = attach(options, transfers);
	pthread_mutex_unlock(&kc__cupti.control);
	if (why == KC_MEASURED)
		begin(transfers);
	else if (why == KC_PROFILER_BUSY)
		kc__say(KC_MESSAGE_PROFILER_BUSY, NULL);
	return why;
}

static void measures_again(_Atomic uint32_t *unmeasured)
{
	uint32_t busy = KC_PROFILER_BUSY;

	atomic_compare_exchange_strong(unmeasured, &busy, KC_MEASURED);
}

static void attach_again(void *arg)
{
	const struct kc_options *options = arg;
	enum kc_unmeasured why;

	pthread_mutex_lock(&kc__cupti.control);
	if (kc__cupti.gave_up_watching && !atomic_load(&kc__cupti.claimed))
		watch(options);
	kc__cupti.gave_up_watching = false;
	why = attach(options, takes_transfers(options));
	pthread_mutex_unlock(&kc__cupti.control);
	if (why != KC_MEASURED)
		return;
	begin(kc__cupti.transfers);
	pthread_mutex_lock(&kc__cupti.control);
	if (kc__cupti.attached) { /* still */
		measures_again(&kc__shim.unmeasured);
		if (options->measure == KC_MEASURE_ALL)
			measures_again(&kc__shim.transfers_unmeasured);
	}
	pthread_mutex_unlock(&kc__cupti.control);
}

void kc__cupti_attach_again(const struct kc_options *options)
{
	kc__application_do(attach_again, (void *)options);
}

/* control held. */
static void disable_activity(void)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
						   CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
						   CUPTI_ACTIVITY_KIND_GRAPH_TRACE};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i] != CUPTI_ACTIVITY_KIND_GRAPH_TRACE || kc__shim.options.graphs == KC_GRAPHS_WHOLE)
			kc__cupti.cuptiActivityDisable(kinds[i]);
}

static void detach(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&kc__cupti.control);
	if (kc__cupti.attached)
		disable_activity();
	pthread_mutex_unlock(&kc__cupti.control);
}

void kc__cupti_detach(void)
{
	kc__application_do(detach, NULL);
}

/* What CUPTI was told before still holds. Registering the clock once more would spoil records:
 * github.com/pytorch/pytorch/issues/192021. */
static void resume(void *resumed)
{
	CUptiResult result = CUPTI_SUCCESS;

	pthread_mutex_lock(&kc__cupti.control);
	if (kc__cupti.attached) {
		result = enable_kinds(kc__cupti.transfers);
		compare_clocks();
	}
	pthread_mutex_unlock(&kc__cupti.control);
	if (result != CUPTI_SUCCESS)
		say_result(KC_MESSAGE_CUPTI_FAILED, result);
	*(bool *)resumed = result == CUPTI_SUCCESS;
}

bool kc__cupti_resume(void)
{
	bool resumed;

	kc__application_do(resume, &resumed);
	return resumed;
}

bool kc__cupti_hand_over(bool claims, bool *watched)
{
	bool held;

	pthread_mutex_lock(&kc__cupti.control);
	if (claims)
		atomic_store(&kc__cupti.claimed, true);
	*watched = kc__cupti.watching;
	kc__cupti.gave_up_watching |= kc__cupti.watching;
	held = kc__cupti.attached || kc__cupti.watching;
	if (kc__cupti.attached) {
		/* Our buffers must come back to us, not to the application's
		 * callback. */
		disable_activity();
		force_flush();
		give_defaults_back();
	}
	if (held) {
		kc__cupti.cuptiUnsubscribe(kc__cupti.subscriber);
		kc__cupti.subscriber = NULL;
		kc__cupti.attached = kc__cupti.watching = false;
	}
	if (kc__cupti.inherited)
		kc__cupti.cuptiUnsubscribe(kc__cupti.inherited);
	kc__cupti.inherited = NULL;
	pthread_mutex_unlock(&kc__cupti.control);
	return held;
}

const void *kc__cupti_base(void)
{
	Dl_info info;

	return kc__cupti.attached && dladdr((const void *)kc__cupti.cuptiSubscribe, &info) ? info.dli_fbase : NULL;
}

void kc__cupti_unclaimed(void)
{
	atomic_store(&kc__cupti.claimed, false);
}

void *kc__cupti_symbol(const char *symbol)
{
	void *library = kc_cupti_loaded();
	void *address = library ? kc__real_dlsym(library, symbol) : NULL;

	if (library)
		dlclose(library);
	if (!address && kc__cupti.handle)
		address = kc__real_dlsym(kc__cupti.handle, symbol);
	return address;
}

void kc__cupti_forget(void)
{
	pthread_mutex_init(&kc__cupti.control, NULL);
	pthread_mutex_init(&kc__cupti.rate_lock, NULL);
	kc__buffers_forget();
	kc__profiler_forget();
	kc__cupti.attached = kc__cupti.watching = false;
	atomic_store(&kc__cupti.forcing, false);
	if (kc__cupti.subscriber)
		kc__cupti.inherited = kc__cupti.subscriber;
	kc__cupti.subscriber = NULL;
	kc__cupti.rate = (struct kc__launch_rate){0};
	atomic_store(&kc__cupti.dropped, 0);
}
