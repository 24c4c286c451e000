/*
 * Kernels that ask one part of an SM or of the memory for as much as it gives, and
 * little of anything else: structs whose run() repeats a step.
 *
 *   place   what a block works on: its own slices of two buffers
 *   mark    when a block was where, which it writes itself
 */
#ifndef SHARING_CUH
#define SHARING_CUH

#include <cuda_fp16.h>

#define STEP_LOADS 4 /* of 16 bytes, by each thread in a step that reads memory */
#define WORD_BYTES ((unsigned)sizeof(uint4))
#define THREADS 256 /* of a block at most; of one that reads or writes memory */
#define STEP_BYTES (THREADS * STEP_LOADS * WORD_BYTES)
#define STEP_CHAINS 128 /* operations of each thread in a step, on all of its chains together */

struct mark {
	unsigned long long begin_ns, end_ns; /* of %globaltimer; 0: no block has run */
	unsigned sm, unused;
};

struct place {
	const uint4 *in; /* of this block, slice_bytes of it */
	uint4 *out;
	unsigned slice_bytes;
};

static __device__ unsigned long long device_ns(void)
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
	return ns;
}

static __device__ unsigned this_sm(void)
{
	unsigned sm;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	return sm;
}

static __device__ unsigned after(const struct place *place, unsigned at)
{
	at += STEP_BYTES;
	return at < place->slice_bytes ? at : 0;
}

/* Never true, which the compiler does not know: what was computed has to be. */
static __device__ void keep(const struct place *place, unsigned value)
{
	if (value == 0x5eed5eed)
		place->out[threadIdx.x].x = value;
}

/* Reads one buffer and writes another, both much larger than the L2 cache. */
struct copy {
	static __device__ void run(int steps, const struct place *place)
	{
		for (unsigned at = 0; steps > 0; steps--, at = after(place, at)) {
			const uint4 *from = place->in + at / WORD_BYTES + threadIdx.x;
			uint4 *to = place->out + at / WORD_BYTES + threadIdx.x, words[STEP_LOADS];

#pragma unroll
			for (int i = 0; i < STEP_LOADS; i++)
				words[i] = from[i * THREADS];
#pragma unroll
			for (int i = 0; i < STEP_LOADS; i++)
				to[i * THREADS] = words[i];
		}
	}
};

struct from_l1 {
	static __device__ uint4 load(const uint4 *from)
	{
		uint4 word;

		asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
			     : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
			     : "l"(from));
		return word;
	}
};

struct from_l2 {
	static __device__ uint4 load(const uint4 *from)
	{
		uint4 word;

		asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
			     : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
			     : "l"(from));
		return word;
	}
};

/* Reads its slice again and again, from the cache in which FROM leaves it. */
template <typename FROM> struct read_again {
	static __device__ void run(int steps, const struct place *place)
	{
		unsigned sum = 0;

		for (unsigned at = 0; steps > 0; steps--, at = after(place, at)) {
			const uint4 *from = place->in + at / WORD_BYTES + threadIdx.x;
			uint4 words[STEP_LOADS];

#pragma unroll
			for (int i = 0; i < STEP_LOADS; i++)
				words[i] = FROM::load(from + i * THREADS);
#pragma unroll
			for (int i = 0; i < STEP_LOADS; i++)
				sum ^= words[i].x ^ words[i].y ^ words[i].z ^ words[i].w;
		}
		keep(place, sum);
	}
};

struct shared_memory {
	static __device__ void run(int steps, const struct place *place)
	{
		__shared__ uint4 words[STEP_LOADS * THREADS];
		unsigned sum = 0;

		for (int i = 0; i < STEP_LOADS; i++)
			words[threadIdx.x + i * THREADS] = place->in[threadIdx.x];
		__syncthreads();
		for (; steps > 0; steps--) {
			/* Elsewhere in each step, so that it is read in each. */
			unsigned at = (threadIdx.x + (unsigned)steps) % THREADS;

#pragma unroll
			for (int i = 0; i < STEP_LOADS; i++) {
				uint4 word = words[at + i * THREADS];

				sum ^= word.x ^ word.y ^ word.z ^ word.w;
			}
		}
		keep(place, sum);
	}
};

/* Each thread adds to words of its own, which stay in the L2 cache. */
struct atomics {
	static __device__ void run(int steps, const struct place *place)
	{
		unsigned *mine = (unsigned *)place->out + threadIdx.x;

		for (; steps > 0; steps--)
#pragma unroll
			for (int i = 0; i < STEP_LOADS; i++)
				atomicAdd(mine + i * THREADS, 1u);
	}
};

/* OPERATION on CHAINS values of their own: each waits for the one before it in its chain. */
template <typename OPERATION, int CHAINS> struct chains {
	static __device__ void run(int steps, const struct place *place)
	{
		typename OPERATION::type values[CHAINS], first, second;
		unsigned sum = 0;

		first = OPERATION::start(place->slice_bytes);
		second = OPERATION::start(blockDim.x);
#pragma unroll
		for (int i = 0; i < CHAINS; i++)
			values[i] = OPERATION::start(threadIdx.x + i);
#pragma unroll 1
		for (; steps > 0; steps--)
#pragma unroll
			for (int i = 0; i < STEP_CHAINS; i++)
				values[i % CHAINS] = OPERATION::next(values[i % CHAINS], first, second);
#pragma unroll
		for (int i = 0; i < CHAINS; i++)
			sum ^= OPERATION::bits(values[i]);
		keep(place, sum);
	}
};

struct fma_fp32 {
	typedef float type;
	static __device__ float start(unsigned seed)
	{
		return 1.0f / (float)(seed + 2);
	}
	static __device__ float next(float value, float first, float second)
	{
		return fmaf(value, first, second);
	}
	static __device__ unsigned bits(float value)
	{
		return __float_as_uint(value);
	}
};

struct fma_fp64 {
	typedef double type;
	static __device__ double start(unsigned seed)
	{
		return 1.0 / (double)(seed + 2);
	}
	static __device__ double next(double value, double first, double second)
	{
		return fma(value, first, second);
	}
	static __device__ unsigned bits(double value)
	{
		return (unsigned)__double2loint(value);
	}
};

/* A funnel shift: no other pipe does it, and two in a row are not one. */
struct shift {
	typedef unsigned type;
	static __device__ unsigned start(unsigned seed)
	{
		return seed * 2654435761u;
	}
	static __device__ unsigned next(unsigned value, unsigned first, unsigned second)
	{
		return __funnelshift_l(value, first, second);
	}
	static __device__ unsigned bits(unsigned value)
	{
		return value;
	}
};

/* The special function unit's reciprocal square root, which goes to 1. */
struct root {
	typedef float type;
	static __device__ float start(unsigned seed)
	{
		return (float)(seed + 2);
	}
	static __device__ float next(float value, float, float)
	{
		asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(value));
		return value;
	}
	static __device__ unsigned bits(float value)
	{
		return __float_as_uint(value);
	}
};

#define STEP_MATRICES 32
#define MATRIX_CHAINS 4

/* Products of small matrices of halves, summed in FP32: 16 x 8 x 16, before compute capability 8.0 16 x 8 x 8. */
struct tensor {
	static __device__ void multiply(float sums[4], const unsigned a[4], const unsigned b[2])
	{
#if __CUDA_ARCH__ >= 800
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
			     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
			     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
			     "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
			     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
			     : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#endif
	}

	static __device__ unsigned two_halves(unsigned seed)
	{
		__half half = __float2half(1.0f / (float)(seed + 2));

		return __half_as_ushort(half) * 0x10001u;
	}

	static __device__ void run(int steps, const struct place *place)
	{
		float sums[MATRIX_CHAINS][4] = {};
		unsigned a[4], b[2], sum = 0;

		for (unsigned i = 0; i < 4; i++)
			a[i] = two_halves(threadIdx.x + i);
		for (unsigned i = 0; i < 2; i++)
			b[i] = two_halves(threadIdx.x + i + 4);
#pragma unroll 1
		for (; steps > 0; steps--)
#pragma unroll
			for (int i = 0; i < STEP_MATRICES; i++)
				multiply(sums[i % MATRIX_CHAINS], a, b);
#pragma unroll
		for (int i = 0; i < MATRIX_CHAINS; i++)
			sum ^= __float_as_uint(sums[i][0]) ^ __float_as_uint(sums[i][3]);
		keep(place, sum);
	}
};

template <typename WORK>
__global__ void __launch_bounds__(THREADS)
    share(int steps, unsigned slice_bytes, const uint4 *in, uint4 *out, struct mark *marks)
{
	size_t slice = (size_t)blockIdx.x * slice_bytes / WORD_BYTES;
	struct place place = {in + slice, out + slice, slice_bytes};
	unsigned long long begin_ns = device_ns();

	WORK::run(steps, &place);
	__syncthreads();
	if (threadIdx.x == 0)
		marks[blockIdx.x] = {begin_ns, device_ns(), this_sm(), 0};
}

/* What comes after it has been launched when it ends. */
__global__ void gate(unsigned ns)
{
	unsigned long long begin_ns = device_ns();

	while (device_ns() - begin_ns < ns)
		;
}

#endif
