#include <stddef.h>
#include <string.h>

#include "cudart.h"

static CUresult function_of(const void *host, CUfunction *function)
{
	CUkernel kernel;
	CUresult result = cudart__kernel(host, &kernel);

	return result ? result : cudart__driver()->cuKernelGetFunction(function, kernel);
}

/* Fields of struct cudaFuncAttributes are int or, where wide, size_t. */
static const struct {
	size_t offset;
	CUfunction_attribute attribute;
	bool wide;
} function_fields[] = {
    {offsetof(struct cudaFuncAttributes, sharedSizeBytes), CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, true},
    {offsetof(struct cudaFuncAttributes, constSizeBytes), CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, true},
    {offsetof(struct cudaFuncAttributes, localSizeBytes), CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, true},
    {offsetof(struct cudaFuncAttributes, maxThreadsPerBlock), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, false},
    {offsetof(struct cudaFuncAttributes, numRegs), CU_FUNC_ATTRIBUTE_NUM_REGS, false},
    {offsetof(struct cudaFuncAttributes, ptxVersion), CU_FUNC_ATTRIBUTE_PTX_VERSION, false},
    {offsetof(struct cudaFuncAttributes, binaryVersion), CU_FUNC_ATTRIBUTE_BINARY_VERSION, false},
    {offsetof(struct cudaFuncAttributes, cacheModeCA), CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, false},
    {offsetof(struct cudaFuncAttributes, maxDynamicSharedSizeBytes), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
     false},
    {offsetof(struct cudaFuncAttributes, preferredShmemCarveout), CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
     false},
    {offsetof(struct cudaFuncAttributes, clusterDimMustBeSet), CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, false},
    {offsetof(struct cudaFuncAttributes, requiredClusterWidth), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, false},
    {offsetof(struct cudaFuncAttributes, requiredClusterHeight), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, false},
    {offsetof(struct cudaFuncAttributes, requiredClusterDepth), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, false},
};

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *func)
{
	CUkernel kernel;
	CUresult result;

	CUDART_BEGIN(cudaFuncGetAttributes, CUDART_CONTEXT);
	if (!attributes)
		CUDART_END(CUDA_ERROR_INVALID_VALUE);
	memset(attributes, 0, sizeof(*attributes));
	result = cudart__kernel(func, &kernel);
	for (size_t i = 0; !result && i < sizeof(function_fields) / sizeof(function_fields[0]); i++) {
		char *field = (char *)attributes + function_fields[i].offset;
		int value = 0;

		/* an attribute the device does not have stays 0 */
		cudart__driver()->cuKernelGetAttribute(&value, function_fields[i].attribute, kernel, cudart__device());
		if (function_fields[i].wide)
			*(size_t *)field = (size_t)value;
		else
			*(int *)field = value;
	}
	CUDART_END(result);
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attribute, int value)
{
	CUkernel kernel;
	CUresult result;

	CUDART_BEGIN(cudaFuncSetAttribute, CUDART_CONTEXT);
	result = cudart__kernel(func, &kernel);
	if (!result)
		result = cudart__driver()->cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel,
								cudart__device());
	CUDART_END(result);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
					    int device)
{
	CUDART_BEGIN(cudaKernelSetAttributeForDevice, CUDART_DRIVER);
	CUDART_END(
	    cudart__driver()->cuKernelSetAttribute((CUfunction_attribute)attribute, value, (CUkernel)kernel, device));
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache config)
{
	CUkernel kernel;
	CUresult result;

	CUDART_BEGIN(cudaFuncSetCacheConfig, CUDART_CONTEXT);
	result = cudart__kernel(func, &kernel);
	if (!result)
		result = cudart__driver()->cuKernelSetCacheConfig(kernel, (CUfunc_cache)config, cudart__device());
	CUDART_END(result);
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
	CUkernel kernel;
	CUresult result;

	CUDART_BEGIN(cudaFuncGetName, CUDART_DRIVER);
	result = cudart__kernel(func, &kernel);
	CUDART_END(result ? result : cudart__driver()->cuKernelGetName(name, kernel));
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t index, size_t *offset, size_t *bytes)
{
	CUkernel kernel;
	CUresult result;

	CUDART_BEGIN(cudaFuncGetParamInfo, CUDART_DRIVER);
	result = cudart__kernel(func, &kernel);
	CUDART_END(result ? result : cudart__driver()->cuKernelGetParamInfo(kernel, index, offset, bytes));
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
	CUDART_BEGIN(cudaGetFuncBySymbol, CUDART_CONTEXT);
	CUDART_END(function_of(symbol, (CUfunction *)function));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int block_threads,
							  size_t dynamic_shared_bytes)
{
	CUfunction function;
	CUresult result;

	CUDART_BEGIN(cudaOccupancyMaxActiveBlocksPerMultiprocessor, CUDART_CONTEXT);
	result = function_of(func, &function);
	if (!result)
		result = cudart__driver()->cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads,
										       dynamic_shared_bytes);
	CUDART_END(result);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func, int block_threads,
								   size_t dynamic_shared_bytes, unsigned flags)
{
	CUfunction function;
	CUresult result;

	CUDART_BEGIN(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, CUDART_CONTEXT);
	result = function_of(func, &function);
	if (!result)
		result = cudart__driver()->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		    blocks, function, block_threads, dynamic_shared_bytes, flags);
	CUDART_END(result);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *func, int blocks, int block_threads)
{
	CUfunction function;
	CUresult result;

	CUDART_BEGIN(cudaOccupancyAvailableDynamicSMemPerBlock, CUDART_CONTEXT);
	result = function_of(func, &function);
	if (!result)
		result =
		    cudart__driver()->cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, block_threads);
	CUDART_END(result);
}

_Static_assert(sizeof(cudaLaunchConfig_t) == sizeof(CUlaunchConfig), "launch configurations differ");

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *func, const cudaLaunchConfig_t *config)
{
	CUfunction function;
	CUresult result;

	CUDART_BEGIN(cudaOccupancyMaxActiveClusters, CUDART_CONTEXT);
	result = function_of(func, &function);
	if (!result)
		result =
		    cudart__driver()->cuOccupancyMaxActiveClusters(clusters, function, (const CUlaunchConfig *)config);
	CUDART_END(result);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *blocks, const void *func, const cudaLaunchConfig_t *config)
{
	CUfunction function;
	CUresult result;

	CUDART_BEGIN(cudaOccupancyMaxPotentialClusterSize, CUDART_CONTEXT);
	result = function_of(func, &function);
	if (!result)
		result = cudart__driver()->cuOccupancyMaxPotentialClusterSize(blocks, function,
									      (const CUlaunchConfig *)config);
	CUDART_END(result);
}
