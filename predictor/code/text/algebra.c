#include "algebra_rules.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATOMS_MAX 4096u
/* Limit on the nesting of sums in atoms. */
#define DEPTH_MAX 12u
#define STEPS_MAX 2000000u

static const struct kc_sum nothing;

int kc__algebra_init(struct kc_algebra *g, struct kc_arena *arena)
{
	*g = (struct kc_algebra){.arena = arena, .steps = STEPS_MAX};
	return kc__atom(g, (struct kc_atom){.kind = KC_ATOM_OTHER}) == &nothing ? -ENOMEM : 0;
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

const struct kc_sum *kc__of_atom(struct kc_algebra *g, uint32_t number)
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
			return kc__of_atom(g, i);
	}
	if (g->count >= ATOMS_MAX)
		return kc__of_atom(g, 0);
	if (kc_arena_grow(g->arena, &g->atoms, &g->capacity, g->count, sizeof(*g->atoms))) {
		g->lacks_memory = 1;
		return &nothing;
	}
	g->atoms[g->count] = atom;
	return kc__of_atom(g, g->count++);
}

int kc__is_number(const struct kc_sum *a, double *number)
{
	if (a->count > 1 || (a->count == 1 && a->terms[0].count))
		return 0;
	*number = a->count ? a->terms[0].by : 0;
	return 1;
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

int kc__compare_terms(const void *x, const void *y)
{
	const struct kc_term *a = x, *b = y;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->atoms[i] != b->atoms[i])
			return a->atoms[i] < b->atoms[i] ? -1 : 1;
	return 0;
}

const struct kc_sum *kc__collect(struct kc_algebra *g, struct kc_term *terms, uint32_t count)
{
	struct kc_sum *sum;
	uint32_t kept = 0;

	qsort(terms, count, sizeof(*terms), kc__compare_terms);
	for (uint32_t i = 0; i < count; i++) {
		if (kept && !kc__compare_terms(&terms[kept - 1], &terms[i]))
			terms[kept - 1].by += terms[i].by;
		else
			terms[kept++] = terms[i];
		if (kept && terms[kept - 1].by == 0 &&
		    (i + 1 == count || kc__compare_terms(&terms[kept - 1], &terms[i + 1])))
			kept--;
	}
	if (kept > 1 && kept <= KC_TERMS_MAX) {
		const struct kc_sum *joined = kc__join_terms(g, terms, kept);

		if (joined)
			return joined;
	}
	if (kept > KC_TERMS_MAX || g->steps < count * count)
		return kc__of_atom(g, 0);
	g->steps -= count * count;
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
	return kc__collect(g, terms, a->count + b->count);
}

/* --- products */

/* 0: too many factors. */
static int multiply_terms(struct kc_algebra *g, const struct kc_term *a, const struct kc_term *b, struct kc_term *out)
{
	uint32_t all[2 * KC_FACTORS_MAX], count = 0;

	memcpy(all, a->atoms, a->count * sizeof(all[0]));
	count = a->count;
	for (uint32_t i = 0; i < b->count; i++) {
		int twice = 0;

		for (uint32_t n = 0; n < a->count && !twice; n++)
			twice = a->atoms[n] == b->atoms[i] && kc__is_condition(g, b->atoms[i]);
		if (!twice)
			all[count++] = b->atoms[i];
	}
	if (count > KC_FACTORS_MAX)
		return 0;
	*out = (struct kc_term){.by = a->by * b->by, .count = count};
	memcpy(out->atoms, all, count * sizeof(all[0]));
	if (kc__is_contradiction(g, out))
		*out = (struct kc_term){.by = 0};
	kc__tidy_term(g, out);
	return 1;
}

static int is_multiple(const struct kc_sum *a, const struct kc_sum *b)
{
	if (!a->count || a->count != b->count)
		return 0;
	for (uint32_t i = 0; i < a->count; i++)
		if (kc__compare_terms(&a->terms[i], &b->terms[i]) ||
		    a->terms[i].by * b->terms[0].by != b->terms[i].by * a->terms[0].by)
			return 0;
	return 1;
}

/* 1: the term has a factor [x = 0], where x is a multiple of the sum: their product is 0. */
static int makes_zero(const struct kc_algebra *g, const struct kc_term *term, const struct kc_sum *sum)
{
	for (uint32_t n = 0; n < term->count; n++)
		if (g->atoms[term->atoms[n]].kind == KC_ATOM_ZERO && is_multiple(sum, g->atoms[term->atoms[n]].a))
			return 1;
	return 0;
}

/* a without factors [x != 0] where x is a multiple of b: [x != 0] * x is x. So is [x > 0] * x if x is never below 0. */
static const struct kc_sum *without_idle(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b)
{
	struct kc_sum *sum = NULL;

	for (uint32_t i = 0; i < a->count; i++) {
		for (uint32_t n = 0; n < a->terms[i].count; n++) {
			const struct kc_atom *atom = &g->atoms[a->terms[i].atoms[n]];

			if (!(atom->kind == KC_ATOM_NONZERO || (atom->kind == KC_ATOM_LESS && kc__is_natural(g, b))) ||
			    !is_multiple(b, atom->a))
				continue;
			if (!sum) {
				sum = new_sum(g, a->count);
				if (!sum)
					return a;
				sum->count = a->count;
				memcpy(sum->terms, a->terms, a->count * sizeof(a->terms[0]));
			}
			kc__drop_factor(&sum->terms[i], n);
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
				return kc__of_atom(g, 0);
			count++;
		}
	}
	return kc__collect(g, terms, count);
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
		return kc__of_atom(g, 0);
	/* Multiples of the divisor are divided. */
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
		return kc__of_atom(g, depth ? n : 0);
	atom.a = replace(g, a, kind, number, by, depth - 1);
	atom.b = b ? replace(g, b, kind, number, by, depth - 1) : NULL;
	if (kc__same_sum(atom.a, a) && kc__same_sum(atom.b, b))
		return kc__of_atom(g, n);
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
				kc__drop_factor(&terms[i], n--);
	}
	return kc__collect(g, terms, a->count);
}
