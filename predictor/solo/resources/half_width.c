#include "joined.h"

#include <math.h>

/*
 * Half widths in log time, by what is known of a launch; nine in ten of the launches of an RTX 3080 and an H200 on
 * which resources.c says that it was chosen lie within those of each kind. Counts with nothing assumed: the time is
 * known best where the bandwidth of device memory or L2 is what a launch takes, and better where issue slots or
 * arithmetic units are than where latency, L1, shared memory, atomics or starting blocks. An unknown branch makes them
 * wider by the share of the instructions that depend on it. An unknown address may be near all others or far from them.
 * A loop of unknown length makes that share of the time longer or shorter that its instructions are of all.
 */
#define BANDWIDTH_HALF_WIDTH 0.4
#define UNITS_HALF_WIDTH 0.6
#define OTHER_HALF_WIDTH 1.2
#define BRANCH_HALF_WIDTH 0.5  /* more, if all depends on branches */
#define ADDRESS_HALF_WIDTH 1.0 /* at least */
#define OTHER_CODE_HALF_WIDTH 1.75
#define LENGTH_HALF_WIDTH 1.3 /* of loops where something tells how long they are */
#define TRIPS_HALF_WIDTH 2.65 /* of others */

static double squares_of(const struct kc_resource_times *times, const uint8_t *resources, uint32_t count)
{
	double squares = 0;

	for (uint32_t n = 0; n < count; n++)
		squares += times->ns[resources[n]] * times->ns[resources[n]];
	return squares;
}

static double half_width_of_times(const struct kc_resource_times *times)
{
	static const uint8_t bandwidth[] = {KC_RESOURCE_DRAM, KC_RESOURCE_L2};
	static const uint8_t units[] = {KC_RESOURCE_ISSUE,   KC_RESOURCE_FP16,    KC_RESOURCE_FP32,  KC_RESOURCE_FP64,
					KC_RESOURCE_INTEGER, KC_RESOURCE_SPECIAL, KC_RESOURCE_TENSOR};
	double all = kc__sum_of_squares(times), of_bandwidth = squares_of(times, bandwidth, sizeof(bandwidth)),
	       of_units = squares_of(times, units, sizeof(units));

	if (!(all > 0))
		return OTHER_HALF_WIDTH;
	return (of_bandwidth * BANDWIDTH_HALF_WIDTH + of_units * UNITS_HALF_WIDTH +
		(all - of_bandwidth - of_units) * OTHER_HALF_WIDTH) /
	       all;
}

float kc_resource_half_width(const struct kc_counts *counts, const struct kc_resource_times *times)
{
	double unsure = fmin(counts->unsure_share, 1), width = half_width_of_times(times);
	double loops = times->total_ns > 0 ? unsure * (1 - times->floor_ns / times->total_ns) : unsure;

	if (counts->assumed & (KC_ASSUMED_UNTOLD | KC_ASSUMED_UNTOLD_TRIPS))
		return (float)TRIPS_HALF_WIDTH;
	if (counts->assumed & KC_ASSUMED_TRIPS)
		return (float)fmax(log1p(loops * expm1(TRIPS_HALF_WIDTH)), width + BRANCH_HALF_WIDTH);
	if (counts->other_architecture)
		return (float)OTHER_CODE_HALF_WIDTH;
	if (counts->assumed & KC_ASSUMED_LENGTH)
		width = fmax(log1p(loops * expm1(LENGTH_HALF_WIDTH)), width);
	if (counts->assumed & KC_ASSUMED_BRANCH)
		width += unsure * BRANCH_HALF_WIDTH;
	return (float)(counts->assumed & KC_ASSUMED_ADDRESS ? fmax(width, ADDRESS_HALF_WIDTH) : width);
}
