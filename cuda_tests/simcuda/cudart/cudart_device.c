#include <stddef.h>
#include <string.h>

#include "cudart.h"

/* of cuda_profiler_api.h, which the pinned packages of scripts/setup do not hold */
cudaError_t CUDARTAPI cudaProfilerStart(void);
cudaError_t CUDARTAPI cudaProfilerStop(void);

cudaError_t cudaGetDeviceCount(int *count)
{
	if (count)
		*count = 0;
	CUDART_BEGIN(cudaGetDeviceCount, CUDART_DRIVER);
	if (!count)
		CUDART_END(CUDA_ERROR_INVALID_VALUE);
	*count = cudart__self.device_count;
	CUDART_END(CUDA_SUCCESS);
}

cudaError_t cudaSetDevice(int device)
{
	CUresult result;

	CUDART_BEGIN(cudaSetDevice, CUDART_DRIVER);
	result = cudart__use_device(device);
	if (!result)
		cudart__set_thread_device(device);
	CUDART_END(result);
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
	CUcontext current = NULL;
	CUresult result;

	(void)device_flags, (void)flags;
	CUDART_BEGIN(cudaInitDevice, CUDART_DRIVER);
	cudart__driver()->cuCtxGetCurrent(&current);
	result = cudart__use_device(device);
	cudart__driver()->cuCtxSetCurrent(current);
	CUDART_END(result);
}

cudaError_t cudaGetDevice(int *device)
{
	CUDART_BEGIN(cudaGetDevice, CUDART_DRIVER);
	if (!device)
		CUDART_END(CUDA_ERROR_INVALID_VALUE);
	*device = cudart__device();
	CUDART_END(CUDA_SUCCESS);
}

cudaError_t cudaDeviceSynchronize(void)
{
	CUDART_BEGIN(cudaDeviceSynchronize, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuCtxSynchronize());
}

/* The next call that needs a context retains it again. */
cudaError_t cudaDeviceReset(void)
{
	struct cudart *self = &cudart__self;
	int device;
	bool retained;
	CUresult result;

	CUDART_BEGIN(cudaDeviceReset, CUDART_DRIVER);
	device = cudart__device();
	pthread_mutex_lock(&self->lock);
	retained = self->primary[device];
	self->primary[device] = NULL;
	pthread_mutex_unlock(&self->lock);
	self->driver.cuCtxSetCurrent(NULL);
	result = self->driver.cuDevicePrimaryCtxReset(device);
	if (retained)
		self->driver.cuDevicePrimaryCtxRelease(device);
	cudart__set_thread_device(device);
	CUDART_END(result);
}

/* Runtime and driver number the device attributes alike. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	CUDART_BEGIN(cudaDeviceGetAttribute, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device));
}

/* Fields of struct cudaDeviceProp that are an attribute: int or, where wide, size_t. */
#define FIELD(field, attribute)                                                                                        \
	{                                                                                                              \
		offsetof(struct cudaDeviceProp, field), CU_DEVICE_ATTRIBUTE_##attribute, false                         \
	}
#define WIDE(field, attribute)                                                                                         \
	{                                                                                                              \
		offsetof(struct cudaDeviceProp, field), CU_DEVICE_ATTRIBUTE_##attribute, true                          \
	}
static const struct {
	size_t offset;
	CUdevice_attribute attribute;
	bool wide;
} device_fields[] = {
    WIDE(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
    FIELD(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
    FIELD(warpSize, WARP_SIZE),
    WIDE(memPitch, MAX_PITCH),
    FIELD(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
    FIELD(maxThreadsDim[0], MAX_BLOCK_DIM_X),
    FIELD(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
    FIELD(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
    FIELD(maxGridSize[0], MAX_GRID_DIM_X),
    FIELD(maxGridSize[1], MAX_GRID_DIM_Y),
    FIELD(maxGridSize[2], MAX_GRID_DIM_Z),
    WIDE(totalConstMem, TOTAL_CONSTANT_MEMORY),
    FIELD(major, COMPUTE_CAPABILITY_MAJOR),
    FIELD(minor, COMPUTE_CAPABILITY_MINOR),
    WIDE(textureAlignment, TEXTURE_ALIGNMENT),
    WIDE(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
    FIELD(multiProcessorCount, MULTIPROCESSOR_COUNT),
    FIELD(integrated, INTEGRATED),
    FIELD(canMapHostMemory, CAN_MAP_HOST_MEMORY),
    WIDE(surfaceAlignment, SURFACE_ALIGNMENT),
    FIELD(concurrentKernels, CONCURRENT_KERNELS),
    FIELD(ECCEnabled, ECC_ENABLED),
    FIELD(pciBusID, PCI_BUS_ID),
    FIELD(pciDeviceID, PCI_DEVICE_ID),
    FIELD(pciDomainID, PCI_DOMAIN_ID),
    FIELD(tccDriver, TCC_DRIVER),
    FIELD(asyncEngineCount, ASYNC_ENGINE_COUNT),
    FIELD(unifiedAddressing, UNIFIED_ADDRESSING),
    FIELD(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
    FIELD(l2CacheSize, L2_CACHE_SIZE),
    FIELD(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
    FIELD(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
    FIELD(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
    FIELD(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
    FIELD(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
    WIDE(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    FIELD(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
    FIELD(managedMemory, MANAGED_MEMORY),
    FIELD(isMultiGpuBoard, MULTI_GPU_BOARD),
    FIELD(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
    FIELD(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
    FIELD(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
    FIELD(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
    FIELD(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
    FIELD(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
    FIELD(cooperativeLaunch, COOPERATIVE_LAUNCH),
    WIDE(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    FIELD(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
    FIELD(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
    WIDE(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
    FIELD(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
    FIELD(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
    FIELD(clusterLaunch, CLUSTER_LAUNCH),
};

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	const struct cudart_driver *driver = cudart__driver();
	CUresult result;

	CUDART_BEGIN(cudaGetDeviceProperties, CUDART_DRIVER);
	if (!properties)
		CUDART_END(CUDA_ERROR_INVALID_VALUE);
	memset(properties, 0, sizeof(*properties));
	result = driver->cuDeviceGetName(properties->name, sizeof(properties->name), device);
	if (!result)
		result = driver->cuDeviceTotalMem(&properties->totalGlobalMem, device);
	if (!result)
		driver->cuDeviceGetUuid((CUuuid *)&properties->uuid, device);
	for (size_t i = 0; !result && i < sizeof(device_fields) / sizeof(device_fields[0]); i++) {
		char *field = (char *)properties + device_fields[i].offset;
		int value = 0;

		/* an attribute the driver does not know stays 0 */
		driver->cuDeviceGetAttribute(&value, device_fields[i].attribute, device);
		if (device_fields[i].wide)
			*(size_t *)field = (size_t)value;
		else
			*(int *)field = value;
	}
	CUDART_END(result);
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	CUDART_BEGIN(cudaDeviceGetLimit, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuCtxGetLimit(value, (CUlimit)limit));
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	CUDART_BEGIN(cudaDeviceSetLimit, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuCtxSetLimit((CUlimit)limit, value));
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
	CUDART_BEGIN(cudaDeviceGetCacheConfig, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuCtxGetCacheConfig((CUfunc_cache *)config));
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	CUDART_BEGIN(cudaDeviceSetCacheConfig, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuCtxSetCacheConfig((CUfunc_cache)config));
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	CUDART_BEGIN(cudaSetDeviceFlags, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDevicePrimaryCtxSetFlags(cudart__device(), flags));
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
	int active;

	CUDART_BEGIN(cudaGetDeviceFlags, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDevicePrimaryCtxGetState(cudart__device(), flags, &active));
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	CUDART_BEGIN(cudaDeviceCanAccessPeer, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceCanAccessPeer(can, device, peer));
}

/* The driver identifies a peer by its context, here the primary one; the current context is restored afterwards. */
static CUresult peer_context(int peer, CUcontext *context)
{
	const struct cudart_driver *driver = cudart__driver();
	CUcontext current = NULL;
	CUresult result;

	driver->cuCtxGetCurrent(&current);
	result = cudart__use_device(peer);
	if (!result)
		result = driver->cuCtxGetCurrent(context);
	driver->cuCtxSetCurrent(current);
	return result;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	CUcontext context;
	CUresult result;

	CUDART_BEGIN(cudaDeviceEnablePeerAccess, CUDART_CONTEXT);
	result = peer_context(peer, &context);
	CUDART_END(result ? result : cudart__driver()->cuCtxEnablePeerAccess(context, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext context;
	CUresult result;

	CUDART_BEGIN(cudaDeviceDisablePeerAccess, CUDART_CONTEXT);
	result = peer_context(peer, &context);
	CUDART_END(result ? result : cudart__driver()->cuCtxDisablePeerAccess(context));
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device)
{
	CUDART_BEGIN(cudaDeviceGetPCIBusId, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceGetPCIBusId(id, length, device));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
	CUDART_BEGIN(cudaDeviceGetByPCIBusId, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceGetByPCIBusId(device, id));
}

/* Without a driver the version is 0, and that is no error. */
cudaError_t cudaDriverGetVersion(int *version)
{
	if (!version)
		return cudart__fail(cudaErrorInvalidValue);
	*version = 0;
	CUDART_BEGIN(cudaDriverGetVersion, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return cudart__fail(cudaErrorInvalidValue);
	*version = CUDART_VERSION;
	return cudaSuccess;
}

/* There is no profiler in the driver to start: the stand-in for CUPTI collects whenever it is enabled. */
cudaError_t cudaProfilerStart(void)
{
	return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
	return cudaSuccess;
}
