/*
 * A formula's values, conditions and trip counts as algebra.
 *
 *   kc_trips     of a loop: the counter in its last iteration, and the block that
 *                decides it
 *   kc_express   the sums found so far
 */
#ifndef KC_EXPRESS_H
#define KC_EXPRESS_H

#include "algebra.h"
#include "predictor/code/formula/formula.h"

struct kc_trips {
	uint8_t done, busy;
	uint8_t known;             /* it does not depend on memory contents */
	uint8_t at_end;            /* the deciding block ends an iteration */
	uint32_t block;            /* whose branch ends the loop; KC_NO_BLOCK: none, or several do */
	uint32_t why;              /* value that it depends on, if not known */
	const struct kc_sum *last; /* counter in the iteration in which the loop is left, from 0 on */
};

struct kc_express {
	const struct kc_formula *f;
	struct kc_algebra g;
	const struct kc_sum **sums; /* by value; NULL: not yet */
	uint8_t *busy;
	struct kc_trips *trips; /* by loop */
};

int kc__express_init(struct kc_express *x, const struct kc_formula *f, struct kc_arena *arena);
const struct kc_sum *kc__express(struct kc_express *x, uint32_t value, unsigned depth);
/* 1 or 0; of an unknown condition, a probability. */
const struct kc_sum *kc__express_condition(struct kc_express *x, uint32_t value, int negated, unsigned depth);
const struct kc_trips *kc__express_trips(struct kc_express *x, uint32_t loop, unsigned depth);
/* Trip count: how often the body of the loop runs. */
const struct kc_sum *kc__express_rounds(struct kc_express *x, uint32_t loop);

#define KC_EXPRESS_DEPTH 64u

/* pattern.c: sectors or passes of an access by all 32 lanes of a warp in x, with pointers aligned to a sector. 0: they
 * depend on more. */
double kc__whole_warp(struct kc_express *x, const struct kc_event *event);

/* 1: the source is a constant, *constant. */
static inline int kc__constant_source(const struct kc_express *x, const struct kc_value *v, uint32_t n,
				      int64_t *constant)
{
	if (n >= v->count || x->f->values[v->source[n]].op != KC_OP_CONSTANT)
		return 0;
	*constant = x->f->values[v->source[n]].constant;
	return 1;
}

#endif
