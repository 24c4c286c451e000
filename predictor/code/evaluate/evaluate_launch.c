#include "evaluate.h"

#include <errno.h>
#include <string.h>

/* Steps allowed beyond the effort, so that an evaluation that exceeds it can finish by sampling: so many times the
 * effort and STEPS_SPARE. Kernels of CuPy, xformers and gpu4pyscf took up to 340,000 at an effort of 20,000, or never
 * finished. */
#define OVERRUN 16u
#define STEPS_SPARE 100000u
#define OVERRUN_MAX 4000000u

#define ALIGN 64u

static size_t align_up(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

size_t kc__scratch_bytes(const struct kc_formula *f)
{
	return align_up(f->slot_bytes) + 2 * align_up(f->cfg.block_count * sizeof(double)) +
	       align_up(f->launch_event_count * sizeof(struct kc_pattern)) +
	       align_up(f->cfg.block_count * sizeof(uint32_t)) + align_up(f->cfg.edge_count * sizeof(uint32_t)) +
	       align_up(f->cfg.block_count * sizeof(struct kc_reach)) + align_up(f->cfg.loop_count * sizeof(int64_t)) +
	       align_up(f->cfg.loop_count * sizeof(struct kc_guess)) + ALIGN;
}

void kc__lay_out_scratch(struct kc_evaluation *e, unsigned char *scratch)
{
	const struct kc_cfg *cfg = &e->f->cfg;
	unsigned char *at = scratch + (ALIGN - (uintptr_t)scratch % ALIGN) % ALIGN;

	e->slots = at;
	at += align_up(e->f->slot_bytes);
	e->block_threads = (double *)(void *)at;
	at += align_up(cfg->block_count * sizeof(double));
	e->block_chance = (double *)(void *)at;
	at += align_up(cfg->block_count * sizeof(double));
	e->block_mask = (uint32_t *)(void *)at;
	at += align_up(cfg->block_count * sizeof(uint32_t));
	e->edge_mask = (uint32_t *)(void *)at;
	at += align_up(cfg->edge_count * sizeof(uint32_t));
	e->patterns = (struct kc_pattern *)(void *)at;
	at += align_up(e->f->launch_event_count * sizeof(struct kc_pattern));
	e->reach = (struct kc_reach *)(void *)at;
	at += align_up(cfg->block_count * sizeof(struct kc_reach));
	e->trips = (int64_t *)(void *)at;
	at += align_up(cfg->loop_count * sizeof(int64_t));
	e->guesses = (struct kc_guess *)(void *)at;
	memset(e->reach, 0, cfg->block_count * sizeof(struct kc_reach));
	memset(e->trips, 0, cfg->loop_count * sizeof(int64_t));
	kc__lay_out_guesses(e);
	memset(e->block_threads, 0, cfg->block_count * sizeof(double));
	memset(e->block_chance, 0, cfg->block_count * sizeof(double));
	memset(e->block_mask, 0, cfg->block_count * sizeof(uint32_t));
	memset(e->edge_mask, 0, cfg->edge_count * sizeof(uint32_t));
}

/* --- blocks and warps: sums 0 to 5 */

static int run_axis(struct kc_evaluation *e, uint32_t c);

static int run_axis_term(struct kc_evaluation *e, uint32_t c)
{
	const uint32_t *level = e->f->level;

	kc__evaluate_values(e, level[c + 1], level[c + 2] - level[c + 1], e->warps.lanes);
	return run_axis(e, c + 1);
}

/* At a launch: skips up to one in KC_BLOCKS_MANY blocks, those where control flow changes and the last, and counts them
 * as the others. */
static void take_most_terms(struct kc_evaluation *e, uint32_t c)
{
	struct kc_index *index = &e->counters[c];
	struct kc_tally *outer = e->tally, sum = {{0}};
	int64_t few = index->end / (int64_t)KC_BLOCKS_MANY, skipped = 0;

	e->tally = &sum;
	while (index->at + few - skipped < index->end && !e->stopped) {
		kc__take_terms(e, c, run_axis_term);
		if (skipped < few && index->at < index->end) {
			index->at++;
			skipped++;
		}
	}
	e->tally = outer;
	for (uint32_t n = 0; n < KC_TALLY_COUNT && index->at > skipped; n++)
		outer->of[n] += sum.of[n] * (double)index->end / (double)(index->at - skipped);
	e->sampled |= index->at - skipped < index->end;
	kc__reach_terms(e, c, 0, index->end - 1);
}

/* Of a warp, in what has been counted of the term so far. */
static struct kc_warp_chain chain_of(const struct kc_evaluation *e)
{
	const double *of = e->tally->of;
	double lanes = kc__count_of(e->warps.lanes);

	return (struct kc_warp_chain){.cycles = of[KC_TALLY_CHAIN_CYCLES] / lanes,
				      .far = of[KC_TALLY_CHAIN_FAR] / lanes,
				      .near = of[KC_TALLY_CHAIN_NEAR] / lanes,
				      .common = of[KC_TALLY_CHAIN_COMMON] / lanes};
}

static double length_of(const struct kc_warp_chain *chain)
{
	return chain->cycles + KC_FAR_CYCLES * (chain->far + chain->common) + KC_NEAR_CYCLES * chain->near;
}

static void run_warp(struct kc_evaluation *e)
{
	double *slots = &e->tally->of[KC_TALLY_LANE_SLOTS], before = *slots;
	struct kc_warp_chain chain_before = chain_of(e), chain;

	kc__run_warp(e);
	if (*slots - before > e->longest_slots)
		e->longest_slots = *slots - before;
	chain = chain_of(e);
	chain.cycles -= chain_before.cycles;
	chain.far -= chain_before.far;
	chain.near -= chain_before.near;
	chain.common -= chain_before.common;
	if (length_of(&chain) > length_of(&e->longest_chain))
		e->longest_chain = chain;
}

static int run_axis(struct kc_evaluation *e, uint32_t c)
{
	struct kc_index *index = &e->counters[c];

	if (c == KC_AXES) {
		run_warp(e);
		return 0;
	}
	*index = (struct kc_index){.end = kc__axis_terms(e, c), .period = index->period ? index->period : 1};
	if (index->end == 1) {
		run_axis_term(e, c);
		return 0;
	}
	if (e->at_launch && c < KC_BLOCK_AXES && index->end >= (int64_t)KC_BLOCKS_MANY) {
		take_most_terms(e, c);
		return 0;
	}
	while (index->at < index->end && !e->stopped)
		kc__take_terms(e, c, run_axis_term);
	return 0;
}

/* Thread indices are planes if the warp that begins with thread `first` lies within one row, or consists of whole rows
 * of a power of 2. */
static void set_plane(struct kc_evaluation *e, uint32_t first)
{
	const uint32_t *block = e->launch->block;
	uint32_t x = first % block[0], y = first / block[0] % block[1],
		 last = e->warps.lanes == KC_ALL_LANES ? KC_WARP_LANES : (uint32_t)__builtin_popcount(e->warps.lanes);

	e->warps.row_log2 = KC_WARP_LANES_LOG2;
	e->warps.is_plane = x + last <= block[0];
	if (x || block[0] >= KC_WARP_LANES || block[0] & (block[0] - 1))
		return;
	e->warps.row_log2 = (uint8_t)__builtin_ctz(block[0]);
	e->warps.is_plane = y + last / block[0] <= block[1];
}

/* Sets the thread indices of a warp that begins with thread `first` and has that many lanes. */
static void set_lanes(struct kc_evaluation *e, uint32_t first, uint32_t lanes)
{
	const uint32_t *block = e->launch->block;
	uint32_t x = first % block[0], y = first / block[0] % block[1], z = first / block[0] / block[1];

	e->warps.lanes = lanes < KC_WARP_LANES ? (1u << lanes) - 1 : KC_ALL_LANES;
	for (uint32_t i = 0; i < KC_WARP_LANES; i++) {
		e->warps.thread[0][i] = (uint16_t)x;
		e->warps.thread[1][i] = (uint16_t)y;
		e->warps.thread[2][i] = (uint16_t)z;
		if (++x < block[0])
			continue;
		x = 0;
		if (++y < block[1])
			continue;
		y = 0;
		z++;
	}
	set_plane(e, first);
}

static void look_ahead(struct kc_evaluation *e)
{
	if (!e->f->cfg.block_count || (!e->at_launch && !kc__has_unsure_loops(e->f)))
		return;
	kc__survey(e);
	if (e->steps <= e->steps_max) /* else values were left out, and the launch is not counted */
		kc__find_guesses(e);
}

static void run_warps(struct kc_evaluation *e, uint32_t first, uint32_t lanes, const uint32_t count[3],
		      const uint32_t step[3])
{
	for (uint32_t d = 0; d < 3; d++) {
		e->warps.count[d] = count[d];
		e->warps.step[d] = step[d];
		if (!count[d])
			return;
	}
	set_lanes(e, first, lanes);
	if (!first)
		e->first_warps = e->warps;
	if (!first)
		look_ahead(e);
	run_axis(e, 0);
}

/*
 * Warps differ only by a step of their thread index if rows consist of whole
 * warps, or warps of whole rows or of whole planes in x and y: these are taken
 * together. Otherwise, and if the last warp is not full, they are taken one by one.
 */
static void run_block_shape(struct kc_evaluation *e)
{
	const uint32_t *block = e->launch->block;
	uint32_t threads = block[0] * block[1] * block[2],
		 rows = block[0] <= KC_WARP_LANES ? KC_WARP_LANES / block[0] : 0;
	const uint32_t one[3] = {1, 1, 1}, none[3] = {0};
	uint32_t whole = 0; /* threads of the warps that are taken together */

	if (block[1] * block[2] == 1) {
		whole = threads / KC_WARP_LANES * KC_WARP_LANES;
		run_warps(e, 0, KC_WARP_LANES, (uint32_t[]){threads / KC_WARP_LANES, 1, 1},
			  (uint32_t[]){KC_WARP_LANES, 0, 0});
	} else if (block[0] % KC_WARP_LANES == 0) {
		whole = threads;
		run_warps(e, 0, KC_WARP_LANES, (uint32_t[]){block[0] / KC_WARP_LANES, block[1], block[2]},
			  (uint32_t[]){KC_WARP_LANES, 1, 1});
	} else if (rows && KC_WARP_LANES % block[0] == 0 && (block[1] % rows == 0 || block[2] == 1)) {
		whole = block[1] / rows * rows * block[0] * block[2];
		run_warps(e, 0, KC_WARP_LANES, (uint32_t[]){1, block[1] / rows, block[2]}, (uint32_t[]){0, rows, 1});
	} else if (rows && KC_WARP_LANES % block[0] == 0 && rows % block[1] == 0) {
		uint32_t planes = rows / block[1];

		whole = block[2] / planes * planes * block[1] * block[0];
		run_warps(e, 0, KC_WARP_LANES, (uint32_t[]){1, 1, block[2] / planes}, (uint32_t[]){0, 0, planes});
	}
	for (; whole < threads && !e->stopped; whole += KC_WARP_LANES)
		run_warps(e, whole, threads - whole < KC_WARP_LANES ? threads - whole : KC_WARP_LANES, one, none);
}

static uint64_t overrun(uint64_t effort)
{
	uint64_t steps = effort * OVERRUN + STEPS_SPARE;

	return steps < OVERRUN_MAX ? steps : OVERRUN_MAX;
}

int kc__run_launch(struct kc_evaluation *e)
{
	const uint32_t *level = e->f->level;

	e->at_launch = e->effort <= KC_COST_EFFORT_LAUNCH;
	e->without_floats = e->effort == KC_COST_EFFORT_INTEGERS;
	e->steps_max = e->effort + (e->at_launch ? 0 : overrun(e->effort));
	e->windows.recorded = 0;
	e->warps.lanes = KC_ALL_LANES;
	e->is_surveying = 1;
	kc__evaluate_values(e, level[0], level[1] - level[0], KC_ALL_LANES);
	e->is_surveying = 0;
	run_block_shape(e);
	return e->stopped || (e->without_floats && !e->left_out) ? -EAGAIN : 0;
}
