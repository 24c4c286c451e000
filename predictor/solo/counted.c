#include "counted.h"

#include "predictor/device/units.h"
#include "predictor/math/duration.h"
#include "predictor/solo/resources/resources.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SAME_WORK 1e-6 /* relative difference: evaluations of one launch agree better */
#define GAIN 0.25      /* of a new time, for a size already known */

/* Half widths of the 90 % interval, in log time, of a curve continued from one size, from several, and between sizes:
 * about twice the mean errors over the recorded BSP measurements (curve_trace_test.c: 10.5, 6.5 and 1.4 %), as the 90th
 * percentile of a double exponential distribution is 2.3 times its mean. */
#define FROM_ONE_HALF_WIDTH 0.25
#define FROM_SEVERAL_HALF_WIDTH 0.15
#define BETWEEN_HALF_WIDTH 0.05

int kc_work_count(struct kc_work *work, const struct kc_device *device, const struct kc_counts *counts,
		  struct kc_curve_point *point)
{
	struct kc_curve_point counted = kc_curve_point(device, counts, work, 0);
	struct kc_resource_times times;

	if (!(counted.work_cycles > 0) || !isfinite(counted.work_cycles) ||
	    kc_resource_times(device, work, counts, &times) < 0)
		return -ENODATA;
	work->unit_ns = kc__scaled_ns(work->launch_ns, times.total_ns);
	work->traffic_bytes = counts->threads * counts->of[KC_COUNT_OF_SECTORS] * KC_SECTOR_BYTES;
	work->counted = counts->other_architecture ? 2 : 1;
	work->counted_half_width = kc_resource_half_width(counts, &times);
	work->counted_least_ns = kc_resource_least_ns(device, work, counts);
	*point = counted;
	return 0;
}

static int same_work(double a, double b)
{
	return fabs(a - b) <= SAME_WORK * b;
}

/* Index of the first size with at least this work. */
static uint32_t first_not_smaller(const struct kc_sizes *sizes, double work_cycles)
{
	uint32_t at = 0;

	while (at < sizes->count && sizes->points[at].work_cycles < work_cycles &&
	       !same_work(sizes->points[at].work_cycles, work_cycles))
		at++;
	return at;
}

/* Drops the inner size whose neighbours are closest to each other. */
static void drop_most_redundant(struct kc_sizes *sizes)
{
	const struct kc_curve_point *p = sizes->points;
	uint32_t least = 1;

	for (uint32_t i = 2; i + 1 < sizes->count; i++)
		if (p[i + 1].work_cycles / p[i - 1].work_cycles < p[least + 1].work_cycles / p[least - 1].work_cycles)
			least = i;
	memmove(&sizes->points[least], &sizes->points[least + 1], (sizes->count - least - 1) * sizeof(*p));
	sizes->count--;
}

void kc_sizes_learn(struct kc_sizes *sizes, const struct kc_curve_point *point, double launch_ns, int64_t measured_ns)
{
	uint32_t at = first_not_smaller(sizes, point->work_cycles);
	struct kc_curve_point *here = &sizes->points[at];
	double ns = kc__scaled_ns(launch_ns, (double)measured_ns);

	if (measured_ns <= 0)
		return;
	if (at < sizes->count && same_work(here->work_cycles, point->work_cycles)) {
		double known_ns = here->time_ns;

		*here = *point;
		here->time_ns = known_ns * pow(ns / known_ns, GAIN);
		return;
	}
	if (sizes->count == KC_SIZES) {
		drop_most_redundant(sizes);
		at = first_not_smaller(sizes, point->work_cycles);
		here = &sizes->points[at];
	}
	memmove(here + 1, here, (sizes->count - at) * sizeof(*here));
	*here = *point;
	here->time_ns = ns;
	sizes->count++;
}

static double half_width(const struct kc_sizes *sizes, const struct kc_curve_point *point)
{
	uint32_t at = first_not_smaller(sizes, point->work_cycles);
	int known = at < sizes->count && same_work(sizes->points[at].work_cycles, point->work_cycles);

	if (known || (at > 0 && at < sizes->count))
		return BETWEEN_HALF_WIDTH;
	return sizes->count == 1 ? FROM_ONE_HALF_WIDTH : FROM_SEVERAL_HALF_WIDTH;
}

int kc_sizes_predict(const struct kc_sizes *sizes, const struct kc_device *device, const struct kc_curve_point *point,
		     double launch_ns, struct kc_solo *solo)
{
	struct kc_curve own = kc_curve_of(device);
	double ns, half, width;

	if (!sizes->count)
		return -ENODATA;
	own.points = sizes->points;
	own.count = sizes->count;
	ns = kc_curve_predict(&kc_curve_law_default, &own, point);
	if (!(ns > 0))
		return -ENODATA;
	ns += launch_ns;
	half = half_width(sizes, point);
	width = exp(half);
	*solo = (struct kc_solo){
	    .ns = kc__whole_ns(ns),
	    .low_ns = kc__whole_ns(ns / width),
	    .high_ns = kc__whole_ns(ns * width),
	    .half_width = logf((float)width),
	    .model = KC_MODEL_BSP_SIZES,
	};
	return 0;
}
