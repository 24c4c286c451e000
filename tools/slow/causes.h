/*
 * Which launches of a run took longer than they should, and why.
 *
 * What a launch should have taken is what its peers took (peers.h), corrected by
 * the level of its launch shape in this run (trend.h). The time beyond that is
 * divided among causes: each multiplies what it would have taken without it, in
 * the order of enum kc_slow_cause, and counts only where it is past both limits.
 * So what is put down to KC_SLOW_SLOWER is what compare.h says, and to the last one
 * what a process takes beyond the others of its run (processes.h).
 * What is within the limits, or within the usual scatter of the launch shape, is
 * not lost.
 */
#ifndef KC_SLOW_CAUSES_H
#define KC_SLOW_CAUSES_H

#include "beside.h"
#include "pairs.h"
#include "peers.h"
#include "tools/slow/processes/places.h"
#include "tools/slow/processes/stragglers.h"
#include "tools/diff/compare.h"

#include <stddef.h>
#include <stdint.h>

struct kc_slow_found {
	uint32_t place; /* in the lists of the run */
	uint32_t shape; /* of the names */
	double took_ns, should_ns, lost_ns;
	double parts_ns[KC_SLOW_CAUSES]; /* of lost_ns */
	enum kc_slow_cause cause;        /* the largest of them */
};

struct kc_slow_row { /* a kernel under a cause */
	enum kc_slow_cause cause;
	uint32_t kernel;
	uint64_t launches;
	double took_ns, lost_ns; /* of these launches; lost_ns: by this cause */
};

struct kc_slow {
	struct kc_slow_found *found; /* most time lost first */
	size_t found_count;
	struct kc_slow_row *rows; /* likewise */
	size_t row_count;
	struct kc_slow_stragglers stragglers; /* of KC_SLOW_PROCESS */
	struct kc_slow_pairs beside;          /* of KC_SLOW_OVERLAP: kernels, in proportion to the time that both ran */
	struct kc_slow_pairs processes;       /* of KC_SLOW_PROCESS: rows of the table process */
	struct kc_slow_places places;         /* of all causes */
	struct kc_slow_intervals intervals;   /* of the run */
	struct kc_slow_overlapped overlapped; /* kc_slow_search() fills it */
	struct kc_slow_sum causes[KC_SLOW_CAUSES]; /* lost */
	struct kc_slow_sum lost, measured;
	struct kc_slow_sum judged;      /* measured, but for the next two */
	struct kc_slow_sum unknown;     /* measured launches with too few peers, of processes that are not slower */
	struct kc_slow_sum never_alone; /* overlapped launches whose peers all were, too, and that lost nothing else:
					   what it cost is not known */
};

/* Of the launches that match (kc_measured_moment); their peers may be any. diff: earlier runs against this one; NULL:
 * there are none. 0 or -ENOMEM. *out is to be freed either way. */
int kc_slow_find(const struct kc_slow_runs *runs, const struct kc_diff *diff, const struct kc_diff_limits *limits,
		 struct kc_slow *out);
void kc_slow_free(struct kc_slow *slow);

#endif
