#include <string.h>
#include <unistd.h>

#include "cupti_private.h"

/* Makes the driver report the union of the enabled kinds. */
static void collect_enabled(void)
{
	uint32_t kinds = 0;

	if (cupti__enabled(CUPTI_ACTIVITY_KIND_KERNEL) || cupti__enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		kinds |= SIMCUDA_KERNEL;
	if (cupti__enabled(CUPTI_ACTIVITY_KIND_MEMCPY) || cupti__enabled(CUPTI_ACTIVITY_KIND_MEMCPY2))
		kinds |= SIMCUDA_MEMCPY;
	if (cupti__enabled(CUPTI_ACTIVITY_KIND_MEMSET))
		kinds |= SIMCUDA_MEMSET;
	if (cupti__enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
		kinds |= SIMCUDA_GRAPH;
	cupti__self.driver.collect(kinds);
}

static bool incompatible(CUpti_ActivityKind kind)
{
	return (kind == CUPTI_ACTIVITY_KIND_KERNEL && cupti__enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) ||
	       (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && cupti__enabled(CUPTI_ACTIVITY_KIND_KERNEL));
}

static CUptiResult set_enabled(CUpti_ActivityKind kind, bool enable)
{
	CUptiResult result = cupti__attach();

	if (result)
		return result;
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	if (!cupti__record_bytes(kind))
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (enable && incompatible(kind))
		return CUPTI_ERROR_NOT_COMPATIBLE;
	cupti__self.sessions += enable && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !cupti__enabled(kind);
	cupti__self.kind_enabled[kind] = enable;
	if (kind == CUPTI_ACTIVITY_KIND_DRIVER)
		cupti__record_calls(SIMCUDA_DRIVER, enable);
	if (kind == CUPTI_ACTIVITY_KIND_RUNTIME)
		cupti__record_calls(SIMCUDA_RUNTIME, enable);
	collect_enabled();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return cupti__result(set_enabled(kind, true));
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	return cupti__result(set_enabled(kind, true));
}

/* "Fixed a potential deadlock that could occur while disabling the activity kind CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
 * using the API cuptiActivityDisable": CUPTI's release notes, CUDA 13.0 Update 1. */
static void hang_by_fault(void)
{
	while (cupti__faults()->cupti_hang_disable)
		pause();
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && cupti__enabled(kind))
		hang_by_fault();
	return cupti__result(set_enabled(kind, false));
}

/* Kinds are enabled for all contexts alike. */
CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return cupti__result(context ? set_enabled(kind, true) : CUPTI_ERROR_INVALID_CONTEXT);
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return cupti__result(context ? set_enabled(kind, false) : CUPTI_ERROR_INVALID_CONTEXT);
}

enum { ATTRIBUTES = CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS + 1 };

/* The defaults are those of cupti_activity.h. The simulated device has no buffers to size: but for three, the values
 * are only kept and given back. */
static struct {
	size_t bytes;
	size_t value;
} attributes[ATTRIBUTES] = {
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = {sizeof(size_t), 3200000},
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = {sizeof(size_t), 250},
    [CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] = {sizeof(uint8_t), 0},
    [CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = {sizeof(uint8_t), 1},
};

/* Those from the buffers per thread on are of CUDA 12.3 and later. */
static bool known(CUpti_ActivityAttribute attribute)
{
	unsigned count =
	    cupti__version() >= CUPTI_VERSION_12_3 ? ATTRIBUTES : CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER;

	return (unsigned)attribute < count;
}

bool cupti__per_thread(void)
{
	return known(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) &&
	       attributes[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER].value != 0;
}

bool cupti__come_zeroed(void)
{
	return attributes[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER].value != 0;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *value_bytes, void *value)
{
	if (!value_bytes || !value || !known(attribute))
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	if (*value_bytes > sizeof(attributes[0].value))
		return cupti__result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	attributes[attribute].value = 0;
	memcpy(&attributes[attribute].value, value, *value_bytes);
	attributes[attribute].bytes = *value_bytes;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *value_bytes, void *value)
{
	size_t bytes;

	if (!value_bytes || !value || !known(attribute))
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	bytes = attributes[attribute].bytes ? attributes[attribute].bytes : sizeof(size_t);
	if (*value_bytes < bytes)
		return cupti__result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	memcpy(value, &attributes[attribute].value, bytes);
	*value_bytes = bytes;
	return CUPTI_SUCCESS;
}

size_t cupti__device_buffers(void)
{
	return attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT].value;
}

/* Records carry the queued and submitted times only while this is enabled. */
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	cupti__self.latency_timestamps = enable;
	return CUPTI_SUCCESS;
}

/* Events have no records here that could carry their time. */
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	(void)enable;
	return cupti__result(cupti__attach());
}

CUptiResult cuptiFinalize(void)
{
	CUptiResult result = cupti__attach();

	if (result)
		return cupti__result(result);
	for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
		cupti__self.kind_enabled[kind] = 0;
	cupti__record_calls(SIMCUDA_DRIVER, false);
	cupti__record_calls(SIMCUDA_RUNTIME, false);
	if (cupti__self.subscriber)
		cuptiUnsubscribe(cupti__self.subscriber);
	cupti__return_buffers(CUPTI_DUE_ALL);
	cuptiActivityFlushPeriod(0);
	cupti__detach();
	cupti__ends_with_callback();
	return CUPTI_SUCCESS;
}
