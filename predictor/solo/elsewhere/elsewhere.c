#include "elsewhere.h"

#include <math.h>

#define STEEPNESS (1 / 0.3) /* of the share over log bytes: from 90 to 10 % within a factor of 4 */

/* Of both, as far as the target is not among what they were chosen on: elsewhere_trace_test.c. */
static const struct kc_elsewhere_law within = {.bytes = 15, .low = 0, .high = 0.85, .unknown = 0.8, .half_width = 0.25};
static const struct kc_elsewhere_law across = {
    .bytes = 30, .low = 0.1, .high = 0.85, .unknown = 0.8, .half_width = 0.7};

/* What other kernels tell is taken by half: a median of five is off by as much as the law is. */
#define OTHERS_SHARE 0.35
#define SIZE_SHARE 0.9
#define SIZE_HALF_WIDTH 0.6
#define OTHERS_HALF_WIDTH 0.7
#define NEW_HALF_WIDTH 0.9

/* Half widths from which on it is told that a launch is faster or slower there. */
#define SURE 0.35

const char *kc_elsewhere_key(enum kc_elsewhere_evidence evidence)
{
	static const char *const keys[] = {
#define X(constant, key, text) key,
	    KC_ELSEWHERE_EVIDENCES(X)
#undef X
	};

	return keys[evidence];
}

const char *kc_elsewhere_text(enum kc_elsewhere_evidence evidence)
{
	static const char *const texts[] = {
#define X(constant, key, text) text,
	    KC_ELSEWHERE_EVIDENCES(X)
#undef X
	};

	return texts[evidence];
}

/* Its oldest capability as a number such as 75. Source: CUDA C++ programming guide, compute capabilities. */
static uint32_t architecture(const struct kc_device *device)
{
	uint32_t capability = 10 * device->cc_major + device->cc_minor;

	if (capability == 75 || capability == 89)
		return capability;
	return device->cc_major >= 10 ? 100 : 10 * device->cc_major;
}

/* Kepler to Ampere. */
static int was_in_training(const struct kc_device *device)
{
	uint32_t of = architecture(device);

	return of >= 30 && of <= 80;
}

int kc_elsewhere_is_within(const struct kc_device *here, const struct kc_device *there)
{
	return architecture(here) == architecture(there) && here->cores_per_sm == there->cores_per_sm;
}

const struct kc_elsewhere_law *kc_elsewhere_law(const struct kc_device *here, const struct kc_device *there)
{
	return kc_elsewhere_is_within(here, there) ? &within : &across;
}

static double waves_factor(double waves)
{
	return sqrt(1 + waves * waves);
}

/* From `high`, where memory can have moved few bytes for a thread, to `low`. */
static double memory_share(const struct kc_elsewhere_law *law, const struct kc_device *here,
			   const struct kc_elsewhere_launch *launch)
{
	double bytes;

	if (!(launch->threads > 0))
		return law->unknown;
	bytes = launch->ns / 1e9 * (double)here->memory_bytes_per_s / launch->threads;
	return law->low + (law->high - law->low) / (1 + pow(bytes / law->bytes, STEEPNESS));
}

double kc_elsewhere_log_ratio(const struct kc_elsewhere_law *law, const struct kc_device *here,
			      const struct kc_device *there, const struct kc_elsewhere_launch *launch)
{
	double memory = log((double)here->memory_bytes_per_s / (double)there->memory_bytes_per_s);
	double clock = log((double)here->clock_khz / (double)there->clock_khz);
	double share = memory_share(law, here, launch);
	double waves = launch->threads > 0 ? waves_factor(launch->waves_there) / waves_factor(launch->waves_here)
					   : (double)here->sm_count / (double)there->sm_count;

	return share * memory + (1 - share) * (log(waves) + clock);
}

static void tell(double ns, double half_width, enum kc_elsewhere_evidence evidence, struct kc_elsewhere *out)
{
	*out = (struct kc_elsewhere){ns, ns * exp(-half_width), ns * exp(half_width), evidence};
}

static void by_law(const struct kc_elsewhere_law *law, const struct kc_device *here, const struct kc_device *there,
		   double ns, struct kc_elsewhere *out)
{
	if (kc_elsewhere_is_within(here, there))
		tell(ns, law->half_width, KC_ELSEWHERE_WITHIN, out);
	else if (was_in_training(here) && was_in_training(there))
		tell(ns, law->half_width, KC_ELSEWHERE_ACROSS, out);
	else
		tell(ns, NEW_HALF_WIDTH, KC_ELSEWHERE_NEW, out);
}

void kc__elsewhere_by(const struct kc_elsewhere_law *law, const struct kc_device *here, const struct kc_device *there,
		      const struct kc_elsewhere_launch *launch, const struct kc_elsewhere_anchors *anchors,
		      struct kc_elsewhere *out)
{
	double ns = launch->ns * exp(kc_elsewhere_log_ratio(law, here, there, launch));

	if (!isnan(anchors->size))
		tell(ns * exp(SIZE_SHARE * anchors->size), SIZE_HALF_WIDTH, KC_ELSEWHERE_SIZE, out);
	else if (anchors->count >= KC_ELSEWHERE_OTHERS_LEAST)
		tell(ns * exp(OTHERS_SHARE * anchors->others), OTHERS_HALF_WIDTH, KC_ELSEWHERE_OTHERS, out);
	else
		by_law(law, here, there, ns, out);
}

void kc_elsewhere(const struct kc_device *here, const struct kc_device *there, const struct kc_elsewhere_launch *launch,
		  const struct kc_elsewhere_anchors *anchors, struct kc_elsewhere *out)
{
	kc__elsewhere_by(kc_elsewhere_law(here, there), here, there, launch, anchors, out);
}

int kc_elsewhere_verdict(double here_ns, double there_ns, double high_ns)
{
	double least = SURE * log(high_ns / there_ns), difference = log(there_ns / here_ns);

	if (difference < -least)
		return -1;
	return difference > least;
}
