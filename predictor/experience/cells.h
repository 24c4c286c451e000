/*
 * What launches of a shape took in each of their contexts.
 *
 *   kc_cells    a table of fixed size. A cell belongs to one launch shape and one
 *               context (context.h) and keeps the last duration, a running
 *               median and lower quartile, the last change carried on, and how
 *               far off each of them has been. A full table forgets what was
 *               least and longest ago of use.
 *   kc_estimators    how far off those four have been for one kernel
 *   kc_recall   what the cells of a launch say together
 *
 * All cells of a launch are averaged in log time, weighted by the inverse cube
 * of their errors; a context that has just been met is taken to be as good as
 * others of its kind were at their second time, or a little better. The start of
 * a history, which a program's next run has again, is heard alone until it has
 * been 5 % off on average. One thread learns. Any thread
 * may recall meanwhile: it reads one word of 64 bits a cell, which holds the
 * cell's name, too, so that a cell given to another context in between is not
 * taken for its own.
 */
#ifndef KC_CELLS_H
#define KC_CELLS_H

#include "context.h"

#include <stddef.h>
#include <stdint.h>

enum kc_estimator { KC_ESTIMATOR_LAST, KC_ESTIMATOR_MEDIAN, KC_ESTIMATOR_QUARTILE, KC_ESTIMATOR_TREND, KC_ESTIMATORS };

struct kc_estimators {
	float error[KC_ESTIMATORS]; /* mean relative error. Learner only */
};

struct kc_recall {
	float log_ns;
	float spread;   /* relative error to expect */
	uint32_t known; /* a bit for each kc_context_kind that has a cell; 0: nothing, and the rest is not set. Of one
			 * that speaks alone: KC_CONTEXT_LAST_32 at the start of a history */
};

struct kc_cells;

/* 6 MiB */
size_t kc_cells_bytes(void);
/* In memory that is all zeros: nothing is touched before it is needed. */
void kc_cells_init(struct kc_cells *cells);
void kc_estimators_init(struct kc_estimators *digests);

void kc_cells_recall(const struct kc_cells *cells, const struct kc_name *name, uint64_t context, struct kc_recall *out);

/* A launch of this name in this context took e^measured_log_ns.
 * digests: its kernel's. before: what the cells had said of it, but for the spread. */
void kc_cells_learn(struct kc_cells *cells, struct kc_estimators *digests, const struct kc_name *name, uint64_t context,
		    float measured_log_ns, struct kc_recall *before);

#endif
