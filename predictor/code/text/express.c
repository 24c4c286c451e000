#include "express.h"

#include <errno.h>
#include <math.h>

static const struct kc_sum *number(struct kc_express *x, double n)
{
	return kc__number(&x->g, n);
}

static const struct kc_sum *atom(struct kc_express *x, uint8_t kind, int64_t n)
{
	return kc__atom(&x->g, (struct kc_atom){.kind = kind, .number = n});
}

/* A value without a formula. It may differ between iterations of the loops that it is in. */
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

static const struct kc_carried *carried_of(const struct kc_formula *f, uint32_t phi)
{
	const struct kc_loop_plan *loop_plan = &f->loop_plans[f->values[phi].loop];

	for (uint32_t i = loop_plan->carried; i < loop_plan->carried + loop_plan->carried_count; i++)
		if (f->carried[i].phi == phi)
			return &f->carried[i];
	return NULL;
}

/* --- shifts and bits, as the divisions they stand for */

/* x >> 31 of 32 bits, of a signed number: -1 below 0. */
static int is_sign(const struct kc_express *x, const struct kc_value *v)
{
	int64_t by;

	return v->op == KC_OP_SHR && v->is_signed && kc__constant_source(x, v, 1, &by) && by == v->bits - 1;
}

static const struct kc_sum *shifted(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_value *v = &x->f->values[value];
	int64_t by;

	if (!kc__constant_source(x, v, 1, &by) || by < 0 || by > 52)
		return opaque(x, KC_ATOM_VALUE, value);
	if (v->op == KC_OP_SHL)
		return kc__plus(&x->g, number(x, 0), source(x, v, 0, depth), (double)((int64_t)1 << by));
	/* Corrections of the rounding below 0 are left out. */
	if (by == v->bits - 1 || is_sign(x, &x->f->values[v->source[0]]))
		return number(x, 0);
	return kc__floor(&x->g, source(x, v, 0, depth), number(x, (double)((int64_t)1 << by)));
}

static const struct kc_sum *remainder_of(struct kc_express *x, const struct kc_sum *a, const struct kc_sum *b)
{
	return kc__plus(&x->g, a, kc__times(&x->g, b, kc__floor(&x->g, a, b)), -1);
}

static const struct kc_sum *masked(struct kc_express *x, uint32_t value, unsigned depth)
{
	const struct kc_value *v = &x->f->values[value];
	uint32_t other = 0;
	int64_t mask;

	if (!kc__constant_source(x, v, 1, &mask)) {
		if (!kc__constant_source(x, v, 0, &mask))
			return opaque(x, KC_ATOM_VALUE, value);
		other = 1;
	}
	other = v->source[other];
	if (mask >= 0 && !(mask & (mask + 1)) && mask < (int64_t)1 << 52)
		return remainder_of(x, kc__express(x, other, depth), number(x, (double)(mask + 1)));
	if (mask < 0 && !(~mask & (~mask + 1)) && ~mask < (int64_t)1 << 52) {
		const struct kc_sum *modulus = number(x, (double)(~mask + 1));

		return kc__times(&x->g, modulus, kc__floor(&x->g, kc__express(x, other, depth), modulus));
	}
	return opaque(x, KC_ATOM_VALUE, value);
}

/* --- phis */

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
	if (!next || !next->count || next->source[0] != value || !kc__constant_source(x, next, 1, &by))
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

/* Which edge of a branch leads along this edge to the block that both sides reach: 0, 1, or 2 if that is not certain.
 */
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

/* condition ? yes : no. If the condition is [x != 0] and yes is no + 4 * x, the result is yes in both cases. */
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
	if (same) /* as it is where all edges are of one side */
		return sides[0] ? sides[0] : sides[1];
	condition =
	    kc__express_condition(x, f->block_plans[branch].condition, f->block_plans[branch].condition_negated, depth);
	return either(x, condition, sides[0], sides[1]);
}

static const struct kc_sum *exit_value(struct kc_express *x, uint32_t value, unsigned depth)
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

static int has_only_negative_terms(const struct kc_sum *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->terms[i].by > 0)
			return 0;
	return a->count != 0;
}

static const struct kc_sum *extreme(struct kc_express *x, const struct kc_value *v, unsigned depth)
{
	const struct kc_sum *a = source(x, v, 0, depth), *b = source(x, v, 1, depth);
	int is_min = v->op == KC_OP_MIN, negative = has_only_negative_terms(a) && has_only_negative_terms(b);

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
		return kc__is_header_phi(x->f, v) ? header_phi(x, value, depth) : join_phi(x, value, depth);
	case KC_OP_EXIT_VALUE:
		return exit_value(x, value, depth);
	case KC_OP_ADD:
	case KC_OP_SUB:
		return kc__plus(&x->g, source(x, v, 0, depth), source(x, v, 1, depth), v->op == KC_OP_ADD ? 1 : -1);
	case KC_OP_MUL:
		return kc__times(&x->g, source(x, v, 0, depth), source(x, v, 1, depth));
	case KC_OP_DIV:
		return kc__floor(&x->g, source(x, v, 0, depth), source(x, v, 1, depth));
	case KC_OP_REM:
		a = source(x, v, 0, depth);
		return remainder_of(x, a, source(x, v, 1, depth));
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
	x->sums[value] = v->bits == 1 && v->op != KC_OP_PHI && v->op != KC_OP_EXIT_VALUE
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

/* A floating-point parameter or constant. NULL: it is neither. */
static const struct kc_sum *float_side(struct kc_express *x, const struct kc_value *comparison, uint32_t n)
{
	const struct kc_value *v = &x->f->values[comparison->source[n]];
	double constant;

	if (v->op == KC_OP_PARAM)
		return kc__atom(&x->g,
				(struct kc_atom){.kind = KC_ATOM_PARAM, .number = v->source[0], .extra = v->constant});
	if (v->op != KC_OP_CONSTANT)
		return NULL;
	constant = kc__float_of(v->constant, comparison->source_bits, comparison->constant != 0);
	return isfinite(constant) ? number(x, constant) : NULL;
}

/* Only equality has a formula: the rules for what is less are those of integers. That an argument may be no number is
 * left out. */
static const struct kc_sum *float_comparison(struct kc_express *x, uint32_t value, int negated)
{
	const struct kc_value *v = &x->f->values[value];
	const struct kc_sum *a = float_side(x, v, 0), *b = float_side(x, v, 1), *chance;
	int equal = v->compare == KC_PTX_EQ || v->compare == KC_PTX_EQU;
	double apart;

	if (a && b && (equal || v->compare == KC_PTX_NE || v->compare == KC_PTX_NEU)) {
		a = kc__plus(&x->g, a, b, -1);
		equal = equal != negated;
		if (kc__is_number(a, &apart))
			return number(x, (apart == 0) == equal);
		return kc__atom(&x->g, (struct kc_atom){.kind = equal ? KC_ATOM_ZERO : KC_ATOM_NONZERO, .a = a});
	}
	chance = opaque(x, KC_ATOM_CHANCE, value);
	return negated ? kc__negation(&x->g, chance) : chance;
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
	case KC_OP_COMPARE_FLOAT:
		return float_comparison(x, value, negated);
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
		a = v->op == KC_OP_PHI || v->op == KC_OP_EXIT_VALUE ? kc__express(x, value, depth - 1)
								    : opaque(x, KC_ATOM_CHANCE, value);
		return negated ? kc__negation(&x->g, a) : a;
	}
}

int kc__express_init(struct kc_express *x, const struct kc_formula *f, struct kc_arena *arena)
{
	*x = (struct kc_express){.f = f};
	x->sums = kc_arena_array(arena, (size_t)f->value_count + 1, sizeof(*x->sums));
	x->busy = kc_arena_array(arena, (size_t)f->value_count + 1, 1);
	x->trips = kc_arena_array(arena, (size_t)f->cfg.loop_count + 1, sizeof(*x->trips));
	return x->sums && x->busy && x->trips ? kc__algebra_init(&x->g, arena) : -ENOMEM;
}
