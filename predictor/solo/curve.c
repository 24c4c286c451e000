#include "curve.h"

#include "predictor/math/duration.h"
#include "predictor/math/order.h"
#include "predictor/papers/bsp.h"
#include "predictor/papers/roofline.h"

#include <math.h>

const struct kc_curve_law kc_curve_law_default = {
    .wave_share = 0.35,
    .bandwidth_share = 0.75,
    .warmup_share = 0.1,
    .warmup_ns = 1e5,
};

struct kc_curve_point kc_curve_point(const struct kc_device *device, const struct kc_counts *counts,
				     const struct kc_work *work, double time_ns)
{
	struct kc_bsp_kernel kernel = kc_bsp_kernel_of(device, counts);

	return (struct kc_curve_point){
	    .work_cycles = kernel.threads * kc_bsp_thread_cycles(&kernel),
	    .waves = work->waves,
	    .longest = counts->longest_warp,
	    .least_bytes = kc_roofline_least_bytes(counts),
	    .time_ns = time_ns,
	};
}

struct kc_curve kc_curve_of(const struct kc_device *device)
{
	struct kc_bsp_machine machine = kc_bsp_machine_of(device);

	return (struct kc_curve){.core_hz = machine.clock_hz * machine.cores,
				 .bytes_per_s = (double)device->memory_bytes_per_s};
}

int kc_curve_relatedness(const struct kc_device *a, const struct kc_device *b)
{
	if (a->cc_major != b->cc_major)
		return 0;
	return a->cc_minor == b->cc_minor ? 2 : 1;
}

/* Work, as if part of the last wave were full. */
static double quantised(const struct kc_curve_law *law, double work_cycles, double waves, double longest)
{
	return work_cycles * (law->wave_share * kc__begun_waves(waves, longest) / waves + 1 - law->wave_share);
}

static double warmup(const struct kc_curve_law *law, double ns)
{
	return 1 + law->warmup_share * law->warmup_ns / (law->warmup_ns + ns);
}

/* A longer run is warmer, which shortens it: a fixed point, close enough after a few rounds. */
static double with_warmup(const struct kc_curve_law *law, double known_ns, double ns)
{
	enum { ROUNDS = 3 };
	double cold = ns / warmup(law, known_ns);

	for (int i = 0; i < ROUNDS; i++)
		ns = cold * warmup(law, ns);
	return ns;
}

static double without_floor(const struct kc_curve_law *law, const struct kc_curve_point *known,
			    const struct kc_curve_point *target)
{
	double ratio = quantised(law, target->work_cycles, target->waves, target->longest) /
		       quantised(law, known->work_cycles, known->waves, known->longest);

	return with_warmup(law, known->time_ns, known->time_ns * ratio);
}

static double floor_ns(const struct kc_curve_law *law, const struct kc_curve *curve,
		       const struct kc_curve_point *target)
{
	return curve->bytes_per_s > 0 ? target->least_bytes / (law->bandwidth_share * curve->bytes_per_s) * KC__NS_PER_S
				      : 0;
}

/* A measured size may have come from the cache; a larger one need not fit there. */
static double from_one(const struct kc_curve_law *law, const struct kc_curve *curve, const struct kc_curve_point *known,
		       const struct kc_curve_point *target)
{
	double ns = without_floor(law, known, target);

	return target->work_cycles > known->work_cycles ? fmax(ns, floor_ns(law, curve, target)) : ns;
}

/* Number of points with no more work than this. */
static uint32_t points_up_to(const struct kc_curve *curve, double work_cycles)
{
	return (uint32_t)KC_FIRST(i, curve->count, curve->points[i].work_cycles > work_cycles);
}

/* Position of this work between two points, 0 to 1, by logarithms. */
static double position_between(const struct kc_curve_point *low, const struct kc_curve_point *high, double work_cycles)
{
	return log(work_cycles / low->work_cycles) / log(high->work_cycles / low->work_cycles);
}

static double between(const struct kc_curve_law *law, const struct kc_curve *curve, uint32_t above,
		      const struct kc_curve_point *target)
{
	const struct kc_curve_point *low = &curve->points[above - 1], *high = &curve->points[above];
	double at = position_between(low, high, target->work_cycles);

	return pow(from_one(law, curve, low, target), 1 - at) * pow(from_one(law, curve, high, target), at);
}

double kc_curve_predict(const struct kc_curve_law *law, const struct kc_curve *own, const struct kc_curve_point *target)
{
	uint32_t above = points_up_to(own, target->work_cycles);

	if (!own->count)
		return NAN;
	if (above > 0 && above < own->count)
		return between(law, own, above, target);
	return from_one(law, own, &own->points[above ? own->count - 1 : 0], target);
}
