/* What several kernels use. */
#ifndef DEVICE_CUH
#define DEVICE_CUH

#ifndef __CUDACC__
#include "on_cpu.h"
#endif

/* The launch's dynamic shared memory. */
template <typename T> __device__ T *dynamic_shared()
{
#ifdef __CUDACC__
	extern __shared__ __align__(16) char pool[];

	return (T *)pool;
#else
	return (T *)on_cpu_shared;
#endif
}

static inline __device__ int thread_in_block()
{
	return threadIdx.y * blockDim.x + threadIdx.x;
}

static inline __device__ int threads_in_block()
{
	return blockDim.x * blockDim.y;
}

static inline __device__ int global_index()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

/* Beyond the rim it is as at the rim. */
static inline __device__ int clamped(int i, int n)
{
	return min(max(i, 0), n - 1);
}

/* Joins the values of a block's threads, in their order, into values[0]; any number of threads. */
template <typename T, typename Join> __device__ void join_block(T *values, Join join)
{
	int t = thread_in_block(), n = threads_in_block();

	for (int apart = 1; apart < n; apart *= 2) {
		__syncthreads();
		if (t % (2 * apart) == 0 && t + apart < n)
			values[t] = join(values[t], values[t + apart]);
	}
	__syncthreads();
}

#endif
