/*
 * The time of a launch by itself, before it runs.
 *
 *   kc_model   where a prediction came from
 *   kc_solo    the prediction: time and 90 % interval
 *
 * A launching thread needs a kc_work (work.h) and the beliefs published of its
 * launch shape, kernel and device (lambda.h). No function here allocates, locks
 * or reads a clock.
 */
#ifndef KC_FORECAST_H
#define KC_FORECAST_H

#include "lambda.h"

#include <stdint.h>

enum kc_model {
	KC_MODEL_NONE = 0,
	KC_MODEL_BSP_DEVICE = 1, /* λ of the device: kernel not measured before */
	KC_MODEL_BSP_KERNEL = 2, /* λ of kernel, block shape and resources */
	KC_MODEL_BSP_SHAPE = 3,  /* λ of the launch shape as well */
	KC_MODEL_BSP_CODE = 4,   /* the code's work and λ of the device */
	KC_MODEL_BSP_SIZES = 5,  /* the code's work and other sizes that were measured */
	KC_MODEL_CONTEXT = 6,    /* earlier launches of the shape, by what came before them */
	KC_MODEL_MIX = 7,        /* several of the above */
	KC_MODEL_SCALING = 8,    /* other sizes that were measured, without the code's work (scaling.h) */
	KC_MODELS,
};
const char *kc_model_name(uint32_t model);

/* Design.md, "Words" */
enum kc_novelty {
	KC_FIRST_SEEN = 0,
	KC_NEW_SIZE = 1,
	KC_REPEATED = 2,
};

/* From the measurements known of this launch shape and of its kernel. */
enum kc_novelty kc_novelty(uint32_t of_shape, uint32_t of_kernel);

struct kc_solo {
	int64_t ns, low_ns, high_ns; /* 90 % interval */
	float half_width;            /* of it, in log time */
	uint32_t model;              /* enum kc_model */
	uint32_t state;
};

/* Prediction from the first belief of shape, key, device with count > 0; from
 * the built-in prior where none has. Any of the three may be NULL. */
struct kc_solo kc_forecast_solo(const struct kc_work *work, const struct kc_belief *shape, const struct kc_belief *key,
				const struct kc_belief *device);

#endif
