/* cuStream*, and how work reaches a stream. */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <cupti_callbacks.h>
#include <generated_cuda_meta.h>
#include <stdlib.h>
#include <string.h>

#define OWN_STREAMS 16    /* contexts in which one thread can have a default stream of its own */
#define FIRST_STREAM_ID 7 /* CUPTI numbers the first context's legacy stream 7 */

struct own_streams {
	CUstream stream[OWN_STREAMS];
	unsigned n;
};

static __thread __attribute__((tls_model("initial-exec"))) struct own_streams own;
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void stream_free(CUstream stream)
{
	CUstream *link = &stream->context->streams;

	while (*link && *link != stream)
		link = &(*link)->next;
	if (*link)
		*link = stream->next;
	sim_op_release(stream->tail);
	free(stream->capture_tail);
	stream->magic = 0;
	free(stream);
}

void sim_stream_release(CUstream stream)
{
	if (stream->destroyed && stream->unfinished == 0)
		stream_free(stream);
}

static void stream_destroy(CUstream stream)
{
	sim_lock();
	sim_take_in();
	stream->destroyed = 1;
	sim_stream_release(stream);
	sim_unlock();
}

static void destroy_own(void *streams)
{
	struct own_streams *mine = streams;

	while (mine->n && !atomic_load(&sim.dead))
		stream_destroy(mine->stream[--mine->n]);
}

static void make_thread_end(void)
{
	pthread_key_create(&thread_end, destroy_own);
}

CUstream sim_stream_new(CUcontext context, uint32_t flags, int priority, int is_legacy)
{
	struct sim_device *device = context->device;
	CUstream stream = calloc(1, sizeof(*stream));
	int greatest = device->preset->greatest_priority;

	if (!stream)
		return NULL;
	priority = priority > 0 ? 0 : priority < greatest ? greatest : priority;
	stream->magic = SIM_STREAM;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority;
	stream->level = priority - greatest;
	stream->is_legacy = is_legacy;
	stream->id = FIRST_STREAM_ID + atomic_fetch_add(&sim.next_id, 1);
	sim_lock();
	stream->queue = device->next_queue[stream->level]++ % device->queues;
	stream->next = context->streams;
	context->streams = stream;
	sim_unlock();
	return stream;
}

static CUstream own_stream(CUcontext context)
{
	unsigned i;

	for (i = 0; i < own.n; i++)
		if (own.stream[i]->context == context)
			return own.stream[i];
	if (own.n == OWN_STREAMS)
		return NULL;
	pthread_once(&thread_end_once, make_thread_end);
	own.stream[own.n] = sim_stream_new(context, CU_STREAM_DEFAULT, 0, 0);
	if (!own.stream[own.n])
		return NULL;
	pthread_setspecific(thread_end, &own);
	return own.stream[own.n++];
}

CUstream sim_stream(CUstream handle, int per_thread)
{
	CUcontext context;

	if ((uintptr_t)handle > (uintptr_t)CU_STREAM_PER_THREAD)
		return handle->magic == SIM_STREAM ? handle : NULL;
	context = sim_context();
	if (!context)
		return NULL;
	if (handle == CU_STREAM_PER_THREAD || (!handle && per_thread))
		return own_stream(context);
	return context->legacy;
}

uint32_t simcuda_stream_id(void *context, void *handle, int per_thread)
{
	CUcontext of = context;
	CUstream stream = handle;

	if ((uintptr_t)handle > (uintptr_t)CU_STREAM_PER_THREAD)
		return stream->magic == SIM_STREAM ? stream->id : 0;
	of = of ? of : sim_context();
	if (!of || of->magic != SIM_CONTEXT)
		return 0;
	stream = handle == CU_STREAM_PER_THREAD || (!handle && per_thread) ? own_stream(of) : of->legacy;
	return stream ? stream->id : 0;
}

static CUresult no_stream(void)
{
	return sim_context() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_stream_do(CUstream stream, const struct sim_work *work)
{
	struct sim_op *op;

	if (!stream)
		return no_stream();
	if (stream->cig)
		return CUDA_SUCCESS; /* recorded in a list that nothing executes */
	if (atomic_load_explicit(&stream->capture, memory_order_relaxed))
		return sim_capture_work(stream, work);
	if (sim_failed())
		return sim_failed();
	op = sim_op_new(stream, work);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_enqueue(op);
	return CUDA_SUCCESS;
}

CUresult sim_stream_do_and_wait(CUstream stream, const struct sim_work *work)
{
	struct sim_op *op;

	if (!stream)
		return no_stream();
	if (atomic_load_explicit(&stream->capture, memory_order_relaxed))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (sim_failed())
		return sim_failed();
	op = sim_op_new(stream, work);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_fetch_add(&op->refs, 1);
	sim_enqueue(op);
	sim_lock();
	sim_wait_for(op);
	sim_unlock();
	sim_op_release(op);
	sim_deliver();
	return CUDA_SUCCESS;
}

CUresult sim_stream_wait(CUstream stream)
{
	if (!stream)
		return no_stream();
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	sim_lock();
	sim_take_in();
	sim_wait_for(stream->tail);
	sim_unlock();
	sim_deliver();
	return sim_failed();
}
SIM_API_PTSZ(cuStreamSynchronize, (CUstream stream), sim_stream_wait(sim_stream(stream, per_thread)))

static CUresult query(CUstream stream)
{
	CUresult result;

	if (!stream)
		return no_stream();
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	sim_lock();
	sim_advance_locked();
	result = sim_is_done(stream->tail) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	sim_unlock();
	sim_deliver();
	return sim_failed() ? sim_failed() : result;
}
SIM_API_PTSZ(cuStreamQuery, (CUstream stream), query(sim_stream(stream, per_thread)))

static void notify(CUpti_CallbackIdResource cbid, CUstream stream)
{
	struct simcuda_resource resource = {.cbid = cbid, .context = stream->context, .stream = stream};

	sim_notify(&resource);
}

static CUresult create(CUstream *out, unsigned flags, int priority)
{
	CUcontext context = sim_context();

	if (!out || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*out = sim_stream_new(context, flags, priority, 0);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	notify(CUPTI_CBID_RESOURCE_STREAM_CREATED, *out);
	return CUDA_SUCCESS;
}
SIM_API(cuStreamCreate, (CUstream * out, unsigned int flags), create(out, flags, 0))
SIM_API(cuStreamCreateWithPriority, (CUstream * out, unsigned int flags, int priority), create(out, flags, priority))

static CUresult destroy(CUstream stream)
{
	if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD || stream->magic != SIM_STREAM)
		return CUDA_ERROR_INVALID_HANDLE;
	notify(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream);
	stream_destroy(stream);
	return CUDA_SUCCESS;
}
SIM_API_WITH(cuStreamDestroy, (CUstream stream), TOLD(stream), destroy(stream))
SIM_API_WITH(cuStreamDestroy_v2, (CUstream stream), TOLD(stream), destroy(stream))

/* --- questions */

enum question { FLAGS, PRIORITY, CONTEXT, ID, DEVICE };

static CUresult ask(CUstream stream, enum question question, void *answer)
{
	if (!stream)
		return no_stream();
	if (!answer)
		return CUDA_ERROR_INVALID_VALUE;
	switch (question) {
	case FLAGS:
		*(unsigned *)answer = stream->flags;
		break;
	case PRIORITY:
		*(int *)answer = stream->priority;
		break;
	case CONTEXT:
		*(CUcontext *)answer = stream->context;
		break;
	case ID:
		*(unsigned long long *)answer = stream->id;
		break;
	case DEVICE:
		*(CUdevice *)answer = stream->context->device->ordinal;
		break;
	}
	return CUDA_SUCCESS;
}
SIM_API_PTSZ(cuStreamGetFlags, (CUstream stream, unsigned int *flags),
	     ask(sim_stream(stream, per_thread), FLAGS, flags))
SIM_API_PTSZ(cuStreamGetPriority, (CUstream stream, int *priority),
	     ask(sim_stream(stream, per_thread), PRIORITY, priority))
SIM_API_PTSZ(cuStreamGetCtx, (CUstream stream, CUcontext *context),
	     ask(sim_stream(stream, per_thread), CONTEXT, context))

/* There are no green contexts here, but for what SIMCUDA_GREEN pretends. */
static CUresult get_context(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
	CUresult result = ask(stream, CONTEXT, context);

	if (green)
		*green = !result && getenv("SIMCUDA_GREEN") ? (CUgreenCtx)stream->context : NULL;
	return result;
}
SIM_API_PTSZ(cuStreamGetCtx_v2, (CUstream stream, CUcontext *context, CUgreenCtx *green),
	     get_context(sim_stream(stream, per_thread), context, green))
SIM_API_PTSZ(cuStreamGetId, (CUstream stream, unsigned long long *id), ask(sim_stream(stream, per_thread), ID, id))
SIM_API_PTSZ(cuStreamGetDevice, (CUstream stream, CUdevice *device),
	     ask(sim_stream(stream, per_thread), DEVICE, device))

static CUresult get_attribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
	if (!stream)
		return no_stream();
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	memset(value, 0, sizeof(*value));
	if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value->priority = stream->priority;
	else if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
		value->syncPolicy = CU_SYNC_POLICY_AUTO;
	return CUDA_SUCCESS;
}
SIM_API_PTSZ(cuStreamGetAttribute, (CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue *value),
	     get_attribute(sim_stream(stream, per_thread), attribute, value))
/* The attributes that can be set (access policy window, synchronisation policy) have no effect on simulated time. */
SIM_API_PTSZ(cuStreamSetAttribute, (CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value),
	     ((void)attribute, !value                           ? CUDA_ERROR_INVALID_VALUE
			       : sim_stream(stream, per_thread) ? CUDA_SUCCESS
								: no_stream()))
SIM_API_PTSZ(cuStreamCopyAttributes, (CUstream to, CUstream from),
	     sim_stream(to, per_thread) && sim_stream(from, per_thread) ? CUDA_SUCCESS : no_stream())
SIM_API_PTSZ(cuStreamAttachMemAsync, (CUstream stream, CUdeviceptr address, size_t length, unsigned int flags),
	     ((void)length, (void)flags,
	      !address                         ? CUDA_ERROR_INVALID_VALUE
	      : sim_stream(stream, per_thread) ? CUDA_SUCCESS
					       : no_stream()))

/* --- operations of streams alone */

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags)
{
	struct sim_work work = {.kind = SIM_DO_WAIT, .event = event, .external = flags == CU_EVENT_WAIT_EXTERNAL};

	if (!event || event->magic != SIM_EVENT)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream && event->capture && !stream->capture && !work.external)
		return sim_capture_work(stream, &work); /* the stream joins the capture */
	return sim_stream_do(stream, &work);
}
SIM_API_PTSZ(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
	     wait_event(sim_stream(stream, per_thread), event, flags))

static CUresult add_callback(CUstream handle, int per_thread, CUstreamCallback callback, void *data)
{
	struct sim_work work = {.kind = SIM_DO_HOST, .host = {.callback = callback, .data = data, .stream = handle}};
	CUstream stream = sim_stream(handle, per_thread);

	if (!callback)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream && stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return sim_stream_do(stream, &work);
}
SIM_API_PTSZ(cuStreamAddCallback, (CUstream stream, CUstreamCallback callback, void *data, unsigned int flags),
	     flags ? CUDA_ERROR_INVALID_VALUE : add_callback(stream, per_thread, callback, data))

CUresult sim_launch_host(CUstream stream, CUhostFn function, void *data)
{
	struct sim_work work = {.kind = SIM_DO_HOST, .host = {.function = function, .data = data}};

	return function ? sim_stream_do(stream, &work) : CUDA_ERROR_INVALID_VALUE;
}
SIM_API_PTSZ(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *data),
	     sim_launch_host(sim_stream(stream, per_thread), function, data))
