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
	uint32_t
	    cluster_blocks; /* blocks that the hardware places together (from compute capability 9.0); 0 or 1: none */
};

struct kc_work {
	uint64_t blocks;
	uint32_t threads_per_block;
	uint32_t registers;
	uint32_t shared_bytes;    /* static + dynamic, per block */
	uint32_t local_bytes;     /* of a thread's own memory */
	uint32_t blocks_per_sm;   /* occupancy; 0: cannot run on this device */
	double waves;             /* blocks / (SMs * blocks_per_sm), not rounded */
	double unit_ns;           /* time with λ = 1, without the launch term */
	double traffic_bytes;     /* to and from device memory, as if there were no caches; 0: not known */
	float issue;              /* share of the device's warp slots that it occupies */
	uint32_t counted;         /* 0: unit_ns is a nominal work per thread, with waves begun but not full; 1: what the
				     kernel's code demands (counted.h); 2: the same, of code for another architecture */
	float counted_half_width; /* of the 90 % interval in log time, before anything was measured; where counted */
	double counted_least_ns;  /* that no such launch is faster than, nor its interval begins below; where counted */
	double launch_ns;         /* fixed term: the shortest time a kernel can take */
	struct kc_grid grid;      /* the same launch as the block scheduler sees it */
};

/* blocks_per_sm: the driver's answer, or 0 to compute it here. Returns 0; -EINVAL: a dimension is 0; -ERANGE: the
 * kernel cannot run on this device, and work->blocks_per_sm is 0. */
int kc_work_init(struct kc_work *work, const struct kc_device *device, const struct kc_resources *resources,
		 const struct kc_shape *shape, uint32_t blocks_per_sm);

/* Reduces what a launch asks for to what the device can give a block, and leaves its clusters out, so that
 * kc_work_init() takes it: for launches that ran, on a device that is assumed. Returns what was beyond the device, bits
 * of kc_block_clamp() and KC_BEYOND_CLUSTER; 0: nothing. A block of other dimensions than before is a row of threads.
 */
#define KC_BEYOND_CLUSTER 8u
uint32_t kc_work_clamp(const struct kc_device *device, struct kc_resources *resources, struct kc_shape *shape);

/* log λ before anything was measured: λ = 1. */
#define KC__PRIOR_LOG_LAMBDA 0.0f

/* The shortest time of a kernel where it was not measured: 0.5 to 1 µs on the recorded GPUs. */
#define KC_WORK_LAUNCH_NS 750.0

/* Share of a wave that counts as soon as it has begun: 0 to 0.35 fitted the recorded GPUs. */
#define KC__WAVE_SHARE 0.35

/* Waves, if one that has begun were full, and the last one lasted as long as its longest warp, which has `longest`
 * times the mean work of all; 0: not known, as if 1. */
static inline double kc__begun_waves(double waves, double longest)
{
	return ceil(waves) + fmax(longest, 1) - 1;
}

/* Waves in which a launch takes its time: part of a wave that is not full counts as if it were. */
static inline double kc__quantised(double waves, double longest)
{
	return KC__WAVE_SHARE * kc__begun_waves(waves, longest) + (1 - KC__WAVE_SHARE) * waves;
}

#endif
