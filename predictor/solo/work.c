#include "work.h"

#include <errno.h>
#include <string.h>

/* Without the kernel's code the work of a thread is not known, so every thread is given the same nominal work, which λ
 * scales: one access to global memory in the BSP model, gGM (Amarís et al., section III). A thread of vectorAdd takes
 * about 150 cycles on Kepler and Maxwell; half of the launches of whole applications take 400 to 1,700. */
#define NOMINAL_CYCLES_PER_THREAD 500.0

static uint64_t product(const uint32_t v[3])
{
	uint64_t p = (uint64_t)v[0] * v[1];

	return __builtin_mul_overflow(p, v[2], &p) ? UINT64_MAX : p;
}

/* Blocks that the device holds at once. */
static double slots_of(const struct kc_work *work, const struct kc_device *device)
{
	return (double)kc_whole_clusters(&work->grid, (uint64_t)work->blocks_per_sm * device->sm_count);
}

/* The nominal work with λ = 1: threads · cycles / (clock · cores), as in the BSP model. One wave keeps every core busy
 * with the threads resident on it. */
static double nominal_ns(const struct kc_work *work, const struct kc_device *device)
{
	double slots = slots_of(work, device);
	double cores = (double)device->cores_per_sm * device->sm_count;
	double wave_cycles = slots * work->threads_per_block * NOMINAL_CYCLES_PER_THREAD / cores;

	return kc__quantised(work->waves, 1) * wave_cycles / device->clock_khz * 1e6;
}

static int fits(const struct kc_work *work, const struct kc_resources *resources)
{
	return work->blocks_per_sm &&
	       (!resources->max_threads_per_block || work->threads_per_block <= resources->max_threads_per_block);
}

/* Share of the device's warp slots that this launch occupies. */
static float issue_share(const struct kc_work *work, const struct kc_device *device)
{
	struct kc_footprint sm = kc_sm_limits(device);
	double resident = (double)work->blocks_per_sm * fmin(work->waves, 1);

	if (sm.of[KC_SM_WARPS] <= 0)
		return 0;
	return (float)(resident * work->grid.block.of[KC_SM_WARPS] / (double)sm.of[KC_SM_WARPS]);
}

static int place_in_clusters(struct kc_work *work, const struct kc_device *device, uint32_t cluster_blocks)
{
	if (work->blocks % cluster_blocks)
		return -EINVAL;
	if (cluster_blocks > kc_device_cluster_max(device->cc_major))
		return -ERANGE;
	return kc_grid_cluster(&work->grid, device, cluster_blocks);
}

int kc_work_init(struct kc_work *work, const struct kc_device *device, const struct kc_resources *resources,
		 const struct kc_shape *shape, uint32_t blocks_per_sm)
{
	uint64_t threads = product(shape->block), blocks = product(shape->grid);
	uint64_t shared = (uint64_t)resources->static_shared_bytes + shape->dynamic_shared_bytes;
	struct kc_block_need need;
	struct kc_footprint block;
	int rc;

	*work = (struct kc_work){.blocks = blocks};
	work->launch_ns = device->empty_kernel_ns ? device->empty_kernel_ns : KC_WORK_LAUNCH_NS;
	if (!threads || !blocks)
		return -EINVAL;
	if (threads > device->max_threads_per_block || shared > UINT32_MAX || !device->sm_count || !device->clock_khz)
		return -ERANGE;
	need = (struct kc_block_need){(uint32_t)threads, resources->registers, (uint32_t)shared};
	work->threads_per_block = need.threads;
	work->registers = need.registers;
	work->shared_bytes = need.shared_bytes;
	work->local_bytes = resources->local_bytes;
	work->blocks_per_sm = blocks_per_sm ? blocks_per_sm : kc_occupancy(device, &need);
	if (!fits(work, resources)) {
		work->blocks_per_sm = 0;
		return -ERANGE;
	}
	block = kc_footprint(device, &need);
	kc_grid_init(&work->grid, device, blocks, work->blocks_per_sm, &block);
	if (shape->cluster_blocks > 1 && (rc = place_in_clusters(work, device, shape->cluster_blocks)) < 0) {
		work->blocks_per_sm = 0;
		return rc;
	}
	work->waves = (double)blocks / slots_of(work, device);
	work->unit_ns = nominal_ns(work, device);
	work->issue = issue_share(work, device);
	return 0;
}

uint32_t kc_work_clamp(const struct kc_device *device, struct kc_resources *resources, struct kc_shape *shape)
{
	uint64_t threads = product(shape->block);
	uint64_t shared = (uint64_t)resources->static_shared_bytes + shape->dynamic_shared_bytes;
	struct kc_block_need need = {
	    .threads = threads > UINT32_MAX ? UINT32_MAX : (uint32_t)threads,
	    .registers = resources->registers,
	    .shared_bytes = shared > UINT32_MAX ? UINT32_MAX : (uint32_t)shared,
	};
	uint32_t beyond = kc_block_clamp(device, &need);

	if (beyond & KC_BEYOND_THREADS)
		memcpy(shape->block, (const uint32_t[]){need.threads, 1, 1}, sizeof(shape->block));
	if (resources->max_threads_per_block && need.threads > resources->max_threads_per_block) {
		resources->max_threads_per_block = 0;
		beyond |= KC_BEYOND_THREADS;
	}
	resources->registers = need.registers;
	if (resources->static_shared_bytes > need.shared_bytes)
		resources->static_shared_bytes = need.shared_bytes;
	shape->dynamic_shared_bytes = need.shared_bytes - resources->static_shared_bytes;
	if (shape->cluster_blocks > 1)
		beyond |= KC_BEYOND_CLUSTER;
	shape->cluster_blocks = 0;
	return beyond;
}
