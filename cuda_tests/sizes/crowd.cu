/*
 * Threads that launch two kernels, mostly at new sizes, each thread in a stream of
 * its own: first while nothing is known about the code, then while it is being
 * read, and afterwards.
 *
 *   usage: crowd [THREADS [LAUNCHES]]     threads (8, at most 64), launches of each (800)
 */
#include "check.h"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <pthread.h>

#define THREADS_MAX 64
#define ELEMENTS (1 << 20)
#define SMALLEST 1024
#define LAUNCHES_MAX ((ELEMENTS - SMALLEST) / THREADS_MAX) /* sizes stay within ELEMENTS */
#define MEET_EVERY 16 /* launches, of which the first of each kernel always has the same size */
#define WAIT_EVERY 8
#define KERNELS 2
#define COLUMNS_MAX (ELEMENTS / BLOCK)
#define BLOCKS 108
#define BLOCK 256

__global__ void scale(int n, float factor, float *x)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x[i] *= factor;
}

/* One thread per row of `columns` elements */
__global__ void sum_rows(int rows, int columns, const float *x, float *sums)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (row >= rows)
		return;
	for (int column = 0; column < columns; column++)
		sum += x[row * columns + column];
	sums[row] = sum;
}

struct one {
	pthread_t thread;
	int number, launches;
	cudaStream_t stream;
	float *x, *sums;
};

static int size_of(const struct one *one, int launch)
{
	return launch % MEET_EVERY < KERNELS ? SMALLEST : SMALLEST + launch * THREADS_MAX + one->number;
}

static void *launch_all(void *arg)
{
	struct one *one = (struct one *)arg;

	for (int i = 0; i < one->launches; i++) {
		int size = size_of(one, i);

		if (i % KERNELS)
			scale<<<BLOCKS, BLOCK, 0, one->stream>>>(size, 0.5f, one->x);
		else
			sum_rows<<<1, BLOCK, 0, one->stream>>>(BLOCK, size % COLUMNS_MAX, one->x, one->sums);
		CHECK(cudaGetLastError());
		if (i % WAIT_EVERY == 0)
			CHECK(cudaStreamSynchronize(one->stream));
	}
	CHECK(cudaStreamSynchronize(one->stream));
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 8, launches = argc > 2 ? atoi(argv[2]) : 800;
	static struct one all[THREADS_MAX];

	if (threads < 1 || threads > THREADS_MAX || launches < 1 || launches > LAUNCHES_MAX) {
		fprintf(stderr, "usage: crowd [THREADS [LAUNCHES]]   1 to %d threads, 1 to %d launches of each\n",
			THREADS_MAX, LAUNCHES_MAX);
		return 2;
	}
	for (int i = 0; i < threads; i++) {
		all[i].number = i;
		all[i].launches = launches;
		CHECK(cudaStreamCreateWithFlags(&all[i].stream, cudaStreamNonBlocking));
		CHECK(cudaMalloc(&all[i].x, ELEMENTS * sizeof(float)));
		CHECK(cudaMalloc(&all[i].sums, BLOCK * sizeof(float)));
		CHECK(cudaMemset(all[i].x, 0, ELEMENTS * sizeof(float)));
	}
	for (int i = 0; i < threads; i++)
		if (pthread_create(&all[i].thread, NULL, launch_all, &all[i]))
			return 1;
	for (int i = 0; i < threads; i++) {
		pthread_join(all[i].thread, NULL);
		CHECK(cudaStreamDestroy(all[i].stream));
		CHECK(cudaFree(all[i].x));
		CHECK(cudaFree(all[i].sums));
	}
	printf("%d launches\n", threads * launches);
	return 0;
}
