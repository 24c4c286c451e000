#include "copy.h"

#include "predictor/math/duration.h"

/* Until transfers of a kind have been measured: a latency, and the rate of the slowest link in common use (PCIe 3.0
 * x16, 12 GB/s), or on the device half its bandwidth, as every byte is read and written. */
#define COPY_LATENCY_NS 1500
#define HOST_NS_PER_MIB 87381
#define MIB 1048576.0
#define SMALL_COPY_BYTES (64u << 10) /* in smaller copies latency hides the rate */
#define COPY_WEIGHT 0.25             /* of one measured copy in the running mean */

int64_t kc_copy_ns(const struct kc_device *device, enum kc_copy_route route, uint64_t rate, uint64_t bytes)
{
	if (!rate && route == KC_ROUTE_ON_DEVICE && kc_device_bandwidth(device) > 0)
		rate = (uint64_t)(2e9 * MIB / kc_device_bandwidth(device));
	if (!rate)
		rate = HOST_NS_PER_MIB;
	return COPY_LATENCY_NS + kc__whole_ns((double)bytes / MIB * (double)rate);
}

uint64_t kc_copy_learn(uint64_t rate, uint64_t bytes, int64_t measured_ns)
{
	double measured;

	if (bytes < SMALL_COPY_BYTES || measured_ns <= 0)
		return rate;
	measured = (double)(uint64_t)((double)measured_ns / ((double)bytes / MIB));
	return (uint64_t)(rate ? (1 - COPY_WEIGHT) * (double)rate + COPY_WEIGHT * measured : measured);
}
