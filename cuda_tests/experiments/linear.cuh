/* Kernels on square matrices, row-major. */
#ifndef LINEAR_CUH
#define LINEAR_CUH

#include "device.cuh"

/* --- c = a b: an element of c a thread */

/* The four BSP programs. Neighbours along x are neighbours in a column of c: no access is coalesced. */
__global__ void matmul_uncoalesced_kernel(int n, const float *a, const float *b, float *c)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	if (row >= n || column >= n)
		return;
	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + column];
	c[row * n + column] = sum;
}

/* ... in a row of c. */
__global__ void matmul_coalesced_kernel(int n, const float *a, const float *b, float *c)
{
	int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (row >= n || column >= n)
		return;
	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + column];
	c[row * n + column] = sum;
}

static inline __device__ float element(const float *matrix, int n, int row, int column)
{
	return row < n && column < n ? matrix[row * n + column] : 0;
}

/* Through shared memory, blockDim.x columns of a and rows of b at a time. Dynamic shared memory:
 * blockDim.x (blockDim.y + blockDim.x) floats. */
__global__ void matmul_tiled_coalesced_kernel(int n, const float *a, const float *b, float *c)
{
	const int x = threadIdx.x, y = threadIdx.y, depth = blockDim.x;
	float *tile_a = dynamic_shared<float>(), *tile_b = tile_a + blockDim.y * depth;
	int row = blockIdx.y * blockDim.y + y, column = blockIdx.x * blockDim.x + x;
	float sum = 0;

	for (int from = 0; from < n; from += depth) {
		tile_a[y * depth + x] = element(a, n, row, from + x);
		for (int k = y; k < depth; k += blockDim.y)
			tile_b[k * depth + x] = element(b, n, from + k, column);
		__syncthreads();
		for (int k = 0; k < depth; k++)
			sum += tile_a[y * depth + k] * tile_b[k * depth + x];
		__syncthreads();
	}
	if (row < n && column < n)
		c[row * n + column] = sum;
}

/* The same turned: x runs down the columns. */
__global__ void matmul_tiled_uncoalesced_kernel(int n, const float *a, const float *b, float *c)
{
	const int x = threadIdx.x, y = threadIdx.y, depth = blockDim.x;
	float *tile_b = dynamic_shared<float>(), *tile_a = tile_b + blockDim.y * depth;
	int row = blockIdx.x * blockDim.x + x, column = blockIdx.y * blockDim.y + y;
	float sum = 0;

	for (int from = 0; from < n; from += depth) {
		tile_b[y * depth + x] = element(b, n, from + x, column);
		for (int k = y; k < depth; k += blockDim.y)
			tile_a[k * depth + x] = element(a, n, row, from + k);
		__syncthreads();
		for (int k = 0; k < depth; k++)
			sum += tile_a[k * depth + x] * tile_b[y * depth + k];
		__syncthreads();
	}
	if (row < n && column < n)
		c[row * n + column] = sum;
}

/* --- transpose: a tile of blockDim.x squared a block. Dynamic shared memory: that, and a column more. */
__global__ void transpose_kernel(int n, const float *in, float *out)
{
	const int side = blockDim.x, pitch = side + 1, x = threadIdx.x;
	float *tile = dynamic_shared<float>();
	int left = blockIdx.x * side, top = blockIdx.y * side;

	for (int y = threadIdx.y; y < side; y += blockDim.y)
		if (left + x < n && top + y < n)
			tile[y * pitch + x] = in[(top + y) * n + left + x];
	__syncthreads();
	for (int y = threadIdx.y; y < side; y += blockDim.y)
		if (top + x < n && left + y < n)
			out[(left + y) * n + top + x] = tile[x * pitch + y];
}

/* --- LU decomposition in place, tile by tile down the diagonal; n a multiple of the tile's side */
#define LUD_TILE 32

static inline __device__ void load_tile(float *tile, const float *a, int n, int row, int column)
{
	for (int i = threadIdx.x; i < LUD_TILE * LUD_TILE; i += blockDim.x)
		tile[i] = a[(row + i / LUD_TILE) * n + column + i % LUD_TILE];
}

/* The tile on the diagonal. One block. */
__global__ void lud_diagonal_kernel(int n, float *a, int at)
{
	__shared__ float tile[LUD_TILE * LUD_TILE];

	load_tile(tile, a, n, at, at);
	__syncthreads();
	for (int k = 0; k < LUD_TILE - 1; k++) {
		for (int i = k + 1 + threadIdx.x; i < LUD_TILE; i += blockDim.x)
			tile[i * LUD_TILE + k] /= tile[k * LUD_TILE + k];
		__syncthreads();
		for (int i = threadIdx.x; i < LUD_TILE * LUD_TILE; i += blockDim.x)
			if (i / LUD_TILE > k && i % LUD_TILE > k)
				tile[i] -= tile[i / LUD_TILE * LUD_TILE + k] * tile[k * LUD_TILE + i % LUD_TILE];
		__syncthreads();
	}
	for (int i = threadIdx.x; i < LUD_TILE * LUD_TILE; i += blockDim.x)
		a[(at + i / LUD_TILE) * n + at + i % LUD_TILE] = tile[i];
}

/* The tiles right of it and below it: a column, or a row, a thread. */
__global__ void lud_perimeter_kernel(int n, float *a, int at)
{
	__shared__ float tile[LUD_TILE * LUD_TILE];
	int rest = n - at - LUD_TILE, which = global_index();
	float x[LUD_TILE];

	load_tile(tile, a, n, at, at);
	__syncthreads();
	if (which < rest) {
		float *column = a + at * n + at + LUD_TILE + which;

		for (int i = 0; i < LUD_TILE; i++) {
			x[i] = column[i * n];
			for (int k = 0; k < i; k++)
				x[i] -= tile[i * LUD_TILE + k] * x[k];
			column[i * n] = x[i];
		}
	} else if (which < 2 * rest) {
		float *row = a + (at + LUD_TILE + which - rest) * n + at;

		for (int i = 0; i < LUD_TILE; i++) {
			x[i] = row[i];
			for (int k = 0; k < i; k++)
				x[i] -= x[k] * tile[k * LUD_TILE + i];
			x[i] /= tile[i * LUD_TILE + i];
			row[i] = x[i];
		}
	}
}

/* What is left below and right: a tile a block. */
__global__ void lud_internal_kernel(int n, float *a, int at)
{
	__shared__ float left[LUD_TILE * LUD_TILE], above[LUD_TILE * LUD_TILE];
	int row = at + (blockIdx.y + 1) * LUD_TILE, column = at + (blockIdx.x + 1) * LUD_TILE;

	load_tile(left, a, n, row, at);
	load_tile(above, a, n, at, column);
	__syncthreads();
	for (int i = threadIdx.x; i < LUD_TILE * LUD_TILE; i += blockDim.x) {
		float sum = 0;

		for (int k = 0; k < LUD_TILE; k++)
			sum += left[i / LUD_TILE * LUD_TILE + k] * above[k * LUD_TILE + i % LUD_TILE];
		a[(row + i / LUD_TILE) * n + column + i % LUD_TILE] -= sum;
	}
}

#endif
