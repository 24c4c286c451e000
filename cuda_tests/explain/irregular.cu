/* Kernels whose counts depend on values in memory. */

__global__ void gather(const float *in, const int *index, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[index[i]];
}

__global__ void histogram(const unsigned char *data, unsigned *out, int n)
{
	__shared__ unsigned bins[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		bins[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&bins[data[i]], 1);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&out[i], bins[i]);
}

/* Pointer jumping, a given number of steps. */
__global__ void list_ranking(const int *rank, const int *next, int *rank_out, int *next_out, int n, int steps)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	int far = rank[i], at = next[i];

	for (int k = 0; k < steps; k++) {
		far += rank[at];
		at = next[at];
	}
	rank_out[i] = far;
	next_out[i] = at;
}

/* To the end of the list. */
__global__ void list_walk(const int *next, int *length, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;

	if (i >= n)
		return;
	for (int at = i; at >= 0; at = next[at])
		count++;
	length[i] = count;
}

__global__ void early_exit(const float *in, int *found, int n, float wanted)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x, k;

	for (k = 0; k < n; k++) {
		if (in[k * all + i] == wanted)
			break;
	}
	found[i] = k;
}

__global__ void sparse_rows(const int *first, const int *column, const float *value, const float *x, float *y, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (row >= n)
		return;
	for (int k = first[row]; k < first[row + 1]; k++)
		sum += value[k] * x[column[k]];
	y[row] = sum;
}
