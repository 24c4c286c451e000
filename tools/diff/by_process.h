/*
 * Kernels divided by process: the launches of "gemm" on the process "rank 1" become
 * those of a kernel of its own, "gemm on rank 1". Processes count as others
 * together, "gemm on other processes", where they have no name that is theirs
 * alone in their run, or one side lacks it.
 */
#ifndef KC_DIFF_BY_PROCESS_H
#define KC_DIFF_BY_PROCESS_H

#include "units.h"

/* What a kernel that is a part is a part of. */
struct kc_diff_part {
	uint32_t kernel, process; /* process: 0: all that have no name of their own on both sides */
};

struct kc_diff_by_process {
	struct kc_measured_run *runs; /* of both sides, with their parts' launch shapes in place of divided kernels' */
	size_t count;
	struct kc_diff_input inputs[KC_SIDES];
	uint32_t first;        /* kernel that is a part, of the names */
	struct kc__list parts; /* struct kc_diff_part, of each kernel from first on */
};

/* Divides kernels of which several processes were measured; there are none where parts is empty. inputs: runs on both
 * sides. 0 or -ENOMEM. *out is to be freed either way, before the runs. */
int kc_diff_by_process(struct kc_measured_names *names, const struct kc_diff_input inputs[KC_SIDES],
		       struct kc_diff_by_process *out);
/* What it is a part of; of any other kernel, itself. */
struct kc_diff_part kc_diff_part_of(const struct kc_diff_by_process *by_process, uint32_t kernel);
/* Whether the processes of a run wait for one another in a kernel of this name, as in NCCL's. What such a
 * kernel takes on one process tells of the others. */
int kc_diff_is_collective(const char *name);
void kc_diff_by_process_free(struct kc_diff_by_process *by_process);

#endif
