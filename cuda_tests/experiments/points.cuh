/* Kernels on clouds of points. */
#ifndef POINTS_CUH
#define POINTS_CUH

#include "device.cuh"
#include "reference/reference.h"

/* --- nearest neighbours: the distances */
__global__ void knn_distance_kernel(int n, const float *x, const float *y, float from_x, float from_y, float *distances)
{
	int i = global_index();

	if (i < n)
		distances[i] = sqrtf((x[i] - from_x) * (x[i] - from_x) + (y[i] - from_y) * (y[i] - from_y));
}

/* --- particle filter, a frame: reference_filter() */
struct weighed {
	long long weight, x, y; /* sums; positions times weight */
};

static inline __device__ struct weighed add_weighed(struct weighed a, struct weighed b)
{
	struct weighed both = {a.weight + b.weight, a.x + b.x, a.y + b.y};

	return both;
}

static inline __device__ unsigned scrambled(unsigned x)
{
	x ^= x >> 16;
	x *= 0x85ebca6bu;
	x ^= x >> 13;
	x *= 0xc2b2ae35u;
	return x ^ x >> 16;
}

static inline __device__ int noise_of(unsigned i, unsigned frame, unsigned axis)
{
	return (int)(scrambled(scrambled(2 * frame + axis) ^ i) % PARTICLE_UNIT) - PARTICLE_UNIT / 2;
}

__global__ void particle_move_kernel(int n, int frame, struct reference_particle *particles, unsigned *weights)
{
	int i = global_index();
	struct reference_particle p;
	long long x, y;

	if (i >= n)
		return;
	p = particles[i];
	p.x += PARTICLE_STEP_X + noise_of(i, frame, 0);
	p.y += PARTICLE_STEP_Y + noise_of(i, frame, 1);
	x = (p.x - frame * PARTICLE_STEP_X) / PARTICLE_COARSE;
	y = (p.y - frame * PARTICLE_STEP_Y) / PARTICLE_COARSE;
	particles[i] = p;
	weights[i] = (unsigned)(1 + PARTICLE_HEAVIEST * (long long)PARTICLE_NEAR / (PARTICLE_NEAR + x * x + y * y));
}

/* Within each block: the weights up to and with each particle's, and all its sums. */
#define PARTICLE_THREADS_MAX 1024
__global__ void particle_sum_kernel(int n, const struct reference_particle *particles, const unsigned *weights,
				    unsigned *reached, struct weighed *of_blocks)
{
	__shared__ unsigned sums[PARTICLE_THREADS_MAX];
	__shared__ struct weighed all[PARTICLE_THREADS_MAX];
	int i = global_index(), t = threadIdx.x;
	long long weight = i < n ? weights[i] : 0;
	struct weighed mine = {weight, 0, 0};

	if (i < n) {
		mine.x = weight * particles[i].x;
		mine.y = weight * particles[i].y;
	}
	all[t] = mine;
	sums[t] = (unsigned)weight;
	for (int apart = 1; apart < (int)blockDim.x; apart *= 2) {
		unsigned more;

		__syncthreads();
		more = t >= apart ? sums[t - apart] : 0;
		__syncthreads();
		sums[t] += more;
	}
	if (i < n)
		reached[i] = sums[t];
	join_block(all, add_weighed);
	if (t == 0)
		of_blocks[blockIdx.x] = all[0];
}

/* One block: of_blocks[b].weight becomes that of all blocks before b; total: the sums of all. */
__global__ void particle_total_kernel(int blocks, struct weighed *of_blocks, struct weighed *total)
{
	__shared__ struct weighed all[PARTICLE_THREADS_MAX];
	int each = (blocks + blockDim.x - 1) / blockDim.x, from = threadIdx.x * each, to = min(from + each, blocks);
	struct weighed mine = {0, 0, 0};
	long long before = 0;

	for (int b = from; b < to; b++)
		mine = add_weighed(mine, of_blocks[b]);
	all[threadIdx.x] = mine;
	__syncthreads();
	for (int t = 0; t < (int)threadIdx.x; t++)
		before += all[t].weight;
	for (int b = from; b < to; b++) {
		long long weight = of_blocks[b].weight;

		of_blocks[b].weight = before;
		before += weight;
	}
	join_block(all, add_weighed);
	if (threadIdx.x == 0)
		*total = all[0];
}

/* The j-th draw takes the first particle with which more than its point of the total is reached. block: of
 * particle_sum_kernel. */
__global__ void particle_draw_kernel(int n, int block, const struct reference_particle *particles,
				     const unsigned *reached, const struct weighed *of_blocks,
				     const struct weighed *total, struct reference_particle *drawn)
{
	int j = global_index(), low = 0, high = n - 1;
	unsigned long long point;

	if (j >= n)
		return;
	point = (2ull * j + 1) * (unsigned long long)total->weight / (2ull * n);
	while (low < high) {
		int middle = (low + high) / 2;

		if ((unsigned long long)of_blocks[middle / block].weight + reached[middle] > point)
			high = middle;
		else
			low = middle + 1;
	}
	drawn[j] = particles[low];
}

#endif
