/* CUPTI's requests for buffers, and what it returns in them. */
#define KC_WITH_CUPTI
#include "cupti_client.h"
#include "shim/entry/profiler.h"
#include "measuring.h"

/* The rate of the process counts where one buffer serves all threads, and where it is not a launching thread that
 * CUPTI asks on. */
static uint32_t recent_records(void)
{
	int64_t now_ns = kc__now_ns();
	uint32_t records;

	if (kc__cupti.buffer_per_thread && kc__thread.recorded != kc__thread.rate.since)
		return kc__launch_rate(&kc__thread.rate, kc__thread.recorded, now_ns);
	pthread_mutex_lock(&kc__cupti.rate_lock);
	records = kc__launch_rate(&kc__cupti.rate, kc_journal_claimed(kc__shim.journal), now_ns);
	pthread_mutex_unlock(&kc__cupti.rate_lock);
	return records;
}

/* The kernels of a graph come at once. */
static uint32_t expected_records(void)
{
	uint32_t records = recent_records();

	if (kc__thread.graph_kernels <= records)
		return records;
	return kc__thread.graph_kernels < UINT32_MAX ? (uint32_t)kc__thread.graph_kernels : UINT32_MAX;
}

/* In a child that no handler of fork() ran in, our locks may be held by a thread that only the parent has. */
static bool in_parents_copy(void)
{
	return !atomic_load_explicit(&kc__shim.ours, memory_order_relaxed);
}

/* "The callback function can decline the request by setting *buffer to NULL" (cupti_activity.h): before 12.9 CUPTI then
 * writes to address 0, github.com/pytorch/kineto/issues/1275. */
void CUPTIAPI kc__cupti_buffer_requested(uint8_t **bytes, size_t *size, size_t *max_records)
{
	bool parents = in_parents_copy();

	*size = 0;
	*max_records = 0;
	*bytes = parents ? NULL : kc__buffer_take(expected_records(), size);
	if (!*bytes && kc__cupti.version < KC__CUPTI_12_9)
		*bytes = kc__buffer_take_excess(!parents, size);
}

/* Any client may read a buffer here: CUPTI's documentation. */
static void drop_excess(uint8_t *bytes, size_t valid, bool readable)
{
	CUpti_Activity *record = NULL;
	uint64_t records = 0;

	while (readable && valid && kc__cupti.cuptiActivityGetNextRecord(bytes, valid, &record) == CUPTI_SUCCESS)
		records++;
	atomic_fetch_add_explicit(&kc__cupti.dropped, records, memory_order_relaxed);
	kc__buffer_drop_excess(bytes);
}

/* One that the application's profiler left with CUPTI. */
static void give_to_profiler(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	struct kc__profiler_told told;

	kc__profiler_told(&told);
	if (told.completed)
		((CUpti_BuffersCallbackCompleteFunc)told.completed)(context, stream, bytes, size, valid);
}

void CUPTIAPI kc__cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	bool readable;

	if (!bytes || in_parents_copy())
		return;
	if (!kc__buffer_is_ours(bytes))
		give_to_profiler(context, stream, bytes, size, valid);
	else if (kc__buffer_is_excess(bytes, &readable))
		drop_excess(bytes, valid, readable);
	else
		kc__buffer_delivered(bytes, valid, context, stream,
				     atomic_load_explicit(&kc__cupti.forcing, memory_order_relaxed), kc__now_ns());
}

/* Records */

static void ask_dropped(const struct kc__buffer *b)
{
	size_t n = 0;

	if (kc__cupti.cuptiActivityGetNumDroppedRecords(b->context, b->stream, &n) == CUPTI_SUCCESS && n)
		atomic_fetch_add_explicit(&kc__cupti.dropped, n, memory_order_relaxed);
}

static CUpti_Activity *next_record(struct kc__buffer *buffer, CUpti_Activity *after)
{
	return buffer->valid_bytes && kc__cupti.cuptiActivityGetNextRecord(kc__buffer_at(buffer), buffer->valid_bytes,
									   &after) == CUPTI_SUCCESS
		   ? after
		   : NULL;
}

/* CUPTI takes the device's times to the clock that it was given. Where it has its own, the time of day, that may run
 * slower or faster than ours by 0.05 %, so by 10 ms in 20 s between two comparisons. */
int64_t kc__cupti_clock_error_ns(void)
{
	return atomic_load_explicit(&kc__cupti.our_clock, memory_order_relaxed) ? 100000 : 10000000;
}

static void read_buffer(struct kc__buffer *buffer, void (*fn)(const struct kc__record *record, void *arg), void *arg)
{
	int64_t offset_ns = atomic_load_explicit(&kc__cupti.clock_offset_ns, memory_order_relaxed);
	int64_t latest_ns = buffer->delivered_ns + kc__cupti_clock_error_ns();
	CUpti_Activity *activity = NULL;
	struct kc__record record;

	while ((activity = next_record(buffer, activity))) {
		if (!kc__cupti_read(activity, offset_ns, &record) || (!record.start_ns && buffer->forced))
			continue;
		kc__device_buffers_look(&record);
		if (record.end_ns > latest_ns)
			record.start_ns = record.end_ns = 0;
		fn(&record, arg);
	}
}

/* Its records count with those that CUPTI has dropped. */
static void drop_buffer(struct kc__buffer *buffer)
{
	CUpti_Activity *activity = NULL;
	uint64_t records = 0;

	while ((activity = next_record(buffer, activity)))
		records++;
	atomic_fetch_add_explicit(&kc__cupti.dropped, records, memory_order_relaxed);
}

/* Each buffer is ready to be filled again before the next one is read. */
void kc__cupti_drain(void (*fn)(const struct kc__record *record, void *arg), void *arg)
{
	int64_t now_ns = kc__now_ns();
	struct kc__buffer *buffer;
	size_t bytes = 0;

	while (bytes < kc__cupti.most_bytes && (buffer = kc__buffer_next_delivered())) {
		if (kc__buffers_waited(now_ns - buffer->delivered_ns, now_ns) && !atomic_load(&kc__shim.exit_ns)) {
			drop_buffer(buffer);
		} else {
			bytes += buffer->valid_bytes;
			read_buffer(buffer, fn, arg);
		}
		ask_dropped(buffer);
		kc__buffer_give_back(buffer);
	}
	if (kc__cupti.handle)
		kc__buffers_prepare();
	if (kc__buffers_exhausted())
		kc__say(KC_MESSAGE_BUFFERS_FULL, NULL);
}

void kc__cupti_read_at_most(size_t bytes)
{
	kc__cupti.most_bytes = bytes;
}

bool kc__cupti_has_records(void)
{
	return kc__buffers_wait();
}

uint64_t kc__cupti_dropped(void)
{
	return atomic_load_explicit(&kc__cupti.dropped, memory_order_relaxed);
}
