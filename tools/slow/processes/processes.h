/*
 * Which processes of a run are slower than the others throughout: as a whole, as
 * on a slow GPU, or at single launch shapes.
 *
 * The level of a process, for a launch shape with its arguments, is that of its
 * launches that ran alone, its kernel's first one left out. A process is slower as
 * a whole where its levels, together, are above the one in the middle of all
 * processes' levels (of two in the middle, the lower) by more than half of the limit
 * and more than chance explains, in each quarter of the run (whole_process.h). All
 * its launches then cost so much more, or what their own shape differs by, where
 * that is known to be something else.
 *
 * At one launch shape, a level is compared with the one that at least half of the
 * other processes reach. A process is slower there where both the median and the
 * fastest part of its run are, by more than its own parts are apart: one that was slow
 * for a while has drifted. One that became slower in all that it does is so from there on
 * (onset.h). Where processes are far from one another at
 * most launch shapes, as far is nothing. What all of this costs a process must be
 * KC_SLOW_PROCESS_LEAST of its time, else it is left out.
 */
#ifndef KC_SLOW_PROCESSES_H
#define KC_SLOW_PROCESSES_H

#include "tools/diff/compare.h"

#include <stddef.h>
#include <stdint.h>

#define KC_SLOW_PROCESS_LEAST 0.0075 /* share of a process's time that its slower launch shapes cost */

struct kc_slow_timed {
	double log;       /* of the duration in ns */
	uint32_t alike;   /* number of the launch shape and arguments, from 0 */
	uint32_t process; /* number within the run, from 0 */
	uint8_t tells;    /* the level */
	uint8_t waits;    /* for other processes, as in a collective: what it takes tells nothing of its process */
};

struct kc_slow_excess {
	double log;      /* by how much its process is slower than the others, of the logarithm; 0: it is not */
	uint32_t others; /* processes with a level at this launch shape, or any: most of all shapes */
	uint8_t whole;   /* its process is slower as a whole */
	uint8_t late;    /* its process became slower in all that it does, here or before */
};

/* timed: launches of one run, those of a process as they came. out: of each launch; 0, too, where it is not past the
 * limits, not more than chance explains, or not known. 0 or -ENOMEM. */
int kc_slow_processes(const struct kc_slow_timed *timed, size_t count, const struct kc_diff_limits *limits,
		      struct kc_slow_excess *out);

#endif
