/*
 * What a recorded launch asked its GPU for, as far as the database tells: its work from the
 * launch shape and the kernel's attributes, and its counts where the kernel's code told
 * them (table `work`). And what it was made of: the kernel, what the driver told of it, where its
 * code may lie, and the arguments on which its work depends.
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

/* To be freed. */
struct kc_launch_code {
	char *mangled;
	char *path;      /* a file that may have its code, which nobody vouches for; "": none is known */
	char *module;    /* where else it came from; "": not known */
	char *state;     /* `kernel.code` */
	char *arguments; /* as `launch.arguments`; "": none, or not known */
	struct kc_shape shape;
	struct kc_resources resources;
};

/* id: of the row in `launch_row`. 0; -ENODATA: there is none; another -errno. */
int kc_launch_code(struct kc_store *s, int64_t id, struct kc_launch_code *out);
void kc_launch_code_free(struct kc_launch_code *code);

#endif
