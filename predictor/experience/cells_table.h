/* How the cells lie in their table: for those who learn them and those who keep them. */
#ifndef KC_CELLS_TABLE_H
#define KC_CELLS_TABLE_H

#include "cells.h"

#include <string.h>

#define BUCKETS (1u << 15)
#define WAYS 4u

/* Measurements of the whole table that a cell is kept for, for each measurement of its own. */
#define KEPT_BY_ONE 16384u
#define KEPT_BY_MOST 64u /* measurements */

#define LEAST_ERROR 0.003f     /* relative; no estimate is trusted to be better. Chosen as those in cells.c */
#define LARGEST_ERROR 4.0f     /* of one measurement */
#define NEW_MEMORY 200.0f      /* measurements */
#define LARGEST_NEW_ERROR 1.0f /* of one of them */

/* Of a cell: each estimator has 1 at most, over the cube of its error. A hundredth more for what is rounded. */
#define LARGEST_WEIGHT (1.01f * KC_ESTIMATORS / (LEAST_ERROR * LEAST_ERROR * LEAST_ERROR))

/* The kinds of new cells are those of contexts, and the start of a history, where no error is expected until one is
 * seen. */
#define NEW_START KC_CONTEXT_KINDS
#define NEW_KINDS (KC_CONTEXT_KINDS + 1)

struct cell {
	float value[KC_ESTIMATORS]; /* log time */
	float error[KC_ESTIMATORS];
	uint32_t used; /* clock of the table when it last learned */
	uint16_t count;
	uint16_t at_start; /* 1: some of it was learned from the first launches of a history */
};

/* A cell as it is saved. What it estimates is apart: a value and an error that all estimators share, as they do after
 * one measurement, or those of each. */
struct kc__saved_cell {
	uint32_t which, used;
	uint64_t word;
};

/* Saved cells that are not in the table yet. Those of a few buckets are taken over together, when a measurement of one
 * of them is learned; until then launching threads find their words here. */
#define GROUP_BUCKETS 8u
#define GROUPS (BUCKETS / GROUP_BUCKETS)
struct waiting {
	const struct kc__saved_cell *saved; /* NULL: none */
	const float *estimates;
	uint32_t first[GROUPS + 1], first_estimate[GROUPS + 1];
	uint8_t waits[GROUPS]; /* 1: yes */
};

struct kc_cells {
	uint64_t words[BUCKETS][WAYS]; /* value, weight and name: what launching threads read */
	struct cell cells[BUCKETS][WAYS];
	float new_error[NEW_KINDS];
	float new_count[NEW_KINDS];
	uint32_t clock; /* measurements learned so far */
	struct waiting waiting;
};

/* cells_saved.c */
uint64_t kc__cells_find_waiting(const struct kc_cells *cells, uint32_t bucket, uint16_t name); /* 0: not found */
void kc__cells_take_over(struct kc_cells *cells, uint32_t group);                              /* by the learner */

static inline int kc__cells_wait(const struct kc_cells *cells, uint32_t bucket)
{
	return cells->waiting.saved && __atomic_load_n(&cells->waiting.waits[bucket / GROUP_BUCKETS], __ATOMIC_ACQUIRE);
}

/* A word: bits 32 to 63 the value, a float; 16 to 31 the upper half of the weight, a float; 0 to 15 the name, which
 * tells the cells of a bucket apart. */

static inline float as_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t as_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline uint64_t pack(float value, float weight, uint16_t name)
{
	return (uint64_t)as_bits(value) << 32 | (as_bits(weight) & 0xffff0000u) | name;
}

static inline float value_of(uint64_t word)
{
	return as_float((uint32_t)(word >> 32));
}

static inline uint16_t name_of(uint64_t word)
{
	return (uint16_t)word;
}

static inline float weight_of(uint64_t word)
{
	return as_float((uint32_t)word & 0xffff0000u);
}

/* How long it is worth keeping, on the table's clock. */
static inline uint32_t kc__cell_kept_until(const struct kc_cells *cells, const struct cell *cell)
{
	uint32_t idle = cells->clock - cell->used, most = KEPT_BY_MOST;
	uint32_t kept = (cell->count < most ? cell->count : most) * KEPT_BY_ONE;

	if (!idle) /* another cell of this launch */
		return UINT32_MAX;
	return kept > idle ? kept - idle : 0;
}

/* A cell that has its first measurement. */
static inline void kc__cell_begin(struct cell *cell, float log_ns, float error)
{
	for (uint32_t i = 0; i < KC_ESTIMATORS; i++) {
		cell->value[i] = log_ns;
		cell->error[i] = error;
	}
	cell->count = 1;
}

#endif
