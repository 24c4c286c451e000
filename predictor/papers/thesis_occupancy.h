/*
 * Blocks on one SM by the rules of the thesis, to reproduce its tables. The
 * product goes by the hardware's own (device/occupancy.h).
 *
 * Source: Quintanilla Cruz, "Analyzing and Estimating the Performance of
 * Concurrent Kernels Execution in GPUs" (2017), Equations 2.3 to 2.7.
 */
#ifndef KC_THESIS_OCCUPANCY_H
#define KC_THESIS_OCCUPANCY_H

#include "predictor/device/occupancy.h"

#include <stdint.h>

/* Registers given to a warp at once, where Table 6.5 is to follow; KC_REGISTER_UNIT elsewhere. */
#define KC_REGISTER_UNIT_TABLE_6_5 512u

/* Equation 2.3 and the allocations of Algorithm 2. */
struct kc_footprint kc_footprint_paper(const struct kc_device *device, const struct kc_block_need *need,
				       uint32_t register_unit);

/* Equations 2.3 to 2.7: blocks active on one SM. */
uint32_t kc_occupancy_paper(const struct kc_device *device, const struct kc_block_need *need, uint32_t register_unit);

#endif
