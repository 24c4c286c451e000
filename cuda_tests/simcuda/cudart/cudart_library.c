/* The program's own use of libraries, beside the ones that nvcc's code registers (cudart_module.c). */
#include "cudart.h"

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
				void **jit_values, unsigned jit_count, enum cudaLibraryOption *options, void **values,
				unsigned count)
{
	CUDART_BEGIN(cudaLibraryLoadData, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuLibraryLoadData((CUlibrary *)library, code, (CUjit_option *)jit_options,
						       jit_values, jit_count, (CUlibraryOption *)options, values,
						       count));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, enum cudaJitOption *jit_options,
				    void **jit_values, unsigned jit_count, enum cudaLibraryOption *options,
				    void **values, unsigned count)
{
	CUDART_BEGIN(cudaLibraryLoadFromFile, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuLibraryLoadFromFile((CUlibrary *)library, path, (CUjit_option *)jit_options,
							   jit_values, jit_count, (CUlibraryOption *)options, values,
							   count));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	CUDART_BEGIN(cudaLibraryUnload, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuLibraryUnload((CUlibrary)library));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
	CUresult result;

	CUDART_BEGIN(cudaLibraryGetKernel, CUDART_DRIVER);
	result = cudart__driver()->cuLibraryGetKernel((CUkernel *)kernel, (CUlibrary)library, name);
	CUDART_END(result ? result : cudart__adopt_kernel((CUkernel)*kernel));
}

cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library)
{
	CUDART_BEGIN(cudaLibraryGetKernelCount, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuLibraryGetKernelCount(count, (CUlibrary)library));
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned count, cudaLibrary_t library)
{
	CUresult result;

	CUDART_BEGIN(cudaLibraryEnumerateKernels, CUDART_DRIVER);
	result = cudart__driver()->cuLibraryEnumerateKernels((CUkernel *)kernels, count, (CUlibrary)library);
	for (unsigned i = 0; !result && i < count; i++)
		if (kernels[i])
			result = cudart__adopt_kernel((CUkernel)kernels[i]);
	CUDART_END(result);
}

cudaError_t cudaLibraryGetGlobal(void **address, size_t *bytes, cudaLibrary_t library, const char *name)
{
	CUDART_BEGIN(cudaLibraryGetGlobal, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuLibraryGetGlobal((CUdeviceptr *)address, bytes, (CUlibrary)library, name));
}

cudaError_t cudaLibraryGetManaged(void **address, size_t *bytes, cudaLibrary_t library, const char *name)
{
	CUDART_BEGIN(cudaLibraryGetManaged, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuLibraryGetManaged((CUdeviceptr *)address, bytes, (CUlibrary)library, name));
}
