/*
 * When a buffer returns to its client. The source of each rule is cupti_activity.h:
 *
 *   cuptiActivityFlushAll(0)   "returns all the activity buffers which have all the activity
 *                              records completed, buffers need not to be full though";
 *                              "doesn't return buffers which have one or more incomplete records".
 *   cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
 *                              "returns all the activity buffers including the ones which have one
 *                              or more incomplete activity records".
 *   cuptiActivityFlushPeriod() "can return only those activity buffers which are full and have all
 *                              the activity records completed".
 *   worker thread              delivers buffers to the client, woken by "certain heuristics" or the
 *                              period. The heuristics are not documented. Here it wakes when a
 *                              buffer becomes full, and when the last record of a full one completes.
 *
 * A flush calls the client on the thread that flushes, "a blocking call".
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "cupti_private.h"

static struct timespec after_ms(uint32_t ms)
{
	struct timespec when;

	clock_gettime(CLOCK_REALTIME, &when);
	when.tv_nsec += (long)(ms % 1000) * 1000000;
	when.tv_sec += ms / 1000 + when.tv_nsec / 1000000000;
	when.tv_nsec %= 1000000000;
	return when;
}

/* lock held. True: it is time to look for buffers. */
static bool wait_for_work(struct cupti *self)
{
	struct timespec when;

	if (self->period_ms) {
		when = after_ms(self->period_ms);
		return pthread_cond_timedwait(&self->worker_wake, &self->lock, &when) == ETIMEDOUT;
	}
	if (!self->worker_wanted)
		pthread_cond_wait(&self->worker_wake, &self->lock);
	return self->worker_wanted && !self->period_ms;
}

static void *work(void *unused)
{
	struct cupti *self = &cupti__self;

	pthread_mutex_lock(&self->lock);
	for (;;) {
		if (!wait_for_work(self))
			continue;
		self->worker_wanted = false;
		pthread_mutex_unlock(&self->lock);
		self->driver.advance();
		cupti__return_buffers(CUPTI_DUE_FULL);
		pthread_mutex_lock(&self->lock);
	}
	return unused;
}

/* lock held. The application's signals are for its own threads. */
static bool start_worker(void)
{
	sigset_t all, before;
	pthread_t thread;

	if (cupti__self.worker_started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	cupti__self.worker_started = !pthread_create(&thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (cupti__self.worker_started)
		pthread_detach(thread);
	return cupti__self.worker_started;
}

/* A period overrides the heuristics. */
void cupti__wake_worker(void)
{
	cupti__self.worker_wanted = true;
	if (!cupti__self.period_ms && start_worker())
		pthread_cond_signal(&cupti__self.worker_wake);
}

void cupti__forget_parent(void)
{
	cupti__self.buffers = NULL;
	cupti__self.returning = 0;
	cupti__self.worker_started = cupti__self.worker_wanted = false;
	pthread_cond_init(&cupti__self.returned, NULL);
	pthread_cond_init(&cupti__self.worker_wake, NULL);
}

CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
	struct cupti *self = &cupti__self;
	CUptiResult result = cupti__attach();

	if (result)
		return cupti__result(result);
	pthread_mutex_lock(&self->lock);
	self->period_ms = ms;
	if (ms && !start_worker())
		result = CUPTI_ERROR_UNKNOWN;
	pthread_cond_signal(&self->worker_wake);
	pthread_mutex_unlock(&self->lock);
	return cupti__result(result);
}

/* "Fixed a potential crash in the API cuptiActivityFlushAll": CUPTI's release notes, CUDA 13.0 Update 1. */
__attribute__((no_sanitize("undefined"))) static void crash_by_fault(void)
{
	static uint8_t *volatile nowhere;
	static _Atomic uint32_t flushes;

	if (cupti__faults()->cupti_crash_flush == ++flushes)
		*nowhere = 0;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult result = cupti__attach();

	if (!result && !cupti__self.complete)
		result = CUPTI_ERROR_INVALID_OPERATION;
	if (result)
		return cupti__result(result);
	crash_by_fault();
	cupti__self.driver.advance();
	cupti__return_buffers(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED ? CUPTI_DUE_ALL : CUPTI_DUE_COMPLETE);
	cupti__wait_for_returns();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	(void)context, (void)stream; /* "CONTEXT and STREAMID will be ignored", cupti_activity.h */
	return cuptiActivityFlushAll(flag);
}

/* What belongs to the former client's callbacks is returned to them. */
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
					   CUpti_BuffersCallbackCompleteFunc complete)
{
	if (!request || !complete)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	cupti__return_buffers(CUPTI_DUE_ALL);
	pthread_mutex_lock(&cupti__self.lock);
	cupti__self.request = request;
	cupti__self.complete = complete;
	pthread_mutex_unlock(&cupti__self.lock);
	return CUPTI_SUCCESS;
}
