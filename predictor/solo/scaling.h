/*
 * A launch shape never measured, of a kernel measured at others, where its code is
 * not known: how time grows with waves and threads.
 *
 *   kc_scaling_size      a launch shape, as far as time depends on it
 *   kc_scaling_point     such a shape and the mean logarithm of its times
 *   kc_scaling           a bounded number of them, of one kernel on one device
 *   kc_scaling_law       the prior: the process's mean and covariance
 *   kc_scaling_predict   the time of another shape, with its interval
 *
 * Log time is a Gaussian process over log √(1 + waves²), which does not fall below
 * one wave's time however small the grid. It has a level and a slope, which start
 * from those of most kernels and move to this kernel's own as points come, and a
 * residual that is similar for shapes with similar sizes or grids. Between points it
 * interpolates. Beyond them it follows the line up to four times the size, and
 * hardly further: the work of one thread is not in the launch, and a proportional
 * continuation is wrong by orders of magnitude.
 *
 * For the learning thread; a launching thread sees only the result. No function here
 * allocates, locks or reads a clock.
 */
#ifndef KC_SCALING_H
#define KC_SCALING_H

#include "forecast.h"

#include <stdint.h>

#define KC_SCALING_POINTS 16u

struct kc_scaling_size {
	float log_waves;   /* ½ log(1 + waves²) */
	float log_threads; /* of the whole grid */
	float log_grid[3];
	float log_guess_ns; /* what is expected of such kernels at this size; 0: nothing is */
};

struct kc_scaling_point {
	struct kc_scaling_size size;
	float log_ns; /* mean over the measurements */
	uint32_t count;
};

struct kc_scaling {
	struct kc_scaling_point points[KC_SCALING_POINTS];
	uint32_t count;
	uint32_t last; /* index of the point measured last, which is never dropped */
};

/* Log ns, and logarithms of sizes; spreads are standard deviations. */
struct kc_scaling_law {
	double level, level_spread; /* time of a kernel of up to one wave */
	double slope, slope_spread; /* over log waves; proportional would be 1 */
	double threads_slope;       /* over log threads, added to it */
	double size_spread;         /* of the residual by size... */
	double size_reach;          /* ...and the distance in log waves over which it is similar */
	double grid_spread;         /* of the residual by grid... */
	double grid_reach;          /* ...and its reach in the sum of the grid's logarithms */
	double noise;               /* of one point */
	double caution;      /* share of the variance to subtract: the least relative error lies below the median */
	double guess_spread; /* of a kernel around log_guess_ns, the same at all its sizes, */
	double guess_size_spread; /* and what is left by size, as far as size_reach */
	double guess_share;       /* of the prediction from there in the whole */
	double interval;          /* half width in deviations... */
	double interval_spread;   /* ...after this is added: the tails are heavier than a normal distribution's */
};

/* What a prediction works in: more than the stack of a launching thread may have room for. */
struct kc_scaling_space {
	double l[KC_SCALING_POINTS * KC_SCALING_POINTS];
	double residuals[KC_SCALING_POINTS], k[KC_SCALING_POINTS];
};

/* Chosen on the recorded V100 and RTX 2080 Ti traces (scaling_trace_test.c). */
extern const struct kc_scaling_law kc_scaling_law_default;

struct kc_scaling_size kc_scaling_size(const struct kc_work *work, const struct kc_shape *shape);

/* Nothing is known: all zeros. */
void kc_scaling_init(struct kc_scaling *scaling);

/* One measured duration; ≤ 0 is ignored. Where there is no room, one of the two points closest in size is dropped, but
 * neither end. */
void kc_scaling_learn(struct kc_scaling *scaling, const struct kc_scaling_size *size, int64_t measured_ns);

/* 0, and the time with its 90 % interval; -ENODATA: nothing of the kernel is known. Takes a few µs with all points. */
int kc_scaling_predict(const struct kc_scaling_law *law, const struct kc_scaling *scaling,
		       const struct kc_scaling_size *size, struct kc_scaling_space *space, struct kc_solo *solo);

#endif
