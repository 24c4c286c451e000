/*
 * What every model says of a launch whose counts are known.
 *
 *   kc_counted_launch   what is launched, and what each of its threads does
 *   kc_launch_times     its occupancy on a device, its time there by what it demands of
 *                       each resource, and each model's
 *
 * `kerncast predict` and `kerncast explain` both print these, so that their answers agree.
 */
#ifndef KC_LAUNCH_TIMES_H
#define KC_LAUNCH_TIMES_H

#include "predictor/papers/models.h"
#include "predictor/solo/resources/resources.h"

#include <stddef.h>

#define KC_LAMBDA_NOT_LEARNED 1.0 /* then BSP's time has no meaning of its own */

struct kc_counted_launch {
	struct kc_resources resources; /* 0 where not known */
	struct kc_shape shape;
	struct kc_counts counts;
};

struct kc_launch_times {
	struct kc_work work;
	struct kc_resource_times resources;
	double low_ns, high_ns; /* 90 % interval of the resources' time, cut at the bound */
	double bound_ns;        /* no launch is faster; 0: not known, as the counts are not exact */
	uint32_t bound_by;      /* enum kc_resource; KC_RESOURCE_COUNT: an empty kernel */
	struct kc_model_times models;
};

/* 0; -ERANGE: it cannot run there; -EINVAL: the device's clock is not known. why gets a sentence. */
int kc_launch_times(const struct kc_device *device, const struct kc_counted_launch *launch, double lambda,
		    struct kc_launch_times *times, char *why, size_t why_size);

/* An estimate, a table of what each model says, and what to bear in mind about them. BSP is left out where λ was not
 * learned. 0 or -ENOMEM. */
int kc_models_print(const struct kc_launch_times *times, const struct kc_counts *counts, double lambda,
		    unsigned indent);

#endif
