/* Kernels are launched with <<<>>>, and through a template. */
#include "runtime.h"

#include <cuda_runtime.h>

#include <cstdio>

template <typename T> __global__ void add_each(T *x, int n, T d)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x[i] += d;
}

static __global__ void add_plane(int *x, dim3 side, int d)
{
	unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;

	if (column < side.x && row < side.y)
		x[row * side.x + column] += d;
}

static void launch(int i, struct buffer *buffer, cudaStream_t stream)
{
	const dim3 side(64, BUFFER_INTS / 64);
	int d = i % 7;

	if (i % 4 < 2)
		add_each<int><<<1 + i % 8, 128, 0, stream>>>(buffer->device, buffer->n, d);
	else
		add_plane<<<dim3(4, 4), dim3(16, 16), 0, stream>>>(buffer->device, side, d);
	CHECK(cudaGetLastError());
	buffer->expected += d;
}

static long work(int launches)
{
	return runtime_work(launches, launch);
}

int main(int argc, char **argv)
{
	return program_run(argc, argv, 1000, work);
}
