/* cuGetProcAddress, the driver's own resolver: runtimes call the addresses that it answers with. */
#include "shim/shim.h"
#include "real.h"

#include <errno.h>

static void route(const char *name, void **address, int version, cuuint64_t flags)
{
	int saved_errno = errno;

	if (address && *address && atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) != KC__DISABLED)
		*address =
		    kc__route_proc(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, *address);
	errno = saved_errno;
}

KC_EXPORT CUresult CUDAAPI cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags)
{
	CUresult result = KC_REAL(cuGetProcAddress)(name, address, version, flags);

	if (result == CUDA_SUCCESS)
		route(name, address, version, flags);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
					       CUdriverProcAddressQueryResult *status)
{
	CUresult result = KC_REAL(cuGetProcAddress_v2)(name, address, version, flags, status);

	if (result == CUDA_SUCCESS)
		route(name, address, version, flags);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuInit(unsigned flags)
{
	CUresult result;
	int saved_errno;

	kc__thread.in_init = true;
	result = KC_REAL(cuInit)(flags);
	kc__thread.in_init = false;
	saved_errno = errno;

	if (result == CUDA_SUCCESS)
		kc__start(false);
	else if (result == CUDA_ERROR_NO_DEVICE && atomic_load(&kc__shim.stage) != KC__DISABLED)
		kc__say(KC_MESSAGE_NO_GPU, NULL);
	errno = saved_errno;
	return result;
}
