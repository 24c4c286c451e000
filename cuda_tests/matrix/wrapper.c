/*
 * A preloaded library of a third party, which counts launches: its cuLaunchKernel
 * finds the next one with RTLD_NEXT. It prints the count when the program ends.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

static long launches;
static __typeof__(&cuLaunchKernel) next;

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
			       unsigned int block_x, unsigned int block_y, unsigned int block_z,
			       unsigned int shared_bytes, CUstream stream, void **params, void **extra)
{
	if (!__atomic_load_n(&next, __ATOMIC_ACQUIRE))
		__atomic_store_n(&next, (__typeof__(next))dlsym(RTLD_NEXT, "cuLaunchKernel"), __ATOMIC_RELEASE);
	__atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
	return next(f, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params, extra);
}

__attribute__((destructor)) static void print_count(void)
{
	if (launches)
		printf("wrapper: %ld launches\n", launches);
	fflush(stdout);
}
