/*
 * Blocks on one SM by the rules of the thesis, to reproduce its tables. The
 * product goes by the hardware's own (device/occupancy.h).
 *
 * Source: Quintanilla Cruz, "Analyzing and Estimating the Performance of
 * Concurrent Kernels Execution in GPUs" (2017), Equations 2.3 to 2.7.
 */
#ifndef KC_THESIS_OCCUPANCY_TESTING_H
#define KC_THESIS_OCCUPANCY_TESTING_H

#include "predictor/device/allocation.h"
#include "predictor/device/occupancy.h"

#include <stdint.h>

/* Registers given to a warp at once, where Table 6.5 is to follow; KC_REGISTER_UNIT elsewhere. */
#define KC_REGISTER_UNIT_TABLE_6_5 512u

/* limWarpsDueRegs of Equation 2.6: warps that one block's share of registers holds. */
static uint32_t warps_by_registers(const struct kc_device *device, uint32_t registers, uint32_t register_unit)
{
	return device->registers_per_block / round_up(registers * device->warp_size, register_unit) / WARP_UNIT *
	       WARP_UNIT;
}

/* Equations 2.3 to 2.7: blocks active on one SM. */
static uint32_t occupancy_paper(const struct kc_device *device, const struct kc_block_need *need,
				uint32_t register_unit)
{
	uint32_t warps = warps_of(device, need->threads); /* Equation 2.3 */
	uint32_t blocks;

	if (!warps)
		return 0;
	/* Equation 2.5 */
	blocks = min_u32(device->max_blocks_per_sm, device->max_threads_per_sm / device->warp_size / warps);
	/* Equation 2.6 */
	if (need->registers)
		blocks = min_u32(blocks, warps_by_registers(device, need->registers, register_unit) / warps *
					     (device->registers_per_sm / device->registers_per_block));
	/* Equation 2.7 */
	if (need->shared_bytes)
		blocks = min_u32(blocks, device->shared_per_sm_bytes / need->shared_bytes);
	return blocks; /* Equation 2.4 */
}

#endif
