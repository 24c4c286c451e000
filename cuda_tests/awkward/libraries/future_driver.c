/*
 * As much of a driver as newer_abi.c needs, of a possible later CUDA in which
 * cuLaunchHostFunc has a third ABI. It prints which one was called, and with what.
 */
#include <cuda.h>

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void *data, unsigned mode);
EXPORT CUresult cuLaunchHostFunc_v3(CUstream stream, CUhostFn function, void *data, unsigned mode);

EXPORT CUresult cuInit(unsigned flags)
{
	(void)flags;
	return CUDA_ERROR_NO_DEVICE;
}

static CUresult called(const char *symbol, const void *data, unsigned mode)
{
	printf("%s(%s, %u)\n", symbol, data ? "data" : "nothing", mode);
	return CUDA_ERROR_NOT_INITIALIZED;
}

EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	(void)stream;
	(void)function;
	return called("cuLaunchHostFunc", data, 0);
}

EXPORT CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void *data, unsigned mode)
{
	(void)stream;
	(void)function;
	return called("cuLaunchHostFunc_v2", data, mode);
}

EXPORT CUresult cuLaunchHostFunc_v3(CUstream stream, CUhostFn function, void *data, unsigned mode)
{
	(void)stream;
	(void)function;
	return called("cuLaunchHostFunc_v3", data, mode);
}

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
				    CUdriverProcAddressQueryResult *status)
{
	(void)flags;
	*address = NULL;
	if (!strcmp(name, "cuLaunchHostFunc"))
		*address = version >= 99000   ? (void *)cuLaunchHostFunc_v3
			   : version >= 13010 ? (void *)cuLaunchHostFunc_v2
					      : (void *)cuLaunchHostFunc;
	if (status)
		*status = *address ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}
