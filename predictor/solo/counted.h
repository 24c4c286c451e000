/*
 * A launch whose kernel's code has been read: what the counts say of its time,
 * before it or its launch shape was ever measured.
 *
 *   kc_work_count   puts a cost formula's value into a kc_work: λ then scales
 *                   the work that the launch really does, not a nominal one
 *   kc_sizes        the sizes of one kernel and block shape that have been
 *                   measured on one device, by work (curve.h)
 *
 * First guess of a kernel: λ of the device, as kernels with code have taught it;
 * of the first kernel of all the roofline's upper range. From the first
 * measured size on: the curve through those known.
 *
 * No function here allocates, locks or reads a clock. One thread learns;
 * whoever asks meanwhile holds the same lock.
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

/*
 * work: of the same launch, from kc_work_init(). Sets its unit_ns (Equation 3
 * of the BSP model, begun waves counted as kc_work_init() does), traffic_bytes,
 * prior_log_lambda and counted; *point is the launch as a size, without a time.
 * 0; -ENODATA: the counts come to no work, and nothing is changed.
 */
int kc_work_count(struct kc_work *work, const struct kc_device *device, const struct kc_counts *counts,
		  struct kc_curve_point *point);

/* A launch of this size was measured alone, > 0 ns, launch_ns of which (kc_work) do not grow with it. A size known
 * already moves towards the new time; where there is no room, the one of two neighbours that are closest is forgotten,
 * never an end. */
void kc_sizes_learn(struct kc_sizes *sizes, const struct kc_curve_point *point, double launch_ns, int64_t measured_ns);

/* Time and 90 % interval of a size not measured. 0; -ENODATA: none is known. */
int kc_sizes_predict(const struct kc_sizes *sizes, const struct kc_device *device, const struct kc_curve_point *point,
		     double launch_ns, struct kc_solo *solo);

#endif
