/* cuLaunch*: makes the driver's checks, computes the cost from the arguments and submits to the stream. */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <generated_cuda_meta.h>
#include <string.h>

#define GRID_YZ_MAX 65535
#define GRID_X_MAX 2147483647
#define BLOCK_XY_MAX 1024
#define BLOCK_Z_MAX 64
#define THREADS_MAX 1024

static int dimensions_fit(const uint32_t *grid, const uint32_t *block)
{
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	return grid[0] && grid[1] && grid[2] && grid[0] <= GRID_X_MAX && grid[1] <= GRID_YZ_MAX &&
	       grid[2] <= GRID_YZ_MAX && threads && threads <= THREADS_MAX && block[0] <= BLOCK_XY_MAX &&
	       block[1] <= BLOCK_XY_MAX && block[2] <= BLOCK_Z_MAX;
}

const void *sim_launch_packed(void **extra, size_t *bytes)
{
	const uint8_t *buffer = NULL;

	*bytes = 0;
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*bytes = *(const size_t *)extra[1];
	}
	return buffer;
}

static CUresult find_cost(struct sim_launch *launch, void **params, void **extra)
{
	const struct sim_kernel *kernel = launch->kernel;
	struct cost_input input = {.hash = (double)(kernel->name_hash >> 11) / (1ull << 53)};
	size_t bytes;
	const uint8_t *packed = params ? NULL : sim_launch_packed(extra, &bytes);
	uint32_t i;

	if (kernel->params && !params && !packed)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(input.grid, launch->grid, sizeof(input.grid));
	memcpy(input.block, launch->block, sizeof(input.block));
	for (i = 0; i < kernel->params && i < COST_ARGS; i++) {
		const struct sim_param *param = &kernel->param[i];

		if (!cost_reads_arg(kernel->cost, i) || (packed && param->offset + param->size > bytes))
			continue;
		input.arg[i] = packed ? packed + param->offset : params[i];
		input.arg_bytes[i] = param->size;
	}
	cost_evaluate(kernel->cost, &input, &launch->cycles, &launch->bytes);
	return CUDA_SUCCESS;
}

static CUresult check(struct sim_launch *launch, const struct sim_preset *preset)
{
	const struct sim_kernel *kernel = launch->kernel;
	uint32_t threads, blocks_per_sm;
	uint64_t blocks;

	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!dimensions_fit(launch->grid, launch->block))
		return CUDA_ERROR_INVALID_VALUE;
	threads = launch->block[0] * launch->block[1] * launch->block[2];
	if (kernel->max_threads && threads > kernel->max_threads)
		return CUDA_ERROR_INVALID_VALUE;
	if (launch->dynamic_shared_bytes > (uint32_t)kernel->max_dynamic_shared_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	blocks_per_sm = sim_occupancy(preset, kernel, threads, launch->dynamic_shared_bytes, NULL);
	if (!blocks_per_sm)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
	if (launch->cooperative && blocks > (uint64_t)blocks_per_sm * preset->sm_count)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	if (launch->cluster[0] && preset->cc_major < 9)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_launch_prepare(struct sim_launch *launch, const struct sim_preset *preset, void **params, void **extra)
{
	CUresult result = check(launch, preset);

	return result ? result : find_cost(launch, params, extra);
}

static CUresult attempt(CUstream stream, struct sim_work *work, void **params, void **extra)
{
	CUresult result;

	if (!stream)
		return sim_context() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	if (sim_fault_oom())
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (sim_fault_launch())
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	result = sim_launch_prepare(&work->launch, stream->context->device->preset, params, extra);
	if (result)
		return result;
	sim_fault_cost(1);
	if (sim_collects(SIMCUDA_KERNEL))
		work->launch.cycles +=
		    simcuda_faults()->cupti_slow_kernels_ns * (stream->context->device->preset->clock_khz / 1e6);
	if (stream->cig) {
		sim_count(&sim.log->launches_captured);
		return CUDA_SUCCESS;
	}
	if (stream->capture)
		return sim_capture_kernel(stream, work, params, extra);
	sim_count(&sim.log->launches);
	return sim_stream_do(stream, work);
}

static __thread struct {
	uint64_t wait_ns, duration_ns;
} played;

void simcuda_play(uint64_t wait_ns, uint64_t duration_ns)
{
	played.wait_ns = wait_ns;
	played.duration_ns = duration_ns;
}

static CUresult launch(struct simcuda_call *call, CUstream stream, struct sim_work *work, void **params, void **extra)
{
	CUresult result = sim_usable();

	if (result)
		return result;
	call->symbol = work->launch.kernel ? work->launch.kernel->name : NULL;
	work->launch.wait_ns = played.wait_ns;
	work->launch.played_ns = played.duration_ns;
	simcuda_play(0, 0);
	simcuda_api_enter(call);
	result = attempt(stream, work, params, extra);
	if (result)
		sim_count(&sim.log->launches_failed);
	simcuda_api_leave(call, result);
	return result;
}

static struct sim_work work_of(CUfunction function, const unsigned grid[3], const unsigned block[3], unsigned shared,
			       int cooperative)
{
	struct sim_work work = {.kind = SIM_DO_KERNEL};

	work.launch.kernel = sim_kernel_of(function);
	work.launch.by_kernel = sim_kernel_of_kernel((CUkernel)function) != NULL;
	memcpy(work.launch.grid, grid, sizeof(work.launch.grid));
	memcpy(work.launch.block, block, sizeof(work.launch.block));
	work.launch.dynamic_shared_bytes = shared;
	work.launch.cooperative = cooperative;
	return work;
}

static int nobody_looks(CUfunction function)
{
	return atomic_load_explicit(&sim.bare, memory_order_relaxed) && function;
}

#define GRID_ARGUMENTS                                                                                                 \
	CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,     \
	    unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,             \
	    void **kernelParams

/* The arguments behind extra_ are the members of CUPTI's <name>_params after kernelParams. */
#define SIM_LAUNCH_API(name, arguments, cooperative, per_thread, extra_, ...)                                          \
	CUresult CUDAAPI name arguments                                                                                \
	{                                                                                                              \
		struct simcuda_call call = SIM_CALL(name);                                                             \
		struct sim_work work;                                                                                  \
		name##_params params = {f,         gridDimX,       gridDimY, gridDimZ,     blockDimX,    blockDimY,    \
					blockDimZ, sharedMemBytes, hStream,  kernelParams, ##__VA_ARGS__};             \
                                                                                                                       \
		if (nobody_looks(f)) {                                                                                 \
			sim_evict();                                                                                   \
			return CUDA_SUCCESS;                                                                           \
		}                                                                                                      \
		work = work_of(f, (unsigned[]){gridDimX, gridDimY, gridDimZ},                                          \
			       (unsigned[]){blockDimX, blockDimY, blockDimZ}, sharedMemBytes, cooperative);            \
		call.params = &params;                                                                                 \
		return launch(&call, sim_stream(hStream, per_thread), &work, kernelParams, extra_);                    \
	}

SIM_LAUNCH_API(cuLaunchKernel, (GRID_ARGUMENTS, void **extra), 0, 0, extra, extra)
SIM_LAUNCH_API(cuLaunchKernel_ptsz, (GRID_ARGUMENTS, void **extra), 0, 1, extra, extra)
SIM_LAUNCH_API(cuLaunchCooperativeKernel, (GRID_ARGUMENTS), 1, 0, NULL)
SIM_LAUNCH_API(cuLaunchCooperativeKernel_ptsz, (GRID_ARGUMENTS), 1, 1, NULL)

static void apply_attributes(struct sim_launch *launch, const CUlaunchConfig *config)
{
	unsigned i;

	for (i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttributeValue *value = &config->attrs[i].value;

		switch (config->attrs[i].id) {
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			launch->cluster[0] = value->clusterDim.x;
			launch->cluster[1] = value->clusterDim.y;
			launch->cluster[2] = value->clusterDim.z;
			break;
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			launch->cooperative = value->cooperative;
			break;
		case CU_LAUNCH_ATTRIBUTE_PRIORITY:
			launch->priority = value->priority;
			launch->has_priority = 1;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
			launch->programmatic = value->programmaticStreamSerializationAllowed != 0;
			break;
		default: /* the others do not change simulated time */
			break;
		}
	}
}

static CUresult launch_ex(struct simcuda_call *call, const CUlaunchConfig *config, CUfunction function, void **params,
			  void **extra, int per_thread)
{
	struct sim_work work;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	work =
	    work_of(function, (unsigned[]){config->gridDimX, config->gridDimY, config->gridDimZ},
		    (unsigned[]){config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes, 0);
	apply_attributes(&work.launch, config);
	return launch(call, sim_stream(config->hStream, per_thread), &work, params, extra);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	struct simcuda_call call = SIM_CALL(cuLaunchKernelEx);
	cuLaunchKernelEx_params arguments = {config, f, params, extra};

	if (nobody_looks(f))
		return CUDA_SUCCESS;
	call.params = &arguments;
	return launch_ex(&call, config, f, params, extra, 0);
}

CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	struct simcuda_call call = SIM_CALL(cuLaunchKernelEx_ptsz);
	cuLaunchKernelEx_ptsz_params arguments = {config, f, params, extra};

	if (nobody_looks(f))
		return CUDA_SUCCESS;
	call.params = &arguments;
	return launch_ex(&call, config, f, params, extra, 1);
}

/* --- the interface before cuLaunchKernel: state kept with the function */

static CUresult block_shape(struct sim_kernel *kernel, int x, int y, int z)
{
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	kernel->legacy.block[0] = x;
	kernel->legacy.block[1] = y;
	kernel->legacy.block[2] = z;
	return CUDA_SUCCESS;
}
SIM_API(cuFuncSetBlockShape, (CUfunction function, int x, int y, int z),
	block_shape(sim_kernel_of_function(function), x, y, z))

static CUresult shared_size(struct sim_kernel *kernel, unsigned bytes)
{
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	kernel->legacy.shared_bytes = bytes;
	return CUDA_SUCCESS;
}
SIM_API(cuFuncSetSharedSize, (CUfunction function, unsigned int bytes),
	shared_size(sim_kernel_of_function(function), bytes))

static CUresult set_param(struct sim_kernel *kernel, int offset, const void *value, unsigned bytes)
{
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (offset < 0 || offset + (uint64_t)bytes > sizeof(kernel->legacy.params))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(kernel->legacy.params + offset, value, bytes);
	return CUDA_SUCCESS;
}
SIM_API(cuParamSeti, (CUfunction function, int offset, unsigned int value),
	set_param(sim_kernel_of_function(function), offset, &value, sizeof(value)))
SIM_API(cuParamSetf, (CUfunction function, int offset, float value),
	set_param(sim_kernel_of_function(function), offset, &value, sizeof(value)))
SIM_API(cuParamSetv, (CUfunction function, int offset, void *value, unsigned int bytes),
	set_param(sim_kernel_of_function(function), offset, value, bytes))

static CUresult param_size(struct sim_kernel *kernel, unsigned bytes)
{
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (bytes > sizeof(kernel->legacy.params))
		return CUDA_ERROR_INVALID_VALUE;
	kernel->legacy.params_bytes = bytes;
	return CUDA_SUCCESS;
}
SIM_API(cuParamSetSize, (CUfunction function, unsigned int bytes), param_size(sim_kernel_of_function(function), bytes))

static CUresult launch_legacy(struct simcuda_call *call, CUfunction function, int width, int height, CUstream handle)
{
	struct sim_kernel *kernel = sim_kernel_of_function(function);
	struct sim_work work;
	size_t bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, NULL, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			 CU_LAUNCH_PARAM_END};

	if (!kernel || width <= 0 || height <= 0)
		return kernel ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	extra[1] = kernel->legacy.params;
	bytes = kernel->legacy.params_bytes;
	work = work_of(function, (unsigned[]){width, height, 1}, kernel->legacy.block, kernel->legacy.shared_bytes, 0);
	return launch(call, sim_stream(handle, 0), &work, NULL, extra);
}

CUresult CUDAAPI cuLaunch(CUfunction f)
{
	struct simcuda_call call = SIM_CALL(cuLaunch);

	return launch_legacy(&call, f, 1, 1, NULL);
}

CUresult CUDAAPI cuLaunchGrid(CUfunction f, int width, int height)
{
	struct simcuda_call call = SIM_CALL(cuLaunchGrid);

	return launch_legacy(&call, f, width, height, NULL);
}

CUresult CUDAAPI cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
	struct simcuda_call call = SIM_CALL(cuLaunchGridAsync);

	return launch_legacy(&call, f, width, height, stream);
}
