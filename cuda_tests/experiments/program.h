/*
 * What the programs of this folder share: the command line, data on the device,
 * launches, the comparison with the CPU reference.
 *
 *   setting     a size and a number of threads a block
 *   subject     an algorithm with its own data on the device, which can run again
 *               and again
 *   algorithm   how a subject is made, and the setting where none is asked for
 *   common      what the command line says, the same for all programs
 *
 * A .cu file that includes this can also be compiled for the CPU, where
 * on_cpu.h stands in for CUDA: the kernels then compute, slowly, on any machine.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#ifndef __CUDACC__
#include "on_cpu.h"
#endif

#include "program_options.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <algorithm>
#include <vector>

#define CHECK(call) check_call((call), #call)
void check_call(cudaError_t error, const char *call);

struct setting {
	int size, block;
};

struct subject {
	virtual void run(cudaStream_t stream) = 0; /* asynchronous, from the same input every time */
	virtual const char *wrong() = 0;           /* after run(): NULL, or what differs from the reference */
	virtual ~subject()
	{
	}
};

struct algorithm {
	const char *name;
	struct setting setting;
	struct subject *(*make)(const struct setting *setting);
};

template <typename T> struct subject *make_subject(const struct setting *setting)
{
	return new T(setting);
}

/* Every ALGORITHM there is, by the file that defines it. */
#define ALGORITHM(name) extern const struct algorithm name
ALGORITHM(matmul_uncoalesced); /* linear.cu */
ALGORITHM(matmul_coalesced);
ALGORITHM(matmul_tiled_uncoalesced);
ALGORITHM(matmul_tiled_coalesced);
ALGORITHM(transpose);
ALGORITHM(lud);
ALGORITHM(subarray); /* sequence.cu */
ALGORITHM(list_ranking);
ALGORITHM(histogram);
ALGORITHM(bfs);
ALGORITHM(hotspot); /* grid.cu */
ALGORITHM(hotspot_3d);
ALGORITHM(srad);
ALGORITHM(pathfinder);
ALGORITHM(nw);
ALGORITHM(knn); /* points.cu */
ALGORITHM(particle_filter);
ALGORITHM(binarize); /* image.cu */
ALGORITHM(mirror);
ALGORITHM(project_x);
ALGORITHM(project_y);
ALGORITHM(scale_down);
ALGORITHM(dct);
ALGORITHM(enlarge);
ALGORITHM(convolve_2d);
ALGORITHM(convolve_1d);
ALGORITHM(image_sum);
ALGORITHM(image_histogram);
ALGORITHM(difference);
ALGORITHM(case_study);

struct common {
	const char *program;
	struct list sizes = {}, blocks = {}; /* empty: the algorithm's own */
	const char *only = NULL;             /* NULL: all algorithms; may end in * */
	int streams = 1, repeat = 5, no_check = 0, time = 0, list = 0;
};

/* common holds the defaults; algorithms: for --only and --list, which ends the program; more: the program's own
 * options, or NULL. */
void common_parse(struct common *common, const struct algorithm *const *algorithms, int count,
		  const struct option_of *more, int argc, char **argv);

/* Every algorithm in every setting asked for; prints a line each. Returns the exit status. */
int measure_each(const struct common *common, const struct algorithm *const *algorithms, int count);

/* All sizes with all blocks. */
std::vector<struct setting> settings_of(const struct common *common, const struct algorithm *algorithm);

int asked_for(const struct common *common, const struct algorithm *algorithm);

struct streams {
	std::vector<cudaStream_t> of;

	explicit streams(int count);
	streams(const streams &) = delete;
	~streams();
};

/* The reference is not asked where --no-check is given, or nothing is computed: then NULL, too. */
const char *checked(const struct common *common, struct subject *subject);
/* What checked() said, in words. */
const char *verdict(const struct common *common, const char *wrong);

struct stopwatch {
	cudaEvent_t begin, end;
	std::vector<float> times_ms;

	stopwatch();
	~stopwatch();
	void start(cudaStream_t stream);
	void stop(cudaStream_t stream); /* waits */
	float median_us() const;
};

template <typename T> struct device_array {
	T *at;
	size_t count;

	explicit device_array(size_t zeros) : count(zeros)
	{
		CHECK(cudaMalloc(&at, count * sizeof(T)));
		CHECK(cudaMemset(at, 0, count * sizeof(T)));
	}
	explicit device_array(const std::vector<T> &from) : device_array(from.size())
	{
		CHECK(cudaMemcpy(at, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
	}
	device_array(const device_array &) = delete;
	device_array &operator=(const device_array &) = delete;
	~device_array()
	{
		cudaFree(at);
	}
	std::vector<T> read() const
	{
		std::vector<T> copy(count);

		CHECK(cudaMemcpy(copy.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost));
		return copy;
	}
	void copy_from(const device_array &other, cudaStream_t stream)
	{
		CHECK(cudaMemcpyAsync(at, other.at, count * sizeof(T), cudaMemcpyDeviceToDevice, stream));
	}
	void clear(cudaStream_t stream)
	{
		CHECK(cudaMemsetAsync(at, 0, count * sizeof(T), stream));
	}
};

#ifdef __CUDACC__
template <typename... P, typename... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, A... arguments)
{
	kernel<<<grid, block, shared_bytes, stream>>>(arguments...);
	CHECK(cudaGetLastError());
}
#endif

/* How many parts of this size hold so many. */
static inline unsigned parts(long count, long size)
{
	return (unsigned)((count + size - 1) / size);
}

/* The block as a rectangle as square as can be, not higher than wide. */
dim3 square_block(int threads);
dim3 blocks_over(int width, int height, dim3 block);

/* Numbers 0 to limit - 1, always the same. */
std::vector<int> random_ints(size_t count, int limit);
/* Whole numbers from -2 to 2: sums of products of some millions of them are exact. */
std::vector<float> small_floats(size_t count);

/* Says so; until the next call. */
const char *differs(long at, double got, double wanted);

/* NULL, or where got differs from wanted by more than tolerance, relative to wanted or to 1. */
template <typename T> const char *compare(const std::vector<T> &got, const std::vector<T> &wanted, double tolerance = 0)
{
	for (size_t i = 0; i < wanted.size(); i++) {
		double limit = tolerance * fmax(1, fabs((double)wanted[i]));

		if (!(fabs((double)got[i] - (double)wanted[i]) <= limit))
			return differs((long)i, (double)got[i], (double)wanted[i]);
	}
	return NULL;
}

#endif
