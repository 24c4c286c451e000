/* Functions whose counterparts the simulated driver has and does not support: they return cudaErrorNotSupported. */
#include <string.h>

#include "cudart.h"

_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle), "event handles differ");
_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle), "memory handles differ");

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	CUDART_BEGIN(cudaIpcGetEventHandle, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuIpcGetEventHandle((CUipcEventHandle *)handle, event));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle driver_handle;

	CUDART_BEGIN(cudaIpcOpenEventHandle, CUDART_CONTEXT);
	memcpy(&driver_handle, &handle, sizeof(handle));
	CUDART_END(cudart__driver()->cuIpcOpenEventHandle(event, driver_handle));
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *address)
{
	CUDART_BEGIN(cudaIpcGetMemHandle, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuIpcGetMemHandle((CUipcMemHandle *)handle, (CUdeviceptr)address));
}

cudaError_t cudaIpcOpenMemHandle(void **address, cudaIpcMemHandle_t handle, unsigned flags)
{
	CUipcMemHandle driver_handle;

	CUDART_BEGIN(cudaIpcOpenMemHandle, CUDART_CONTEXT);
	memcpy(&driver_handle, &handle, sizeof(handle));
	CUDART_END(cudart__driver()->cuIpcOpenMemHandle((CUdeviceptr *)address, driver_handle, flags));
}

cudaError_t cudaIpcCloseMemHandle(void *address)
{
	CUDART_BEGIN(cudaIpcCloseMemHandle, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuIpcCloseMemHandle((CUdeviceptr)address));
}

cudaError_t cudaLibraryGetUnifiedFunction(void **function, cudaLibrary_t library, const char *name)
{
	CUDART_BEGIN(cudaLibraryGetUnifiedFunction, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuLibraryGetUnifiedFunction(function, (CUlibrary)library, name));
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned value,
					     unsigned flags)
{
	CUcontext context = NULL;

	CUDART_BEGIN(cudaGraphConditionalHandleCreate, CUDART_CONTEXT);
	cudart__driver()->cuCtxGetCurrent(&context);
	CUDART_END(cudart__driver()->cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)handle, graph, context,
								    value, flags));
}
