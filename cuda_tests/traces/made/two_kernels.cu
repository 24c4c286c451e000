#include <cstdio>
#include <cuda_runtime.h>
template <class T> __global__ void scale(T *x, int n)
{
	x[threadIdx.x] *= n;
}
__global__ void addv(float *x, int n)
{
	x[threadIdx.x] += n;
}
int main()
{
	float *p;
	cudaMalloc(&p, 1 << 20);
	for (int i = 0; i < 60; i++) {
		scale<float><<<64, 256>>>(p, i);
		addv<<<64, 256>>>(p, i);
		if (i % 8 == 7)
			cudaDeviceSynchronize();
	}
	cudaDeviceSynchronize();
	return 0;
}
