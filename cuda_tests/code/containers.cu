/*
 * Two kernels that the tests read from every container that nvcc can make of them.
 * saxpy has four parameters (4, 4, 8, 8 bytes at 0, 4, 8, 16); tile has four (8, 8,
 * 1, 8 bytes at 0, 8, 16, 24) and 1,024 bytes of shared memory.
 */
__global__ void saxpy(int n, float a, const float *x, float *y)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = a * x[i] + y[i];
}

__global__ void __launch_bounds__(256) tile(const float *x, float *y, char c, double d)
{
	__shared__ float row[256];

	row[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	y[threadIdx.x] = row[255 - threadIdx.x] * (float)d + c;
}

int main(void)
{
	saxpy<<<1, 32>>>(0, 1.0f, nullptr, nullptr);
	tile<<<1, 256>>>(nullptr, nullptr, 0, 0.0);
	return 0;
}
