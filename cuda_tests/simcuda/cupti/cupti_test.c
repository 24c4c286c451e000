/* The stand-in for CUPTI on the simulated driver, used as any client would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti_client.h"

enum { HOUR_S = 3600 };

static void match_correlations(void)
{
	CUpti_SubscriberHandle handle = client_attach(100 * RECORD_BYTES, 0);

	client_set_memory(10);
	check(client.enters == 10 && client.exits == 10);
	check(!cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) && client.records == 10);
	for (int i = 0; i < 10; i++) {
		check(client.sets[i].correlationId == client.entered[i] && client.sets[i].bytes == 4096);
		check(!i || client.entered[i] > client.entered[i - 1]);
		check(!i || client.sets[i].start >= client.sets[i - 1].end); /* one stream */
	}
	check(!cuptiUnsubscribe(handle));
	client_set_memory(1);
	check(client.enters == 10);
}

static void test_records_match_callbacks(void **state)
{
	(void)state;
	client_run_case(match_correlations, NULL);
}

static void exit_by_signal(int number)
{
	(void)number;
	_exit(0);
}

/* "In this case CUPTI may drop activity records", cupti_activity.h. Before 12.9 it is the end of the process. */
static void refuse_buffers(void)
{
	client_attach(0, 0);
	client_set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.asked == 20 && client.records == 0);
	check(client_dropped() == 20 && client_dropped() == 0);
}

static void refuse_before_12_9(void)
{
	setenv("SIMCUDA_CUPTI_VERSION", "26", 1);
	signal(SIGSEGV, exit_by_signal);
	client_attach(0, 0);
	client_set_memory(1);
	check(!"reached");
}

static void refuse_too_small(void)
{
	client_attach(RECORD_BYTES - 1, 0);
	client_set_memory(2);
	check(client.asked == 2 && client.returned == 2 && client.records == 0 && client_dropped() == 2);
}

static void test_client_without_room(void **state)
{
	(void)state;
	client_run_case(refuse_buffers, NULL);
	client_run_case(refuse_before_12_9, NULL);
	client_run_case(refuse_too_small, NULL);
}

static void lose_every_fifth(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.records == 16 && client_dropped() == 4 && client.timeless == 0);
}

static void lose_times_of_every_fourth(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.records == 20 && client_dropped() == 0 && client.timeless == 5);
}

/* Of 20, the 4th, 12th and 20th are ahead, the 8th and 16th behind, by 10^14 ns; the others have begun a second ago at
 * most. */
static void misdate_every_fourth(void)
{
	size_t ahead = 0, behind = 0;
	uint64_t now;

	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(20);
	check(!cuptiActivityFlushAll(0) && !cuptiGetTimestamp(&now));
	for (size_t i = 0; i < client.records; i++) {
		int64_t ago_ns = (int64_t)(now - client.sets[i].start);

		ahead += ago_ns < -99000000000000;
		behind += ago_ns > 99000000000000;
		check(client.sets[i].end - client.sets[i].start < 1000000000);
	}
	check(client.records == 20 && ahead == 3 && behind == 2);
}

static void fill_the_devices_buffers(void)
{
	size_t buffers = 3, bytes = sizeof(buffers);

	check(!cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &buffers));
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.records == 20 && client.timeless == 8);
}

/* "The default value is 250" (cupti_activity.h) */
static void find_250_buffers(void)
{
	size_t buffers = 0, bytes = sizeof(buffers);

	check(!cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &buffers));
	check(buffers == 250);
}

static void lose_every_buffer(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.asked == 0 && client.records == 0 && client_dropped() == 20);
}

static void find_it_busy(void)
{
	CUpti_SubscriberHandle handle;

	check(cuptiSubscribe(&handle, client_on_call, NULL) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	check(cuptiGetLastError() == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	check(cuptiGetLastError() == CUPTI_SUCCESS);
}

/* Graphs of one memset and cuptiFinalize: what became of them on an H100 (CUPTI 13.0, driver 580). */
static CUgraphExec instantiated(void)
{
	CUDA_MEMSET_NODE_PARAMS set = {.dst = client.memory, .elementSize = 1, .width = 4096, .height = 1};
	CUgraphNode node;
	CUgraph graph;
	CUcontext context;
	CUgraphExec exec;

	check(!cuCtxGetCurrent(&context));
	check(!cuGraphCreate(&graph, 0));
	check(!cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
	check(!cuGraphInstantiate(&exec, graph, 0) && !cuGraphDestroy(graph));
	return exec;
}

static CUresult run_graph(CUgraphExec exec)
{
	check(!cuGraphLaunch(exec, NULL));
	return cuStreamSynchronize(NULL);
}

/* "any further CUDA work will return the same error", cuda.h on CUDA_ERROR_LAUNCH_FAILED. */
static void check_all_fails(CUgraphExec exec)
{
	CUdeviceptr memory;
	CUevent event;

	check(cuMemsetD8Async(client.memory, 1, 4096, NULL) == CUDA_ERROR_LAUNCH_FAILED);
	check(cuMemsetD8(client.memory, 1, 4096) == CUDA_ERROR_LAUNCH_FAILED);
	check(cuGraphLaunch(exec, NULL) == CUDA_ERROR_LAUNCH_FAILED);
	check(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED && cuStreamQuery(NULL) == CUDA_ERROR_LAUNCH_FAILED);
	check(cuMemAlloc(&memory, 4096) == CUDA_ERROR_LAUNCH_FAILED);
	check(!cuEventCreate(&event, 0) && cuEventSynchronize(event) == CUDA_ERROR_LAUNCH_FAILED);
}

static void launch_a_graph_that_cupti_never_saw(void)
{
	CUgraphExec exec;

	client_attach(100 * RECORD_BYTES, 0);
	check(!cuptiFinalize());
	exec = instantiated();
	check(run_graph(exec) == CUDA_SUCCESS);
	client_attach(100 * RECORD_BYTES, 0);
	check(!cuptiFinalize());
	check(run_graph(exec) == CUDA_SUCCESS);
}

static void launch_a_graph_that_was_launched_with_cupti(void)
{
	CUgraphExec exec;

	client_attach(100 * RECORD_BYTES, 0);
	check(!cuptiFinalize());
	exec = instantiated();
	client_attach(100 * RECORD_BYTES, 0);
	check(run_graph(exec) == CUDA_SUCCESS && run_graph(exec) == CUDA_SUCCESS);
	check(!cuptiFinalize());
	client_set_memory(1);
	check(run_graph(exec) == CUDA_ERROR_LAUNCH_FAILED);
	check_all_fails(exec);
}

static void launch_a_graph_that_was_instantiated_with_cupti(void)
{
	CUgraphExec exec, again;

	client_attach(100 * RECORD_BYTES, 0);
	exec = instantiated();
	check(!cuptiFinalize());
	client_attach(100 * RECORD_BYTES, 0);
	again = instantiated();
	check(run_graph(again) == CUDA_SUCCESS);
	check(run_graph(exec) == CUDA_ERROR_LAUNCH_FAILED && !cuptiFinalize());
	check_all_fails(again);
}

static void launch_graphs_after_finalize(void)
{
	CUgraphExec exec;

	client_attach(100 * RECORD_BYTES, 0);
	exec = instantiated();
	check(run_graph(exec) == CUDA_SUCCESS && !cuptiFinalize());
	check(run_graph(exec) == CUDA_SUCCESS);
}

static void test_graphs_after_finalize(void **state)
{
	(void)state;
	client_run_case(launch_a_graph_that_cupti_never_saw, "cupti-finalize-graphs");
	client_run_case(launch_a_graph_that_was_launched_with_cupti, "cupti-finalize-graphs");
	client_run_case(launch_a_graph_that_was_instantiated_with_cupti, "cupti-finalize-graphs");
	client_run_case(launch_graphs_after_finalize, NULL);
}

static void test_faults(void **state)
{
	(void)state;
	client_run_case(lose_every_fifth, "cupti-drop=5");
	client_run_case(lose_times_of_every_fourth, "cupti-zero-time=4");
	client_run_case(misdate_every_fourth, "cupti-other-clock=4");
	client_run_case(fill_the_devices_buffers, "cupti-device-buffers=4");
	client_run_case(find_250_buffers, NULL);
	client_run_case(lose_every_buffer, "cupti-null-buffer=1");
	client_run_case(find_it_busy, "cupti-busy");
}

static void subscribe_twice(void)
{
	char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
	CUpti_SubscriberParams first = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE, .subscriberName = "first"};
	CUpti_SubscriberParams second = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
					 .oldSubscriberName = holder,
					 .oldSubscriberSize = sizeof(holder)};
	CUpti_SubscriberHandle one, two;

	check(!cuptiSubscribe_v2(&one, client_on_call, NULL, &first));
	check(cuptiSubscribe_v2(&two, client_on_call, NULL, &second) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	check(!strcmp(holder, "CUPTI for first"));
	check(!cuptiUnsubscribe(one));
	check(!cuptiSubscribe_v2(&two, client_on_call, NULL, &second));
}

static void test_one_subscriber(void **state)
{
	(void)state;
	client_run_case(subscribe_twice, NULL);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t an_hour_ahead(void)
{
	return clock_ns(CLOCK_MONOTONIC) + HOUR_S * 1000000000ull;
}

static void use_own_clock(void)
{
	uint64_t before, now, after;

	check(!cuptiActivityRegisterTimestampCallback(an_hour_ahead));
	client_attach(100 * RECORD_BYTES, 0);
	before = an_hour_ahead();
	client_set_memory(1);
	after = an_hour_ahead();
	check(!cuptiActivityFlushAll(0) && client.records == 1);
	check(client.sets[0].start > before && client.sets[0].end > client.sets[0].start);
	check(client.sets[0].end < after);
	check(!cuptiGetTimestamp(&now) && now > after);
}

/* "Linux (x86_64, aarch64 sbsa, aarch64) uses clock_gettime(CLOCK_REALTIME)", cupti_activity.h. */
static void use_default_clock(void)
{
	uint64_t before, after;

	client_attach(100 * RECORD_BYTES, 0);
	before = clock_ns(CLOCK_REALTIME);
	client_set_memory(1);
	after = clock_ns(CLOCK_REALTIME);
	check(!cuptiActivityFlushAll(0) && client.records == 1);
	check(client.sets[0].start > before && client.sets[0].end < after);
}

static void test_clocks(void **state)
{
	(void)state;
	client_run_case(use_own_clock, NULL);
	client_run_case(use_default_clock, NULL);
}

static struct {
	_Alignas(8) uint8_t room[8192]; /* as "Activity record alignment" in CUPTI's documentation asks */
	int memsets, waits;             /* records of cuMemsetD8Async and cuCtxSynchronize */
} calls;

static void give_room(uint8_t **bytes, size_t *size, size_t *max_records)
{
	*bytes = calls.room;
	*size = sizeof(calls.room);
	*max_records = 0;
}

static void count_calls(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream, (void)size;
	while (!cuptiActivityGetNextRecord(bytes, valid, &record)) {
		CUpti_CallbackId id = ((const CUpti_ActivityAPI *)record)->cbid;

		check(record->kind == CUPTI_ACTIVITY_KIND_DRIVER);
		calls.memsets += id == CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async;
		calls.waits += id == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize;
	}
}

/* As the comments on cuptiActivityEnableDriverApi() in cupti_activity.h have it. */
static void record_some_calls(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	check(!cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
	check(!cuptiActivityRegisterCallbacks(give_room, count_calls));
	check(!cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, 1)); /* without the kind */
	client_set_memory(3);
	check(!cuptiActivityFlushAll(0) && calls.memsets == 3 && calls.waits == 0);
	check(!cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER)); /* overrides */
	client_set_memory(3);
	check(!cuptiActivityFlushAll(0) && calls.memsets == 6 && calls.waits == 1);
	check(!cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, 0));
	client_set_memory(3);
	check(!cuptiActivityFlushAll(0) && calls.memsets == 6 && calls.waits == 2);
	check(!cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	client_set_memory(3);
	check(!cuptiActivityFlushAll(0) && calls.memsets == 6 && calls.waits == 2);
}

static void test_records_of_some_calls(void **state)
{
	(void)state;
	client_run_case(record_some_calls, NULL);
}

static void misuse(void)
{
	uint64_t last;

	check(cuptiActivityFlushAll(0) == CUPTI_ERROR_INVALID_OPERATION); /* no buffer callbacks yet */
	check(cuptiActivityRegisterCallbacks(NULL, client_take_buffer) == CUPTI_ERROR_INVALID_PARAMETER);
	check(cuptiActivityGetNumDroppedRecords(NULL, 0, NULL) == CUPTI_ERROR_INVALID_PARAMETER);
	check(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last) ==
	      CUPTI_ERROR_QUEUE_EMPTY);
	check(!cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 5));
	check(!cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 6));
	check(!cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last) && last == 6);
}

static void test_misuse(void **state)
{
	(void)state;
	client_run_case(misuse, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_records_match_callbacks),
	    cmocka_unit_test(test_client_without_room),
	    cmocka_unit_test(test_faults),
	    cmocka_unit_test(test_graphs_after_finalize),
	    cmocka_unit_test(test_one_subscriber),
	    cmocka_unit_test(test_clocks),
	    cmocka_unit_test(test_records_of_some_calls),
	    cmocka_unit_test(test_misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
