#include <dlfcn.h>
#include <stddef.h>

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
	return (void *)driver->cuInit != (void *)missing ? cudaSuccess : cudaErrorInsufficientDriver;
}
