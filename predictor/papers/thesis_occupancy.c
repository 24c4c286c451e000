#include "thesis_occupancy.h"

#include "predictor/device/allocation.h"

struct kc_footprint kc_footprint_paper(const struct kc_device *device, const struct kc_block_need *need,
				       uint32_t register_unit)
{
	uint32_t warps = warps_of(device, need->threads);

	return (struct kc_footprint){{
	    [KC_SM_SLOTS] = 1,
	    [KC_SM_WARPS] = clamp_i32(warps),
	    [KC_SM_REGISTERS] =
		clamp_i32((uint64_t)round_up(need->registers * device->warp_size, register_unit) * warps),
	    [KC_SM_SHARED_BYTES] = clamp_i32(need->shared_bytes),
	}};
}

/* limWarpsDueRegs of Equation 2.6: warps that one block's share of registers holds. */
static uint32_t warps_by_registers(const struct kc_device *device, uint32_t registers, uint32_t register_unit)
{
	return device->registers_per_block / round_up(registers * device->warp_size, register_unit) / WARP_UNIT *
	       WARP_UNIT;
}

uint32_t kc_occupancy_paper(const struct kc_device *device, const struct kc_block_need *need, uint32_t register_unit)
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
