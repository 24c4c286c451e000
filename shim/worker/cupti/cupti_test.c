/* What CUPTI is asked for, and what its callbacks tell. */
#define KC_WITH_CUPTI
#include "shim/shim.h"
#include "cupti_client.h"
#include "cupti_testing.h"
#include "measuring.h"
#include "shim/calls/graph_nodes.h"
#include "shim/calls/launch.h"
#include "shim/entry/inject.h"
#include "shim/entry/lookup.h"
#include "shim/entry/profiler.h"
#include "shim/entry/real.h"
#include "shim/worker/threads.h"

#include "buffers.h"
#include "store/common/cupti_library.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct kc__state kc__shim;
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));
const uint32_t kc__injected_ids[] = {1};
const size_t kc__injected_count = 1;

/* ---- The rest of the library ---- */

int64_t kc__now_ns(void)
{
	return seen.now_ns += STEP_NS;
}

void kc__application_do(void (*work)(void *arg), void *arg)
{
	work(arg);
}

void kc__say(enum kc_message_code code, const char *detail)
{
	(void)detail;
	seen.said[seen.says++] = code;
}

bool kc__driver_apart(void)
{
	return seen.driver_apart;
}

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

bool kc__injected_call(uint32_t id, const void *data)
{
	(void)data;
	return id == kc__injected_ids[0];
}

bool kc__injected_alone(void)
{
	return seen.is_injected;
}

void kc__correlation_begin(bool both, bool transfers)
{
	seen.begun = true;
	seen.both = both;
	seen.transfers = transfers;
}

void kc__correlation_driver_call(uint32_t id)
{
	seen.driver_call = id;
}

void kc__correlation_runtime_call(uint32_t id, bool begins)
{
	seen.runtime_call = id;
	seen.runtime_begins = begins;
}

void kc__graph_node_cloned(CUgraphNode original, uint64_t id)
{
	assert_ptr_equal(original, (CUgraphNode)0x60);
	assert_int_equal(id, 77);
	seen.clone_told = true;
}

void kc__buffers_begin(bool clear)
{
	(void)clear;
}

void kc__buffers_forget(void)
{
}

void kc__profiler_told(struct kc__profiler_told *told)
{
	memset(told, 0, sizeof(*told));
}

void kc__profiler_forget(void)
{
}

void kc__device_buffers_bound(void)
{
}

void kc__device_buffers_give_back(void)
{
}

void CUPTIAPI kc__cupti_buffer_requested(uint8_t **bytes, size_t *size, size_t *max_records)
{
	(void)bytes;
	(void)size;
	(void)max_records;
}

void CUPTIAPI kc__cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)bytes;
	(void)size;
	(void)valid;
}

void *kc_cupti_loaded(void)
{
	return NULL;
}

void *kc_cupti_open(const char *chosen, int driver_version, bool (*accepts)(void *library), enum kc_cupti_place *place)
{
	(void)chosen;
	(void)driver_version;
	(void)place;
	return !seen.has_no_library && accepts(&seen) ? &seen : NULL;
}

/* The library's own would bring the rest of it along. */
int dlclose(void *library)
{
	assert_null(library);
	return -1;
}

/* ---- Tests ---- */

static struct kc_options options;

static int begin(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof(seen));
	memset(&kc__shim, 0, sizeof(kc__shim));
	memset(&options, 0, sizeof(options));
	options.measure = KC_MEASURE_ALL;
	kc__thread = (struct kc__thread){0};
	kc__cupti = (struct kc__cupti){.control = PTHREAD_MUTEX_INITIALIZER, .rate_lock = PTHREAD_MUTEX_INITIALIZER};
	return 0;
}

static const CUpti_ActivityKind copies[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
					    CUPTI_ACTIVITY_KIND_MEMSET};

static void assert_enabled(int kernels, int transfers, int graphs)
{
	assert_int_equal(seen.enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], kernels);
	assert_int_equal(seen.enabled[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], graphs);
	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++)
		assert_int_equal(seen.enabled[copies[i]], transfers);
}

static void what_is_measured_is_enabled(void **state)
{
	(void)state;
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	assert_enabled(1, 1, 0);
	assert_true(seen.begun && seen.both && seen.transfers);
	assert_int_equal(seen.says, 0);
	assert_int_equal(kc__cupti.clock_offset_ns, AHEAD_NS);
	kc__cupti_detach();
	assert_enabled(0, 0, 0);
	assert_true(kc__cupti_resume());
	assert_enabled(1, 1, 0);
	assert_int_equal(seen.unsubscribed, 0);
}

static void kernels_alone_and_whole_graphs(void **state)
{
	(void)state;
	options.measure = KC_MEASURE_KERNELS;
	kc__shim.options.graphs = KC_GRAPHS_WHOLE;
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	assert_enabled(1, 0, 1);
	assert_false(seen.transfers);
	seen.enabled[CUPTI_ACTIVITY_KIND_MEMCPY] = seen.enabled[CUPTI_ACTIVITY_KIND_MEMCPY2] =
	    seen.enabled[CUPTI_ACTIVITY_KIND_MEMSET] = 1;
	kc__cupti_detach();
	assert_enabled(0, 0, 0);
	assert_true(kc__cupti_resume());
	assert_enabled(1, 0, 1);
}

/* Each launch and transfer that has a hook, once, and nothing else. */
static void callbacks_are_those_of_hooks(void **state)
{
#define CALLBACK_ID(symbol, name, version, twin) CUPTI_DRIVER_TRACE_CBID_##symbol,
	static const uint32_t launches[] = {KC_HOOKS_LAUNCH(CALLBACK_ID) CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
					    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
	static const uint32_t transfers[] = {KC_HOOKS_TRANSFER(CALLBACK_ID)}, runtime[] = {7, 8, 9};
#undef CALLBACK_ID
	const size_t launch_count = sizeof(launches) / sizeof(*launches);
	const size_t transfer_count = sizeof(transfers) / sizeof(*transfers);

	(void)state;
	for (int takes = 0; takes < 2; takes++) {
		begin(NULL);
		options.measure = takes ? KC_MEASURE_ALL : KC_MEASURE_KERNELS;
		assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
		assert_int_equal(seen.driver_callbacks, launch_count + (takes ? transfer_count : 0));
		for (size_t i = 0; i < launch_count; i++)
			assert_int_equal(seen.enabled_ids[launches[i]], 1);
		for (size_t i = 0; i < transfer_count; i++)
			assert_int_equal(seen.enabled_ids[transfers[i]], takes);
	}
	kc__cupti_runtime_callbacks(runtime, 2);
	assert_int_equal(seen.runtime_callbacks, 2);
	assert_int_equal(seen.runtime_ids[0], 7);
	assert_int_equal(seen.runtime_ids[1], 8);
	kc__cupti.subscriber = NULL;
	kc__cupti_runtime_callbacks(runtime, 2);
	assert_int_equal(seen.runtime_callbacks, 2);
}

/* Where CUPTI takes our clock, its times are ours; before it is given up, it gets its own back. */
static void cupti_s_clock(void **state)
{
	uint64_t ns;
	bool watched;

	(void)state;
	seen.takes_a_clock = true;
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	assert_int_equal(kc__cupti.clock_offset_ns, 0);
	ns = seen.clock();
	assert_int_equal(ns, seen.now_ns);
	assert_true(kc__cupti_hand_over(false, &watched));
	assert_true(seen.clock() > (uint64_t)1700000000 * 1000000000); /* CLOCK_REALTIME */
	begin(NULL);
	seen.tells_no_version = true; /* which ids its records have is not known then */
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	assert_true(seen.both);
	assert_int_equal(kc__cupti.version, 0);
}

/* It is said, and not asked again; nothing of ours stays behind. */
static void a_cupti_that_refuses(void **state)
{
	(void)state;
	seen.enabling = CUPTI_ERROR_NOT_COMPATIBLE;
	assert_int_equal(kc__cupti_attach(&options), KC_NO_CUPTI);
	assert_int_equal(seen.says, 1);
	assert_int_equal(seen.said[0], KC_MESSAGE_CUPTI_FAILED);
	assert_int_equal(seen.unsubscribed, 1);
	assert_null(kc__cupti.subscriber);
	assert_false(seen.begun);
	begin(NULL);
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	kc__cupti_detach();
	seen.enabling = CUPTI_ERROR_NOT_COMPATIBLE;
	assert_false(kc__cupti_resume());
	assert_int_equal(seen.says, 1);
	assert_int_equal(seen.said[0], KC_MESSAGE_CUPTI_FAILED);
	begin(NULL);
	seen.registering = CUPTI_ERROR_NOT_COMPATIBLE;
	assert_int_equal(kc__cupti_attach(&options), KC_NO_CUPTI);
	assert_enabled(0, 0, 0);
	begin(NULL);
	seen.knows_no_callbacks = true;
	assert_int_equal(kc__cupti_attach(&options), KC_NO_CUPTI);
	begin(NULL);
	seen.has_no_library = true;
	assert_int_equal(kc__cupti_attach(&options), KC_NO_CUPTI);
	assert_int_equal(seen.said[0], KC_MESSAGE_NO_CUPTI);
	begin(NULL);
	seen.driver_apart = true;
	assert_int_equal(kc__cupti_attach(&options), KC_NO_CUPTI);
	assert_int_equal(seen.said[0], KC_MESSAGE_APART);
	assert_null(seen.callback);
}

static void a_profiler_comes_first(void **state)
{
	bool watched;

	(void)state;
	kc__cupti.claimed = true;
	assert_int_equal(kc__cupti_attach(&options), KC_PROFILER_BUSY);
	assert_int_equal(seen.said[0], KC_MESSAGE_PROFILER_BUSY);
	assert_null(seen.callback);
	begin(NULL);
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	assert_true(kc__cupti_hand_over(true, &watched));
	assert_false(watched);
	assert_enabled(0, 0, 0);
	assert_int_equal(seen.flushes, 2);
	assert_int_equal(seen.forced, 1);
	assert_int_equal(seen.unsubscribed, 1);
	assert_false(kc__cupti_hand_over(false, &watched));
	assert_int_equal(seen.unsubscribed, 1);
	kc__shim.unmeasured = kc__shim.transfers_unmeasured = KC_PROFILER_BUSY;
	kc__cupti_attach_again(&options);
	assert_int_equal(kc__shim.unmeasured, KC_PROFILER_BUSY);
	kc__cupti_unclaimed();
	kc__cupti_attach_again(&options);
	assert_int_equal(kc__shim.unmeasured, KC_MEASURED);
	assert_int_equal(kc__shim.transfers_unmeasured, KC_MEASURED);
	assert_enabled(1, 1, 0);
}

static void records_are_asked_for(void **state)
{
	(void)state;
	kc__cupti_flush(true);
	assert_int_equal(seen.flushes, 0);
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	kc__cupti.clock_offset_ns = 0;
	kc__cupti_flush(false);
	assert_int_equal(seen.flushes, 1);
	assert_int_equal(seen.forced, 0);
	assert_int_equal(kc__cupti.clock_offset_ns, AHEAD_NS);
	kc__cupti_flush(true);
	assert_int_equal(seen.flushes, 3);
	assert_int_equal(seen.forced, 1);
}

static void tell(CUpti_CallbackDomain domain, CUpti_CallbackId id, CUpti_ApiCallbackSite site)
{
	const CUpti_CallbackData call = {.callbackSite = site, .correlationId = 40 + id};

	seen.driver_call = seen.runtime_call = 0;
	seen.callback(NULL, domain, id, &call);
}

/* Of the driver's calls those within a hook, when they begin; of the runtime's all, and both ends. */
static void callbacks_tell_ids(void **state)
{
	(void)state;
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	kc__thread.depth = 1;
	tell(CUPTI_CB_DOMAIN_DRIVER_API, 2, CUPTI_API_ENTER);
	assert_int_equal(seen.driver_call, 42);
	assert_int_equal(seen.runtime_call, 0);
	tell(CUPTI_CB_DOMAIN_DRIVER_API, 1, CUPTI_API_ENTER); /* nobody watches for it */
	assert_int_equal(seen.driver_call, 41);
	tell(CUPTI_CB_DOMAIN_DRIVER_API, 2, CUPTI_API_EXIT);
	assert_int_equal(seen.driver_call, 0);
	kc__thread.depth = 0;
	tell(CUPTI_CB_DOMAIN_DRIVER_API, 2, CUPTI_API_ENTER);
	assert_int_equal(seen.driver_call, 0);
	tell(CUPTI_CB_DOMAIN_RUNTIME_API, 3, CUPTI_API_ENTER);
	assert_int_equal(seen.runtime_call, 43);
	assert_int_equal(seen.runtime_begins, 1);
	assert_int_equal(seen.driver_call, 0);
	tell(CUPTI_CB_DOMAIN_RUNTIME_API, 3, CUPTI_API_EXIT);
	assert_int_equal(seen.runtime_call, 43);
	assert_int_equal(seen.runtime_begins, 0);
	kc__thread.depth = 1;
	tell(CUPTI_CB_DOMAIN_SYNCHRONIZE, 2, CUPTI_API_ENTER);
	assert_int_equal(seen.driver_call, 0);
	assert_int_equal(seen.runtime_call, 0);
}

static void what_is_watched_for_goes_elsewhere(void **state)
{
	(void)state;
	assert_true(kc__cupti_watch(&options));
	assert_int_equal(seen.injected_callbacks, 1);
	assert_true(seen.driver_callbacks > 1);
	kc__thread.depth = 1;
	tell(CUPTI_CB_DOMAIN_DRIVER_API, 1, CUPTI_API_ENTER);
	assert_int_equal(seen.driver_call, 0);
	tell(CUPTI_CB_DOMAIN_DRIVER_API, 2, CUPTI_API_ENTER);
	assert_int_equal(seen.driver_call, 42);
	seen.is_injected = true; /* transfers are not seen, so they are not measured */
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	assert_enabled(1, 0, 0);
	begin(NULL);
	seen.knows_no_callbacks = true;
	assert_false(kc__cupti_watch(&options));
	assert_false(kc__cupti.watching);
	begin(NULL);
	seen.has_no_library = true;
	assert_false(kc__cupti_watch(&options));
}

/* Only while this thread makes a graph of them. */
static void copied_nodes_are_told(void **state)
{
	const CUpti_GraphData graph = {.node = (CUgraphNode)0x61, .originalNode = (CUgraphNode)0x60};
	const CUpti_ResourceData resource = {.resourceDescriptor = (void *)&graph}, nothing = {0};

	(void)state;
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	seen.callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &resource);
	assert_false(seen.clone_told);
	kc__thread.clones = (struct kc__clones *)&seen;
	seen.callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &resource);
	seen.callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &nothing);
	assert_false(seen.clone_told);
	seen.callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &resource);
	assert_true(seen.clone_told);
	assert_int_equal(seen.driver_call + seen.runtime_call, 0);
}

/* A child has its parent's CUPTI, which it may not use as its own. */
static void a_child_begins_anew(void **state)
{
	bool watched;

	(void)state;
	assert_int_equal(kc__cupti_attach(&options), KC_MEASURED);
	kc__cupti_forget();
	assert_null(kc__cupti.subscriber);
	assert_false(kc__cupti.attached);
	kc__cupti_flush(true);
	assert_int_equal(seen.flushes, 0);
	assert_true(kc__cupti_resume());
	assert_enabled(1, 1, 0); /* as the parent had them */
	assert_false(kc__cupti_hand_over(false, &watched));
	assert_int_equal(seen.unsubscribed, 1);
	assert_null(kc__cupti.inherited);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
	    TEST(what_is_measured_is_enabled),
	    TEST(kernels_alone_and_whole_graphs),
	    TEST(callbacks_are_those_of_hooks),
	    TEST(cupti_s_clock),
	    TEST(a_cupti_that_refuses),
	    TEST(a_profiler_comes_first),
	    TEST(records_are_asked_for),
	    TEST(callbacks_tell_ids),
	    TEST(what_is_watched_for_goes_elsewhere),
	    TEST(copied_nodes_are_told),
	    TEST(a_child_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
