/*
 * What the prior's trees ask of a launch. One function computes it, for launches and for training (prior_rows.c).
 */
#ifndef KC_LAUNCH_TRAITS_H
#define KC_LAUNCH_TRAITS_H

#include "kernel_name.h"
#include "predictor/solo/work.h"

enum kc_launch_trait {
	KC_TRAIT_WAVES,   /* log */
	KC_TRAIT_BLOCKS,  /* log */
	KC_TRAIT_THREADS, /* of the whole grid, log */
	KC_TRAIT_BLOCK_THREADS,
	KC_TRAIT_REGISTERS,
	KC_TRAIT_SHARED, /* static and dynamic, log(1 + bytes); traces know their sum alone */
	KC_TRAIT_WARPS,  /* that an SM holds of it at once */
	KC_TRAIT_GRID_X, /* log */
	KC_TRAIT_GRID_Y,
	KC_TRAIT_GRID_Z,
	KC_TRAIT_BLOCK_X, /* log */
	KC_TRAIT_BLOCK_Y,
	KC_TRAIT_NOMINAL, /* time with λ = 1 (work.h), in units of the device, log */
	KC_TRAIT_TRAFFIC, /* time to move one word for each thread, in units of the device, log */
	KC_TRAIT_TILE,    /* kc_name_traits.log_tile */
	KC_TRAIT_DEPTH,   /* kc_name_traits.log_depth */
	KC_TRAIT_OUTPUT,  /* elements of all tiles, log; 0: no tile is known */
	KC_TRAIT_NAME_WORDS,
	KC_TRAITS,
};

/* What times are multiplied by before devices are compared: √(bandwidth · SMs · clock). */
double kc_prior_speed(const struct kc_device *device);

void kc_launch_traits(float traits[KC_TRAITS], const struct kc_device *device, const struct kc_work *work,
		      const struct kc_shape *shape, const struct kc_name_traits *name);

#endif
