/*
 * cuMemcpy*. Synchronisation as in "API synchronization behavior" of the driver
 * API's manual: what touches pageable memory is staged or waited for.
 */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>

#define STAGED_MAX_BYTES (4 * 1024 * 1024) /* an asynchronous copy of more bytes from pageable memory waits */

static CUDA_MEMCPY3D line(CUmemorytype to_type, void *to, CUmemorytype from_type, const void *from, size_t bytes)
{
	CUDA_MEMCPY3D box = {.WidthInBytes = bytes, .Height = 1, .Depth = 1};

	box.dstMemoryType = to_type;
	box.dstHost = to;
	box.dstDevice = (CUdeviceptr)(uintptr_t)to;
	box.srcMemoryType = from_type;
	box.srcHost = from;
	box.srcDevice = (CUdeviceptr)(uintptr_t)from;
	return box;
}

static void *pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}

static CUresult copy_sync(const CUDA_MEMCPY3D *box, CUstream stream)
{
	struct sim_work work;
	CUresult result = stream ? sim_copy_work(&work, box) : CUDA_ERROR_INVALID_CONTEXT;

	if (result || !work.copy.width_bytes || !work.copy.height || !work.copy.depth)
		return result;
	if (sim_is_device_copy(sim_copy_kind(work.copy.from.kind, work.copy.to.kind)))
		return sim_stream_do(stream, &work); /* between device memories: the call does not wait */
	return sim_stream_do_and_wait(stream, &work);
}

/* The application may change pageable memory as soon as the call has returned. */
static int stage(struct sim_copy *copy)
{
	size_t bytes = copy->width_bytes * copy->height * copy->depth;
	struct sim_copy there = *copy;

	if (bytes > STAGED_MAX_BYTES)
		return 0;
	copy->staged = malloc(bytes);
	if (!copy->staged)
		return 0;
	there.to.base = copy->staged;
	there.to.pitch = copy->width_bytes;
	there.to.slice = copy->width_bytes * copy->height;
	sim_copy_now(&there);
	copy->from.base = there.to.base;
	copy->from.pitch = there.to.pitch;
	copy->from.slice = there.to.slice;
	return 1;
}

static CUresult copy_async(const CUDA_MEMCPY3D *box, CUstream stream)
{
	struct sim_work work;
	CUresult result = stream ? sim_copy_work(&work, box) : CUDA_ERROR_INVALID_HANDLE;

	if (result || !work.copy.width_bytes || !work.copy.height || !work.copy.depth)
		return result;
	work.copy.async = 1;
	if (stream->capture)
		return sim_stream_do(stream, &work);
	if (work.copy.to.kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE)
		return sim_stream_do_and_wait(stream, &work);
	if (work.copy.from.kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE && !stage(&work.copy))
		return sim_stream_do_and_wait(stream, &work);
	return sim_stream_do(stream, &work);
}

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define ANY CU_MEMORYTYPE_UNIFIED

static CUresult line_sync(CUmemorytype to_type, void *to, CUmemorytype from_type, const void *from, size_t bytes,
			  int per_thread)
{
	CUDA_MEMCPY3D box = line(to_type, to, from_type, from, bytes);

	return copy_sync(&box, sim_stream(NULL, per_thread));
}
SIM_API_PTDS(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
	     line_sync(ANY, pointer(to), ANY, pointer(from), bytes, per_thread))
SIM_API_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes),
	     line_sync(DEVICE, pointer(to), HOST, from, bytes, per_thread))
SIM_API_PTDS(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes),
	     line_sync(HOST, to, DEVICE, pointer(from), bytes, per_thread))
SIM_API_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
	     line_sync(DEVICE, pointer(to), DEVICE, pointer(from), bytes, per_thread))
SIM_API_PTDS(cuMemcpyPeer,
	     (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes),
	     ((void)to_context, (void)from_context,
	      line_sync(DEVICE, pointer(to), DEVICE, pointer(from), bytes, per_thread)))

static CUresult line_async(CUmemorytype to_type, void *to, CUmemorytype from_type, const void *from, size_t bytes,
			   CUstream stream)
{
	CUDA_MEMCPY3D box = line(to_type, to, from_type, from, bytes);

	return copy_async(&box, stream);
}

CUresult sim_copy_line_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return line_async(ANY, pointer(to), ANY, pointer(from), bytes, stream);
}

CUresult sim_copy_box(const CUDA_MEMCPY3D *box, CUstream stream)
{
	return copy_sync(box, stream);
}

CUresult sim_copy_box_async(const CUDA_MEMCPY3D *box, CUstream stream)
{
	return copy_async(box, stream);
}

SIM_API_PTSZ(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
	     line_async(ANY, pointer(to), ANY, pointer(from), bytes, sim_stream(stream, per_thread)))
SIM_API_PTSZ(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
	     line_async(DEVICE, pointer(to), HOST, from, bytes, sim_stream(stream, per_thread)))
SIM_API_PTSZ(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
	     line_async(HOST, to, DEVICE, pointer(from), bytes, sim_stream(stream, per_thread)))
SIM_API_PTSZ(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
	     line_async(DEVICE, pointer(to), DEVICE, pointer(from), bytes, sim_stream(stream, per_thread)))
SIM_API_PTSZ(cuMemcpyPeerAsync,
	     (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
	      CUstream stream),
	     ((void)to_context, (void)from_context,
	      line_async(DEVICE, pointer(to), DEVICE, pointer(from), bytes, sim_stream(stream, per_thread))))

static CUDA_MEMCPY3D box_of_2d(const CUDA_MEMCPY2D *flat)
{
	CUDA_MEMCPY3D box = {.WidthInBytes = flat->WidthInBytes, .Height = flat->Height, .Depth = 1};

	box.srcXInBytes = flat->srcXInBytes;
	box.srcY = flat->srcY;
	box.srcMemoryType = flat->srcMemoryType;
	box.srcHost = flat->srcHost;
	box.srcDevice = flat->srcDevice;
	box.srcArray = flat->srcArray;
	box.srcPitch = flat->srcPitch;
	box.dstXInBytes = flat->dstXInBytes;
	box.dstY = flat->dstY;
	box.dstMemoryType = flat->dstMemoryType;
	box.dstHost = flat->dstHost;
	box.dstDevice = flat->dstDevice;
	box.dstArray = flat->dstArray;
	box.dstPitch = flat->dstPitch;
	return box;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *flat, CUstream stream, int async)
{
	CUDA_MEMCPY3D box;

	if (!flat)
		return CUDA_ERROR_INVALID_VALUE;
	box = box_of_2d(flat);
	return async ? copy_async(&box, stream) : copy_sync(&box, stream);
}
SIM_API_PTDS(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *flat), copy_2d(flat, sim_stream(NULL, per_thread), 0))
SIM_API_PTDS(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *flat), copy_2d(flat, sim_stream(NULL, per_thread), 0))
SIM_API_PTSZ(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *flat, CUstream stream),
	     copy_2d(flat, sim_stream(stream, per_thread), 1))
SIM_API_PTDS(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *box), copy_sync(box, sim_stream(NULL, per_thread)))
SIM_API_PTSZ(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *box, CUstream stream),
	     copy_async(box, sim_stream(stream, per_thread)))

/* --- memsets */

static CUresult fill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t element_bytes, size_t width, size_t height,
		     CUstream stream, int async)
{
	CUDA_MEMSET_NODE_PARAMS params = {
	    .dst = to, .pitch = pitch, .value = value, .elementSize = element_bytes, .width = width, .height = height};
	struct sim_work work;
	CUresult result = stream ? sim_fill_work(&work, &params) : CUDA_ERROR_INVALID_CONTEXT;

	if (result || !width || !height)
		return result;
	work.fill.async = async;
	if (!async && work.fill.to.kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED)
		return sim_stream_do_and_wait(stream, &work);
	return sim_stream_do(stream, &work);
}
#define FILL(type, bytes, name)                                                                                        \
	SIM_API_PTDS(cuMemsetD##name##_v2, (CUdeviceptr to, type value, size_t n),                                     \
		     fill(to, 0, value, bytes, n, 1, sim_stream(NULL, per_thread), 0))                                 \
	SIM_API_PTSZ(cuMemsetD##name##Async, (CUdeviceptr to, type value, size_t n, CUstream stream),                  \
		     fill(to, 0, value, bytes, n, 1, sim_stream(stream, per_thread), 1))                               \
	SIM_API_PTDS(cuMemsetD2D##name##_v2, (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height),  \
		     fill(to, pitch, value, bytes, width, height, sim_stream(NULL, per_thread), 0))                    \
	SIM_API_PTSZ(cuMemsetD2D##name##Async,                                                                         \
		     (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream stream),         \
		     fill(to, pitch, value, bytes, width, height, sim_stream(stream, per_thread), 1))
FILL(unsigned char, 1, 8)
FILL(unsigned short, 2, 16)
FILL(unsigned int, 4, 32)
