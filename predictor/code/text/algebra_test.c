#include "algebra.h"
#include "predictor/code/ptx/ptx.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY ((size_t)16 << 20)
#define PARAMS 2

struct fixture {
	struct kc_arena arena;
	struct kc_algebra g;
	const struct kc_sum *p, *q; /* parameters 0 and 1 */
	double values[PARAMS];
};

static const struct kc_sum *param(struct fixture *f, int64_t number)
{
	return kc__atom(&f->g, (struct kc_atom){.kind = KC_ATOM_PARAM, .number = number});
}

static const struct kc_sum *number(struct fixture *f, double n)
{
	return kc__number(&f->g, n);
}

static const struct kc_sum *plus(struct fixture *f, const struct kc_sum *a, double n)
{
	return kc__plus(&f->g, a, number(f, n), 1);
}

static const struct kc_sum *quotient(struct fixture *f, const struct kc_sum *a, double by)
{
	return kc__floor(&f->g, a, number(f, by));
}

static const struct kc_sum *rest(struct fixture *f, const struct kc_sum *a, double by)
{
	return kc__plus(&f->g, a, quotient(f, a, by), -by);
}

static const struct kc_sum *special(struct fixture *f, int64_t which)
{
	return kc__atom(&f->g, (struct kc_atom){.kind = KC_ATOM_SPECIAL, .number = which});
}

static int set_up(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	kc_arena_init(&f.arena, MEMORY);
	assert_int_equal(kc__algebra_init(&f.g, &f.arena), 0);
	f.p = param(&f, 0);
	f.q = param(&f, 1);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kc_arena_free(&f->arena);
	return 0;
}

/* --- value of a sum, by the definition of its atoms */

static double worth(const struct fixture *f, const struct kc_sum *a);

static double worth_of_atom(const struct fixture *f, const struct kc_atom *atom)
{
	switch (atom->kind) {
	case KC_ATOM_PARAM:
		return f->values[atom->number];
	case KC_ATOM_FLOOR:
		return floor(worth(f, atom->a) / worth(f, atom->b));
	case KC_ATOM_LESS:
		return worth(f, atom->a) < 0;
	case KC_ATOM_ZERO:
		return worth(f, atom->a) == 0;
	case KC_ATOM_NONZERO:
		return worth(f, atom->a) != 0;
	default:
		fail_msg("atom of kind %d", atom->kind);
		return 0;
	}
}

static double worth(const struct fixture *f, const struct kc_sum *a)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		double product = a->terms[i].by;

		for (uint32_t n = 0; n < a->terms[i].count; n++)
			product *= worth_of_atom(f, &f->g.atoms[a->terms[i].atoms[n]]);
		sum += product;
	}
	return sum;
}

/* Checks that a has the value of `expected` for all p and q of a square. */
static void assert_worth(struct fixture *f, const struct kc_sum *a, double (*expected)(int p, int q))
{
	for (int p = 0; p < 40; p++) {
		for (int q = -7; q < 30; q++) {
			f->values[0] = p;
			f->values[1] = q;
			assert_true(worth(f, a) == expected(p, q));
		}
	}
}

/* --- sums and products */

static void like_terms_are_one(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *sum = plus(f, f->p, -2), *product = kc__times(&f->g, plus(f, f->p, 2), sum);

	/* (p + 2) (p - 2) = p p - 4 */
	assert_string_equal(kc__write_sum(&f->g, product), "p0*p0 - 4");
	assert_string_equal(kc__write_sum(&f->g, kc__plus(&f->g, f->p, f->p, -1)), "0");
	assert_string_equal(kc__write_sum(&f->g, kc__plus(&f->g, f->p, f->p, 2)), "3*p0");
	assert_true(kc__same_sum(kc__plus(&f->g, f->p, f->q, 1), kc__plus(&f->g, f->q, f->p, 1)));
}

static double third(int p, int q)
{
	(void)q;
	return p / 3 + 2;
}

static void quotients_take_out_what_divides(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *a = quotient(f, plus(f, f->p, 6), 3);

	assert_worth(f, a, third);
	assert_string_equal(kc__write_sum(&f->g, a), "floor(p0 / 3) + 2");
	assert_string_equal(kc__write_sum(&f->g, quotient(f, kc__times(&f->g, f->p, number(f, 8)), 4)), "2*p0");
	assert_string_equal(kc__write_sum(&f->g, rest(f, f->p, 4)), "p0 % 4");
}

static double modulo(int p, int q)
{
	(void)q;
	return p % 4;
}

static void a_rest_and_its_quotient_cancel(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *r = rest(f, f->p, 4);

	assert_worth(f, r, modulo);
	assert_true(kc__same_sum(kc__plus(&f->g, r, quotient(f, f->p, 4), 4), f->p));
	assert_true(kc__is_natural(&f->g, number(f, 3)));
	assert_false(kc__is_natural(&f->g, plus(f, f->p, -1)));
}

/* --- conditions */

static const struct kc_sum *below(struct fixture *f, const struct kc_sum *a, const struct kc_sum *b)
{
	return kc__condition(&f->g, KC_ATOM_LESS, kc__plus(&f->g, a, b, -1));
}

static void the_sides_of_a_condition_add_up(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *less = below(f, f->p, f->q), *not_less = kc__negation(&f->g, less);
	const struct kc_sum *both = kc__plus(&f->g, kc__times(&f->g, f->p, less), kc__times(&f->g, f->p, not_less), 1);

	assert_true(kc__same_sum(both, f->p));
	assert_string_equal(kc__write_sum(&f->g, kc__times(&f->g, less, not_less)), "0");
	assert_true(kc__same_sum(kc__times(&f->g, less, less), less));
	assert_true(kc__same_sum(kc__negation(&f->g, not_less), less));
}

static double two_steps(int p, int q)
{
	return p < q ? 5 : p < q + 3 ? 5 : 0;
}

/* 5 [p < q] + 5 [p >= q] [p < q + 3] = 5 [p < q + 3] */
static void a_side_and_a_part_of_the_other(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *less = below(f, f->p, f->q), *part = below(f, f->p, plus(f, f->q, 3));
	const struct kc_sum *sum = kc__plus(&f->g, less, kc__times(&f->g, kc__negation(&f->g, less), part), 1);

	sum = kc__times(&f->g, sum, number(f, 5));
	assert_worth(f, sum, two_steps);
	assert_true(kc__same_sum(sum, kc__times(&f->g, part, number(f, 5))));
}

static double nearer(int p, int q)
{
	return p < q && p < q + 3 ? p : 0;
}

static void what_follows_is_left_out(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *less = below(f, f->p, f->q), *wider = below(f, f->p, plus(f, f->q, 3));
	const struct kc_sum *product = kc__times(&f->g, kc__times(&f->g, f->p, less), wider);

	assert_worth(f, product, nearer);
	assert_true(kc__same_sum(product, kc__times(&f->g, f->p, less)));
}

static const struct kc_sum *is_not(struct fixture *f, const struct kc_sum *a, double n)
{
	return kc__condition(&f->g, KC_ATOM_NONZERO, plus(f, a, -n));
}

/* The elements of an array at an index: 7 at 1, 11 at 2, otherwise 5. */
static double element(int p, int q)
{
	(void)q;
	return p == 1 ? 7 : p == 2 ? 11 : 5;
}

static void what_is_one_number_is_no_other(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *one = kc__condition(&f->g, KC_ATOM_ZERO, plus(f, f->p, -1));
	const struct kc_sum *two = kc__condition(&f->g, KC_ATOM_ZERO, plus(f, f->p, -2));
	const struct kc_sum *not_one = is_not(f, f->p, 1), *not_two = is_not(f, f->p, 2);
	const struct kc_sum *at_one = kc__times(&f->g, kc__times(&f->g, one, not_two), number(f, 7));
	const struct kc_sum *elsewhere = kc__times(&f->g, kc__times(&f->g, not_one, not_two), number(f, 5));
	const struct kc_sum *all = kc__plus(&f->g, at_one, kc__times(&f->g, two, number(f, 11)), 1);

	assert_true(kc__same_sum(at_one, kc__times(&f->g, one, number(f, 7))));
	assert_worth(f, kc__plus(&f->g, all, elsewhere, 1), element);
}

/* A loop that nvcc unrolls by 4: p / 4 times 4 iterations if p > 3, then p % 4, written out up to three times. */
static double rounds(int p, int q)
{
	(void)q;
	return p;
}

static void an_unrolled_loop_is_the_loop(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *left = rest(f, f->p, 4);
	const struct kc_sum *many = kc__condition(&f->g, KC_ATOM_LESS, kc__plus(&f->g, number(f, 3), f->p, -1));
	const struct kc_sum *one = is_not(f, left, 0), *two = kc__times(&f->g, one, is_not(f, left, 1));
	const struct kc_sum *three = kc__times(&f->g, two, is_not(f, left, 2));
	const struct kc_sum *main_part = kc__times(&f->g, kc__times(&f->g, many, quotient(f, f->p, 4)), number(f, 4));
	const struct kc_sum *tail = kc__plus(&f->g, kc__plus(&f->g, one, two, 1), three, 1);

	assert_worth(f, kc__plus(&f->g, main_part, tail, 1), rounds);
	assert_true(kc__same_sum(tail, left));
}

static double product_where_positive(int p, int q)
{
	return q > 0 ? p * q : 0;
}

static void replacing_and_what_is_given(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *positive = below(f, number(f, 0), f->q);
	const struct kc_sum *product = kc__times(&f->g, kc__times(&f->g, f->p, f->q), positive);

	assert_worth(f, product, product_where_positive);
	assert_true(kc__holds_atom(&f->g, product, KC_ATOM_PARAM, 1));
	assert_string_equal(kc__write_sum(&f->g, kc__replace(&f->g, product, KC_ATOM_PARAM, 1, number(f, 4))), "4*p0");
	assert_string_equal(kc__write_sum(&f->g, kc__replace(&f->g, product, KC_ATOM_PARAM, 1, number(f, -4))), "0");
	assert_string_equal(kc__write_sum(&f->g, kc__given(&f->g, product, positive)), "p0*p1");
}

/* --- text */

static void an_index_over_the_grid(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *start = kc__times(&f->g, special(f, KC_PTX_CTAID_X), special(f, KC_PTX_NTID_X));
	const struct kc_sum *index = kc__plus(&f->g, start, special(f, KC_PTX_TID_X), 1);

	assert_string_equal(kc__write_sum(&f->g, index), "gid.x");
	assert_string_equal(kc__write_sum(&f->g, below(f, index, f->p)), "[gid.x < p0]");
	assert_string_equal(kc__write_sum(&f->g, kc__condition(&f->g, KC_ATOM_ZERO, special(f, KC_PTX_TID_X))),
			    "[tid.x = 0]");
}

/* A product with too many factors is "...". */
static void what_is_too_long(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *power = f->p;

	for (unsigned i = 0; i < KC_FACTORS_MAX; i++)
		power = kc__times(&f->g, power, f->p);
	assert_string_equal(kc__write_sum(&f->g, power), "...");
}

/* 40 terms are one sum, and 160 products of terms are tried: not 13 times 13. */
static void what_has_too_many_terms(void **state)
{
	struct fixture *f = *state;
	const struct kc_sum *most = number(f, 0), *thirteen = most;

	for (int64_t i = 0; i < KC_TERMS_MAX; i++)
		most = kc__plus(&f->g, most, param(f, i), 1);
	assert_int_equal(most->count, 40);
	assert_string_equal(kc__write_sum(&f->g, plus(f, most, 1)), "...");
	assert_string_equal(kc__write_sum(&f->g, plus(f, quotient(f, f->p, 0), 0)), "...");
	for (int64_t i = 0; i < 13; i++)
		thirteen = kc__plus(&f->g, thirteen, param(f, i), 1);
	assert_string_equal(kc__write_sum(&f->g, kc__times(&f->g, thirteen, thirteen)), "...");
	assert_int_equal(kc__times(&f->g, kc__plus(&f->g, f->p, f->q, 1), thirteen)->count,
			 25); /* p0 p1 is there twice */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(like_terms_are_one),
	    TEST(quotients_take_out_what_divides),
	    TEST(a_rest_and_its_quotient_cancel),
	    TEST(the_sides_of_a_condition_add_up),
	    TEST(a_side_and_a_part_of_the_other),
	    TEST(what_follows_is_left_out),
	    TEST(what_is_one_number_is_no_other),
	    TEST(an_unrolled_loop_is_the_loop),
	    TEST(replacing_and_what_is_given),
	    TEST(an_index_over_the_grid),
	    TEST(what_is_too_long),
	    TEST(what_has_too_many_terms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
