/*
 * Bounds of a kernel's solo time from operations and bytes alone (Williams,
 * Waterman, Patterson, "Roofline", CACM 2009, as times).
 */
#ifndef KC_ROOFLINE_H
#define KC_ROOFLINE_H

#include "predictor/code/cost.h"
#include "predictor/device/device.h"

/* low: the longest of: the busiest units at peak throughput; shared memory at one pass per cycle; the bytes that must
 * cross the memory bus, at its peak rate. high: the sum of the three, with every sector read from memory. */
struct kc_roofline {
	double low_ns, high_ns;
};
struct kc_roofline kc_roofline_ns(const struct kc_device *device, const struct kc_counts *counts);

/* Bytes of the whole launch that no cache can keep from the memory bus. What a thread stores belongs to it alone. Up to
 * two loads per thread (one or two elements, as in the boat hull's element classes) count as its own; threads with more
 * may share what they load, so none is counted. */
static inline double kc_roofline_least_bytes(const struct kc_counts *counts)
{
	const double own_loads = 2, *n = counts->of;
	double loaded = n[KC_COUNT_OF_LD_GLOBAL] <= own_loads ? n[KC_COUNT_OF_BYTES_LOADED] : 0;

	return counts->threads * (loaded + n[KC_COUNT_OF_BYTES_STORED]);
}

#endif
