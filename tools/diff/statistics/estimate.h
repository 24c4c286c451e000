/*
 * How much slower or faster the launches of a group of units became, and how
 * sure that is.
 *
 * The logarithms of the durations of each cell are compared, NEW less OLD, and
 * the differences weighed by the launches in the cell and by how little its unit
 * scatters. The variance of the mean comes from batches of cells that follow one
 * another in the runs, not from single launches, as neighbours are not
 * independent; what is left of that between batches is corrected (lag-1
 * autocorrelation), and the error is never taken to be less than 0.3 %. Where times
 * are multiples of a tick and scatter less than it, a change may be that much
 * smaller than it looks. With several OLD runs, the variance between runs is added.
 */
#ifndef KC_DIFF_ESTIMATE_H
#define KC_DIFF_ESTIMATE_H

#include "tools/diff/units.h"

#define KC_DIFF_OLD_MOST 16u /* runs */
#define KC_DIFF_LAUNCHES 8.0 /* of each side, to be compared at all */
#define KC_DIFF_CELLS 4u     /* likewise */

struct kc_diff_estimate {
	double launches[KC_SIDES]; /* compared */
	double ns[KC_SIDES];       /* mean duration of a compared launch, both as often as in NEW; NAN: none */
	uint32_t cells;
	int enough;         /* 0: too few launches or cells; nothing below is set */
	double log_change;  /* NEW less OLD */
	double variance;    /* of log_change, by batches */
	double df;          /* its degrees of freedom */
	double scatter;     /* variance of a launch's logarithm within a cell; NAN: not known */
	double lag, lag_of; /* sum of products of neighbouring batches; sum of their squares */
	double batches;     /* as many of equal weight as tell as much */
	double between;     /* variance between the OLD runs; NAN: there is one */
	double error;       /* standard error of log_change; this and the next two: kc_diff_finish() */
	double error_df;
	double coarse; /* what of log_change may come from coarse times alone */
};

/* Units first to last - 1. 0 or -ENOMEM. */
int kc_diff_estimate(const struct kc_diff_units *units, size_t first, size_t last, uint32_t old_runs,
		     struct kc_diff_estimate *out);

/* What is taken from all groups together. */
struct kc_diff_pooled {
	double autocorrelation; /* of neighbouring batches, 0..0.9 */
	double between;         /* median of kc_diff_estimate.between; NAN: one OLD run */
	uint32_t old_runs;
	double tick_ns; /* all durations are multiples of it */
};

/* Sets error, error_df and coarse. */
void kc_diff_finish(struct kc_diff_estimate *estimate, const struct kc_diff_pooled *pooled);

/* How likely so large a log_change, up or down, is by chance where the true one is half of the margin and as much more
 * as coarse times may hide: P of Student's t. margin > 0, of the logarithm. 1 where log_change is not past the margin.
 */
double kc_diff_p(const struct kc_diff_estimate *estimate, double margin);

/* A log_change past the margin for which that is at most p. */
double kc_diff_detectable(const struct kc_diff_estimate *estimate, double margin, double p);

#endif
