/*
 * A stand-in for NVIDIA's management library, libnvidia-ml.so.1: it counts the simulated devices and knows no more.
 * nvml.h is not among the packages that scripts/setup fetches, so the few declarations it would give are here.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "cuda_tests/simcuda/simcuda.h"

#define EXPORTED __attribute__((visibility("default")))

enum nvml_result { /* nvmlReturn_t */
		   NVML_SUCCESS = 0,
		   NVML_ERROR_UNINITIALIZED = 1,
		   NVML_ERROR_INVALID_ARGUMENT = 2,
		   NVML_ERROR_DRIVER_NOT_LOADED = 9,
};

EXPORTED int nvmlInit(void);
EXPORTED int nvmlInit_v2(void);
EXPORTED int nvmlInitWithFlags(unsigned flags);
EXPORTED int nvmlShutdown(void);
EXPORTED int nvmlDeviceGetCount(unsigned *count);
EXPORTED int nvmlDeviceGetCount_v2(unsigned *count);
EXPORTED const char *nvmlErrorString(int result);

static simcuda_device_count_fn *_Atomic device_count;
static atomic_int users;

int nvmlInit_v2(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	device_count = driver ? (simcuda_device_count_fn *)dlsym(driver, "simcuda_device_count") : NULL;
	if (!device_count)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	atomic_fetch_add(&users, 1);
	return NVML_SUCCESS;
}

int nvmlInit(void)
{
	return nvmlInit_v2();
}

int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return nvmlInit_v2();
}

int nvmlShutdown(void)
{
	if (!atomic_load(&users))
		return NVML_ERROR_UNINITIALIZED;
	atomic_fetch_sub(&users, 1);
	return NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	if (!atomic_load(&users))
		return NVML_ERROR_UNINITIALIZED;
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = device_count();
	return NVML_SUCCESS;
}

int nvmlDeviceGetCount(unsigned *count)
{
	return nvmlDeviceGetCount_v2(count);
}

const char *nvmlErrorString(int result)
{
	return result == NVML_SUCCESS ? "success" : "failure";
}
