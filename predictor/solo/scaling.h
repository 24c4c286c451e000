/*
 * A launch shape never measured, of a kernel measured at others, where the
 * kernel's code says nothing: how time grows with waves and threads.
 *
 *   kc_scaling_size      a launch shape, as far as time depends on it
 *   kc_scaling_point     one such shape and the times it took, in mean logarithm
 *   kc_scaling           a bounded number of them, of one kernel on one device
 *   kc_scaling_law       what kernels usually do: the process's mean and covariance
 *   kc_scaling_predict   the time of another shape, and how sure that is
 *
 * Log time is taken for a Gaussian process over log √(1 + waves²), which does
 * not fall below one wave's time however small the grid: a level and a slope
 * that start from what kernels usually have and are drawn to this kernel's own
 * as points come, and what departs from that line, alike for shapes with
 * neighbouring sizes or grids. Between points it interpolates. Beyond them the
 * line is followed four times the size and then nearly left: the work of one
 * thread is not in the launch, and whoever goes on in proportion misses by
 * orders of magnitude.
 *
 * For the thread that learns: a launching thread sees the result alone. No
 * function here allocates, locks or reads a clock.
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
};

struct kc_scaling_point {
	struct kc_scaling_size size;
	float log_ns; /* mean over the measurements */
	uint32_t count;
};

struct kc_scaling {
	struct kc_scaling_point points[KC_SCALING_POINTS];
	uint32_t count;
	uint32_t last; /* the point measured last: never the one forgotten */
};

/* Log ns, and logarithms of sizes; spreads are standard deviations. */
struct kc_scaling_law {
	double level, level_spread; /* of a kernel of up to one wave */
	double slope, slope_spread; /* over log waves; proportional would be 1 */
	double threads_slope;       /* over log threads, in addition */
	double size_spread;         /* of what departs from the line... */
	double size_reach;          /* ...alike up to here in log waves */
	double grid_spread;         /* likewise... */
	double grid_reach;          /* ...in the sum of the grid's logarithms */
	double noise;               /* of a point */
	double caution;             /* of the variance: the smallest relative error is below the median */
	double interval;            /* half width in deviations... */
	double interval_spread;     /* ...with this added: the tails are heavier than a normal law's */
};

/* Chosen on the recorded V100 and RTX 2080 Ti traces (scaling_trace_test.c). */
extern const struct kc_scaling_law kc_scaling_law_default;

struct kc_scaling_size kc_scaling_size(const struct kc_work *work, const struct kc_shape *shape);

/* Nothing is known: all zeros. */
void kc_scaling_init(struct kc_scaling *scaling);

/* One measured duration, > 0 ns (others are passed over). Where there is no
 * room, of two neighbours in size one is forgotten; the ends stay. */
void kc_scaling_learn(struct kc_scaling *scaling, const struct kc_scaling_size *size, int64_t measured_ns);

/* 0 and the time with its 90 % interval; -ENODATA where nothing of the kernel is
 * known. A few µs with all points. */
int kc_scaling_predict(const struct kc_scaling_law *law, const struct kc_scaling *scaling,
		       const struct kc_scaling_size *size, struct kc_solo *solo);

#endif
