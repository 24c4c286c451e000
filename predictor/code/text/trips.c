#include "express.h"

static const struct kc_sum *number(struct kc_express *x, double n)
{
	return kc__number(&x->g, n);
}

static const struct kc_sum *atom(struct kc_express *x, uint8_t kind, int64_t n)
{
	return kc__atom(&x->g, (struct kc_atom){.kind = kind, .number = n});
}

static const struct kc_sum *source(struct kc_express *x, const struct kc_value *v, uint32_t n, unsigned depth)
{
	return kc__express(x, v->source[n], depth);
}

/* Splits d into first + step * counter. 0: it has no such form. */
static int split_by_counter(struct kc_express *x, uint32_t loop, const struct kc_sum *d, const struct kc_sum **first,
			    const struct kc_sum **step)
{
	*first = kc__replace(&x->g, d, KC_ATOM_COUNTER, loop, number(x, 0));
	*step = kc__plus(&x->g, kc__replace(&x->g, d, KC_ATOM_COUNTER, loop, number(x, 1)), *first, -1);
	return !kc__holds_atom(&x->g, *step, KC_ATOM_COUNTER, loop) &&
	       kc__same_sum(d, kc__plus(&x->g, *first, kc__times(&x->g, *step, atom(x, KC_ATOM_COUNTER, loop)), 1));
}

/* The first iteration in which d is not below 0 any more; until_less: in which it is. NULL: not known. */
static const struct kc_sum *first_change(struct kc_express *x, const struct kc_sum *first, const struct kc_sum *step,
					 int until_less)
{
	const struct kc_sum *back = kc__plus(&x->g, number(x, 0), step, -1);
	double by;

	if (until_less) {
		/* floor(first / -step) + 1 */
		if (!kc__is_natural(&x->g, back) || (kc__is_number(back, &by) && by == 0))
			return NULL;
		return kc__plus(&x->g, kc__floor(&x->g, first, back), number(x, 1), 1);
	}
	/* -first / step, rounded up */
	if (!kc__is_natural(&x->g, step) || (kc__is_number(step, &by) && by == 0))
		return NULL;
	first = kc__plus(&x->g, kc__plus(&x->g, step, number(x, -1), 1), first, -1);
	return kc__floor(&x->g, first, step);
}

static const struct kc_sum *last_by(struct kc_express *x, uint32_t loop, const struct kc_value *v, int stays_where,
				    unsigned depth)
{
	const struct kc_sum *d, *first, *step;
	double by;

	if (v->op != KC_OP_COMPARE)
		return NULL;
	d = kc__plus(&x->g, source(x, v, 0, depth), source(x, v, 1, depth), -1);
	if (v->compare == KC_PTX_LE)
		d = kc__plus(&x->g, d, number(x, -1), 1);
	if (!split_by_counter(x, loop, d, &first, &step))
		return NULL;
	if (v->compare == KC_PTX_LT || v->compare == KC_PTX_LE)
		return first_change(x, first, step, !stays_where);
	/* Until d is 0, which is assumed to be reached exactly. */
	if ((v->compare == KC_PTX_NE) != stays_where || !kc__is_number(step, &by) || by == 0)
		return NULL;
	return by < 0 ? kc__floor(&x->g, first, number(x, -by))
		      : kc__floor(&x->g, kc__plus(&x->g, number(x, 0), first, -1), number(x, by));
}

/* Value of a variable before the first iteration. NULL: not known. */
static const struct kc_sum *at_entry(struct kc_express *x, const struct kc_value *phi, unsigned depth)
{
	const struct kc_formula *f = x->f;
	const struct kc_block *header = &f->cfg.blocks[phi->block];

	for (uint32_t n = 0; n < header->in_count; n++)
		if (f->cfg.edges[f->cfg.in_edges[header->in + n]].from < phi->block)
			return kc__express(x, f->phi_sources[phi->phi + n], depth);
	return NULL;
}

/* i >>= 1 until it is 0: as many iterations as the first i has bits. */
static const struct kc_sum *last_by_halving(struct kc_express *x, uint32_t loop, const struct kc_value *v,
					    int stays_where, unsigned depth)
{
	const struct kc_formula *f = x->f;
	const struct kc_value *next, *phi;
	const struct kc_sum *first;
	int64_t by, zero;

	if (v->op != KC_OP_COMPARE || !kc__constant_source(x, v, 1, &zero) || zero != 0 ||
	    (v->compare == KC_PTX_NE) != stays_where || (v->compare != KC_PTX_NE && v->compare != KC_PTX_EQ))
		return NULL;
	next = &f->values[v->source[0]];
	if (next->op != KC_OP_SHR || !kc__constant_source(x, next, 1, &by) || by != 1)
		return NULL;
	phi = &f->values[next->source[0]];
	if (!kc__is_header_phi(f, phi) || phi->loop != loop)
		return NULL;
	first = at_entry(x, phi, depth);
	return first ? kc__atom(&x->g, (struct kc_atom){.kind = KC_ATOM_LOG2, .a = first}) : NULL;
}

/* i = c; i <<= 1 while it is below a bound: the first k with c * 2^(k + 1) >= bound is floor(log2((bound - 1) / c)). */
static const struct kc_sum *last_by_doubling(struct kc_express *x, uint32_t loop, const struct kc_value *v,
					     int stays_where, unsigned depth)
{
	const struct kc_formula *f = x->f;
	const struct kc_value *next, *phi;
	const struct kc_sum *first, *bound;
	double constant;
	int64_t by;

	if (v->op != KC_OP_COMPARE || v->compare != KC_PTX_LT || !stays_where)
		return NULL;
	next = &f->values[v->source[0]];
	if (next->op != KC_OP_SHL || !kc__constant_source(x, next, 1, &by) || by != 1)
		return NULL;
	phi = &f->values[next->source[0]];
	if (!kc__is_header_phi(f, phi) || phi->loop != loop)
		return NULL;
	first = at_entry(x, phi, depth);
	bound = source(x, v, 1, depth);
	if (!first || !kc__is_number(first, &constant) || constant < 1 ||
	    kc__holds_atom(&x->g, bound, KC_ATOM_COUNTER, loop))
		return NULL;
	bound = kc__floor(&x->g, kc__plus(&x->g, bound, number(x, -1), 1), first);
	return kc__atom(&x->g, (struct kc_atom){.kind = KC_ATOM_LOG2, .a = bound});
}

/* 1: the block runs in every iteration. */
static int is_on_the_way(const struct kc_formula *f, uint32_t loop, uint32_t block)
{
	const struct kc_block *header = &f->cfg.blocks[f->cfg.loops[loop].header];

	for (uint32_t n = 0; n < header->in_count; n++) {
		uint32_t from = f->cfg.edges[f->cfg.in_edges[header->in + n]].from;

		if (from >= f->cfg.loops[loop].header && !kc_cfg_dominates(&f->cfg, block, from))
			return 0;
	}
	return 1;
}

static int leads_back(const struct kc_formula *f, uint32_t loop, uint32_t block)
{
	const struct kc_block *b = &f->cfg.blocks[block];

	for (uint32_t e = b->out; e < b->out + b->out_count; e++)
		if (f->cfg.edges[e].to == f->cfg.loops[loop].header)
			return 1;
	return 0;
}

static uint8_t leaves_here(const struct kc_formula *f, uint32_t loop, uint32_t edge)
{
	uint32_t block = f->cfg.edges[edge].from, at = f->cfg.blocks[block].loop;

	for (uint8_t n = f->leaves[edge]; n && at != KC_NO_LOOP; n--, at = f->cfg.loops[at].parent)
		if (at == loop)
			return 1;
	return 0;
}

static void decide(struct kc_express *x, uint32_t loop, uint32_t block, struct kc_trips *trips, uint32_t *deciding,
		   unsigned depth)
{
	const struct kc_formula *f = x->f;
	const struct kc_block *b = &f->cfg.blocks[block];
	const struct kc_block_plan *plan = &f->block_plans[block];
	const struct kc_value *v;
	int stays_where = 1;

	++*deciding;
	if (b->ends != KC_END_BRANCH || f->values[plan->condition].memory) {
		if (b->ends == KC_END_BRANCH || b->ends == KC_END_SWITCH) {
			trips->known &= !f->values[plan->condition].memory;
			trips->why = plan->condition;
		}
		return;
	}
	v = &f->values[plan->condition];
	stays_where = leaves_here(f, loop, b->out + 1) ^ plan->condition_negated;
	while (v->op == KC_OP_NOT) {
		v = &f->values[v->source[0]];
		stays_where = !stays_where;
	}
	if (b->loop != loop || !is_on_the_way(f, loop, block))
		return;
	trips->last = last_by(x, loop, v, stays_where, depth);
	if (!trips->last)
		trips->last = last_by_halving(x, loop, v, stays_where, depth);
	if (!trips->last)
		trips->last = last_by_doubling(x, loop, v, stays_where, depth);
	trips->block = block;
	trips->at_end = (uint8_t)leads_back(f, loop, block);
}

const struct kc_trips *kc__express_trips(struct kc_express *x, uint32_t loop, unsigned depth)
{
	const struct kc_formula *f = x->f;
	struct kc_trips *trips = &x->trips[loop];
	uint32_t deciding = 0, before = KC_NO_BLOCK;
	const struct kc_sum *named = atom(x, KC_ATOM_TRIPS, loop);

	if (trips->done)
		return trips;
	if (trips->busy || !depth) {
		trips->last = kc__plus(&x->g, named, number(x, -1), 1);
		return trips;
	}
	*trips = (struct kc_trips){.busy = 1, .known = 1, .block = KC_NO_BLOCK, .why = KC_NO_VALUE};
	for (uint32_t e = 0; e < f->cfg.edge_count; e++) {
		if (!leaves_here(f, loop, e) || f->cfg.edges[e].from == before)
			continue;
		before = f->cfg.edges[e].from;
		decide(x, loop, before, trips, &deciding, depth - 1);
	}
	if (deciding != 1 || !trips->last) {
		if (deciding != 1)
			trips->block = KC_NO_BLOCK;
		trips->last =
		    kc__plus(&x->g, named, number(x, trips->block == KC_NO_BLOCK || trips->at_end ? -1 : 0), 1);
	} else if (!trips->at_end && !kc__is_natural(&x->g, trips->last)) {
		trips->last =
		    kc__atom(&x->g, (struct kc_atom){.kind = KC_ATOM_MAX, .a = trips->last, .b = number(x, 0)});
	}
	trips->busy = 0;
	trips->done = 1;
	return trips;
}

const struct kc_sum *kc__express_rounds(struct kc_express *x, uint32_t loop)
{
	const struct kc_trips *trips = kc__express_trips(x, loop, KC_EXPRESS_DEPTH);

	return trips->block != KC_NO_BLOCK && !trips->at_end ? trips->last
							     : kc__plus(&x->g, trips->last, number(x, 1), 1);
}
