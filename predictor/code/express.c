#include "express.h"

#include <errno.h>

static const struct kc_sum *number(struct kc_express *x, double n)
{
	return kc__number(&x->g, n);
}

static const struct kc_sum *atom(struct kc_express *x, uint8_t kind, int64_t n)
{
	return kc__atom(&x->g, (struct kc_atom){.kind = kind, .number = n});
}

/* What is not taken apart may be another number in each iteration of the loops it is in. */
static const struct kc_sum *opaque(struct kc_express *x, uint8_t kind, uint32_t value)
{
	const struct kc_value *v = &x->f->values[value];
	const struct kc_sum *counters = number(x, 0);

	for (uint32_t loop = v->loop; loop != KC_NO_LOOP; loop = x->f->cfg.loops[loop].parent)
		counters = kc__plus(&x->g, counters, atom(x, KC_ATOM_COUNTER, loop), 1);
	return kc__atom(&x->g, (struct kc_atom){.kind = kind, .number = value, .a = counters->count ? counters : NULL});
}

static const struct kc_sum *source(struct kc_express *x, const struct kc_value *v, uint32_t n, unsigned depth)
{
	return kc__express(x, v->source[n], depth);
}

static int constant_source(const struct kc_express *x, const struct kc_value *v, uint32_t n, int64_t *constant)
{
	if (n >= v->count || x->f->values[v->source[n]].op != KC_OP_CONSTANT)
		return 0;
	*constant = x->f->values[v->source[n]].constant;
	return 1;
}

static int is_header_phi(const struct kc_formula *f, const struct kc_value *v)
{
	uint32_t loop = f->cfg.blocks[v->block].loop;

	return v->op == KC_OP_PHI && loop != KC_NO_LOOP && f->cfg.loops[loop].header == v->block;
}

static const struct kc_carried *carried_of(const struct kc_formula *f, uint32_t phi)
{
	const struct kc_cycle *cycle = &f->cycles[f->values[phi].loop];

	for (uint32_t i = cycle->carried; i < cycle->carried + cycle->carried_count; i++)
		if (f->carried[i].phi == phi)
			return &f->carried[i];
	return NULL;
}

/* --- shifts and bits, as the divisions they stand for */

/* x >> 31 of 32 bits, of a signed number: -1 below 0. */
static int is_sign(const struct kc_express *x, const struct kc_value *v)
{
	int64_t by;

	return v->op == KC_OP_SHR && v->is_signed && constant_source(x, v, 1, &by) && by == v->bits - 1;
}

static const struct kc_sum *shifted(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_value *v = &x->f->values[value];
	int64_t by;

	if (!constant_source(x, v, 1, &by) || by < 0 || by > 52)
		return opaque(x, KC_ATOM_VALUE, value);
	if (v->op == KC_OP_SHL)
		return kc__plus(&x->g, number(x, 0), source(x, v, 0, depth), (double)((int64_t)1 << by));
	/* What corrects the rounding of a number below 0 is left out. */
	if (by == v->bits - 1 || is_sign(x, &x->f->values[v->source[0]]))
		return number(x, 0);
	return kc__floor(&x->g, source(x, v, 0, depth), number(x, (double)((int64_t)1 << by)));
}

static const struct kc_sum *rest_of(struct kc_express *x, const struct kc_sum *a, const struct kc_sum *b)
{
	return kc__plus(&x->g, a, kc__times(&x->g, b, kc__floor(&x->g, a, b)), -1);
}

static const struct kc_sum *masked(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_value *v = &x->f->values[value];
	uint32_t other = 0;
	int64_t mask;

	if (!constant_source(x, v, 1, &mask)) {
		if (!constant_source(x, v, 0, &mask))
			return opaque(x, KC_ATOM_VALUE, value);
		other = 1;
	}
	other = v->source[other];
	if (mask >= 0 && !(mask & (mask + 1)) && mask < (int64_t)1 << 52)
		return rest_of(x, kc__express(x, other, depth), number(x, (double)(mask + 1)));
	if (mask < 0 && !(~mask & (~mask + 1)) && ~mask < (int64_t)1 << 52) {
		const struct kc_sum *modulus = number(x, (double)(~mask + 1));

		return kc__times(&x->g, modulus, kc__floor(&x->g, kc__express(x, other, depth), modulus));
	}
	return opaque(x, KC_ATOM_VALUE, value);
}

/* --- values of loops and joins */

/* i >>= 1, i <<= 1, i *= 2 */
static const struct kc_sum *by_powers(struct kc_express *x, uint32_t value, const struct kc_sum *first)
{
	const struct kc_formula *f = x->f;
	const struct kc_value *v = &f->values[value], *next = NULL;
	const struct kc_block *block = &f->cfg.blocks[v->block];
	const struct kc_sum *power =
	    kc__atom(&x->g, (struct kc_atom){.kind = KC_ATOM_POWER, .a = atom(x, KC_ATOM_COUNTER, v->loop)});
	int64_t by = 0;

	for (uint32_t n = 0; n < block->in_count; n++) {
		const struct kc_value *from = &f->values[f->phi_sources[v->phi + n]];

		if (f->cfg.edges[f->cfg.in_edges[block->in + n]].from < v->block)
			continue;
		if (next && next != from)
			return opaque(x, KC_ATOM_VALUE, value);
		next = from;
	}
	if (!next || !next->count || next->source[0] != value || !constant_source(x, next, 1, &by))
		return opaque(x, KC_ATOM_VALUE, value);
	if (next->op == KC_OP_SHR && by == 1)
		return kc__floor(&x->g, first, power);
	if ((next->op == KC_OP_SHL && by == 1) || (next->op == KC_OP_MUL && by == 2))
		return kc__times(&x->g, first, power);
	return opaque(x, KC_ATOM_VALUE, value);
}

static const struct kc_sum *header_phi(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_formula *f = x->f;
	const struct kc_value *v = &f->values[value];
	const struct kc_carried *carried = carried_of(f, value);
	const struct kc_block *block = &f->cfg.blocks[v->block];
	const struct kc_sum *first = NULL;

	if (!carried)
		return opaque(x, KC_ATOM_VALUE, value);
	for (uint32_t n = 0; n < block->in_count; n++) {
		const struct kc_sum *entry;

		if (f->cfg.edges[f->cfg.in_edges[block->in + n]].from >= v->block)
			continue;
		entry = kc__express(x, f->phi_sources[v->phi + n], depth);
		if (first && !kc__same_sum(first, entry))
			return opaque(x, KC_ATOM_VALUE, value);
		first = entry;
	}
	if (first && carried->step == KC_NO_VALUE)
		return by_powers(x, value, first);
	if (!first)
		return opaque(x, KC_ATOM_VALUE, value);
	return kc__plus(&x->g, first,
			kc__times(&x->g, kc__express(x, carried->step, depth), atom(x, KC_ATOM_COUNTER, v->loop)), 1);
}

/* Which of a branch's two edges leads to the join by this one: 0, 1, or 2 where that cannot be said. */
static uint32_t side_of(const struct kc_formula *f, uint32_t branch, uint32_t edge)
{
	const struct kc_block *b = &f->cfg.blocks[branch];
	uint32_t from = f->cfg.edges[edge].from;

	if (from == branch)
		return edge - b->out;
	for (uint32_t n = 0; n < 2; n++) {
		uint32_t to = f->cfg.edges[b->out + n].to;

		if (to != KC_NO_BLOCK && f->cfg.blocks[to].in_count == 1 && kc_cfg_dominates(&f->cfg, to, from))
			return n;
	}
	return 2;
}

/* condition ? yes : no. Where it is [x != 0], and yes is no + 4 * x, it is yes either way. */
static const struct kc_sum *either(struct kc_express *x, const struct kc_sum *condition, const struct kc_sum *yes,
				   const struct kc_sum *no)
{
	const struct kc_sum *negation = kc__negation(&x->g, condition);
	const struct kc_sum *apart = kc__plus(&x->g, yes, no, -1);
	const struct kc_sum *zero = number(x, 0);

	if (kc__same_sum(kc__times(&x->g, negation, apart), zero))
		return yes;
	if (kc__same_sum(kc__times(&x->g, condition, apart), zero))
		return no;
	return kc__plus(&x->g, kc__times(&x->g, condition, yes), kc__times(&x->g, negation, no), 1);
}

static const struct kc_sum *join_phi(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_formula *f = x->f;
	const struct kc_value *v = &f->values[value];
	const struct kc_block *block = &f->cfg.blocks[v->block];
	const struct kc_sum *sides[2] = {NULL, NULL}, *condition;
	uint32_t branch = block->dominator;
	int same = 1;

	for (uint32_t n = 0; n < block->in_count; n++) {
		const struct kc_sum *from = kc__express(x, f->phi_sources[v->phi + n], depth);
		uint32_t edge = f->cfg.in_edges[block->in + n], side = 2;

		if (n)
			same &= kc__same_sum(from, sides[0] ? sides[0] : sides[1]);
		if (f->cfg.blocks[branch].ends == KC_END_BRANCH)
			side = side_of(f, branch, edge);
		if (side == 2 || (sides[side] && !kc__same_sum(sides[side], from)))
			return opaque(x, KC_ATOM_VALUE, value);
		sides[side] = from;
	}
	if (same || !sides[0] || !sides[1])
		return sides[0] ? sides[0] : sides[1] ? sides[1] : opaque(x, KC_ATOM_VALUE, value);
	condition = kc__express_condition(x, f->stages[branch].condition, f->stages[branch].condition_negated, depth);
	return either(x, condition, sides[0], sides[1]);
}

static const struct kc_sum *left_value(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_value *v = &x->f->values[value];
	uint32_t loop = x->f->values[v->source[0]].loop;
	const struct kc_sum *in_loop = kc__express(x, v->source[0], depth);
	const struct kc_trips *trips;

	if (!kc__holds_atom(&x->g, in_loop, KC_ATOM_COUNTER, loop))
		return in_loop;
	trips = kc__express_trips(x, loop, depth);
	return kc__replace(&x->g, in_loop, KC_ATOM_COUNTER, loop, trips->last);
}

static int is_below(const struct kc_sum *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->terms[i].by > 0)
			return 0;
	return a->count != 0;
}

static const struct kc_sum *extreme(struct kc_express *x, const struct kc_value *v, unsigned depth)
{
	const struct kc_sum *a = source(x, v, 0, depth), *b = source(x, v, 1, depth);
	int is_min = v->op == KC_OP_MIN, negative = is_below(a) && is_below(b);

	/* max(-a, -b) is -min(a, b). */
	if (negative) {
		a = kc__plus(&x->g, number(x, 0), a, -1);
		b = kc__plus(&x->g, number(x, 0), b, -1);
	}
	a = kc__atom(&x->g, (struct kc_atom){.kind = is_min != negative ? KC_ATOM_MIN : KC_ATOM_MAX, .a = a, .b = b});
	return negative ? kc__plus(&x->g, number(x, 0), a, -1) : a;
}

static const struct kc_sum *chosen(struct kc_express *x, const struct kc_value *v, unsigned depth)
{
	const struct kc_sum *condition = kc__express_condition(x, v->source[0], 0, depth);

	return either(x, condition, source(x, v, 1, depth), source(x, v, 2, depth));
}

static const struct kc_sum *operation(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_value *v = &x->f->values[value];
	const struct kc_sum *a;

	switch (v->op) {
	case KC_OP_CONSTANT:
	case KC_OP_SHARED:
		return number(x, (double)v->constant);
	case KC_OP_PARAM:
		return kc__atom(&x->g,
				(struct kc_atom){.kind = KC_ATOM_PARAM, .number = v->source[0], .extra = v->constant});
	case KC_OP_SPECIAL:
		return atom(x, KC_ATOM_SPECIAL, v->constant);
	case KC_OP_PHI:
		return is_header_phi(x->f, v) ? header_phi(x, value, depth) : join_phi(x, value, depth);
	case KC_OP_LEFT:
		return left_value(x, value, depth);
	case KC_OP_ADD:
	case KC_OP_SUB:
		return kc__plus(&x->g, source(x, v, 0, depth), source(x, v, 1, depth), v->op == KC_OP_ADD ? 1 : -1);
	case KC_OP_MUL:
		return kc__times(&x->g, source(x, v, 0, depth), source(x, v, 1, depth));
	case KC_OP_DIV:
		return kc__floor(&x->g, source(x, v, 0, depth), source(x, v, 1, depth));
	case KC_OP_REM:
		a = source(x, v, 0, depth);
		return rest_of(x, a, source(x, v, 1, depth));
	case KC_OP_NOT:
		return kc__plus(&x->g, number(x, -1), source(x, v, 0, depth), -1);
	case KC_OP_EXTEND:
		return source(x, v, 0, depth);
	case KC_OP_SHL:
	case KC_OP_SHR:
		return shifted(x, value, depth);
	case KC_OP_AND:
		return masked(x, value, depth);
	case KC_OP_MIN:
	case KC_OP_MAX:
		return extreme(x, v, depth);
	case KC_OP_SELECT:
		return chosen(x, v, depth);
	default:
		return opaque(x, KC_ATOM_VALUE, value);
	}
}

const struct kc_sum *kc__express(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_value *v = &x->f->values[value];

	if (x->sums[value])
		return x->sums[value];
	if (!depth || x->busy[value])
		return opaque(x, KC_ATOM_VALUE, value);
	x->busy[value] = 1;
	x->sums[value] = v->bits == 1 && v->op != KC_OP_PHI && v->op != KC_OP_LEFT
			     ? kc__express_condition(x, value, 0, depth - 1)
			     : operation(x, value, depth - 1);
	x->busy[value] = 0;
	return x->sums[value];
}

/* --- conditions */

static const struct kc_sum *comparison(struct kc_express *x, const struct kc_value *v, int negated, unsigned depth)
{
	const struct kc_sum *d = kc__plus(&x->g, source(x, v, 0, depth), source(x, v, 1, depth), -1);

	switch (v->compare) {
	case KC_PTX_EQ:
	case KC_PTX_NE:
		return kc__condition(&x->g, (v->compare == KC_PTX_EQ) != negated ? KC_ATOM_ZERO : KC_ATOM_NONZERO, d);
	case KC_PTX_LE:
		d = kc__plus(&x->g, d, number(x, -1), 1);
		break;
	default:
		break;
	}
	return kc__condition(&x->g, KC_ATOM_LESS, negated ? kc__plus(&x->g, number(x, -1), d, -1) : d);
}

const struct kc_sum *kc__express_condition(struct kc_express *x, uint32_t value, int negated, unsigned depth)
{
	const struct kc_value *v = &x->f->values[value];
	const struct kc_sum *a, *b;

	if (v->op == KC_OP_CONSTANT)
		return number(x, (v->constant & 1) != negated);
	if (v->memory || !depth) {
		a = opaque(x, KC_ATOM_CHANCE, value);
		return negated ? kc__negation(&x->g, a) : a;
	}
	switch (v->op) {
	case KC_OP_COMPARE:
		return comparison(x, v, negated, depth - 1);
	case KC_OP_NOT:
		return kc__express_condition(x, v->source[0], !negated, depth - 1);
	case KC_OP_AND:
	case KC_OP_OR:
		/* Not (a and b) is not a or not b; a or b is not (not a and not b). */
		a = kc__express_condition(x, v->source[0], v->op == KC_OP_OR, depth - 1);
		b = kc__express_condition(x, v->source[1], v->op == KC_OP_OR, depth - 1);
		a = kc__times(&x->g, a, b);
		return (v->op == KC_OP_OR) != negated ? kc__negation(&x->g, a) : a;
	default:
		a = v->op == KC_OP_PHI || v->op == KC_OP_LEFT ? kc__express(x, value, depth - 1)
							      : opaque(x, KC_ATOM_CHANCE, value);
		return negated ? kc__negation(&x->g, a) : a;
	}
}

/* --- trip counts */

/* d = first + step * counter. 0: it is not like that. */
static int split_by_counter(struct kc_express *x, uint32_t loop, const struct kc_sum *d, const struct kc_sum **first,
			    const struct kc_sum **step)
{
	*first = kc__replace(&x->g, d, KC_ATOM_COUNTER, loop, number(x, 0));
	*step = kc__plus(&x->g, kc__replace(&x->g, d, KC_ATOM_COUNTER, loop, number(x, 1)), *first, -1);
	return !kc__holds_atom(&x->g, *step, KC_ATOM_COUNTER, loop) &&
	       kc__same_sum(d, kc__plus(&x->g, *first, kc__times(&x->g, *step, atom(x, KC_ATOM_COUNTER, loop)), 1));
}

/* The first iteration in which d is no longer below 0, or (`until_less`) is; NULL: it cannot be said. */
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
	/* Until d is 0, which it comes to exactly. */
	if ((v->compare == KC_PTX_NE) != stays_where || !kc__is_number(step, &by) || by == 0)
		return NULL;
	return by < 0 ? kc__floor(&x->g, first, number(x, -by))
		      : kc__floor(&x->g, kc__plus(&x->g, number(x, 0), first, -1), number(x, by));
}

/* i >>= 1 until it is 0: as often as the first i has bits. */
static const struct kc_sum *last_by_halving(struct kc_express *x, uint32_t loop, const struct kc_value *v,
					    int stays_where, unsigned depth)
{
	const struct kc_formula *f = x->f;
	const struct kc_value *next, *phi;
	const struct kc_block *header;
	int64_t by, zero;

	if (v->op != KC_OP_COMPARE || !constant_source(x, v, 1, &zero) || zero != 0 ||
	    (v->compare == KC_PTX_NE) != stays_where || (v->compare != KC_PTX_NE && v->compare != KC_PTX_EQ))
		return NULL;
	next = &f->values[v->source[0]];
	if (next->op != KC_OP_SHR || !constant_source(x, next, 1, &by) || by != 1)
		return NULL;
	phi = &f->values[next->source[0]];
	if (!is_header_phi(f, phi) || phi->loop != loop)
		return NULL;
	header = &f->cfg.blocks[phi->block];
	for (uint32_t n = 0; n < header->in_count; n++) {
		if (f->cfg.edges[f->cfg.in_edges[header->in + n]].from >= phi->block)
			continue;
		return kc__atom(&x->g, (struct kc_atom){.kind = KC_ATOM_LOG2,
							.a = kc__express(x, f->phi_sources[phi->phi + n], depth)});
	}
	return NULL;
}

/* It runs in every iteration. */
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
	const struct kc_stage *stage = &f->stages[block];
	const struct kc_value *v;
	int stays_where = 1;

	++*deciding;
	if (b->ends != KC_END_BRANCH || f->values[stage->condition].memory) {
		if (b->ends == KC_END_BRANCH || b->ends == KC_END_SWITCH) {
			trips->known &= !f->values[stage->condition].memory;
			trips->why = stage->condition;
		}
		return;
	}
	v = &f->values[stage->condition];
	stays_where = leaves_here(f, loop, b->out + 1) ^ stage->condition_negated;
	while (v->op == KC_OP_NOT) {
		v = &f->values[v->source[0]];
		stays_where = !stays_where;
	}
	if (b->loop != loop || !is_on_the_way(f, loop, block))
		return;
	trips->last = last_by(x, loop, v, stays_where, depth);
	if (!trips->last)
		trips->last = last_by_halving(x, loop, v, stays_where, depth);
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

int kc__express_init(struct kc_express *x, const struct kc_formula *f, struct kc_arena *arena)
{
	*x = (struct kc_express){.f = f};
	x->sums = kc_arena_array(arena, (size_t)f->value_count + 1, sizeof(*x->sums));
	x->busy = kc_arena_array(arena, (size_t)f->value_count + 1, 1);
	x->trips = kc_arena_array(arena, (size_t)f->cfg.loop_count + 1, sizeof(*x->trips));
	return x->sums && x->busy && x->trips ? kc__algebra_init(&x->g, arena) : -ENOMEM;
}
