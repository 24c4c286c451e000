/* CUPTI attached and detached again and again, and what it records meanwhile. */
#include "facts_window.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../shim/hooks.h"
#include "../../../shim/later_driver.h"

#define FLUSH_EVERY_NS 5000000 /* as kerncast at a high rate of launches */
#define CLOCK_ERROR_NS 100000  /* that kerncast allows */

enum {
	SEEN_MAX = 1 << 20,
};

struct buffer {
	struct buffer *next;
	uint8_t *bytes;
	size_t valid;
	int64_t delivered_ns;
};

static struct {
	pthread_mutex_t lock; /* of the two lists; taken in CUPTI's callbacks */
	struct buffer *free, *delivered;
	pthread_mutex_t control; /* across calls of CUPTI, so that none is beside cuptiFinalize */
	pthread_t flusher;
	bool has_flusher, collects; /* under control */
	bool subscribed;
	size_t device_buffers; /* CUPTI's own, at most */
	_Atomic bool finalize; /* in the next exit from a driver call of the thread that is... */
	CUptiResult finalized;
} window = {.lock = PTHREAD_MUTEX_INITIALIZER, .control = PTHREAD_MUTEX_INITIALIZER};

static struct facts_seen seen[SEEN_MAX];
static int seen_count;

__thread uint32_t facts_correlation;
static __thread bool finalizing; /* ... this one */

static uint64_t CUPTIAPI timestamp(void)
{
	return (uint64_t)facts_now_ns();
}

/* Buffers */

static struct buffer *take(struct buffer **list)
{
	struct buffer *b;

	pthread_mutex_lock(&window.lock);
	b = *list;
	if (b)
		*list = b->next;
	pthread_mutex_unlock(&window.lock);
	return b;
}

static void put(struct buffer **list, struct buffer *b)
{
	pthread_mutex_lock(&window.lock);
	b->next = *list;
	*list = b;
	pthread_mutex_unlock(&window.lock);
}

/* The struct lies before what CUPTI is given, which is aligned. */
enum { BUFFER_HEAD = 64 };
_Static_assert(sizeof(struct buffer) <= BUFFER_HEAD, "a buffer's head holds the struct");

static struct buffer *new_buffer(void)
{
	size_t size = BUFFER_HEAD + facts_cupti.buffer_bytes;
	struct buffer *b = aligned_alloc(BUFFER_HEAD, size);

	if (b) {
		memset(b, 0, size);
		b->bytes = (uint8_t *)b + BUFFER_HEAD;
	}
	return b;
}

static void CUPTIAPI on_request(uint8_t **bytes, size_t *size, size_t *max_records)
{
	struct buffer *b = take(&window.free);

	*bytes = NULL;
	*size = *max_records = 0;
	if (!b)
		b = new_buffer();
	if (!b)
		return;
	*bytes = b->bytes;
	*size = facts_cupti.buffer_bytes;
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	struct buffer *b;

	(void)context;
	(void)stream;
	(void)size;
	if (!bytes)
		return;
	b = (struct buffer *)(void *)(bytes - BUFFER_HEAD);
	b->valid = valid;
	b->delivered_ns = facts_now_ns();
	put(&window.delivered, b);
}

static void see(const CUpti_ActivityKernel10 *k, int64_t delivered_ns)
{
	if (seen_count == SEEN_MAX)
		facts_give_up("records", "more than there is room for");
	seen[seen_count++] = (struct facts_seen){.delivered_ns = delivered_ns,
						 .start_ns = k->start,
						 .end_ns = k->end,
						 .correlation = k->correlationId,
						 .grid = k->gridX};
}

void facts_window_read(void)
{
	struct buffer *b;

	while ((b = take(&window.delivered))) {
		CUpti_Activity *activity = NULL;

		while (b->valid &&
		       facts_cupti.cuptiActivityGetNextRecord(b->bytes, b->valid, &activity) == CUPTI_SUCCESS)
			if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
				see((const CUpti_ActivityKernel10 *)activity, b->delivered_ns);
		memset(b->bytes, 0, b->valid);
		put(&window.free, b);
	}
}

int facts_seen_count(void)
{
	return seen_count;
}

int facts_seen_with(uint32_t correlation)
{
	int count = 0;

	for (int i = 0; i < seen_count; i++)
		count += seen[i].correlation == correlation;
	return count;
}

void facts_seen_forget(void)
{
	seen_count = 0;
}

/* Attaching */

static void *keep_flushing(void *unused)
{
	static const struct timespec wait = {.tv_nsec = FLUSH_EVERY_NS};

	for (;;) {
		nanosleep(&wait, NULL);
		pthread_mutex_lock(&window.control);
		if (window.collects)
			facts_cupti.cuptiActivityFlushAll(0);
		pthread_mutex_unlock(&window.control);
	}
	return unused;
}

static void CUPTIAPI on_call(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)unused;
	(void)id;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return;
	if (call->callbackSite == CUPTI_API_ENTER)
		facts_correlation = call->correlationId;
	else if (finalizing && atomic_exchange(&window.finalize, false))
		window.finalized = facts_cupti.cuptiFinalize();
}

static bool set_attribute(CUpti_ActivityAttribute attribute, size_t bytes, void *value)
{
	return facts_cupti.cuptiActivitySetAttribute(attribute, &bytes, value) == CUPTI_SUCCESS;
}

static void subscribe(void)
{
	uint8_t cleared = 1;
	size_t buffers = window.device_buffers;

	FACTS_CUPTI_CALL(cuptiSubscribe, &facts_cupti.subscriber, on_call, NULL);
	window.subscribed = true;
	facts_cupti.own_clock = facts_cupti.cuptiActivityRegisterTimestampCallback(timestamp) == CUPTI_SUCCESS;
	if (!set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof(cleared), &cleared) ||
	    !set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof(buffers), &buffers))
		facts_say("attributes", -1, "CUPTI refuses one of them");
	FACTS_CUPTI_CALL(cuptiActivityRegisterCallbacks, on_request, on_complete);
}

void facts_window_subscribe(const struct facts_options *options)
{
	facts_cupti_open(options);
	pthread_mutex_lock(&window.control);
	window.device_buffers = options->device_buffers;
	subscribe();
	pthread_mutex_unlock(&window.control);
	if (!window.has_flusher && pthread_create(&window.flusher, NULL, keep_flushing, NULL))
		facts_give_up("flushes", "no thread");
	window.has_flusher = true;
}

void facts_window_callbacks(bool on)
{
#define CALLBACK_ID(symbol, name, version, twin) CUPTI_DRIVER_TRACE_CBID_##symbol,
	static const CUpti_CallbackId calls[] = {KC_HOOKS_LAUNCH(CALLBACK_ID) KC_HOOKS_TRANSFER(CALLBACK_ID)
						     CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
						 CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
#undef CALLBACK_ID

	pthread_mutex_lock(&window.control);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		facts_cupti.cuptiEnableCallback(on, facts_cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]);
	pthread_mutex_unlock(&window.control);
}

void facts_window_clones(bool on)
{
	pthread_mutex_lock(&window.control);
	FACTS_CUPTI_CALL(cuptiEnableCallback, on, facts_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
			 CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
	pthread_mutex_unlock(&window.control);
}

void facts_window_runtime_callbacks(bool on)
{
	static const CUpti_CallbackId calls[] = {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
						 CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000};

	pthread_mutex_lock(&window.control);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		FACTS_CUPTI_CALL(cuptiEnableCallback, on, facts_cupti.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
				 calls[i]);
	pthread_mutex_unlock(&window.control);
}

void facts_window_kinds(bool on)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
						   CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

	pthread_mutex_lock(&window.control);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		facts_check_cupti((on ? facts_cupti.cuptiActivityEnable : facts_cupti.cuptiActivityDisable)(kinds[i]),
				  on ? "cuptiActivityEnable" : "cuptiActivityDisable");
	if (!on)
		FACTS_CUPTI_CALL(cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	window.collects = on;
	pthread_mutex_unlock(&window.control);
}

void facts_window_unsubscribe(void)
{
	pthread_mutex_lock(&window.control);
	FACTS_CUPTI_CALL(cuptiUnsubscribe, facts_cupti.subscriber);
	window.subscribed = false;
	pthread_mutex_unlock(&window.control);
}

/* "it is recommended this API is invoked from the exit callsite of any of the CUDA Driver or Runtime API":
 * cuptiFinalize in cupti_activity.h. */
static void finalize_in_callback(void)
{
	if (!window.subscribed)
		subscribe();
	FACTS_CUPTI_CALL(cuptiEnableCallback, 1, facts_cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
			 CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
	window.finalized = CUPTI_ERROR_UNKNOWN;
	finalizing = true;
	atomic_store(&window.finalize, true);
	FACTS_CALL(cuCtxSynchronize);
	finalizing = false;
	if (atomic_exchange(&window.finalize, false))
		facts_give_up("cuptiFinalize", "the callback at the exit of cuCtxSynchronize did not come");
}

CUptiResult facts_window_finalize(bool in_callback)
{
	pthread_mutex_lock(&window.control);
	if (in_callback)
		finalize_in_callback();
	else
		window.finalized = facts_cupti.cuptiFinalize();
	window.subscribed = false;
	pthread_mutex_unlock(&window.control);
	return window.finalized;
}

void facts_window_attach(const struct facts_options *options)
{
	facts_window_subscribe(options);
	facts_window_clones(true);
	facts_window_callbacks(true);
	facts_window_kinds(true);
}

CUptiResult facts_window_detach(bool in_callback)
{
	facts_window_kinds(false);
	facts_window_read();
	facts_window_callbacks(false);
	return facts_window_finalize(in_callback);
}

/* Launches and records */

void facts_launch_noted(CUfunction function, CUstream stream, int grid, struct facts_launch *launch)
{
	facts_correlation = 0;
	launch->grid = grid;
	launch->begun_ns = facts_now_ns();
	facts_launch(function, stream, (unsigned)grid, 32, 0);
	launch->made_ns = facts_now_ns();
	launch->correlation = facts_correlation;
}

static int seen_by_id(const void *a, const void *b)
{
	const struct facts_seen *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

void facts_seen_sort(void)
{
	qsort(seen, (size_t)seen_count, sizeof(*seen), seen_by_id);
}

const struct facts_seen *facts_seen_at(int index)
{
	return &seen[index];
}

static int launch_by_id(const void *a, const void *b)
{
	const struct facts_launch *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static void judge_record(struct facts_judged *judged, const struct facts_launch *l, const struct facts_seen *s)
{
	bool timed = s->start_ns && s->end_ns >= s->start_ns;
	int64_t before, after;

	judged->other_grid += s->grid != l->grid;
	judged->without_times += !timed;
	if (!timed || !facts_cupti.own_clock)
		return;
	before = l->begun_ns - (int64_t)s->start_ns;
	after = (int64_t)s->end_ns - s->delivered_ns;
	judged->early += before > 0;
	judged->late += after > 0;
	judged->apart_ns = before > judged->apart_ns ? before : judged->apart_ns;
	judged->apart_ns = after > judged->apart_ns ? after : judged->apart_ns;
}

void facts_judge(struct facts_judged *judged, struct facts_launch *launches, int count)
{
	int r = 0;

	qsort(launches, (size_t)count, sizeof(*launches), launch_by_id);
	facts_seen_sort();
	judged->launches += count;
	for (int i = 0; i < count; i++) {
		int begin;

		if (!launches[i].correlation) {
			judged->without_id++;
			continue;
		}
		while (r < seen_count && seen[r].correlation < launches[i].correlation)
			r++;
		begin = r;
		while (r < seen_count && seen[r].correlation == launches[i].correlation)
			judge_record(judged, &launches[i], &seen[r++]);
		judged->lost += r == begin;
		judged->repeated += r > begin + 1;
	}
}

bool facts_all_right(const struct facts_judged *j)
{
	return j->launches && !j->without_id && !j->lost && !j->other_grid && !j->without_times && !j->repeated &&
	       j->apart_ns <= CLOCK_ERROR_NS;
}

void facts_say_judged(const char *name, const struct facts_judged *j)
{
	facts_say(name, -1,
		  "%d launches, %d without an id, %d without a record, %d with another's, %d with two; %d records "
		  "without times, %d start before the call, %d end after they were delivered, by %.1f µs at most",
		  j->launches, j->without_id, j->lost, j->other_grid, j->repeated, j->without_times, j->early, j->late,
		  (double)j->apart_ns / 1e3);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t facts_quantile(int64_t *values, int count, double part)
{
	qsort(values, (size_t)count, sizeof(*values), by_value);
	return values[(int)((count - 1) * part)];
}
