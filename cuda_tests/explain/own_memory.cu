/* Kernels whose addresses and trip counts go through a thread's own memory: structs by value and small arrays. */

struct tensor {
	int rank;
	int dims[4];
	int strides[4]; /* in elements */
};

/* out[i] = in[the place of element i, whose last coordinate changes fastest] */
__global__ void gather_strided(const float *in, float *out, tensor t, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, rest = i, place = 0;

	if (i >= n)
		return;
#pragma unroll 1
	for (int d = t.rank - 1; d >= 0; d--) {
		place += rest % t.dims[d] * t.strides[d];
		rest /= t.dims[d];
	}
	out[i] = in[place];
}

/* The same; the struct stays where the launch put it, and is loaded from at an index. */
__global__ void gather_in_place(const float *in, float *out, const __grid_constant__ tensor t, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, rest = i, place = 0;

	if (i >= n)
		return;
#pragma unroll 1
	for (int d = t.rank - 1; d >= 0; d--) {
		place += rest % t.dims[d] * t.strides[d];
		rest /= t.dims[d];
	}
	out[i] = in[place];
}

/* As gather_strided, with all coordinates first. */
__global__ void gather_coordinates(const float *in, float *out, tensor t, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, rest = i, place = 0, at[4];

	if (i >= n)
		return;
#pragma unroll 1
	for (int d = t.rank - 1; d >= 0; d--) {
		at[d] = rest % t.dims[d];
		rest /= t.dims[d];
	}
#pragma unroll 1
	for (int d = 0; d < t.rank; d++)
		place += at[d] * t.strides[d];
	out[i] = in[place];
}

/* As many rounds of the inner loop as the array says, whose elements the outer loop takes in turn. */
__global__ void rounds_by_table(float *out, int n, float x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int rounds[3] = {n, 2 * n, 5};
	float sum = 0;

#pragma unroll 1
	for (int k = 0; k < 6; k++) {
		int many = rounds[(k + n) % 3];

#pragma unroll 1
		for (int j = 0; j < many; j++)
			sum = sum * x + 1;
	}
	out[i] = sum;
}
