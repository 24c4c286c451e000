// Kernels whose machine code shows by what it is that it comes from other lines of the source than the PTX for
// another architecture; "same" ones do not.
#include <mma.h>

extern "C" __global__ void same(const float4 *from, float4 *to)
{
	__shared__ float4 tile[64];

	tile[threadIdx.x] = from[threadIdx.x];
	__syncthreads();
	to[threadIdx.x] = tile[63 - threadIdx.x];
}

// Loops that the compilers unroll as they like.
extern "C" __global__ void same_unrolled(const float4 *from, float *to, int n)
{
	float sum = 0;

	for (int i = 0; i < n; i++)
		sum += from[i].x * from[i].y + from[i].z * from[i].w;
	*to = sum;
}

__device__ __noinline__ void swap_in_block(float *x)
{
	float mine = x[threadIdx.x];

	__syncthreads();
	x[blockDim.x - 1 - threadIdx.x] = mine;
}

// The barrier is in a function that is called.
extern "C" __global__ void same_called(float *x)
{
	swap_in_block(x);
	swap_in_block(x + blockDim.x);
}

extern "C" __global__ void named_barriers(float *x)
{
	asm volatile("bar.sync 5, 64;");
	x[threadIdx.x] = 1;
	asm volatile("bar.arrive 2, 64;");
}

// A barrier from sm_90 on, and none before.
extern "C" __global__ void barrier(float *x)
{
#if __CUDA_ARCH__ >= 900
	float mine = x[threadIdx.x];

	__syncthreads();
	x[blockDim.x - 1 - threadIdx.x] = mine;
#else
	x[threadIdx.x] += 1;
#endif
}

// Tensor cores from sm_90 on.
extern "C" __global__ void tensor(const half *a, const half *b, float *c)
{
#if __CUDA_ARCH__ >= 900
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> fa;
	fragment<matrix_b, 16, 16, 16, half, col_major> fb;
	fragment<accumulator, 16, 16, 16, float> fc;

	fill_fragment(fc, 0);
	load_matrix_sync(fa, a, 16);
	load_matrix_sync(fb, b, 16);
	mma_sync(fc, fa, fb, fc);
	store_matrix_sync(c, fc, 16, mem_row_major);
#else
	for (int j = 0; j < 8; j++) {
		float sum = 0;

		for (int k = 0; k < 16; k++)
			sum += __half2float(a[threadIdx.x / 2 * 16 + k]) *
			       __half2float(b[(threadIdx.x % 2 * 8 + j) * 16 + k]);
		c[threadIdx.x / 2 * 16 + threadIdx.x % 2 * 8 + j] = sum;
	}
#endif
}

// Four loads of 16 bytes from sm_90 on, of 4 bytes before.
extern "C" __global__ void wide(const float *from, float *to)
{
#if __CUDA_ARCH__ >= 900
	for (int i = 0; i < 4; i++) {
		float4 four = reinterpret_cast<const float4 *>(from)[threadIdx.x + 32 * i];

		to[threadIdx.x + 32 * i] = four.x * four.y + four.z * four.w;
	}
#else
	for (int i = 0; i < 4; i++)
		to[threadIdx.x + 32 * i] = from[threadIdx.x + 32 * i];
#endif
}
