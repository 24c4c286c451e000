/*
 * What launches of a shape took in each of their contexts.
 *
 *   kc_cells        a table of fixed size. A cell belongs to one launch shape and
 *                   one context (context.h) and keeps four estimates of the next
 *                   duration: the last one, a running median, a running lower
 *                   quartile, and the last one plus its last change; and the error
 *                   of each. A full table drops what was used least and longest ago.
 *   kc_estimators   the error of those four estimates for one kernel
 *   kc_context_estimate       what the cells of a launch estimate together
 *
 * The cells of a launch are averaged in log time, weighted by the inverse cube of
 * their errors. A context met once is taken to be as accurate as others of its kind
 * were at their second launch, or a little more. At the start of a program the cell
 * of that start is used alone, as the next run begins the same way, until its mean
 * error exceeds 5 %.
 *
 * One thread learns. Any thread may recall meanwhile: it reads one word of 64 bits
 * per cell, which also holds the cell's name, so that a cell given to another
 * context in between is not mistaken for its own.
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

struct kc_context_estimate {
	float log_ns;
	float spread;   /* relative error to expect */
	uint32_t known; /* a bit for each kc_context_kind that has a cell; 0: nothing is known, and the rest is not set.
			 * Where the start of a history is used alone: KC_CONTEXT_LAST_32 */
};

struct kc_cells;

/* The memory that kc_cells_init() needs: 6 MiB. */
size_t kc_cells_bytes(void);
/* The memory must be all zeros; most of it is not touched before it is needed. */
void kc_cells_init(struct kc_cells *cells);
void kc_estimators_init(struct kc_estimators *estimators);

void kc_cells_estimate(const struct kc_cells *cells, const struct kc_name *name, uint64_t context,
		       struct kc_context_estimate *out);

/* A launch of this name in this context took e^measured_log_ns. estimators: of its kernel. before: filled with what the
 * cells estimated until now. */
void kc_cells_learn(struct kc_cells *cells, struct kc_estimators *estimators, const struct kc_name *name,
		    uint64_t context, float measured_log_ns, struct kc_context_estimate *before);

/* Changes with how cells are saved. */
uint32_t kc_cells_layout(void);
/* To keep what was learned and to begin with it. At most this much, and hardly ever more than a third: */
size_t kc_cells_saved_most(void);
/* Writes what is known into `into`, aligned to 8, and returns its size. By the learning thread. */
size_t kc_cells_save(const struct kc_cells *cells, void *into);
/* Cells as kc_cells_init() leaves them; saved: aligned to 8. It is read where a context is looked up, so it must stay
 * until kc_cells_take_over(). -EBADMSG: these bytes are none that kc_cells_save() makes, and cells are as before. Of
 * cells, what learning cannot have made is left out. */
int kc_cells_load(struct kc_cells *cells, const void *saved, size_t bytes);
/* All that waits there: saved is not needed any more. No thread may look anything up meanwhile. */
void kc_cells_take_over(struct kc_cells *cells);

#endif
