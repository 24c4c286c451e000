/*
 * What changed between runs: measured durations against measured durations.
 *
 * A kernel is slower or faster where its launches, each compared with those of the
 * same launch shape, company and position (units.h), changed by more than
 * kc_diff_limits and by more than chance explains. Of all kernels that are called
 * slower or faster, 5 in 100 at most are so by chance, on average (Benjamini and
 * Hochberg, 1995). A kernel is also called so where only some of its launch shapes
 * changed. A kernel's p is that of all its launches together, or that of its
 * launch shapes (Simes, 1986), the smaller one, times two.
 *
 * A kernel that ran on several processes is compared again on each of them, as
 * kernels of their own (by_process.h), which stay in its place where one of them
 * changed and the whole did not, or another one did not. Half of the false discoveries may then be kernels, half
 * kernels on one process. A baseline knows no processes.
 *
 * The difference between the two sides is the sum of what struct kc_diff_sums names.
 */
#ifndef KC_DIFF_COMPARE_H
#define KC_DIFF_COMPARE_H

#include "tools/diff/statistics/estimate.h"
#include "units.h"

#include "tools/input/filter_options.h"

#define KC_DIFF_FALSE 0.05 /* share of false discoveries */

enum kc_diff_what {
	KC_DIFF_SAME, /* no change that is past the limits and supported */
	KC_DIFF_SLOWER,
	KC_DIFF_FASTER,
	KC_DIFF_FEW,  /* too few measured launches that can be compared */
	KC_DIFF_NEW,  /* OLD has not launched it */
	KC_DIFF_GONE, /* NEW has not launched it */
};

struct kc_diff_limits {
	double over;     /* a change is at least so large: 0.05 for 5 % */
	double floor_ns; /* and at least so long, for a launch */
};

/* Shapes of a kernel with enough launches. */
struct kc_diff_shape {
	uint32_t shape;
	enum kc_diff_what what;
	struct kc_diff_estimate estimate;
	double p;
};

/* Of the launches that are compared, those that ran alone, or overlapped. */
struct kc_diff_by_company {
	double launches;    /* of NEW */
	double log_change;  /* mean; 0: there are none */
	double squares, df; /* of the logarithms of both sides, within their cells; degrees of freedom */
};

struct kc_diff_kernel {
	uint32_t kernel; /* of the names */
	enum kc_diff_what what;
	double launches[KC_SIDES]; /* measured, of one run or step: the mean of the side's */
	double total_ns[KC_SIDES]; /* likewise */
	struct kc_diff_estimate estimate;
	double p, q; /* q: p for all kernels together; both 1 where it was not compared */
	/* What is shown of a change: of all launches that were compared, or, where they as a whole did not change, of
	 * those launch shapes that did. 0 where nothing was compared. */
	double shown_launches, shown_ns[KC_SIDES]; /* launches: of NEW, per run or step */
	double lost_ns;                            /* by these launches of NEW */
	double mix_ns;   /* of the difference of total_ns: by launches more or fewer, of other shapes, or at other
			    positions */
	double count_ns; /* of mix_ns: by launches more or fewer, at the mean duration of OLD; new, gone: 0, as below */
	double sizes_ns; /* of mix_ns: by launches of other shapes. What is left of it is by other positions */
	double company_ns; /* as mix_ns: by more or fewer of the launches being overlapped */
	double detectable; /* the least slowdown that would have been reported; NAN: none would */
	uint32_t
	    replaced; /* new, gone: the kernel that came in its place, or that it came in place of; KC_DIFF_NOWHERE */
	uint32_t first_shape, shapes; /* of kc_diff.shapes */
	struct kc_diff_by_company company[KC_COMPANIES];
	int is_collective;       /* kc_diff_is_collective() */
	uint32_t whole, process; /* of a kernel on one process: the kernel, the process; else itself and 0 */
};

struct kc_diff_sums { /* ns; NEW less OLD. difference = all others together */
	double difference;
	double slower, faster; /* launches that were compared, of kernels that are reported */
	double new, gone;      /* kernels */
	double mix;            /* launches more or fewer, of other shapes, or at other positions */
	double company;        /* more or fewer launches overlapped */
	double rest;           /* what is not past the limits, or may be chance */
};

struct kc_diff {
	struct kc_diff_kernel *kernels; /* by time lost, most first: slower, faster; then all others by time */
	size_t count;
	struct kc_diff_kernel *parts; /* of each kernel that several processes launched, on each of them */
	size_t part_count;
	struct kc_diff_kernel *divided; /* kernels that are shown by their parts, as a whole */
	size_t divided_count;
	struct kc_diff_shape *shapes;
	size_t shape_count;
	size_t compared;     /* kernels */
	size_t on_processes; /* comparisons of kernels on one process */
	struct kc_diff_sums sums;
	double total_ns[KC_SIDES];
	double of[KC_SIDES]; /* runs or steps that all sums are the means of */
	uint32_t old_runs;
	double
	    between; /* standard deviation of a kernel between the OLD runs, median, of the logarithm; NAN: one run */
	struct kc_diff_pooled pooled;
};

/* Adds kernels on one process to the names. 0 or -ENOMEM. *out is to be freed either way. */
int kc_diff_compare(struct kc_measured_names *names, const struct kc_diff_input inputs[KC_SIDES],
		    const struct kc_diff_limits *limits, struct kc_diff *out);
/* Whether a slower kernel is so only beside others: alone it changed by less than half of the limit, and two
 * standard errors more are below it. */
int kc_diff_only_overlapped(const struct kc_diff_kernel *kernel, const struct kc_diff_limits *limits);
/* Puts the kernels in another order, slower and faster ones first all the same. */
void kc_diff_sort(struct kc_diff *diff, enum kc_sort by);
void kc_diff_free(struct kc_diff *diff);

#endif
