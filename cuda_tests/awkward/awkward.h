/*
 * What the programs of this folder share: one kernel of the driver API, which
 * any of them can launch. A call that fails ends the program with status 3.
 */
#ifndef AWKWARD_H
#define AWKWARD_H

#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		CUresult result_ = (call);                                                                             \
		if (result_) {                                                                                         \
			printf("%s: %d\n", #call, result_);                                                            \
			exit(3);                                                                                       \
		}                                                                                                      \
	} while (0)

struct awkward {
	CUcontext context;
	CUfunction kernel;
	CUdeviceptr memory;
};

static const char awkward_ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
				  ".visible .entry awkward(.param .u64 p0, .param .u32 p1)\n{\n"
				  ".reg .b32 %r<4>;\nld.param.u32 %r1, [p1];\nret;\n}\n";

/* After cuInit. */
static inline void awkward_load(struct awkward *a)
{
	CUdevice device;
	CUmodule module;

	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&a->context, device));
	CHECK(cuCtxSetCurrent(a->context));
	CHECK(cuModuleLoadData(&module, awkward_ptx));
	CHECK(cuModuleGetFunction(&a->kernel, module, "awkward"));
	CHECK(cuMemAlloc(&a->memory, 4096));
}

static inline void awkward_start(struct awkward *a)
{
	CHECK(cuInit(0));
	awkward_load(a);
}

static inline CUresult awkward_launch(struct awkward *a, CUstream stream, unsigned blocks)
{
	int n = 5;
	void *parameters[] = {&a->memory, &n};

	return cuLaunchKernel(a->kernel, blocks, 1, 1, 128, 1, 1, 0, stream, parameters, NULL);
}

/* The same launch as a graph's node. */
static inline CUDA_KERNEL_NODE_PARAMS awkward_node(const struct awkward *a, unsigned blocks, void **parameters)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = a->kernel,
					 .gridDimX = blocks,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 128,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = parameters};
}

#endif
