/*
 * What a launch gives a device to do.
 *
 *   kc_resources   what a kernel's code needs (driver attributes), per function
 *   kc_shape       how it was launched: grid, block, dynamic shared memory
 *   kc_work        both, on one device: occupancy, waves, time with λ = 1.
 *                  Computed once per kernel and launch shape, then only read.
 */
#ifndef KC_WORK_H
#define KC_WORK_H

#include "predictor/device/grid.h"

#include <math.h>
#include <stdint.h>

struct kc_resources {
	uint32_t registers; /* per thread */
	uint32_t static_shared_bytes;
	uint32_t local_bytes; /* per thread */
	uint32_t max_threads_per_block;
};

struct kc_shape {
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t dynamic_shared_bytes;
	uint32_t cluster_blocks; /* that the hardware places together (compute capability 9.0 on); 0 or 1: none */
};

struct kc_work {
	uint64_t blocks;
	uint32_t threads_per_block;
	uint32_t registers;
	uint32_t shared_bytes;  /* static + dynamic, per block */
	uint32_t blocks_per_sm; /* occupancy; 0: cannot run on this device */
	double waves;           /* blocks / (SMs * blocks_per_sm), not rounded */
	double unit_ns;         /* BSP time with λ = 1 after wave quantisation, without the launch term */
	double traffic_bytes;   /* to and from device memory, caches left out; 0: not known */
	float issue;            /* share of the device's warp slots it takes */
	float prior_log_lambda; /* before anything was measured on the device */
	uint32_t counted;       /* 1: unit_ns is the kernel's code's work (counted.h), else a nominal one per thread */
	double launch_ns;       /* fixed term: the shortest a kernel can take */
	struct kc_grid grid;    /* the same launch as the block scheduler sees it */
};

/*
 * blocks_per_sm: the driver's occupancy answer, or 0 to compute it here.
 * Returns 0; -EINVAL where a dimension is 0; -ERANGE where the kernel cannot
 * run on this device (work->blocks_per_sm is 0 then).
 */
int kc_work_init(struct kc_work *work, const struct kc_device *device, const struct kc_resources *resources,
		 const struct kc_shape *shape, uint32_t blocks_per_sm);

/* λ = 1: the nominal cost per thread as it stands. */
#define KC__PRIOR_LOG_LAMBDA 0.0f

/* Share of a started wave that counts as a whole one: 0 to 0.35 fitted the recorded GPUs. */
#define KC__WAVE_SHARE 0.35

/* Time relative to blocks / slots waves that need not be whole. */
static inline double kc__quantised(double waves)
{
	return KC__WAVE_SHARE * ceil(waves) + (1 - KC__WAVE_SHARE) * waves;
}

#endif
