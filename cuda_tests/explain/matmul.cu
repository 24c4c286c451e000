/* The four matrix multiplications of the BSP paper (Amaris et al.), n by n, any n. */

/* Lanes of a warp are in different rows: their addresses are n floats apart. */
extern "C" __global__ void matmul_naive_uncoalesced(const float *a, const float *b, float *c, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;

	if (row < n && col < n) {
		float sum = 0;

		for (int k = 0; k < n; k++)
			sum += a[row * n + k] * b[k * n + col];
		c[row * n + col] = sum;
	}
}

extern "C" __global__ void matmul_naive_coalesced(const float *a, const float *b, float *c, int n)
{
	int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;

	if (row < n && col < n) {
		float sum = 0;

		for (int k = 0; k < n; k++)
			sum += a[row * n + k] * b[k * n + col];
		c[row * n + col] = sum;
	}
}

template <int TILE> __device__ void tiled_uncoalesced(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.x * TILE + tx, col = blockIdx.y * TILE + ty;
	float sum = 0;

	for (int tile = 0; tile < (n + TILE - 1) / TILE; tile++) {
		as[tx][ty] = row < n && tile * TILE + ty < n ? a[row * n + tile * TILE + ty] : 0;
		bs[tx][ty] = tile * TILE + tx < n && col < n ? b[(tile * TILE + tx) * n + col] : 0;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[tx][k] * bs[k][ty];
		__syncthreads();
	}
	if (row < n && col < n)
		c[row * n + col] = sum;
}

template <int TILE> __device__ void tiled_coalesced(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
	float sum = 0;

	for (int tile = 0; tile < (n + TILE - 1) / TILE; tile++) {
		as[ty][tx] = row < n && tile * TILE + tx < n ? a[row * n + tile * TILE + tx] : 0;
		bs[ty][tx] = tile * TILE + ty < n && col < n ? b[(tile * TILE + ty) * n + col] : 0;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[ty][k] * bs[k][tx];
		__syncthreads();
	}
	if (row < n && col < n)
		c[row * n + col] = sum;
}

/* One kernel per block shape: a tile is as large as a block. */
#define TILED(width)                                                                                                   \
	extern "C" __global__ void matmul_tiled_uncoalesced_##width(const float *a, const float *b, float *c, int n)   \
	{                                                                                                              \
		tiled_uncoalesced<width>(a, b, c, n);                                                                  \
	}                                                                                                              \
	extern "C" __global__ void matmul_tiled_coalesced_##width(const float *a, const float *b, float *c, int n)     \
	{                                                                                                              \
		tiled_coalesced<width>(a, b, c, n);                                                                    \
	}
TILED(4)
TILED(8)
TILED(12)
TILED(16)
TILED(20)
TILED(24)
TILED(28)
TILED(32)
