/*
 * Modules, libraries and the functions in them: which code they brought, which
 * handles are CUkernels, what functions are called where the driver does not tell,
 * and when handles may come to stand for other code.
 */
#include "shim/tables/handles.h"
#include "shim/code/loaded_code.h"
#include "shim/entry/real.h"

#include <errno.h>

static void named(const void *handle, enum kc__form form, const char *name, const void *container)
{
	int saved_errno = errno;

	if (kc__begun())
		kc__handle_named(handle, form, name, container);
	errno = saved_errno;
}

static void loaded(const void *handle, const void *image)
{
	int saved_errno = errno;

	if (image && kc__begun())
		kc__code_loaded(handle, image);
	errno = saved_errno;
}

static void loaded_file(const void *handle, const char *path)
{
	int saved_errno = errno;

	if (path && kc__begun())
		kc__code_loaded_file(handle, path);
	errno = saved_errno;
}

static void unloading(const void *handle)
{
	if (kc__begun())
		kc__handle_gone(handle);
}

KC_EXPORT CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *path)
{
	CUresult result = KC_REAL(cuModuleLoad)(module, path);

	if (result == CUDA_SUCCESS)
		loaded_file(*module, path);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
	CUresult result = KC_REAL(cuModuleLoadData)(module, image);

	if (result == CUDA_SUCCESS)
		loaded(*module, image);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
					      CUjit_option *options, void **values)
{
	CUresult result = KC_REAL(cuModuleLoadDataEx)(module, image, count, options, values);

	if (result == CUDA_SUCCESS)
		loaded(*module, image);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatbin)
{
	CUresult result = KC_REAL(cuModuleLoadFatBinary)(module, fatbin);

	if (result == CUDA_SUCCESS)
		loaded(*module, fatbin);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_values,
					     unsigned jit_count, CUlibraryOption *options, void **values,
					     unsigned count)
{
	CUresult result = KC_REAL(cuLibraryLoadData)(library, code, jit, jit_values, jit_count, options, values, count);

	if (result == CUDA_SUCCESS)
		loaded(*library, code);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit,
						 void **jit_values, unsigned jit_count, CUlibraryOption *options,
						 void **values, unsigned count)
{
	CUresult result =
	    KC_REAL(cuLibraryLoadFromFile)(library, path, jit, jit_values, jit_count, options, values, count);

	if (result == CUDA_SUCCESS)
		loaded_file(*library, path);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	CUresult result = KC_REAL(cuModuleGetFunction)(function, module, name);

	if (result == CUDA_SUCCESS)
		named(*function, KC__FORM_FUNCTION, name, module);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult result = KC_REAL(cuLibraryGetKernel)(kernel, library, name);

	if (result == CUDA_SUCCESS)
		named(*kernel, KC__FORM_KERNEL, name, library);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library)
{
	CUresult result = KC_REAL(cuLibraryEnumerateKernels)(kernels, n, library);

	for (unsigned i = 0; result == CUDA_SUCCESS && kernels && i < n; i++)
		named(kernels[i], KC__FORM_KERNEL, NULL, library);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	CUresult result = KC_REAL(cuKernelGetFunction)(function, kernel);

	if (result == CUDA_SUCCESS && kc__begun()) {
		int saved_errno = errno;

		kc__handle_function(*function, kernel);
		errno = saved_errno;
	}
	return result;
}

/* The generation changes after the call: a look-up that ran during it and saw the old code is repeated. */

KC_EXPORT CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
	CUresult result;

	unloading(module);
	result = KC_REAL(cuModuleUnload)(module);
	atomic_fetch_add_explicit(&kc__shim.module_generation, 1, memory_order_release);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
	CUresult result;

	unloading(library);
	result = KC_REAL(cuLibraryUnload)(library);
	atomic_fetch_add_explicit(&kc__shim.module_generation, 1, memory_order_release);
	return result;
}
