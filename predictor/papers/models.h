/* Predicts one launch by every model, from its counts of operations and memory accesses (struct kc_counts). */
#ifndef KC_MODELS_H
#define KC_MODELS_H

#include "boathull.h"
#include "bsp.h"
#include "cycle.h"
#include "roofline.h"

#include <stdint.h>

/* Solo times in ns, without the fixed cost of a launch. */
struct kc_model_times {
	double bsp_ns;                         /* Equations 3 to 5 */
	double cycle_max_ns, cycle_sum_ns;     /* latency hidden, and not */
	enum kc_boathull_class boathull_class; /* KC_BOATHULL_NONE: the two below are NAN */
	double boathull_low_ns, boathull_high_ns;
	double roofline_low_ns, roofline_high_ns;
};

/*
 * lambda: of the BSP model, > 0, 1 where nothing was measured. 0; -EINVAL:
 * blocks or threads of a block are 0, or the device lacks SMs, cores or clock.
 */
int kc_model_times(const struct kc_device *device, uint64_t blocks, uint32_t threads_per_block,
		   const struct kc_counts *counts, double lambda, struct kc_model_times *times);

#endif
