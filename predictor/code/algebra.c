#include "algebra.h"

#include "ptx.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATOMS_MAX 4096u
/* How deep sums in atoms are followed. */
#define DEPTH_MAX 12u
#define STEPS_MAX 2000000u

static const struct kc_sum nothing;

int kc__algebra_init(struct kc_algebra *g, struct kc_arena *arena)
{
	*g = (struct kc_algebra){.arena = arena, .steps = STEPS_MAX};
	return kc__atom(g, (struct kc_atom){.kind = KC_ATOM_ELSE}) == &nothing ? -ENOMEM : 0;
}

int kc__same_sum(const struct kc_sum *a, const struct kc_sum *b)
{
	if (a == b)
		return 1;
	if (!a || !b || a->count != b->count)
		return 0;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->terms[i].by != b->terms[i].by || a->terms[i].count != b->terms[i].count ||
		    memcmp(a->terms[i].atoms, b->terms[i].atoms, a->terms[i].count * sizeof(a->terms[i].atoms[0])))
			return 0;
	return 1;
}

static struct kc_sum *new_sum(struct kc_algebra *g, uint32_t terms)
{
	struct kc_sum *sum = kc_arena_take(g->arena, sizeof(*sum) + terms * sizeof(sum->terms[0]));

	if (!sum)
		g->lacks_memory = 1;
	return sum;
}

const struct kc_sum *kc__of_term(struct kc_algebra *g, const struct kc_term *term)
{
	struct kc_sum *sum = new_sum(g, 1);

	if (!sum)
		return &nothing;
	sum->count = 1;
	sum->terms[0] = *term;
	return sum;
}

static const struct kc_sum *of_atom(struct kc_algebra *g, uint32_t number)
{
	return kc__of_term(g, &(struct kc_term){.by = 1, .count = 1, .atoms = {number}});
}

const struct kc_sum *kc__number(struct kc_algebra *g, double number)
{
	struct kc_sum *sum = number != 0 ? new_sum(g, 1) : NULL;

	if (!sum)
		return &nothing;
	sum->count = 1;
	sum->terms[0] = (struct kc_term){.by = number};
	return sum;
}

const struct kc_sum *kc__atom(struct kc_algebra *g, struct kc_atom atom)
{
	for (uint32_t i = 0; i < g->count; i++) {
		const struct kc_atom *known = &g->atoms[i];

		if (known->kind == atom.kind && known->number == atom.number && known->extra == atom.extra &&
		    kc__same_sum(known->a, atom.a) && kc__same_sum(known->b, atom.b))
			return of_atom(g, i);
	}
	if (g->count >= ATOMS_MAX)
		return of_atom(g, 0);
	if (kc_arena_grow(g->arena, &g->atoms, &g->capacity, g->count, sizeof(*g->atoms))) {
		g->lacks_memory = 1;
		return &nothing;
	}
	g->atoms[g->count] = atom;
	return of_atom(g, g->count++);
}

int kc__is_number(const struct kc_sum *a, double *number)
{
	if (a->count > 1 || (a->count == 1 && a->terms[0].count))
		return 0;
	*number = a->count ? a->terms[0].by : 0;
	return 1;
}

static int is_condition(const struct kc_algebra *g, uint32_t atom)
{
	uint8_t kind = g->atoms[atom].kind;

	return kind == KC_ATOM_LESS || kind == KC_ATOM_ZERO || kind == KC_ATOM_NONZERO || kind == KC_ATOM_STAYS;
}

static int is_natural_atom(const struct kc_algebra *g, uint32_t atom, unsigned depth)
{
	const struct kc_atom *a = &g->atoms[atom];

	switch (a->kind) {
	case KC_ATOM_SPECIAL:
	case KC_ATOM_COUNTER:
	case KC_ATOM_TRIPS:
	case KC_ATOM_CHANCE:
	case KC_ATOM_STAYS:
	case KC_ATOM_LESS:
	case KC_ATOM_ZERO:
	case KC_ATOM_NONZERO:
	case KC_ATOM_LOG2:
	case KC_ATOM_POWER:
	case KC_ATOM_GLOBAL_INDEX:
		return 1;
	case KC_ATOM_FLOOR:
	case KC_ATOM_SUM:
		if (!depth)
			return 0;
		for (uint32_t i = 0; i < a->a->count; i++) {
			if (a->a->terms[i].by < 0)
				return 0;
			for (uint32_t n = 0; n < a->a->terms[i].count; n++)
				if (!is_natural_atom(g, a->a->terms[i].atoms[n], depth - 1))
					return 0;
		}
		return 1;
	default:
		return 0;
	}
}

static int is_natural_term(const struct kc_algebra *g, const struct kc_term *term)
{
	if (term->by < 0)
		return 0;
	for (uint32_t n = 0; n < term->count; n++)
		if (!is_natural_atom(g, term->atoms[n], DEPTH_MAX))
			return 0;
	return 1;
}

int kc__is_natural(const struct kc_algebra *g, const struct kc_sum *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (!is_natural_term(g, &a->terms[i]))
			return 0;
	return 1;
}

/* --- sums */

static int compare_terms(const void *x, const void *y)
{
	const struct kc_term *a = x, *b = y;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->atoms[i] != b->atoms[i])
			return a->atoms[i] < b->atoms[i] ? -1 : 1;
	return 0;
}

/* --- conditions */

/* The other side of a condition: a >= 0 is [-a - 1 < 0]. 0, which is no condition: there is none. */
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
		return &nothing;
	if (kind == KC_ATOM_LESS && kc__is_natural(g, kc__plus(g, kc__number(g, -1), a, -1)))
		return kc__number(g, 1);
	/* One sign of two. */
	if (kind != KC_ATOM_LESS && a->terms[0].by < 0)
		a = kc__plus(g, &nothing, a, -1);
	return kc__atom(g, (struct kc_atom){.kind = (uint8_t)kind, .a = a});
}

const struct kc_sum *kc__negation(struct kc_algebra *g, const struct kc_sum *condition)
{
	if (condition->count == 1 && condition->terms[0].count == 1 && condition->terms[0].by == 1) {
		uint32_t other = other_side(g, condition->terms[0].atoms[0]);

		if (other)
			return of_atom(g, other);
	}
	return kc__plus(g, kc__number(g, 1), condition, -1);
}

/* b is a but for one atom, which has the other side there: *without gets a without it. */
static int are_sides(struct kc_algebra *g, const struct kc_term *a, const struct kc_term *b, struct kc_term *without)
{
	if (a->by != b->by || a->count != b->count)
		return 0;
	for (uint32_t n = 0; n < a->count; n++) {
		struct kc_term left = *a, right = *b;
		uint32_t other = other_side(g, a->atoms[n]), m = 0;

		while (m < b->count && (!other || b->atoms[m] != other))
			m++;
		if (m == b->count)
			continue;
		memmove(&left.atoms[n], &left.atoms[n + 1], (--left.count - n) * sizeof(left.atoms[0]));
		memmove(&right.atoms[m], &right.atoms[m + 1], (--right.count - m) * sizeof(right.atoms[0]));
		if (compare_terms(&left, &right))
			continue;
		*without = left;
		return 1;
	}
	return 0;
}

static const struct kc_sum *collect(struct kc_algebra *g, struct kc_term *terms, uint32_t count);

/* x * [c] + x * [not c] = x. NULL: there is nothing like that. */
static const struct kc_sum *join_sides(struct kc_algebra *g, struct kc_term *terms, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t n = i + 1; n < count; n++) {
			struct kc_term without;

			if (!are_sides(g, &terms[i], &terms[n], &without))
				continue;
			terms[i] = without;
			terms[n] = terms[count - 1];
			return collect(g, terms, count - 1);
		}
	}
	return NULL;
}

/* --- ctaid * ntid + tid as one index */

static void drop(struct kc_term *term, uint32_t n)
{
	term->count--;
	memmove(&term->atoms[n], &term->atoms[n + 1], (term->count - n) * sizeof(term->atoms[0]));
}

/* Takes the atom out of the term. 0: it is not there. */
static int take_special(const struct kc_algebra *g, struct kc_term *term, int64_t special)
{
	for (uint32_t n = 0; n < term->count; n++) {
		const struct kc_atom *atom = &g->atoms[term->atoms[n]];

		if (atom->kind != KC_ATOM_SPECIAL || atom->number != special)
			continue;
		drop(term, n);
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
				    compare_terms(&thread, &block))
					continue;
				index = kc__atom(g, (struct kc_atom){.kind = KC_ATOM_GLOBAL_INDEX, .number = d});
				index = kc__times(g, kc__of_term(g, &block), index);
				terms[i > n ? i : n] = terms[count - 1];
				terms[i > n ? n : i] = terms[count - 2];
				rest = collect(g, terms, count - 2);
				return kc__plus(g, rest, index, 1);
			}
		}
	}
	return NULL;
}

static int has_condition(const struct kc_algebra *g, const struct kc_term *terms, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < terms[i].count; n++)
			if (is_condition(g, terms[i].atoms[n]))
				return 1;
	return 0;
}

/* Takes terms in any order; like ones become one. */
static const struct kc_sum *collect(struct kc_algebra *g, struct kc_term *terms, uint32_t count)
{
	struct kc_sum *sum;
	uint32_t kept = 0;

	qsort(terms, count, sizeof(*terms), compare_terms);
	for (uint32_t i = 0; i < count; i++) {
		if (kept && !compare_terms(&terms[kept - 1], &terms[i]))
			terms[kept - 1].by += terms[i].by;
		else
			terms[kept++] = terms[i];
		if (kept && terms[kept - 1].by == 0 &&
		    (i + 1 == count || compare_terms(&terms[kept - 1], &terms[i + 1])))
			kept--;
	}
	if (kept > 1 && kept <= KC_TERMS_MAX && has_condition(g, terms, kept)) {
		const struct kc_sum *joined = join_sides(g, terms, kept);

		if (joined)
			return joined;
	}
	if (kept > 1 && kept <= KC_TERMS_MAX) {
		const struct kc_sum *joined = join_index(g, terms, kept);

		if (joined)
			return joined;
	}
	if (kept > KC_TERMS_MAX || g->steps < count)
		return of_atom(g, 0);
	g->steps -= count;
	sum = new_sum(g, kept);
	if (!sum)
		return &nothing;
	sum->count = kept;
	memcpy(sum->terms, terms, kept * sizeof(*terms));
	return sum;
}

const struct kc_sum *kc__plus(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b, double scale)
{
	struct kc_term terms[2 * KC_TERMS_MAX];

	memcpy(terms, a->terms, a->count * sizeof(*terms));
	for (uint32_t i = 0; i < b->count; i++) {
		terms[a->count + i] = b->terms[i];
		terms[a->count + i].by *= scale;
	}
	return collect(g, terms, a->count + b->count);
}

/* --- products */

/* a - b, where that is never below 0. */
static int exceeds(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b)
{
	return kc__is_natural(g, kc__plus(g, a, b, -1));
}

/* [a < 0] follows from [b < 0]. */
static int follows(struct kc_algebra *g, uint32_t a, uint32_t b)
{
	return a != b && g->atoms[a].kind == KC_ATOM_LESS && g->atoms[b].kind == KC_ATOM_LESS &&
	       exceeds(g, g->atoms[b].a, g->atoms[a].a);
}

/*
 * [x >= 4] * floor(x / 4) is [x >= 1] * floor(x / 4): below 4 the quotient is 0.
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
	weaker = kc__condition(g, KC_ATOM_LESS, kc__plus(g, &nothing, g->atoms[quotient].a, -1));
	if (weaker->count != 1)
		return condition;
	return weaker->terms[0].count ? weaker->terms[0].atoms[0] : HOLDS;
}

static int compare_atoms(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void relax(struct kc_algebra *g, struct kc_term *term)
{
	for (uint32_t n = 0; n < term->count; n++) {
		for (uint32_t m = 0; m < term->count; m++) {
			uint32_t instead = relaxed(g, term->atoms[n], term->atoms[m]);

			if (instead == HOLDS) {
				drop(term, n--);
				break;
			}
			term->atoms[n] = instead;
		}
	}
}

/* [a < 0] and [b < 0] cannot both hold where a + b is never below -1. */
static int is_contradiction(struct kc_algebra *g, const struct kc_term *term)
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

/* A condition counts once, and not beside one that it follows from. */
static void tidy(struct kc_algebra *g, struct kc_term *term)
{
	relax(g, term);
	qsort(term->atoms, term->count, sizeof(term->atoms[0]), compare_atoms);
	for (uint32_t n = 0; n < term->count; n++) {
		for (uint32_t m = 0; m < term->count; m++) {
			if (m == n || !is_condition(g, term->atoms[n]))
				continue;
			if ((term->atoms[m] == term->atoms[n] && m < n) || follows(g, term->atoms[n], term->atoms[m])) {
				drop(term, n--);
				break;
			}
		}
	}
}

/* 0: too many factors. */
static int multiply_terms(struct kc_algebra *g, const struct kc_term *a, const struct kc_term *b, struct kc_term *out)
{
	uint32_t all[2 * KC_FACTORS_MAX], count = 0;

	memcpy(all, a->atoms, a->count * sizeof(all[0]));
	count = a->count;
	for (uint32_t i = 0; i < b->count; i++) {
		int twice = 0;

		for (uint32_t n = 0; n < a->count && !twice; n++)
			twice = a->atoms[n] == b->atoms[i] && is_condition(g, b->atoms[i]);
		if (!twice)
			all[count++] = b->atoms[i];
	}
	if (count > KC_FACTORS_MAX)
		return 0;
	*out = (struct kc_term){.by = a->by * b->by, .count = count};
	memcpy(out->atoms, all, count * sizeof(all[0]));
	if (is_contradiction(g, out))
		*out = (struct kc_term){.by = 0};
	tidy(g, out);
	return 1;
}

static int is_multiple(const struct kc_sum *a, const struct kc_sum *b)
{
	if (!a->count || a->count != b->count)
		return 0;
	for (uint32_t i = 0; i < a->count; i++)
		if (compare_terms(&a->terms[i], &b->terms[i]) ||
		    a->terms[i].by * b->terms[0].by != b->terms[i].by * a->terms[0].by)
			return 0;
	return 1;
}

/* [x = 0] * x is 0: each factor of that kind with each sum it makes 0. */
static int makes_zero(const struct kc_algebra *g, const struct kc_term *term, const struct kc_sum *sum)
{
	for (uint32_t n = 0; n < term->count; n++)
		if (g->atoms[term->atoms[n]].kind == KC_ATOM_ZERO && is_multiple(sum, g->atoms[term->atoms[n]].a))
			return 1;
	return 0;
}

/* [x != 0] * x is x: a without factors that say that b is not 0. */
static const struct kc_sum *without_idle(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b)
{
	struct kc_sum *sum = NULL;

	for (uint32_t i = 0; i < a->count; i++) {
		for (uint32_t n = 0; n < a->terms[i].count; n++) {
			const struct kc_atom *atom = &g->atoms[a->terms[i].atoms[n]];

			if (atom->kind != KC_ATOM_NONZERO || !is_multiple(b, atom->a))
				continue;
			if (!sum) {
				sum = new_sum(g, a->count);
				if (!sum)
					return a;
				sum->count = a->count;
				memcpy(sum->terms, a->terms, a->count * sizeof(a->terms[0]));
			}
			drop(&sum->terms[i], n);
			break;
		}
	}
	return sum ? sum : a;
}

const struct kc_sum *kc__times(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b)
{
	struct kc_term terms[KC_TERMS_MAX * 4];
	uint32_t count = 0;
	double number;

	if (kc__is_number(a, &number) || kc__is_number(b, &number))
		return kc__plus(g, &nothing, kc__is_number(a, &number) ? b : a, number);
	a = without_idle(g, a, b);
	b = without_idle(g, b, a);
	for (uint32_t i = 0; i < a->count; i++) {
		if (makes_zero(g, &a->terms[i], b))
			continue;
		for (uint32_t n = 0; n < b->count; n++) {
			if (makes_zero(g, &b->terms[n], a))
				continue;
			if (count == KC_TERMS_MAX * 4 || !multiply_terms(g, &a->terms[i], &b->terms[n], &terms[count]))
				return of_atom(g, 0);
			count++;
		}
	}
	return collect(g, terms, count);
}

const struct kc_sum *kc__floor(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b)
{
	const struct kc_sum *whole = &nothing, *rest = a;
	double divisor, number;

	if (!kc__is_number(b, &divisor))
		return kc__same_sum(a, b) ? kc__number(g, 1)
					  : kc__atom(g, (struct kc_atom){.kind = KC_ATOM_FLOOR, .a = a, .b = b});
	if (divisor == 1)
		return a;
	if (divisor == 0)
		return of_atom(g, 0);
	/* What the divisor divides is taken out. */
	for (uint32_t i = 0; i < a->count; i++) {
		struct kc_term part = a->terms[i];
		const struct kc_sum *alone;
		double taken =
		    part.count ? (fmod(part.by, divisor) == 0 ? part.by : 0) : floor(part.by / divisor) * divisor;

		if (taken == 0)
			continue;
		part.by = taken;
		alone = kc__of_term(g, &part);
		rest = kc__plus(g, rest, alone, -1);
		whole = kc__plus(g, whole, alone, 1 / divisor);
	}
	if (!kc__is_number(rest, &number))
		return kc__plus(g, whole, kc__atom(g, (struct kc_atom){.kind = KC_ATOM_FLOOR, .a = rest, .b = b}), 1);
	return whole;
}

/* --- looking into atoms */

static int holds(const struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number, unsigned depth)
{
	if (!a || !depth)
		return 0;
	for (uint32_t i = 0; i < a->count; i++) {
		for (uint32_t n = 0; n < a->terms[i].count; n++) {
			const struct kc_atom *atom = &g->atoms[a->terms[i].atoms[n]];

			if ((atom->kind == kind && atom->number == number) ||
			    holds(g, atom->a, kind, number, depth - 1) || holds(g, atom->b, kind, number, depth - 1))
				return 1;
		}
	}
	return 0;
}

int kc__holds_atom(const struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number)
{
	return holds(g, a, kind, number, DEPTH_MAX);
}

static const struct kc_sum *replace(struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number,
				    const struct kc_sum *by, unsigned depth);

static const struct kc_sum *replace_atom(struct kc_algebra *g, uint32_t n, uint8_t kind, int64_t number,
					 const struct kc_sum *by, unsigned depth)
{
	struct kc_atom atom = g->atoms[n];
	const struct kc_sum *a = atom.a, *b = atom.b;

	if (atom.kind == kind && atom.number == number)
		return by;
	if (!a || !depth)
		return of_atom(g, depth ? n : 0);
	atom.a = replace(g, a, kind, number, by, depth - 1);
	atom.b = b ? replace(g, b, kind, number, by, depth - 1) : NULL;
	if (kc__same_sum(atom.a, a) && kc__same_sum(atom.b, b))
		return of_atom(g, n);
	if (atom.kind == KC_ATOM_FLOOR)
		return kc__floor(g, atom.a, atom.b);
	if (atom.kind == KC_ATOM_LESS || atom.kind == KC_ATOM_ZERO || atom.kind == KC_ATOM_NONZERO)
		return kc__condition(g, atom.kind, atom.a);
	return kc__atom(g, atom);
}

static const struct kc_sum *replace(struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number,
				    const struct kc_sum *by, unsigned depth)
{
	const struct kc_sum *sum = &nothing;

	if (!holds(g, a, kind, number, depth + 1))
		return a;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct kc_sum *product = kc__number(g, a->terms[i].by);

		for (uint32_t n = 0; n < a->terms[i].count; n++)
			product = kc__times(g, product, replace_atom(g, a->terms[i].atoms[n], kind, number, by, depth));
		sum = kc__plus(g, sum, product, 1);
	}
	return sum;
}

const struct kc_sum *kc__replace(struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number,
				 const struct kc_sum *by)
{
	return replace(g, a, kind, number, by, DEPTH_MAX);
}

const struct kc_sum *kc__given(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *condition)
{
	struct kc_term terms[KC_TERMS_MAX];
	uint32_t given;

	a = kc__times(g, a, condition);
	if (condition->count != 1 || condition->terms[0].count != 1)
		return a;
	given = condition->terms[0].atoms[0];
	for (uint32_t i = 0; i < a->count; i++) {
		terms[i] = a->terms[i];
		for (uint32_t n = 0; n < terms[i].count; n++)
			if (terms[i].atoms[n] == given)
				drop(&terms[i], n--);
	}
	return collect(g, terms, a->count);
}
