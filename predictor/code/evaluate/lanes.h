/*
 * A value in all lanes of a warp, and how it changes from term to term of the
 * sums that a launch is: over blocks, over warps, over iterations of loops.
 *
 *   kc_lanes    32 numbers, and their step in each sum
 *   kc_window   of one sum: for how many terms from here on nothing changes
 *               that the counts depend on
 *   kc_windows  all of them, and which are recorded now
 *
 * Terms are not taken one by one. Each operation finds the steps of its result
 * from those of its operands; one whose outcome depends on the order of numbers
 * or on their lowest bits limits the window. Within it one term stands for all.
 *
 * In blocks of 8 x 4 threads, one warp each, with width = 64, the kernel
 *
 *   int row = blockIdx.y * 4 + threadIdx.y;
 *   for (int k = 0; k < 10; k++)
 *           sum += a[row * width + k * 8 + threadIdx.x];
 *
 * is a sum over blocks (Y) and one over iterations (K). In the first term of both:
 *
 *   value              in lane (x, y)     kept as          step in Y  step in K
 *   threadIdx.x        x                  plane 0, 1, 0            -          -
 *   threadIdx.y        y                  plane 0, 0, 1            -          -
 *   blockIdx.y         0                  uniform                  1          -
 *   row                y                  plane 0, 0, 1            4          -
 *   k                  0                  uniform                  -          1
 *   row * 64 + k * 8   64 y               plane 0, 0, 64         256          8
 *   &a[...]            a + 4 x + 256 y    plane a, 4, 256       1024         32
 *   k < 10             1                  uniform                  -          -
 *   k % 3              0                  uniform                  -    unknown
 *
 * A plane is its first lane, its step per column and its step per row. k < 10
 * limits the window of K to 10 terms. The 8 lanes of a row load 32 bytes, one
 * sector: 4 sectors per request. Both steps of the address are whole sectors, so
 * that this holds in every term: one iteration is evaluated, and the loop counts
 * 10 * 4 sectors. Were k % 3 needed, it would ask for a period of 3: three
 * iterations are then evaluated as one term. lanes_test.c has all of this.
 */
#ifndef KC_LANES_H
#define KC_LANES_H

#include "predictor/code/formula/formula.h"
#include "predictor/device/units.h"

_Static_assert(KC_SUMS_MAX <= 32, "sets of sums are masks of 32 bits");

#define KC_ALL_LANES UINT32_MAX
#define KC_ENDLESS INT64_MAX
#define KC_STEP_MAX ((int64_t)1 << 61) /* larger steps count as unknown: sums of two do not overflow */

/* A result that changes only once in so many terms is taken to be constant between its changes; of one that changes
 * more often, a whole period is evaluated as one term. */
#define TERMS_WORTH_A_WINDOW 8

/*
 * uniform: all lanes hold v[0]. plane: lane i holds v[0] + column_step * (i mod w)
 * + row_step * (i / w), where w = 2^row_log2 lanes are a row. Otherwise each lane
 * has its own v.
 */
struct kc_lanes {
	uint32_t known;      /* lanes whose value is known */
	uint32_t affine_in;  /* sums in which every lane changes by `step` from one term to the next */
	uint32_t unknown_in; /* sums in which the next term's value is not known; in all others nothing changes */
	uint8_t uniform, plane, row_log2;
	int64_t column_step, row_step;
	int64_t step[KC_SUMS_MAX]; /* valid for sums in affine_in */
	int64_t v[KC_WARP_LANES];
};

/* Bytes of a value that is always uniform; all that is valid of a plane. */
#define KC_UNIFORM_BYTES (offsetof(struct kc_lanes, v) + sizeof(int64_t))

struct kc_window {
	int64_t flow_terms;    /* terms, this one included, before control flow changes */
	int64_t address_terms; /* before the sectors or passes of an access change */
	/* How flow_terms changes with the sums around this one, as in kc_lanes. */
	uint32_t affine_in, unknown_in;
	int64_t step[KC_SUMS_MAX];
	uint32_t coupled; /* sums on which a limit of this one depends as well */
	uint32_t period;  /* terms after which what is unknown in this sum repeats; 1: no period was found */
};

struct kc_windows {
	struct kc_window of[KC_SUMS_MAX];
	uint32_t recorded; /* sums whose windows are being limited now */
};

void kc__open_window(struct kc_window *window);
/* Ends the window of sum c after `terms`. others: sums on which that number depends; those inside of c, and c itself,
 * do not matter. */
void kc__limit_flow(struct kc_windows *w, uint32_t c, int64_t terms, uint32_t others);
void kc__limit_address(struct kc_windows *w, uint32_t c, int64_t terms, uint32_t period);
/* Asks for sum c to be taken in multiples of `period` terms. */
void kc__want_period(struct kc_windows *w, uint32_t c, uint64_t period);
uint64_t kc__common_divisor(uint64_t a, uint64_t b);

/* out = the operation on its sources, for the lanes of `active`. */
void kc__operate(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		 const struct kc_lanes *c, uint32_t active, struct kc_lanes *out);
/* Limits windows to the terms in which the comparison has the same outcome in every lane. */
void kc__limit_compare(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a,
		       const struct kc_lanes *b, uint32_t active);
/* Limits windows to the terms in which each lane fits into a number of that width. */
void kc__limit_range(struct kc_windows *w, const struct kc_lanes *a, uint32_t bits, int is_signed, uint32_t active);

void kc__set_uniform(struct kc_lanes *out, int64_t value, uint32_t known);
/* Lanes of `mask` take the value of `from`. first: out holds nothing yet. */
void kc__blend(struct kc_lanes *out, const struct kc_lanes *from, uint32_t mask, int first);
static inline int64_t kc__lane(const struct kc_lanes *lanes, uint32_t lane)
{
	if (lanes->plane)
		return (int64_t)((uint64_t)lanes->v[0] +
				 (uint64_t)lanes->column_step * (lane & ((1u << lanes->row_log2) - 1)) +
				 (uint64_t)lanes->row_step * (lane >> lanes->row_log2));
	return lanes->v[lanes->uniform ? 0 : lane];
}

/* Lanes in which a predicate holds; negated: in which it does not. */
uint32_t kc__lanes_where(const struct kc_lanes *predicate, int negated);

static inline uint32_t kc__count_of(uint32_t lanes)
{
	return lanes == KC_ALL_LANES ? KC_WARP_LANES : (uint32_t)__builtin_popcount(lanes);
}

/* 1: every lane, read as a number of that width, is the number kept. */
int kc__reads_as_kept(const struct kc_lanes *lanes, uint32_t bits, int is_signed);

/* steps.c: the steps of the operation's result, which has been computed and begins with those sums in which a source is
 * affine; limits windows where it depends on them. */
void kc__find_steps(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a,
		    const struct kc_lanes *b, uint32_t active, struct kc_lanes *out);
/* The steps of a choice that each lane keeps within the window: of the one operand if all active lanes choose it,
 * otherwise those that both have. */
void kc__choose_steps(struct kc_lanes *out, const struct kc_lanes *first, const struct kc_lanes *second,
		      uint32_t firsts, uint32_t active);
/* Keeps the steps that both have. `from` may be `out` itself. */
void kc__keep_common_steps(struct kc_lanes *out, const struct kc_lanes *from);

/* plane.c: the operation, where its result is uniform or a plane again. 0: it is not, and *out is not set. */
int kc__operate_planes(const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		       const struct kc_lanes *c, struct kc_lanes *out);

#endif
