#include "forecast.h"

#include "lambda.h"

#include <errno.h>
#include <math.h>

/*
 * Without the kernel's code the work of a thread is not known. λ scales one
 * nominal cost: a global memory access of the BSP model, gGM (Amarís et al.,
 * section III). A thread of vectorAdd costs about 150 cycles on Kepler and
 * Maxwell, half of the launches of whole applications 400 to 1,700.
 */
#define NOMINAL_CYCLES_PER_THREAD 500.0

/* What a kernel takes however little it does, where that was not measured: 0.5 to 1 µs on the recorded GPUs. */
#define LAUNCH_NS 750.0

const char *kc_model_name(uint32_t model)
{
	static const char *const names[] = {"none",      "bsp-device", "bsp-kernel", "bsp-shape", "bsp-code",
					    "bsp-sizes", "context",    "mix",        "scaling"};

	return model < sizeof(names) / sizeof(names[0]) ? names[model] : "unknown";
}

enum kc_novelty kc_novelty(uint32_t of_shape, uint32_t of_kernel)
{
	return of_shape ? KC_REPEATED : of_kernel ? KC_NEW_SIZE : KC_FIRST_SEEN;
}

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

/* Tk of the BSP model with λ = 1: threads · cycles / (clock · cores). One wave
 * keeps every core busy with the threads resident on it. */
static double bsp_ns(const struct kc_work *work, const struct kc_device *device)
{
	double slots = slots_of(work, device);
	double cores = (double)device->cores_per_sm * device->sm_count;
	double wave_cycles = slots * work->threads_per_block * NOMINAL_CYCLES_PER_THREAD / cores;

	return kc__quantised(work->waves) * wave_cycles / device->clock_khz * 1e6;
}

static int fits(const struct kc_work *work, const struct kc_resources *resources)
{
	return work->blocks_per_sm &&
	       (!resources->max_threads_per_block || work->threads_per_block <= resources->max_threads_per_block);
}

/* Of the warps the device holds, those that are there while it runs. */
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

	*work = (struct kc_work){.blocks = blocks, .prior_log_lambda = KC__PRIOR_LOG_LAMBDA};
	work->launch_ns = device->empty_kernel_ns ? device->empty_kernel_ns : LAUNCH_NS;
	if (!threads || !blocks)
		return -EINVAL;
	if (threads > device->max_threads_per_block || shared > UINT32_MAX || !device->sm_count || !device->clock_khz)
		return -ERANGE;
	need = (struct kc_block_need){(uint32_t)threads, resources->registers, (uint32_t)shared};
	work->threads_per_block = need.threads;
	work->registers = need.registers;
	work->shared_bytes = need.shared_bytes;
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
	work->unit_ns = bsp_ns(work, device);
	work->issue = issue_share(work, device);
	return 0;
}

struct kc_belief kc_belief_of(float log_lambda, float half_width, uint32_t count, uint32_t state)
{
	return (struct kc_belief){
	    .log_lambda = log_lambda,
	    .half_width = half_width,
	    .factor = expf(-log_lambda),
	    .width = expf(half_width),
	    .count = count,
	    .state = state,
	};
}

static struct kc_solo solo_of(const struct kc_work *work, const struct kc_belief *belief, uint32_t model)
{
	double ns = work->launch_ns + work->unit_ns * (double)belief->factor;

	return (struct kc_solo){
	    .ns = kc__whole_ns(ns),
	    .low_ns = kc__whole_ns(ns / (double)belief->width),
	    .high_ns = kc__whole_ns(ns * (double)belief->width),
	    .half_width = belief->half_width,
	    .model = model,
	    .state = belief->state,
	};
}

/* The closest to the launch first. */
struct kc_solo kc_forecast_solo(const struct kc_work *work, const struct kc_belief *shape, const struct kc_belief *key,
				const struct kc_belief *device)
{
	struct kc_belief prior;

	if (shape && shape->count)
		return solo_of(work, shape, KC_MODEL_BSP_SHAPE);
	if (key && key->count)
		return solo_of(work, key, KC_MODEL_BSP_KERNEL);
	if (device && device->count)
		return solo_of(work, device, work->counted ? KC_MODEL_BSP_CODE : KC_MODEL_BSP_DEVICE);
	if (work->counted) {
		prior = kc_belief_of(work->prior_log_lambda, KC__COUNTED_HALF_WIDTH, 0, 0);
		return solo_of(work, &prior, KC_MODEL_BSP_CODE);
	}
	prior = kc_belief_of(work->prior_log_lambda, KC__PRIOR_HALF_WIDTH, 0, 0);
	return solo_of(work, &prior, KC_MODEL_BSP_DEVICE);
}
