#include "algebra_rules.h"

#include "predictor/code/ptx/ptx.h"
#include "predictor/math/order.h"

#include <stdlib.h>
#include <string.h>

int kc__is_condition(const struct kc_algebra *g, uint32_t atom)
{
	uint8_t kind = g->atoms[atom].kind;

	return kind == KC_ATOM_LESS || kind == KC_ATOM_ZERO || kind == KC_ATOM_NONZERO || kind == KC_ATOM_STAYS;
}

KC_ORDER(compare_atoms, uint32_t, KC_BY(*x, *y))

void kc__drop_factor(struct kc_term *term, uint32_t n)
{
	term->count--;
	memmove(&term->atoms[n], &term->atoms[n + 1], (term->count - n) * sizeof(term->atoms[0]));
}

/* 1: a is certainly not less than b. */
static int exceeds(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b)
{
	return kc__is_natural(g, kc__plus(g, a, b, -1));
}

/* 1: the condition a follows from b: [x < 0] from [y < 0] if x is not above y, and [x != 0] from [y = 0] if x - y is a
 * number other than 0. */
static int follows(struct kc_algebra *g, uint32_t a, uint32_t b)
{
	uint8_t kind = g->atoms[a].kind, given = g->atoms[b].kind;
	double apart;

	if (kind == KC_ATOM_NONZERO && given == KC_ATOM_ZERO)
		return kc__is_number(kc__plus(g, g->atoms[a].a, g->atoms[b].a, -1), &apart) && apart != 0;
	return a != b && kind == KC_ATOM_LESS && given == KC_ATOM_LESS && exceeds(g, g->atoms[b].a, g->atoms[a].a);
}

/* The opposite condition: that of [a < 0] is [-a - 1 < 0]. 0: there is none. */
static uint32_t other_side(struct kc_algebra *g, uint32_t atom)
{
	struct kc_atom a = g->atoms[atom];
	const struct kc_sum *other;

	if (a.kind == KC_ATOM_LESS)
		a.a = kc__plus(g, kc__number(g, -1), a.a, -1);
	else if (a.kind == KC_ATOM_ZERO || a.kind == KC_ATOM_NONZERO)
		a.kind = a.kind == KC_ATOM_ZERO ? KC_ATOM_NONZERO : KC_ATOM_ZERO;
	else
		return 0;
	other = kc__atom(g, a);
	return other->count == 1 ? other->terms[0].atoms[0] : 0;
}

const struct kc_sum *kc__condition(struct kc_algebra *g, enum kc_atom_kind kind, const struct kc_sum *a)
{
	double number;

	if (kc__is_number(a, &number))
		return kc__number(g, kind == KC_ATOM_LESS ? number < 0 : (number == 0) == (kind == KC_ATOM_ZERO));
	if (kind == KC_ATOM_LESS && kc__is_natural(g, a))
		return kc__number(g, 0);
	if (kind == KC_ATOM_LESS && kc__is_natural(g, kc__plus(g, kc__number(g, -1), a, -1)))
		return kc__number(g, 1);
	if (kind != KC_ATOM_LESS && kc__is_natural(g, a))
		return kc__condition(g, KC_ATOM_LESS,
				     kind == KC_ATOM_ZERO ? kc__plus(g, a, kc__number(g, -1), 1)
							  : kc__plus(g, kc__number(g, 0), a, -1));
	/* Of a and -a, the one that begins with a positive number. */
	if (kind != KC_ATOM_LESS && a->terms[0].by < 0)
		a = kc__plus(g, kc__number(g, 0), a, -1);
	return kc__atom(g, (struct kc_atom){.kind = (uint8_t)kind, .a = a});
}

const struct kc_sum *kc__negation(struct kc_algebra *g, const struct kc_sum *condition)
{
	if (condition->count == 1 && condition->terms[0].count == 1 && condition->terms[0].by == 1) {
		uint32_t other = other_side(g, condition->terms[0].atoms[0]);

		if (other)
			return kc__of_atom(g, other);
	}
	return kc__plus(g, kc__number(g, 1), condition, -1);
}

static uint32_t place_of(const struct kc_term *term, uint32_t atom)
{
	uint32_t n = 0;

	while (n < term->count && term->atoms[n] != atom)
		n++;
	return n;
}

/*
 * x * [c] + x * [not c] = x; and if d follows from c, x * [c] + x * [not c] * [d] =
 * x * [d]. 1: a and b are the two terms of such a sum, *joined is the result.
 */
static int are_sides(struct kc_algebra *g, const struct kc_term *a, const struct kc_term *b, struct kc_term *joined)
{
	if (a->by != b->by || b->count < a->count || b->count > a->count + 1)
		return 0;
	for (uint32_t n = 0; n < a->count; n++) {
		struct kc_term left = *a, right = *b, both;
		uint32_t other = other_side(g, a->atoms[n]), place = other ? place_of(b, other) : b->count;

		if (place == b->count)
			continue;
		kc__drop_factor(&left, n);
		kc__drop_factor(&right, place);
		both = right;
		for (uint32_t m = 0; m < right.count && right.count > left.count; m++)
			if (place_of(&left, right.atoms[m]) == left.count && follows(g, right.atoms[m], a->atoms[n]))
				kc__drop_factor(&right, m);
		if (kc__compare_terms(&left, &right))
			continue;
		*joined = both;
		return 1;
	}
	return 0;
}

/* NULL: there are no such terms. */
static const struct kc_sum *join_sides(struct kc_algebra *g, struct kc_term *terms, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t n = 0; n < count; n++) {
			struct kc_term joined;

			if (n == i || !are_sides(g, &terms[i], &terms[n], &joined))
				continue;
			terms[i] = joined;
			terms[n] = terms[count - 1];
			return kc__collect(g, terms, count - 1);
		}
	}
	return NULL;
}

/* --- ctaid * ntid + tid as one index */

/* Removes the special register from the factors. 0: it is not among them. */
static int take_special(const struct kc_algebra *g, struct kc_term *term, int64_t special)
{
	for (uint32_t n = 0; n < term->count; n++) {
		const struct kc_atom *atom = &g->atoms[term->atoms[n]];

		if (atom->kind != KC_ATOM_SPECIAL || atom->number != special)
			continue;
		kc__drop_factor(term, n);
		return 1;
	}
	return 0;
}

static const struct kc_sum *join_index(struct kc_algebra *g, struct kc_term *terms, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (int64_t d = 0; d < 3; d++) {
			struct kc_term block = terms[i];

			if (!take_special(g, &block, KC_PTX_CTAID_X + d) || !take_special(g, &block, KC_PTX_NTID_X + d))
				continue;
			for (uint32_t n = 0; n < count; n++) {
				struct kc_term thread = terms[n];
				const struct kc_sum *rest, *index;

				if (!take_special(g, &thread, KC_PTX_TID_X + d) || thread.by != block.by ||
				    kc__compare_terms(&thread, &block))
					continue;
				index = kc__atom(g, (struct kc_atom){.kind = KC_ATOM_GLOBAL_INDEX, .number = d});
				index = kc__times(g, kc__of_term(g, &block), index);
				terms[i > n ? i : n] = terms[count - 1];
				terms[i > n ? n : i] = terms[count - 2];
				rest = kc__collect(g, terms, count - 2);
				return kc__plus(g, rest, index, 1);
			}
		}
	}
	return NULL;
}

/* --- the remaining iterations of an unrolled loop: [m != 0] + [m != 0] * [m != 1] + … = m, where m is a remainder */

static uint32_t not_equal(struct kc_algebra *g, const struct kc_sum *m, double number)
{
	const struct kc_sum *condition = kc__condition(g, KC_ATOM_NONZERO, kc__plus(g, m, kc__number(g, number), -1));

	return condition->count == 1 && condition->terms[0].count == 1 ? condition->terms[0].atoms[0] : 0;
}

/* The divisor if m is the remainder of a division; otherwise 0. */
static double divisor_of_remainder(struct kc_algebra *g, const struct kc_sum *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		const struct kc_term *term = &m->terms[i];
		struct kc_atom quotient;
		double divisor;

		if (term->count != 1)
			continue;
		quotient = g->atoms[term->atoms[0]];
		if (quotient.kind == KC_ATOM_FLOOR && kc__is_number(quotient.b, &divisor) && term->by == -divisor &&
		    kc__same_sum(m, kc__plus(g, quotient.a, kc__of_term(g, term), 1)))
			return divisor;
	}
	return 0;
}

static uint32_t find_term(const struct kc_term *terms, uint32_t count, const struct kc_term *wanted)
{
	uint32_t n = 0;

	while (n < count && (terms[n].by != wanted->by || kc__compare_terms(&terms[n], wanted)))
		n++;
	return n;
}

#define UNROLLED_MAX 8.0

static const struct kc_sum *join_tail(struct kc_algebra *g, struct kc_term *terms, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t n = 0; n < terms[i].count; n++) {
			struct kc_atom atom = g->atoms[terms[i].atoms[n]];
			struct kc_term factor = terms[i], wanted;
			uint32_t places[(int)UNROLLED_MAX], parts = 0;
			double divisor = atom.kind == KC_ATOM_NONZERO ? divisor_of_remainder(g, atom.a) : 0;

			if (divisor < 3 || divisor > UNROLLED_MAX)
				continue;
			kc__drop_factor(&factor, n);
			wanted = terms[i];
			for (double m = 1; parts + 1 < divisor && wanted.count < KC_FACTORS_MAX; m++) {
				places[parts] = find_term(terms, count, &wanted);
				if (places[parts] == count)
					break;
				parts++;
				wanted.atoms[wanted.count++] = not_equal(g, atom.a, m);
				qsort(wanted.atoms, wanted.count, sizeof(wanted.atoms[0]), compare_atoms);
			}
			if (parts + 1 < divisor)
				continue;
			for (uint32_t part = 0; part < parts; part++)
				terms[places[part]].by = 0;
			return kc__plus(g, kc__collect(g, terms, count), kc__times(g, kc__of_term(g, &factor), atom.a),
					1);
		}
	}
	return NULL;
}

static int has_condition(const struct kc_algebra *g, const struct kc_term *terms, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < terms[i].count; n++)
			if (kc__is_condition(g, terms[i].atoms[n]))
				return 1;
	return 0;
}

const struct kc_sum *kc__join_terms(struct kc_algebra *g, struct kc_term *terms, uint32_t count)
{
	const struct kc_sum *joined = NULL;

	if (has_condition(g, terms, count)) {
		joined = join_sides(g, terms, count);
		joined = joined ? joined : join_tail(g, terms, count);
	}
	return joined ? joined : join_index(g, terms, count);
}

/* --- conditions of one product */

/*
 * [x >= 4] * floor(x / 4) is [x >= 1] * floor(x / 4), as the quotient is 0 below 4.
 * The condition, as an atom, is [c - 1 - x < 0] with 1 <= c <= divisor.
 */
#define HOLDS UINT32_MAX
static uint32_t relaxed(struct kc_algebra *g, uint32_t condition, uint32_t quotient)
{
	const struct kc_atom *c = &g->atoms[condition], *q = &g->atoms[quotient];
	const struct kc_sum *weaker;
	double divisor, rest;

	if (c->kind != KC_ATOM_LESS || q->kind != KC_ATOM_FLOOR || !kc__is_number(q->b, &divisor) ||
	    !kc__is_number(kc__plus(g, c->a, q->a, 1), &rest) || rest <= 0 || rest >= divisor)
		return condition;
	weaker = kc__condition(g, KC_ATOM_LESS, kc__plus(g, kc__number(g, 0), g->atoms[quotient].a, -1));
	if (weaker->count != 1)
		return condition;
	return weaker->terms[0].count ? weaker->terms[0].atoms[0] : HOLDS;
}

static void relax(struct kc_algebra *g, struct kc_term *term)
{
	for (uint32_t n = 0; n < term->count; n++) {
		for (uint32_t m = 0; m < term->count; m++) {
			uint32_t instead = relaxed(g, term->atoms[n], term->atoms[m]);

			if (instead == HOLDS) {
				kc__drop_factor(term, n--);
				break;
			}
			term->atoms[n] = instead;
		}
	}
}

/* [a < 0] and [b < 0] cannot both hold if a + b is never below -1. */
int kc__is_contradiction(struct kc_algebra *g, const struct kc_term *term)
{
	for (uint32_t n = 0; n < term->count; n++) {
		struct kc_atom a = g->atoms[term->atoms[n]];

		for (uint32_t m = 0; a.kind == KC_ATOM_LESS && m < n; m++) {
			struct kc_atom b = g->atoms[term->atoms[m]];

			if (b.kind == KC_ATOM_LESS &&
			    kc__is_natural(g, kc__plus(g, kc__plus(g, a.a, b.a, 1), kc__number(g, 1), 1)))
				return 1;
		}
	}
	return 0;
}

/* Removes conditions that occur twice or follow from another. */
void kc__tidy_term(struct kc_algebra *g, struct kc_term *term)
{
	relax(g, term);
	qsort(term->atoms, term->count, sizeof(term->atoms[0]), compare_atoms);
	for (uint32_t n = 0; n < term->count; n++) {
		for (uint32_t m = 0; m < term->count; m++) {
			if (m == n || !kc__is_condition(g, term->atoms[n]))
				continue;
			if ((m < n && term->atoms[m] == term->atoms[n]) || follows(g, term->atoms[n], term->atoms[m])) {
				kc__drop_factor(term, n--);
				break;
			}
		}
	}
}
