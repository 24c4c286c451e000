/* Random sums are worth, and read, what the operations that made them say: at points, where these are plain numbers. */
#include "algebra.h"
#include "text_testing.h"
#include "predictor/code/ptx/ptx.h"
#include "predictor/math/random_testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY ((size_t)16 << 20)
enum { P, Q, TID, VARIABLES };
enum { POINTS = 64, EXPRESSIONS = 4000, STEPS = 9, STACK = 16 };

static struct kc_arena arena;
static struct kc_algebra g;
static double values[POINTS][VARIABLES]; /* of two parameters, of any sign, and of a thread's index */

struct expression {
	const struct kc_sum *sum;
	double worth[POINTS];
};

/* --- value of a sum, by the definition of its atoms. NAN: "..." */

static double worth(const struct kc_sum *a, const double *at);

static double worth_of_atom(const struct kc_atom *atom, const double *at)
{
	switch (atom->kind) {
	case KC_ATOM_PARAM:
		return at[atom->number];
	case KC_ATOM_SPECIAL:
		return at[TID];
	case KC_ATOM_FLOOR:
		return floor(worth(atom->a, at) / worth(atom->b, at));
	case KC_ATOM_LESS:
		return worth(atom->a, at) < 0;
	case KC_ATOM_ZERO:
		return worth(atom->a, at) == 0;
	case KC_ATOM_NONZERO:
		return worth(atom->a, at) != 0;
	default:
		return NAN;
	}
}

static double worth(const struct kc_sum *a, const double *at)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		double product = a->terms[i].by;

		for (uint32_t n = 0; n < a->terms[i].count; n++)
			product *= worth_of_atom(&g.atoms[a->terms[i].atoms[n]], at);
		sum += product;
	}
	return sum;
}

/* --- what is made, and what it must be worth */

static int is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* 0: it became too long. */
static int assert_right(const struct expression *e)
{
	int natural = kc__is_natural(&g, e->sum);
	const char *text;

	if (isnan(worth(e->sum, values[0])))
		return 0;
	text = kc__write_sum(&g, e->sum);
	for (int i = 0; i < POINTS; i++) {
		double found = worth(e->sum, values[i]);
		const struct named names[] = {
		    {"p0", values[i][P]}, {"p1", values[i][Q]}, {"tid.x", values[i][TID]}, {NULL, 0}};

		if (!is_near(found, e->worth[i]) || (natural && found < 0))
			fail_msg("%s is worth %g, not %g, at %g %g %g", text, found, e->worth[i], values[i][P],
				 values[i][Q], values[i][TID]);
		if (strstr(text, "..."))
			continue;
		found = read_text(text, names);
		if (!is_near(found, e->worth[i]))
			fail_msg("%s reads %g, not %g, at %g %g %g", text, found, e->worth[i], values[i][P],
				 values[i][Q], values[i][TID]);
	}
	return 1;
}

static double number_at_random(void)
{
	return (double)random_below(12) - 4;
}

static struct expression leaf(void)
{
	uint32_t which = random_below(VARIABLES + 1);
	struct expression e;
	double n = number_at_random();

	e.sum = which == VARIABLES ? kc__number(&g, n)
		: which == TID     ? kc__atom(&g, (struct kc_atom){.kind = KC_ATOM_SPECIAL, .number = KC_PTX_TID_X})
				   : kc__atom(&g, (struct kc_atom){.kind = KC_ATOM_PARAM, .number = which});
	for (int i = 0; i < POINTS; i++)
		e.worth[i] = which == VARIABLES ? n : values[i][which];
	return e;
}

static struct expression plus(const struct expression *a, const struct expression *b, double scale)
{
	struct expression e = {.sum = kc__plus(&g, a->sum, b->sum, scale)};

	for (int i = 0; i < POINTS; i++)
		e.worth[i] = a->worth[i] + scale * b->worth[i];
	return e;
}

static struct expression times(const struct expression *a, const struct expression *b)
{
	struct expression e = {.sum = kc__times(&g, a->sum, b->sum)};

	for (int i = 0; i < POINTS; i++)
		e.worth[i] = a->worth[i] * b->worth[i];
	return e;
}

static struct expression quotient(const struct expression *a, double by)
{
	struct expression e = {.sum = kc__floor(&g, a->sum, kc__number(&g, by))};

	for (int i = 0; i < POINTS; i++)
		e.worth[i] = floor(a->worth[i] / by);
	return e;
}

static struct expression condition(const struct expression *a, enum kc_atom_kind kind)
{
	struct expression e = {.sum = kc__condition(&g, kind, a->sum)};

	for (int i = 0; i < POINTS; i++)
		e.worth[i] = kind == KC_ATOM_LESS ? a->worth[i] < 0 : (a->worth[i] == 0) == (kind == KC_ATOM_ZERO);
	return e;
}

static struct expression negation(const struct expression *c)
{
	struct expression e = {.sum = kc__negation(&g, c->sum)};

	for (int i = 0; i < POINTS; i++)
		e.worth[i] = 1 - c->worth[i];
	return e;
}

static struct expression condition_at_random(const struct expression *a)
{
	static const enum kc_atom_kind kinds[] = {KC_ATOM_LESS, KC_ATOM_ZERO, KC_ATOM_NONZERO};
	struct expression n = leaf(), difference = plus(a, &n, -1);
	struct expression c = condition(&difference, kinds[random_below(3)]);

	return random_below(2) ? negation(&c) : c;
}

/* A remainder, a choice between two, and what compilers make of them, are likelier than chance would have them. */
static struct expression combined(const struct expression *a, const struct expression *b)
{
	struct expression e, other, both;
	double by = 2 + random_below(6);

	switch (random_below(8)) {
	case 0:
		return plus(a, b, number_at_random());
	case 1:
		return times(a, b);
	case 2:
		return quotient(a, by);
	case 3:
		e = quotient(a, by);
		return plus(a, &e, -by);
	case 4:
		return condition_at_random(a);
	case 5: /* a choice */
		e = condition_at_random(a);
		other = negation(&e);
		e = times(&e, a);
		other = times(&other, b);
		return plus(&e, &other, 1);
	case 6: /* both conditions */
		e = condition_at_random(a);
		other = condition_at_random(random_below(2) ? a : b);
		return times(&e, &other);
	default: /* either */
		e = condition_at_random(a);
		other = condition_at_random(random_below(2) ? a : b);
		both = times(&e, &other);
		e = plus(&e, &other, 1);
		return plus(&e, &both, -1);
	}
}

static void choose_points(void)
{
	for (int i = 0; i < POINTS; i++) {
		values[i][P] = (double)random_below(24) - 8;
		values[i][Q] = (double)random_below(24) - 8;
		values[i][TID] = random_below(16);
	}
}

static void begin(void)
{
	choose_points();
	kc_arena_init(&arena, MEMORY);
	assert_int_equal(kc__algebra_init(&g, &arena), 0);
}

static void sums_are_worth_and_read_what_made_them(void **state)
{
	uint32_t right = 0;

	(void)state;
	for (int n = 0; n < EXPRESSIONS; n++) {
		struct expression stack[STACK];

		begin();
		for (int i = 0; i < STACK; i++)
			stack[i] = leaf();
		for (int step = 0; step < STEPS; step++) {
			struct expression *a = &stack[random_below(5)], *b = &stack[random_below(5)];

			*a = combined(a, b);
			right += (uint32_t)assert_right(a);
		}
		kc_arena_free(&arena);
	}
	assert_true(right > EXPRESSIONS * STEPS / 2); /* the rest became too long */
}

/* Where the condition holds, what is left of a sum is worth the same; elsewhere anything. */
static void what_is_given_is_left_out(void **state)
{
	uint32_t compared = 0;

	(void)state;
	for (int n = 0; n < EXPRESSIONS; n++) {
		struct expression a, b, c, given;

		begin();
		a = leaf();
		b = leaf();
		for (int step = 0; step < 4; step++)
			a = combined(&a, &b);
		c = condition_at_random(&b);
		given.sum = kc__given(&g, a.sum, c.sum);
		for (int i = 0; i < POINTS; i++)
			if (c.worth[i] == 1 && !isnan(worth(given.sum, values[i]))) {
				compared++;
				assert_true(is_near(worth(given.sum, values[i]), a.worth[i]));
			}
		kc_arena_free(&arena);
	}
	assert_true(compared > EXPRESSIONS * POINTS / 5);
}

/* A parameter in whose place something else stands. */
static void what_is_replaced(void **state)
{
	uint32_t compared = 0;

	(void)state;
	for (int n = 0; n < EXPRESSIONS; n++) {
		struct expression a, b, by;
		const struct kc_sum *replaced;

		begin();
		a = leaf();
		b = leaf();
		for (int step = 0; step < 4; step++)
			a = combined(&a, &b);
		by = leaf();
		by = combined(&by, &b);
		replaced = kc__replace(&g, a.sum, KC_ATOM_PARAM, P, by.sum);
		for (int i = 0; i < POINTS; i++) {
			double at[VARIABLES] = {by.worth[i], values[i][Q], values[i][TID]}, expected = worth(a.sum, at);

			if (isnan(expected) || isnan(worth(replaced, values[i])))
				continue;
			compared++;
			assert_true(is_near(worth(replaced, values[i]), expected));
		}
		assert_true(!kc__holds_atom(&g, replaced, KC_ATOM_PARAM, P) ||
			    kc__holds_atom(&g, by.sum, KC_ATOM_PARAM, P));
		assert_true(kc__holds_atom(&g, a.sum, KC_ATOM_PARAM, P) || kc__same_sum(replaced, a.sum));
		kc_arena_free(&arena);
	}
	assert_true(compared > EXPRESSIONS * POINTS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_are_worth_and_read_what_made_them),
	    cmocka_unit_test(what_is_given_is_left_out),
	    cmocka_unit_test(what_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
