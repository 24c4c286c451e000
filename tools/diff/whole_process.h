/*
 * Processes (ranks) of a run that differ from the others as a whole: in all that they
 * do, not in one kernel.
 *
 * A process differs by the mean of its parts, weighted by their time, less the median
 * of the other processes: by more than the limit and three standard errors, and at
 * least three quarters of its time by at least half as much, in two parts at least.
 * Where more than half of several processes would, none does.
 */
#ifndef KC_DIFF_WHOLE_PROCESS_H
#define KC_DIFF_WHOLE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* A kernel, or launch shape, on a process. */
struct kc_whole_part {
	uint32_t process;
	double log, error; /* by how much its launches take longer, of the natural logarithm; standard error */
	double weight;     /* their time in ns */
};

struct kc_whole_process {
	double log, error; /* of its parts together; NAN: it has none */
	int differs;
};

/* out: of the processes 0 to count - 1. least: the limit, of the logarithm. 0 or -ENOMEM. */
int kc_whole_processes(const struct kc_whole_part *parts, size_t n, double least, struct kc_whole_process *out,
		       size_t count);

#endif
