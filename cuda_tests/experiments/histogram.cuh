#ifndef HISTOGRAM_CUH
#define HISTOGRAM_CUH

#include "device.cuh"

/* One of its own in shared memory a block, added up in the end */
#define HISTOGRAM_BINS 256
static __global__ void histogram_kernel(int n, const int *x, int *counts)
{
	__shared__ int own[HISTOGRAM_BINS];

	for (int i = threadIdx.x; i < HISTOGRAM_BINS; i += blockDim.x)
		own[i] = 0;
	__syncthreads();
	for (int i = global_index(); i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&own[x[i]], 1);
	__syncthreads();
	for (int i = threadIdx.x; i < HISTOGRAM_BINS; i += blockDim.x)
		atomicAdd(&counts[i], own[i]);
}

/* More blocks than these have little left to count. */
#define HISTOGRAM_BLOCKS 256

#endif
