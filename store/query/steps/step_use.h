/*
 * What each step took: on the host, and on the GPUs, of the kernels and copies that
 * were launched in it, whenever they ran.
 *
 *   kc_step_use       one step of a process; or what a process launched in no step
 *   kc_steps_report   those of the runs of a report, by process and time; where
 *                     repeats are nested, the outer ones come first
 *
 * It is made from the rows of launches, those that match the filter; of a process
 * they are in memory at once, 48 bytes each, and some 80 while steps are searched
 * for (step_search.h). Of a report that is not exact no more
 * than KC_ACTIVITY_MOST rows are read (activity.h).
 */
#ifndef KC_STEP_USE_H
#define KC_STEP_USE_H

#include "store/query/filter.h"
#include "store/query/query.h"
#include "step_search.h"

struct kc_step_use {
	char *name; /* "step 3", of what is nested "outer repeat 3", "inner repeat 12"; "outside of steps"; where the
		       runs have several processes, "rank 1 (pid 2001), step 3" */
	int64_t process;
	int64_t number;              /* -1: in no step */
	int is_inner;                /* 1: of what is nested */
	int is_found;                /* 1: its run tells no steps, and they were searched for in the process */
	double at_ns;                /* its start, since that of the process; NAN: in no step */
	double time_ns;              /* from its start to its end, on the host; NAN: in no step, or its end is not
					known (steps.h) */
	uint64_t launches, measured; /* kernels */
	uint64_t copies;             /* or memsets, that were measured */
	double measured_ns;          /* sum over its kernels */
	uint64_t matched;            /* kernels that were predicted and measured */
	double matched_ns;           /* sum of what these took; NAN, as the next two: there are none */
	double predicted_ns;         /* sum of what was predicted that they would take */
	double predicted_off;        /* predicted_ns less matched_ns, as a share of matched_ns */
	double busy_ns;              /* of GPUs, added up: a kernel or a copy ran */
	double exposed_ns;           /* likewise: a kernel communicated, and none computed */
};

struct kc_steps_report {
	int too_many;  /* nothing was made */
	int has_steps; /* 0: the runs have none, and nothing was made */
	struct kc_step_use *at;
	size_t count;
	struct kc_step_search *searches; /* of each process whose run tells no steps, if they were to be searched for */
	size_t search_count;
};

/* search: whether to search for steps where a run tells none. 0 or -errno. Free *out with
 * kc_steps_report_free(). */
int kc_query_steps(struct kc_store *s, const struct kc_report *report, struct kc_filter *filter, int search,
		   struct kc_steps_report **out);
void kc_steps_report_free(struct kc_steps_report *steps);

#endif
