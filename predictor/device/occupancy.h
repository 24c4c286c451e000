/*
 * How many blocks of a kernel one SM holds.
 *
 *   kc_block_need   what a block asks for, as written in the source and launch
 *   kc_footprint    what it takes from an SM after rounding up to allocation
 *                   units; in the same four numbers as the SM's limits, so that
 *                   what is free is a subtraction
 *
 * The rules are the hardware's. Those of the thesis whose pair model kerncast uses
 * are in papers/thesis_occupancy_testing.h.
 */
#ifndef KC_OCCUPANCY_H
#define KC_OCCUPANCY_H

#include "device.h"

#include <stdint.h>

struct kc_block_need {
	uint32_t threads;
	uint32_t registers; /* per thread */
	uint32_t shared_bytes;
};

enum kc_sm_resource { KC_SM_SLOTS, KC_SM_WARPS, KC_SM_REGISTERS, KC_SM_SHARED_BYTES, KC_SM_RESOURCES };

struct kc_footprint {
	int32_t of[KC_SM_RESOURCES];
};

/* The limits of one SM. */
struct kc_footprint kc_sm_limits(const struct kc_device *device);

#define KC_REGISTER_UNIT 256u /* registers given to a warp at once */

/* What a block takes from an SM: registers in units of 256 per warp, shared memory in units of 256 bytes (128 from
 * compute capability 8.0) with what the driver reserves. Source: CUDA C++ programming guide, compute capabilities. */
struct kc_footprint kc_footprint(const struct kc_device *device, const struct kc_block_need *need);

/* The most registers that one thread may have. */
uint32_t kc_registers_max(const struct kc_device *device);

/* What of a block's need is more than the device can give: bits of kc_block_clamp(). */
enum { KC_BEYOND_THREADS = 1, KC_BEYOND_REGISTERS = 2, KC_BEYOND_SHARED = 4 };

/* Reduces a need to the most that one block can have, so that an SM holds one. For launches that ran on a device of
 * which less is known than that. device: a possible one. Returns what was beyond; 0: nothing. */
uint32_t kc_block_clamp(const struct kc_device *device, struct kc_block_need *need);

/* Blocks resident on one SM; 0: a block of this kernel cannot run. */
uint32_t kc_occupancy(const struct kc_device *device, const struct kc_block_need *need);

#endif
