/*
 * The stand-in for CUPTI on the simulated driver, used as any client would.
 * Each case is a process of its own: faults are read once, and a process has
 * one subscriber.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <cupti.h>

enum {
	RECORD_BYTES = sizeof(CUpti_ActivityMemset4),
	SETS_MAX = 64,
	HOUR_S = 3600,
	LIMIT_S = 20, /* for a case */
};

static struct {
	size_t buffer_bytes, max_records; /* what the client answers; bytes 0: no buffer */
	size_t asked, returned, largest;  /* buffers; records in the fullest */
	size_t records, timeless;
	CUpti_ActivityMemset4 sets[SETS_MAX];
	uint32_t entered[SETS_MAX]; /* correlation ids, in the order of the calls */
	size_t enters, exits;
	CUdeviceptr memory;
} client;

/* cmocka's assertions end a process that it has started itself only. */
static void check_at(bool holds, int line)
{
	if (holds)
		return;
	fprintf(stderr, "cupti_test.c:%d: check failed\n", line);
	_exit(1);
}
#define check(holds) check_at(holds, __LINE__)

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

static void give_buffer(uint8_t **bytes, size_t *size, size_t *max_records)
{
	client.asked++;
	*bytes = client.buffer_bytes ? malloc(client.buffer_bytes) : NULL;
	*size = client.buffer_bytes;
	*max_records = client.max_records;
}

static void take_buffer(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;
	size_t before = client.records;

	check(!context && !stream && size == client.buffer_bytes);
	client.returned++;
	while (cuptiActivityGetNextRecord(bytes, valid, &record) == CUPTI_SUCCESS) {
		check(record->kind == CUPTI_ACTIVITY_KIND_MEMSET && client.records < SETS_MAX);
		memcpy(&client.sets[client.records], record, RECORD_BYTES);
		client.timeless += !client.sets[client.records].start;
		client.records++;
	}
	if (client.records - before > client.largest)
		client.largest = client.records - before;
	free(bytes);
}

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;

	check(user == &client && domain == CUPTI_CB_DOMAIN_DRIVER_API && id == CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
	if (call->callbackSite == CUPTI_API_ENTER) {
		client.entered[client.enters++] = call->correlationId;
		*call->correlationData = call->correlationId;
	} else {
		check(*call->correlationData == call->correlationId);
		check(*(CUresult *)call->functionReturnValue == CUDA_SUCCESS);
		client.exits++;
	}
}

static CUpti_SubscriberHandle attach(size_t buffer_bytes, size_t max_records)
{
	CUpti_SubscriberHandle handle;
	CUcontext context;

	client.buffer_bytes = buffer_bytes;
	client.max_records = max_records;
	check(!cuptiSubscribe(&handle, on_call, &client));
	check(!cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async));
	check(!cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
	check(!cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	check(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context));
	check(!cuMemAlloc(&client.memory, 4096));
	return handle;
}

static void set_memory(int times)
{
	for (int i = 0; i < times; i++)
		check(!cuMemsetD8Async(client.memory, 1, 4096, NULL));
	check(!cuCtxSynchronize());
}

static size_t dropped(void)
{
	size_t count;

	check(!cuptiActivityGetNumDroppedRecords(NULL, 0, &count));
	return count;
}

/* Runs one case in a child with SIMCUDA_FAULT set; null: no fault. */
static void run_case(void (*body)(void), const char *fault)
{
	int status;
	pid_t child = fork();

	if (!child) {
		alarm(LIMIT_S);
		if (fault)
			setenv("SIMCUDA_FAULT", fault, 1);
		else
			unsetenv("SIMCUDA_FAULT");
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A buffer takes as many whole records as fit: 25 records at 10 a buffer are 3 buffers. */
static void fill_buffers(void)
{
	attach(10 * RECORD_BYTES + RECORD_BYTES / 2, 0);
	set_memory(25);
	check(client.returned == 2 && client.records == 20);
	check(!cuptiActivityFlushAll(0));
	check(client.returned == 3 && client.asked == 3 && client.largest == 10);
	check(client.records == 25 && dropped() == 0);
}

static void test_buffers_are_filled(void **state)
{
	(void)state;
	run_case(fill_buffers, NULL);
}

static void limit_records(void)
{
	attach(100 * RECORD_BYTES, 3);
	set_memory(10);
	check(!cuptiActivityFlushAll(0));
	check(client.returned == 4 && client.largest == 3 && client.records == 10);
}

static void test_most_records_a_buffer(void **state)
{
	(void)state;
	run_case(limit_records, NULL);
}

static void match_correlations(void)
{
	CUpti_SubscriberHandle handle = attach(100 * RECORD_BYTES, 0);

	set_memory(10);
	check(client.enters == 10 && client.exits == 10);
	check(!cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) && client.records == 10);
	for (int i = 0; i < 10; i++) {
		check(client.sets[i].correlationId == client.entered[i] && client.sets[i].bytes == 4096);
		check(!i || client.entered[i] > client.entered[i - 1]);
		check(!i || client.sets[i].start >= client.sets[i - 1].end); /* one stream */
	}
	check(!cuptiUnsubscribe(handle));
	set_memory(1);
	check(client.enters == 10);
}

static void test_records_match_callbacks(void **state)
{
	(void)state;
	run_case(match_correlations, NULL);
}

/* "In this case CUPTI may drop activity records", cupti_activity.h. */
static void refuse_buffers(void)
{
	attach(0, 0);
	set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.asked == 20 && client.records == 0);
	check(dropped() == 20 && dropped() == 0);
}

static void refuse_too_small(void)
{
	attach(RECORD_BYTES - 1, 0);
	set_memory(2);
	check(client.asked == 2 && client.returned == 2 && client.records == 0 && dropped() == 2);
}

static void test_client_without_room(void **state)
{
	(void)state;
	run_case(refuse_buffers, NULL);
	run_case(refuse_too_small, NULL);
}

static void lose_every_fifth(void)
{
	attach(100 * RECORD_BYTES, 0);
	set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.records == 16 && dropped() == 4 && client.timeless == 0);
}

static void lose_times_of_every_fourth(void)
{
	attach(100 * RECORD_BYTES, 0);
	set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.records == 20 && dropped() == 0 && client.timeless == 5);
}

static void lose_every_buffer(void)
{
	attach(100 * RECORD_BYTES, 0);
	set_memory(20);
	check(!cuptiActivityFlushAll(0));
	check(client.asked == 0 && client.records == 0 && dropped() == 20);
}

static void find_it_busy(void)
{
	CUpti_SubscriberHandle handle;

	check(cuptiSubscribe(&handle, on_call, NULL) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	check(cuptiGetLastError() == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	check(cuptiGetLastError() == CUPTI_SUCCESS);
}

static void test_faults(void **state)
{
	(void)state;
	run_case(lose_every_fifth, "cupti-drop=5");
	run_case(lose_times_of_every_fourth, "cupti-zero-time=4");
	run_case(lose_every_buffer, "cupti-null-buffer=1");
	run_case(find_it_busy, "cupti-busy");
}

static void subscribe_twice(void)
{
	char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
	CUpti_SubscriberParams first = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE, .subscriberName = "first"};
	CUpti_SubscriberParams second = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
					 .oldSubscriberName = holder,
					 .oldSubscriberSize = sizeof(holder)};
	CUpti_SubscriberHandle one, two;

	check(!cuptiSubscribe_v2(&one, on_call, NULL, &first));
	check(cuptiSubscribe_v2(&two, on_call, NULL, &second) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	check(!strcmp(holder, "CUPTI for first"));
	check(!cuptiUnsubscribe(one));
	check(!cuptiSubscribe_v2(&two, on_call, NULL, &second));
}

static void test_one_subscriber(void **state)
{
	(void)state;
	run_case(subscribe_twice, NULL);
}

static void use_own_clock(void)
{
	uint64_t before, now, after;

	check(!cuptiActivityRegisterTimestampCallback(an_hour_ahead));
	attach(100 * RECORD_BYTES, 0);
	before = an_hour_ahead();
	set_memory(1);
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

	attach(100 * RECORD_BYTES, 0);
	before = clock_ns(CLOCK_REALTIME);
	set_memory(1);
	after = clock_ns(CLOCK_REALTIME);
	check(!cuptiActivityFlushAll(0) && client.records == 1);
	check(client.sets[0].start > before && client.sets[0].end < after);
}

static void test_clocks(void **state)
{
	(void)state;
	run_case(use_own_clock, NULL);
	run_case(use_default_clock, NULL);
}

static void misuse(void)
{
	uint64_t last;

	check(cuptiActivityFlushAll(0) == CUPTI_ERROR_INVALID_OPERATION); /* no buffer callbacks yet */
	check(cuptiActivityRegisterCallbacks(NULL, take_buffer) == CUPTI_ERROR_INVALID_PARAMETER);
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
	run_case(misuse, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_buffers_are_filled),
	    cmocka_unit_test(test_most_records_a_buffer),
	    cmocka_unit_test(test_records_match_callbacks),
	    cmocka_unit_test(test_client_without_room),
	    cmocka_unit_test(test_faults),
	    cmocka_unit_test(test_one_subscriber),
	    cmocka_unit_test(test_clocks),
	    cmocka_unit_test(test_misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
