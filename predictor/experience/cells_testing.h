/* What the tests of cells begin with: cells in which nothing is learned yet, and launches by numbers. */
#ifndef KC_CELLS_TESTING_H
#define KC_CELLS_TESTING_H

#include "cells.h"
#include "context_testing.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OTHERS (UINT64_C(1) << 40) /* launches that are in no cell themselves */

struct fixture {
	struct kc_cells *cells;
	struct kc_estimators estimators;
};

static inline void begin(struct fixture *f)
{
	f->cells = calloc(1, kc_cells_bytes());
	assert_non_null(f->cells);
	kc_cells_init(f->cells);
	kc_estimators_init(&f->estimators);
}

static inline uint64_t context_after(uint64_t n, int joined)
{
	struct kc_history h;

	kc_history_init(&h, joined);
	kc_history_add(&h, OTHERS | n, 0, 0);
	return context_in(&h, 1, 0, 0);
}

/* A context whose launch before is n, and all else as well. */
static inline uint64_t context_of(uint64_t n)
{
	return context_after(n, 1);
}

static inline struct kc_context_estimate learn(struct fixture *f, uint64_t identity, uint64_t context, double ns)
{
	struct kc_name name = {identity, identity};
	struct kc_context_estimate before;

	kc_cells_learn(f->cells, &f->estimators, &name, context, logf((float)ns), &before);
	return before;
}

static inline struct kc_context_estimate recall(const struct fixture *f, uint64_t identity, uint64_t context)
{
	struct kc_name name = {identity, identity};
	struct kc_context_estimate r = {0};

	kc_cells_estimate(f->cells, &name, context, &r);
	return r;
}

static inline double ns_of(const struct kc_context_estimate *r)
{
	return exp((double)r->log_ns);
}

static inline int is_within(double a, double b, double share)
{
	return fabs(a - b) <= share * b;
}

#endif
