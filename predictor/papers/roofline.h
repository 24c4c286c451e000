/*
 * A range that a kernel's solo time should lie in, from operations and bytes
 * alone (Williams, Waterman, Patterson, "Roofline", CACM 2009, as times).
 */
#ifndef KC_ROOFLINE_H
#define KC_ROOFLINE_H

#include "predictor/code/cost.h"
#include "predictor/device/device.h"

/*
 * low: the busiest units at peak throughput, shared memory at a pass a cycle,
 * or the bytes that must cross the memory bus at its peak, whichever is longest.
 * high: the three one after the other, and every sector from memory.
 */
struct kc_roofline {
	double low_ns, high_ns;
};
struct kc_roofline kc_roofline_ns(const struct kc_device *device, const struct kc_counts *counts);

/*
 * Bytes of the whole launch that no cache can keep from the memory bus. What a
 * thread stores is its own. Of loads, two a thread at most (an element or two,
 * as in the boat hull's element classes) are taken as nobody else's; with more,
 * threads may share what they load, and none is counted.
 */
double kc_roofline_least_bytes(const struct kc_counts *counts);

#endif
