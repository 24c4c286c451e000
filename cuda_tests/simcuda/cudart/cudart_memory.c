#include <string.h>

#include "cudart.h"

cudaError_t cudaMalloc(void **address, size_t bytes)
{
	CUDART_BEGIN(cudaMalloc, CUDART_CONTEXT);
	if (!address)
		CUDART_END(CUDA_ERROR_INVALID_VALUE);
	*address = NULL;
	CUDART_END(bytes ? cudart__driver()->cuMemAlloc((CUdeviceptr *)address, bytes) : CUDA_SUCCESS);
}

cudaError_t cudaFree(void *address)
{
	CUDART_BEGIN(cudaFree, CUDART_CONTEXT);
	CUDART_END(address ? cudart__driver()->cuMemFree((CUdeviceptr)address) : CUDA_SUCCESS);
}

cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	const unsigned element_bytes = 16; /* the widest access: the strictest alignment */

	CUDART_BEGIN(cudaMallocPitch, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemAllocPitch((CUdeviceptr *)address, pitch, width, height, element_bytes));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
	const unsigned element_bytes = 16;
	CUresult result;

	CUDART_BEGIN(cudaMalloc3D, CUDART_CONTEXT);
	if (!pitched)
		CUDART_END(CUDA_ERROR_INVALID_VALUE);
	pitched->xsize = extent.width;
	pitched->ysize = extent.height;
	result = cudart__driver()->cuMemAllocPitch((CUdeviceptr *)&pitched->ptr, &pitched->pitch, extent.width,
						   extent.height * extent.depth, element_bytes);
	CUDART_END(result);
}

cudaError_t cudaMallocHost(void **address, size_t bytes)
{
	CUDART_BEGIN(cudaMallocHost, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemHostAlloc(address, bytes, 0));
}

cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
	CUDART_BEGIN(cudaHostAlloc, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemHostAlloc(address, bytes, flags));
}

cudaError_t cudaFreeHost(void *address)
{
	CUDART_BEGIN(cudaFreeHost, CUDART_CONTEXT);
	CUDART_END(address ? cudart__driver()->cuMemFreeHost(address) : CUDA_SUCCESS);
}

cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
	CUDART_BEGIN(cudaHostRegister, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemHostRegister(address, bytes, flags));
}

cudaError_t cudaHostUnregister(void *address)
{
	CUDART_BEGIN(cudaHostUnregister, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemHostUnregister(address));
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
	CUDART_BEGIN(cudaHostGetDevicePointer, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemHostGetDevicePointer((CUdeviceptr *)device, host, flags));
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
	CUDART_BEGIN(cudaHostGetFlags, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemHostGetFlags(flags, host));
}

cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
	CUDART_BEGIN(cudaMallocManaged, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemAllocManaged((CUdeviceptr *)address, bytes, flags));
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
	CUDART_BEGIN(cudaMemGetInfo, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemGetInfo(available, total));
}

cudaError_t cudaMemAdvise(const void *address, size_t bytes, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location)
{
	CUmemLocation where = {.type = (CUmemLocationType)location.type, .id = location.id};

	CUDART_BEGIN(cudaMemAdvise, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemAdvise((CUdeviceptr)address, bytes, (CUmem_advise)advice, where));
}

static enum cudaMemoryType memory_type(CUmemorytype type, int managed)
{
	if (managed)
		return cudaMemoryTypeManaged;
	return type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

/* Memory unknown to CUDA is no error: it is reported as unregistered. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
	const struct cudart_driver *driver = cudart__driver();
	CUdeviceptr pointer = (CUdeviceptr)address;
	CUmemorytype type = 0;
	int managed = 0;

	CUDART_BEGIN(cudaPointerGetAttributes, CUDART_CONTEXT);
	if (!attributes)
		CUDART_END(CUDA_ERROR_INVALID_VALUE);
	memset(attributes, 0, sizeof(*attributes));
	attributes->device = -1;
	attributes->hostPointer = (void *)address;
	if (driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer))
		CUDART_END(CUDA_SUCCESS);
	driver->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
	driver->cuPointerGetAttribute(&attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
	attributes->type = memory_type(type, managed);
	attributes->hostPointer = NULL;
	driver->cuPointerGetAttribute(&attributes->devicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer);
	driver->cuPointerGetAttribute(&attributes->hostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, pointer);
	CUDART_END(CUDA_SUCCESS);
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
	size_t bytes;

	CUDART_BEGIN(cudaGetSymbolAddress, CUDART_CONTEXT);
	CUDART_END(cudart__variable(symbol, (CUdeviceptr *)address, &bytes));
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
	CUdeviceptr address;

	CUDART_BEGIN(cudaGetSymbolSize, CUDART_CONTEXT);
	CUDART_END(cudart__variable(symbol, &address, bytes));
}

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "pool properties differ");

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
	CUDART_BEGIN(cudaMemPoolCreate, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemPoolCreate(pool, (const CUmemPoolProps *)properties));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
	CUDART_BEGIN(cudaMemPoolDestroy, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemPoolDestroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes)
{
	CUDART_BEGIN(cudaMemPoolTrimTo, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemPoolTrimTo(pool, keep_bytes));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	CUDART_BEGIN(cudaMemPoolGetAttribute, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	CUDART_BEGIN(cudaMemPoolSetAttribute, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	CUDART_BEGIN(cudaDeviceGetDefaultMemPool, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceGetDefaultMemPool(pool, device));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	CUDART_BEGIN(cudaDeviceGetMemPool, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceGetMemPool(pool, device));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	CUDART_BEGIN(cudaDeviceSetMemPool, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceSetMemPool(device, pool));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count)
{
	_Static_assert(sizeof(*access) == sizeof(CUmemAccessDesc), "descriptions of access differ");
	CUDART_BEGIN(cudaMemPoolSetAccess, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)access, count));
}
