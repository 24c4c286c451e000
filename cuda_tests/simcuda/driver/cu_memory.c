/* cuMem*: allocation, host memory, managed memory, pools. */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>

#define PITCH_ALIGNMENT 512
#define DEVICE CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
#define PINNED CUPTI_ACTIVITY_MEMORY_KIND_PINNED
#define MANAGED CUPTI_ACTIVITY_MEMORY_KIND_MANAGED

struct CUmemPoolHandle_st {
	CUdevice device;
	cuuint64_t attribute[CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1];
};

static struct CUmemPoolHandle_st default_pool[SIM_DEVICES_MAX];

SIM_API(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes), sim_allocate(address, bytes, DEVICE, 0))

static CUresult allocate_pitch(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
	return sim_allocate(address, *pitch * height, DEVICE, 0);
}
SIM_API(cuMemAllocPitch_v2, (CUdeviceptr * address, size_t *pitch, size_t width, size_t height, unsigned int element),
	allocate_pitch(address, pitch, width, height, element))

static CUresult allocate_host(void **pointer, size_t bytes, unsigned flags)
{
	CUdeviceptr address;
	CUresult result;

	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_allocate(&address, bytes, PINNED, flags);
	if (!result)
		*pointer = (void *)(uintptr_t)address;
	return result;
}
SIM_API(cuMemAllocHost_v2, (void **pointer, size_t bytes), allocate_host(pointer, bytes, 0))
SIM_API(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned int flags), allocate_host(pointer, bytes, flags))
SIM_API(cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned int flags),
	flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ? sim_allocate(address, bytes, MANAGED, flags)
								     : CUDA_ERROR_INVALID_VALUE)

/* Programming guide: freeing waits for the work that may use the memory. */
static CUresult release(const void *pointer)
{
	struct sim_range range;

	if (!pointer)
		return CUDA_SUCCESS;
	if (!sim_range_of(pointer, &range) || range.base != pointer || range.owner)
		return CUDA_ERROR_INVALID_VALUE;
	if (range.context->magic == SIM_CONTEXT)
		sim_context_wait(range.context);
	return sim_deallocate(pointer);
}
SIM_API(cuMemFree_v2, (CUdeviceptr address), release((void *)(uintptr_t)address))
SIM_API(cuMemFreeHost, (void *pointer), release(pointer))

static CUresult memory_info(size_t *available, size_t *total)
{
	CUcontext context = sim_context();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (total)
		*total = context->device->preset->memory_bytes;
	if (available)
		*available = context->device->preset->memory_bytes - atomic_load(&context->device->memory_used);
	return CUDA_SUCCESS;
}
SIM_API(cuMemGetInfo_v2, (size_t * available, size_t *total), memory_info(available, total))

static CUresult host_device_pointer(CUdeviceptr *address, void *pointer)
{
	struct sim_range range;

	if (!address || !sim_range_of(pointer, &range) || range.kind == DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*address = (CUdeviceptr)(uintptr_t)pointer;
	return CUDA_SUCCESS;
}
SIM_API(cuMemHostGetDevicePointer_v2, (CUdeviceptr * address, void *pointer, unsigned int flags),
	((void)flags, host_device_pointer(address, pointer)))

static CUresult host_flags(unsigned *flags, void *pointer)
{
	struct sim_range range;

	if (!flags || !sim_range_of(pointer, &range) || range.kind != PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = range.flags;
	return CUDA_SUCCESS;
}
SIM_API(cuMemHostGetFlags, (unsigned int *flags, void *pointer), host_flags(flags, pointer))

/* Managed memory is host memory here: advice and prefetching have no effect. */
static CUresult known_address(CUdeviceptr address, size_t bytes)
{
	struct sim_range range;

	return bytes && sim_range_of((void *)(uintptr_t)address, &range) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult prefetch(CUdeviceptr address, size_t bytes, CUstream stream)
{
	struct sim_work work = {.kind = SIM_DO_NOTHING};
	CUresult result = known_address(address, bytes);

	return result ? result : sim_stream_do(stream, &work);
}
SIM_API_PTSZ(cuMemPrefetchAsync, (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream),
	     ((void)device, prefetch(address, bytes, sim_stream(stream, per_thread))))
SIM_API_PTSZ(cuMemPrefetchAsync_v2,
	     (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags, CUstream stream),
	     ((void)location, (void)flags, prefetch(address, bytes, sim_stream(stream, per_thread))))
SIM_API(cuMemAdvise, (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device),
	((void)advice, (void)device, known_address(address, bytes)))
SIM_API(cuMemAdvise_v2, (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location),
	((void)advice, (void)location, known_address(address, bytes)))

/* --- stream-ordered allocation */

static CUresult allocate_async(CUdeviceptr *address, size_t bytes, CUstream stream)
{
	struct sim_work work = {.kind = SIM_DO_NOTHING};
	CUresult result;

	if (stream && stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	result = sim_allocate(address, bytes, DEVICE, 0);
	return result ? result : sim_stream_do(stream, &work);
}
SIM_API_PTSZ(cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream),
	     allocate_async(address, bytes, sim_stream(stream, per_thread)))
SIM_API_PTSZ(cuMemAllocFromPoolAsync, (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream),
	     pool ? allocate_async(address, bytes, sim_stream(stream, per_thread)) : CUDA_ERROR_INVALID_VALUE)

static CUresult free_async(CUdeviceptr address, CUstream stream)
{
	struct sim_work work = {.kind = SIM_DO_FREE, .address = address};
	struct sim_range range;

	if (stream && stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!sim_range_of((void *)(uintptr_t)address, &range) || (uintptr_t)range.base != address)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_stream_do(stream, &work);
}
SIM_API_PTSZ(cuMemFreeAsync, (CUdeviceptr address, CUstream stream),
	     free_async(address, sim_stream(stream, per_thread)))

static CUresult pool_of(CUmemoryPool *pool, CUdevice device)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	default_pool[device].device = device;
	*pool = &default_pool[device];
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device), pool_of(pool, device))
SIM_API(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device), pool_of(pool, device))
SIM_API(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool),
	!pool                    ? CUDA_ERROR_INVALID_VALUE
	: sim_device_get(device) ? CUDA_SUCCESS
				 : CUDA_ERROR_INVALID_DEVICE)

static CUresult pool_create(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	if (!pool || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(properties->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = calloc(1, sizeof(**pool));
	if (!*pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*pool)->device = properties->location.id;
	return CUDA_SUCCESS;
}
SIM_API(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *properties), pool_create(pool, properties))

static CUresult pool_destroy(CUmemoryPool pool)
{
	if (!pool || (pool >= default_pool && pool < default_pool + SIM_DEVICES_MAX))
		return CUDA_ERROR_INVALID_VALUE;
	free(pool);
	return CUDA_SUCCESS;
}
SIM_API(cuMemPoolDestroy, (CUmemoryPool pool), pool_destroy(pool))
SIM_API(cuMemPoolTrimTo, (CUmemoryPool pool, size_t bytes),
	((void)bytes, pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))

/* The reuse switches are ints, thresholds and counts cuuint64_t. */
static CUresult pool_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value, int set)
{
	cuuint64_t *held;
	size_t bytes;

	if (!pool || !value || attribute < 1 || attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	held = &pool->attribute[attribute];
	bytes = attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? sizeof(int) : sizeof(cuuint64_t);
	memcpy(set ? (void *)held : value, set ? value : (void *)held, bytes);
	return CUDA_SUCCESS;
}
SIM_API(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
	pool_attribute(pool, attribute, value, 0))
SIM_API(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
	pool_attribute(pool, attribute, value, 1))

/* What is allocated here is memory of the host, which every simulated device may access. */
static CUresult pool_access(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	size_t i;

	if (!pool || !access || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < count; i++) {
		if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			return CUDA_ERROR_INVALID_VALUE;
		if (!sim_device_get(access[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
	}
	return CUDA_SUCCESS;
}
SIM_API(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *access, size_t count),
	pool_access(pool, access, count))

/* No node of a graph allocates memory here, so none is used; setting a high-water mark to 0 changes nothing. */
static CUresult graph_memory(CUdevice device, CUgraphMem_attribute attribute, void *value, int set)
{
	if (!sim_device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || (unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	if (!set)
		*(cuuint64_t *)value = 0;
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceGetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attribute, void *value),
	graph_memory(device, attribute, value, 0))
SIM_API(cuDeviceSetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attribute, void *value),
	graph_memory(device, attribute, value, 1))
