/*
 * cuFunc*, cuKernel*: the properties of a kernel. Where cuda.h says that a CUkernel may be given in place of a
 * CUfunction (launches, cuOccupancy*) both are taken; here it does not, and the other one's handle is refused.
 */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <generated_cuda_meta.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 1024 /* per block, all compute capabilities */
#define REGISTERS_MAX 255
#define REGISTER_UNIT 256 /* registers are allocated to warps in units of this size */
#define PARTITIONS 4      /* partitions of an SM, each with an equal part of the registers */
#define SHARED_DEFAULT 49152
#define PREFERRED_NONE (-1) /* CU_SHAREDMEM_CARVEOUT_DEFAULT */

struct sim_kernel *sim_kernel_of_kernel(CUkernel handle)
{
	struct sim_kernel *kernel = (struct sim_kernel *)handle;

	return kernel && kernel->magic == SIM_KERNEL ? kernel : NULL;
}

struct sim_kernel *sim_kernel_of_function(CUfunction handle)
{
	const struct sim_function *function = (const struct sim_function *)handle;

	return function && function->magic == SIM_FUNCTION ? function->kernel : NULL;
}

struct sim_kernel *sim_kernel_of(const void *handle)
{
	struct sim_kernel *kernel = sim_kernel_of_kernel((CUkernel)handle);

	return kernel ? kernel : sim_kernel_of_function((CUfunction)handle);
}

static uint32_t registers_per_warp(const struct sim_kernel *kernel)
{
	return (kernel->registers * 32 + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
}

/* Blocks per SM that its registers allow; UINT32_MAX where they are no limit. */
static uint32_t register_limit(const struct sim_preset *preset, const struct sim_kernel *kernel, uint32_t warps)
{
	uint32_t per_warp = registers_per_warp(kernel);

	if (!per_warp)
		return UINT32_MAX;
	if (per_warp * ((warps + PARTITIONS - 1) / PARTITIONS * PARTITIONS) > preset->registers_per_sm)
		return 0;
	return preset->registers_per_sm / PARTITIONS / per_warp * PARTITIONS / warps;
}

static uint32_t shared_of(const struct sim_preset *preset, const struct sim_kernel *kernel, uint32_t dynamic)
{
	uint32_t unit = preset->shared_unit_bytes;
	uint32_t bytes = kernel->static_shared_bytes + dynamic + preset->shared_reserved_bytes;

	return (bytes + unit - 1) / unit * unit;
}

uint32_t sim_occupancy(const struct sim_preset *preset, const struct sim_kernel *kernel, uint32_t threads,
		       uint32_t dynamic_shared_bytes, struct sm_resources *need)
{
	uint32_t warps = (threads + 31) / 32, by_registers, shared;
	struct sm_resources free = {.threads = preset->threads_per_sm,
				    .warps = preset->threads_per_sm / 32,
				    .registers = preset->registers_per_sm,
				    .shared_bytes = preset->shared_per_sm_bytes,
				    .blocks = preset->blocks_per_sm};
	struct sm_resources block = {.threads = warps * 32, .warps = warps, .blocks = 1};

	if (!threads || threads > THREADS_MAX || kernel->registers > REGISTERS_MAX)
		return 0;
	by_registers = register_limit(preset, kernel, warps);
	if (!by_registers)
		return 0;
	shared = shared_of(preset, kernel, dynamic_shared_bytes);
	/* The registers charged per block let one kernel alone reach exactly the limit of the partitions. */
	block.registers = by_registers == UINT32_MAX ? 0 : preset->registers_per_sm / by_registers;
	block.shared_bytes = shared;
	if (need)
		*need = block;
	return sm_room(&free, &block);
}

/* Most threads per block: limited by launch bounds and by the registers of its warps. */
static uint32_t threads_limit(const struct sim_preset *preset, const struct sim_kernel *kernel)
{
	uint32_t threads = kernel->max_threads && kernel->max_threads < THREADS_MAX ? kernel->max_threads : THREADS_MAX;
	uint32_t per_warp = registers_per_warp(kernel), warps;

	if (!per_warp)
		return threads;
	warps = preset->registers_per_sm / PARTITIONS / per_warp * PARTITIONS;
	return warps * 32 < threads ? warps * 32 : threads;
}

static const struct sim_preset *preset_of(const struct sim_kernel *kernel)
{
	CUcontext context = kernel->module && kernel->module->context ? kernel->module->context : sim_context();

	return context ? context->device->preset : sim.device[0].preset;
}

static CUresult get_attribute(int *value, CUfunction_attribute attribute, const struct sim_kernel *kernel,
			      const struct sim_preset *preset)
{
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = threads_limit(preset, kernel);
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = kernel->static_shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*value = 0;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*value = kernel->local_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = kernel->registers;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*value = kernel->ptx_version;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = kernel->binary_version;
		break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*value = 0;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = kernel->max_dynamic_shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = kernel->carveout;
		break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*value = kernel->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
		break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*value = kernel->nonportable_cluster;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult set_attribute(struct sim_kernel *kernel, CUfunction_attribute attribute, int value,
			      const struct sim_preset *preset)
{
	int optin = preset->shared_optin_bytes ? (int)preset->shared_optin_bytes : SHARED_DEFAULT;

	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || value + (int)kernel->static_shared_bytes > optin)
			return CUDA_ERROR_INVALID_VALUE;
		kernel->max_dynamic_shared_bytes = value;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < PREFERRED_NONE || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		kernel->carveout = value;
		break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		kernel->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
		break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		kernel->nonportable_cluster = value;
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

void sim_kernel_of_code(struct sim_kernel *kernel, CUmodule module)
{
	kernel->module = module;
	kernel->function = (struct sim_function){SIM_FUNCTION, kernel};
	kernel->cost = cost_find(sim.costs, kernel->name);
	kernel->max_dynamic_shared_bytes =
	    kernel->static_shared_bytes < SHARED_DEFAULT ? SHARED_DEFAULT - kernel->static_shared_bytes : 0;
	kernel->carveout = PREFERRED_NONE;
}

#define FUNCTION(handle) sim_kernel_of_function(handle)
#define KERNEL(handle) sim_kernel_of_kernel(handle)
#define PRESET(handle) (FUNCTION(handle) ? preset_of(FUNCTION(handle)) : sim.device[0].preset)

/* The fault loose-handles: a handle of the other kind is taken for one of an unknown kernel. */
static struct sim_kernel *loosely(struct sim_kernel *kernel)
{
	static struct sim_kernel unknown;

	return kernel || !simcuda_faults()->loose_handles ? kernel : &unknown;
}

SIM_API(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function),
	get_attribute(value, attribute, loosely(FUNCTION(function)), PRESET(function)))
SIM_API(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value),
	set_attribute(FUNCTION(function), attribute, value, PRESET(function)))

static CUresult on_device(int *get, const int *set, CUfunction_attribute attribute, CUkernel handle, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (set)
		return set_attribute(KERNEL(handle), attribute, *set, device->preset);
	return get_attribute(get, attribute, loosely(KERNEL(handle)), device->preset);
}
SIM_API(cuKernelGetAttribute, (int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device),
	on_device(value, NULL, attribute, kernel, device))
SIM_API(cuKernelSetAttribute, (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device),
	on_device(NULL, &value, attribute, kernel, device))

static CUresult set_cache(struct sim_kernel *kernel, CUfunc_cache config)
{
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	kernel->cache_config = config;
	return CUDA_SUCCESS;
}
SIM_API(cuFuncSetCacheConfig, (CUfunction function, CUfunc_cache config), set_cache(FUNCTION(function), config))
SIM_API(cuKernelSetCacheConfig, (CUkernel kernel, CUfunc_cache config, CUdevice device),
	sim_device_get(device) ? set_cache(KERNEL(kernel), config) : CUDA_ERROR_INVALID_DEVICE)
SIM_API(cuFuncSetSharedMemConfig, (CUfunction function, CUsharedconfig config),
	((void)config, FUNCTION(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE))

static CUresult name_of(const char **name, const struct sim_kernel *kernel)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = kernel->name;
	return CUDA_SUCCESS;
}
SIM_API(cuFuncGetName, (const char **name, CUfunction function), name_of(name, FUNCTION(function)))
SIM_API(cuKernelGetName, (const char **name, CUkernel kernel), name_of(name, KERNEL(kernel)))

static CUresult module_of(CUmodule *module, const struct sim_kernel *kernel)
{
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	*module = kernel->module;
	return CUDA_SUCCESS;
}
SIM_API(cuFuncGetModule, (CUmodule * module, CUfunction function), module_of(module, FUNCTION(function)))
SIM_API(cuKernelGetLibrary, (CUlibrary * library, CUkernel kernel), module_of((CUmodule *)library, KERNEL(kernel)))

static CUresult function_of(CUfunction *function, CUkernel kernel)
{
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	if (!KERNEL(kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	*function = (CUfunction)&KERNEL(kernel)->function;
	return CUDA_SUCCESS;
}
SIM_API_WITH(cuKernelGetFunction, (CUfunction * function, CUkernel kernel), TOLD(function, kernel),
	     function_of(function, kernel))
SIM_PRIVATE(cuKernelGetFunction, (CUfunction * function, CUkernel kernel), function_of(function, kernel))

static CUresult param_info(const struct sim_kernel *kernel, size_t i, size_t *offset, size_t *size)
{
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!offset || i >= kernel->params)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = kernel->param[i].offset;
	if (size)
		*size = kernel->param[i].size;
	return CUDA_SUCCESS;
}
SIM_API(cuFuncGetParamInfo, (CUfunction function, size_t i, size_t *offset, size_t *size),
	param_info(FUNCTION(function), i, offset, size))
SIM_API(cuKernelGetParamInfo, (CUkernel kernel, size_t i, size_t *offset, size_t *size),
	param_info(KERNEL(kernel), i, offset, size))

static CUresult is_loaded(CUfunctionLoadingState *state, const struct sim_kernel *kernel)
{
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return CUDA_SUCCESS;
}
SIM_API(cuFuncIsLoaded, (CUfunctionLoadingState * state, CUfunction function), is_loaded(state, FUNCTION(function)))
SIM_API(cuFuncLoad, (CUfunction function), FUNCTION(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE)
