#include "predictor/code/cost.h"
#include "express.h"
#include "unsure.h"
#include "predictor/code/evaluate/lanes.h"
#include "predictor/code/formula/formula_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STORY_BYTES ((size_t)64 << 20)
#define WRITTEN_BYTES ((size_t)32 << 10)

/* What a thread counts in a region: in the kernel, or in one iteration of a loop. What is counted per warp is divided
 * by its 32 lanes. */
struct counted {
	const struct kc_sum *of[KC_COUNTER_COUNT];
};

struct teller {
	struct kc_express x;
	const struct kc_formula *f;
	struct kc_cost_story *story;
	struct kc_unsure unsure;
	const struct kc_sum **runs;        /* block → how often it runs each time its region runs */
	const struct kc_sum **edge_runs;   /* edge → how often it is taken */
	uint8_t depends[KC_COUNTER_COUNT]; /* 1: also on the addresses of single lanes */
};

static int run_region(struct teller *t, uint32_t loop, struct counted *counted);

static const struct kc_sum *zero(struct teller *t)
{
	return kc__number(&t->x.g, 0);
}

/* --- how often blocks run */

static const struct kc_sum *incoming(struct teller *t, uint32_t block, uint32_t first, uint32_t last)
{
	const struct kc_cfg *cfg = &t->f->cfg;
	const struct kc_sum *sum = zero(t);

	for (uint32_t n = 0; n < cfg->blocks[block].in_count; n++) {
		uint32_t edge = cfg->in_edges[cfg->blocks[block].in + n], from = cfg->edges[edge].from;

		if (from >= first && from <= last && t->edge_runs[edge])
			sum = kc__plus(&t->x.g, sum, t->edge_runs[edge], 1);
	}
	return sum;
}

/* Probability that a thread in `block` takes its n-th edge. In the block that decides a loop, the edge that stays in
 * the loop is taken until the last iteration. */
static const struct kc_sum *chance_of_edge(struct teller *t, uint32_t block, uint32_t n)
{
	const struct kc_formula *f = t->f;
	const struct kc_block *b = &f->cfg.blocks[block];
	const struct kc_block_plan *plan = &f->block_plans[block];
	struct kc_algebra *g = &t->x.g;
	int leaves = f->leaves[b->out] != 0, other_leaves = b->out_count > 1 && f->leaves[b->out + 1] != 0;

	if (b->ends == KC_END_FALLS)
		return kc__number(g, 1);
	if (b->ends == KC_END_SWITCH)
		return kc__number(g, 1.0 / b->out_count);
	if (b->loop != KC_NO_LOOP && leaves != other_leaves) {
		const struct kc_trips *trips = kc__express_trips(&t->x, b->loop, KC_EXPRESS_DEPTH);

		if (f->leaves[b->out + n])
			return kc__number(g, 0);
		return trips->block == block ? kc__atom(g, (struct kc_atom){.kind = KC_ATOM_STAYS, .number = b->loop})
					     : kc__number(g, 1);
	}
	return kc__express_condition(&t->x, plan->condition, plan->condition_negated ^ (int)n, KC_EXPRESS_DEPTH);
}

/* Threads that entered a loop leave it: all along one of its exits, if there are several. */
static void leave(struct teller *t, uint32_t loop, const struct kc_sum *entered)
{
	const struct kc_cfg *cfg = &t->f->cfg;
	uint32_t preferred = UINT32_MAX;

	for (uint32_t e = 0; e < cfg->edge_count; e++) {
		uint32_t from = cfg->edges[e].from;

		if (!kc_cfg_holds(cfg, loop, from) ||
		    (cfg->edges[e].to != KC_NO_BLOCK && kc_cfg_holds(cfg, loop, cfg->edges[e].to)))
			continue;
		t->edge_runs[e] = zero(t);
		if (preferred == UINT32_MAX || cfg->edges[preferred].to == KC_NO_BLOCK ||
		    from == t->x.trips[loop].block)
			preferred = e;
	}
	if (preferred != UINT32_MAX)
		t->edge_runs[preferred] = entered;
}

/* --- counts */

static void add(struct teller *t, struct counted *to, uint32_t counter, const struct kc_sum *runs, double amount)
{
	if (counter < KC_COUNTER_COUNT)
		to->of[counter] = kc__plus(&t->x.g, to->of[counter], runs, amount);
}

/* Counts requests, and their sectors or passes, as if all lanes of a warp took part. */
static void count_access(struct teller *t, const struct kc_event *event, const struct kc_sum *runs, uint32_t requests,
			 uint32_t pieces, struct counted *counted)
{
	double of_warp = kc__whole_warp(&t->x, event);

	t->depends[requests] |= kc__holds_atom(&t->x.g, runs, KC_ATOM_SPECIAL, KC_PTX_TID_X) != 0;
	t->depends[pieces] |= t->depends[requests] || of_warp == 0;
	add(t, counted, requests, runs, 1.0 / KC_WARP_LANES);
	add(t, counted, pieces, runs, of_warp / KC_WARP_LANES);
}

/* 1: the value selects one of two constants. */
static int chooses_constants(const struct kc_formula *f, const struct kc_value *v, int64_t *yes, int64_t *no)
{
	if (v->op != KC_OP_SELECT || f->values[v->source[1]].op != KC_OP_CONSTANT ||
	    f->values[v->source[2]].op != KC_OP_CONSTANT)
		return 0;
	*yes = f->values[v->source[1]].constant;
	*no = f->values[v->source[2]].constant;
	return 1;
}

/* 1 if a copy of that size reads any bytes, otherwise 0. */
static const struct kc_sum *reads_any(struct teller *t, uint32_t size)
{
	const struct kc_value *v = &t->f->values[size];
	const struct kc_sum *bytes = kc__express(&t->x, size, KC_EXPRESS_DEPTH);
	int64_t yes, no;
	double number;

	if (kc__is_number(bytes, &number))
		return kc__number(&t->x.g, number > 0);
	if (!chooses_constants(t->f, v, &yes, &no))
		return kc__condition(&t->x.g, KC_ATOM_LESS, kc__plus(&t->x.g, zero(t), bytes, -1));
	return (yes > 0) == (no > 0) ? kc__number(&t->x.g, yes > 0)
				     : kc__express_condition(&t->x, v->source[0], no > 0, KC_EXPRESS_DEPTH);
}

/* 1: a copy of that size copies either all bytes that it can, or none. */
static int is_all_or_nothing(const struct kc_formula *f, const struct kc_event *event)
{
	const struct kc_value *v = &f->values[event->size];
	int64_t yes, no;

	if (v->memory || (v->op == KC_OP_CONSTANT && (!v->constant || v->constant == event->bytes)))
		return 1;
	return chooses_constants(f, v, &yes, &no) && (!yes || yes == event->bytes) && (!no || no == event->bytes);
}

/* Of an event with a size: how often it takes place. *bytes: how many bytes it accesses. */
static const struct kc_sum *count_size(struct teller *t, const struct kc_event *event, const struct kc_sum *here,
				       const struct kc_sum **bytes)
{
	struct kc_algebra *g = &t->x.g;

	t->depends[KC_COUNT_OF_SECTORS] |= event->kind == KC_EVENT_GLOBAL && !is_all_or_nothing(t->f, event);
	if (t->f->values[event->size].memory) {
		*bytes = kc__times(g, here, kc__number(g, event->bytes));
		return here;
	}
	*bytes = kc__times(g, here, kc__express(&t->x, event->size, KC_EXPRESS_DEPTH));
	return kc__times(g, here, reads_any(t, event->size));
}

static double per_lane(const struct kc_event *event, double amount)
{
	if (event->retried)
		return amount * (KC_WARP_LANES + 1) / 2;
	return event->per_warp ? amount / KC_WARP_LANES : amount;
}

static void count_block(struct teller *t, uint32_t block, struct counted *counted)
{
	const struct kc_formula *f = t->f;
	const struct kc_block_plan *plan = &f->block_plans[block];
	const struct kc_sum *runs = t->runs[block];

	for (uint32_t i = plan->amount; i < plan->amount + plan->amount_count; i++)
		add(t, counted, f->amounts[i].counter, runs, f->amounts[i].amount);
	for (uint32_t i = plan->event; i < plan->event + plan->event_count; i++) {
		const struct kc_event *event = &f->events[i];
		const struct kc_sum *here = runs, *bytes;

		if (event->guard != KC_NO_VALUE)
			here = kc__times(
			    &t->x.g, runs,
			    kc__express_condition(&t->x, event->guard, event->guard_negated, KC_EXPRESS_DEPTH));
		bytes = here;
		if (event->size != KC_NO_VALUE)
			here = count_size(t, event, here, &bytes);
		add(t, counted, event->counter, here, per_lane(event, event->amount));
		add(t, counted, event->counter2, bytes, per_lane(event, event->amount2));
		if (event->kind == KC_EVENT_GLOBAL)
			count_access(t, event, here, KC_COUNT_OF_REQUESTS, KC_COUNT_OF_SECTORS, counted);
		else if (event->kind == KC_EVENT_SHARED)
			count_access(t, event, here, KC_COUNT_OF_SHARED_REQUESTS, KC_COUNT_OF_SHARED_PASSES, counted);
	}
}

/* The sum of a over the loop's counter from 0 to rounds - 1. */
static const struct kc_sum *sum_over(struct teller *t, uint32_t loop, const struct kc_sum *a,
				     const struct kc_sum *rounds)
{
	struct kc_algebra *g = &t->x.g;
	const struct kc_sum *fixed = zero(t), *moving = zero(t), *with = zero(t), *slope;
	const struct kc_sum *counter = kc__atom(g, (struct kc_atom){.kind = KC_ATOM_COUNTER, .number = loop});

	if (kc__holds_atom(g, a, KC_ATOM_COUNTER, loop))
		a = kc__given(g, a, kc__condition(g, KC_ATOM_LESS, kc__plus(g, counter, rounds, -1)));
	for (uint32_t i = 0; i < a->count; i++) {
		const struct kc_sum *term = kc__of_term(g, &a->terms[i]);

		if (kc__holds_atom(g, term, KC_ATOM_COUNTER, loop))
			moving = kc__plus(g, moving, term, 1);
		else
			fixed = kc__plus(g, fixed, term, 1);
	}
	fixed = kc__times(g, fixed, rounds);
	if (!moving->count)
		return fixed;
	/* c * k: c * n * (n - 1) / 2 */
	slope = kc__replace(g, moving, KC_ATOM_COUNTER, loop, kc__number(g, 1));
	with = kc__times(g, slope, counter);
	if (kc__same_sum(with, moving))
		return kc__plus(g, fixed,
				kc__times(g, slope, kc__times(g, rounds, kc__plus(g, rounds, kc__number(g, -1), 1))),
				0.5);
	return kc__plus(
	    g, fixed, kc__atom(g, (struct kc_atom){.kind = KC_ATOM_SUM, .number = loop, .a = moving, .b = rounds}), 1);
}

/* Sum over all iterations. Blocks before the deciding branch run once more than those after it. */
static const struct kc_sum *over_iterations(struct teller *t, uint32_t loop, const struct kc_sum *a)
{
	struct kc_algebra *g = &t->x.g;
	const struct kc_trips *trips = kc__express_trips(&t->x, loop, KC_EXPRESS_DEPTH);
	const struct kc_sum *before = kc__replace(g, a, KC_ATOM_STAYS, loop, zero(t));
	const struct kc_sum *after = kc__plus(g, kc__replace(g, a, KC_ATOM_STAYS, loop, kc__number(g, 1)), before, -1);
	const struct kc_sum *all = kc__plus(g, trips->last, kc__number(g, 1), 1);

	return kc__plus(g, sum_over(t, loop, before, all), sum_over(t, loop, after, trips->last), 1);
}

static int run_loop(struct teller *t, uint32_t loop, const struct kc_sum *entered, struct counted *counted)
{
	struct counted iteration;
	int rc = run_region(t, loop, &iteration);

	for (uint32_t n = 0; n < KC_COUNTER_COUNT && !rc; n++)
		if (iteration.of[n]->count)
			counted->of[n] =
			    kc__plus(&t->x.g, counted->of[n],
				     kc__times(&t->x.g, entered, over_iterations(t, loop, iteration.of[n])), 1);
	leave(t, loop, entered);
	return rc;
}

static int run_region(struct teller *t, uint32_t loop, struct counted *counted)
{
	const struct kc_cfg *cfg = &t->f->cfg;
	const struct kc_loop *l = loop == KC_NO_LOOP ? NULL : &cfg->loops[loop];
	const uint32_t *members = cfg->members + (l ? l->member : cfg->root_member);
	uint32_t count = l ? l->member_count : cfg->root_member_count;
	int rc = 0;

	for (uint32_t n = 0; n < KC_COUNTER_COUNT; n++)
		counted->of[n] = zero(t);
	for (uint32_t i = 0; i < count && !rc; i++) {
		uint32_t block = members[i];
		const struct kc_sum *runs = i == 0 ? kc__number(&t->x.g, 1) : NULL;

		if (cfg->blocks[block].loop != loop) {
			runs = runs ? runs : incoming(t, block, 0, block - 1);
			rc = run_loop(t, cfg->blocks[block].loop, runs, counted);
			continue;
		}
		t->runs[block] = runs ? runs : incoming(t, block, 0, KC_NO_BLOCK);
		count_block(t, block, counted);
		for (uint32_t n = 0; n < cfg->blocks[block].out_count; n++)
			t->edge_runs[cfg->blocks[block].out + n] =
			    kc__times(&t->x.g, t->runs[block], chance_of_edge(t, block, n));
	}
	return t->x.g.lacks_memory ? -ENOMEM : rc;
}

/* --- the story */

static int tell_loops(struct teller *t)
{
	struct kc_cost_story *story = t->story;
	const struct kc_formula *f = t->f;

	story->loop_count = f->cfg.loop_count;
	story->loops = kc_arena_array(&story->arena, (size_t)story->loop_count + 1, sizeof(*story->loops));
	if (!story->loops)
		return -ENOMEM;
	for (uint32_t l = 0; l < story->loop_count; l++) {
		const struct kc_loop *loop = &f->cfg.loops[l];
		const struct kc_trips *trips = kc__express_trips(&t->x, l, KC_EXPRESS_DEPTH);

		story->loops[l] = (struct kc_cost_loop){
		    .depth = loop->depth,
		    .parent = loop->parent == KC_NO_LOOP ? l : loop->parent,
		    .offset = f->block_plans[loop->header].offset,
		    .known = trips->known,
		    .trips = kc__write_sum(&t->x.g, kc__express_rounds(&t->x, l)),
		};
	}
	return 0;
}

/* NULL: no memory. */
static const char *pattern_text(struct teller *t, const struct kc_sum *of_whole_warps, int depends)
{
	static const char condition[] = ", for warps of 32 threads in x, all active";
	const char *sum;
	char *text;
	size_t length;

	if (depends)
		return "computed from the addresses of each warp's lanes";
	sum = kc__write_sum(&t->x.g, of_whole_warps);
	length = sum ? strlen(sum) : 0;
	text = kc_arena_array(&t->story->arena, length + sizeof(condition), 1);
	if (!text)
		return NULL;
	memcpy(text, sum, length);
	memcpy(text + length, condition, sizeof(condition));
	return text;
}

/* 1: warps count, not their lanes. */
static int is_of_warps(const struct kc_formula *f, uint32_t counter)
{
	int global = counter == KC_COUNT_OF_REQUESTS || counter == KC_COUNT_OF_SECTORS;
	int shared = counter == KC_COUNT_OF_SHARED_REQUESTS || counter == KC_COUNT_OF_SHARED_PASSES;

	for (uint32_t i = 0; i < f->event_count; i++) {
		const struct kc_event *event = &f->events[i];

		if ((global && event->kind == KC_EVENT_GLOBAL) || (shared && event->kind == KC_EVENT_SHARED) ||
		    ((event->per_warp || event->retried) && (event->counter == counter || event->counter2 == counter)))
			return 1;
	}
	return 0;
}

static int tell_formulas(struct teller *t)
{
	struct counted counted;
	int rc = t->f->cfg.block_count ? run_region(t, KC_NO_LOOP, &counted) : 0;

	for (uint32_t n = 0; n < KC_COUNTER_COUNT && !rc; n++) {
		if (!t->f->cfg.block_count)
			t->story->formula[n] = "0";
		else if (is_of_warps(t->f, n))
			t->story->formula[n] = pattern_text(t, counted.of[n], t->depends[n]);
		else
			t->story->formula[n] = kc__write_sum(&t->x.g, counted.of[n]);
		rc = t->story->formula[n] ? 0 : -ENOMEM;
	}
	return rc;
}

int kc_cost_tell(const struct kc_cost *cost, struct kc_cost_story *story)
{
	const struct kc_formula *f = kc__cost_formula(cost);
	struct teller t = {.f = f, .story = story, .unsure = {.f = f, .story = story}};
	struct kc_arena working;
	int rc;

	*story = (struct kc_cost_story){.formula = {NULL}};
	kc_arena_init(&story->arena, STORY_BYTES);
	kc_arena_init(&working, STORY_BYTES);
	rc = kc__express_init(&t.x, f, &story->arena);
	t.runs = kc_arena_array(&working, (size_t)f->cfg.block_count + 1, sizeof(*t.runs));
	t.edge_runs = kc_arena_array(&working, (size_t)f->cfg.edge_count + 1, sizeof(*t.edge_runs));
	if (!rc && (!t.runs || !t.edge_runs))
		rc = -ENOMEM;
	rc = rc ? rc : kc__unsure_find(&t.unsure, &working);
	rc = rc ? rc : tell_loops(&t);
	rc = rc ? rc : tell_formulas(&t);
	for (uint32_t b = 0; b < f->cfg.block_count && !rc; b++)
		rc = kc__unsure_tell(&t.unsure, b);
	if (!rc && t.x.g.lacks_memory)
		rc = -ENOMEM;
	kc_arena_free(&working);
	if (rc)
		kc_cost_story_free(story);
	return rc;
}

void kc_cost_story_free(struct kc_cost_story *story)
{
	kc_arena_free(&story->arena);
	*story = (struct kc_cost_story){.formula = {NULL}};
}

void kc_cost_write(const struct kc_cost *cost, char *text, size_t size)
{
	struct kc_cost_story story;
	size_t used = 0;

	text[0] = '\0';
	if (kc_cost_bytes(cost) > WRITTEN_BYTES || kc_cost_tell(cost, &story))
		return;
	for (uint32_t i = 0; i < KC_COUNTER_COUNT && used < size; i++)
		if (strcmp(story.formula[i], "0"))
			used += (size_t)snprintf(text + used, size - used, "%s%s = %s", used ? "; " : "",
						 kc_cost_counter_name(i), story.formula[i]);
	kc_cost_story_free(&story);
}
