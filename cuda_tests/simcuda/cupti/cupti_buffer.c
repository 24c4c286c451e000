#include <string.h>

#include "cupti_private.h"

static void give_back(const struct cupti_buffer *buffer)
{
	if (buffer->bytes)
		buffer->complete(NULL, 0, buffer->bytes, buffer->size, buffer->used);
}

static bool room(const struct cupti_buffer *buffer, size_t bytes)
{
	return buffer->bytes && bytes <= buffer->size - buffer->used &&
	       (!buffer->max_records || buffer->records < buffer->max_records);
}

static void append(struct cupti_buffer *buffer, const void *record, size_t bytes)
{
	memcpy(buffer->bytes + buffer->used, record, bytes);
	buffer->used += bytes;
	buffer->records++;
}

/* Every Nth request is refused, as a client without memory would. */
static bool refused_by_fault(void)
{
	static _Atomic uint32_t requests;
	uint32_t every = cupti__faults()->cupti_null_buffer;

	return every && ++requests % every == 0;
}

/* An empty buffer from the client, or one without bytes: refused, or too small for the record. */
static struct cupti_buffer ask(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete,
			       size_t bytes)
{
	struct cupti_buffer buffer = {.complete = complete};

	if (!request || refused_by_fault())
		return buffer;
	request(&buffer.bytes, &buffer.size, &buffer.max_records);
	if (buffer.bytes && (buffer.size < bytes || (uintptr_t)buffer.bytes % CUPTI_RECORD_ALIGNMENT)) {
		give_back(&buffer);
		buffer.bytes = NULL;
	}
	return buffer;
}

/* Two threads may ask at once: the buffer of the slower one goes back with what it holds, its own record. */
void cupti__put(const void *record, size_t bytes)
{
	struct cupti *self = &cupti__self;
	struct cupti_buffer full, fresh;
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;

	pthread_mutex_lock(&self->lock);
	if (room(&self->current, bytes)) {
		append(&self->current, record, bytes);
		pthread_mutex_unlock(&self->lock);
		return;
	}
	full = self->current;
	self->current = (struct cupti_buffer){0};
	request = self->request;
	complete = self->complete;
	pthread_mutex_unlock(&self->lock);

	give_back(&full);
	fresh = ask(request, complete, bytes);
	if (!fresh.bytes) {
		atomic_fetch_add(&self->dropped, 1);
		return;
	}
	append(&fresh, record, bytes);
	pthread_mutex_lock(&self->lock);
	if (!self->current.bytes && self->complete == complete) {
		self->current = fresh;
		fresh.bytes = NULL;
	}
	pthread_mutex_unlock(&self->lock);
	give_back(&fresh);
}

void cupti__deliver(bool forced)
{
	struct cupti *self = &cupti__self;
	struct cupti_buffer buffer = {0};

	pthread_mutex_lock(&self->lock);
	if (self->current.used || forced) {
		buffer = self->current;
		self->current = (struct cupti_buffer){0};
	}
	pthread_mutex_unlock(&self->lock);
	give_back(&buffer);
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
					   CUpti_BuffersCallbackCompleteFunc complete)
{
	if (!request || !complete)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	cupti__deliver(true); /* to the former client */
	pthread_mutex_lock(&cupti__self.lock);
	cupti__self.request = request;
	cupti__self.complete = complete;
	pthread_mutex_unlock(&cupti__self.lock);
	return CUPTI_SUCCESS;
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
