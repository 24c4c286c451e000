#include "formula.h"

#include "predictor/device/units.h"

#include <errno.h>
#include <string.h>

/* Each event is compared with so many before it in its block. */
#define LOOK_BACK 8u

/* Values whose sources are still to be marked. */
struct marked_values {
	struct kc_formula *f;
	uint32_t *values;
	uint32_t count;
	uint8_t as_eager;
};

static void take(struct marked_values *q, uint32_t value)
{
	struct kc_value *v = value == KC_NO_VALUE ? NULL : &q->f->values[value];

	if (!v || v->surveyed + v->eager >= 1 + q->as_eager)
		return;
	v->surveyed = 1;
	v->eager = q->as_eager;
	q->values[q->count++] = value;
}

static void take_sources(struct marked_values *q, struct kc_value *v)
{
	uint32_t count;
	const uint32_t *from = kc__sources(q->f, v, &count);

	for (uint32_t n = 0; n < count; n++)
		take(q, from[n]);
}

static void spread(struct marked_values *q)
{
	struct kc_formula *f = q->f;

	while (q->count) {
		uint32_t value = q->values[--q->count];

		take_sources(q, &f->values[value]);
		for (uint32_t i = 0; f->values[value].op == KC_OP_PHI && i < f->carried_count; i++)
			if (f->carried[i].phi == value)
				take(q, f->carried[i].step);
	}
}

static int is_in_stepwise_loop(const struct kc_formula *f, uint32_t block)
{
	for (uint32_t loop = f->cfg.blocks[block].loop; loop != KC_NO_LOOP; loop = f->cfg.loops[loop].parent)
		if (f->loop_plans[loop].stepwise)
			return 1;
	return 0;
}

/* Rounds in which dependence on stepwise loops spreads: one from each loop to the next. Where more are needed, all
 * values are marked. */
#define SPREAD_ROUNDS 8u

/* Marks values that depend on what a variable was when its loop ended, if nothing but its iterations tells that. */
static void mark_results_of_steps(const struct kc_formula *f, uint8_t *marks)
{
	int changed = 1, any = 0;

	for (uint32_t l = 0; l < f->cfg.loop_count; l++)
		any |= f->loop_plans[l].stepwise;
	for (unsigned round = 0; any && changed && round < SPREAD_ROUNDS; round++) {
		changed = 0;
		for (uint32_t i = 0; i < f->value_count; i++) {
			struct kc_value *v = &f->values[i];
			uint32_t count, loop = v->op == KC_OP_EXIT_VALUE ? f->values[v->source[0]].loop : KC_NO_LOOP;
			const uint32_t *from = kc__sources(f, v, &count);
			uint8_t marked = loop != KC_NO_LOOP && f->loop_plans[loop].stepwise;

			if (!v->live || marks[i])
				continue;
			for (uint32_t n = 0; n < count; n++)
				marked |= marks[from[n]];
			marks[i] = marked;
			changed |= marked;
		}
	}
	if (any && changed)
		memset(marks, 1, f->value_count);
}

/* Marks as eager what control flow depends on; also addresses, in loops whose iterations are evaluated one by one and,
 * by `marks`, where they depend on the results of such loops. */
static void take_eager(struct marked_values *q, const uint8_t *marks)
{
	struct kc_formula *f = q->f;

	q->as_eager = 1;
	for (uint32_t b = 0; b < f->cfg.block_count; b++) {
		const struct kc_block_plan *plan = &f->block_plans[b];
		int stepwise = is_in_stepwise_loop(f, b);

		take(q, plan->condition);
		for (uint32_t e = plan->launch_event; e < plan->launch_event + plan->launch_event_count; e++) {
			take(q, f->launch_events[e].guard);
			take(q, f->launch_events[e].size);
			if (stepwise ||
			    (f->launch_events[e].address != KC_NO_VALUE && marks[f->launch_events[e].address]))
				take(q, f->launch_events[e].address);
		}
	}
	spread(q);
	q->as_eager = 0;
}

/* --- accesses with the same pattern */

uint32_t kc__address_base(const struct kc_formula *f, uint32_t address, int64_t *offset)
{
	*offset = 0;
	while (address != KC_NO_VALUE && f->values[address].op == KC_OP_ADD && f->values[address].bits == 64 &&
	       f->values[f->values[address].source[1]].op == KC_OP_CONSTANT) {
		*offset += f->values[f->values[address].source[1]].constant;
		address = f->values[address].source[0];
	}
	return address;
}

/* 1: both take the same sectors or passes, as their addresses differ by whole sectors or bank words. */
static int are_alike(const struct kc_formula *f, const struct kc_event *a, const struct kc_event *b)
{
	int64_t here, there, granule = a->kind == KC_EVENT_GLOBAL ? KC_SECTOR_BYTES : KC_BANK_BYTES;

	return a->guard == KC_NO_VALUE && b->guard == KC_NO_VALUE && a->size == KC_NO_VALUE && b->size == KC_NO_VALUE &&
	       a->kind == b->kind && a->alike == b->alike && a->bytes == b->bytes && a->lanes == b->lanes &&
	       a->per_warp == b->per_warp && a->retried == b->retried && a->counter == b->counter &&
	       a->counter2 == b->counter2 &&
	       kc__address_base(f, a->address, &here) == kc__address_base(f, b->address, &there) &&
	       (here - there) % granule == 0;
}

static void keep(struct kc_formula *f, struct kc_block_plan *plan, const struct kc_event *event)
{
	uint32_t first = plan->launch_event_count > LOOK_BACK ? f->launch_event_count - LOOK_BACK : plan->launch_event;

	for (uint32_t i = first; i < f->launch_event_count; i++) {
		struct kc_event *like = &f->launch_events[i];

		if (!are_alike(f, like, event))
			continue;
		like->amount += event->amount;
		like->amount2 += event->amount2;
		like->issues += event->issues;
		like->times += event->times;
		return;
	}
	f->launch_events[f->launch_event_count++] = *event;
	plan->launch_event_count++;
}

int kc__merge_events(struct kc_formula *f, struct kc_arena *arena)
{
	struct marked_values q = {.f = f,
				  .values = kc_arena_array(arena, 2 * (size_t)f->value_count + 1, sizeof(*q.values))};

	uint8_t *marks = kc_arena_array(arena, (size_t)f->value_count + 1, 1);

	f->launch_events = kc_arena_array(arena, (size_t)f->event_count + 1, sizeof(*f->launch_events));
	if (!q.values || !f->launch_events || !marks)
		return -ENOMEM;
	f->launch_event_count = 0;
	for (uint32_t b = 0; b < f->cfg.block_count; b++) {
		struct kc_block_plan *plan = &f->block_plans[b];

		plan->launch_event = f->launch_event_count;
		plan->launch_event_count = 0;
		for (uint32_t e = plan->event; e < plan->event + plan->event_count; e++)
			keep(f, plan, &f->events[e]);
	}
	mark_results_of_steps(f, marks);
	take_eager(&q, marks);
	for (uint32_t e = 0; e < f->launch_event_count; e++)
		take(&q, f->launch_events[e].address);
	spread(&q);
	return 0;
}
