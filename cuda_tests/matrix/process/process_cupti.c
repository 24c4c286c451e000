/*
 * The program begins to profile itself with CUPTI during its run, as PyTorch's
 * profiler does: a subscriber with callbacks for launches, and activity records
 * of kernels. From then on its counts of `add` must be complete. The argument is
 * the number of threads that launch another kernel meanwhile.
 *
 * Compiled with CUPTI_LOADED it finds CUPTI with dlopen() and dlsym().
 */
#include "cuda_tests/matrix/kernels.h"
#include "cuda_tests/matrix/runtime.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE 200
#define DURING 300
#define BACKGROUND 1000 /* launches of each of those threads */
#define THREADS_MAX 16
#define BUFFER_BYTES (256 * 1024)
#define ALIGNMENT 8 /* of buffers: CUPTI's documentation of CUpti_BuffersCallbackRequestFunc */

/* clang-format off */
#define CUPTI_FUNCTIONS(X) \
	X(cuptiGetResultString) X(cuptiSubscribe) X(cuptiUnsubscribe) X(cuptiEnableCallback) \
	X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable) X(cuptiActivityDisable) \
	X(cuptiActivityFlushAll) X(cuptiActivityGetNextRecord)
/* clang-format on */

#define MEMBER(name) __typeof__(&name) name;
static struct {
	CUPTI_FUNCTIONS(MEMBER)
} cupti;

static long records, callbacks;

#ifdef CUPTI_LOADED
static void find_cupti(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW);

	if (!library)
		program_fail("%s", dlerror());
#define FIND(name)                                                                                                     \
	cupti.name = (__typeof__(&name))dlsym(library, #name);                                                         \
	if (!cupti.name)                                                                                               \
		program_fail("no %s", #name);
	CUPTI_FUNCTIONS(FIND)
}
#else
static void find_cupti(void)
{
#define FIND(name) cupti.name = name;
	CUPTI_FUNCTIONS(FIND)
}
#endif

#define CUPTI(function, ...) check_cupti(cupti.function(__VA_ARGS__), #function)
static void check_cupti(CUptiResult result, const char *call)
{
	const char *text = "?";

	if (!result)
		return;
	cupti.cuptiGetResultString(result, &text);
	program_fail("%s: %s", call, text);
}

static void buffer_wanted(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
	*buffer = aligned_alloc(ALIGNMENT, BUFFER_BYTES);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*records_max = 0;
}

static bool is_add(const CUpti_Activity *record)
{
	return record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
	       strcmp(((const CUpti_ActivityKernel10 *)record)->name, "add") == 0;
}

static void buffer_done(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)bytes;
	while (cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		if (is_add(record))
			__atomic_add_fetch(&records, 1, __ATOMIC_RELAXED);
	free(buffer);
}

static void called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)user;
	(void)domain;
	(void)id;
	if (call->callbackSite == CUPTI_API_ENTER && strcmp(call->symbolName, "add") == 0)
		__atomic_add_fetch(&callbacks, 1, __ATOMIC_RELAXED);
}

static long profiled(void)
{
	CUpti_SubscriberHandle subscriber;
	long kernels;

	CUPTI(cuptiSubscribe, &subscriber, called, NULL);
	CUPTI(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	CUPTI(cuptiActivityRegisterCallbacks, buffer_wanted, buffer_done);
	CUPTI(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	kernels = runtime_add(DURING);
	CUPTI(cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	CUPTI(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	CUPTI(cuptiUnsubscribe, subscriber);
	printf("profiled: %ld callbacks, %ld records\n", callbacks, records);
	return kernels;
}

static void launch_other(int i, struct buffer *buffer, cudaStream_t stream)
{
	int d = i % 3;
	void *args[] = {&buffer->device, &buffer->n, &d};

	CHECK(cudaLaunchKernel((const void *)add_shared, (dim3){32, 1, 1}, (dim3){128, 1, 1}, args, 128 * sizeof(int),
			       stream));
	buffer->expected += d;
}

static void *background(void *kernels)
{
	__atomic_add_fetch((long *)kernels, runtime_work(BACKGROUND, launch_other), __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread[THREADS_MAX];
	long kernels = runtime_add(BEFORE);

	find_cupti();
	for (int i = 0; i < threads && i < THREADS_MAX; i++)
		if (pthread_create(&thread[i], NULL, background, &kernels))
			program_fail("no thread");
	__atomic_add_fetch(&kernels, profiled(), __ATOMIC_RELAXED);
	for (int i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_join(thread[i], NULL);
	kernels += runtime_add(BEFORE);
	program_print(kernels);
	return 0;
}
