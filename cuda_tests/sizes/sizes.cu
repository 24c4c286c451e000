/*
 * One kernel at growing sizes, once each, with host work in between. Only an
 * argument tells the size; the grid stays the same, or with "grid" has one thread
 * per element.
 *
 *   usage: sizes [FIRST [COUNT [grid]]]     elements at first (1,048,576), sizes (12)
 */
#include "check.h"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <ctime>

#define BLOCKS 216
#define THREADS 256
#define GROWTH 1.6
#define HOST_WORK_NS 100000000L /* 0.1 s */

/* y = the sum of x^k / (k + 1), k < terms */
__global__ void series(int n, int terms, const float *x, float *y)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		float at = x[i], power = 1, sum = 0;

		for (int k = 0; k < terms; k++) {
			sum += power / (float)(k + 1);
			power *= at;
		}
		y[i] = sum;
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1048576, sizes = argc > 2 ? atoi(argv[2]) : 12;
	const struct timespec host_work = {0, HOST_WORK_NS};
	double largest = n;
	float *x, *y;

	for (int i = 1; i < sizes; i++)
		largest *= GROWTH;
	CHECK(cudaMalloc(&x, sizeof(*x) * (size_t)largest));
	CHECK(cudaMalloc(&y, sizeof(*y) * (size_t)largest));
	CHECK(cudaMemset(x, 0, sizeof(*x) * (size_t)largest));
	for (int i = 0; i < sizes; i++) {
		int blocks = argc > 3 ? (n + THREADS - 1) / THREADS : BLOCKS;

		series<<<blocks, THREADS>>>(n, 20, x, y);
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
		nanosleep(&host_work, NULL);
		n = (int)(n * GROWTH);
	}
	CHECK(cudaFree(x));
	CHECK(cudaFree(y));
	printf("%d sizes\n", sizes);
	return 0;
}
