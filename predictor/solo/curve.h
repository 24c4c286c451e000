/*
 * A size never measured, from sizes that were: of the same kernel and block shape,
 * on the same device.
 *
 *   kc_curve_point     one size: its work by the kernel's cost formula, and the
 *                      time it took
 *   kc_curve           the sizes known on one device, with that device's rates
 *   kc_curve_law       constants of the way from one size to another
 *   kc_curve_predict   the time of another size
 *
 * By the equations of the models, time is work over cores and clock (bsp.h).
 * Measured curves differ from that in three ways, each with a term here: part of a
 * wave counts as soon as it has begun, and the last one lasts as long as its
 * longest warp; short kernels run at lower clocks and on
 * cold caches; a size that no longer fits the L2 cache waits for the memory bus.
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
	double longest;     /* work of the longest warp over the mean of all, >= 1; 0: not known, as if 1 */
	double least_bytes; /* that must cross the memory bus; 0: not known */
	double time_ns;     /* measured, > 0; not read of a size to be predicted */
};

struct kc_curve {
	double core_hz;                      /* SMs · cores · clock */
	double bytes_per_s;                  /* peak of the memory bus; 0: not known */
	const struct kc_curve_point *points; /* work ascending and distinct */
	uint32_t count;
};

struct kc_curve_law {
	double wave_share;      /* of a begun wave that counts as full, and as its longest warp, 0 to 1 */
	double bandwidth_share; /* of the peak that a kernel reaches */
	double warmup_share;    /* extra time of the shortest kernels, as a share */
	double warmup_ns;       /* duration at which half of that share is left */
};

/*
 * Chosen on all six GPUs of the recorded BSP measurements (curve_trace_test.c,
 * which reports the errors of constants chosen without the GPU predicted).
 */
extern const struct kc_curve_law kc_curve_law_default;

/* A launch as a point of a curve. time_ns: 0 where it is to be predicted. */
struct kc_curve_point kc_curve_point(const struct kc_device *device, const struct kc_counts *counts,
				     const struct kc_work *work, double time_ns);

/* The device's rates; no points yet. */
struct kc_curve kc_curve_of(const struct kc_device *device);

/* How much one device's curve says about another's: 2 same compute capability; 1 same architecture (major number); 0
 * nothing. Where there are curves of 2, leave out those of 1. */
int kc_curve_relatedness(const struct kc_device *a, const struct kc_device *b);

/* In ns. own: this device's sizes, may be empty. NAN: nothing is known. */
double kc_curve_predict(const struct kc_curve_law *law, const struct kc_curve *own,
			const struct kc_curve_point *target);

#endif
