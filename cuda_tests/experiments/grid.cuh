/* Kernels on grids of numbers. */
#ifndef GRID_CUH
#define GRID_CUH

#include "device.cuh"
#include "reference/reference.h"

/* --- heat: one step, an element a thread; layers 1: flat */
static inline __device__ float heat_after(int n, int layers, const float *heat, const float *power, int layer, int y,
					  int x)
{
	const float *flat = heat + layer * n * n;
	int i = y * n + x;
	float here = flat[i];
	float rows = flat[y * n + clamped(x - 1, n)] + flat[y * n + clamped(x + 1, n)] - 2 * here;
	float columns = flat[clamped(y - 1, n) * n + x] + flat[clamped(y + 1, n) * n + x] - 2 * here;
	float after = here + HOTSPOT_X * rows + HOTSPOT_Y * columns + HOTSPOT_POWER * power[layer * n * n + i] +
		      HOTSPOT_LOSS * (HOTSPOT_AMBIENT - here);

	if (layers > 1)
		after += HOTSPOT_Z * (heat[clamped(layer - 1, layers) * n * n + i] +
				      heat[clamped(layer + 1, layers) * n * n + i] - 2 * here);
	return after;
}

__global__ void hotspot_kernel(int n, const float *heat, const float *power, float *out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < n && y < n)
		out[y * n + x] = heat_after(n, 1, heat, power, 0, y, x);
}

__global__ void hotspot_3d_kernel(int n, int layers, const float *heat, const float *power, float *out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x >= n || y >= n)
		return;
	for (int layer = 0; layer < layers; layer++)
		out[(layer * n + y) * n + x] = heat_after(n, layers, heat, power, layer, y, x);
}

/* --- srad, a step: mean and variance of the image, then what each element conducts, then what flows */
struct moments {
	double sum, squares;
};

static inline __device__ struct moments add_moments(struct moments a, struct moments b)
{
	a.sum += b.sum;
	a.squares += b.squares;
	return a;
}

#define SRAD_THREADS_MAX 1024
__global__ void srad_moments_kernel(int count, const float *in, struct moments *of_blocks)
{
	__shared__ struct moments of[SRAD_THREADS_MAX];
	struct moments mine = {0, 0};

	for (int i = global_index(); i < count; i += gridDim.x * blockDim.x) {
		mine.sum += in[i];
		mine.squares += (double)in[i] * in[i];
	}
	of[threadIdx.x] = mine;
	join_block(of, add_moments);
	if (threadIdx.x == 0)
		of_blocks[blockIdx.x] = of[0];
}

/* One block. scale: squared coefficient of variation. */
__global__ void srad_scale_kernel(int blocks, int count, const struct moments *of_blocks, float *scale)
{
	__shared__ struct moments of[SRAD_THREADS_MAX];
	struct moments mine = {0, 0};

	for (int i = threadIdx.x; i < blocks; i += blockDim.x)
		mine = add_moments(mine, of_blocks[i]);
	of[threadIdx.x] = mine;
	join_block(of, add_moments);
	if (threadIdx.x == 0) {
		double mean = of[0].sum / count;

		*scale = (float)((of[0].squares / count - mean * mean) / (mean * mean));
	}
}

/* North, south, west, east. */
static inline __device__ void differences_at(int n, const float *in, int y, int x, float d[4])
{
	float here = in[y * n + x];

	d[0] = in[clamped(y - 1, n) * n + x] - here;
	d[1] = in[clamped(y + 1, n) * n + x] - here;
	d[2] = in[y * n + clamped(x - 1, n)] - here;
	d[3] = in[y * n + clamped(x + 1, n)] - here;
}

__global__ void srad_conduct_kernel(int n, const float *in, const float *scale, float *coefficients)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float d[4], here, s = *scale, c, gradient, laplacian, denominator, variation;

	if (x >= n || y >= n)
		return;
	here = in[y * n + x];
	differences_at(n, in, y, x, d);
	gradient = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3]) / (here * here);
	laplacian = (d[0] + d[1] + d[2] + d[3]) / here;
	denominator = 1 + 0.25f * laplacian;
	variation = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (denominator * denominator);
	c = 1 / (1 + (variation - s) / (s * (1 + s)));
	coefficients[y * n + x] = min(max(c, 0.0f), 1.0f);
}

__global__ void srad_flow_kernel(int n, const float *in, const float *coefficients, float *out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float d[4], here, south, east;

	if (x >= n || y >= n)
		return;
	differences_at(n, in, y, x, d);
	here = coefficients[y * n + x];
	south = coefficients[clamped(y + 1, n) * n + x];
	east = coefficients[y * n + clamped(x + 1, n)];
	out[y * n + x] = in[y * n + x] + 0.25f * SRAD_RATE * (here * d[0] + south * d[1] + here * d[2] + east * d[3]);
}

/* --- path finder: PATH_ROWS rows a launch. Neighbouring blocks overlap by as many columns on either side: what is
 * wrong at a block's rim comes one column nearer with every row. */
#define PATH_ROWS 8
#define PATH_THREADS_MAX 1024
__global__ void pathfinder_kernel(int columns, int rows, const int *cost, const int *above, int *best)
{
	__shared__ int before[PATH_THREADS_MAX];
	int t = threadIdx.x, last = blockDim.x - 1;
	int column = blockIdx.x * (blockDim.x - 2 * PATH_ROWS) + t - PATH_ROWS;
	int here = column >= 0 && column < columns ? above[column] : INT32_MAX / 2;

	for (int row = 0; row < rows; row++) {
		before[t] = here;
		__syncthreads();
		if (column >= 0 && column < columns)
			here = cost[row * columns + column] +
			       min(before[t], min(before[max(t - 1, 0)], before[min(t + 1, last)]));
		__syncthreads();
	}
	if (t >= PATH_ROWS && t <= last - PATH_ROWS && column < columns)
		best[column] = here;
}

/* --- Needleman, Wunsch: a tile of blockDim.x rows and NW_WIDTH columns a block, the tiles of one diagonal a launch.
 * A thread has a row, one column behind the row above it. */
#define NW_WIDTH 32
__global__ void nw_begin_kernel(int n, int gap, int *scores)
{
	int i = global_index();

	if (i <= n)
		scores[i] = scores[i * (n + 1)] = -gap * i;
}

__global__ void nw_diagonal_kernel(int n, int gap, int diagonal, int first, const int *similarity, int *scores)
{
	int tile_row = first + blockIdx.x, tile_column = diagonal - tile_row, side = n + 1;
	int i = tile_row * blockDim.x + threadIdx.x + 1, left = tile_column * NW_WIDTH + 1;

	for (int step = 0; step < (int)blockDim.x + NW_WIDTH - 1; step++) {
		int column = step - (int)threadIdx.x, j = left + column;

		if (column >= 0 && column < NW_WIDTH && i <= n && j <= n) {
			int both = scores[(i - 1) * side + j - 1] + similarity[(i - 1) * n + j - 1];

			scores[i * side + j] =
			    max(both, max(scores[i * side + j - 1], scores[(i - 1) * side + j]) - gap);
		}
		__syncthreads();
	}
}

#endif
