/*
 * Sums of products, for people to read.
 *
 *   kc_atom     a factor that is not a sum of products: a parameter, an index, a
 *               loop counter, a condition (1 or 0), a quotient rounded down, …
 *   kc_term     a number times atoms
 *   kc_sum      terms
 *   kc_algebra  all atoms, each once
 *
 * Sums are written as if no number wrapped around, and as if no difference of
 * unsigned numbers were below 0. A remainder a % c is kept as a - c * floor(a / c),
 * and a condition as its two sides, so that what cancels does so by itself. Sums
 * that get too long become "...".
 */
#ifndef KC_ALGEBRA_H
#define KC_ALGEBRA_H

#include "predictor/code/container/arena.h"

#include <stdint.h>

enum kc_atom_kind {
	KC_ATOM_OTHER,   /* too long, or not known */
	KC_ATOM_PARAM,   /* number: index; extra: offset */
	KC_ATOM_SPECIAL, /* number: enum kc_ptx_special */
	KC_ATOM_COUNTER, /* number: loop */
	KC_ATOM_TRIPS,   /* number: loop whose trip count is not known, or has no short formula */
	KC_ATOM_CHANCE,  /* number: condition that is not known; a: as for VALUE */
	KC_ATOM_VALUE,   /* number: value without a formula; a: counters of the loops it is in */
	KC_ATOM_STAYS,   /* number: loop: 1 before its last iteration */
	KC_ATOM_LESS,    /* [a < 0] */
	KC_ATOM_ZERO,    /* [a = 0] */
	KC_ATOM_NONZERO,
	KC_ATOM_FLOOR,        /* floor(a / b) */
	KC_ATOM_LOG2,         /* floor(log2(a)) */
	KC_ATOM_POWER,        /* 2^a */
	KC_ATOM_GLOBAL_INDEX, /* number: 0 to 2: ctaid * ntid + tid */
	KC_ATOM_MIN,
	KC_ATOM_MAX,
	KC_ATOM_SUM,       /* of a over the counter of loop `number`, 0 to b - 1 */
	KC_ATOM_REMAINDER, /* a % b; used only in writing */
};

#define KC_FACTORS_MAX 8u
#define KC_TERMS_MAX 40u

struct kc_sum;

struct kc_atom {
	uint8_t kind;
	int64_t number, extra;
	const struct kc_sum *a, *b;
};

struct kc_term {
	double by;
	uint32_t count;
	uint32_t atoms[KC_FACTORS_MAX]; /* ascending */
};

struct kc_sum {
	uint32_t count;
	struct kc_term terms[];
};

struct kc_algebra {
	struct kc_arena *arena;
	struct kc_atom *atoms;
	uint32_t count, capacity;
	uint32_t steps; /* that are left; afterwards every sum is "..." */
	int lacks_memory;
};

int kc__algebra_init(struct kc_algebra *g, struct kc_arena *arena);

const struct kc_sum *kc__number(struct kc_algebra *g, double number);
const struct kc_sum *kc__of_term(struct kc_algebra *g, const struct kc_term *term);
const struct kc_sum *kc__atom(struct kc_algebra *g, struct kc_atom atom);
/* a + scale * b */
const struct kc_sum *kc__plus(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b, double scale);
const struct kc_sum *kc__times(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b);
/* The condition [a < 0], [a = 0] or [a != 0]; and 1 - condition, of a sum that is 1 or 0. */
const struct kc_sum *kc__condition(struct kc_algebra *g, enum kc_atom_kind kind, const struct kc_sum *a);
const struct kc_sum *kc__negation(struct kc_algebra *g, const struct kc_sum *condition);
/* floor(a / b) */
const struct kc_sum *kc__floor(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b);
/* a with every atom of that kind and number replaced. */
const struct kc_sum *kc__replace(struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number,
				 const struct kc_sum *by);
int kc__holds_atom(const struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number);
/* a where the condition is known to hold: without conditions that follow from it. */
const struct kc_sum *kc__given(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *condition);
int kc__same_sum(const struct kc_sum *a, const struct kc_sum *b);
/* 1: the sum is a constant, *number. */
int kc__is_number(const struct kc_sum *a, double *number);
/* 1: certainly never below 0. */
int kc__is_natural(const struct kc_algebra *g, const struct kc_sum *a);

/* The sum as text, in the arena. */
const char *kc__write_sum(struct kc_algebra *g, const struct kc_sum *a);

#endif
