#include "roofline.h"

#include "predictor/device/units.h"
#include "predictor/math/duration.h"
#include "predictor/device/throughput.h"

#include <math.h>

/* 0 where the memory's rate is not known. */
static double memory_ns(const struct kc_device *device, double bytes)
{
	return device->memory_bytes_per_s ? bytes / (double)device->memory_bytes_per_s * KC__NS_PER_S : 0;
}

struct kc_roofline kc_roofline_ns(const struct kc_device *device, const struct kc_counts *counts)
{
	double sm_hz = device->clock_khz * 1e3 * device->sm_count;
	double compute = counts->threads * kc_throughput_bound(device, counts) / sm_hz * KC__NS_PER_S;
	double shared = counts->threads * counts->of[KC_COUNT_OF_SHARED_PASSES] / sm_hz * KC__NS_PER_S;
	double sectors = counts->threads * counts->of[KC_COUNT_OF_SECTORS] * KC_SECTOR_BYTES;
	double least = memory_ns(device, kc_roofline_least_bytes(counts));
	double most = memory_ns(device, sectors);
	double low = fmax(fmax(compute, shared), least);

	return (struct kc_roofline){.low_ns = low, .high_ns = fmax(compute + shared + most, low)};
}
