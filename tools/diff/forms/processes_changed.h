/*
 * Processes (ranks) that changed as a whole: all kernels of one became slower or
 * faster, and those of the others did not. Collectives are left aside, since what
 * they take is mostly waiting for the last process.
 */
#ifndef KC_DIFF_PROCESSES_CHANGED_H
#define KC_DIFF_PROCESSES_CHANGED_H

#include "tools/diff/compare.h"

struct kc_diff_process {
	double log_change; /* of its kernels together, by their time; NAN: none could be compared */
	double ns;         /* what its kernels, without collectives, took in NEW more than in OLD */
	int is_changed;
};

/* By process of the names; 0: those without a name of their own. NULL: out of memory. To be freed. */
struct kc_diff_process *kc_diff_processes(const struct kc_measured_names *names, const struct kc_diff *diff,
					  const struct kc_diff_limits *limits);

#endif
