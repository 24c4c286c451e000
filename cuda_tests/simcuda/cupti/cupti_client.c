#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cupti_client.h"

enum {
	LIMIT_S = 20, /* for a case */
	PATIENCE_MS = 5000,
};

struct client client = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
	sem_t blocked, release;
} gate;

void client_check_at(bool holds, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: check failed\n", file, line);
	_exit(1);
}

static void give_buffer(uint8_t **bytes, size_t *size, size_t *max_records)
{
	pthread_mutex_lock(&client.lock);
	client.asked++;
	client.asker = pthread_self();
	pthread_mutex_unlock(&client.lock);
	*bytes = client.buffer_bytes ? malloc(client.buffer_bytes) : NULL;
	if (*bytes)
		memset(*bytes, client.filled_with, client.buffer_bytes);
	*size = client.buffer_bytes;
	*max_records = client.max_records;
}

void client_take_buffer(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;
	CUptiResult result;
	size_t before;
	bool mixed = false;

	check(!context && !stream && size == client.buffer_bytes);
	pthread_mutex_lock(&client.lock);
	before = client.records;
	client.returner = pthread_self();
	while ((result = cuptiActivityGetNextRecord(bytes, valid, &record)) == CUPTI_SUCCESS) {
		check(record->kind == CUPTI_ACTIVITY_KIND_MEMSET && client.records < SETS_MAX);
		memcpy(&client.sets[client.records], record, RECORD_BYTES);
		client.timeless += !client.sets[client.records].start;
		mixed |= client.sets[client.records].value != client.sets[before].value;
		client.records++;
	}
	client.mixed += mixed;
	client.unreadable += result != CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (client.records - before > client.largest)
		client.largest = client.records - before;
	client.returned++;
	pthread_mutex_unlock(&client.lock);
	free(bytes);
}

size_t client_returned(void)
{
	size_t buffers;

	pthread_mutex_lock(&client.lock);
	buffers = client.returned;
	pthread_mutex_unlock(&client.lock);
	return buffers;
}

void client_sleep_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000l};

	nanosleep(&time, NULL);
}

void client_wait_until_returned(size_t buffers)
{
	for (int ms = 0; ms < PATIENCE_MS && client_returned() < buffers; ms++)
		client_sleep_ms(1);
	check(client_returned() == buffers);
}

static void CUDA_CB block(void *unused)
{
	(void)unused;
	sem_post(&gate.blocked);
	while (sem_wait(&gate.release))
		;
}

void client_block_stream(void)
{
	check(!sem_init(&gate.blocked, 0, 0) && !sem_init(&gate.release, 0, 0));
	check(!cuLaunchHostFunc(NULL, block, NULL));
	while (sem_wait(&gate.blocked))
		;
}

void client_release_stream(void)
{
	sem_post(&gate.release);
	check(!cuCtxSynchronize());
}

void client_on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
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

CUpti_SubscriberHandle client_attach(size_t buffer_bytes, size_t max_records)
{
	CUpti_SubscriberHandle handle;
	CUcontext context;

	client.buffer_bytes = buffer_bytes;
	client.max_records = max_records;
	check(!cuptiSubscribe(&handle, client_on_call, &client));
	check(!cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async));
	check(!cuptiActivityRegisterCallbacks(give_buffer, client_take_buffer));
	check(!cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	check(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context));
	check(!cuMemAlloc(&client.memory, 4096));
	return handle;
}

void client_launch(int times)
{
	for (int i = 0; i < times; i++)
		check(!cuMemsetD8Async(client.memory, 1, 4096, NULL));
}

void client_set_memory(int times)
{
	client_launch(times);
	check(!cuCtxSynchronize());
}

size_t client_dropped(void)
{
	size_t count;

	check(!cuptiActivityGetNumDroppedRecords(NULL, 0, &count));
	return count;
}

static void set_variable(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

void client_run_case_placed(void (*body)(void), const char *fault, const char *place)
{
	int status;
	pid_t child = fork();

	if (!child) {
		alarm(LIMIT_S);
		set_variable("SIMCUDA_FAULT", fault);
		set_variable("SIMCUDA_CUPTI_PLACE", place);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

void client_run_case(void (*body)(void), const char *fault)
{
	client_run_case_placed(body, fault, NULL);
}
