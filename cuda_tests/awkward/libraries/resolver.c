/*
 * A preloaded library of a third party, whose cuGetProcAddress answers with a
 * function of its own for cuLaunchHostFunc. That function prints a line and calls
 * the driver by its exported name.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static CUresult launch_host_function(CUstream stream, CUhostFn function, void *data)
{
	puts("resolver: called");
	return cuLaunchHostFunc(stream, function, data);
}

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
				    CUdriverProcAddressQueryResult *status)
{
	__typeof__(&cuGetProcAddress_v2) next = (__typeof__(next))dlsym(RTLD_NEXT, "cuGetProcAddress_v2");
	CUresult result = next(name, address, version, flags, status);

	if (result == CUDA_SUCCESS && strcmp(name, "cuLaunchHostFunc") == 0)
		*address = (void *)launch_host_function;
	return result;
}
