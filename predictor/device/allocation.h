/* Arithmetic in the units in which a multiprocessor hands out its resources. */
#ifndef KC_DEVICE_ALLOCATION_H
#define KC_DEVICE_ALLOCATION_H

#include "device.h"

#include <limits.h>
#include <stdint.h>

/* Warps are allocated by scheduler: NVIDIA's occupancy calculator, "warp allocation granularity". */
#define WARP_UNIT 4u

static inline uint32_t divide_up(uint32_t value, uint32_t unit)
{
	return value / unit + (value % unit != 0);
}

static inline uint32_t round_up(uint32_t value, uint32_t unit)
{
	return divide_up(value, unit) * unit;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline int32_t clamp_i32(uint64_t value)
{
	return value > INT_MAX ? INT_MAX : (int32_t)value;
}

static inline uint32_t warps_of(const struct kc_device *device, uint32_t threads)
{
	return divide_up(threads, device->warp_size);
}

#endif
