/* cuCtx* and cuDevicePrimaryCtx*. */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <cupti_callbacks.h>
#include <generated_cuda_meta.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STACK_DEPTH 32
#define STACK_BYTES 1024
#define PRINTF_BYTES 1048576
#define MALLOC_BYTES 8388608

static __thread __attribute__((tls_model("initial-exec"))) struct {
	CUcontext stack[STACK_DEPTH];
	unsigned depth;
} thread;

static int is_context(CUcontext context)
{
	return context && context->magic == SIM_CONTEXT;
}

CUcontext sim_context(void)
{
	CUcontext context = thread.depth ? thread.stack[thread.depth - 1] : NULL;

	return context && context->alive ? context : NULL;
}

uint32_t simcuda_context_id(void *handle)
{
	CUcontext context = handle;

	return is_context(context) ? context->id : 0;
}

static void notify(CUpti_CallbackIdResource cbid, CUcontext context)
{
	struct simcuda_resource resource = {.cbid = cbid, .context = context};

	sim_notify(&resource);
}

static void take_time(void)
{
	struct timespec left = {.tv_sec = sim.context_ms / 1000, .tv_nsec = sim.context_ms % 1000 * 1000000l};

	while (sim.context_ms && nanosleep(&left, &left))
		;
}

static CUcontext context_new(struct sim_device *device, unsigned flags)
{
	CUcontext context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	take_time();
	context->magic = SIM_CONTEXT;
	context->id = atomic_fetch_add(&sim.next_context_id, 1) + 1;
	context->device = device;
	context->flags = flags;
	context->api_version = 3020;
	context->alive = 1;
	context->limit[CU_LIMIT_STACK_SIZE] = STACK_BYTES;
	context->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = PRINTF_BYTES;
	context->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = MALLOC_BYTES;
	context->legacy = sim_stream_new(context, 0, 0, 1);
	if (!context->legacy) {
		free(context);
		return NULL;
	}
	return context;
}

/* Waits for all work that was submitted before the call. */
CUresult sim_context_wait(CUcontext context)
{
	CUstream stream;
	struct sim_op **tails;
	size_t n = 0, i;

	sim_lock();
	sim_advance_locked();
	for (stream = context->streams; stream; stream = stream->next)
		n++;
	tails = calloc(n + 1, sizeof(*tails));
	if (!tails) {
		sim_unlock();
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (i = 0, stream = context->streams; stream; stream = stream->next)
		if (stream->tail && !sim_is_done(stream->tail)) {
			tails[i] = stream->tail;
			atomic_fetch_add(&tails[i++]->refs, 1);
		}
	n = i;
	for (i = 0; i < n; i++) {
		sim_wait_for(tails[i]);
		sim_op_release(tails[i]);
	}
	sim_unlock();
	free(tails);
	sim_deliver();
	return sim_failed();
}

/* Destroyed contexts stay in memory and are marked as dead, because the application may still hold their handles. */
static void context_end(CUcontext context)
{
	notify(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context);
	sim_context_wait(context);
	context->alive = 0;
	context->magic = 0;
}

static CUresult context_create(CUcontext *out, unsigned flags, CUdevice ordinal)
{
	struct sim_device *device = sim_device_get(ordinal);
	CUcontext context;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (thread.depth == STACK_DEPTH)
		return CUDA_ERROR_INVALID_VALUE;
	context = context_new(device, flags);
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	thread.stack[thread.depth++] = context;
	*out = context;
	notify(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context);
	return CUDA_SUCCESS;
}
SIM_API(cuCtxCreate_v2, (CUcontext * out, unsigned int flags, CUdevice device), context_create(out, flags, device))
SIM_API(cuCtxCreate_v3,
	(CUcontext * out, CUexecAffinityParam *affinity, int affinities, unsigned int flags, CUdevice device),
	((void)affinity, (void)affinities, context_create(out, flags, device)))
SIM_API(cuCtxCreate_v4, (CUcontext * out, CUctxCreateParams *params, unsigned int flags, CUdevice device),
	((void)params, context_create(out, flags, device)))

static CUresult context_destroy(CUcontext context)
{
	if (!is_context(context) || context->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	context_end(context);
	if (thread.depth && thread.stack[thread.depth - 1] == context)
		thread.depth--;
	return CUDA_SUCCESS;
}
SIM_API_WITH(cuCtxDestroy, (CUcontext context), TOLD(context), context_destroy(context))
SIM_API_WITH(cuCtxDestroy_v2, (CUcontext context), TOLD(context), context_destroy(context))

/* The old way to share a context: it ends with as many calls of cuCtxDetach as of cuCtxCreate and cuCtxAttach. */
static CUresult context_attach(CUcontext *out, unsigned flags)
{
	CUcontext context = sim_context();

	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	context->attached++;
	*out = context;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxAttach, (CUcontext * out, unsigned int flags), context_attach(out, flags))

static CUresult context_detach(CUcontext context)
{
	if (!is_context(context) || context != sim_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context->attached)
		return context_destroy(context);
	context->attached--;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxDetach, (CUcontext context), context_detach(context))

static CUresult set_current(CUcontext context)
{
	if (context && !is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (thread.depth)
		thread.depth--;
	if (context)
		thread.stack[thread.depth++] = context;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxSetCurrent, (CUcontext context), set_current(context))

static CUresult get_current(CUcontext *context)
{
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	*context = sim_context();
	return CUDA_SUCCESS;
}
SIM_API(cuCtxGetCurrent, (CUcontext * context), get_current(context))

static CUresult push_current(CUcontext context)
{
	if (!is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (thread.depth == STACK_DEPTH)
		return CUDA_ERROR_INVALID_VALUE;
	thread.stack[thread.depth++] = context;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxPushCurrent_v2, (CUcontext context), push_current(context))

static CUresult pop_current(CUcontext *context)
{
	if (!thread.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	thread.depth--;
	if (context)
		*context = thread.stack[thread.depth];
	return CUDA_SUCCESS;
}
SIM_API(cuCtxPopCurrent_v2, (CUcontext * context), pop_current(context))

static CUresult context_device(CUdevice *device, CUcontext context)
{
	context = context ? context : sim_context();
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = context->device->ordinal;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxGetDevice, (CUdevice * device), context_device(device, NULL))
SIM_API(cuCtxGetDevice_v2, (CUdevice * device, CUcontext context), context_device(device, context))

static CUresult synchronize(CUcontext context)
{
	context = context ? context : sim_context();
	return is_context(context) ? sim_context_wait(context) : CUDA_ERROR_INVALID_CONTEXT;
}
SIM_API(cuCtxSynchronize, (void), synchronize(NULL))
SIM_API(cuCtxSynchronize_v2, (CUcontext context), synchronize(context))

static CUresult api_version(CUcontext context, unsigned *version)
{
	context = context ? context : sim_context();
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = context->api_version;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxGetApiVersion, (CUcontext context, unsigned int *version), api_version(context, version))

static CUresult context_id(CUcontext context, unsigned long long *id)
{
	context = context ? context : sim_context();
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = context->id;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxGetId, (CUcontext context, unsigned long long *id), context_id(context, id))

static CUresult get_flags(unsigned *flags)
{
	CUcontext context = sim_context();

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*flags = context->flags;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxGetFlags, (unsigned int *flags), get_flags(flags))

static CUresult set_flags(unsigned flags)
{
	CUcontext context = sim_context();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	context->flags = flags;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxSetFlags, (unsigned int flags), set_flags(flags))

static CUresult limit(CUlimit which, size_t *get, const size_t *set)
{
	CUcontext context = sim_context();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (which >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (!get && !set)
		return CUDA_ERROR_INVALID_VALUE;
	if (set)
		context->limit[which] = *set;
	else
		*get = context->limit[which];
	return CUDA_SUCCESS;
}
SIM_API(cuCtxGetLimit, (size_t * value, CUlimit which), limit(which, value, NULL))
SIM_API(cuCtxSetLimit, (CUlimit which, size_t value), limit(which, NULL, &value))

static CUresult priority_range(int *least, int *greatest)
{
	CUcontext context = sim_context();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = context->device->preset->greatest_priority;
	return CUDA_SUCCESS;
}
SIM_API(cuCtxGetStreamPriorityRange, (int *least, int *greatest), priority_range(least, greatest))

static CUresult cache_config(CUfunc_cache *config)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = CU_FUNC_CACHE_PREFER_NONE;
	return sim_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
SIM_API(cuCtxGetCacheConfig, (CUfunc_cache * config), cache_config(config))
SIM_API(cuCtxSetCacheConfig, (CUfunc_cache config),
	((void)config, sim_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT))
SIM_API(cuCtxResetPersistingL2Cache, (void), sim_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT)

static CUresult enable_peer(CUcontext peer, unsigned flags)
{
	CUcontext context = sim_context();

	if (!context || !is_context(peer))
		return CUDA_ERROR_INVALID_CONTEXT;
	return flags || peer->device == context->device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
SIM_API(cuCtxEnablePeerAccess, (CUcontext peer, unsigned int flags), enable_peer(peer, flags))
SIM_API(cuCtxDisablePeerAccess, (CUcontext peer), enable_peer(peer, 0))

/* --- primary contexts */

static CUresult primary_retain(CUcontext *out, CUdevice ordinal)
{
	struct sim_device *device = sim_device_get(ordinal);
	int created = 0;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&sim.objects);
	if (!device->primary) {
		device->primary = context_new(device, device->primary_flags);
		created = device->primary != NULL;
		if (created)
			device->primary->is_primary = 1;
	}
	*out = device->primary;
	device->primary_refs += *out != NULL;
	pthread_mutex_unlock(&sim.objects);
	if (created)
		notify(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *out);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
SIM_API(cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice device), primary_retain(out, device))

static CUresult primary_drop(CUdevice ordinal, int all)
{
	struct sim_device *device = sim_device_get(ordinal);
	CUcontext context = NULL;
	CUresult result = CUDA_SUCCESS;

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&sim.objects);
	if (!device->primary && !all)
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (device->primary && (all || --device->primary_refs == 0)) {
		context = device->primary;
		device->primary = NULL;
		device->primary_refs = 0;
	}
	pthread_mutex_unlock(&sim.objects);
	if (context)
		context_end(context);
	return result;
}
SIM_API_WITH(cuDevicePrimaryCtxRelease_v2, (CUdevice device), TOLD(device), primary_drop(device, 0))
SIM_API_WITH(cuDevicePrimaryCtxReset_v2, (CUdevice device), TOLD(device), primary_drop(device, 1))

static CUresult primary_set_flags(CUdevice ordinal, unsigned flags)
{
	struct sim_device *device = sim_device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	device->primary_flags = flags;
	if (device->primary)
		device->primary->flags = flags;
	return CUDA_SUCCESS;
}
SIM_API(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned int flags), primary_set_flags(device, flags))

static CUresult primary_state(CUdevice ordinal, unsigned *flags, int *active)
{
	struct sim_device *device = sim_device_get(ordinal);

	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = device->primary_flags;
	*active = device->primary != NULL;
	return CUDA_SUCCESS;
}
SIM_API(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int *flags, int *active),
	primary_state(device, flags, active))
