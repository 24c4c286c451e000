#include "evaluate.h"

#include <string.h>

/* A lane that is less sure to be there than this does not go round a loop once more. */
#define LEAST_WEIGHT 1e-6

static void run_loop(struct kc_evaluation *e, uint32_t loop);

void kc__set_counted(const struct kc_evaluation *e, uint32_t c, int64_t scale, struct kc_lanes *out)
{
	const struct kc_index *index = &e->counters[c];

	kc__set_uniform(out, index->at * scale, KC_ALL_LANES);
	if (!scale)
		return;
	out->bends = index->bends;
	out->moves = index->moves;
	for (uint16_t left = index->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t other = (uint32_t)__builtin_ctz(left);

		out->step[other] = index->step[other] * scale;
	}
	if (index->end - index->at > 1) {
		out->moves |= (uint16_t)(1u << c);
		out->step[c] = index->stride * scale;
	}
}

/* --- values */

static void thread_index(const struct kc_evaluation *e, uint32_t dimension, struct kc_lanes *out)
{
	const uint16_t *first = e->warps.thread[dimension];
	int64_t base;

	kc__set_counted(e, KC_AXES - 1 - dimension, e->warps.step[dimension], out);
	base = out->v[0];
	out->uniform = 0;
	if (e->warps.is_plane) {
		out->v[0] += first[0];
		out->along = first[1] - first[0];
		out->across = e->warps.shift < KC_WARP_LANES_LOG2 ? first[1u << e->warps.shift] - first[0] : 0;
		out->shift = e->warps.shift;
		out->uniform = !out->along && !out->across;
		out->plane = !out->uniform;
		return;
	}
	for (uint32_t i = 0; i < KC_WARP_LANES; i++)
		out->v[i] = base + first[i];
	for (uint32_t i = 1; i < KC_WARP_LANES; i++)
		if (first[i] != first[0])
			return;
	out->uniform = 1;
}

static void special(const struct kc_evaluation *e, int64_t number, struct kc_lanes *out)
{
	switch (number) {
	case KC_PTX_TID_X:
	case KC_PTX_TID_Y:
	case KC_PTX_TID_Z:
		thread_index(e, (uint32_t)(number - KC_PTX_TID_X), out);
		break;
	case KC_PTX_NTID_X:
	case KC_PTX_NTID_Y:
	case KC_PTX_NTID_Z:
		kc__set_uniform(out, e->launch->block[number - KC_PTX_NTID_X], KC_ALL_LANES);
		break;
	case KC_PTX_CTAID_X:
	case KC_PTX_CTAID_Y:
	case KC_PTX_CTAID_Z:
		kc__set_counted(e, (uint32_t)(2 - (number - KC_PTX_CTAID_X)), 1, out);
		break;
	case KC_PTX_NCTAID_X:
	case KC_PTX_NCTAID_Y:
	case KC_PTX_NCTAID_Z:
		kc__set_uniform(out, e->launch->grid[number - KC_PTX_NCTAID_X], KC_ALL_LANES);
		break;
	case KC_PTX_LANEID:
		kc__set_uniform(out, 0, KC_ALL_LANES);
		out->uniform = 0;
		out->plane = 1;
		out->shift = KC_WARP_LANES_LOG2;
		out->along = 1;
		out->across = 0;
		if (e->warps.is_plane && e->warps.shift < KC_WARP_LANES_LOG2) {
			out->shift = e->warps.shift;
			out->across = (int64_t)1 << e->warps.shift;
		}
		break;
	default:
		kc__set_uniform(out, 0, 0);
		break;
	}
}

/* An argument, or a part of one. A pointer that is not known is taken to be aligned, and far from all others. */
#define POINTERS_APART ((int64_t)1 << 40)

static void param(const struct kc_evaluation *e, const struct kc_value *v, struct kc_lanes *out)
{
	const struct kc_cost_argument *argument =
	    v->source[0] < e->launch->argument_count ? &e->launch->arguments[v->source[0]] : NULL;
	uint32_t bytes = v->bits / 8;
	int64_t value = 0;

	if (argument && argument->known && v->constant >= 0) {
		uint64_t offset = (uint64_t)v->constant, end = offset + (bytes ? bytes : 1);

		if (argument->bytes && end <= argument->length) {
			memcpy(&value, (const unsigned char *)argument->bytes + offset, bytes);
			kc__set_uniform(out, kc__wrap(value, v->bits), KC_ALL_LANES);
			return;
		}
		if (!argument->bytes && end <= sizeof(argument->value)) {
			value = (int64_t)(argument->value >> (8 * offset));
			kc__set_uniform(out, kc__wrap(value, v->bits), KC_ALL_LANES);
			return;
		}
	}
	if (v->is_pointer)
		kc__set_uniform(out, POINTERS_APART * (1 + v->source[0]) + v->constant / 8 * 256 * POINTERS_APART,
				KC_ALL_LANES);
	else
		kc__set_uniform(out, 0, 0);
}

static void evaluate(struct kc_evaluation *e, uint32_t value, uint32_t active)
{
	const struct kc_value *v = &e->f->values[value];
	struct kc_lanes *out = kc__slot(e, value);
	const struct kc_lanes *a;

	e->steps++;
	switch (v->op) {
	case KC_OP_CONSTANT:
	case KC_OP_SHARED:
		kc__set_uniform(out, v->constant, KC_ALL_LANES);
		return;
	case KC_OP_POINTER:
		kc__set_uniform(out, v->constant, KC_ALL_LANES);
		return;
	case KC_OP_PARAM:
		param(e, v, out);
		return;
	case KC_OP_SPECIAL:
		special(e, v->constant, out);
		return;
	case KC_OP_PARAM_ADDRESS:
	case KC_OP_UNKNOWN:
		kc__set_uniform(out, 0, 0);
		return;
	default:
		break;
	}
	a = kc__slot(e, v->source[0]);
	kc__operate(&e->windows, v, a, v->count > 1 ? kc__slot(e, v->source[1]) : a,
		    v->count > 2 ? kc__slot(e, v->source[2]) : a, active, out);
	e->steps += !out->uniform && !out->plane; /* lanes one by one */
}

void kc__evaluate_values(struct kc_evaluation *e, uint32_t first, uint32_t count, uint32_t active)
{
	for (uint32_t i = first; i < first + count; i++)
		if (!kc__is_idle(e, e->f->order[i]))
			evaluate(e, e->f->order[i], active);
}

/* --- blocks */

/* What comes along each edge; nothing is known where two bring the same lane. */
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

static void send(struct kc_evaluation *e, uint32_t edge, uint32_t mask, double threads)
{
	const struct kc_cfg *cfg = &e->f->cfg;
	uint32_t to = cfg->edges[edge].to, loop = cfg->blocks[cfg->edges[edge].from].loop;

	if (!mask)
		return;
	for (uint8_t n = e->f->leaves[edge]; n; n--) {
		e->turns[cfg->loops[loop].depth].leaving |= mask;
		loop = cfg->loops[loop].parent;
	}
	if (to == KC_NO_BLOCK)
		return;
	e->edge_mask[edge] |= mask;
	e->block_mask[to] |= mask;
	e->block_threads[to] += threads;
}

/* Lanes of which it is not known whether they leave the loop: taken to stay for some iterations, then to leave. */
static void send_unsure(struct kc_evaluation *e, const struct kc_block *block, uint32_t lanes, double weight)
{
	uint32_t yes = block->out, no = block->out + 1;
	uint8_t yes_leaves = e->f->leaves[yes] != 0, no_leaves = e->f->leaves[no] != 0;
	const struct kc_loop *loop = block->loop == KC_NO_LOOP ? NULL : &e->f->cfg.loops[block->loop];
	double threads = kc__count_of(lanes) * weight;
	struct kc_turn *turn;
	uint32_t c;
	int64_t left;

	e->assumed = 1;
	if (!loop || yes_leaves == no_leaves) {
		send(e, yes, lanes, threads / 2);
		send(e, no, lanes, threads / 2);
		return;
	}
	turn = &e->turns[loop->depth];
	c = KC_AXES + loop->depth;
	left = (int64_t)KC_COST_ASSUMED_TRIPS - 1 - turn->iteration;
	if (left <= 0) {
		send(e, yes_leaves ? yes : no, lanes, threads);
		turn->guessed |= lanes;
		return;
	}
	send(e, yes_leaves ? no : yes, lanes, threads);
	if (!e->f->cycles[block->loop].stepwise)
		kc__limit_flow(&e->windows, c, (left + e->counters[c].stride - 1) / e->counters[c].stride,
			       e->counters[c].moves);
}

static void branch(struct kc_evaluation *e, const struct kc_block *block, const struct kc_stage *stage, uint32_t mask,
		   double weight)
{
	const struct kc_lanes *predicate = kc__slot(e, stage->condition);
	uint32_t known = mask & predicate->known, yes = known & kc__lanes_where(predicate, stage->condition_negated);

	send(e, block->out, yes, kc__count_of(yes) * weight);
	send(e, block->out + 1, known & ~yes, kc__count_of(known & ~yes) * weight);
	if (mask & ~known)
		send_unsure(e, block, mask & ~known, weight);
}

/* The index is looked at term by term. */
static void choose_case(struct kc_evaluation *e, const struct kc_block *block, const struct kc_stage *stage,
			uint32_t mask, double weight)
{
	const struct kc_lanes *index = kc__slot(e, stage->condition);
	uint16_t moves = (uint16_t)((index->moves | index->bends) & e->windows.recorded);
	uint32_t known = mask & index->known, unsure = mask & ~known;

	for (; known && moves; moves &= (uint16_t)(moves - 1))
		kc__limit_flow(&e->windows, (uint32_t)__builtin_ctz(moves), 1, 0);
	for (uint32_t i = 0; i < block->out_count; i++) {
		int last = i + 1 == block->out_count;
		uint32_t here = 0;

		for (uint32_t left = known; left; left &= left - 1) {
			uint32_t lane = (uint32_t)__builtin_ctz(left);

			if (last || (uint32_t)kc__lane(index, lane) == i)
				here |= 1u << lane;
		}
		known &= ~here;
		send(e, block->out + i, here, kc__count_of(here) * weight);
		send(e, block->out + i, unsure, kc__count_of(unsure) * weight / block->out_count);
	}
	e->assumed |= unsure != 0;
}

static void run_block(struct kc_evaluation *e, uint32_t number, int is_header)
{
	const struct kc_formula *f = e->f;
	const struct kc_block *block = &f->cfg.blocks[number];
	const struct kc_stage *stage = &f->stages[number];
	uint32_t mask = e->block_mask[number];
	double threads = e->block_threads[number], weight;

	if (!mask)
		return;
	e->block_mask[number] = 0;
	e->block_threads[number] = 0;
	e->steps++;
	weight = threads / kc__count_of(mask);
	if (!is_header) {
		for (uint32_t i = stage->phi; i < stage->phi + stage->phi_count; i++)
			if (!kc__is_idle(e, f->order[i]))
				join_from(e, f->order[i], kc__slot(e, f->order[i]), 0, KC_NO_BLOCK);
		clear_edges(e, block, 0, KC_NO_BLOCK);
	}
	kc__evaluate_values(e, stage->value, stage->value_count, mask);
	for (uint32_t i = stage->amount; i < stage->amount + stage->amount_count; i++)
		e->tally->of[f->amounts[i].counter] += f->amounts[i].amount * threads;
	e->tally->of[KC_TALLY_LANES] += stage->issues * threads;
	e->tally->of[KC_TALLY_PLACES] += stage->issues * KC_WARP_LANES * weight;
	for (uint32_t i = 0; i < (e->outlined ? stage->digest_count : stage->event_count); i++)
		kc__run_event(e, e->outlined ? &f->digest[stage->digest + i] : &f->events[stage->event + i], mask,
			      weight);
	if (block->ends == KC_END_FALLS)
		send(e, block->out, mask, threads);
	else if (block->ends == KC_END_BRANCH)
		branch(e, block, stage, mask, weight);
	else if (block->ends == KC_END_SWITCH)
		choose_case(e, block, stage, mask, weight);
}

static void run_members(struct kc_evaluation *e, uint32_t loop, const uint32_t *members, uint32_t count)
{
	for (uint32_t i = 0; i < count && !kc__is_over(e); i++) {
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
	const struct kc_cycle *cycle = &e->f->cycles[loop];
	struct kc_lanes at, way;

	if (!cycle->stepwise)
		kc__set_counted(e, c, 1, &at);
	for (uint32_t i = cycle->carried; i < cycle->carried + cycle->carried_count; i++) {
		const struct kc_carried *carried = &e->f->carried[i];
		struct kc_lanes *out = kc__slot(e, carried->phi), *entry = kc__entry_slot(e, carried);
		struct kc_value sum = {.op = KC_OP_MUL, .bits = e->f->values[carried->phi].bits, .is_signed = 1};

		if (kc__is_idle(e, carried->phi))
			continue;
		if (cycle->stepwise || carried->step == KC_NO_VALUE) {
			kc__blend(out, entry, KC_ALL_LANES, 1);
			if (!cycle->stepwise && entry->known) {
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

/* What lanes that leave take with them. */
static void keep_left(struct kc_evaluation *e, uint32_t loop, uint32_t c, struct kc_turn *turn)
{
	const struct kc_cycle *cycle = &e->f->cycles[loop];

	for (uint32_t i = cycle->left; i < cycle->left + cycle->left_count; i++) {
		uint32_t value = e->f->order[i];
		struct kc_lanes *out = kc__slot(e, value), *from = kc__slot(e, e->f->values[value].source[0]);
		uint16_t moves = from->moves, bends = from->bends;

		if (kc__is_idle(e, value))
			continue;
		e->steps++;
		from->moves &= (uint16_t) ~(1u << c);
		from->bends &= (uint16_t) ~(1u << c);
		kc__blend(out, from, turn->leaving, !turn->any_left);
		from->moves = moves;
		from->bends = bends;
		out->known &= ~turn->guessed;
	}
	turn->any_left = 1;
}

/* The next values of a loop whose iterations are run one by one. */
static void carry_on(struct kc_evaluation *e, uint32_t loop)
{
	const struct kc_cycle *cycle = &e->f->cycles[loop];
	uint32_t header = e->f->cfg.loops[loop].header;

	for (uint32_t i = cycle->carried; i < cycle->carried + cycle->carried_count; i++)
		join_from(e, e->f->carried[i].phi, kc__entry_slot(e, &e->f->carried[i]), header, KC_NO_BLOCK);
}

/* One iteration. 1: lanes left. */
static int iterate(struct kc_evaluation *e, uint32_t loop, uint32_t c)
{
	const struct kc_loop *l = &e->f->cfg.loops[loop];
	const struct kc_block *header = &e->f->cfg.blocks[l->header];
	struct kc_turn *turn = &e->turns[l->depth];
	uint32_t round;
	double threads;

	turn->leaving = turn->guessed = 0;
	kc__set_carried(e, loop, c);
	e->block_mask[l->header] = turn->active;
	e->block_threads[l->header] = kc__count_of(turn->active) * turn->weight;
	run_members(e, loop, e->f->cfg.members + l->member, l->member_count);
	round = e->block_mask[l->header];
	threads = e->block_threads[l->header];
	e->block_mask[l->header] = 0;
	e->block_threads[l->header] = 0;
	if (e->f->cycles[loop].stepwise)
		carry_on(e, loop);
	clear_edges(e, header, l->header, KC_NO_BLOCK);
	if (turn->leaving)
		keep_left(e, loop, c, turn);
	if (round != turn->active || turn->leaving) {
		turn->active = round;
		turn->weight = round ? threads / kc__count_of(round) : 0;
		if (turn->weight < LEAST_WEIGHT)
			turn->active = 0;
		return 1;
	}
	return 0;
}

/* The loop that a sum is taken over is found by the header that its counter names. */
static int iterate_term(struct kc_evaluation *e, uint32_t c)
{
	struct kc_turn *turn = &e->turns[c - KC_AXES];

	turn->iteration = e->counters[c].at;
	return iterate(e, turn->loop, c);
}

static void run_loop(struct kc_evaluation *e, uint32_t loop)
{
	const struct kc_loop *l = &e->f->cfg.loops[loop];
	const struct kc_cycle *cycle = &e->f->cycles[loop];
	const struct kc_block *header = &e->f->cfg.blocks[l->header];
	struct kc_turn *turn = &e->turns[l->depth];
	uint32_t c = KC_AXES + l->depth, mask = e->block_mask[l->header];
	uint32_t stride = turn->loop == loop && e->counters[c].stride ? e->counters[c].stride : 1;

	*turn =
	    (struct kc_turn){.loop = loop, .active = mask, .weight = e->block_threads[l->header] / kc__count_of(mask)};
	e->block_mask[l->header] = 0;
	e->block_threads[l->header] = 0;
	for (uint32_t i = cycle->carried; i < cycle->carried + cycle->carried_count; i++)
		if (!kc__is_idle(e, e->f->carried[i].phi))
			join_from(e, e->f->carried[i].phi, kc__entry_slot(e, &e->f->carried[i]), 0,
				  l->header ? l->header - 1 : KC_NO_BLOCK);
	clear_edges(e, header, 0, KC_NO_BLOCK);
	kc__evaluate_values(e, cycle->entry, cycle->entry_count, mask);
	for (uint32_t i = cycle->left; i < cycle->left + cycle->left_count; i++)
		if (!kc__is_idle(e, e->f->order[i]))
			kc__set_uniform(kc__slot(e, e->f->order[i]), 0, 0);
	e->counters[c] = (struct kc_index){.end = KC_ENDLESS, .stride = stride};
	while (turn->active && !turn->ends_never && !e->stopped) {
		if (cycle->stepwise) {
			iterate(e, loop, c);
			turn->iteration++;
		} else {
			kc__take_terms(e, c, iterate_term);
		}
	}
}

void kc__run_warp(struct kc_evaluation *e)
{
	const struct kc_cfg *cfg = &e->f->cfg;

	if (!cfg->block_count)
		return;
	e->block_mask[0] = e->warps.lanes;
	e->block_threads[0] = kc__count_of(e->warps.lanes);
	run_members(e, KC_NO_LOOP, cfg->members + cfg->root_member, cfg->root_member_count);
}
