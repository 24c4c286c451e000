/* Kernels with shared memory. */

__global__ void transpose_tiled(const float *in, float *out, int n)
{
	__shared__ float tile[32][32];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int j = 0; j < 32; j += blockDim.y) {
		if (x < n && y + j < n)
			tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
	}
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += blockDim.y) {
		if (x < n && y + j < n)
			out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
	}
}

__global__ void transpose_padded(const float *in, float *out, int n)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int j = 0; j < 32; j += blockDim.y) {
		if (x < n && y + j < n)
			tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
	}
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += blockDim.y) {
		if (x < n && y + j < n)
			out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
	}
}

#define RADIUS 3

__global__ void stencil_1d(const float *in, float *out, int n, float weight)
{
	extern __shared__ float part[];
	int i = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x + RADIUS;
	float sum = 0;

	part[at] = in[min(i, n - 1)];
	if (threadIdx.x < RADIUS) {
		part[at - RADIUS] = in[max(i - RADIUS, 0)];
		part[at + blockDim.x] = in[min(i + (int)blockDim.x, n - 1)];
	}
	__syncthreads();
	if (i >= n)
		return;
	for (int k = -RADIUS; k <= RADIUS; k++)
		sum += weight * part[at + k];
	out[i] = sum;
}

/* Blocks have a power of two threads. */
__global__ void dot_product(const float *a, const float *b, float *out, int n)
{
	extern __shared__ float part[];
	int t = threadIdx.x;
	float sum = 0;

#pragma unroll 1
	for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
		sum += a[i] * b[i];
	part[t] = sum;
	__syncthreads();
	for (int s = blockDim.x / 2; s > 0; s >>= 1) {
		if (t < s)
			part[t] += part[t + s];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = part[0];
}

/* Interleaved addressing: the distance between active lanes grows, and with it bank conflicts. */
__global__ void reduction(const float *in, float *out, int n)
{
	extern __shared__ float part[];
	int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

	part[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (int s = 1; s < blockDim.x; s *= 2) {
		int at = 2 * s * t;

		if (at < blockDim.x)
			part[at] += part[at + s];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = part[0];
}

__global__ void scan_hillis_steele(const float *in, float *out, int n)
{
	extern __shared__ float part[];
	int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

	part[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (int offset = 1; offset < blockDim.x; offset <<= 1) {
		float value = part[t];

		if (t >= offset)
			value += part[t - offset];
		__syncthreads();
		part[t] = value;
		__syncthreads();
	}
	if (i < n)
		out[i] = part[t];
}

/* An exclusive scan with two elements per thread, and a power of two threads. */
__global__ void scan_blelloch(const float *in, float *out)
{
	extern __shared__ float part[];
	int t = threadIdx.x, all = 2 * blockDim.x, base = blockIdx.x * all, offset = 1;

	part[t] = in[base + t];
	part[t + blockDim.x] = in[base + t + blockDim.x];
	for (int d = all >> 1; d > 0; d >>= 1) {
		__syncthreads();
		if (t < d)
			part[offset * (2 * t + 2) - 1] += part[offset * (2 * t + 1) - 1];
		offset *= 2;
	}
	if (t == 0)
		part[all - 1] = 0;
	for (int d = 1; d < all; d *= 2) {
		offset >>= 1;
		__syncthreads();
		if (t < d) {
			int low = offset * (2 * t + 1) - 1, high = offset * (2 * t + 2) - 1;
			float kept = part[low];

			part[low] = part[high];
			part[high] += kept;
		}
	}
	__syncthreads();
	out[base + t] = part[t];
	out[base + t + blockDim.x] = part[t + blockDim.x];
}

/* 32 blocks, as in the BSP paper. A thread goes through `each` elements of its own, which its warp loads together, 32
 * columns of 32 rows at a time. */
__global__ void max_subarray(const float *in, float *out, int each)
{
	__shared__ float tile[128][33];
	int t = threadIdx.x, lane = t % 32, first = t - lane, threads = gridDim.x * blockDim.x;
	const float *own = in + blockIdx.x * blockDim.x * each;
	float sum = 0, low = 0, prefix = -1e30f, best = -1e30f;

	for (int done = 0; done < each; done += 32) {
		int width = min(32, each - done);

		for (int row = first; row < first + 32; row++) {
			if (lane < width)
				tile[row][lane] = own[row * each + done + lane];
		}
		__syncthreads();
		for (int k = 0; k < width; k++) {
			sum += tile[t][k];
			prefix = fmaxf(prefix, sum);
			best = fmaxf(best, sum - low);
			low = fminf(low, sum);
		}
		__syncthreads();
	}
	out += blockIdx.x * blockDim.x + t;
	out[0] = sum;
	out[threads] = prefix;
	out[2 * threads] = best;
	out[3 * threads] = low;
	out[4 * threads] = sum - low;
}

__global__ void shared_stride(float *out, int stride)
{
	__shared__ float table[4096];
	int t = threadIdx.x, at = t * stride & 4095;

	table[at] = t;
	__syncthreads();
	out[blockIdx.x * blockDim.x + t] = table[at ^ 1];
}
