/*
 * Sums of products, for people to read.
 *
 *   kc_atom   what is not taken apart: a parameter, an index, a loop's counter,
 *             a condition (1 or 0), a quotient rounded down, …
 *   kc_term   a number times atoms
 *   kc_sum    terms
 *   kc_algebra  all atoms, each once
 *
 * Numbers are written as if none wrapped around, and unsigned ones as if no
 * difference were below 0. A remainder a % c is a - c * floor(a / c), so that
 * what cancels does so by itself; so do the two sides of a condition. What gets
 * too long becomes "...".
 */
#ifndef KC_ALGEBRA_H
#define KC_ALGEBRA_H

#include "predictor/code/container/arena.h"

#include <stdint.h>

enum kc_atom_kind {
	KC_ATOM_ELSE,    /* too long, or not followed */
	KC_ATOM_PARAM,   /* number: index; extra: offset */
	KC_ATOM_SPECIAL, /* number: enum kc_ptx_special */
	KC_ATOM_COUNTER, /* number: loop */
	KC_ATOM_TRIPS,   /* number: loop, of which it is not known how often it goes round, or not in short */
	KC_ATOM_CHANCE,  /* number: condition that is not known; a: as above */
	KC_ATOM_VALUE,   /* number: a value that is not taken apart; a: counters of the loops it is in */
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
	KC_ATOM_SUM,  /* of a, where loop `number`'s counter is 0 to b - 1 */
	KC_ATOM_REST, /* a % b; only when written */
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
	uint32_t steps; /* left: then everything is "..." */
	int lacks_memory;
};

int kc__algebra_init(struct kc_algebra *g, struct kc_arena *arena);

const struct kc_sum *kc__number(struct kc_algebra *g, double number);
const struct kc_sum *kc__of_term(struct kc_algebra *g, const struct kc_term *term);
const struct kc_sum *kc__atom(struct kc_algebra *g, struct kc_atom atom);
/* a + scale * b */
const struct kc_sum *kc__plus(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b, double scale);
const struct kc_sum *kc__times(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b);
/* A condition, [a < 0], [a = 0] or [a != 0]; and the one that holds where that sum, of conditions, is 0, not 1. */
const struct kc_sum *kc__condition(struct kc_algebra *g, enum kc_atom_kind kind, const struct kc_sum *a);
const struct kc_sum *kc__negation(struct kc_algebra *g, const struct kc_sum *condition);
/* floor(a / b) */
const struct kc_sum *kc__floor(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *b);
/* a with every `atom` replaced. */
const struct kc_sum *kc__replace(struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number,
				 const struct kc_sum *by);
int kc__holds_atom(const struct kc_algebra *g, const struct kc_sum *a, uint8_t kind, int64_t number);
/* Conditions that follow from the atom are left out. */
const struct kc_sum *kc__given(struct kc_algebra *g, const struct kc_sum *a, const struct kc_sum *condition);
int kc__same_sum(const struct kc_sum *a, const struct kc_sum *b);
/* 1: it is that number. */
int kc__is_number(const struct kc_sum *a, double *number);
/* 1: never below 0, as far as can be seen. */
int kc__is_natural(const struct kc_algebra *g, const struct kc_sum *a);

/* In the arena. */
const char *kc__write_sum(struct kc_algebra *g, const struct kc_sum *a);

#endif
