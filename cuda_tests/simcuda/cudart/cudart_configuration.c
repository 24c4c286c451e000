/* The <<<grid, block, shared, stream>>> of a launch, kept from the launch expression until the kernel's host function
 * takes it. */
#include "cudart.h"

enum { MAX_NESTED = 16 }; /* depth of launches whose arguments contain launches */

struct configuration {
	dim3 grid, block;
	size_t shared_bytes;
	void *stream;
};

static __thread struct {
	unsigned depth;
	struct configuration pushed[MAX_NESTED];
} thread;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream)
{
	if (thread.depth == MAX_NESTED)
		return (unsigned)cudart__fail(cudaErrorInvalidConfiguration);
	thread.pushed[thread.depth++] = (struct configuration){grid, block, shared_bytes, stream};
	return cudaSuccess;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
	const struct configuration *top;

	if (!thread.depth)
		return cudart__fail(cudaErrorMissingConfiguration);
	top = &thread.pushed[--thread.depth];
	*grid = top->grid;
	*block = top->block;
	*shared_bytes = top->shared_bytes;
	*(void **)stream = top->stream;
	return cudaSuccess;
}
