/*
 * A launch whose kernel's code has been read: its time by what was counted there,
 * before the kernel or the launch shape was ever measured.
 *
 *   kc_work_count   puts the value of a cost formula into a kc_work: λ then scales
 *                   the work that the launch really does, not a nominal one
 *   kc_sizes        the sizes of one kernel and block shape that were measured on
 *                   one device, by work (curve.h)
 *
 * The first prediction of a kernel is the time that its demand on the GPU's resources
 * takes (resources.h), corrected by the device's λ, as learned from kernels with code.
 * From the first measured size on, it follows the curve through the sizes known.
 *
 * No function here allocates, locks or reads a clock. One thread learns; readers
 * hold the same lock.
 */
#ifndef KC_COUNTED_H
#define KC_COUNTED_H

#include "predictor/code/cost.h"
#include "curve.h"
#include "forecast.h"

#include <stdint.h>

#define KC_SIZES 8u

struct kc_sizes {
	struct kc_curve_point points[KC_SIZES]; /* work ascending; times without the launch term */
	uint32_t count;
};

/* work: of the same launch, from kc_work_init(). Sets its unit_ns (resources.h), traffic_bytes, counted,
 * counted_half_width and counted_least_ns. *point: the launch as a size, without a time.
 * 0; -ENODATA: the counts come to no work, and nothing is changed. */
int kc_work_count(struct kc_work *work, const struct kc_device *device, const struct kc_counts *counts,
		  struct kc_curve_point *point);

/* A launch of this size was measured alone, > 0 ns, of which launch_ns (kc_work) does not grow with the size. The time
 * of a known size moves towards the new one. Where there is no room, an inner size is dropped: the one whose neighbours
 * are closest to each other. */
void kc_sizes_learn(struct kc_sizes *sizes, const struct kc_curve_point *point, double launch_ns, int64_t measured_ns);

/* Time and 90 % interval of a size not measured. 0; -ENODATA: no size is known. */
int kc_sizes_predict(const struct kc_sizes *sizes, const struct kc_device *device, const struct kc_curve_point *point,
		     double launch_ns, struct kc_solo *solo);

#endif
