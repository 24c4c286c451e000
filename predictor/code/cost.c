#include "cost.h"
#include "predictor/code/evaluate/evaluate.h"
#include "predictor/device/units.h"
#include "predictor/code/formula/formula_read.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A kernel whose evaluation needs more than this keeps memory for it, which one thread can use at a time. */
#define STACK_BYTES ((size_t)48 << 10)
/* Limit on the memory used while a formula is built. */
#define READER_BYTES ((size_t)256 << 20)
#define THREADS_PER_BLOCK_MAX 1024u

struct kc_cost {
	struct kc_arena arena;
	struct kc_formula formula;
	struct kc_cost_need *needs;
	uint32_t need_count;
	size_t scratch_bytes;
	unsigned char *spare; /* NULL: the stack is large enough */
	atomic_flag spare_taken;
};

const char *kc_cost_counter_name(uint32_t counter)
{
	static const char *const names[] = {
#define X(constant, name) name,
	    KC_COST_COUNTERS(X)
#undef X
	};

	return counter < KC_COUNTER_COUNT ? names[counter] : "";
}

int kc_counts_are_known(const struct kc_counts *counts)
{
	return (counts->exact || counts->sampled) && !counts->assumed && !counts->other_architecture;
}

double kc_counts_sectors_per_request(const struct kc_counts *counts)
{
	double requests = counts->of[KC_COUNT_OF_REQUESTS];

	return requests > 0 ? counts->of[KC_COUNT_OF_SECTORS] / requests : 0;
}

double kc_counts_least_sectors_per_request(const struct kc_counts *counts)
{
	double requests = counts->of[KC_COUNT_OF_REQUESTS];

	return requests > 0 ? counts->least_sectors / requests : 0;
}

double kc_counts_bank_conflict_degree(const struct kc_counts *counts)
{
	double least = counts->least_passes > 0 ? counts->least_passes : counts->of[KC_COUNT_OF_SHARED_REQUESTS];

	return least > 0 ? counts->of[KC_COUNT_OF_SHARED_PASSES] / least : 0;
}

/* Into memory of just that size. */
static int keep(struct kc_cost *c, const struct kc_formula *read, struct kc_arena *working,
		const struct kc_ptx_function *kernel, size_t memory_bytes)
{
	struct kc_arena trial;
	size_t bytes;
	int rc;

	kc_arena_init(&trial, memory_bytes);
	rc = kc__pack_formula(&c->formula, &trial, read, working);
	rc = rc ? rc : kc__find_needs(&c->formula, kernel, &trial, &c->needs, &c->need_count);
	bytes = trial.used_bytes;
	kc_arena_free(&trial);
	kc_arena_init(&c->arena, memory_bytes);
	rc = rc ? rc : kc_arena_reserve(&c->arena, bytes);
	rc = rc ? rc : kc__pack_formula(&c->formula, &c->arena, read, working);
	return rc ? rc : kc__find_needs(&c->formula, kernel, &c->arena, &c->needs, &c->need_count);
}

struct limits {
	size_t formula_bytes, scratch_bytes;
	size_t all_bytes; /* of the formula and what is needed while it is built */
};

/* Of what reading left: the formula gets three quarters at most, as it is packed with the help of some more. */
static size_t room_for_formula(const struct limits *limits, struct kc_arena *working)
{
	size_t left = limits->all_bytes - working->used_bytes, room = left - left / 4;

	if (room > limits->formula_bytes)
		room = limits->formula_bytes;
	working->limit_bytes -= room;
	return room;
}

static int read_formula(struct kc_cost *c, const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
			const struct limits *limits, int follows_memory, struct kc_refusal *refusal)
{
	struct kc_formula read = {0};
	struct kc_arena working;
	int rc;

	kc_arena_init(&working, limits->all_bytes);
	rc = kc__read_formula(&read, &working, module, kernel, follows_memory, refusal);
	rc = rc ? rc : keep(c, &read, &working, kernel, room_for_formula(limits, &working));
	kc_arena_free(&working);
	c->scratch_bytes = rc ? 0 : kc__scratch_bytes(&c->formula);
	if (kc_cost_scratch_bytes(c) > limits->scratch_bytes)
		rc = -ENOMEM;
	if (rc)
		kc_arena_free(&c->arena);
	return rc;
}

static int read_cost(struct kc_cost **cost, const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
		     const struct limits *limits, struct kc_refusal *refusal)
{
	struct kc_cost *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	atomic_flag_clear(&c->spare_taken);
	rc = read_formula(c, module, kernel, limits, 1, refusal);
	if (rc == -ENOMEM)
		rc = read_formula(c, module, kernel, limits, 0, refusal);
	if (rc == -ENOMEM)
		kc__refuse(refusal, kernel->offset, "%s needs more memory than is allowed", kernel->name);
	if (rc)
		kc_cost_free(c);
	else
		*cost = c;
	return rc;
}

int kc_cost_read_within(struct kc_cost **cost, const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
			size_t formula_bytes, size_t memory_bytes, struct kc_refusal *refusal)
{
	const struct limits limits = {formula_bytes, 2 * formula_bytes, memory_bytes};

	return read_cost(cost, module, kernel, &limits, refusal);
}

int kc_cost_read(struct kc_cost **cost, const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
		 size_t memory_bytes, struct kc_refusal *refusal)
{
	const struct limits limits = {memory_bytes, memory_bytes, READER_BYTES + memory_bytes};
	struct kc_cost *c;
	size_t scratch_bytes;
	int rc = read_cost(&c, module, kernel, &limits, refusal);

	if (rc)
		return rc;
	scratch_bytes = kc_cost_scratch_bytes(c);
	c->spare = scratch_bytes ? malloc(scratch_bytes) : NULL;
	if (scratch_bytes && !c->spare) {
		kc_cost_free(c);
		return -ENOMEM;
	}
	*cost = c;
	return 0;
}

void kc_cost_free(struct kc_cost *cost)
{
	if (!cost)
		return;
	kc_arena_free(&cost->arena);
	free(cost->spare);
	free(cost);
}

const struct kc_formula *kc__cost_formula(const struct kc_cost *cost)
{
	return &cost->formula;
}

uint32_t kc_cost_needs(const struct kc_cost *cost, const struct kc_cost_need **needs)
{
	*needs = cost->needs;
	return cost->need_count;
}

size_t kc_cost_bytes(const struct kc_cost *cost)
{
	return sizeof(*cost) + cost->arena.held_bytes + (cost->spare ? cost->scratch_bytes : 0);
}

size_t kc_cost_scratch_bytes(const struct kc_cost *cost)
{
	return cost->scratch_bytes > STACK_BYTES ? cost->scratch_bytes : 0;
}

uint32_t kc_cost_static_shared_bytes(const struct kc_cost *cost)
{
	return (uint32_t)cost->formula.static_shared_bytes;
}

static uint32_t threads_of_block(const struct kc_evaluation *e)
{
	return e->launch->block[0] * e->launch->block[1] * e->launch->block[2];
}

/* 1 where what was sampled stands for more than the longest warp. */
static double longest_warp(const struct kc_evaluation *e, const struct kc_tally *tally)
{
	const uint32_t *grid = e->launch->grid;
	uint32_t warps = (threads_of_block(e) + KC_WARP_LANES - 1) / KC_WARP_LANES;
	double mean = tally->of[KC_TALLY_LANE_SLOTS] / ((double)grid[0] * grid[1] * grid[2] * warps);

	return mean > 0 ? fmax(e->longest_slots / mean, 1) : 1;
}

/* What is distinct is at most what is accessed. Of what all threads load alike, loads that L1 does not serve are as any
 * others. */
static void fill_footprint(struct kc_evaluation *e, const struct kc_tally *tally, struct kc_counts *counts)
{
	double accessed = tally->of[KC_COUNT_OF_SECTORS] * KC_SECTOR_BYTES;
	double blocks = (double)e->launch->grid[0] * e->launch->grid[1] * e->launch->grid[2];
	struct kc_footprint footprint;

	kc__find_footprint(e, &footprint);
	counts->distinct_loaded_bytes = fmin(footprint.loaded_bytes, accessed);
	counts->distinct_stored_bytes = fmin(footprint.stored_bytes, accessed);
	counts->block_loaded_bytes = fmin(footprint.block_loaded_bytes * blocks, accessed);
	counts->distinct_atomics = fmin(footprint.atomics, tally->of[KC_COUNT_OF_ATOMICS]);
	if (footprint.is_common_kept)
		return;
	counts->chain_far += counts->chain_common;
	counts->longest_far += counts->longest_common;
	counts->chain_common = counts->longest_common = 0;
}

static void fill_counts(struct kc_evaluation *e, const struct kc_tally *tally, double threads, struct kc_counts *counts)
{
	const double *of = tally->of;

	*counts = (struct kc_counts){.threads = threads};
	for (uint32_t n = 0; n < KC_COUNTER_COUNT; n++)
		counts->of[n] = of[n] / threads;
	counts->least_sectors = of[KC_TALLY_LEAST_SECTORS] / threads;
	counts->scattered_sectors = of[KC_TALLY_SCATTERED_SECTORS] / threads;
	counts->least_passes = of[KC_TALLY_LEAST_PASSES] / threads;
	counts->active_share = of[KC_TALLY_LANE_SLOTS] ? of[KC_TALLY_ACTIVE_LANES] / of[KC_TALLY_LANE_SLOTS] : 1;
	if (of[KC_TALLY_LANE_SLOTS])
		counts->unsure_share = of[KC_TALLY_UNSURE_SLOTS] / of[KC_TALLY_LANE_SLOTS];
	counts->longest_warp = longest_warp(e, tally);
	counts->chain_cycles = of[KC_TALLY_CHAIN_CYCLES] / threads;
	counts->chain_far = of[KC_TALLY_CHAIN_FAR] / threads;
	counts->chain_near = of[KC_TALLY_CHAIN_NEAR] / threads;
	counts->chain_common = of[KC_TALLY_CHAIN_COMMON] / threads;
	counts->contended = of[KC_ALSO_CONTENDED] / threads;
	counts->wide_conversions = of[KC_ALSO_WIDE_CONVERSIONS] / threads;
	counts->longest_cycles = e->longest_chain.cycles;
	counts->longest_far = e->longest_chain.far;
	counts->longest_near = e->longest_chain.near;
	counts->longest_common = e->longest_chain.common;
	counts->lines = of[KC_TALLY_LINES] / threads;
	counts->scattered_local = of[KC_ALSO_SCATTERED_LOCAL] / threads;
	counts->constant_requests = of[KC_ALSO_CONSTANT] / threads;
	if (counts->contended > 0 && threads_of_block(e) > KC_WARP_LANES)
		e->assumed |= KC_ASSUMED_TURNS;
	counts->assumed = e->assumed;
	counts->sampled = e->sampled;
	counts->accesses_local = e->f->accesses_local;
	counts->exact = !e->assumed && !e->sampled;
	fill_footprint(e, tally, counts);
}

static int evaluate(const struct kc_cost *cost, const struct kc_cost_launch *launch, uint32_t effort,
		    unsigned char *scratch, struct kc_counts *counts)
{
	struct kc_tally tally = {{0}};
	struct kc_evaluation e = {.f = &cost->formula, .launch = launch, .tally = &tally, .effort = effort};
	double threads = 1;
	int rc;

	for (uint32_t d = 0; d < 3; d++)
		threads *= (double)launch->grid[d] * launch->block[d];
	kc__lay_out_scratch(&e, scratch);
	rc = kc__run_launch(&e);
	if (!rc)
		fill_counts(&e, &tally, threads, counts);
	return rc;
}

static int evaluate_on_stack(const struct kc_cost *cost, const struct kc_cost_launch *launch, uint32_t effort,
			     struct kc_counts *counts)
{
	unsigned char scratch[STACK_BYTES];

	return evaluate(cost, launch, effort, scratch, counts);
}

static int is_launchable(const struct kc_cost_launch *launch)
{
	uint64_t threads = 1;

	for (uint32_t d = 0; d < 3; d++) {
		if (!launch->grid[d] || !launch->block[d] || launch->block[d] > THREADS_PER_BLOCK_MAX)
			return 0;
		threads *= launch->block[d];
	}
	return threads <= THREADS_PER_BLOCK_MAX;
}

int kc_cost_evaluate_in(const struct kc_cost *cost, const struct kc_cost_launch *launch, uint32_t effort, void *scratch,
			struct kc_counts *counts)
{
	if (!is_launchable(launch))
		return -EINVAL;
	if (cost->scratch_bytes <= STACK_BYTES)
		return evaluate_on_stack(cost, launch, effort, counts);
	return scratch ? evaluate(cost, launch, effort, scratch, counts) : -EAGAIN;
}

int kc_cost_evaluate(const struct kc_cost *cost, const struct kc_cost_launch *launch, uint32_t effort,
		     struct kc_counts *counts)
{
	atomic_flag *taken = (atomic_flag *)&cost->spare_taken;
	int rc;

	if (!cost->spare)
		return kc_cost_evaluate_in(cost, launch, effort, NULL, counts);
	if (atomic_flag_test_and_set_explicit(taken, memory_order_acquire))
		return -EAGAIN;
	rc = kc_cost_evaluate_in(cost, launch, effort, cost->spare, counts);
	atomic_flag_clear_explicit(taken, memory_order_release);
	return rc;
}
