/*
 * CUPTI, found at run time and never linked. Launch and transfer callbacks give
 * the correlation ids on the calling thread (correlation.c); activity records bring
 * the measured times, in buffers that are handed to the worker whole.
 */
#define KC_WITH_CUPTI
#include "shim/shim.h"
#include "buffers.h"

#include "store/common/cupti_library.h"

#include <cupti.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CUPTI_FUNCTIONS(X)                                                                                             \
	X(cuptiSubscribe)                                                                                              \
	X(cuptiUnsubscribe)                                                                                            \
	X(cuptiEnableCallback)                                                                                         \
	X(cuptiActivityRegisterCallbacks)                                                                              \
	X(cuptiActivityEnable)                                                                                         \
	X(cuptiActivityDisable)                                                                                        \
	X(cuptiActivityFlushAll)                                                                                       \
	X(cuptiActivityGetNextRecord)                                                                                  \
	X(cuptiActivityGetNumDroppedRecords)                                                                           \
	X(cuptiGetTimestamp)                                                                                           \
	X(cuptiGetVersion)                                                                                             \
	X(cuptiGetResultString)

enum { VERSION_12_9 = 27 }; /* cupti_version.h */

static struct {
#define MEMBER(symbol) __typeof__(&symbol) symbol;
	CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
	/* 11.6 and later */
	CUptiResult(CUPTIAPI *register_timestamp)(uint64_t (*)(void));
	CUptiResult(CUPTIAPI *get_graph_node_id)(CUgraphNode, uint64_t *);
	__typeof__(&cuptiActivitySetAttribute) set_attribute;
	__typeof__(&cuptiActivityGetAttribute) get_attribute;
	void *handle;
	uint32_t version; /* 0: it does not tell */
	CUpti_SubscriberHandle subscriber;
	CUpti_SubscriberHandle inherited; /* a forked child's parent's: CUPTI was copied with it */
	pthread_mutex_t control;          /* attached or not; held across our own calls, never taken in a callback */
	bool attached;
	bool watching; /* for kc__injected_call() */
	bool our_clock;
	_Atomic bool claimed;            /* the application has a profiler of its own */
	bool transfers;                  /* are measured */
	_Atomic bool forcing;            /* a forced flush is under way */
	_Atomic int64_t clock_offset_ns; /* CUPTI's clock minus ours, where it has its own */
	bool buffer_per_thread;
	pthread_mutex_t rate_lock;   /* never across a CUPTI call */
	struct kc__launch_rate rate; /* of the process */
	_Atomic uint64_t dropped;
	size_t most_bytes; /* worker: of buffers that are read at a time */
} cupti = {.most_bytes = SIZE_MAX, .control = PTHREAD_MUTEX_INITIALIZER, .rate_lock = PTHREAD_MUTEX_INITIALIZER};

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

	return cupti.set_attribute &&
	       cupti.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &cleared) == CUPTI_SUCCESS;
}

/* For the next client, which counts on the defaults: CUPTI keeps what it was told, and a clock cannot be taken from it
 * but for another. This library is never unloaded, so the function stays. */
static void give_defaults_back(void)
{
	if (cupti.our_clock)
		cupti.register_timestamp(default_timestamp);
	cupti.our_clock = false;
	set_cleared(0);
}

/* Callbacks: the correlation id of the call this thread is in */

/* A node copied while this thread instantiates a graph. */
static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *resource)
{
	const CUpti_GraphData *graph = resource->resourceDescriptor;
	uint64_t node_id;

	if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && kc__thread.clones && graph && cupti.get_graph_node_id &&
	    cupti.get_graph_node_id(graph->node, &node_id) == CUPTI_SUCCESS)
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
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || (cupti.watching && kc__injected_call(id, call)))
		return;
	if (call->callbackSite == CUPTI_API_ENTER && kc__thread.depth)
		kc__thread.correlation = call->correlationId;
}

static int enable_callbacks(bool transfers)
{
#define CALLBACK_ID(symbol, name, version, twin) CUPTI_DRIVER_TRACE_CBID_##symbol,
	static const CUpti_CallbackId launches[] = {KC_HOOKS_LAUNCH(CALLBACK_ID) CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
						    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
	static const CUpti_CallbackId copies[] = {KC_HOOKS_TRANSFER(CALLBACK_ID)};
#undef CALLBACK_ID
	int enabled = 0;

	/* An older CUPTI does not know the newest ids: one that it knows is enough. */
	for (size_t i = 0; i < sizeof(launches) / sizeof(*launches); i++)
		enabled += cupti.cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i]) ==
			   CUPTI_SUCCESS;
	cupti.cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
	for (size_t i = 0; transfers && i < sizeof(copies) / sizeof(*copies); i++)
		cupti.cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, copies[i]);
	return enabled;
}

void kc__cupti_runtime_callbacks(const uint32_t *ids, size_t count, bool enable)
{
	pthread_mutex_lock(&cupti.control);
	for (size_t i = 0; cupti.subscriber && i < count; i++)
		cupti.cuptiEnableCallback(enable, cupti.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, ids[i]);
	pthread_mutex_unlock(&cupti.control);
}

/* Buffers */

/* The rate of the process counts where one buffer serves all threads, and where it is not a launching thread that
 * CUPTI asks on. */
static uint32_t recent_records(void)
{
	int64_t now_ns = kc__now_ns();
	uint32_t records;

	if (cupti.buffer_per_thread && kc__thread.recorded != kc__thread.rate.since)
		return kc__launch_rate(&kc__thread.rate, kc__thread.recorded, now_ns);
	pthread_mutex_lock(&cupti.rate_lock);
	records = kc__launch_rate(&cupti.rate, kc_journal_claimed(kc__shim.journal), now_ns);
	pthread_mutex_unlock(&cupti.rate_lock);
	return records;
}

/* The kernels of a graph come at once. */
static uint32_t expected_records(void)
{
	uint32_t records = recent_records();

	if (kc__thread.graph_kernels <= records)
		return records;
	return kc__thread.graph_kernels < UINT32_MAX ? (uint32_t)kc__thread.graph_kernels : UINT32_MAX;
}

/* In a child that no handler of fork() ran in, our locks may be held by a thread that only the parent has. */
static bool in_parents_copy(void)
{
	return !atomic_load_explicit(&kc__shim.ours, memory_order_relaxed);
}

/* "The callback function can decline the request by setting *buffer to NULL" (cupti_activity.h): before 12.9 CUPTI then
 * writes to address 0, github.com/pytorch/kineto/issues/1275. */
static void CUPTIAPI on_buffer_requested(uint8_t **bytes, size_t *size, size_t *max_records)
{
	bool parents = in_parents_copy();

	*size = 0;
	*max_records = 0;
	*bytes = parents ? NULL : kc__buffer_take(expected_records(), size);
	if (!*bytes && cupti.version < VERSION_12_9)
		*bytes = kc__buffer_take_excess(!parents, size);
}

/* Any client may read a buffer here: CUPTI's documentation. */
static void drop_excess(uint8_t *bytes, size_t valid, bool readable)
{
	CUpti_Activity *record = NULL;
	uint64_t records = 0;

	while (readable && valid && cupti.cuptiActivityGetNextRecord(bytes, valid, &record) == CUPTI_SUCCESS)
		records++;
	atomic_fetch_add_explicit(&cupti.dropped, records, memory_order_relaxed);
	kc__buffer_drop_excess(bytes);
}

static void CUPTIAPI on_buffer_completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	bool readable;

	(void)size;
	if (!bytes || in_parents_copy())
		return;
	if (kc__buffer_is_excess(bytes, &readable))
		drop_excess(bytes, valid, readable);
	else
		kc__buffer_delivered(bytes, valid, context, stream,
				     atomic_load_explicit(&cupti.forcing, memory_order_relaxed), kc__now_ns());
}

/* Records */

static void ask_dropped(const struct kc__buffer *b)
{
	size_t n = 0;

	if (cupti.cuptiActivityGetNumDroppedRecords(b->context, b->stream, &n) == CUPTI_SUCCESS && n)
		atomic_fetch_add_explicit(&cupti.dropped, n, memory_order_relaxed);
}

static CUpti_Activity *next_record(struct kc__buffer *buffer, CUpti_Activity *after)
{
	return buffer->valid_bytes && cupti.cuptiActivityGetNextRecord(kc__buffer_at(buffer), buffer->valid_bytes,
								       &after) == CUPTI_SUCCESS
		   ? after
		   : NULL;
}

static void read_buffer(struct kc__buffer *buffer, void (*fn)(const struct kc__record *record, void *arg), void *arg)
{
	CUpti_Activity *activity = NULL;
	struct kc__record record;

	while ((activity = next_record(buffer, activity)))
		if (kc__cupti_read(activity, atomic_load_explicit(&cupti.clock_offset_ns, memory_order_relaxed),
				   &record) &&
		    (record.start_ns || !buffer->forced))
			fn(&record, arg);
}

/* Its records count with those that CUPTI has dropped. */
static void drop_buffer(struct kc__buffer *buffer)
{
	CUpti_Activity *activity = NULL;
	uint64_t records = 0;

	while ((activity = next_record(buffer, activity)))
		records++;
	atomic_fetch_add_explicit(&cupti.dropped, records, memory_order_relaxed);
}

/* Each buffer is ready to be filled again before the next one is read. */
void kc__cupti_drain(void (*fn)(const struct kc__record *record, void *arg), void *arg)
{
	int64_t now_ns = kc__now_ns();
	struct kc__buffer *buffer;
	size_t bytes = 0;

	while (bytes < cupti.most_bytes && (buffer = kc__buffer_next_delivered())) {
		if (kc__buffers_waited(now_ns - buffer->delivered_ns, now_ns) && !atomic_load(&kc__shim.exit_ns)) {
			drop_buffer(buffer);
		} else {
			bytes += buffer->valid_bytes;
			read_buffer(buffer, fn, arg);
		}
		ask_dropped(buffer);
		kc__buffer_give_back(buffer);
	}
	if (cupti.handle)
		kc__buffers_prepare();
	if (kc__buffers_exhausted())
		kc__say(KC_MESSAGE_BUFFERS_FULL, NULL);
}

void kc__cupti_read_at_most(size_t bytes)
{
	cupti.most_bytes = bytes;
}

bool kc__cupti_has_records(void)
{
	return kc__buffers_wait();
}

uint64_t kc__cupti_dropped(void)
{
	return atomic_load_explicit(&cupti.dropped, memory_order_relaxed);
}

/* CUPTI's clock is read between two readings of ours, and compared with their mean. */
static void compare_clocks(void)
{
	int64_t before = kc__now_ns(), after;
	uint64_t theirs;

	if (cupti.our_clock || cupti.cuptiGetTimestamp(&theirs) != CUPTI_SUCCESS)
		return;
	after = kc__now_ns();
	atomic_store_explicit(&cupti.clock_offset_ns, (int64_t)theirs - (before + (after - before) / 2),
			      memory_order_relaxed);
}

/* control held. Unfinished work comes back without times. So does finished work whose times CUPTI could not take,
 * which is counted: to tell them apart, buffers without unfinished work come back first. */
static void force_flush(void)
{
	cupti.cuptiActivityFlushAll(0);
	atomic_store(&cupti.forcing, true);
	cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	atomic_store(&cupti.forcing, false);
}

void kc__cupti_flush(bool forced)
{
	pthread_mutex_lock(&cupti.control);
	if (cupti.attached) {
		compare_clocks();
		if (forced)
			force_flush();
		else
			cupti.cuptiActivityFlushAll(0);
	}
	pthread_mutex_unlock(&cupti.control);
}

/* Attaching */

static bool find_functions(void *library)
{
#define FIND(symbol)                                                                                                   \
	if (!(cupti.symbol = (__typeof__(&symbol))kc__real_dlsym(library, #symbol)))                                   \
		return false;
	CUPTI_FUNCTIONS(FIND)
#undef FIND
	if (cupti.cuptiGetVersion(&cupti.version) != CUPTI_SUCCESS)
		cupti.version = 0;
	cupti.register_timestamp = (CUptiResult(CUPTIAPI *)(uint64_t(*)(void)))kc__real_dlsym(
	    library, "cuptiActivityRegisterTimestampCallback");
	cupti.set_attribute = (__typeof__(cupti.set_attribute))kc__real_dlsym(library, "cuptiActivitySetAttribute");
	cupti.get_attribute = (__typeof__(cupti.get_attribute))kc__real_dlsym(library, "cuptiActivityGetAttribute");
	cupti.get_graph_node_id =
	    (CUptiResult(CUPTIAPI *)(CUgraphNode, uint64_t *))kc__real_dlsym(library, "cuptiGetGraphNodeId");
	return true;
}

static void say_result(enum kc_message_code code, CUptiResult result)
{
	const char *text = NULL;

	cupti.cuptiGetResultString(result, &text);
	kc__say(code, text);
}

/* By default where CUPTI can (12.3), so it is only asked. */
static bool has_buffer_per_thread(void)
{
	uint8_t answer = 0;
	size_t bytes = sizeof(answer);

	return cupti.get_attribute &&
	       cupti.get_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &answer) == CUPTI_SUCCESS &&
	       answer;
}

static CUptiResult enable_kinds(bool transfers)
{
	CUptiResult result = cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);

	if (result != CUPTI_SUCCESS || !transfers)
		return result;
	cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
	cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2);
	cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	return CUPTI_SUCCESS;
}

static CUptiResult enable_activity(bool transfers)
{
	CUptiResult result;

	cupti.our_clock = cupti.register_timestamp && cupti.register_timestamp(timestamp) == CUPTI_SUCCESS;
	kc__buffers_begin(set_cleared(1));
	cupti.buffer_per_thread = has_buffer_per_thread();
	cupti.transfers = transfers;
	result = cupti.cuptiActivityRegisterCallbacks(on_buffer_requested, on_buffer_completed);
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
	tried.result = cupti.cuptiSubscribe(&cupti.subscriber, on_call, NULL);
	if (tried.result == CUPTI_SUCCESS)
		return true;
	cupti.subscriber = NULL;
	keep_loaded(library);
	cupti.cuptiGetResultString(tried.result, &text);
	snprintf(tried.text, sizeof(tried.text), "%s", text ? text : "");
	return tried.result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

/* Finds CUPTI and makes us its subscriber, unless we are already. */
static enum kc_unmeasured subscribe(const struct kc_options *options)
{
	enum kc_cupti_place place;
	void *library;

	if (cupti.subscriber)
		return KC_MEASURED;
	tried.result = CUPTI_SUCCESS;
	library = kc_cupti_open(options->cupti, driver_version(), takes_us, &place);
	cupti.handle = library;
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

bool kc__cupti_watch(const struct kc_options *options)
{
	if (subscribe(options) != KC_MEASURED || !enable_callbacks(false))
		return false;
	cupti.watching = true;
	for (size_t i = 0; i < kc__injected_count; i++)
		cupti.cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kc__injected_ids[i]);
	return true;
}

enum kc_unmeasured kc__cupti_attach(const struct kc_options *options)
{
	bool transfers = options->measure == KC_MEASURE_ALL;
	enum kc_unmeasured why;
	CUptiResult result;

	if (kc__driver_apart()) {
		kc__say(KC_MESSAGE_APART, NULL);
		return KC_NO_CUPTI;
	}
	if (atomic_load(&cupti.claimed)) {
		kc__say(KC_MESSAGE_PROFILER_BUSY, NULL);
		return KC_PROFILER_BUSY;
	}
	why = subscribe(options);
	if (why != KC_MEASURED)
		return why;
	if (cupti.watching && kc__injected_alone())
		transfers = false;
	result = enable_callbacks(transfers) ? enable_activity(transfers) : CUPTI_ERROR_UNKNOWN;
	if (result != CUPTI_SUCCESS) {
		say_result(KC_MESSAGE_CUPTI_FAILED, result);
		give_defaults_back();
		if (!cupti.watching) {
			cupti.cuptiUnsubscribe(cupti.subscriber);
			cupti.subscriber = NULL;
		}
		return KC_NO_CUPTI;
	}
	cupti.attached = true;
	kc__correlation_begin(transfers);
	compare_clocks();
	return KC_MEASURED;
}

/* control held. */
static void disable_activity(void)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
						   CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		cupti.cuptiActivityDisable(kinds[i]);
}

void kc__cupti_detach(void)
{
	pthread_mutex_lock(&cupti.control);
	if (cupti.attached)
		disable_activity();
	pthread_mutex_unlock(&cupti.control);
}

/* What CUPTI was told before still holds. Registering the clock once more would spoil records:
 * github.com/pytorch/pytorch/issues/192021. */
bool kc__cupti_resume(void)
{
	CUptiResult result = CUPTI_SUCCESS;

	pthread_mutex_lock(&cupti.control);
	if (cupti.attached) {
		result = enable_kinds(cupti.transfers);
		compare_clocks();
	}
	pthread_mutex_unlock(&cupti.control);
	if (result != CUPTI_SUCCESS)
		say_result(KC_MESSAGE_CUPTI_FAILED, result);
	return result == CUPTI_SUCCESS;
}

bool kc__cupti_hand_over(bool claims, bool *watched)
{
	bool held;

	pthread_mutex_lock(&cupti.control);
	if (claims)
		atomic_store(&cupti.claimed, true);
	*watched = cupti.watching;
	held = cupti.attached || cupti.watching;
	if (cupti.attached) {
		/* Our buffers must come back to us, not to the application's
		 * callback. */
		disable_activity();
		force_flush();
		give_defaults_back();
	}
	if (held) {
		cupti.cuptiUnsubscribe(cupti.subscriber);
		cupti.subscriber = NULL;
		cupti.attached = cupti.watching = false;
	}
	if (cupti.inherited)
		cupti.cuptiUnsubscribe(cupti.inherited);
	cupti.inherited = NULL;
	pthread_mutex_unlock(&cupti.control);
	return held;
}

const void *kc__cupti_base(void)
{
	Dl_info info;

	return cupti.attached && dladdr((const void *)cupti.cuptiSubscribe, &info) ? info.dli_fbase : NULL;
}

void *kc__cupti_symbol(const char *symbol)
{
	void *library = kc_cupti_loaded();
	void *address = library ? kc__real_dlsym(library, symbol) : NULL;

	if (library)
		dlclose(library);
	if (!address && cupti.handle)
		address = kc__real_dlsym(cupti.handle, symbol);
	return address;
}

void kc__cupti_forget(void)
{
	pthread_mutex_init(&cupti.control, NULL);
	pthread_mutex_init(&cupti.rate_lock, NULL);
	kc__buffers_forget();
	cupti.attached = cupti.watching = false;
	atomic_store(&cupti.forcing, false);
	if (cupti.subscriber)
		cupti.inherited = cupti.subscriber;
	cupti.subscriber = NULL;
	cupti.rate = (struct kc__launch_rate){0};
	atomic_store(&cupti.dropped, 0);
}
