/*
 * The kernel of sizes.cu, compiled by NVRTC while the program runs and loaded as machine code: 12 growing sizes, once
 * each, with host work in between.
 *
 *   usage: sizes_nvrtc NVRTC ARCHITECTURE     its library, 80 for sm_80
 */
#include "cuda_tests/check.h"

#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FIRST 1048576
#define SIZES 12
#define BLOCKS 216u
#define THREADS 256u
#define GROWTH 1.6
#define HOST_WORK_NS 100000000L /* 0.1 s */

/* As nvrtc.h has them; not every toolkit that can build this has it. */
typedef struct program *program;
int nvrtcCreateProgram(program *made, const char *source, const char *name, int n, const char *const *headers,
		       const char *const *names);
int nvrtcCompileProgram(program made, int n, const char *const *options);
int nvrtcGetCUBINSize(program made, size_t *bytes);
int nvrtcGetCUBIN(program made, char *cubin);
int nvrtcDestroyProgram(program *made);

static void *nvrtc;
#define NVRTC(name) ((__typeof__(name) *)dlsym(nvrtc, #name))

static const char source[] =
    "extern \"C\" __global__ void series(int n, int terms, const float *x, float *y)\n"
    "{\n"
    "	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n"
    "		float at = x[i], power = 1, sum = 0;\n"
    "		for (int k = 0; k < terms; k++) {\n"
    "			sum += power / (float)(k + 1);\n"
    "			power *= at;\n"
    "		}\n"
    "		y[i] = sum;\n"
    "	}\n"
    "}\n";

static CUfunction compiled(const char *architecture)
{
	char option[64], *cubin;
	const char *options[] = {option};
	CUfunction function;
	CUmodule module;
	program made;
	size_t bytes;

	snprintf(option, sizeof(option), "--gpu-architecture=sm_%s", architecture);
	CHECK(NVRTC(nvrtcCreateProgram)(&made, source, "series.cu", 0, NULL, NULL));
	CHECK(NVRTC(nvrtcCompileProgram)(made, 1, options));
	CHECK(NVRTC(nvrtcGetCUBINSize)(made, &bytes));
	cubin = malloc(bytes);
	CHECK(NVRTC(nvrtcGetCUBIN)(made, cubin));
	CHECK(NVRTC(nvrtcDestroyProgram)(&made));
	CHECK(cuModuleLoadData(&module, cubin));
	CHECK(cuModuleGetFunction(&function, module, "series"));
	free(cubin);
	return function;
}

int main(int argc, char **argv)
{
	const struct timespec host_work = {0, HOST_WORK_NS};
	double largest = FIRST;
	int n = FIRST, terms = 20;
	CUdevice device;
	CUcontext context;
	CUfunction series;
	CUdeviceptr x, y;
	void *arguments[] = {&n, &terms, &x, &y};

	nvrtc = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!nvrtc)
		return 2;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	series = compiled(argv[2]);
	for (int i = 1; i < SIZES; i++)
		largest *= GROWTH;
	CHECK(cuMemAlloc(&x, sizeof(float) * (size_t)largest));
	CHECK(cuMemAlloc(&y, sizeof(float) * (size_t)largest));
	for (int i = 0; i < SIZES; i++) {
		CHECK(cuLaunchKernel(series, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
		CHECK(cuCtxSynchronize());
		nanosleep(&host_work, NULL);
		n = (int)(n * GROWTH);
	}
	CHECK(cuMemFree(x));
	CHECK(cuMemFree(y));
	printf("%d sizes\n", SIZES);
	return 0;
}
