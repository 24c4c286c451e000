/*
 * The measured launches of a run, alike ones together: of one kernel, launch shape and
 * arguments, for `kerncast pairs`, `kerncast tune` and `kerncast whatif`.
 *
 *   kc_timed           a measured launch that matches the filter
 *   kc_launch_group    launches that are alike, as a part of the sorted list
 *   kc_launch_groups   all of them, those of a kernel after one another
 *   kc_group_kernel    a kernel, as the launch shape and arguments that took most of its time
 */
#ifndef KC_LAUNCH_GROUPS_H
#define KC_LAUNCH_GROUPS_H

#include "store/query/measured.h"
#include "tools/diff/side.h"

#include <stddef.h>
#include <stdint.h>

struct kc_timed {
	uint32_t kernel, shape, arguments, place; /* place: in the run */
	int64_t ns;
	int is_alone;
};

/* Launches of one shape and arguments, by their place in the sorted list; those that ran alone first, the shortest of
 * these first. */
struct kc_launch_group {
	uint32_t kernel;
	size_t first, count, alone;
	double time_ns;
};

struct kc_launch_groups {
	struct kc_timed *timed;
	size_t timed_count;
	struct kc_launch_group *at;
	size_t count;
	double *solo_ns; /* by place in the run; 0: nothing like it ran alone */
};

struct kc_group_kernel {
	uint32_t kernel;       /* of the names */
	uint64_t launches;     /* that were measured */
	double time_ns, share; /* of these; share of all kernels' time */
	double solo_ns;        /* of the launch shape and arguments */
	uint64_t alone;        /* launches that this is the median of; 0: none ran alone */
	uint32_t place;        /* of one of them, in the run */
	int64_t launch;        /* row of that one */
};

/* Of the side's first run, which was read with moments. 0 or -ENOMEM. To be freed in either case. */
int kc_launch_groups_of(const struct kc_side *side, const struct kc_measured_names *names, struct kc_launch_groups *g);
void kc_launch_groups_free(struct kc_launch_groups *g);

/* The kernels, those that took most time first. *kernels is to be freed. 0 or -ENOMEM. */
int kc_launch_groups_kernels(const struct kc_side *side, const struct kc_launch_groups *g,
			     struct kc_group_kernel **kernels, size_t *count);

/* Takes the kernel as the launches of another group of its. */
void kc_launch_groups_take(const struct kc_side *side, const struct kc_launch_groups *g,
			   const struct kc_launch_group *group, struct kc_group_kernel *kernel);

/* The median of those that ran alone, or of all of them if none did. */
static inline const struct kc_timed *kc_launch_group_middle(const struct kc_launch_groups *g,
							    const struct kc_launch_group *group)
{
	return &g->timed[group->first + (group->alone ? group->alone : group->count) / 2];
}

#endif
