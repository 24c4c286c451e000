/*
 * What the left-over policy leaves to a kernel that comes second.
 *
 *   kc_grid       a kernel as the block scheduler sees it: how many blocks,
 *                 what one takes, how many an SM holds, what is left for the
 *                 last wave
 *   kc_leftover   the answer for a pair: case, waves, slowdown
 *
 * Source: Quintanilla Cruz, "Analyzing and Estimating the Performance of
 * Concurrent Kernels Execution in GPUs" (2017): Algorithms 1 and 2, Equations
 * 4.1, 5.1, 5.2. Where the text and its tables disagree, the reading here is
 * the one that reproduces the tables: Algorithm 2 is applied to the blocks
 * that are really on an SM, not to as many as it could hold.
 */
#ifndef KC_LEFTOVER_H
#define KC_LEFTOVER_H

#include "predictor/device/occupancy.h"

#include <stdint.h>

enum kc_case {                    /* chapter 4 */
	       KC_CASE_ALONE = 0, /* nothing else in flight */
	       KC_CASE_A = 1,     /* together from the start */
	       KC_CASE_B = 2,     /* starts in the other's last wave */
	       KC_CASE_C = 3,     /* one after the other: slowdown 1, later start */
};
/* "alone", "A", "B", "C". */
const char *kc_case_name(uint32_t concurrency_case);

enum kc_spreading {
	KC_SPREAD = 0, /* over all SMs round-robin: what the hardware does */
	KC_PACKED = 1, /* on the fewest SMs: nFree and nOccupied of Equation 5.2 */
};
/* "spread" or "packed"; -EINVAL for another name. */
int kc_spreading_by_name(const char *name);

/* Blocks over the SMs: each holds base, the first `extra` of them one more. */
struct kc_even {
	uint32_t base;
	uint32_t extra;
};

struct kc_grid {
	uint64_t blocks;
	uint32_t active;                /* blocks on one SM when alone; 0: cannot run */
	uint32_t cluster;               /* blocks that are placed together; 1: each by itself */
	struct kc_footprint block;      /* what one takes from an SM */
	float inverse[KC_SM_RESOURCES]; /* 1 / block: dividing is dear on the launch path */
	uint64_t waves;                 /* Equation 4.1, alone */
	struct kc_even last;            /* its last wave, alone */
};

struct kc_leftover {
	enum kc_case concurrency_case;
	uint64_t waves;         /* of the second alone */
	uint64_t waves_limited; /* Equation 5.2; waves in case C */
	uint32_t slots;         /* blocks of the second that can run at once beside the first */
	double slowdown;        /* Equation 5.1; 1 in case C */
};

/* active: blocks of it one SM holds (kc_occupancy). */
void kc_grid_init(struct kc_grid *grid, const struct kc_device *device, uint64_t blocks, uint32_t active,
		  const struct kc_footprint *block);

/* Its blocks come in clusters, all of them full. -ERANGE: the device has no room for one. */
int kc_grid_cluster(struct kc_grid *grid, const struct kc_device *device, uint32_t cluster);

/* Of so many slots, those that hold whole clusters. Which SMs a cluster may lie on together is not known of a device
 * (one GPC's), so this is the most there can be. */
static inline uint64_t kc_whole_clusters(const struct kc_grid *grid, uint64_t slots)
{
	return grid->cluster > 1 ? slots - slots % grid->cluster : slots;
}

/* Equation 4.1. slots: blocks that run at once, > 0. Returns waves, ≥ 1. */
uint64_t kc_waves(uint64_t blocks, uint64_t slots);

/* Blocks spread over sm_count SMs, round-robin. */
struct kc_even kc_spread_evenly(uint32_t blocks, uint32_t sm_count);

/*
 * Algorithm 1 and Equation 5.1: first was launched just before second.
 * first_ns: its execution time, 0 where it is not known. -EINVAL where one of
 * the two cannot run.
 */
int kc_leftover_pair(struct kc_leftover *out, const struct kc_device *device, const struct kc_grid *first,
		     double first_ns, const struct kc_grid *second, enum kc_spreading spreading);

#endif
