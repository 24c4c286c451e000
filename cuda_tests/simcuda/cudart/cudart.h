/*
 * A stand-in for NVIDIA's CUDA runtime, built on the driver API alone.
 *
 *   cudart          the one state of a copy of this library: driver table, devices.
 *   cudart_driver   a pointer for each driver function, in the order they are looked up.
 *   cudart_binary   a fatbin that nvcc's start-up code registered, and the CUlibrary
 *                   it becomes at first use.
 *   cudart_symbol   a kernel's or variable's host address, and the kernel or variable
 *                   of the binary that it means.
 *
 * As with NVIDIA's, a process may hold several copies (static in the program,
 * static in a library, shared). Each has its own state; they share nothing but the
 * driver's current context.
 *
 * Files that end in _calls.c are compiled twice, the second time with
 * CUDA_API_PER_THREAD_DEFAULT_STREAM: NVIDIA's header then renames their
 * functions to the _ptsz and _ptds twins, and DRIVER_TWIN() takes the driver's.
 */
#ifndef CUDART_H
#define CUDART_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>

#include "cudart_cbids.h"
#include "cudart_driver_table.h"
#include "cuda_tests/simcuda/simcuda.h"

enum { CUDART_MAX_DEVICES = 64 };

struct cudart_driver {
#define CUDART_MEMBER(member, name, version, flags, type) type member;
	CUDART_DRIVER_TABLE(CUDART_MEMBER)
#undef CUDART_MEMBER
	/* null where the driver is not the simulated one */
	simcuda_api_enter_fn *api_enter;
	simcuda_api_leave_fn *api_leave;
	bool launches_functions; /* kernels are given to launches as CUfunctions */
};

struct cudart {
	pthread_once_t once;
	cudaError_t load_error; /* why the driver cannot be used; cudaSuccess: it can */
	int device_count;
	struct cudart_driver driver;
	pthread_mutex_t lock; /* guards primary */
	CUcontext primary[CUDART_MAX_DEVICES];
};

struct cudart_binary {
	struct cudart_binary *next;
	const void *image; /* __fatBinC_Wrapper_t */
	pthread_mutex_t lock;
	bool tried;
	CUresult result; /* of the load */
	CUlibrary library;
};

struct cudart_symbol {
	struct cudart_symbol *next; /* same bucket */
	const void *host;
	const char *name; /* mangled; the registering module's memory */
	struct cudart_binary *binary;
	void **managed; /* host pointer of a __managed__ variable, else null */
	bool variable;
	CUkernel kernel; /* null until first use */
};

/* What a runtime function needs before it can begin. */
enum cudart_need {
	CUDART_DRIVER,  /* a driver whose cuInit has succeeded */
	CUDART_CONTEXT, /* and a current context */
};

extern struct cudart cudart__self;

/* cudart_driver.c: fills driver; cudaErrorInsufficientDriver: no libcuda, or none that answers. */
cudaError_t cudart__load_driver(struct cudart_driver *driver);

/*
 * cudart_call.c. A runtime function begins with CUDART_BEGIN and returns through
 * cudart__leave(), which reports the call's end and keeps the last error.
 */
CUresult cudart__enter(struct simcuda_call *call, enum cudart_need need);
cudaError_t cudart__leave(struct simcuda_call *call, CUresult result);
cudaError_t cudart__fail(cudaError_t error);
const struct cudart_driver *cudart__driver(void);
CUresult cudart__use_device(int device);
int cudart__device(void);
void cudart__set_thread_device(int device);
cudaError_t cudart__peek_error(bool clear);

#define CUDART_BEGIN_AS(id, name, need)                                                                                \
	struct simcuda_call call = {.domain = SIMCUDA_RUNTIME, .cbid = id, .function = name};                          \
	CUresult begun = cudart__enter(&call, need);                                                                   \
	if (begun)                                                                                                     \
	return cudart__leave(&call, begun)
#define CUDART_BEGIN(api, need) CUDART_BEGIN_AS(CUDART_CBID_##api, #api, need)
#define CUDART_END(result) return cudart__leave(&call, result)

/* In files that are compiled twice. suffix: that of the function's twin, ptsz or ptds. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define CUDART_BEGIN_TWIN(api, suffix, need) CUDART_BEGIN_AS(CUDART_CBID_##api##_##suffix, #api "_" #suffix, need)
#define DRIVER_TWIN(function) (cudart__driver()->function##_ptsz)
#else
#define CUDART_BEGIN_TWIN(api, suffix, need) CUDART_BEGIN_AS(CUDART_CBID_##api, #api, need)
#define DRIVER_TWIN(function) (cudart__driver()->function)
#endif

/* cudart_module.c. cudaErrorInvalidDeviceFunction, cudaErrorInvalidSymbol: host is not registered here. */
CUresult cudart__kernel(const void *host, CUkernel *kernel);
CUresult cudart__variable(const void *host, CUdeviceptr *address, size_t *bytes);
CUresult cudart__adopt_kernel(CUkernel kernel);
/* The handle that launches take: the kernel itself, or its CUfunction (SIMCUDA_HANDLES). */
CUresult cudart__launch_handle(CUkernel kernel, CUfunction *function);

/* cudart_copy.c. CUDA_ERROR_NOT_SUPPORTED: arrays. */
CUresult cudart__memory_types(enum cudaMemcpyKind kind, CUmemorytype *source, CUmemorytype *destination);
CUresult cudart__copy_2d(CUDA_MEMCPY2D *copy, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t height, enum cudaMemcpyKind kind);
CUresult cudart__copy_3d(CUDA_MEMCPY3D *copy, const struct cudaMemcpy3DParms *params);

/* What nvcc's code calls; NVIDIA's headers declare them for C++ only. */
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
			    uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
		       int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
			      int constant, int global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
			       cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
				    cudaStream_t stream);

#endif
