/* A CUDA runtime that is found with dlopen, so that the program needs none. */
#ifndef FACTS_RUNTIME_H
#define FACTS_RUNTIME_H

#include "facts.h"

#include <cuda_runtime_api.h>

struct facts_runtime {
	__typeof__(&cudaLibraryLoadData) load;
	__typeof__(&cudaLibraryGetKernel) get_kernel;
	__typeof__(&cudaGetErrorName) error_name;
	cudaError_t (*launch)(const void *, dim3, dim3, void **, size_t, cudaStream_t);
};

/* path: of the shared library, or NULL. false: there is none, or it lacks one of these functions. */
bool facts_runtime_open(struct facts_runtime *runtime, const char *path);
/* A kernel of facts_ptx. */
cudaError_t facts_runtime_kernel(const struct facts_runtime *runtime, cudaKernel_t *kernel, const char *name);
cudaError_t facts_runtime_launch(const struct facts_runtime *runtime, cudaKernel_t kernel, cudaStream_t stream,
				 unsigned grid, unsigned block, uint64_t ns);

#endif
