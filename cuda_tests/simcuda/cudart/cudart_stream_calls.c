/* Compiled twice, see cudart.h. */
#include "cudart.h"

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaStreamSynchronize, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamSynchronize)(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaStreamQuery, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamQuery)(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	CUDART_BEGIN_TWIN(cudaStreamWaitEvent, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamWaitEvent)(stream, event, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaEventRecord, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuEventRecord)(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
	CUDART_BEGIN_TWIN(cudaEventRecordWithFlags, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuEventRecordWithFlags)(event, stream, flags));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
	CUDART_BEGIN_TWIN(cudaStreamGetFlags, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamGetFlags)(stream, flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	CUDART_BEGIN_TWIN(cudaStreamGetPriority, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamGetPriority)(stream, priority));
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
	CUDART_BEGIN_TWIN(cudaStreamGetId, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamGetId)(stream, id));
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
	CUDART_BEGIN_TWIN(cudaStreamGetDevice, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamGetDevice)(stream, device));
}

_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUstreamAttrValue), "stream attributes differ");

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue *value)
{
	CUDART_BEGIN_TWIN(cudaStreamGetAttribute, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamGetAttribute)(stream, (CUstreamAttrID)attribute, (CUstreamAttrValue *)value));
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue *value)
{
	CUDART_BEGIN_TWIN(cudaStreamSetAttribute, ptsz, CUDART_CONTEXT);
	CUDART_END(
	    DRIVER_TWIN(cuStreamSetAttribute)(stream, (CUstreamAttrID)attribute, (const CUstreamAttrValue *)value));
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
	CUDART_BEGIN_TWIN(cudaStreamCopyAttributes, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamCopyAttributes)(dst, src));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
	CUDART_BEGIN_TWIN(cudaStreamAddCallback, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamAddCallback)(stream, (CUstreamCallback)(void *)callback, data, flags));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *address, size_t bytes, unsigned flags)
{
	CUDART_BEGIN_TWIN(cudaStreamAttachMemAsync, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamAttachMemAsync)(stream, (CUdeviceptr)address, bytes, flags));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	CUDART_BEGIN_TWIN(cudaStreamBeginCapture, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamBeginCapture)(stream, (CUstreamCaptureMode)mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					  const cudaGraphEdgeData *edges, size_t count, enum cudaStreamCaptureMode mode)
{
	CUDART_BEGIN_TWIN(cudaStreamBeginCaptureToGraph, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamBeginCaptureToGraph)(stream, graph, dependencies, (const CUgraphEdgeData *)edges,
							    count, (CUstreamCaptureMode)mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	CUDART_BEGIN_TWIN(cudaStreamEndCapture, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamEndCapture)(stream, graph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	CUDART_BEGIN_TWIN(cudaStreamIsCapturing, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamIsCapturing)(stream, (CUstreamCaptureStatus *)status));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
				     cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
				     const cudaGraphEdgeData **edges, size_t *count)
{
	CUDART_BEGIN_TWIN(cudaStreamGetCaptureInfo, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamGetCaptureInfo)(stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph,
						       dependencies, (const CUgraphEdgeData **)edges, count));
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
						const cudaGraphEdgeData *edges, size_t count, unsigned flags)
{
	CUDART_BEGIN_TWIN(cudaStreamUpdateCaptureDependencies, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuStreamUpdateCaptureDependencies)(stream, dependencies, (const CUgraphEdgeData *)edges,
								  count, flags));
}

cudaError_t cudaMallocAsync(void **address, size_t bytes, cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaMallocAsync, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuMemAllocAsync)((CUdeviceptr *)address, bytes, stream));
}

cudaError_t cudaMallocFromPoolAsync(void **address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaMallocFromPoolAsync, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuMemAllocFromPoolAsync)((CUdeviceptr *)address, bytes, pool, stream));
}

cudaError_t cudaFreeAsync(void *address, cudaStream_t stream)
{
	CUDART_BEGIN_TWIN(cudaFreeAsync, ptsz, CUDART_CONTEXT);
	CUDART_END(DRIVER_TWIN(cuMemFreeAsync)((CUdeviceptr)address, stream));
}
