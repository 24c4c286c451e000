#include "driver.h"

#include <dlfcn.h>
#include <stddef.h>

struct kernels driver_kernels;
static CUcontext context;
static char device_name[256];

void driver_check(CUresult error, const char *call)
{
	const char *name = NULL;

	if (!error)
		return;
	CALL(cuGetErrorName)(error, &name);
	program_fail("%s: %s", call, name ? name : "?");
}

#ifdef DRIVER_RESOLVED
struct driver_table driver_found[2];

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define RESOLVE_FLAGS CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
#else
#define RESOLVE_FLAGS CU_GET_PROC_ADDRESS_LEGACY_STREAM
#endif
#define TEXT(x) #x
#define EXPORTED(x) TEXT(x) /* cuda.h makes cuMemAlloc into cuMemAlloc_v2 */

static void driver_find(void)
{
	CUdriverProcAddressQueryResult found;
	__typeof__(&cuGetProcAddress) resolve;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		program_fail("%s", dlerror());
	resolve = (__typeof__(resolve))dlsym(library, "cuGetProcAddress_v2");
	if (!resolve)
		program_fail("no cuGetProcAddress_v2");
#define FIND(name)                                                                                                     \
	driver_found[0].name = (__typeof__(&name))dlsym(library, EXPORTED(name));                                      \
	if (!driver_found[0].name)                                                                                     \
		program_fail("no %s", EXPORTED(name));
	DRIVER_FUNCTIONS(FIND)
#undef FIND
#define FIND(name)                                                                                                     \
	if (resolve(#name, (void **)&driver_found[1].name, CUDA_VERSION, RESOLVE_FLAGS, &found) ||                     \
	    found != CU_GET_PROC_ADDRESS_SUCCESS)                                                                      \
		program_fail("cuGetProcAddress does not know %s", #name);
	DRIVER_FUNCTIONS(FIND)
#undef FIND
}
#else
static void driver_find(void)
{
}
#endif

/* A CUfunction of a module, one of a library's kernel, and a CUkernel used as a CUfunction. */
static void load_kernels(void)
{
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;

	CHECK(CALL(cuModuleLoadData)(&module, driver_image));
	CHECK(CALL(cuModuleGetFunction)(&driver_kernels.add, module, "add"));
	CHECK(CALL(cuLibraryLoadData)(&library, driver_image, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(CALL(cuLibraryGetKernel)(&kernel, library, "add_shared"));
	CHECK(CALL(cuKernelGetFunction)(&driver_kernels.add_shared, kernel));
	CHECK(CALL(cuLibraryGetKernel)(&kernel, library, "add_together"));
	driver_kernels.add_together = (CUfunction)kernel;
}

void driver_start(void)
{
	CUdevice device;

	driver_find();
	CHECK(CALL(cuInit)(0));
	CHECK(CALL(cuDeviceGet)(&device, 0));
	CHECK(CALL(cuDeviceGetName)(device_name, sizeof(device_name), device));
	CHECK(CALL(cuDevicePrimaryCtxRetain)(&context, device));
	driver_enter();
	load_kernels();
}

void driver_enter(void)
{
	CHECK(CALL(cuCtxSetCurrent)(context));
}

void buffer_make(struct buffer *buffer)
{
	buffer->n = BUFFER_INTS;
	buffer->expected = 0;
	CHECK(CALL(cuMemAlloc)(&buffer->device, BUFFER_INTS * sizeof(int)));
	CHECK(CALL(cuMemsetD32)(buffer->device, 0, BUFFER_INTS));
	CHECK(CALL(cuStreamSynchronize)(NULL));
}

void buffer_finish(struct buffer *buffer)
{
	static _Thread_local int host[BUFFER_INTS];

	CHECK(CALL(cuMemcpyDtoH)(host, buffer->device, sizeof(host)));
	CHECK(CALL(cuMemFree)(buffer->device));
	if (!program_computes(device_name))
		return;
	for (int i = 0; i < BUFFER_INTS; i++) {
		if (host[i] != buffer->expected)
			program_fail("element %d is %d, not %d", i, host[i], buffer->expected);
	}
}

long driver_work(int launches, launch_function *launch)
{
	struct buffer own, common;
	CUstream stream;

	driver_enter();
	buffer_make(&own);
	buffer_make(&common);
	CHECK(CALL(cuStreamCreate)(&stream, CU_STREAM_DEFAULT));
	for (int i = 0; i < launches; i++)
		launch(i, i % 4 < 2 ? &own : &common, i % 4 < 2 ? stream : NULL);
	CHECK(CALL(cuStreamSynchronize)(stream));
	CHECK(CALL(cuStreamSynchronize)(NULL));
	CHECK(CALL(cuStreamDestroy)(stream));
	buffer_finish(&own);
	buffer_finish(&common);
	return launches;
}
