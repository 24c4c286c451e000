/*
 * The time of a launch by itself, before it runs.
 *
 *   kc_model   where a prediction came from
 *   kc_solo    the prediction: time and 90 % interval
 *
 * A launching thread needs a kc_work (work.h) and the published beliefs of the
 * launch shape, kernel and device (lambda.h). No function here allocates, locks or
 * reads a clock.
 */
#ifndef KC_FORECAST_H
#define KC_FORECAST_H

#include "lambda.h"

#include <stdint.h>

enum kc_model {
	KC_MODEL_NONE = 0,
	KC_MODEL_BSP_DEVICE = 1, /* λ of the device: the kernel was not measured before */
	KC_MODEL_BSP_KERNEL = 2, /* λ of kernel, block shape and resources */
	KC_MODEL_BSP_SHAPE = 3,  /* λ of the launch shape */
	KC_MODEL_BSP_CODE = 4,   /* work counted in the code, and λ of the device */
	KC_MODEL_BSP_SIZES = 5,  /* work counted in the code, and measured times of other sizes (counted.h) */
	KC_MODEL_CONTEXT = 6,    /* earlier launches of the shape, told apart by what came before them */
	KC_MODEL_MIX = 7,        /* several of the above */
	KC_MODEL_SCALING = 8,    /* measured times of other sizes, without the code's work (scaling.h) */
	KC_MODEL_PRIOR = 9,      /* what such kernels take on other machines: the kernel was not measured before */
	KC_MODELS,
};
const char *kc_model_name(uint32_t model);

/* What was known of a launch when it was predicted. */
enum kc_novelty {
	KC_FIRST_SEEN = 0,
	KC_NEW_SIZE = 1,
	KC_REPEATED = 2,
};
/* "first_seen", "new_size", "repeated". */
const char *kc_novelty_name(uint32_t novelty);

/* Arguments: measurements known of the launch shape, and of its kernel. */
static inline enum kc_novelty kc_novelty(uint32_t of_shape, uint32_t of_kernel)
{
	return of_shape ? KC_REPEATED : of_kernel ? KC_NEW_SIZE : KC_FIRST_SEEN;
}

struct kc_solo {
	int64_t ns, low_ns, high_ns; /* 90 % interval */
	float half_width;            /* of it, in log time */
	uint32_t model;              /* enum kc_model */
	uint32_t state;
};

/* Uses the first belief with count > 0 of shape, key, device; the built-in prior where there is none. Each may be NULL.
 */
struct kc_solo kc_forecast_solo(const struct kc_work *work, const struct kc_belief *shape, const struct kc_belief *key,
				const struct kc_belief *device);

#endif
