/*
 * How long one call of cuLaunchKernel takes while launches are queued. Prints the
 * median and the 99th percentile in nanoseconds, reading the clock included: the
 * difference between two runs of this program is what a library adds.
 *
 * usage: launch_path STREAMS          launches go to that many streams in turn
 *        launch_path STREAMS shapes   each is the first of its launch shape
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUEUED 1000   /* launches on each stream between two synchronisations; below the driver's bound of 1,024 */
#define SAMPLES 60000 /* launches that are timed */
#define SHAPES 2000   /* the same, where each has a launch shape of its own */
#define MAX_STREAMS 64

/* One kernel, as PTX text: any driver since CUDA 11 takes it. Its work depends on
 * both arguments; with n = 0 it touches no memory. */
static const char kernel_ptx[] = ".version 7.0\n"
				 ".target sm_52\n"
				 ".address_size 64\n"
				 ".visible .entry bench(.param .u64 out, .param .u32 n)\n"
				 "{\n"
				 "	.reg .pred %p;\n"
				 "	.reg .b32 %r<6>;\n"
				 "	.reg .b64 %d<4>;\n"
				 "	ld.param.u64 %d1, [out];\n"
				 "	ld.param.u32 %r1, [n];\n"
				 "	mov.u32 %r2, %ctaid.x;\n"
				 "	mov.u32 %r3, %ntid.x;\n"
				 "	mov.u32 %r4, %tid.x;\n"
				 "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
				 "	setp.ge.u32 %p, %r5, %r1;\n"
				 "	@%p ret;\n"
				 "	mul.wide.u32 %d2, %r5, 4;\n"
				 "	add.s64 %d3, %d1, %d2;\n"
				 "	st.global.u32 [%d3], %r5;\n"
				 "	ret;\n"
				 "}\n";

struct driver { /* found as cudart finds them */
	CUresult (*init)(unsigned);
	CUresult (*device_get)(CUdevice *, int);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*set_current)(CUcontext);
	CUresult (*load)(CUmodule *, const void *);
	CUresult (*get_function)(CUfunction *, CUmodule, const char *);
	CUresult (*stream_create)(CUstream *, unsigned);
	CUresult (*synchronize)(void);
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
			   void **, void **);
};

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "launch_path: %s: error %d\n", what, (int)result);
	exit(1);
}

static void find(void *library, const char *name, void *pointer)
{
	*(void **)pointer = dlsym(library, name);
	if (!*(void **)pointer) {
		fprintf(stderr, "launch_path: no %s\n", name);
		exit(1);
	}
}

static void driver_open(struct driver *d)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "launch_path: %s\n", dlerror());
		exit(1);
	}
	find(library, "cuInit", &d->init);
	find(library, "cuDeviceGet", &d->device_get);
	find(library, "cuDevicePrimaryCtxRetain", &d->retain);
	find(library, "cuCtxSetCurrent", &d->set_current);
	find(library, "cuModuleLoadData", &d->load);
	find(library, "cuModuleGetFunction", &d->get_function);
	find(library, "cuStreamCreate", &d->stream_create);
	find(library, "cuCtxSynchronize", &d->synchronize);
	find(library, "cuLaunchKernel", &d->launch);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* each: blocks that a launch has more than the one before. */
static void measure(const struct driver *d, CUfunction kernel, CUstream *streams, int count, unsigned each,
		    int64_t *samples, int n)
{
	uint64_t out = 0;
	uint32_t elements = 0;
	void *params[] = {&out, &elements};

	for (int i = 0; i < n; i++) {
		int64_t before = now_ns();
		CUresult result =
		    d->launch(kernel, 512 + each * (unsigned)i, 1, 1, 256, 1, 1, 0, streams[i % count], params, NULL);

		samples[i] = now_ns() - before;
		check(result, "cuLaunchKernel");
		if (i % (QUEUED * count) == QUEUED * count - 1)
			check(d->synchronize(), "cuCtxSynchronize");
	}
	check(d->synchronize(), "cuCtxSynchronize");
}

int main(int argc, char **argv)
{
	static int64_t samples[SAMPLES];
	bool shapes = argc == 3 && !strcmp(argv[2], "shapes");
	int count = argc == 2 || shapes ? atoi(argv[1]) : 0, n = shapes ? SHAPES : SAMPLES;
	CUstream streams[MAX_STREAMS];
	struct driver d;
	CUcontext context;
	CUdevice device;
	CUmodule module;
	CUfunction kernel;

	if (count < 1 || count > MAX_STREAMS) {
		fprintf(stderr, "usage: %s STREAMS (1 to %d) [shapes]\n", argv[0], MAX_STREAMS);
		return 2;
	}
	driver_open(&d);
	check(d.init(0), "cuInit");
	check(d.device_get(&device, 0), "cuDeviceGet");
	check(d.retain(&context, device), "cuDevicePrimaryCtxRetain");
	check(d.set_current(context), "cuCtxSetCurrent");
	check(d.load(&module, kernel_ptx), "cuModuleLoadData");
	check(d.get_function(&kernel, module, "bench"), "cuModuleGetFunction");
	for (int i = 0; i < count; i++)
		check(d.stream_create(&streams[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");

	measure(&d, kernel, streams, count, 0, samples, SAMPLES / 10); /* warms up */
	measure(&d, kernel, streams, count, shapes, samples, n);
	qsort(samples, (size_t)n, sizeof(*samples), compare);
	printf("%lld %lld\n", (long long)samples[n / 2], (long long)samples[n / 100 * 99]);
	return 0;
}
