#include "calibrate.h"
#include "tools/command.h"

#include "predictor/math/median.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COPY_BYTES (256ull << 20) /* larger than any L2 */
#define BLOCK_THREADS 256u
#define STEP_THREADS 128u
#define FMA_BLOCKS_PER_SM 32u
#define SCATTER_THREADS (1u << 20)
#define RING_STRIDE 2048u /* bytes between two pointers, so that no two share a sector or a memory row */
#define BUS_BYTES (16ull << 20)
#define SERIES 20u /* of kernels back to back, timed by the host's clock */
#define SERIES_KERNELS 50u
#define IDLE_US 200 /* between launches on an idle device */

/* X(member, symbol): the functions of the driver that are called */
#define DRIVER(X)                                                                                                      \
	X(init, cuInit)                                                                                                \
	X(get, cuDeviceGet)                                                                                            \
	X(attribute, cuDeviceGetAttribute)                                                                             \
	X(retain, cuDevicePrimaryCtxRetain)                                                                            \
	X(set_current, cuCtxSetCurrent)                                                                                \
	X(load, cuModuleLoadData)                                                                                      \
	X(function, cuModuleGetFunction)                                                                               \
	X(allocate, cuMemAlloc_v2)                                                                                     \
	X(allocate_host, cuMemAllocHost_v2)                                                                            \
	X(to_device, cuMemcpyHtoDAsync_v2)                                                                             \
	X(to_host, cuMemcpyDtoHAsync_v2)                                                                               \
	X(free_bytes, cuMemGetInfo_v2)                                                                                 \
	X(stream, cuStreamCreate)                                                                                      \
	X(synchronize, cuStreamSynchronize)                                                                            \
	X(launch, cuLaunchKernel)                                                                                      \
	X(error_name, cuGetErrorName)

struct driver {
#define MEMBER(member, symbol) __typeof__(&symbol) member;
	DRIVER(MEMBER)
#undef MEMBER
};

struct work {
	struct driver driver;
	CUfunction empty, copy, fma, scatter, link, global, shared;
	CUstream stream;
	CUdeviceptr to, from;
	size_t bytes; /* of each of them, a power of two */
	void *host;
	unsigned copy_blocks, fma_blocks;
	struct kc_calibrate_host times;
};

/* Looks a function up as a CUDA runtime does: with the driver's own resolver, in drivers that have one. */
static void resolve_launch(struct driver *d, void *library)
{
	enum { FIRST_VERSION = 4000 }; /* of cuLaunchKernel: PFN_cuLaunchKernel_v4000 */
	CUresult(CUDAAPI * resolve)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
	    (__typeof__(resolve))dlsym(library, "cuGetProcAddress_v2");
	CUdriverProcAddressQueryResult found;
	void *launch = NULL;

	if (resolve && resolve("cuLaunchKernel", &launch, FIRST_VERSION, 0, &found) == CUDA_SUCCESS && launch)
		d->launch = (__typeof__(d->launch))launch;
}

static int load_driver(struct driver *d)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		kc_error("the CUDA driver cannot be loaded: %s", dlerror());
		return -1;
	}
#define FIND(member, symbol)                                                                                           \
	d->member = (__typeof__(d->member))dlsym(library, #symbol);                                                    \
	if (!d->member) {                                                                                              \
		kc_error("the CUDA driver has no " #symbol);                                                           \
		return -1;                                                                                             \
	}
	DRIVER(FIND)
#undef FIND
	resolve_launch(d, library);
	return 0;
}

static int check(const struct work *w, CUresult result, const char *what)
{
	const char *name = NULL;

	if (result == CUDA_SUCCESS)
		return 0;
	w->driver.error_name(result, &name);
	kc_error("%s: %s", what, name ? name : "unknown error");
	return -1;
}

#define TRY(call, what)                                                                                                \
	if (check(w, call, what))                                                                                      \
	return -1

static int find_kernels(struct work *w, CUmodule module)
{
	const struct {
		CUfunction *function;
		const char *name;
	} kernels[] = {
	    {&w->empty, KC_CALIBRATE_EMPTY},     {&w->copy, KC_CALIBRATE_COPY}, {&w->fma, KC_CALIBRATE_FMA},
	    {&w->scatter, KC_CALIBRATE_SCATTER}, {&w->link, KC_CALIBRATE_LINK}, {&w->global, KC_CALIBRATE_GLOBAL},
	    {&w->shared, KC_CALIBRATE_SHARED},
	};

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		TRY(w->driver.function(kernels[i].function, module, kernels[i].name), "finding a kernel");
	return 0;
}

static int find_memory(struct work *w)
{
	struct driver *d = &w->driver;
	size_t free_bytes = 0, all_bytes = 0;

	TRY(d->free_bytes(&free_bytes, &all_bytes), "asking for memory");
	w->bytes = COPY_BYTES;
	while (w->bytes > free_bytes / 4)
		w->bytes /= 2;
	TRY(d->allocate(&w->to, w->bytes), "allocating memory");
	TRY(d->allocate(&w->from, w->bytes), "allocating memory");
	TRY(d->allocate_host(&w->host, BUS_BYTES), "allocating memory of the host");
	memset(w->host, 0, BUS_BYTES);
	w->copy_blocks = (unsigned)(w->bytes / (BLOCK_THREADS * KC_CALIBRATE_COPY_BYTES));
	return 0;
}

static int prepare(struct work *w, int ordinal)
{
	struct driver *d = &w->driver;
	CUcontext context;
	CUmodule module;
	CUdevice device;
	int sm_count = 1;

	TRY(d->init(0), "the CUDA driver does not start");
	TRY(d->get(&device, ordinal), "there is no such device");
	TRY(d->attribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "asking the device");
	TRY(d->retain(&context, device), "using the device");
	TRY(d->set_current(context), "using the device");
	TRY(d->load(&module, kc_calibrate_code), "compiling for the device");
	TRY(d->stream(&w->stream, CU_STREAM_NON_BLOCKING), "making a stream");
	w->fma_blocks = FMA_BLOCKS_PER_SM * (unsigned)sm_count;
	return find_kernels(w, module) ? -1 : find_memory(w);
}

static int launch(struct work *w, CUfunction kernel, unsigned blocks, unsigned threads, void **arguments)
{
	TRY(w->driver.launch(kernel, blocks, 1, 1, threads, 1, 1, 0, w->stream, arguments, NULL), "launching");
	return 0;
}

static int finish(struct work *w)
{
	TRY(w->driver.synchronize(w->stream), "running a kernel");
	return 0;
}

static int repeat(struct work *w, CUfunction kernel, unsigned blocks, unsigned threads, void **arguments)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < KC_CALIBRATE_REPEATS; i++)
		rc = launch(w, kernel, blocks, threads, arguments);
	return rc ? rc : finish(w);
}

/* Launches on an idle device, then small ones back to back: overhead and gap. */
static int work_launches(struct work *w)
{
	uint32_t loops = KC_CALIBRATE_FMA_LOOPS;
	void *arguments[] = {&w->to, &loops};
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < KC_CALIBRATE_REPEATS; i++) {
		rc = launch(w, w->empty, 1, 1, NULL) || finish(w);
		usleep(IDLE_US);
	}
	return rc ? rc : repeat(w, w->fma, 1, STEP_THREADS, arguments);
}

static int work_throughput(struct work *w)
{
	uint32_t loops = KC_CALIBRATE_FMA_LOOPS;
	void *copy[] = {&w->to, &w->from}, *fma[] = {&w->to, &loops};

	return repeat(w, w->copy, w->copy_blocks, BLOCK_THREADS, copy) ||
	       repeat(w, w->fma, w->fma_blocks, BLOCK_THREADS, fma);
}

static int work_scattered(struct work *w)
{
	uint32_t mask = (uint32_t)(w->bytes / sizeof(uint32_t) - 1);
	void *arguments[] = {&w->to, &w->from, &mask};

	return repeat(w, w->scatter, SCATTER_THREADS / BLOCK_THREADS, BLOCK_THREADS, arguments);
}

/* Each chase through global memory begins where the one before ended, so nothing is in a cache. */
static int work_latency(struct work *w)
{
	uint32_t count = (uint32_t)(w->bytes / RING_STRIDE), stride = RING_STRIDE;
	uint32_t global_hops = KC_CALIBRATE_GLOBAL_HOPS, shared_hops = KC_CALIBRATE_SHARED_HOPS;
	CUdeviceptr begin;
	void *link[] = {&w->from, &count, &stride}, *global[] = {&w->to, &begin, &global_hops};
	void *shared[] = {&w->to, &shared_hops};
	int rc = launch(w, w->link, (count + BLOCK_THREADS - 1) / BLOCK_THREADS, BLOCK_THREADS, link);

	for (unsigned i = 0; rc == 0 && i < KC_CALIBRATE_REPEATS; i++) {
		begin = w->from + (CUdeviceptr)((i * KC_CALIBRATE_GLOBAL_HOPS) % count) * RING_STRIDE;
		rc = launch(w, w->global, 1, 1, global);
	}
	return rc ? rc : repeat(w, w->shared, 1, 1, shared);
}

static int work_bus(struct work *w)
{
	size_t bytes = BUS_BYTES < w->bytes ? BUS_BYTES : w->bytes;

	for (unsigned i = 0; i < KC_CALIBRATE_COPIES; i++) {
		TRY(w->driver.to_device(w->to, w->host, bytes, w->stream), "copying to the device");
		TRY(w->driver.to_host(w->host, w->to, bytes, w->stream), "copying from the device");
	}
	return finish(w);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Measures the host's time per launch call and per kernel, and takes the median of each over all series. The launch
 * calls of a series return long before its kernels end, so the kernels follow one another without gaps. */
static int work_host(struct work *w)
{
	uint32_t loops = KC_CALIBRATE_FMA_LOOPS;
	void *arguments[] = {&w->to, &loops};
	double launches[SERIES], kernels[SERIES];
	int rc = 0;

	for (unsigned s = 0; rc == 0 && s < SERIES; s++) {
		double begin = now_ns();

		for (unsigned i = 0; rc == 0 && i < SERIES_KERNELS; i++)
			rc = launch(w, w->fma, w->fma_blocks / FMA_BLOCKS_PER_SM, STEP_THREADS, arguments);
		launches[s] = (now_ns() - begin) / SERIES_KERNELS;
		if (rc == 0)
			rc = finish(w);
		kernels[s] = (now_ns() - begin) / SERIES_KERNELS;
	}
	if (rc)
		return rc;
	w->times = (struct kc_calibrate_host){kc_median(launches, SERIES), kc_median(kernels, SERIES)};
	return 0;
}

static int write_times(const struct work *w, const char *path)
{
	FILE *to = fopen(path, "we");
	int failed = !to || fprintf(to, "%.9g %.9g\n", w->times.launch_ns, w->times.kernel_ns) < 0;

	if (to)
		failed |= fclose(to) != 0;
	if (failed)
		kc_error("%s cannot be written", path);
	return failed;
}

int kc_calibrate_work(int ordinal, const char *timings)
{
	struct work work = {.copy_blocks = 0};

	if (load_driver(&work.driver) || prepare(&work, ordinal) || work_launches(&work) || work_throughput(&work))
		return KC_EXIT_FAILED;
	if (timings && (work_scattered(&work) || work_latency(&work) || work_bus(&work) || work_host(&work) ||
			write_times(&work, timings)))
		return KC_EXIT_FAILED;
	return KC_EXIT_OK;
}
