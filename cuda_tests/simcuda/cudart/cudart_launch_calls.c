/* Compiled twice, see cudart.h. */
#include "cudart.h"

/* The runtime has an error of its own for a grid or block that no device takes. */
static CUresult launch_error(CUresult result, dim3 grid, dim3 block)
{
	const uint64_t max_threads =
	    1024; /* in a block, on every device: CUDA C++ Programming Guide, "Compute Capabilities" */
	uint64_t threads = (uint64_t)block.x * block.y * block.z;

	if (result == CUDA_ERROR_INVALID_VALUE &&
	    (!grid.x || !grid.y || !grid.z || threads == 0 || threads > max_threads))
		return (CUresult)cudaErrorInvalidConfiguration;
	return result;
}

static CUresult launch(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes, cudaStream_t stream)
{
	CUfunction function;
	CUresult result;

	if (!kernel)
		return (CUresult)cudaErrorInvalidDeviceFunction;
	result = cudart__launch_handle(kernel, &function);
	if (result)
		return result;
	result = DRIVER_TWIN(cuLaunchKernel)(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
					     (unsigned)shared_bytes, stream, args, NULL);
	return launch_error(result, grid, block);
}

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
				    cudaStream_t stream)
#else
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
			       cudaStream_t stream)
#endif
{
	CUDART_BEGIN_TWIN(__cudaLaunchKernel, ptsz, CUDART_CONTEXT);
	CUDART_END(launch((CUkernel)kernel, grid, block, args, shared_bytes, stream));
}

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared_bytes,
			     cudaStream_t stream)
{
	CUkernel kernel;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaLaunchKernel, ptsz, CUDART_CONTEXT);
	result = cudart__kernel(func, &kernel);
	CUDART_END(result ? result : launch(kernel, grid, block, args, shared_bytes, stream));
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared_bytes,
					cudaStream_t stream)
{
	CUkernel kernel;
	CUfunction function;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaLaunchCooperativeKernel, ptsz, CUDART_CONTEXT);
	result = cudart__kernel(func, &kernel);
	if (!result)
		result = cudart__launch_handle(kernel, &function);
	if (!result)
		result = DRIVER_TWIN(cuLaunchCooperativeKernel)(function, grid.x, grid.y, grid.z, block.x, block.y,
								block.z, (unsigned)shared_bytes, stream, args);
	CUDART_END(launch_error(result, grid, block));
}

/* Launch attributes have the same layout in runtime and driver. */
_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "launch attributes differ");

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	CUlaunchConfig driver_config = {0};
	CUkernel kernel;
	CUfunction function;
	CUresult result;

	CUDART_BEGIN_TWIN(cudaLaunchKernelExC, ptsz, CUDART_CONTEXT);
	if (!config)
		CUDART_END(CUDA_ERROR_INVALID_VALUE);
	driver_config.gridDimX = config->gridDim.x;
	driver_config.gridDimY = config->gridDim.y;
	driver_config.gridDimZ = config->gridDim.z;
	driver_config.blockDimX = config->blockDim.x;
	driver_config.blockDimY = config->blockDim.y;
	driver_config.blockDimZ = config->blockDim.z;
	driver_config.sharedMemBytes = (unsigned)config->dynamicSmemBytes;
	driver_config.hStream = config->stream;
	driver_config.attrs = (CUlaunchAttribute *)config->attrs;
	driver_config.numAttrs = config->numAttrs;
	result = cudart__kernel(func, &kernel);
	if (!result)
		result = cudart__launch_handle(kernel, &function);
	if (!result)
		result = DRIVER_TWIN(cuLaunchKernelEx)(&driver_config, function, args, NULL);
	CUDART_END(launch_error(result, config->gridDim, config->blockDim));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	CUDART_BEGIN_TWIN(cudaLaunchHostFunc, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuLaunchHostFunc)(stream, function, data));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaGraphLaunch, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuGraphLaunch)(exec, stream));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaGraphUpload, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuGraphUpload)(exec, stream));
}

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "parameters differ");

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *params)
{
	CUDART_BEGIN_TWIN(cudaGraphInstantiateWithParams, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuGraphInstantiateWithParams)(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params));
}

/* The driver has the same flags as the runtime. Without a flag, a per-thread twin sets the one of its kind. */
static CUresult entry_point(const char *symbol, void **function, unsigned version, unsigned long long flags,
			    enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
	CUresult result;

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
	if (flags == cudaEnableDefault)
		flags = cudaEnablePerThreadDefaultStream;
#endif
	if (!symbol || !function)
		return CUDA_ERROR_INVALID_VALUE;
	result = cudart__driver()->cuGetProcAddress(symbol, function, (int)version, flags, &found);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	if (found == CU_GET_PROC_ADDRESS_SUCCESS)
		return result;
	*function = NULL;
	return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *status)
{
	CUDART_BEGIN_TWIN(cudaGetDriverEntryPoint, ptsz, CUDART_DRIVER);
	CUDART_END(entry_point(symbol, function, CUDART_VERSION, flags, status));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
					     unsigned long long flags, enum cudaDriverEntryPointQueryResult *status)
{
	CUDART_BEGIN_TWIN(cudaGetDriverEntryPointByVersion, ptsz, CUDART_DRIVER);
	CUDART_END(entry_point(symbol, function, version, flags, status));
}
