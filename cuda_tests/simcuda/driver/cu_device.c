/* cuInit and cuDevice*: simulated devices and their attributes. */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DRIVER_VERSION 13000 /* SIMCUDA_DRIVER_VERSION, its default */
#define CONNECTIONS 8        /* CUDA_DEVICE_MAX_CONNECTIONS, its default */
#define NOISE 0.01           /* standard deviation of the logarithm */
#define REGISTER_LIMIT 65536
#define SHARED_PER_BLOCK 49152

struct sim sim = {.objects = PTHREAD_MUTEX_INITIALIZER};

void sim_update_bare(void)
{
	const struct simcuda_faults *faults = simcuda_faults();

	atomic_store(&sim.bare, sim.null_mode && !sim_sink() && !sim.log_shared && !faults->oom &&
				    !faults->launch_fail && !faults->slow_launch_ns);
}

static void in_child(void)
{
	if (atomic_load(&sim.ready))
		atomic_store(&sim.dead, 1);
}

static unsigned long long number_of(const char *variable, unsigned long long otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void device_init(struct sim_device *device, int ordinal, const struct sim_preset *preset)
{
	struct sm_limits limits = {
	    .sm = {.threads = preset->threads_per_sm,
		   .warps = preset->threads_per_sm / 32,
		   .registers = preset->registers_per_sm,
		   .shared_bytes = preset->shared_per_sm_bytes,
		   .blocks = preset->blocks_per_sm},
	    .sm_count = preset->sm_count,
	    .bytes_per_ns = preset->memory_bytes_per_ns,
	    .grids = preset->resident_grids,
	};

	device->ordinal = ordinal;
	device->preset = preset;
	device->queues = sim.connections;
	sm_device_init(&device->sms, &limits);
}

static const char *device_keys(void)
{
	const char *keys = getenv("SIMCUDA_DEVICE");

	return keys && *keys ? keys : "A100";
}

unsigned simcuda_device_count(void)
{
	const char *key = device_keys();
	unsigned count = 1;

	while ((key = strchr(key, ',')) && *++key)
		count++;
	return count < SIM_DEVICES_MAX ? count : SIM_DEVICES_MAX;
}

static CUresult devices_init(void)
{
	const char *keys = device_keys();
	const struct sim_preset *preset;

	while (keys && sim.devices < SIM_DEVICES_MAX) {
		size_t length = strcspn(keys, ",");

		preset = sim_preset_find(keys, length);
		if (!preset) {
			fprintf(stderr,
				"simcuda: SIMCUDA_DEVICE: no such device \"%.*s\" (K40, GTX950, V100, A100, H100, "
				"H200, RTX3080)\n",
				(int)length, keys);
			return CUDA_ERROR_NO_DEVICE;
		}
		device_init(&sim.device[sim.devices], sim.devices, preset);
		sim.devices++;
		keys = keys[length] ? keys + length + 1 : NULL;
	}
	return CUDA_SUCCESS;
}

/* Each run draws other times: a library that remembers the last run would otherwise look too good. */
static unsigned long long another_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static CUresult init_once(void)
{
	const char *mode = getenv("SIMCUDA_MODE"), *noise = getenv("SIMCUDA_NOISE");
	CUresult result;

	if (simcuda_faults()->no_device)
		return CUDA_ERROR_NO_DEVICE;
	sim.null_mode = mode && !strcmp(mode, "null");
	sim.verbose = number_of("SIMCUDA_VERBOSE", 0);
	sim.context_ms = (unsigned)number_of("SIMCUDA_CONTEXT_MS", 0);
	sim.seed = number_of("SIMCUDA_SEED", another_seed());
	sim.noise = noise && *noise ? strtod(noise, NULL) : NOISE;
	sim.connections = number_of("CUDA_DEVICE_MAX_CONNECTIONS", CONNECTIONS);
	if (sim.connections < 1 || sim.connections > SIM_QUEUES_MAX)
		sim.connections = CONNECTIONS;
	sim.costs = cost_table_load(getenv("SIMCUDA_COSTS"));
	if (!sim.costs)
		return CUDA_ERROR_UNKNOWN;
	sim_engine_init();
	sim_evict_init();
	result = devices_init();
	if (result)
		return result;
	sim_log_init();
	pthread_atfork(NULL, NULL, in_child);
	atomic_store(&sim.ready, 1);
	sim_update_bare();
	return CUDA_SUCCESS;
}

/* A tool's library, named by CUDA_INJECTION64_PATH: loaded and called once, while
 * the first cuInit that succeeds is under way. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
	int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;

	if (start)
		start();
}

static CUresult init(unsigned int flags)
{
	static CUresult result;
	int first;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load(&sim.dead))
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&sim.objects);
	first = !atomic_load(&sim.ready) && !result;
	if (first)
		result = init_once();
	pthread_mutex_unlock(&sim.objects);
	if (first && !result)
		inject();
	return result;
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
	struct simcuda_call call = SIM_CALL(cuInit);
	CUresult result;

	simcuda_api_enter(&call);
	result = init(flags);
	simcuda_api_leave(&call, result);
	return result;
}

int sim_driver_version(void)
{
	return (int)number_of("SIMCUDA_DRIVER_VERSION", DRIVER_VERSION);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = sim_driver_version();
	return CUDA_SUCCESS;
}

struct sim_device *sim_device_get(CUdevice ordinal)
{
	return ordinal >= 0 && ordinal < sim.devices ? &sim.device[ordinal] : NULL;
}

static CUresult device_handle(CUdevice *device, int ordinal)
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceGet, (CUdevice * device, int ordinal), device_handle(device, ordinal))

static CUresult device_count(int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = sim.devices;
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceGetCount, (int *count), device_count(count))

static CUresult device_name(char *name, int length, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!name || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, length, "%s", device->preset->name);
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceGetName, (char *name, int length, CUdevice device), device_name(name, length, device))

static CUresult device_uuid(CUuuid *uuid, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	memset(uuid, 0, sizeof(*uuid));
	memcpy(uuid->bytes, "simcuda", 7);
	strncpy(uuid->bytes + 8, device->preset->key, 6);
	uuid->bytes[15] = ordinal;
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), device_uuid(uuid, device))
SIM_API(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), device_uuid(uuid, device))

static CUresult device_total(size_t *bytes, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = device->preset->memory_bytes;
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), device_total(bytes, device))

static CUresult device_pci(char *id, int length, CUdevice ordinal)
{
	if (!id || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(id, length, "0000:%02X:00.0", ordinal + 1);
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceGetPCIBusId, (char *id, int length, CUdevice device), device_pci(id, length, device))

static CUresult device_by_pci(CUdevice *device, const char *id)
{
	unsigned domain, bus;

	if (!device || !id || sscanf(id, "%x:%x:", &domain, &bus) != 2)
		return CUDA_ERROR_INVALID_VALUE;
	return device_handle(device, (int)bus - 1);
}
SIM_API(cuDeviceGetByPCIBusId, (CUdevice * device, const char *id), device_by_pci(device, id))

static CUresult device_capability(int *major, int *minor, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*major = device->preset->cc_major;
	*minor = device->preset->cc_minor;
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceComputeCapability, (int *major, int *minor, CUdevice device), device_capability(major, minor, device))

static CUresult can_access_peer(int *can, CUdevice device, CUdevice peer)
{
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(device) || !sim_device_get(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = device != peer;
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer), can_access_peer(can, device, peer))

/* Values that all presets share; programming guide. */
static int common_attribute(CUdevice_attribute attribute)
{
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
		return 1024;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
		return 64;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
		return 2147483647;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
		return 65535;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
		return SHARED_PER_BLOCK;
	case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
		return 65536;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
		return 32;
	case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
		return 2147483647;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
		return REGISTER_LIMIT;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
	case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT:
		return 512;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
		return 32;
	case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
	case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
	case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
		return 1;
	default:
		return 0;
	}
}

static int shared_optin(const struct sim_preset *preset)
{
	return preset->shared_optin_bytes ? (int)preset->shared_optin_bytes : SHARED_PER_BLOCK;
}

static int attribute_of(const struct sim_device *device, CUdevice_attribute attribute)
{
	const struct sim_preset *preset = device->preset;

	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		return preset->sm_count;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		return preset->clock_khz;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
		return preset->memory_clock_khz;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
		return preset->memory_bus_bits;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		return preset->l2_bytes;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		return preset->threads_per_sm;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
		return preset->blocks_per_sm;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
		return preset->registers_per_sm;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
		return preset->shared_per_sm_bytes;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		return shared_optin(preset);
	case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
		return preset->shared_reserved_bytes;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
		return preset->async_engines;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		return preset->cc_major;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		return preset->cc_minor;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		return device->ordinal + 1;
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
		return preset->cc_major >= 6;
	case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
		return preset->cc_major >= 9;
	case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
		return preset->cc_major == 5 ? 32 : preset->cc_major == 3 ? 3 : 2;
	default:
		return common_attribute(attribute);
	}
}

static CUresult device_attribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!value || attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attribute_of(device, attribute);
	return CUDA_SUCCESS;
}
SIM_API(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
	device_attribute(value, attribute, device))
