#include "kernels.h"

#include <cooperative_groups.h>

KERNEL void add(int *x, int n, int d)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] += d;
}

KERNEL void add_shared(int *x, int n, int d)
{
	extern __shared__ int next[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	next[threadIdx.x] = i < n ? x[i] + d : 0;
	__syncthreads();
	if (i < n)
		x[i] = next[threadIdx.x];
}

KERNEL void add_together(int *x, int n, int d)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int half = d / 2;

	if (i < n)
		x[i] += half;
	cooperative_groups::this_grid().sync();
	if (n - 1 - i >= 0 && i < n) /* an element that another block wrote before the wait */
		x[n - 1 - i] += d - half;
}
