#include "device.h"

#include "capability.h"

#include <stddef.h>

#define FMA_OPERATIONS 2.0 /* a fused multiply-add */

static const struct kc_device by_capability[] = {
    {CC_3_0}, {CC_3_2}, {CC_3_5},  {CC_3_7},  {CC_5_0},  {CC_5_2},  {CC_5_3},  {CC_6_0},
    {CC_6_1}, {CC_6_2}, {CC_7_0},  {CC_7_2},  {CC_7_5},  {CC_8_0},  {CC_8_6},  {CC_8_7},
    {CC_8_9}, {CC_9_0}, {CC_10_0}, {CC_10_1}, {CC_10_3}, {CC_11_0}, {CC_12_0}, {CC_12_1},
};

enum { CAPABILITIES = sizeof(by_capability) / sizeof(by_capability[0]) };

/* The newest capability known that is not newer than the one asked for. */
static const struct kc_device *limits_of(uint32_t cc_major, uint32_t cc_minor)
{
	const struct kc_device *found = &by_capability[0];

	for (unsigned i = 0; i < CAPABILITIES; i++) {
		const struct kc_device *d = &by_capability[i];

		if (d->cc_major < cc_major || (d->cc_major == cc_major && d->cc_minor <= cc_minor))
			found = d;
	}
	return found;
}

uint32_t kc_device_resident_grids(uint32_t cc_major, uint32_t cc_minor)
{
	switch (cc_major * 10 + cc_minor) {
	case 32:
		return 4;
	case 30:
	case 53:
	case 62:
	case 72:
		return 16;
	case 35:
	case 37:
	case 50:
	case 52:
	case 61:
		return 32;
	default:
		return 128;
	}
}

uint32_t kc_device_cluster_max(uint32_t cc_major)
{
	enum { SINCE = 9, NOT_PORTABLE = 16 };

	return cc_major >= SINCE ? NOT_PORTABLE : 1;
}

uint32_t kc_device_cores_per_sm(uint32_t cc_major, uint32_t cc_minor)
{
	enum { NOT_YET_KNOWN = 128 };
	const struct kc_device *limits = limits_of(cc_major, cc_minor);

	return limits->cc_major == cc_major ? limits->cores_per_sm : NOT_YET_KNOWN;
}

static void fill(uint32_t *field, uint32_t value)
{
	if (!*field)
		*field = value;
}

void kc_device_complete(struct kc_device *device)
{
	const struct kc_device *limits = limits_of(device->cc_major, device->cc_minor);

	fill(&device->cores_per_sm, kc_device_cores_per_sm(device->cc_major, device->cc_minor));
	fill(&device->warp_size, limits->warp_size);
	fill(&device->max_threads_per_block, limits->max_threads_per_block);
	fill(&device->max_threads_per_sm, limits->max_threads_per_sm);
	fill(&device->max_blocks_per_sm, limits->max_blocks_per_sm);
	fill(&device->registers_per_sm, limits->registers_per_sm);
	fill(&device->registers_per_block, limits->registers_per_block);
	fill(&device->shared_per_sm_bytes, limits->shared_per_sm_bytes);
	fill(&device->shared_per_block_bytes, limits->shared_per_block_bytes);
	fill(&device->shared_per_block_optin_bytes, limits->shared_per_block_optin_bytes);
	fill(&device->shared_reserved_per_block_bytes, limits->shared_reserved_per_block_bytes);
	fill(&device->hardware_queues, HARDWARE_QUEUES);
	fill(&device->launch_overhead_ns, LAUNCH_OVERHEAD_NS);
	fill(&device->launch_gap_ns, LAUNCH_GAP_NS);
	if (!device->memory_bytes_per_s) /* two transfers a clock */
		device->memory_bytes_per_s =
		    (uint64_t)device->memory_clock_khz * 1000 * 2 * (device->memory_bus_bits / 8);
}

void kc_device_assume(struct kc_device *device, const struct kc_device *other)
{
	if (!device->cc_major) {
		device->cc_major = other->cc_major;
		device->cc_minor = other->cc_minor;
	}
	fill(&device->sm_count, other->sm_count);
	fill(&device->clock_khz, other->clock_khz);
	fill(&device->l2_bytes, other->l2_bytes);
	fill(&device->copy_engines, other->copy_engines);
	if (!device->memory_bytes)
		device->memory_bytes = other->memory_bytes;
	if (!device->memory_clock_khz || !device->memory_bus_bits) {
		device->memory_clock_khz = other->memory_clock_khz;
		device->memory_bus_bits = other->memory_bus_bits;
		if (!device->memory_bytes_per_s)
			device->memory_bytes_per_s = other->memory_bytes_per_s;
	}
	kc_device_complete(device);
}

int kc_device_is_possible(const struct kc_device *device)
{
	const struct {
		uint32_t value, least, most;
	} attributes[] = {
	    {device->sm_count, 1, 1u << 16},
	    {device->cores_per_sm, 1, 1u << 16},
	    {device->warp_size, 1, 1u << 10},
	    {device->clock_khz, 1, 1u << 30},
	    {device->max_threads_per_block, 1, 1u << 16},
	    {device->max_threads_per_sm, 1, 1u << 20},
	    {device->max_blocks_per_sm, 1, 1u << 16},
	    {device->registers_per_sm, 1, 1u << 26},
	    {device->registers_per_block, 1, 1u << 26},
	    {device->shared_per_sm_bytes, 1, 1u << 30},
	    {device->shared_per_block_bytes, 1, 1u << 30},
	    {device->shared_per_block_optin_bytes, 0, 1u << 30},
	    {device->shared_reserved_per_block_bytes, 0, 1u << 30},
	};

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].value < attributes[i].least || attributes[i].value > attributes[i].most)
			return 0;
	}
	return device->max_threads_per_sm >= device->warp_size;
}

static void measured(uint32_t *field, double value)
{
	if (value >= 1 && value < UINT32_MAX)
		*field = (uint32_t)value;
}

/* At most what the hardware can do: a faster copy stayed in a cache, and a faster kernel did not do its work. */
static void measured_rate(uint64_t *field, double value, double peak)
{
	if (!(value >= 1 && value < (double)INT64_MAX))
		return;
	*field = (uint64_t)(peak > 0 && value > peak ? peak : value);
}

void kc_device_calibrate(struct kc_device *device, const struct kc_calibration *calibration)
{
	measured(&device->launch_overhead_ns, calibration->launch_overhead_ns);
	measured(&device->empty_kernel_ns, calibration->empty_kernel_ns);
	measured(&device->launch_gap_ns, calibration->launch_gap_ns);
	measured_rate(&device->copy_bytes_per_s, calibration->copy_bytes_per_s, (double)device->memory_bytes_per_s);
	measured_rate(&device->flops_per_s, calibration->flops_per_s, kc_device_peak_flops(device));
}

double kc_device_peak_flops(const struct kc_device *device)
{
	return FMA_OPERATIONS * device->sm_count * device->cores_per_sm * device->clock_khz * 1e3;
}
