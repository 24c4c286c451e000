/*
 * What a recorded launch asked its GPU for, as far as the database tells: its work from the
 * launch shape and the kernel's attributes, and its counts where the kernel's code told
 * them (table `work`).
 */
#ifndef KC_LAUNCH_DEMAND_H
#define KC_LAUNCH_DEMAND_H

#include "predictor/code/counts.h"
#include "predictor/solo/work.h"
#include "store/database/store.h"

#include <stdint.h>

struct kc_launch_demand {
	int64_t device_id;
	struct kc_device device; /* of a GPU whose figures a trace does not tell, those of a built-in one of its name */
	struct kc_work work;
	int is_counted;
	struct kc_counts counts;
};

/* id: of the row in `launch_row`. otherwise: the GPU where neither its figures nor its name are known; NULL: then there
 * is none. 0; -ENODATA: the launch or its GPU is not known, out->device_id may be; another -errno. */
int kc_launch_demand(struct kc_store *s, int64_t id, const struct kc_device *otherwise, struct kc_launch_demand *out);

#endif
