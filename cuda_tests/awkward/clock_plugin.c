/* A library with a profiler that counts on CUPTI's defaults: its own clock, and that it clears buffers. Opened by
 * profilers.c. */
#include <cuda.h>
#include <cupti.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int plugin_begin(void);
EXPORT int plugin_kernels(void);
EXPORT int plugin_kernels_in_real_time(void);

static CUpti_SubscriberHandle subscriber;
static int64_t began_ns;
static int kernels, kernels_in_real_time;

static int64_t real_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
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
		kernels_in_real_time += (int64_t)kernel->start >= began_ns && (int64_t)kernel->end <= real_time_ns();
	}
	free(buffer);
}

EXPORT int plugin_begin(void)
{
	began_ns = real_time_ns();
	if (cuptiSubscribe(&subscriber, called, NULL) || cuptiActivityRegisterCallbacks(give_buffer, count_kernels))
		return -1;
	return cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

EXPORT int plugin_kernels(void)
{
	cuptiActivityFlushAll(0);
	return kernels;
}

EXPORT int plugin_kernels_in_real_time(void)
{
	return kernels_in_real_time;
}
