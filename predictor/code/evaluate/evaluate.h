/*
 * A formula's value for one launch.
 *
 *   kc_index       where a sum stands: the block, the warp, the iteration
 *   kc_tally       what was counted
 *   kc_evaluation  both, and the state of the warp that is run
 *   kc_warps       warps of a block that differ only by where they stand in it
 *   kc_pattern     at a launch: how an access meets memory
 *
 * The launch is a sum over blocks and warps, a loop a sum over iterations. A
 * warp is run through its blocks in order with a mask of lanes for each; what a
 * block counts is added once for its lanes, or once for the warp. Whether the
 * next terms of a sum are alike is what the windows say (lanes.h): they are
 * taken together. Where a count goes on as a polynomial, a loop in a loop whose
 * bounds it sets, a few terms give the sum of all.
 *
 * At a launch, control flow alone is followed like that: of the values only
 * those that it depends on, of the windows only those of flow. What addresses
 * are is seen in a survey before, once.
 */
#ifndef KC_EVALUATE_H
#define KC_EVALUATE_H

#include "lanes.h"

struct kc_index {
	int64_t at, end; /* end: KC_ENDLESS for a loop */
	uint32_t stride; /* terms that are looked at before the pattern repeats */
	/* How `at` goes on with the sums around this one. */
	uint16_t moves, bends;
	int64_t step[KC_SUMS_MAX];
};

enum {
	KC_TALLY_LANES = KC_COUNTER_COUNT,
	KC_TALLY_PLACES,
	KC_TALLY_LEAST_SECTORS,
	KC_TALLY_SCATTERED_SECTORS,
	KC_TALLY_LEAST_PASSES,
	KC_TALLY_COUNT
};
struct kc_tally {
	double of[KC_TALLY_COUNT];
};

struct kc_warps {
	uint32_t count[3];                 /* along x, y, z */
	uint32_t step[3];                  /* of the thread index from one to the next */
	uint16_t thread[3][KC_WARP_LANES]; /* of the first one */
	uint32_t lanes;
	uint8_t is_plane, shift; /* lanes i mod 2^shift and i / 2^shift say which thread */
};

/* At a launch: of so many blocks in a row, one counts little. */
#define KC_BLOCKS_MANY 50u

/* A loop that is being run. */
struct kc_turn {
	uint32_t loop;
	uint32_t active;  /* lanes that go round */
	double weight;    /* of a lane: less than 1 where it is not sure to be here */
	uint32_t leaving; /* lanes that leave in this iteration */
	uint32_t guessed; /* of them, those that were taken to leave */
	int64_t iteration;
	uint8_t any_left, ends_never;
};

struct kc_evaluation {
	const struct kc_formula *f;
	const struct kc_cost_launch *launch;
	unsigned char *slots;
	uint32_t *block_mask, *edge_mask; /* lanes on their way there */
	double *block_threads;            /* and how many threads they are */
	struct kc_windows windows;
	struct kc_index counters[KC_SUMS_MAX];
	struct kc_turn turns[KC_LOOP_DEPTH_MAX];
	struct kc_warps warps;
	struct kc_tally *tally;
	/* Of the counts within the sum being taken: a polynomial of that degree in the counters of those sums. */
	uint32_t degree;
	uint16_t polynomial;
	uint64_t steps, effort, steps_max;
	uint8_t assumed, sampled, stopped;
	/* At a launch: only eager values are computed anew, the patterns of accesses are those that outline.c found. */
	uint8_t outlined, is_surveying;
	struct kc_pattern *patterns; /* by event */
};

/* How many sectors or passes an access takes with those lanes, as last found. */
struct kc_pattern {
	uint32_t mask;
	float amount;
};

/* One term of sum c, where its counter stands. 1: it is the last of its kind (lanes left the loop). */
typedef int kc_term(struct kc_evaluation *e, uint32_t c);

/* Takes terms from where the counter stands, as many as are alike, adds them to the tally, moves the counter on. */
void kc__take_terms(struct kc_evaluation *e, uint32_t c, kc_term *term);

static inline struct kc_lanes *kc__slot(const struct kc_evaluation *e, uint32_t value)
{
	return (struct kc_lanes *)(void *)(e->slots + e->f->values[value].slot);
}

/* access.c: what an event counts for those lanes, each of that weight. */
void kc__run_event(struct kc_evaluation *e, const struct kc_event *event, uint32_t mask, double weight);
/* base + scale * the counter */
void kc__set_counted(const struct kc_evaluation *e, uint32_t c, int64_t scale, struct kc_lanes *out);
void kc__evaluate_values(struct kc_evaluation *e, uint32_t first, uint32_t count, uint32_t active);
/* The loop's variables as they are in the iteration at which its counter stands. */
void kc__set_carried(struct kc_evaluation *e, uint32_t loop, uint32_t c);
static inline struct kc_lanes *kc__entry_slot(const struct kc_evaluation *e, const struct kc_carried *carried)
{
	return (struct kc_lanes *)(void *)(e->slots + carried->slot);
}
static inline int kc__is_idle(const struct kc_evaluation *e, uint32_t value)
{
	const struct kc_value *v = &e->f->values[value];

	return e->outlined && !(e->is_surveying ? v->surveyed : v->eager);
}
/* The effort is spent. */
static inline int kc__is_over(struct kc_evaluation *e)
{
	e->stopped |= e->steps > e->steps_max;
	return e->stopped;
}
void kc__run_warp(struct kc_evaluation *e);
/* outline.c: every value once, in the warp and block in the middle, as if all lanes came by in the first iteration. */
void kc__survey(struct kc_evaluation *e);
/* Sectors, or passes, of an access by those lanes, over the alignments that its address takes in the launch. */
double kc__outlined_amount(struct kc_evaluation *e, const struct kc_event *event, uint32_t mask);
/* Terms of one of the outer six sums: blocks along z, y, x, then warps. */
uint32_t kc__axis_terms(const struct kc_evaluation *e, uint32_t c);
int kc__run_launch(struct kc_evaluation *e);
/* Copies what evaluation needs of a formula into another arena: live values with a slot each. 0, -ENOMEM. */
int kc__pack_formula(struct kc_formula *to, struct kc_arena *arena, const struct kc_formula *from);
/* Bytes of slots, masks and thread counts. */
size_t kc__scratch_bytes(const struct kc_formula *f);
void kc__lay_out_scratch(struct kc_evaluation *e, unsigned char *scratch);

#endif
