#include <string.h>

#include "cudart.h"

CUresult cudart__memory_types(enum cudaMemcpyKind kind, CUmemorytype *source, CUmemorytype *destination)
{
	static const CUmemorytype types[][2] = {
	    [cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
	    [cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
	    [cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
	    [cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
	    [cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
	};

	if ((unsigned)kind > cudaMemcpyDefault)
		return (CUresult)cudaErrorInvalidMemcpyDirection;
	*source = types[kind][0];
	*destination = types[kind][1];
	return CUDA_SUCCESS;
}

CUresult cudart__copy_2d(CUDA_MEMCPY2D *copy, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t height, enum cudaMemcpyKind kind)
{
	memset(copy, 0, sizeof(*copy));
	copy->srcHost = src;
	copy->srcDevice = (CUdeviceptr)src;
	copy->srcPitch = spitch;
	copy->dstHost = dst;
	copy->dstDevice = (CUdeviceptr)dst;
	copy->dstPitch = dpitch;
	copy->WidthInBytes = width;
	copy->Height = height;
	if (width > dpitch || width > spitch)
		return (CUresult)cudaErrorInvalidPitchValue;
	return cudart__memory_types(kind, &copy->srcMemoryType, &copy->dstMemoryType);
}

CUresult cudart__copy_3d(CUDA_MEMCPY3D *copy, const struct cudaMemcpy3DParms *params)
{
	memset(copy, 0, sizeof(*copy));
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->srcArray || params->dstArray)
		return CUDA_ERROR_NOT_SUPPORTED;
	copy->srcHost = params->srcPtr.ptr;
	copy->srcDevice = (CUdeviceptr)params->srcPtr.ptr;
	copy->srcPitch = params->srcPtr.pitch;
	copy->srcHeight = params->srcPtr.ysize;
	copy->srcXInBytes = params->srcPos.x;
	copy->srcY = params->srcPos.y;
	copy->srcZ = params->srcPos.z;
	copy->dstHost = params->dstPtr.ptr;
	copy->dstDevice = (CUdeviceptr)params->dstPtr.ptr;
	copy->dstPitch = params->dstPtr.pitch;
	copy->dstHeight = params->dstPtr.ysize;
	copy->dstXInBytes = params->dstPos.x;
	copy->dstY = params->dstPos.y;
	copy->dstZ = params->dstPos.z;
	copy->WidthInBytes = params->extent.width;
	copy->Height = params->extent.height;
	copy->Depth = params->extent.depth;
	return cudart__memory_types(params->kind, &copy->srcMemoryType, &copy->dstMemoryType);
}

/* Peer copies take contexts in the driver: devices' primary ones. */
static CUresult peer_contexts(int dst_device, int src_device, CUcontext *dst, CUcontext *src)
{
	const struct cudart_driver *driver = cudart__driver();
	CUcontext current = NULL;
	CUresult result = driver->cuCtxGetCurrent(&current);

	if (!result)
		result = cudart__use_device(src_device);
	if (!result)
		result = driver->cuCtxGetCurrent(src);
	if (!result)
		result = cudart__use_device(dst_device);
	if (!result)
		result = driver->cuCtxGetCurrent(dst);
	driver->cuCtxSetCurrent(current);
	return result;
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
	CUcontext to, from;
	CUresult result;

	CUDART_BEGIN(cudaMemcpyPeer, CUDART_CONTEXT);
	result = peer_contexts(dst_device, src_device, &to, &from);
	if (!result)
		result = cudart__driver()->cuMemcpyPeer((CUdeviceptr)dst, to, (CUdeviceptr)src, from, bytes);
	CUDART_END(result);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
				cudaStream_t stream)
{
	CUcontext to, from;
	CUresult result;

	CUDART_BEGIN(cudaMemcpyPeerAsync, CUDART_CONTEXT);
	result = peer_contexts(dst_device, src_device, &to, &from);
	if (!result)
		result =
		    cudart__driver()->cuMemcpyPeerAsync((CUdeviceptr)dst, to, (CUdeviceptr)src, from, bytes, stream);
	CUDART_END(result);
}
