#include "forecast.h"

#include "predictor/math/duration.h"
#include "predictor/solo/resources/resources.h"

/* Half widths of 90 % intervals in log time, before anything was measured on the device. Log times per thread of the
 * recorded applications spread by about 2: 1.645 · 2. */
#define PRIOR_HALF_WIDTH 3.3f

const char *kc_model_name(uint32_t model)
{
	static const char *const names[] = {"none",      "bsp-device", "bsp-kernel", "bsp-shape", "bsp-code",
					    "bsp-sizes", "context",    "mix",        "scaling",   "prior"};

	return model < sizeof(names) / sizeof(names[0]) ? names[model] : "unknown";
}

const char *kc_novelty_name(uint32_t novelty)
{
	static const char *const names[] = {"first_seen", "new_size", "repeated"};

	return novelty < sizeof(names) / sizeof(names[0]) ? names[novelty] : "unknown";
}

static struct kc_solo solo_of(const struct kc_work *work, const struct kc_belief *belief, uint32_t model)
{
	double ns = work->launch_ns + work->unit_ns * (double)belief->factor;

	return (struct kc_solo){
	    .ns = kc__whole_ns(ns),
	    .low_ns = kc__whole_ns(ns / (double)belief->width),
	    .high_ns = kc__whole_ns(ns * (double)belief->width),
	    .half_width = belief->half_width,
	    .model = model,
	    .state = belief->state,
	};
}

/* Nothing was measured of the kernel, but its code tells what it takes at least. */
static struct kc_solo of_the_code(const struct kc_work *work, const struct kc_belief *belief)
{
	struct kc_solo solo = solo_of(work, belief, KC_MODEL_BSP_CODE);

	solo.low_ns = kc__whole_ns(kc_resource_low_ns((double)solo.ns, (double)belief->width, work->counted_least_ns));
	return solo;
}

/* Where the work is counted, other kernels' λ may correct its time, but how far they are apart says no more of it than
 * what its code leaves unknown. */
static struct kc_belief of_the_device(const struct kc_work *work, const struct kc_belief *device)
{
	if (work->counted && device->half_width > work->counted_half_width)
		return kc_belief_of(device->log_lambda, work->counted_half_width, device->count, device->state);
	return *device;
}

/* The belief closest to the launch wins. */
struct kc_solo kc_forecast_solo(const struct kc_work *work, const struct kc_belief *shape, const struct kc_belief *key,
				const struct kc_belief *device)
{
	struct kc_belief prior;

	if (shape && shape->count)
		return solo_of(work, shape, KC_MODEL_BSP_SHAPE);
	if (key && key->count)
		return solo_of(work, key, KC_MODEL_BSP_KERNEL);
	if (device && device->count) {
		prior = of_the_device(work, device);
		return work->counted ? of_the_code(work, &prior) : solo_of(work, &prior, KC_MODEL_BSP_DEVICE);
	}
	if (work->counted) {
		prior = kc_belief_of(KC__PRIOR_LOG_LAMBDA, work->counted_half_width, 0, 0);
		return of_the_code(work, &prior);
	}
	prior = kc_belief_of(KC__PRIOR_LOG_LAMBDA, PRIOR_HALF_WIDTH, 0, 0);
	return solo_of(work, &prior, KC_MODEL_BSP_DEVICE);
}
