/*
 * A stand-in for NVIDIA's management library, libnvidia-ml.so.1: it counts the simulated devices, and tells how they
 * are. SIMCUDA_NVML names a file that is read at each question: "MHZ MILLIWATTS REASONS PROCESSES", of all devices;
 * without one, they run at 1,410 MHz with 250 W, and one process has a context. REASONS are the bits of
 * nvmlClocksEventReasons. SIMCUDA_NVML_MS: how long an answer takes, in which all other threads wait for theirs.
 * SIMCUDA_NVML_LOADED names a file: when the library is loaded, it writes whether descriptor 9 is open there. nvml.h is
 * not among the packages that scripts/setup fetches, so the few declarations it would give are here.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_tests/simcuda/simcuda.h"

#define EXPORTED __attribute__((visibility("default")))

enum nvml_result { /* nvmlReturn_t */
		   NVML_SUCCESS = 0,
		   NVML_ERROR_UNINITIALIZED = 1,
		   NVML_ERROR_INVALID_ARGUMENT = 2,
		   NVML_ERROR_NOT_FOUND = 6,
		   NVML_ERROR_INSUFFICIENT_SIZE = 7,
		   NVML_ERROR_DRIVER_NOT_LOADED = 9,
};
enum nvml_clock { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };

struct nvml_process { /* nvmlProcessInfo_t of _v2 and later */
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

__attribute__((constructor)) static void loaded(void)
{
	const char *path = getenv("SIMCUDA_NVML_LOADED");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fputs(fcntl(9, F_GETFD) < 0 ? "closed\n" : "open\n", file);
	fclose(file);
}

EXPORTED int nvmlInit(void);
EXPORTED int nvmlInit_v2(void);
EXPORTED int nvmlInitWithFlags(unsigned flags);
EXPORTED int nvmlShutdown(void);
EXPORTED int nvmlDeviceGetCount(unsigned *count);
EXPORTED int nvmlDeviceGetCount_v2(unsigned *count);
EXPORTED int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
EXPORTED int nvmlDeviceGetClockInfo(void *device, unsigned type, unsigned *mhz);
EXPORTED int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
EXPORTED int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct nvml_process *processes);
EXPORTED const char *nvmlErrorString(int result);

static simcuda_device_count_fn *_Atomic device_count;
static atomic_int users;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

int nvmlInit_v2(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	device_count = driver ? (simcuda_device_count_fn *)dlsym(driver, "simcuda_device_count") : NULL;
	if (!device_count)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	pthread_mutex_lock(&one_at_a_time);
	atomic_fetch_add(&users, 1);
	pthread_mutex_unlock(&one_at_a_time);
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

struct gpu {
	unsigned mhz, mw, processes;
	unsigned long long reasons;
};

static int look(const void *device, struct gpu *gpu)
{
	const char *path = getenv("SIMCUDA_NVML"), *ms = getenv("SIMCUDA_NVML_MS");
	struct timespec wait = {ms ? atoi(ms) / 1000 : 0, ms ? atoi(ms) % 1000 * 1000000l : 0};
	FILE *file = path ? fopen(path, "re") : NULL;

	*gpu = (struct gpu){1410, 250000, 1, 0};
	if (!atomic_load(&users))
		return NVML_ERROR_UNINITIALIZED;
	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&one_at_a_time);
	if (ms)
		nanosleep(&wait, NULL);
	pthread_mutex_unlock(&one_at_a_time);
	if (file) {
		if (fscanf(file, "%u %u %llx %u", &gpu->mhz, &gpu->mw, &gpu->reasons, &gpu->processes) < 4)
			*gpu = (struct gpu){1410, 250000, 1, 0};
		fclose(file);
	}
	return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	static char known; /* one handle for all */

	if (!atomic_load(&users))
		return NVML_ERROR_UNINITIALIZED;
	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strncmp(uuid, "GPU-", 4) != 0 || strlen(uuid) != 40)
		return NVML_ERROR_NOT_FOUND;
	*device = &known;
	return NVML_SUCCESS;
}

int nvmlDeviceGetClockInfo(void *device, unsigned type, unsigned *mhz)
{
	struct gpu gpu;
	int result = look(device, &gpu);

	if (result == NVML_SUCCESS)
		*mhz = type == NVML_CLOCK_SM ? gpu.mhz : type == NVML_CLOCK_MEM ? 1215 : 0;
	return result;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
	struct gpu gpu;
	int result = look(device, &gpu);

	if (result == NVML_SUCCESS)
		*mw = gpu.mw;
	return result;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	struct gpu gpu;
	int result = look(device, &gpu);

	if (result == NVML_SUCCESS)
		*reasons = gpu.reasons;
	return result;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct nvml_process *processes)
{
	struct gpu gpu;
	int result = look(device, &gpu);
	unsigned room;

	if (result != NVML_SUCCESS)
		return result;
	room = *count;
	*count = gpu.processes;
	if (room < gpu.processes)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < gpu.processes; i++)
		processes[i] = (struct nvml_process){.pid = 4000 + i};
	return NVML_SUCCESS;
}

const char *nvmlErrorString(int result)
{
	return result == NVML_SUCCESS ? "success" : "failure";
}
