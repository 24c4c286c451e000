/*
 * What the programs that use the driver API share. They call its functions as
 * CALL(cuMemAlloc)(...), which is a call of the linked function or, compiled
 * with DRIVER_RESOLVED, of a pointer found in libcuda.so.1 at run time. There
 * are then two such tables, and the ith launch of a thread uses each in turn:
 *
 *   driver_found[0]   by dlsym(), under the exported names
 *   driver_found[1]   by cuGetProcAddress, under the plain names
 */
#ifndef DRIVER_H
#define DRIVER_H

#include "program.h"

#include <cuda.h>

/* clang-format off */
#define DRIVER_FUNCTIONS(X) \
	X(cuInit) X(cuGetErrorName) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) \
	X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) \
	X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleLoadFatBinary) X(cuModuleGetFunction) X(cuModuleUnload) \
	X(cuLibraryLoadData) X(cuLibraryGetKernel) X(cuLibraryUnload) X(cuKernelGetFunction) \
	X(cuMemAlloc) X(cuMemFree) X(cuMemsetD32) X(cuMemcpyDtoH) \
	X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent) \
	X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuEventCreate) X(cuEventRecord) X(cuEventDestroy) \
	X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel) \
	X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphAddKernelNode) X(cuGraphAddChildGraphNode) \
	X(cuGraphKernelNodeSetParams) X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy) X(cuGraphLaunch) \
	X(cuGraphExecKernelNodeSetParams) X(cuGraphExecUpdate) X(cuGraphNodeSetEnabled)
/* clang-format on */

#ifdef DRIVER_RESOLVED
#define DRIVER_MEMBER(name) __typeof__(&name) name;
struct driver_table {
	DRIVER_FUNCTIONS(DRIVER_MEMBER)
};
#undef DRIVER_MEMBER
extern struct driver_table driver_found[2];
#define CALL_NTH(i, name) (driver_found[(i) % 2].name)
#else
#define CALL_NTH(i, name) ((void)(i), name)
#endif
#define CALL(name) CALL_NTH(0, name)

#define BUFFER_INTS 4096

struct buffer {
	CUdeviceptr device;
	int n;
	int expected; /* in every element */
};

struct kernels { /* of the fatbin that is built into the program, as handles of either kind */
	CUfunction add, add_shared, add_together;
};

#define CHECK(call) driver_check((call), #call)
void driver_check(CUresult error, const char *call);

/* Finds the driver, the first device and its primary context; loads the kernels. */
void driver_start(void);
/* The calling thread's context becomes the primary one. */
void driver_enter(void);
extern struct kernels driver_kernels;
/* The image built into the program. */
extern const unsigned char driver_image[];
extern const unsigned long driver_image_bytes;

void buffer_make(struct buffer *buffer);   /* zeros */
void buffer_finish(struct buffer *buffer); /* frees it; where the device computes, checks its contents first */

typedef void launch_function(int i, struct buffer *buffer, CUstream stream);
/* For program_run(): launches kernels, half on a stream of its own, half on the default stream. */
long driver_work(int launches, launch_function *launch);

#endif
