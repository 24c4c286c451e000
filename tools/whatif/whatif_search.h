/*
 * What a run would take on another GPU, kernel by kernel.
 *
 *   kc_whatif_part     launches of one shape and arguments: here, there, and what that rests on
 *   kc_whatif_kernel   the sum of a kernel's parts
 *   kc_whatif          the run, its kernels by time, their sum, and the time without kernels
 *
 * The database of the run, and that of the anchor (the same program, measured on the other
 * GPU), share their names. Launches that both have are known there; and what they took
 * there, beyond the law, corrects the others (predictor/solo/elsewhere/elsewhere.h).
 */
#ifndef KC_WHATIF_SEARCH_H
#define KC_WHATIF_SEARCH_H

#include "predictor/solo/elsewhere/elsewhere.h"
#include "tools/together/launch_groups.h"

struct kc_whatif_part {
	uint32_t kernel;    /* of the names */
	uint64_t launches;  /* that were measured */
	double time_ns;     /* of all of them */
	double measured_ns; /* of one of them there, by the anchor; NAN: not timed there */
	double beyond;      /* log(measured there / by law); NAN: not timed there */
	const char *why;    /* it is not known; NULL: it is */
	int is_filling;     /* the other GPU: blocks for one wave at least */
	int is_library;     /* which may choose another kernel there */
	int is_there;       /* the run's own GPU is the other one */
	struct kc_device device;
	struct kc_elsewhere_launch launch;
	struct kc_elsewhere there; /* of one launch */
	double expected_ns;        /* of one there, as if its own time there were not known */
};

struct kc_whatif_sum {
	double here_ns, there_ns, low_ns, high_ns; /* of what is known there */
	double own_ns;                             /* here, of here_ns: of what ran on the other GPU itself */
	double unknown_ns;                         /* here, of what is not */
	double by[KC_ELSEWHERE_COUNT];             /* time here, by evidence */
	double measured_ns, expected_ns; /* of what was timed there, too: the sum, and what would have been told */
	uint64_t timed;                  /* parts of which that is the sum */
	double median_error;             /* of their times, without sign; NAN: none was timed */
};

struct kc_whatif_kernel {
	uint32_t kernel;
	uint64_t launches;
	double time_ns, filling_ns, library_ns; /* here; of launches that fill the other GPU; of libraries */
	const char *why;
	struct kc_whatif_sum sum;
};

/* Starts as zeros. */
struct kc_whatif {
	struct kc_side side, anchor;
	int has_anchor;
	struct kc_measured_names names;
	struct kc_device there;
	struct kc_whatif_part *parts; /* a kernel's after one another */
	size_t part_count;
	struct kc_whatif_kernel *kernels; /* the one that took most time first */
	size_t kernel_count;
	struct kc_whatif_sum sum; /* of all kernels */
	double busy_ns, rest_ns;  /* from a GPU's first kernel to its last one: in kernels, and not; all GPUs */
};

struct kc_whatif_asked {
	const char *run; /* NULL: the latest */
	const struct kc_filter_choice *filter;
	const struct kc_device
	    *from;          /* the GPU of the run, where the database does not tell it; NULL: not known either */
	const char *anchor; /* database; NULL: none */
};

/* side must be open, and `there` filled in. What is wrong is reported on stderr. An exit status. */
int kc_whatif_search(struct kc_whatif *w, const struct kc_whatif_asked *asked);
void kc_whatif_free(struct kc_whatif *w);

/* The evidence of most of the time. */
enum kc_elsewhere_evidence kc_whatif_evidence(const struct kc_whatif_sum *sum);

#endif
