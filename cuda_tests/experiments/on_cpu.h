/*
 * As much of CUDA as the programs here use, on the CPU: a block's threads run in
 * turn, each until it ends or waits for the others, forwards and backwards;
 * blocks run one after another. A launch has ended when it returns. For checking
 * what kernels compute where there is no GPU; it says nothing of time.
 */
#ifndef ON_CPU_H
#define ON_CPU_H

#include <algorithm>
#include <functional>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __shared__ static /* one block at a time */

using std::max;
using std::min;

struct dim3 {
	unsigned x, y, z;

	dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
	{
	}
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

#define ON_CPU_SHARED_BYTES (48 * 1024)
extern char on_cpu_shared[ON_CPU_SHARED_BYTES];

void __syncthreads();
void on_cpu_launch(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &thread);

typedef int cudaStream_t;

template <typename... P, typename... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t, A... arguments)
{
	on_cpu_launch(grid, block, shared_bytes, [&] { kernel(arguments...); });
}

template <typename T> T atomicAdd(T *at, T more)
{
	T before = *at;

	*at += more;
	return before;
}

template <typename T> T atomicMax(T *at, T other)
{
	T before = *at;

	*at = max(before, other);
	return before;
}

/* --- the runtime: memory is the host's, streams are always empty */
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaStreamNonBlocking = 1 };
typedef int cudaEvent_t;

struct cudaDeviceProp {
	char name[256];
};

static inline const char *cudaGetErrorString(cudaError_t)
{
	return "out of memory";
}

template <typename T> cudaError_t cudaMalloc(T **at, size_t bytes)
{
	*at = (T *)malloc(bytes);
	return *at ? cudaSuccess : cudaErrorMemoryAllocation;
}

template <typename T> cudaError_t cudaMallocHost(T **at, size_t bytes)
{
	return cudaMalloc(at, bytes);
}

static inline cudaError_t cudaFree(void *at)
{
	free(at);
	return cudaSuccess;
}

static inline cudaError_t cudaFreeHost(void *at)
{
	return cudaFree(at);
}

static inline cudaError_t cudaMemset(void *at, int value, size_t bytes)
{
	memset(at, value, bytes);
	return cudaSuccess;
}

static inline cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t)
{
	return cudaMemset(at, value, bytes);
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
	memcpy(to, from, bytes);
	return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t)
{
	return cudaMemcpy(to, from, bytes, kind);
}

static inline cudaError_t cudaGetDevice(int *device)
{
	*device = 0;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *, unsigned)
{
	return cudaSuccess;
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t)
{
	return cudaSuccess;
}

static inline cudaError_t cudaDeviceSynchronize()
{
	return cudaSuccess;
}

static inline cudaError_t cudaEventCreate(cudaEvent_t *)
{
	return cudaSuccess;
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t)
{
	return cudaSuccess;
}

static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)
{
	return cudaSuccess;
}

static inline cudaError_t cudaEventSynchronize(cudaEvent_t)
{
	return cudaSuccess;
}

static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
	*ms = 0;
	return cudaSuccess;
}

#endif
