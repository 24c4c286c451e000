#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart.h"

struct entry {
	const char *name;
	int version;
	cuuint64_t flags;
	size_t offset; /* of the pointer in struct cudart_driver */
};

#define ENTRY(member, name, version, flags, type) {name, version, flags, offsetof(struct cudart_driver, member)},
static const struct entry entries[] = {CUDART_DRIVER_TABLE(ENTRY)};
#undef ENTRY

/* Replaces functions that the driver does not have. It takes any arguments, as the C calling convention allows. */
static CUresult missing(void)
{
	return (CUresult)cudaErrorCallRequiresNewerDriver;
}

/* One of two words that a variable may hold, the first being the default. */
static bool is_second(const char *variable, const char *first, const char *second)
{
	const char *value = getenv(variable);

	if (value && strcmp(value, first) && strcmp(value, second))
		fprintf(stderr, "simcuda: %s is \"%s\", not %s or %s: %s is used\n", variable, value, first, second,
			first);
	return value && !strcmp(value, second);
}

/* How NVIDIA's runtime loads its code is not documented: it may be without a call that a tool can see. */
static void load_privately(struct cudart_driver *driver, void *library)
{
	*(void **)&driver->cuLibraryLoadData = dlsym(library, "simcuda_private_cuLibraryLoadData");
	*(void **)&driver->cuLibraryUnload = dlsym(library, "simcuda_private_cuLibraryUnload");
	*(void **)&driver->cuLibraryGetKernel = dlsym(library, "simcuda_private_cuLibraryGetKernel");
	*(void **)&driver->cuKernelGetFunction = dlsym(library, "simcuda_private_cuKernelGetFunction");
}

cudaError_t cudart__load_driver(struct cudart_driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	PFN_cuGetProcAddress_v12000 resolve = NULL;

	if (library)
		resolve = (PFN_cuGetProcAddress_v12000)dlsym(library, "cuGetProcAddress_v2");
	if (!resolve)
		return cudaErrorInsufficientDriver;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const struct entry *entry = &entries[i];
		CUdriverProcAddressQueryResult status;
		void *function = NULL;

		if (resolve(entry->name, &function, entry->version, entry->flags, &status) != CUDA_SUCCESS)
			function = NULL;
		if (!function)
			function = (void *)missing;
		*(void **)((char *)driver + entry->offset) = function;
	}
	driver->api_enter = (simcuda_api_enter_fn *)dlsym(library, "simcuda_api_enter");
	driver->api_leave = (simcuda_api_leave_fn *)dlsym(library, "simcuda_api_leave");
	driver->launches_functions = is_second("SIMCUDA_HANDLES", "kernel", "function");
	if (driver->api_enter && is_second("SIMCUDA_LOADS", "public", "private"))
		load_privately(driver, library);
	return (void *)driver->cuInit != (void *)missing ? cudaSuccess : cudaErrorInsufficientDriver;
}
