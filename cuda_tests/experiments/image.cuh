/* Kernels on n x n images, one for each class of the boat hull model. */
#ifndef IMAGE_CUH
#define IMAGE_CUH

#include "device.cuh"
#include "reference/reference.h"

/* --- element -> element */
__global__ void binarize_kernel(int n, const int *in, int limit, int *out)
{
	int i = global_index();

	if (i < n * n)
		out[i] = in[i] > limit ? IMAGE_LEVELS - 1 : 0;
}

/* --- unordered element -> element */
__global__ void mirror_kernel(int n, const int *in, int *out)
{
	int i = global_index();

	if (i < n * n)
		out[n * n - 1 - i] = in[i];
}

/* --- tile(1 x n) -> element: a row a thread, whose neighbours read other rows */
__global__ void project_x_kernel(int n, const int *in, int *sums)
{
	int y = global_index(), sum = 0;

	if (y >= n)
		return;
	for (int x = 0; x < n; x++)
		sum += in[y * n + x];
	sums[y] = sum;
}

/* --- tile(n x 1) -> element: a column a thread, whose neighbours read the same rows */
__global__ void project_y_kernel(int n, const int *in, int *sums)
{
	int x = global_index(), sum = 0;

	if (x >= n)
		return;
	for (int y = 0; y < n; y++)
		sum += in[y * n + x];
	sums[x] = sum;
}

/* --- tile -> element */
__global__ void scale_down_kernel(int n, const int *in, int *out)
{
	int side = n / IMAGE_TILE, i = global_index(), sum = 0;
	const int *tile = in + i / side * IMAGE_TILE * n + i % side * IMAGE_TILE;

	if (i >= side * side)
		return;
	for (int y = 0; y < IMAGE_TILE; y++)
		for (int x = 0; x < IMAGE_TILE; x++)
			sum += tile[y * n + x];
	out[i] = sum / (IMAGE_TILE * IMAGE_TILE);
}

/* --- tile -> tile: rows first, then columns. basis[u][x]. A thread an element of the result; the passes apart. */
__global__ void dct_rows_kernel(int n, const float *in, const float *basis, float *out)
{
	int i = global_index(), x = i % n, u = x % IMAGE_DCT;
	float sum = 0;

	if (i >= n * n)
		return;
	for (int k = 0; k < IMAGE_DCT; k++)
		sum += in[i - u + k] * basis[u * IMAGE_DCT + k];
	out[i] = sum;
}

__global__ void dct_columns_kernel(int n, const float *in, const float *basis, float *out)
{
	int i = global_index(), v = i / n % IMAGE_DCT;
	float sum = 0;

	if (i >= n * n)
		return;
	for (int k = 0; k < IMAGE_DCT; k++)
		sum += in[i + (k - v) * n] * basis[v * IMAGE_DCT + k];
	out[i] = sum;
}

/* --- element -> tile */
__global__ void enlarge_kernel(int n, const int *in, int *out)
{
	int i = global_index(), side = n * IMAGE_TILE;
	int *tile = out + i / n * IMAGE_TILE * side + i % n * IMAGE_TILE;

	if (i >= n * n)
		return;
	for (int y = 0; y < IMAGE_TILE; y++)
		for (int x = 0; x < IMAGE_TILE; x++)
			tile[y * side + x] = in[i];
}

/* --- neighbourhood of two dimensions -> element */
__global__ void convolve_2d_kernel(int n, const int *in, int *out)
{
	const int filter[IMAGE_CONVOLVE_2D] = {1, 4, 6, 4, 1}, reach = IMAGE_CONVOLVE_2D / 2;
	int i = global_index(), x = i % n, y = i / n, sum = 0;

	if (i >= n * n)
		return;
	for (int v = -reach; v <= reach; v++)
		for (int u = -reach; u <= reach; u++)
			sum += filter[v + reach] * filter[u + reach] * in[clamped(y + v, n) * n + clamped(x + u, n)];
	out[i] = sum / 256;
}

/* --- neighbourhood of one dimension -> element */
__global__ void convolve_1d_kernel(int n, const int *in, int *out)
{
	const int filter[IMAGE_CONVOLVE_1D] = {1, 6, 15, 20, 15, 6, 1}, reach = IMAGE_CONVOLVE_1D / 2;
	int i = global_index(), x = i % n, y = i / n, sum = 0;

	if (i >= n * n)
		return;
	for (int u = -reach; u <= reach; u++)
		sum += filter[u + reach] * in[y * n + clamped(x + u, n)];
	out[i] = sum / 64;
}

__global__ void erode_kernel(int n, const int *in, int *out)
{
	const int reach = IMAGE_ERODE / 2;
	int i = global_index(), x = i % n, y = i / n, least = IMAGE_LEVELS;

	if (i >= n * n)
		return;
	for (int v = -reach; v <= reach; v++)
		for (int u = -reach; u <= reach; u++)
			least = min(least, in[clamped(y + v, n) * n + clamped(x + u, n)]);
	out[i] = least;
}

/* --- element -> 1 shared */
#define IMAGE_THREADS_MAX 1024

static inline __device__ long long add_longs(long long a, long long b)
{
	return a + b;
}

static inline __device__ int greater(int a, int b)
{
	return max(a, b);
}

__global__ void sum_kernel(int count, const int *in, unsigned long long *sum)
{
	__shared__ long long sums[IMAGE_THREADS_MAX];
	long long mine = 0;

	for (int i = global_index(); i < count; i += gridDim.x * blockDim.x)
		mine += in[i];
	sums[threadIdx.x] = mine;
	join_block(sums, add_longs);
	if (threadIdx.x == 0)
		atomicAdd(sum, (unsigned long long)sums[0]);
}

__global__ void maximum_kernel(int count, const int *in, int *maximum)
{
	__shared__ int greatest[IMAGE_THREADS_MAX];
	int mine = 0;

	for (int i = global_index(); i < count; i += gridDim.x * blockDim.x)
		mine = max(mine, in[i]);
	greatest[threadIdx.x] = mine;
	join_block(greatest, greater);
	if (threadIdx.x == 0)
		atomicMax(maximum, greatest[0]);
}

/* --- element and element -> element */
__global__ void difference_kernel(int n, const int *a, const int *b, int *out)
{
	int i = global_index();

	if (i < n * n)
		out[i] = abs(a[i] - b[i]);
}

#endif
