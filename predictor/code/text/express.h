/*
 * A formula's values, conditions and trip counts as algebra.
 *
 *   kc_trips     of a loop: the counter in its last iteration, where it can be
 *                said, and the block that decides it
 *   kc_express   what was expressed so far
 */
#ifndef KC_EXPRESS_H
#define KC_EXPRESS_H

#include "algebra.h"
#include "predictor/code/formula/formula.h"

struct kc_trips {
	uint8_t done, busy;
	uint8_t known;             /* it does not depend on memory contents */
	uint8_t at_end;            /* it is decided where an iteration ends */
	uint32_t block;            /* that decides it; KC_NO_BLOCK: none, or several */
	uint32_t why;              /* value: what it depends on, where not known */
	const struct kc_sum *last; /* iteration, from 0 on: the one in which it is left */
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
/* 1 or 0, or between them: the chance that it holds. */
const struct kc_sum *kc__express_condition(struct kc_express *x, uint32_t value, int negated, unsigned depth);
const struct kc_trips *kc__express_trips(struct kc_express *x, uint32_t loop, unsigned depth);
/* How often the body runs. */
const struct kc_sum *kc__express_rounds(struct kc_express *x, uint32_t loop);

#define KC_EXPRESS_DEPTH 64u

/* pattern.c: sectors, or passes, of an access by a warp of 32 threads in x that all take part, its pointer aligned to a
 * sector. 0: they depend on more. */
double kc__whole_warp(struct kc_express *x, const struct kc_event *event);

/* The source is that constant. */
static inline int kc__constant_source(const struct kc_express *x, const struct kc_value *v, uint32_t n,
				      int64_t *constant)
{
	if (n >= v->count || x->f->values[v->source[n]].op != KC_OP_CONSTANT)
		return 0;
	*constant = x->f->values[v->source[n]].constant;
	return 1;
}

#endif
