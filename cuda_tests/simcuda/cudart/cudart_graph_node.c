/* Graph nodes: converts the runtime's parameters to the driver's. */
#include <string.h>

#include "cudart.h"

static CUresult kernel_params(CUDA_KERNEL_NODE_PARAMS *driver, const struct cudaKernelNodeParams *params)
{
	memset(driver, 0, sizeof(*driver));
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	driver->gridDimX = params->gridDim.x;
	driver->gridDimY = params->gridDim.y;
	driver->gridDimZ = params->gridDim.z;
	driver->blockDimX = params->blockDim.x;
	driver->blockDimY = params->blockDim.y;
	driver->blockDimZ = params->blockDim.z;
	driver->sharedMemBytes = params->sharedMemBytes;
	driver->kernelParams = params->kernelParams;
	driver->extra = params->extra;
	return cudart__kernel(params->func, &driver->kern);
}

static CUresult memset_params(CUDA_MEMSET_NODE_PARAMS *driver, const struct cudaMemsetParams *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	*driver = (CUDA_MEMSET_NODE_PARAMS){.dst = (CUdeviceptr)params->dst,
					    .pitch = params->pitch,
					    .value = params->value,
					    .elementSize = params->elementSize,
					    .width = params->width,
					    .height = params->height};
	return CUDA_SUCCESS;
}

static CUresult copy_params_1d(CUDA_MEMCPY3D *driver, void *dst, const void *src, size_t bytes,
			       enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms params = {.srcPtr = {.ptr = (void *)src, .pitch = bytes, .ysize = 1},
					   .dstPtr = {.ptr = dst, .pitch = bytes, .ysize = 1},
					   .extent = {bytes, 1, 1},
					   .kind = kind};

	return cudart__copy_3d(driver, &params);
}

static CUcontext current(void)
{
	CUcontext context = NULL;

	cudart__driver()->cuCtxGetCurrent(&context);
	return context;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				   size_t count, const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphAddKernelNode, CUDART_CONTEXT);
	result = kernel_params(&driver, params);
	CUDART_END(result ? result : cudart__driver()->cuGraphAddKernelNode(node, graph, dependencies, count, &driver));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphKernelNodeSetParams, CUDART_CONTEXT);
	result = kernel_params(&driver, params);
	CUDART_END(result ? result : cudart__driver()->cuGraphKernelNodeSetParams(node, &driver));
}

/* func: the kernel's handle, which every function here takes in place of a host function. */
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS driver = {0};
	CUresult result;

	CUDART_BEGIN(cudaGraphKernelNodeGetParams, CUDART_CONTEXT);
	result = params ? cudart__driver()->cuGraphKernelNodeGetParams(node, &driver) : CUDA_ERROR_INVALID_VALUE;
	if (!result && driver.kern)
		result = cudart__adopt_kernel(driver.kern);
	if (result)
		CUDART_END(result);
	params->func = driver.kern ? (void *)driver.kern : (void *)driver.func;
	params->gridDim = (dim3){driver.gridDimX, driver.gridDimY, driver.gridDimZ};
	params->blockDim = (dim3){driver.blockDimX, driver.blockDimY, driver.blockDimZ};
	params->sharedMemBytes = driver.sharedMemBytes;
	params->kernelParams = driver.kernelParams;
	params->extra = driver.extra;
	CUDART_END(CUDA_SUCCESS);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphExecKernelNodeSetParams, CUDART_CONTEXT);
	result = kernel_params(&driver, params);
	CUDART_END(result ? result : cudart__driver()->cuGraphExecKernelNodeSetParams(exec, node, &driver));
}

static CUresult add_copy(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
			 const CUDA_MEMCPY3D *copy)
{
	return cudart__driver()->cuGraphAddMemcpyNode(node, graph, dependencies, count, copy, current());
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				   size_t count, const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D copy;
	CUresult result;

	CUDART_BEGIN(cudaGraphAddMemcpyNode, CUDART_CONTEXT);
	result = cudart__copy_3d(&copy, params);
	CUDART_END(result ? result : add_copy(node, graph, dependencies, count, &copy));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				     size_t count, void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D copy;
	CUresult result;

	CUDART_BEGIN(cudaGraphAddMemcpyNode1D, CUDART_CONTEXT);
	result = copy_params_1d(&copy, dst, src, bytes, kind);
	CUDART_END(result ? result : add_copy(node, graph, dependencies, count, &copy));
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D copy;
	CUresult result;

	CUDART_BEGIN(cudaGraphMemcpyNodeSetParams, CUDART_CONTEXT);
	result = cudart__copy_3d(&copy, params);
	CUDART_END(result ? result : cudart__driver()->cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D copy;
	CUresult result;

	CUDART_BEGIN(cudaGraphExecMemcpyNodeSetParams, CUDART_CONTEXT);
	result = cudart__copy_3d(&copy, params);
	CUDART_END(result ? result : cudart__driver()->cuGraphExecMemcpyNodeSetParams(exec, node, &copy, current()));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst, const void *src,
					       size_t bytes, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D copy;
	CUresult result;

	CUDART_BEGIN(cudaGraphExecMemcpyNodeSetParams1D, CUDART_CONTEXT);
	result = copy_params_1d(&copy, dst, src, bytes, kind);
	CUDART_END(result ? result : cudart__driver()->cuGraphExecMemcpyNodeSetParams(exec, node, &copy, current()));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				   size_t count, const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphAddMemsetNode, CUDART_CONTEXT);
	result = memset_params(&driver, params);
	if (!result)
		result = cudart__driver()->cuGraphAddMemsetNode(node, graph, dependencies, count, &driver, current());
	CUDART_END(result);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphMemsetNodeSetParams, CUDART_CONTEXT);
	result = memset_params(&driver, params);
	CUDART_END(result ? result : cudart__driver()->cuGraphMemsetNodeSetParams(node, &driver));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphExecMemsetNodeSetParams, CUDART_CONTEXT);
	result = memset_params(&driver, params);
	if (!result)
		result = cudart__driver()->cuGraphExecMemsetNodeSetParams(exec, node, &driver, current());
	CUDART_END(result);
}

_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "host node parameters differ");

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				 size_t count, const struct cudaHostNodeParams *params)
{
	CUDART_BEGIN(cudaGraphAddHostNode, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphAddHostNode(node, graph, dependencies, count,
							(const CUDA_HOST_NODE_PARAMS *)params));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *params)
{
	CUDART_BEGIN(cudaGraphHostNodeSetParams, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS *)params));
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					   const struct cudaHostNodeParams *params)
{
	CUDART_BEGIN(cudaGraphExecHostNodeSetParams, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphExecHostNodeSetParams(exec, node, (const CUDA_HOST_NODE_PARAMS *)params));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				  size_t count)
{
	CUDART_BEGIN(cudaGraphAddEmptyNode, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphAddEmptyNode(node, graph, dependencies, count));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				       size_t count, cudaGraph_t child)
{
	CUDART_BEGIN(cudaGraphAddChildGraphNode, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphAddChildGraphNode(node, graph, dependencies, count, child));
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child)
{
	CUDART_BEGIN(cudaGraphChildGraphNodeGetGraph, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphChildGraphNodeGetGraph(node, child));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
	CUDART_BEGIN(cudaGraphExecChildGraphNodeSetParams, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphExecChildGraphNodeSetParams(exec, node, child));
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					size_t count, cudaEvent_t event)
{
	CUDART_BEGIN(cudaGraphAddEventRecordNode, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphAddEventRecordNode(node, graph, dependencies, count, event));
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				      size_t count, cudaEvent_t event)
{
	CUDART_BEGIN(cudaGraphAddEventWaitNode, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphAddEventWaitNode(node, graph, dependencies, count, event));
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *params)
{
	CUDART_BEGIN(cudaGraphHostNodeGetParams, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS *)params));
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
	CUDART_BEGIN(cudaGraphEventRecordNodeGetEvent, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphEventRecordNodeGetEvent(node, event));
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
	CUDART_BEGIN(cudaGraphEventWaitNodeGetEvent, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphEventWaitNodeGetEvent(node, event));
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
					    const cudaLaunchAttributeValue *value)
{
	CUDART_BEGIN(cudaGraphKernelNodeSetAttribute, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphKernelNodeSetAttribute(node, (CUlaunchAttributeID)attribute,
								   (const CUlaunchAttributeValue *)value));
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
					    cudaLaunchAttributeValue *value)
{
	CUDART_BEGIN(cudaGraphKernelNodeGetAttribute, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphKernelNodeGetAttribute(node, (CUlaunchAttributeID)attribute,
								   (CUlaunchAttributeValue *)value));
}

/* The generic interface: kernels are named by host functions and copies laid out
 * differently, the other kinds' parameters are the driver's. */
static CUresult node_params(CUgraphNodeParams *driver, const struct cudaGraphNodeParams *params)
{
	const struct cudaKernelNodeParamsV2 *kernel;
	struct cudaKernelNodeParams plain;
	CUDA_KERNEL_NODE_PARAMS converted;
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	memset(driver, 0, sizeof(*driver));
	switch (params->type) {
	case cudaGraphNodeTypeKernel:
		kernel = &params->kernel;
		plain = (struct cudaKernelNodeParams){kernel->func,           kernel->gridDim,      kernel->blockDim,
						      kernel->sharedMemBytes, kernel->kernelParams, kernel->extra};
		result = kernel_params(&converted, &plain);
		memcpy(&driver->kernel, &converted, sizeof(converted));
		break;
	case cudaGraphNodeTypeMemcpy:
		result = cudart__copy_3d(&driver->memcpy.copyParams, &params->memcpy.copyParams);
		driver->memcpy.copyCtx = current();
		break;
	case cudaGraphNodeTypeMemset:
		memcpy(&driver->memset, &params->memset, sizeof(params->memset));
		driver->memset.ctx = current();
		result = CUDA_SUCCESS;
		break;
	case cudaGraphNodeTypeHost:
	case cudaGraphNodeTypeGraph:
	case cudaGraphNodeTypeEmpty:
	case cudaGraphNodeTypeWaitEvent:
	case cudaGraphNodeTypeEventRecord:
		memcpy(driver, params, sizeof(*driver));
		result = CUDA_SUCCESS;
		break;
	default:
		result = CUDA_ERROR_NOT_SUPPORTED;
	}
	driver->type = (CUgraphNodeType)params->type;
	return result;
}

_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams), "node parameters differ");
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3), "kernel parameters differ");

cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
			     const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphAddNode, CUDART_CONTEXT);
	result = node_params(&driver, params);
	if (!result)
		result = cudart__driver()->cuGraphAddNode(node, graph, dependencies, (const CUgraphEdgeData *)edges,
							  count, &driver);
	CUDART_END(result);
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphNodeSetParams, CUDART_CONTEXT);
	result = node_params(&driver, params);
	CUDART_END(result ? result : cudart__driver()->cuGraphNodeSetParams(node, &driver));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams driver;
	CUresult result;

	CUDART_BEGIN(cudaGraphExecNodeSetParams, CUDART_CONTEXT);
	result = node_params(&driver, params);
	CUDART_END(result ? result : cudart__driver()->cuGraphExecNodeSetParams(exec, node, &driver));
}
