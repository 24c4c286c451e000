#include <errno.h>
#include <string.h>
#include <time.h>

#include "cupti_private.h"

/* What the driver is to report: the union of the enabled kinds. */
static void collect_enabled(void)
{
	uint32_t kinds = 0;

	if (cupti__enabled(CUPTI_ACTIVITY_KIND_KERNEL) || cupti__enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		kinds |= SIMCUDA_KERNEL;
	if (cupti__enabled(CUPTI_ACTIVITY_KIND_MEMCPY) || cupti__enabled(CUPTI_ACTIVITY_KIND_MEMCPY2))
		kinds |= SIMCUDA_MEMCPY;
	if (cupti__enabled(CUPTI_ACTIVITY_KIND_MEMSET))
		kinds |= SIMCUDA_MEMSET;
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
	cupti__self.kind_enabled[kind] = enable;
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

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
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

/* The driver hands over finished work only: a forced flush finds no incomplete record to add. */
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult result = cupti__attach();

	if (!result && !cupti__self.complete)
		result = CUPTI_ERROR_INVALID_OPERATION;
	if (result)
		return cupti__result(result);
	cupti__self.driver.advance();
	cupti__deliver(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	(void)context, (void)stream; /* "CONTEXT and STREAMID will be ignored", cupti_activity.h */
	return cuptiActivityFlushAll(flag);
}

static struct timespec after_ms(uint32_t ms)
{
	struct timespec when;

	clock_gettime(CLOCK_REALTIME, &when);
	when.tv_nsec += (long)(ms % 1000) * 1000000;
	when.tv_sec += ms / 1000 + when.tv_nsec / 1000000000;
	when.tv_nsec %= 1000000000;
	return when;
}

/* Takes in finished work once a period; the buffers that this fills are delivered on the way. */
static void *deliver_periodically(void *unused)
{
	struct cupti *self = &cupti__self;
	struct timespec when;
	int waited;

	pthread_mutex_lock(&self->lock);
	for (;;) {
		if (!self->period_ms) {
			pthread_cond_wait(&self->period_changed, &self->lock);
			continue;
		}
		when = after_ms(self->period_ms);
		waited = pthread_cond_timedwait(&self->period_changed, &self->lock, &when);
		if (waited != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&self->lock);
		self->driver.advance();
		pthread_mutex_lock(&self->lock);
	}
	return unused;
}

/* lock held */
static CUptiResult start_worker(void)
{
	pthread_t thread;

	if (cupti__self.worker_started)
		return CUPTI_SUCCESS;
	if (pthread_create(&thread, NULL, deliver_periodically, NULL))
		return CUPTI_ERROR_UNKNOWN;
	pthread_detach(thread);
	cupti__self.worker_started = true;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
	struct cupti *self = &cupti__self;
	CUptiResult result = cupti__attach();

	if (result)
		return cupti__result(result);
	pthread_mutex_lock(&self->lock);
	self->period_ms = ms;
	if (ms)
		result = start_worker();
	pthread_cond_signal(&self->period_changed);
	pthread_mutex_unlock(&self->lock);
	return cupti__result(result);
}

enum { ATTRIBUTES = CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS + 1 };

/* The simulated device has no buffers to size: values are kept and given back. */
static struct {
	size_t bytes;
	size_t value;
} attributes[ATTRIBUTES];

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *value_bytes, void *value)
{
	if (!value_bytes || !value || (unsigned)attribute >= ATTRIBUTES)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	if (*value_bytes > sizeof(attributes[0].value))
		return cupti__result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	memcpy(&attributes[attribute].value, value, *value_bytes);
	attributes[attribute].bytes = *value_bytes;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *value_bytes, void *value)
{
	size_t bytes;

	if (!value_bytes || !value || (unsigned)attribute >= ATTRIBUTES)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	bytes = attributes[attribute].bytes ? attributes[attribute].bytes : sizeof(size_t);
	if (*value_bytes < bytes)
		return cupti__result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	memcpy(value, &attributes[attribute].value, bytes);
	*value_bytes = bytes;
	return CUPTI_SUCCESS;
}

/* Queued and submitted times are those of the latency; records carry them only when asked to. */
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	cupti__self.latency_timestamps = enable;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize(void)
{
	CUptiResult result = cupti__attach();

	if (result)
		return cupti__result(result);
	for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
		cupti__self.kind_enabled[kind] = 0;
	if (cupti__self.subscriber)
		cuptiUnsubscribe(cupti__self.subscriber);
	cupti__deliver(true);
	cuptiActivityFlushPeriod(0);
	cupti__detach();
	return CUPTI_SUCCESS;
}
