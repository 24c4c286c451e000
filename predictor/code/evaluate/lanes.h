/*
 * A value in all lanes of a warp, and how it goes on.
 *
 *   kc_lanes    32 numbers; and, for each sum that is being taken (over blocks,
 *               warps, iterations), by how much they change from one term of
 *               the sum to the next. Where they are one number, or a plane over
 *               the warp's rows, the lanes are not written out
 *   kc_window   of one sum: how many terms from here on are alike
 *   kc_windows  all of them, and what is recorded into them
 *
 * A sum is not taken term by term: each operation that depends on the order of
 * numbers, or on their lowest bits, says for how many terms its outcome stays
 * what it is. Within that window control flow is the same in every term, so one
 * term stands for all.
 *
 * `moves` has a bit for each sum in which the lanes change by the same step;
 * `bends`, where they change otherwise: then nothing is known of the next term.
 */
#ifndef KC_LANES_H
#define KC_LANES_H

#include "predictor/code/formula/formula.h"
#include "predictor/device/units.h"

#define KC_ALL_LANES UINT32_MAX
#define KC_ENDLESS INT64_MAX
#define KC_STEP_MAX ((int64_t)1 << 61) /* larger ones are not followed: sums of two do not overflow */

/* A result that changes only once in so many terms is taken to be constant between its changes; one that changes more
 * often is looked at in strides. */
#define TERMS_WORTH_A_WINDOW 8

/* Only v[0] counts where uniform or plane: there lane i is v[0] + along * (i mod w) + across * (i / w), w = 2^shift.
 * No step counts but those `moves` names. */
struct kc_lanes {
	uint32_t known; /* lanes */
	uint16_t moves, bends;
	uint8_t uniform, plane, shift;
	int64_t along, across;
	int64_t step[KC_SUMS_MAX];
	int64_t v[KC_WARP_LANES];
};

/* Bytes of a value that is always uniform; all that counts of a plane. */
#define KC_UNIFORM_BYTES (offsetof(struct kc_lanes, v) + sizeof(int64_t))

struct kc_window {
	int64_t flow;    /* terms, this one included, before control flow changes */
	int64_t address; /* before the pattern of an access changes */
	/* flow, when sums around this one go on */
	uint16_t moves, bends;
	int64_t step[KC_SUMS_MAX];
	uint16_t coupled; /* sums on which a limit of this one depends as well */
	uint32_t stride;  /* of terms between which what bends here moves; 1: none is known */
};

struct kc_windows {
	struct kc_window of[KC_SUMS_MAX];
	uint16_t recorded; /* sums into whose windows limits are recorded now */
};

void kc__open_window(struct kc_window *window);
/* The window of sum c ends after `terms`, whatever the other sums. */
void kc__limit_flow(struct kc_windows *w, uint32_t c, int64_t terms, uint16_t others);
void kc__limit_address(struct kc_windows *w, uint32_t c, int64_t terms, uint32_t stride);
void kc__want_stride(struct kc_windows *w, uint32_t c, uint64_t stride);
uint64_t kc__common_divisor(uint64_t a, uint64_t b);

/* out = the operation on its sources, for the lanes of `active`. */
void kc__operate(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		 const struct kc_lanes *c, uint32_t active, struct kc_lanes *out);
/* The comparison holds as it does for as many terms as are recorded. */
void kc__limit_compare(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a,
		       const struct kc_lanes *b, uint32_t active);
/* So does that each lane can be read as a number of that width. */
void kc__limit_range(struct kc_windows *w, const struct kc_lanes *a, uint32_t bits, int is_signed, uint32_t active);

void kc__set_uniform(struct kc_lanes *out, int64_t value, uint32_t known);
/* Lanes of `mask` become those of `from`; 1 where out held nothing before. */
void kc__blend(struct kc_lanes *out, const struct kc_lanes *from, uint32_t mask, int first);
/* Writes the lanes out. */
void kc__spread(struct kc_lanes *lanes);
static inline int64_t kc__lane(const struct kc_lanes *lanes, uint32_t lane)
{
	if (lanes->plane)
		return (int64_t)((uint64_t)lanes->v[0] + (uint64_t)lanes->along * (lane & ((1u << lanes->shift) - 1)) +
				 (uint64_t)lanes->across * (lane >> lanes->shift));
	return lanes->v[lanes->uniform ? 0 : lane];
}

/* Lanes in which a predicate holds; negated: in which it does not. */
uint32_t kc__lanes_where(const struct kc_lanes *predicate, int negated);

static inline uint32_t kc__count_of(uint32_t lanes)
{
	return lanes == KC_ALL_LANES ? KC_WARP_LANES : (uint32_t)__builtin_popcount(lanes);
}

/* Whether all lanes of it, as they are kept, are what they are when they are read with so many bits. */
int kc__reads_as_kept(const struct kc_lanes *lanes, uint32_t bits, int is_signed);

/* plane.c: the operation, where its result is uniform or a plane again. 0: it is not. */
int kc__operate_planes(const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		       const struct kc_lanes *c, struct kc_lanes *out);

#endif
