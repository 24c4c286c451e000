/*
 * Modules, libraries and the functions in them: which handles are CUkernels,
 * what they are called where the driver cannot say, and when handles may be
 * used again for other code.
 */
#include "shim/shim.h"

#include <errno.h>

static void named(void *handle, bool is_kernel, const char *name)
{
	int saved_errno = errno;

	if (kc__recording())
		kc__handle_named((uint64_t)(uintptr_t)handle, is_kernel, name);
	errno = saved_errno;
}

KC_EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	CUresult result = KC_REAL(cuModuleGetFunction)(function, module, name);

	if (result == CUDA_SUCCESS)
		named(*function, false, name);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult result = KC_REAL(cuLibraryGetKernel)(kernel, library, name);

	if (result == CUDA_SUCCESS)
		named(*kernel, true, name);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library)
{
	CUresult result = KC_REAL(cuLibraryEnumerateKernels)(kernels, n, library);

	for (unsigned i = 0; result == CUDA_SUCCESS && kernels && i < n; i++)
		if (kernels[i])
			named(kernels[i], true, NULL);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	CUresult result = KC_REAL(cuKernelGetFunction)(function, kernel);

	if (result == CUDA_SUCCESS)
		named(kernel, true, NULL);
	return result;
}

/* After the call: a look-up that raced with it and saw the old code is repeated. */

KC_EXPORT CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
	CUresult result = KC_REAL(cuModuleUnload)(module);

	atomic_fetch_add_explicit(&kc__shim.module_generation, 1, memory_order_release);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
	CUresult result = KC_REAL(cuLibraryUnload)(library);

	atomic_fetch_add_explicit(&kc__shim.module_generation, 1, memory_order_release);
	return result;
}
