#include "occupancy.h"

#include "allocation.h"

#define MAX_REGISTERS_PER_THREAD 255u /* programming guide, compute capabilities 3.2 and up */
#define SHARED_UNIT_BYTES 256u        /* up to compute capability 7.x */
#define SHARED_UNIT_AMPERE_BYTES 128u /* from 8.0 */

static uint32_t shared_unit_bytes(const struct kc_device *device)
{
	return device->cc_major >= 8 ? SHARED_UNIT_AMPERE_BYTES : SHARED_UNIT_BYTES;
}

/* Register files per SM, one per warp scheduler; GP100 has two. */
static uint32_t register_files(const struct kc_device *device)
{
	return device->cc_major == 6 && device->cc_minor == 0 ? 2 : 4;
}

struct kc_footprint kc_sm_limits(const struct kc_device *device)
{
	return (struct kc_footprint){{
	    [KC_SM_SLOTS] = clamp_i32(device->max_blocks_per_sm),
	    [KC_SM_WARPS] = clamp_i32(device->max_threads_per_sm / device->warp_size),
	    [KC_SM_REGISTERS] = clamp_i32(device->registers_per_sm),
	    [KC_SM_SHARED_BYTES] = clamp_i32(device->shared_per_sm_bytes),
	}};
}

static uint64_t block_shared_bytes(const struct kc_device *device, const struct kc_block_need *need)
{
	uint64_t unit = shared_unit_bytes(device);
	uint64_t bytes = (uint64_t)need->shared_bytes + device->shared_reserved_per_block_bytes;

	return (bytes + unit - 1) / unit * unit;
}

struct kc_footprint kc_footprint(const struct kc_device *device, const struct kc_block_need *need)
{
	uint32_t warps = warps_of(device, need->threads);
	uint64_t per_warp = round_up(min_u32(need->registers, UINT16_MAX) * device->warp_size, KC_REGISTER_UNIT);

	return (struct kc_footprint){{
	    [KC_SM_SLOTS] = 1,
	    [KC_SM_WARPS] = clamp_i32(warps),
	    [KC_SM_REGISTERS] = clamp_i32(per_warp * warps),
	    [KC_SM_SHARED_BYTES] = clamp_i32(block_shared_bytes(device, need)),
	}};
}

/* The hardware checks a block's registers as if it took whole rows of the register files, so its warps are rounded up
 * to their number. A GP100 refuses blocks that other Pascal GPUs accept. */
static int registers_allowed(const struct kc_device *device, uint32_t per_warp, uint32_t warps)
{
	return (uint64_t)per_warp * round_up(warps, WARP_UNIT) <= device->registers_per_block &&
	       (uint64_t)per_warp * warps <= device->registers_per_block;
}

uint32_t kc_registers_max(const struct kc_device *device)
{
	return MAX_REGISTERS_PER_THREAD + (device->cc_major >= 7);
}

static uint32_t blocks_by_registers(const struct kc_device *device, const struct kc_block_need *need)
{
	uint32_t warps = warps_of(device, need->threads);
	uint32_t files = register_files(device);
	uint32_t per_warp;

	if (need->registers > kc_registers_max(device))
		return 0;
	per_warp = round_up(need->registers * device->warp_size, KC_REGISTER_UNIT);
	if (!per_warp)
		return UINT32_MAX;
	if (!registers_allowed(device, per_warp, warps))
		return 0;
	if (device->registers_per_sm / WARP_UNIT / per_warp * WARP_UNIT < warps)
		return 0;
	return device->registers_per_sm / files / per_warp * files / warps;
}

/* A block gets more than the default limit only by opting in; a launch that came this far has done so. */
static uint32_t blocks_by_shared(const struct kc_device *device, const struct kc_block_need *need)
{
	uint64_t bytes = block_shared_bytes(device, need);
	uint64_t limit = device->shared_per_block_bytes;

	if (device->shared_per_block_optin_bytes > limit && need->shared_bytes > limit)
		limit = device->shared_per_block_optin_bytes;
	if (device->cc_major >= 8)
		limit += device->shared_reserved_per_block_bytes;
	if (bytes > limit)
		return 0;
	return bytes ? (uint32_t)(device->shared_per_sm_bytes / bytes) : UINT32_MAX;
}

static uint32_t most_threads(const struct kc_device *device)
{
	uint32_t resident = device->max_threads_per_sm / device->warp_size * device->warp_size;

	return min_u32(device->max_threads_per_block, resident);
}

/* Per thread, of a block of so many: whole units for each warp, in whole rows of the register files. */
static uint32_t most_registers(const struct kc_device *device, uint32_t threads)
{
	uint32_t rows = round_up(warps_of(device, threads), WARP_UNIT);
	uint32_t per_warp = min_u32(device->registers_per_block, device->registers_per_sm) / rows;

	return min_u32(per_warp / KC_REGISTER_UNIT * KC_REGISTER_UNIT / device->warp_size, kc_registers_max(device));
}

static uint32_t most_shared_bytes(const struct kc_device *device)
{
	uint32_t limit = device->shared_per_block_bytes, unit = shared_unit_bytes(device);
	uint32_t reserved = min_u32(device->shared_reserved_per_block_bytes, device->shared_per_sm_bytes);

	if (device->shared_per_block_optin_bytes > limit)
		limit = device->shared_per_block_optin_bytes;
	limit = min_u32(limit, device->shared_per_sm_bytes - reserved);
	return limit / unit * unit;
}

static uint32_t cut(uint32_t *need, uint32_t most, uint32_t beyond)
{
	if (*need <= most)
		return 0;
	*need = most;
	return beyond;
}

uint32_t kc_block_clamp(const struct kc_device *device, struct kc_block_need *need)
{
	uint32_t beyond = cut(&need->threads, most_threads(device), KC_BEYOND_THREADS);

	beyond |= cut(&need->registers, most_registers(device, need->threads), KC_BEYOND_REGISTERS);
	return beyond | cut(&need->shared_bytes, most_shared_bytes(device), KC_BEYOND_SHARED);
}

uint32_t kc_occupancy(const struct kc_device *device, const struct kc_block_need *need)
{
	uint32_t blocks = device->max_blocks_per_sm;

	if (!need->threads || need->threads > device->max_threads_per_block)
		return 0;
	blocks = min_u32(blocks, device->max_threads_per_sm / device->warp_size / warps_of(device, need->threads));
	blocks = min_u32(blocks, blocks_by_registers(device, need));
	return min_u32(blocks, blocks_by_shared(device, need));
}
