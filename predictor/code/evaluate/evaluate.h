/*
 * A formula's value for one launch.
 *
 *   kc_index       the counter of a sum: block, warp or iteration
 *   kc_tally       what was counted
 *   kc_warps       warps of a block that differ only by their place in it
 *   kc_loop_run    a loop that is being evaluated
 *   kc_guess       of a loop whose end depends on memory contents: what tells how long it runs
 *   kc_pattern     at a launch: the sectors or passes of an access
 *   kc_evaluation  all of these, and the values of the warp being evaluated
 *
 * A launch is a sum over blocks and warps, a loop a sum over iterations. A warp
 * is evaluated block by block with a mask of active lanes; what a block counts is
 * added once per lane or once per warp. The windows (lanes.h) say how many of the
 * next terms of a sum are alike: these are taken together. Where a count changes
 * as a polynomial, as in a loop whose bounds depend on the loop around it, a few
 * terms give the sum of all. Once the effort is spent, blocks and warps that are
 * spread over those left stand for them.
 *
 * At a launch (KC_COST_EFFORT_LAUNCH) only the values that control flow depends
 * on are evaluated so. Addresses are evaluated once, beforehand, in a survey.
 */
#ifndef KC_EVALUATE_H
#define KC_EVALUATE_H

#include "lanes.h"

struct kc_index {
	int64_t at, end; /* end: KC_ENDLESS for a loop */
	uint32_t period; /* terms that are evaluated as one */
	/* How `at` changes with the sums around this one, as in kc_lanes. */
	uint32_t affine_in, unknown_in;
	int64_t step[KC_SUMS_MAX];
};

enum {
	KC_TALLY_ACTIVE_LANES = KC_AMOUNT_COUNT, /* over the instructions that warps execute: lanes that take part */
	KC_TALLY_LANE_SLOTS,                     /* and all lanes */
	/* Of the warps' chains, times the threads of each. */
	KC_TALLY_CHAIN_CYCLES,
	KC_TALLY_CHAIN_FAR,
	KC_TALLY_CHAIN_NEAR,
	KC_TALLY_CHAIN_COMMON,
	KC_TALLY_LEAST_SECTORS,
	KC_TALLY_LINES,
	KC_TALLY_SCATTERED_SECTORS,
	KC_TALLY_LEAST_PASSES,
	KC_TALLY_UNSURE_SLOTS, /* those of KC_TALLY_LANE_SLOTS that an unknown branch or trip count may have left out */
	KC_TALLY_COUNT
};
struct kc_tally {
	double of[KC_TALLY_COUNT];
};

struct kc_warps {
	uint32_t count[3];                 /* along x, y, z */
	uint32_t step[3];                  /* of the thread index from one warp to the next */
	uint16_t thread[3][KC_WARP_LANES]; /* thread index of each lane of the first warp */
	uint32_t lanes;                    /* that exist */
	uint8_t is_plane, row_log2;        /* thread indices are planes over rows of 2^row_log2 lanes */
};

/* At a launch: of so many blocks in a row, one counts little. */
#define KC_BLOCKS_MANY 50u

struct kc_loop_run {
	uint32_t loop;
	uint32_t active;  /* lanes that are in the loop */
	double weight;    /* of a lane: less than 1 where it is not certain to be in the loop */
	double chance;    /* as block_chance */
	uint32_t leaving; /* lanes that leave in this iteration */
	uint32_t counted; /* those that leave after a known number of iterations at the latest */
	uint32_t unsure;  /* those of which it is an assumption when they leave */
	int64_t iteration;
	int64_t assumed;     /* iterations after which unsure lanes leave; 0: none was unsure yet */
	uint8_t assumptions; /* enum kc_assumed, of its end */
	uint8_t any_exited, ends_never;
	uint8_t evenly; /* beyond the effort: variables without a step stay as they are */
};

struct kc_guess {
	uint32_t
	    halved[2]; /* variables whose difference is halved; one twice: the variable itself; KC_NO_VALUE: none */
	double trips;  /* by the memory that it goes through; 0: not known */
};

struct kc_warp_chain {
	double cycles, far, near, common; /* as in kc_chain, of all blocks that a warp executes */
};

struct kc_evaluation {
	const struct kc_formula *f;
	const struct kc_cost_launch *launch;
	unsigned char *slots;             /* values of the warp: struct kc_lanes */
	uint32_t *block_mask, *edge_mask; /* lanes that have come to a block, or along an edge */
	double *block_threads;            /* and how many threads they stand for */
	double *block_chance;             /* that a warp comes to it with any of them, if all are sure to go together */
	struct kc_windows windows;
	struct kc_index counters[KC_SUMS_MAX];
	struct kc_loop_run loop_runs[KC_LOOP_DEPTH_MAX];
	struct kc_warps warps, first_warps; /* that are evaluated now; the first of a block */
	struct kc_tally *tally;
	/* Counts within the sum being taken are a polynomial of this degree in the counters of these sums. */
	uint32_t degree;
	uint32_t polynomial;
	uint64_t steps, effort, steps_max;
	double longest_slots; /* KC_TALLY_LANE_SLOTS of the warp that has most, of those that were evaluated */
	struct kc_warp_chain longest_chain; /* of a warp of those */
	uint8_t assumed;                    /* enum kc_assumed */
	uint8_t sampled, stopped;
	/* Beyond the effort: which sample of blocks and warps this is, counted from 1; 0: none. How many sums of those
	 * around are sampled. has_samples: something within the term being taken was. */
	uint32_t sample, sample_depth;
	uint8_t has_samples;
	/* At a launch: only eager values are evaluated again; accesses have the patterns that the survey found. */
	uint8_t at_launch, is_surveying;
	uint8_t without_floats, left_out; /* what is computed of floating-point numbers is not known; there was any */
	struct kc_pattern *patterns;      /* by launch event */
	struct kc_reach *reach;           /* by block */
	int64_t *trips;                   /* by loop: the most iterations that a warp executed */
	struct kc_guess *guesses;         /* by loop */
	uint32_t round;                   /* of the outer sums' parts, counted from 1 */
};

/* Sectors, and lines, or passes of an access by those lanes, as last found. */
struct kc_pattern {
	uint32_t mask;
	float amount, lines;
};

/* Where a block was executed: for each of the outer six sums from which term to which, and in which lanes. */
struct kc_reach {
	uint32_t first[KC_AXES], last[KC_AXES];
	uint32_t lanes; /* 0: nowhere */
	uint32_t round; /* kc_evaluation.round when it was last executed */
};

/* 1: a way out of its loop that is taken after a number of iterations that no memory contents tell. */
static inline int kc__counts_iterations(const struct kc_formula *f, const struct kc_block *block,
					const struct kc_block_plan *plan)
{
	const struct kc_value *condition = &f->values[plan->condition];

	return block->loop != KC_NO_LOOP && condition->loop == block->loop && !condition->memory &&
	       !f->leaves[block->out] != !f->leaves[block->out + 1];
}

#define ROUNDING 1e-9 /* of weights: parts of 1 that are put together again */

/* Adds instructions that each lane issues, of a lane's weight. */
static inline void kc__add_slots(struct kc_evaluation *e, double issues, double weight)
{
	double slots = issues * KC_WARP_LANES * weight;

	e->tally->of[KC_TALLY_LANE_SLOTS] += slots;
	if (weight < 1 - ROUNDING)
		e->tally->of[KC_TALLY_UNSURE_SLOTS] += slots;
}

/* 1: the effort is spent: what is left is sampled. */
static inline int kc__is_over_effort(const struct kc_evaluation *e)
{
	return !e->at_launch && e->steps > e->effort;
}

/* Evaluates one term of sum c at its counter. 1: it was the last of its kind, as lanes left the loop. */
typedef int kc__run_term(struct kc_evaluation *e, uint32_t c);

/* Takes terms from the counter on, as many as are alike, adds them to the tally and advances the counter. */
void kc__take_terms(struct kc_evaluation *e, uint32_t c, kc__run_term *term);

static inline struct kc_lanes *kc__slot(const struct kc_evaluation *e, uint32_t value)
{
	return (struct kc_lanes *)(void *)(e->slots + e->f->values[value].slot);
}

/* access.c: adds what an event counts for those lanes, each of that weight. executed: how likely it is that the warp
 * executes it. */
void kc__run_event(struct kc_evaluation *e, const struct kc_event *event, uint32_t mask, double weight,
		   double executed);
/* That stands for the first byte of a variable in global memory: far from all others. */
int64_t kc__variable_address(const struct kc_value *variable);
/* values_of_warp.c: out = scale * the counter of sum c. */
void kc__set_counter(const struct kc_evaluation *e, uint32_t c, int64_t scale, struct kc_lanes *out);
void kc__evaluate_values(struct kc_evaluation *e, uint32_t first, uint32_t count, uint32_t active);
/* Sets the loop's variables as they are in the iteration of its counter. */
void kc__set_carried(struct kc_evaluation *e, uint32_t loop, uint32_t c);
static inline struct kc_lanes *kc__entry_slot(const struct kc_evaluation *e, const struct kc_carried *carried)
{
	return (struct kc_lanes *)(void *)(e->slots + carried->slot);
}
/* At a launch: the value is not evaluated now. */
static inline int kc__is_skipped(const struct kc_evaluation *e, uint32_t value)
{
	const struct kc_value *v = &e->f->values[value];

	return e->at_launch && !(e->is_surveying ? v->surveyed : v->eager);
}
/* 1: the effort is spent. */
static inline int kc__is_stopped(struct kc_evaluation *e)
{
	e->stopped |= e->steps > e->steps_max;
	return e->stopped;
}
/* 1: the survey alone has spent it. What follows finds the same, and the launch is not counted. */
static inline int kc__survey_is_stopped(const struct kc_evaluation *e)
{
	return e->is_surveying && e->steps > e->steps_max;
}
void kc__run_warp(struct kc_evaluation *e);
/* Blocks that were executed since that round were executed up to that term of sum c as well. */
void kc__reach_terms(struct kc_evaluation *e, uint32_t c, uint32_t round, int64_t last);
/* survey.c: evaluates every value once, in a warp and block in the middle of the launch, as if all lanes reached it in
 * the first iteration of each loop. */
void kc__survey(struct kc_evaluation *e);
/* trips.c: whether a loop's end depends on memory contents; after the survey, what tells how long such loops run,
 * nothing before that; for how many iterations lanes are taken to stay in one, 0 if that is not known. */
void kc__lay_out_guesses(struct kc_evaluation *e);
int kc__has_unsure_loops(const struct kc_formula *f);
void kc__find_guesses(struct kc_evaluation *e);
double kc__assumed_trips(const struct kc_evaluation *e, uint32_t loop, uint32_t lanes);
/* footprint.c: of the least memory that the address may lie in, if it is known; else 0. *first: its address. */
double kc__buffer_bytes(const struct kc_evaluation *e, uint32_t address, double *first);
/* 1: it is computed in each iteration of the loop. */
int kc__is_computed_in(const struct kc_formula *f, uint32_t value, uint32_t loop);
/* footprint.c: after the launch was evaluated. Its distinct bytes and words, and the bytes that a block loads, if L1
 * keeps them for its warps; 0: none, or not known. is_common_kept: L1 keeps what all threads load alike. */
struct kc_footprint {
	double loaded_bytes, stored_bytes, atomics, block_loaded_bytes;
	uint8_t is_common_kept;
};
void kc__find_footprint(struct kc_evaluation *e, struct kc_footprint *footprint);
/* Terms of one of the outer six sums: blocks along z, y, x, then warps. */
static inline uint32_t kc__axis_terms(const struct kc_evaluation *e, uint32_t c)
{
	return c < KC_BLOCK_AXES ? e->launch->grid[KC_BLOCK_AXES - 1 - c] : e->warps.count[KC_AXES - 1 - c];
}
/* evaluate_launch.c: all blocks and warps. 0; -EAGAIN: the effort was spent. */
int kc__run_launch(struct kc_evaluation *e);
/* evaluate_pack.c: copies what evaluation needs of a formula into another arena, live values with a slot each. working:
 * for what is needed meanwhile. 0, -ENOMEM. */
int kc__pack_formula(struct kc_formula *to, struct kc_arena *arena, const struct kc_formula *from,
		     struct kc_arena *working);
/* Bytes of slots, masks and thread counts. */
size_t kc__scratch_bytes(const struct kc_formula *f);
void kc__lay_out_scratch(struct kc_evaluation *e, unsigned char *scratch);

#endif
