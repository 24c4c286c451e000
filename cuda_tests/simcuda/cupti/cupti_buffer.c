#include <stdlib.h>
#include <string.h>

#include "cupti_private.h"

/*
 * "By default, CUPTI will request activity buffers separately for each thread that
 * generates activity records": CUPTI's release notes, CUDA 13.0.
 */
uint64_t cupti__thread(void)
{
	static _Atomic uint64_t threads;
	static __thread uint64_t number;

	if (!cupti__per_thread())
		return 0;
	if (!number)
		number = atomic_fetch_add(&threads, 1) + 1;
	return number;
}

static void give_back(const struct cupti_buffer *buffer)
{
	buffer->complete(NULL, 0, buffer->bytes, buffer->size, buffer->used);
}

/* Into memory that should be zero, a word at a time: all records consist of whole ones. */
static void write_record(uint8_t *to, const void *record, size_t bytes)
{
	const uint8_t *from = record;
	uint64_t there, word;

	for (size_t i = 0; i < bytes; i += sizeof(word)) {
		memcpy(&there, to + i, sizeof(there));
		memcpy(&word, from + i, sizeof(word));
		there |= word;
		memcpy(to + i, &there, sizeof(there));
	}
}

static bool has_room(const struct cupti_buffer *buffer, size_t bytes)
{
	return bytes <= buffer->size - buffer->used && (!buffer->records_max || buffer->records < buffer->records_max);
}

/* Every Nth request is refused, as a client without memory would. */
static bool refused_by_fault(void)
{
	static _Atomic uint32_t requests;
	uint32_t every = cupti__faults()->cupti_null_buffer;

	return every && ++requests % every == 0;
}

/*
 * By default CUPTI clears a buffer here, "in the main thread". A client that says its buffers
 * come zeroed is believed: of one that does not, "the activity buffer may contain some
 * uninitialized values" (cupti_activity.h). Here what was in it mixes with the records.
 */
static void accept_buffer(const struct cupti_buffer *buffer)
{
	bool clears = !cupti__come_zeroed();

	if (clears)
		memset(buffer->bytes, 0, buffer->size);
	cupti__self.driver.count_buffer(clears);
}

/* "According to NV ... null pointer ... rejection in 12.9+. For versions lower ... a segfault":
 * github.com/pytorch/kineto/issues/1275. Written as a clearing of the buffer would. */
__attribute__((no_sanitize("undefined"))) static void take_refusal(uint8_t *volatile refused)
{
	if (cupti__version() < CUPTI_VERSION_12_9)
		*(volatile uint8_t *)refused = 0;
}

/* An empty buffer from the client. Null: refused, or too small for the record. */
static struct cupti_buffer *ask(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete,
				size_t bytes)
{
	struct cupti_buffer *buffer;

	if (!request || refused_by_fault())
		return NULL;
	buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return NULL;
	buffer->complete = complete;
	request(&buffer->bytes, &buffer->size, &buffer->records_max);
	if (buffer->bytes && buffer->size >= bytes && (uintptr_t)buffer->bytes % CUPTI_RECORD_ALIGNMENT == 0) {
		accept_buffer(buffer);
		return buffer;
	}
	if (buffer->bytes)
		give_back(buffer);
	else
		take_refusal(buffer->bytes);
	free(buffer);
	return NULL;
}

/* lock held */
static void close_buffer(struct cupti_buffer *buffer)
{
	buffer->full = true;
	cupti__wake_worker();
}

/* lock held, but not while the client is asked. A buffer for callbacks that were replaced meanwhile takes one record.
 */
static struct cupti_buffer *request_buffer(uint64_t thread, size_t bytes)
{
	struct cupti *self = &cupti__self;
	CUpti_BuffersCallbackRequestFunc request = self->request;
	CUpti_BuffersCallbackCompleteFunc complete = self->complete;
	struct cupti_buffer *buffer;

	pthread_mutex_unlock(&self->lock);
	buffer = ask(request, complete, bytes);
	pthread_mutex_lock(&self->lock);
	if (!buffer)
		return NULL;
	buffer->thread = thread;
	buffer->next = self->buffers;
	self->buffers = buffer;
	if (self->complete != complete)
		close_buffer(buffer);
	return buffer;
}

/* lock held, but not while the client is asked */
static struct cupti_buffer *buffer_with_room(uint64_t thread, size_t bytes)
{
	struct cupti_buffer *buffer = cupti__self.buffers;

	while (buffer && (buffer->full || buffer->thread != thread))
		buffer = buffer->next;
	if (buffer && has_room(buffer, bytes))
		return buffer;
	if (buffer)
		close_buffer(buffer);
	return request_buffer(thread, bytes);
}

/* lock held */
static void append(struct cupti_buffer *buffer, const void *record, size_t bytes)
{
	write_record(buffer->bytes + buffer->used, record, bytes);
	buffer->used += bytes;
	buffer->records++;
	if (buffer->records == buffer->records_max)
		close_buffer(buffer);
}

bool cupti__put(uint64_t thread, const void *record, size_t bytes, struct simcuda_place *place)
{
	struct cupti *self = &cupti__self;
	struct cupti_buffer *buffer;

	pthread_mutex_lock(&self->lock);
	buffer = buffer_with_room(thread, bytes);
	if (buffer && place) {
		place->buffer = buffer;
		place->offset = buffer->used;
		buffer->incomplete++;
	}
	if (buffer)
		append(buffer, record, bytes);
	else
		atomic_fetch_add(&self->dropped, 1);
	pthread_mutex_unlock(&self->lock);
	return buffer != NULL;
}

/* lock held */
static void one_less_incomplete(struct cupti_buffer *buffer)
{
	buffer->incomplete--;
	if (buffer->incomplete)
		return;
	if (buffer->returned)
		free(buffer);
	else if (buffer->full)
		cupti__wake_worker();
}

/* A record that a forced flush returned incomplete is not delivered again. */
void cupti__complete(const struct simcuda_place *place, const void *record, size_t bytes)
{
	struct cupti_buffer *buffer = place->buffer;

	pthread_mutex_lock(&cupti__self.lock);
	if (!buffer->returned)
		write_record(buffer->bytes + place->offset, record, bytes);
	one_less_incomplete(buffer);
	pthread_mutex_unlock(&cupti__self.lock);
}

static bool is_due(const struct cupti_buffer *buffer, enum cupti_due due)
{
	return due == CUPTI_DUE_ALL || (!buffer->incomplete && (buffer->full || due == CUPTI_DUE_COMPLETE));
}

/* lock held. Returns the oldest first. Each buffer taken counts one record more as incomplete, so that it stays until
 * it is given back. */
static struct cupti_buffer *take_due(enum cupti_due due)
{
	struct cupti_buffer *taken = NULL, **link = &cupti__self.buffers;

	while (*link) {
		struct cupti_buffer *buffer = *link;

		if (!is_due(buffer, due)) {
			link = &buffer->next;
			continue;
		}
		*link = buffer->next;
		buffer->returned = true;
		buffer->incomplete++;
		buffer->next = taken;
		taken = buffer;
	}
	return taken;
}

static __thread unsigned returns; /* that this thread is in: its client may flush while it gets a buffer back */

void cupti__return_buffers(enum cupti_due due)
{
	struct cupti *self = &cupti__self;
	struct cupti_buffer *buffer, *next;

	returns++;
	pthread_mutex_lock(&self->lock);
	buffer = take_due(due);
	self->returning++;
	pthread_mutex_unlock(&self->lock);
	for (; buffer; buffer = next) {
		next = buffer->next;
		give_back(buffer);
		pthread_mutex_lock(&self->lock);
		one_less_incomplete(buffer);
		pthread_mutex_unlock(&self->lock);
	}
	pthread_mutex_lock(&self->lock);
	self->returning--;
	pthread_cond_broadcast(&self->returned);
	pthread_mutex_unlock(&self->lock);
	returns--;
}

void cupti__wait_for_returns(void)
{
	pthread_mutex_lock(&cupti__self.lock);
	while (!returns && cupti__self.returning)
		pthread_cond_wait(&cupti__self.returned, &cupti__self.lock);
	pthread_mutex_unlock(&cupti__self.lock);
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
	(void)context, (void)stream; /* the queue is global */
	if (!dropped)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	*dropped = atomic_exchange(&cupti__self.dropped, 0);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
	uint8_t *next = buffer;
	size_t bytes;

	if (!buffer || !record)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	if (*record) {
		bytes = cupti__record_bytes((*record)->kind);
		if (!bytes)
			return cupti__result(CUPTI_ERROR_INVALID_KIND);
		next = (uint8_t *)*record + bytes;
	}
	if (next >= buffer + valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED; /* the end: no error worth keeping */
	bytes = cupti__record_bytes(((CUpti_Activity *)next)->kind);
	if (!bytes || bytes > (size_t)(buffer + valid_bytes - next))
		return cupti__result(CUPTI_ERROR_INVALID_KIND);
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}
