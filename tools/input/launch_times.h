/*
 * What every model says of a launch whose counts are known.
 *
 *   kc_counted_launch   what is launched, and what each of its threads does
 *   kc_launch_times     how it lies on a device, and how long it takes there
 *
 * `kerncast predict` and `kerncast explain` ask here, so that they say the same.
 */
#ifndef KC_LAUNCH_TIMES_H
#define KC_LAUNCH_TIMES_H

#include "predictor/solo/forecast.h"
#include "predictor/papers/models.h"

#include <stddef.h>

#define KC_LAMBDA_NOT_LEARNED 1.0

struct kc_counted_launch {
	struct kc_resources resources; /* 0 where not known */
	struct kc_shape shape;
	struct kc_counts counts;
};

struct kc_launch_times {
	struct kc_work work;
	struct kc_model_times models;
};

/* 0; -ERANGE: it cannot run there; -EINVAL: the device's clock is not known. why gets a sentence. */
int kc_launch_times(const struct kc_device *device, const struct kc_counted_launch *launch, double lambda,
		    struct kc_launch_times *times, char *why, size_t why_size);

/* A table. 0 or -ENOMEM. */
int kc_models_print(const struct kc_model_times *times, unsigned indent);
/* What to bear in mind, a line each: λ that was not learned; counts that rest on assumptions. */
void kc_models_print_lambda(double lambda, unsigned indent);
void kc_models_print_assumed(const struct kc_counts *counts, unsigned indent);

#endif
