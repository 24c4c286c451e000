/*
 * A size never measured, from sizes that were: of the same kernel and block
 * shape, on this device and on others.
 *
 *   kc_curve_point   one size: its work by the kernel's cost formula, and the
 *                    time it took
 *   kc_curve         the sizes known on one device, with that device's rates
 *   kc_curve_law     constants of the way from one size to another
 *   kc_curve_predict the time of another size
 *
 * The equations of the models say that time is work over cores and clock
 * (bsp.h). Measured curves differ from that in three ways, and each has its
 * term here: a wave that has begun costs part of a whole one; short kernels run
 * at lower clocks and on cold caches; a size that no longer fits the L2 cache
 * waits for the memory bus. A kernel known on another GPU of the architecture
 * lends the shape of its curve: the law corrected by where that curve departs
 * from it, and the curve itself, have equal weight.
 *
 * No function here allocates, locks or reads a clock.
 */
#ifndef KC_CURVE_H
#define KC_CURVE_H

#include "predictor/code/cost.h"
#include "predictor/device/device.h"
#include "forecast.h"

#include <stdint.h>

struct kc_curve_point {
	double work_cycles; /* of all threads: threads · (Comp + CommGM + CommSM), > 0 */
	double waves;       /* blocks / (SMs · blocks on one), not rounded, > 0 */
	double least_bytes; /* that must cross the memory bus; 0: not known */
	double time_ns;     /* measured, > 0; of a size to be predicted it is not read */
};

struct kc_curve {
	double core_hz;                      /* SMs · cores · clock */
	double bytes_per_s;                  /* peak of the memory bus; 0: not known */
	const struct kc_curve_point *points; /* work ascending, no two the same */
	uint32_t count;
};

struct kc_curve_law {
	double wave_share;      /* of a begun wave that counts as whole, 0 to 1 */
	double bandwidth_share; /* of the peak that a kernel reaches */
	double warmup_share;    /* what the shortest kernels take longer, as a share */
	double warmup_ns;       /* where half of that is left */
};

/*
 * Chosen on all six GPUs of the recorded BSP measurements (curve_trace_test.c,
 * which reports the errors of constants chosen without the GPU predicted).
 */
extern const struct kc_curve_law kc_curve_law_default;

/* A launch as a point of a curve; time_ns: 0 where it is to be predicted. */
struct kc_curve_point kc_curve_point(const struct kc_device *device, const struct kc_counts *counts,
				     const struct kc_work *work, double time_ns);

/* A device's rates, no points yet. */
struct kc_curve kc_curve_of(const struct kc_device *device);

/* How much one device's curve says of another's: 2 same compute capability, 1 same architecture (major number), 0
 * nothing. Where there are curves of 2, those of 1 had better be left out. */
int kc_curve_kinship(const struct kc_device *a, const struct kc_device *b);

#define KC_CURVE_DONORS 8u /* more are not read */

/*
 * ns. own: this device's sizes, may be empty; siblings: the same kernel and
 * block shape on other devices, empty ones are passed over. Between two known
 * sizes the siblings are not asked. NAN where nothing at all is known.
 */
double kc_curve_predict(const struct kc_curve_law *law, const struct kc_curve *own, const struct kc_curve *donors,
			uint32_t donor_count, const struct kc_curve_point *target);

#endif
