/* cuOccupancy*: programming guide, "Hardware Multithreading", and the occupancy calculator's rules. */
#include "cuda_tests/simcuda/gpu/engine.h"

#define CLUSTER_PORTABLE 8 /* blocks; 16 with the non-portable attribute on 9.0 */
#define CLUSTER_LARGEST 16

static const struct sim_preset *current(void)
{
	CUcontext context = sim_context();

	return context ? context->device->preset : NULL;
}

static CUresult active_blocks(int *blocks, const struct sim_kernel *kernel, int threads, size_t dynamic_bytes)
{
	const struct sim_preset *preset = current();

	if (!blocks || threads <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!preset)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	*blocks = dynamic_bytes > preset->shared_per_sm_bytes
		      ? 0
		      : sim_occupancy(preset, kernel, threads, dynamic_bytes, NULL);
	return CUDA_SUCCESS;
}
SIM_API(cuOccupancyMaxActiveBlocksPerMultiprocessor,
	(int *blocks, CUfunction function, int threads, size_t dynamic_bytes),
	active_blocks(blocks, sim_kernel_of(function), threads, dynamic_bytes))
SIM_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
	(int *blocks, CUfunction function, int threads, size_t dynamic_bytes, unsigned int flags),
	((void)flags, active_blocks(blocks, sim_kernel_of(function), threads, dynamic_bytes)))

/* Of the block sizes with the most threads resident on an SM, the largest. */
static CUresult best_block(int *grid, int *threads, CUfunction function, CUoccupancyB2DSize bytes_of, size_t fixed,
			   int limit)
{
	const struct sim_preset *preset = current();
	struct sim_kernel *kernel = sim_kernel_of(function);
	int most = kernel && kernel->max_threads && kernel->max_threads < 1024 ? (int)kernel->max_threads : 1024;
	uint32_t best = 0;
	int t;

	if (!grid || !threads)
		return CUDA_ERROR_INVALID_VALUE;
	if (!preset)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (limit > 0 && limit < most)
		most = limit;
	*grid = *threads = 0;
	for (t = (most + 31) / 32 * 32; t > 0; t -= 32) {
		int block = t < most ? t : most;
		uint32_t blocks = sim_occupancy(preset, kernel, block, bytes_of ? bytes_of(block) : fixed, NULL);

		if (blocks * block <= best)
			continue;
		best = blocks * block;
		*threads = block;
		*grid = blocks * preset->sm_count;
	}
	return CUDA_SUCCESS;
}
SIM_API(cuOccupancyMaxPotentialBlockSize,
	(int *grid, int *threads, CUfunction function, CUoccupancyB2DSize bytes_of, size_t bytes, int limit),
	best_block(grid, threads, function, bytes_of, bytes, limit))
SIM_API(cuOccupancyMaxPotentialBlockSizeWithFlags,
	(int *grid, int *threads, CUfunction function, CUoccupancyB2DSize bytes_of, size_t bytes, int limit,
	 unsigned int flags),
	((void)flags, best_block(grid, threads, function, bytes_of, bytes, limit)))

static CUresult available_shared(size_t *bytes, const struct sim_kernel *kernel, int blocks, int threads)
{
	const struct sim_preset *preset = current();
	uint32_t optin, low = 0, high;

	if (!bytes || blocks <= 0 || threads <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!preset)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	optin = preset->shared_optin_bytes ? preset->shared_optin_bytes : preset->shared_per_sm_bytes;
	high = optin > kernel->static_shared_bytes ? optin - kernel->static_shared_bytes : 0;
	if (sim_occupancy(preset, kernel, threads, 0, NULL) < (uint32_t)blocks)
		return CUDA_ERROR_INVALID_VALUE;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (sim_occupancy(preset, kernel, threads, middle, NULL) >= (uint32_t)blocks)
			low = middle;
		else
			high = middle - 1;
	}
	*bytes = low;
	return CUDA_SUCCESS;
}
SIM_API(cuOccupancyAvailableDynamicSMemPerBlock, (size_t * bytes, CUfunction function, int blocks, int threads),
	available_shared(bytes, sim_kernel_of(function), blocks, threads))

static uint32_t cluster_blocks(const CUlaunchConfig *config)
{
	unsigned i;

	for (i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			return config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
			       config->attrs[i].value.clusterDim.z;
	return 1;
}

/* An upper bound: blocks of a cluster may use any SM here, because GPCs are not modelled. */
static CUresult active_clusters(int *clusters, const struct sim_kernel *kernel, const CUlaunchConfig *config)
{
	const struct sim_preset *preset = current();
	uint32_t blocks, per_cluster;

	if (!clusters || !config)
		return CUDA_ERROR_INVALID_VALUE;
	if (!preset)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (preset->cc_major < 9)
		return CUDA_ERROR_NOT_SUPPORTED;
	blocks = sim_occupancy(preset, kernel, config->blockDimX * config->blockDimY * config->blockDimZ,
			       config->sharedMemBytes, NULL);
	per_cluster = cluster_blocks(config);
	*clusters = per_cluster ? blocks * preset->sm_count / per_cluster : 0;
	return CUDA_SUCCESS;
}
SIM_API(cuOccupancyMaxActiveClusters, (int *clusters, CUfunction function, const CUlaunchConfig *config),
	active_clusters(clusters, sim_kernel_of(function), config))

static CUresult largest_cluster(int *size, const struct sim_kernel *kernel, const CUlaunchConfig *config)
{
	const struct sim_preset *preset = current();

	if (!size || !config)
		return CUDA_ERROR_INVALID_VALUE;
	if (!preset)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (preset->cc_major < 9)
		return CUDA_ERROR_NOT_SUPPORTED;
	*size = kernel->nonportable_cluster ? CLUSTER_LARGEST : CLUSTER_PORTABLE;
	return CUDA_SUCCESS;
}
SIM_API(cuOccupancyMaxPotentialClusterSize, (int *size, CUfunction function, const CUlaunchConfig *config),
	largest_cluster(size, sim_kernel_of(function), config))
