/* A library with a profiler, opened by profilers.c, that begins in one of three ways. It counts the kernels whose times
 * are of the clock that it counts on. */
#include <cuda.h>
#include <cupti.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int plugin_begin(void);
EXPORT int plugin_begin_with_clock(void);
EXPORT int plugin_begin_with_kinds(void);
EXPORT int plugin_kernels(void);
EXPORT int plugin_kernels_in_time(void);

static CUpti_SubscriberHandle subscriber;
static int64_t began_ns;
static int64_t ahead_ns; /* of real time */
static int kernels, kernels_in_time;

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec + ahead_ns;
}

static uint64_t CUPTIAPI own_clock(void)
{
	return (uint64_t)clock_ns();
}

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
	*bytes = 65536;
	*buffer = memset(aligned_alloc(64, *bytes), 0xff, *bytes); /* by default CUPTI clears it */
	*records_max = 0;
}

static void CUPTIAPI count_kernels(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	const CUpti_ActivityKernel10 *kernel;
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)bytes;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		kernel = (const void *)record;
		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		kernels++;
		kernels_in_time += (int64_t)kernel->start >= began_ns && (int64_t)kernel->end <= clock_ns();
	}
	free(buffer);
}

/* "The default value is 250" (cupti_activity.h) */
static int may_take_all_buffers(void)
{
	size_t buffers = 0, bytes = sizeof(buffers);

	return !cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &buffers) &&
	       buffers == 250;
}

/* By default CUPTI's times are real time. */
EXPORT int plugin_begin(void)
{
	began_ns = clock_ns();
	if (cuptiSubscribe(&subscriber, called, NULL) || cuptiActivityRegisterCallbacks(give_buffer, count_kernels))
		return -1;
	if (!may_take_all_buffers())
		return -2;
	return cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

/* A clock of its own first, as PyTorch's profiler. */
EXPORT int plugin_begin_with_clock(void)
{
	ahead_ns = 3600 * 1000000000ll;
	began_ns = clock_ns();
	if (cuptiActivityRegisterTimestampCallback(own_clock))
		return -1;
	if (cuptiActivityRegisterCallbacks(give_buffer, count_kernels))
		return -1;
	return cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

/* The kinds of records first, and no subscriber. */
EXPORT int plugin_begin_with_kinds(void)
{
	began_ns = clock_ns();
	if (cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		return -1;
	return cuptiActivityRegisterCallbacks(give_buffer, count_kernels);
}

EXPORT int plugin_kernels(void)
{
	cuptiActivityFlushAll(0);
	return kernels;
}

EXPORT int plugin_kernels_in_time(void)
{
	return kernels_in_time;
}
