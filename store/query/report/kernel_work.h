/*
 * What kernels did for each second that they were measured to take, and how near
 * that is to what the GPU could do: for launches whose work their code tells, or
 * the operators that launched them.
 *
 * The database keeps what a kernel's cost formula came to for a launch shape and
 * its arguments (table `work`). It counts here where nothing was assumed in it: no
 * branch, address or trip count, and of the code for this GPU.
 *
 * Of launches that were imported it keeps which operator launched them, and what
 * that comes to (tables `launched_by` and `operator`). It counts where it is known
 * how much of it each launch did.
 */
#ifndef KC_KERNEL_WORK_H
#define KC_KERNEL_WORK_H

#include "store/query/query.h"

/* Fills in `work` of the report's kernels, and work_ns: of launches that match the filter, which may be NULL. Launches
 * are read, unless there are more than KC_ACTIVITY_MOST and the report is not exact. 0 or negative errno. */
int kc_query_work(struct kc_store *s, struct kc_filter *filter, struct kc_report *report);

/* Floating-point operations of a launch of these counts: additions (as counts.h has them), multiplications, and two for
 * each that does both, on tensor cores as well. */
double kc_work_flop(const struct kc_counts *counts);
/* Of global memory, that it reads and writes but by atomics, each counted once. */
double kc_work_bytes(const struct kc_counts *counts);

#endif
