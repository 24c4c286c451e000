/* Compiled twice, see cudart.h. */
#include "cudart.h"

static CUresult copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	if (!bytes)
		return CUDA_SUCCESS;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return DRIVER_TWIN(cuMemcpyHtoD)((CUdeviceptr)dst, src, bytes);
	case cudaMemcpyDeviceToHost:
		return DRIVER_TWIN(cuMemcpyDtoH)(dst, (CUdeviceptr)src, bytes);
	case cudaMemcpyDeviceToDevice:
		return DRIVER_TWIN(cuMemcpyDtoD)((CUdeviceptr)dst, (CUdeviceptr)src, bytes);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return DRIVER_TWIN(cuMemcpy)((CUdeviceptr)dst, (CUdeviceptr)src, bytes);
	}
	return (CUresult)cudaErrorInvalidMemcpyDirection;
}

static CUresult copy_async(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (!bytes)
		return CUDA_SUCCESS;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return DRIVER_TWIN(cuMemcpyHtoDAsync)((CUdeviceptr)dst, src, bytes, stream);
	case cudaMemcpyDeviceToHost:
		return DRIVER_TWIN(cuMemcpyDtoHAsync)(dst, (CUdeviceptr)src, bytes, stream);
	case cudaMemcpyDeviceToDevice:
		return DRIVER_TWIN(cuMemcpyDtoDAsync)((CUdeviceptr)dst, (CUdeviceptr)src, bytes, stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return DRIVER_TWIN(cuMemcpyAsync)((CUdeviceptr)dst, (CUdeviceptr)src, bytes, stream);
	}
	return (CUresult)cudaErrorInvalidMemcpyDirection;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	CUDART_BEGIN_TWIN(cudaMemcpy, ptds, CUDART_CONTEXT);
	CUDART_END(copy(dst, src, bytes, kind));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaMemcpyAsync, ptsz, CUDART_CONTEXT);
	CUDART_END(copy_async(dst, src, bytes, kind, stream));
}

static CUresult symbol_range(const void *symbol, size_t offset, size_t bytes, void **address)
{
	CUdeviceptr base;
	size_t size;
	CUresult result = cudart__variable(symbol, &base, &size);

	if (!result && (offset > size || bytes > size - offset))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*address = (char *)base + offset;
	return result;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
			       enum cudaMemcpyKind kind)
{
	void *address;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaMemcpyToSymbol, ptds, CUDART_CONTEXT);
	result = symbol_range(symbol, offset, bytes, &address);
	CUDART_END(result ? result : copy(address, src, bytes, kind));
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	void *address;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaMemcpyFromSymbol, ptds, CUDART_CONTEXT);
	result = symbol_range(symbol, offset, bytes, &address);
	CUDART_END(result ? result : copy(dst, address, bytes, kind));
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes, size_t offset,
				    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *address;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaMemcpyToSymbolAsync, ptsz, CUDART_CONTEXT);
	result = symbol_range(symbol, offset, bytes, &address);
	CUDART_END(result ? result : copy_async(address, src, bytes, kind, stream));
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes, size_t offset,
				      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *address;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaMemcpyFromSymbolAsync, ptsz, CUDART_CONTEXT);
	result = symbol_range(symbol, offset, bytes, &address);
	CUDART_END(result ? result : copy_async(dst, address, bytes, kind, stream));
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
			 enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D descriptor;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaMemcpy2D, ptds, CUDART_CONTEXT);
	result = cudart__copy_2d(&descriptor, dst, dpitch, src, spitch, width, height, kind);
	CUDART_END(result ? result : DRIVER_TWIN(cuMemcpy2DUnaligned)(&descriptor));
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
			      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY2D descriptor;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaMemcpy2DAsync, ptsz, CUDART_CONTEXT);
	result = cudart__copy_2d(&descriptor, dst, dpitch, src, spitch, width, height, kind);
	CUDART_END(result ? result : DRIVER_TWIN(cuMemcpy2DAsync)(&descriptor, stream));
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D descriptor;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaMemcpy3D, ptds, CUDART_CONTEXT);
	result = cudart__copy_3d(&descriptor, params);
	CUDART_END(result ? result : DRIVER_TWIN(cuMemcpy3D)(&descriptor));
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *params, cudaStream_t stream)
{
	CUDA_MEMCPY3D descriptor;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaMemcpy3DAsync, ptsz, CUDART_CONTEXT);
	result = cudart__copy_3d(&descriptor, params);
	CUDART_END(result ? result : DRIVER_TWIN(cuMemcpy3DAsync)(&descriptor, stream));
}

cudaError_t cudaMemset(void *address, int value, size_t bytes)
{
	CUDART_BEGIN_TWIN(cudaMemset, ptds, CUDART_CONTEXT);
	CUDART_END(bytes ? DRIVER_TWIN(cuMemsetD8)((CUdeviceptr)address, (unsigned char)value, bytes) : CUDA_SUCCESS);
}

cudaError_t cudaMemsetAsync(void *address, int value, size_t bytes, cudaStream_t stream)
{
	CUresult result = CUDA_SUCCESS;

	CUDART_BEGIN_TWIN(cudaMemsetAsync, ptsz, CUDART_CONTEXT);
	if (bytes)
		result = DRIVER_TWIN(cuMemsetD8Async)((CUdeviceptr)address, (unsigned char)value, bytes, stream);
	CUDART_END(result);
}

cudaError_t cudaMemset2D(void *address, size_t pitch, int value, size_t width, size_t height)
{
	CUDART_BEGIN_TWIN(cudaMemset2D, ptds, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuMemsetD2D8)((CUdeviceptr)address, pitch, (unsigned char)value, width, height));
}

cudaError_t cudaMemset2DAsync(void *address, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaMemset2DAsync, ptsz, CUDART_CONTEXT);
	CUDART_END(
	    DRIVER_TWIN(cuMemsetD2D8Async)((CUdeviceptr)address, pitch, (unsigned char)value, width, height, stream));
}

cudaError_t cudaMemPrefetchAsync(const void *address, size_t bytes, struct cudaMemLocation location, unsigned flags,
				 cudaStream_t stream)
{
	CUmemLocation where = {.type = (CUmemLocationType)location.type, .id = location.id};

	CUDART_BEGIN_TWIN(cudaMemPrefetchAsync, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuMemPrefetchAsync)((CUdeviceptr)address, bytes, where, flags, stream));
}
