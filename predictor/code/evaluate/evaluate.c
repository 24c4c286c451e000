#include "evaluate.h"

#include <math.h>
#include <string.h>

/* Lanes that are in a loop with a lower probability than this are taken to have left it. */
#define LEAST_WEIGHT 1e-6

/* Beyond the effort, of the iterations of a loop that are evaluated one by one: more than one in which a variable of 32
 * bits is shifted or halved can have. */
#define STEPWISE_MOST 33

static void run_loop(struct kc_evaluation *e, uint32_t loop);

/* 1: iterations are evaluated one by one. */
static int is_stepwise(const struct kc_evaluation *e, uint32_t loop)
{
	return e->f->loop_plans[loop].stepwise && !e->loop_runs[e->f->cfg.loops[loop].depth].evenly;
}

/* --- blocks */

/* A phi takes, in each lane, the value of the edge along which the lane came. It is unknown in lanes that came along
 * two edges, as happens where a branch is assumed to be taken by half of the threads. */
static void join_from(struct kc_evaluation *e, uint32_t phi, struct kc_lanes *out, uint32_t first_block,
		      uint32_t last_block)
{
	const struct kc_value *v = &e->f->values[phi];
	const struct kc_block *block = &e->f->cfg.blocks[v->block];
	uint32_t met = 0, twice = 0;
	int first = 1;

	e->steps++;
	kc__set_uniform(out, 0, 0);
	for (uint32_t n = 0; n < block->in_count; n++) {
		uint32_t edge = e->f->cfg.in_edges[block->in + n], from = e->f->cfg.edges[edge].from;
		uint32_t mask = e->edge_mask[edge];

		if (!mask || from < first_block || from > last_block)
			continue;
		twice |= met & mask;
		met |= mask;
		kc__blend(out, kc__slot(e, e->f->phi_sources[v->phi + n]), mask, first);
		first = 0;
	}
	out->known &= ~twice;
}

static void clear_edges(struct kc_evaluation *e, const struct kc_block *block, uint32_t first_block,
			uint32_t last_block)
{
	for (uint32_t n = 0; n < block->in_count; n++) {
		uint32_t edge = e->f->cfg.in_edges[block->in + n], from = e->f->cfg.edges[edge].from;

		if (from >= first_block && from <= last_block)
			e->edge_mask[edge] = 0;
	}
}

static void send(struct kc_evaluation *e, uint32_t edge, uint32_t mask, double threads, double chance)
{
	const struct kc_cfg *cfg = &e->f->cfg;
	uint32_t to = cfg->edges[edge].to, loop = cfg->blocks[cfg->edges[edge].from].loop;

	if (!mask)
		return;
	for (uint8_t n = e->f->leaves[edge]; n; n--) {
		e->loop_runs[cfg->loops[loop].depth].leaving |= mask;
		loop = cfg->loops[loop].parent;
	}
	if (to == KC_NO_BLOCK)
		return;
	e->edge_mask[edge] |= mask;
	e->block_mask[to] |= mask;
	e->block_threads[to] += threads;
	e->block_chance[to] = fmax(e->block_chance[to], chance);
}

static int64_t assumed_trips(const struct kc_evaluation *e, uint32_t loop, uint32_t lanes, struct kc_loop_run *run)
{
	if (!run->assumed) {
		run->assumed = (int64_t)kc__assumed_trips(e, loop, lanes);
		run->assumptions |= run->assumed ? KC_ASSUMED_LENGTH : KC_ASSUMED_TRIPS;
		if (!run->assumed)
			run->assumed = (int64_t)KC_COST_ASSUMED_TRIPS;
	}
	return run->assumed;
}

/* Lanes whose branch is unknown are assumed to take both ways, each with half of the weight, together or each by
 * itself; at an exit of a loop, to stay for as many iterations as trips.c tells and then to leave, or until the loop
 * has counted to its end; where they wait, to leave at once. */
static void send_unsure(struct kc_evaluation *e, const struct kc_block *block, const struct kc_block_plan *plan,
			uint32_t lanes, double weight, double chance)
{
	uint32_t yes = block->out, no = block->out + 1;
	uint8_t yes_leaves = e->f->leaves[yes] != 0, no_leaves = e->f->leaves[no] != 0;
	const struct kc_loop *loop = block->loop == KC_NO_LOOP ? NULL : &e->f->cfg.loops[block->loop];
	double threads = kc__count_of(lanes) * weight;
	struct kc_loop_run *run;
	uint32_t c;
	int64_t left;

	if (!loop || yes_leaves == no_leaves) {
		e->assumed |= KC_ASSUMED_BRANCH;
		chance = plan->together ? chance / 2 : chance;
		send(e, yes, lanes, threads / 2, chance);
		send(e, no, lanes, threads / 2, chance);
		return;
	}
	run = &e->loop_runs[loop->depth];
	c = KC_AXES + loop->depth;
	left = (plan->waits ? 1 : assumed_trips(e, block->loop, lanes, run)) - 1 - run->iteration;
	if (plan->waits)
		run->assumptions |= plan->waits == KC_WAITS_FOR_DATA ? KC_ASSUMED_BRANCH : KC_ASSUMED_LENGTH;
	run->unsure |= lanes;
	if (left <= 0 && (plan->waits || lanes & ~run->counted)) {
		send(e, yes_leaves ? yes : no, lanes, threads, chance);
		return;
	}
	send(e, yes_leaves ? no : yes, lanes, threads, chance);
	if (left > 0 && !is_stepwise(e, block->loop))
		kc__limit_flow(&e->windows, c, (left + e->counters[c].period - 1) / e->counters[c].period,
			       e->counters[c].affine_in);
}

static void branch(struct kc_evaluation *e, const struct kc_block *block, const struct kc_block_plan *plan,
		   uint32_t mask, double weight, double chance)
{
	const struct kc_lanes *predicate = kc__slot(e, plan->condition);
	uint32_t known = mask & predicate->known, yes = known & kc__lanes_where(predicate, plan->condition_negated);

	if (kc__counts_iterations(e->f, block, plan))
		e->loop_runs[e->f->cfg.loops[block->loop].depth].counted |= known;
	send(e, block->out, yes, kc__count_of(yes) * weight, chance);
	send(e, block->out + 1, known & ~yes, kc__count_of(known & ~yes) * weight, chance);
	if (mask & ~known)
		send_unsure(e, block, plan, mask & ~known, weight, chance);
}

/* Sums in which the index changes are taken term by term. */
static void choose_case(struct kc_evaluation *e, const struct kc_block *block, const struct kc_block_plan *plan,
			uint32_t mask, double weight, double chance)
{
	const struct kc_lanes *index = kc__slot(e, plan->condition);
	uint32_t changing = (index->affine_in | index->unknown_in) & e->windows.recorded;
	uint32_t known = mask & index->known, unsure = mask & ~known;

	for (; known && changing; changing &= changing - 1)
		kc__limit_flow(&e->windows, (uint32_t)__builtin_ctz(changing), 1, 0);
	for (uint32_t i = 0; i < block->out_count; i++) {
		int last = i + 1 == block->out_count;
		uint32_t here = 0;

		for (uint32_t left = known; left; left &= left - 1) {
			uint32_t lane = (uint32_t)__builtin_ctz(left);

			if (last || (uint32_t)kc__lane(index, lane) == i)
				here |= 1u << lane;
		}
		known &= ~here;
		send(e, block->out + i, here, kc__count_of(here) * weight, chance);
		send(e, block->out + i, unsure, kc__count_of(unsure) * weight / block->out_count,
		     plan->together ? chance / block->out_count : chance);
	}
	if (unsure)
		e->assumed |= KC_ASSUMED_BRANCH;
}

/* As many lanes as take a branch independently of each other: where it depends on data, neighbours mostly take the same
 * way. Chosen on the open half of HeCBench's launches on an RTX 3080 and an H200; with 32, half of the kernels that
 * have such branches come nearer, and half are predicted too long. */
#define LANES_APART 2.0

/* Of a warp whose lanes come to a block with that weight, by branches that they take together with that chance and by
 * others that each takes by itself: how likely it is that any of them comes, so that the warp executes the block. */
static double chance_of_any(uint32_t mask, double weight, double chance)
{
	double each = weight / chance;

	return each < 1 ? chance * (1 - pow(1 - each, fmin(kc__count_of(mask), LANES_APART))) : weight;
}

static void add_chain(struct kc_evaluation *e, const struct kc_chain *chain, double times)
{
	e->tally->of[KC_TALLY_CHAIN_CYCLES] += chain->cycles * times;
	e->tally->of[KC_TALLY_CHAIN_FAR] += chain->far * times;
	e->tally->of[KC_TALLY_CHAIN_NEAR] += chain->near * times;
	e->tally->of[KC_TALLY_CHAIN_COMMON] += chain->common * times;
}

static void note_reach(struct kc_evaluation *e, uint32_t number, uint32_t mask)
{
	struct kc_reach *reach = &e->reach[number];

	for (uint32_t c = 0; c < KC_AXES; c++) {
		uint32_t at = (uint32_t)e->counters[c].at;

		if (!reach->lanes || at < reach->first[c])
			reach->first[c] = at;
		if (!reach->lanes || at > reach->last[c])
			reach->last[c] = at;
	}
	reach->lanes |= mask;
	reach->round = e->round;
}

void kc__reach_terms(struct kc_evaluation *e, uint32_t c, uint32_t round, int64_t last)
{
	for (uint32_t b = 0; c < KC_AXES && b < e->f->cfg.block_count; b++)
		if (e->reach[b].lanes && e->reach[b].round >= round && e->reach[b].last[c] < last)
			e->reach[b].last[c] = (uint32_t)last;
}

static void run_block(struct kc_evaluation *e, uint32_t number, int is_header)
{
	const struct kc_formula *f = e->f;
	const struct kc_block *block = &f->cfg.blocks[number];
	const struct kc_block_plan *plan = &f->block_plans[number];
	uint32_t mask = e->block_mask[number];
	double threads = e->block_threads[number], weight, chance, executed;

	if (!mask)
		return;
	weight = threads / kc__count_of(mask);
	chance = fmax(e->block_chance[number], weight);
	e->block_mask[number] = 0;
	e->block_threads[number] = e->block_chance[number] = 0;
	e->steps++;
	executed = chance_of_any(mask, weight, chance);
	note_reach(e, number, mask);
	if (!is_header) {
		for (uint32_t i = plan->phi; i < plan->phi + plan->phi_count; i++)
			if (!kc__is_skipped(e, f->order[i]))
				join_from(e, f->order[i], kc__slot(e, f->order[i]), 0, KC_NO_BLOCK);
		clear_edges(e, block, 0, KC_NO_BLOCK);
	}
	kc__evaluate_values(e, plan->value, plan->value_count, mask);
	for (uint32_t i = plan->amount; i < plan->amount + plan->amount_count; i++)
		e->tally->of[f->amounts[i].counter] += f->amounts[i].amount * threads;
	e->tally->of[KC_TALLY_ACTIVE_LANES] += plan->issues * threads;
	kc__add_slots(e, plan->issues, executed);
	add_chain(e, &plan->chain, executed * kc__count_of(e->warps.lanes));
	for (uint32_t i = 0; i < (e->at_launch ? plan->launch_event_count : plan->event_count); i++)
		kc__run_event(e, e->at_launch ? &f->launch_events[plan->launch_event + i] : &f->events[plan->event + i],
			      mask, weight, executed);
	if (block->ends == KC_END_FALLS)
		send(e, block->out, mask, threads, chance);
	else if (block->ends == KC_END_BRANCH)
		branch(e, block, plan, mask, weight, chance);
	else if (block->ends == KC_END_SWITCH)
		choose_case(e, block, plan, mask, weight, chance);
}

static void run_members(struct kc_evaluation *e, uint32_t loop, const uint32_t *members, uint32_t count)
{
	for (uint32_t i = 0; i < count && !kc__is_stopped(e); i++) {
		uint32_t within = e->f->cfg.blocks[members[i]].loop;

		if (within == loop)
			run_block(e, members[i], loop != KC_NO_LOOP && i == 0);
		else if (e->block_mask[members[i]])
			run_loop(e, within);
	}
}

/* --- loops */

void kc__set_carried(struct kc_evaluation *e, uint32_t loop, uint32_t c)
{
	const struct kc_loop_plan *loop_plan = &e->f->loop_plans[loop];
	int stepwise = is_stepwise(e, loop), evenly = loop_plan->stepwise && !stepwise;
	struct kc_lanes at, way;

	if (!stepwise)
		kc__set_counter(e, c, 1, &at);
	for (uint32_t i = loop_plan->carried; i < loop_plan->carried + loop_plan->carried_count; i++) {
		const struct kc_carried *carried = &e->f->carried[i];
		struct kc_lanes *out = kc__slot(e, carried->phi), *entry = kc__entry_slot(e, carried);
		struct kc_value sum = {.op = KC_OP_MUL, .bits = e->f->values[carried->phi].bits, .is_signed = 1};

		if (kc__is_skipped(e, carried->phi))
			continue;
		if (stepwise || carried->step == KC_NO_VALUE) {
			kc__blend(out, entry, KC_ALL_LANES, 1);
			if (!stepwise && !evenly && entry->known) {
				out->known = e->counters[c].at ? 0 : out->known;
				if (!e->counters[c].at)
					kc__limit_flow(&e->windows, c, 1, 0);
			}
			continue;
		}
		e->steps += 2;
		sum.source_bits = sum.bits;
		kc__operate(&e->windows, &sum, &at, kc__slot(e, carried->step), &at, KC_ALL_LANES, &way);
		sum.op = KC_OP_ADD;
		kc__operate(&e->windows, &sum, entry, &way, entry, KC_ALL_LANES, out);
	}
}

/* Keeps the values that are used after the loop, in the lanes that leave it now. */
static void keep_exit_values(struct kc_evaluation *e, uint32_t loop, uint32_t c, struct kc_loop_run *run)
{
	const struct kc_loop_plan *loop_plan = &e->f->loop_plans[loop];

	for (uint32_t i = loop_plan->exit_value; i < loop_plan->exit_value + loop_plan->exit_value_count; i++) {
		uint32_t value = e->f->order[i];
		struct kc_lanes *out = kc__slot(e, value), *from = kc__slot(e, e->f->values[value].source[0]);
		uint32_t affine_in = from->affine_in, unknown_in = from->unknown_in;

		if (kc__is_skipped(e, value))
			continue;
		e->steps++;
		from->affine_in &= ~(1u << c);
		from->unknown_in &= ~(1u << c);
		kc__blend(out, from, run->leaving, !run->any_exited);
		from->affine_in = affine_in;
		from->unknown_in = unknown_in;
		out->known &= ~run->unsure;
	}
	run->any_exited = 1;
}

/* The variables' next values, in a loop whose iterations are evaluated one by one. */
static void advance_variables(struct kc_evaluation *e, uint32_t loop)
{
	const struct kc_loop_plan *loop_plan = &e->f->loop_plans[loop];
	uint32_t header = e->f->cfg.loops[loop].header;

	for (uint32_t i = loop_plan->carried; i < loop_plan->carried + loop_plan->carried_count; i++)
		join_from(e, e->f->carried[i].phi, kc__entry_slot(e, &e->f->carried[i]), header, KC_NO_BLOCK);
}

/* Evaluates one iteration. 1: lanes left the loop. */
static int iterate(struct kc_evaluation *e, uint32_t loop, uint32_t c)
{
	const struct kc_loop *l = &e->f->cfg.loops[loop];
	const struct kc_block *header = &e->f->cfg.blocks[l->header];
	struct kc_loop_run *run = &e->loop_runs[l->depth];
	uint32_t round;
	double threads;

	run->leaving = 0;
	kc__set_carried(e, loop, c);
	e->block_mask[l->header] = run->active;
	e->block_threads[l->header] = kc__count_of(run->active) * run->weight;
	e->block_chance[l->header] = run->chance;
	run_members(e, loop, e->f->cfg.members + l->member, l->member_count);
	round = e->block_mask[l->header];
	threads = e->block_threads[l->header];
	run->chance = e->block_chance[l->header];
	e->block_mask[l->header] = 0;
	e->block_threads[l->header] = e->block_chance[l->header] = 0;
	if (is_stepwise(e, loop))
		advance_variables(e, loop);
	clear_edges(e, header, l->header, KC_NO_BLOCK);
	if (run->leaving)
		keep_exit_values(e, loop, c, run);
	if (round != run->active || run->leaving) {
		run->active = round;
		run->weight = round ? threads / kc__count_of(round) : 0;
		if (run->weight < LEAST_WEIGHT)
			run->active = 0;
		return 1;
	}
	return 0;
}

/* One term of the sum over a loop's iterations. */
static int iterate_term(struct kc_evaluation *e, uint32_t c)
{
	struct kc_loop_run *run = &e->loop_runs[c - KC_AXES];

	run->iteration = e->counters[c].at;
	return iterate(e, run->loop, c);
}

static void run_loop(struct kc_evaluation *e, uint32_t loop)
{
	const struct kc_loop *l = &e->f->cfg.loops[loop];
	const struct kc_loop_plan *loop_plan = &e->f->loop_plans[loop];
	const struct kc_block *header = &e->f->cfg.blocks[l->header];
	struct kc_loop_run *run = &e->loop_runs[l->depth];
	uint32_t c = KC_AXES + l->depth, mask = e->block_mask[l->header];
	uint32_t period = run->loop == loop && e->counters[c].period ? e->counters[c].period : 1;
	double *of = e->tally->of, slots = of[KC_TALLY_LANE_SLOTS], unsure = of[KC_TALLY_UNSURE_SLOTS];
	int64_t trips = 0;

	*run = (struct kc_loop_run){.loop = loop,
				    .active = mask,
				    .weight = e->block_threads[l->header] / kc__count_of(mask),
				    .chance = e->block_chance[l->header],
				    .evenly = e->without_floats && loop_plan->stepwise};
	e->sampled |= run->evenly;
	e->block_mask[l->header] = 0;
	e->block_threads[l->header] = e->block_chance[l->header] = 0;
	for (uint32_t i = loop_plan->carried; i < loop_plan->carried + loop_plan->carried_count; i++)
		if (!kc__is_skipped(e, e->f->carried[i].phi))
			join_from(e, e->f->carried[i].phi, kc__entry_slot(e, &e->f->carried[i]), 0,
				  l->header ? l->header - 1 : KC_NO_BLOCK);
	clear_edges(e, header, 0, KC_NO_BLOCK);
	kc__evaluate_values(e, loop_plan->entry, loop_plan->entry_count, mask);
	for (uint32_t i = loop_plan->exit_value; i < loop_plan->exit_value + loop_plan->exit_value_count; i++)
		if (!kc__is_skipped(e, e->f->order[i]))
			kc__set_uniform(kc__slot(e, e->f->order[i]), 0, 0);
	e->counters[c] = (struct kc_index){.end = KC_ENDLESS, .period = period};
	while (run->active && !run->ends_never && !e->stopped) {
		if (is_stepwise(e, loop) && run->iteration >= STEPWISE_MOST && kc__is_over_effort(e)) {
			run->evenly = e->sampled = 1;
			trips = run->iteration;
		}
		if (is_stepwise(e, loop)) {
			iterate(e, loop, c);
			run->iteration++;
		} else {
			kc__take_terms(e, c, iterate_term);
		}
	}
	if (run->unsure) {
		of[KC_TALLY_UNSURE_SLOTS] = unsure + of[KC_TALLY_LANE_SLOTS] - slots;
		e->assumed |= run->assumptions & KC_ASSUMED_TRIPS && !(run->unsure & ~run->counted)
				  ? (run->assumptions & ~KC_ASSUMED_TRIPS) | KC_ASSUMED_LENGTH
				  : run->assumptions;
	}
	trips = is_stepwise(e, loop) ? run->iteration : trips + e->counters[c].at;
	if (e->trips[loop] < trips)
		e->trips[loop] = trips;
}

void kc__run_warp(struct kc_evaluation *e)
{
	const struct kc_cfg *cfg = &e->f->cfg;

	if (!cfg->block_count)
		return;
	e->block_mask[0] = e->warps.lanes;
	e->block_threads[0] = kc__count_of(e->warps.lanes);
	e->block_chance[0] = 1;
	run_members(e, KC_NO_LOOP, cfg->members + cfg->root_member, cfg->root_member_count);
}
