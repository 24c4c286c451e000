#include "cudart.h"

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	CUDART_BEGIN(cudaStreamCreate, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	CUDART_BEGIN(cudaStreamCreateWithFlags, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	CUDART_BEGIN(cudaStreamCreateWithPriority, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	CUDART_BEGIN(cudaStreamDestroy, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuStreamDestroy(stream));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	CUDART_BEGIN(cudaDeviceGetStreamPriorityRange, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	CUDART_BEGIN(cudaThreadExchangeStreamCaptureMode, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	CUDART_BEGIN(cudaEventCreate, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuEventCreate(event, CU_EVENT_DEFAULT));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	CUDART_BEGIN(cudaEventCreateWithFlags, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuEventCreate(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	CUDART_BEGIN(cudaEventDestroy, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuEventDestroy(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	CUDART_BEGIN(cudaEventQuery, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	CUDART_BEGIN(cudaEventSynchronize, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
	CUDART_BEGIN(cudaEventElapsedTime, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuEventElapsedTime(milliseconds, start, end));
}
