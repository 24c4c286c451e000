/*
 * A kernel as the block scheduler sees it.
 *
 *   kc_grid      how many blocks, what one takes from an SM, how many an SM
 *                holds, what is left for the last wave
 *   kc_even      blocks spread evenly over SMs
 *   kc__amounts  what an SM has, or a block takes, of each resource, side by side
 */
#ifndef KC_GRID_H
#define KC_GRID_H

#include "occupancy.h"

#include <stdint.h>

/* Blocks over the SMs: each holds base, the first `extra` of them one more. */
struct kc_even {
	uint32_t base;
	uint32_t extra;
};

struct kc_grid {
	uint64_t blocks;
	uint32_t active;                /* blocks that one SM holds when the kernel is alone; 0: it cannot run */
	uint32_t cluster;               /* blocks that are placed together; 1: no clusters */
	struct kc_footprint block;      /* what one takes from an SM */
	float inverse[KC_SM_RESOURCES]; /* Reciprocal of `block`; saves divisions on the launch path. */
	uint64_t waves;                 /* Equation 4.1; alone */
	struct kc_even last;            /* its last wave when alone */
};

/* active: blocks that one SM holds (kc_occupancy). */
void kc_grid_init(struct kc_grid *grid, const struct kc_device *device, uint64_t blocks, uint32_t active,
		  const struct kc_footprint *block);

/* Its blocks come in full clusters. -ERANGE: the device has no room for one. */
int kc_grid_cluster(struct kc_grid *grid, const struct kc_device *device, uint32_t cluster);

/* Slots that hold whole clusters. It is not known which SMs share a GPC, in which a cluster has to lie, so there may be
 * fewer. */
static inline uint64_t kc_whole_clusters(const struct kc_grid *grid, uint64_t slots)
{
	return grid->cluster > 1 ? slots - slots % grid->cluster : slots;
}

/* Equation 4.1. slots: blocks that run at once, > 0. Returns waves, ≥ 1. */
static inline uint64_t kc_waves(uint64_t blocks, uint64_t slots)
{
	return blocks <= slots ? blocks != 0 : blocks / slots + (blocks % slots != 0);
}

/* Spreads blocks over sm_count SMs, round-robin. */
struct kc_even kc_spread_evenly(uint32_t blocks, uint32_t sm_count);

typedef float kc__amounts __attribute__((vector_size(KC_SM_RESOURCES * sizeof(float))));

static inline kc__amounts kc__amounts_of(const struct kc_footprint *footprint)
{
	return (kc__amounts){(float)footprint->of[KC_SM_SLOTS], (float)footprint->of[KC_SM_WARPS],
			     (float)footprint->of[KC_SM_REGISTERS], (float)footprint->of[KC_SM_SHARED_BYTES]};
}

/* Blocks of a kernel that fit into what is free, by reciprocals instead of divisions. The half unit added keeps whole
 * quotients from falling below; this is exact while free < 2^21, and an SM has at most 233,472 of anything. */
static inline uint32_t kc__blocks_fitting(kc__amounts free, const struct kc_grid *grid)
{
	kc__amounts inverse = {grid->inverse[KC_SM_SLOTS], grid->inverse[KC_SM_WARPS], grid->inverse[KC_SM_REGISTERS],
			       grid->inverse[KC_SM_SHARED_BYTES]};
	kc__amounts fit = (free + 0.5f) * inverse;
	float few = fit[KC_SM_SLOTS] < fit[KC_SM_WARPS] ? fit[KC_SM_SLOTS] : fit[KC_SM_WARPS];
	float less = fit[KC_SM_REGISTERS] < fit[KC_SM_SHARED_BYTES] ? fit[KC_SM_REGISTERS] : fit[KC_SM_SHARED_BYTES];
	float most = (float)grid->active;

	few = few < less ? few : less;
	few = few < most ? few : most;
	return few > 0 ? (uint32_t)(int32_t)few : 0;
}

#endif
