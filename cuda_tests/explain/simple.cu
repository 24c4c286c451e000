/* No shared memory; all counts depend only on indices and parameters. */

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

__global__ void matrix_sum(const float *a, const float *b, float *c, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < n && y < n)
		c[y * n + x] = a[y * n + x] + b[y * n + x];
}

/* Lanes of a warp are in different rows. */
__global__ void matrix_sum_uncoalesced(const float *a, const float *b, float *c, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;

	if (row < n && col < n)
		c[row * n + col] = a[row * n + col] + b[row * n + col];
}

__global__ void transpose_naive(const float *in, float *out, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int j = 0; j < 32; j += blockDim.y) {
		if (x < n && y + j < n)
			out[x * n + y + j] = in[(y + j) * n + x];
	}
}

/* Five points; the border is left out. */
__global__ void stencil_2d(const float *in, float *out, int n, float centre, float side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
		const float *at = in + y * n + x;

		out[y * n + x] = centre * at[0] + side * (at[-1] + at[1] + at[-n] + at[n]);
	}
}

__global__ void saxpy_grid_stride(int n, float a, const float *x, float *y)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = a * x[i] + y[i];
}

/* Bounds of inner loops are counters of outer ones. */
__global__ void nest(const float *in, float *out, int n, float weight)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
	float sum = 0;

	for (int p = 0; p < n; p++) {
		for (int q = 0; q < p; q++) {
			for (int r = q; r < p; r++)
				sum += weight * in[(p + q + r) * all + i];
		}
	}
	out[i] = sum;
}

/* One row per thread: lanes have different trip counts. */
__global__ void triangular(const float *matrix, const float *x, float *y, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (row >= n)
		return;
#pragma unroll 1
	for (int j = 0; j <= row; j++)
		sum += matrix[row * n + j] * x[j];
	y[row] = sum;
}

__global__ void copy_float4(const float4 *in, float4 *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i];
}

__global__ void daxpy(int n, double a, const double *x, double *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

__global__ void copy_misaligned(const float *in, float *out, int n, int offset)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i + offset];
}

__global__ void strided(const float *in, float *out, int n, int step, int stride)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < n; k += step)
		sum += in[k + i * stride];
	out[i] = sum;
}

/* Each block does one of five things. */
__global__ void choose(const float *a, const float *b, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float value = 0;

	if (i >= n)
		return;
	switch (blockIdx.x % 5) {
	case 0:
		value = a[i];
		break;
	case 1:
		value = a[i] * b[i];
		break;
	case 2:
		value = a[i] + b[2 * i];
		break;
	case 3:
		for (int k = 0; k < 7; k++)
			value += b[k * n + i];
		break;
	default:
		break;
	}
	out[i] = value;
}

__global__ void row_to_column(const float *in, float *out, int width, int height)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < width * height)
		out[(i % width) * height + i / width] = in[i];
}

__global__ void exponential(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = __expf(in[i]);
}

struct window {
	int first, last;
	float factor;
};

__global__ void scale_window(float *data, window part)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= part.first && i < part.last)
		data[i] *= part.factor;
}
