/*
 * What the same kernel's curve on other GPUs, the donors, adds to that of this one: its shape, where this GPU knows a
 * size, as much as the law itself; its times, where it knows none. The law's constants were chosen with it, too.
 */
#ifndef KC_CURVE_DONORS_TESTING_H
#define KC_CURVE_DONORS_TESTING_H

#include "predictor/math/duration.h"
#include "predictor/math/median.h"
#include "predictor/solo/curve.h"

#include <math.h>

#define DONORS_MAX 8u /* further ones are not read */

/* Work, as if part of the last wave were full. */
static double quantised(const struct kc_curve_law *law, double work_cycles, double waves, double longest)
{
	return work_cycles * (law->wave_share * kc__begun_waves(waves, longest) / waves + 1 - law->wave_share);
}

/* Number of points with no more work than this. */
static uint32_t points_up_to(const struct kc_curve *curve, double work_cycles)
{
	uint32_t low = 0, high = curve->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (curve->points[middle].work_cycles <= work_cycles)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Position of this work between two points, 0 to 1, by logarithms. */
static double position_between(const struct kc_curve_point *low, const struct kc_curve_point *high, double work_cycles)
{
	return log(work_cycles / low->work_cycles) / log(high->work_cycles / low->work_cycles);
}

/* By the law, from one size that is known. */
static double from_size(const struct kc_curve_law *law, const struct kc_curve *curve,
			const struct kc_curve_point *known, const struct kc_curve_point *target)
{
	struct kc_curve one = {curve->core_hz, curve->bytes_per_s, known, 1};

	return kc_curve_predict(law, &one, target);
}

/* How a donor's curve departs from its own anchor point on, in logarithms. */
struct departure {
	double from_model; /* measured over predicted by the law */
	double from_work;  /* measured over proportional to work */
};

static struct departure departure_at(const struct kc_curve_law *law, const struct kc_curve *curve,
				     const struct kc_curve_point *anchor, const struct kc_curve_point *point)
{
	double ratio = point->work_cycles / anchor->work_cycles;

	return (struct departure){log(point->time_ns / from_size(law, curve, anchor, point)),
				  log(point->time_ns / anchor->time_ns / ratio)};
}

/* Interpolated by the logarithm of work; constant beyond the ends. */
static struct departure departure(const struct kc_curve_law *law, const struct kc_curve *curve,
				  const struct kc_curve_point *anchor, double work_cycles)
{
	uint32_t above = points_up_to(curve, work_cycles);
	struct departure low, high;
	double at;

	if (above == 0 || above == curve->count)
		return departure_at(law, curve, anchor, &curve->points[above ? above - 1 : 0]);
	at = position_between(&curve->points[above - 1], &curve->points[above], work_cycles);
	low = departure_at(law, curve, anchor, &curve->points[above - 1]);
	if (at <= 0)
		return low;
	high = departure_at(law, curve, anchor, &curve->points[above]);
	return (struct departure){low.from_model + at * (high.from_model - low.from_model),
				  low.from_work + at * (high.from_work - low.from_work)};
}

static const struct kc_curve_point *nearest(const struct kc_curve *curve, double work_cycles)
{
	uint32_t above = points_up_to(curve, work_cycles);
	const struct kc_curve_point *p = curve->points;

	if (above == 0 || above == curve->count)
		return &p[above ? above - 1 : 0];
	return position_between(&p[above - 1], &p[above], work_cycles) < 0.5 ? &p[above - 1] : &p[above];
}

/* own_ns, predicted from this device's nearest size, corrected by what donors did between the same two sizes. */
static double corrected_by_donors(const struct kc_curve_law *law, const struct kc_curve_point *anchor, double own_ns,
				  const struct kc_curve *donors, uint32_t donor_count,
				  const struct kc_curve_point *target)
{
	double from_model[DONORS_MAX], from_work[DONORS_MAX];
	double by_work, corrected;
	uint32_t n = 0;

	for (uint32_t i = 0; i < donor_count && n < DONORS_MAX; i++) {
		const struct kc_curve_point *start;
		struct departure here, there;

		if (!donors[i].count)
			continue;
		start = nearest(&donors[i], anchor->work_cycles);
		here = departure(law, &donors[i], start, anchor->work_cycles);
		there = departure(law, &donors[i], start, target->work_cycles);
		from_model[n] = there.from_model - here.from_model;
		from_work[n++] = there.from_work - here.from_work;
	}
	if (!n)
		return own_ns;
	corrected = log(own_ns) + kc_median(from_model, n);
	by_work = log(anchor->time_ns * target->work_cycles / anchor->work_cycles) + kc_median(from_work, n);
	return exp((corrected + by_work) / 2);
}

/* A donor's time for the target, scaled to this device's cores and waves. */
static double transferred(const struct kc_curve_law *law, const struct kc_curve *own, const struct kc_curve *donor,
			  const struct kc_curve_point *target)
{
	const struct kc_curve_point *near = nearest(donor, target->work_cycles);
	struct departure departure_there = departure(law, donor, near, target->work_cycles);
	double per_cycle = near->time_ns / near->work_cycles * exp(departure_there.from_work);
	double waves = near->waves * target->work_cycles / near->work_cycles;
	double there = quantised(law, target->work_cycles, waves, target->longest);
	double here = quantised(law, target->work_cycles, target->waves, target->longest);

	return per_cycle * target->work_cycles * donor->core_hz / own->core_hz * here / there;
}

static double predicted_from_donors(const struct kc_curve_law *law, const struct kc_curve *own,
				    const struct kc_curve *donors, uint32_t donor_count,
				    const struct kc_curve_point *target)
{
	double log_ns[DONORS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < donor_count && n < DONORS_MAX; i++) {
		if (donors[i].count)
			log_ns[n++] = log(transferred(law, own, &donors[i], target));
	}
	return n ? exp(kc_median(log_ns, n)) : NAN;
}

/* As kc_curve_predict(); donors: the same kernel and block shape on other devices; empty ones are skipped, and none is
 * used between two known sizes. */
static double predict_with_donors(const struct kc_curve_law *law, const struct kc_curve *own,
				  const struct kc_curve *donors, uint32_t donor_count,
				  const struct kc_curve_point *target)
{
	uint32_t above = points_up_to(own, target->work_cycles);

	if (!own->count)
		return predicted_from_donors(law, own, donors, donor_count, target);
	if (above > 0 && above < own->count)
		return kc_curve_predict(law, own, target);
	return corrected_by_donors(law, &own->points[above ? own->count - 1 : 0], kc_curve_predict(law, own, target),
				   donors, donor_count, target);
}

#endif
