/*
 * Which processes of a run are slower than the others throughout.
 *
 * The level of a process, for a launch shape with its arguments, is that of its
 * launches that ran alone, its kernel's first one left out. It is compared with
 * the level that at least half of the other processes reach. A process is slower
 * where both the median and the fastest part of its run are, by more than its own
 * parts are apart: one that became slow, or was so for a while, has drifted.
 */
#ifndef KC_SLOW_PROCESSES_H
#define KC_SLOW_PROCESSES_H

#include "tools/diff/compare.h"

#include <stddef.h>
#include <stdint.h>

struct kc_slow_timed {
	double log;       /* of the duration in ns */
	uint32_t alike;   /* number of the run, launch shape and arguments */
	uint32_t process; /* within all runs */
	int tells;        /* the level */
};

/* timed: those of a process as they came. By how much the process of each is slower at it than the others, of the
 * logarithm; 0: not past the limits, not more than chance explains, or not known. 0 or -ENOMEM. */
int kc_slow_processes(const struct kc_slow_timed *timed, size_t count, const struct kc_diff_limits *limits,
		      double *out);

#endif
