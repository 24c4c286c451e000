#include "formula.h"

#include <errno.h>

/* Values that are still to be looked into. */
struct queue {
	struct kc_formula *f;
	uint32_t *values;
	uint32_t count;
};

static void take(struct queue *q, uint32_t value)
{
	if (value == KC_NO_VALUE || q->f->values[value].eager)
		return;
	q->f->values[value].eager = 1;
	q->values[q->count++] = value;
}

static void take_sources(struct queue *q, const struct kc_value *v)
{
	uint32_t count = v->op == KC_OP_PHI ? q->f->cfg.blocks[v->block].in_count : v->count;
	const uint32_t *from = v->op == KC_OP_PHI ? q->f->phi_sources + v->phi : v->source;

	for (uint32_t n = 0; n < count; n++)
		take(q, from[n]);
}

static void spread(struct queue *q)
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
		if (f->cycles[loop].stepwise)
			return 1;
	return 0;
}

/* What control flow depends on; and where iterations are run one by one, what addresses do. */
int kc__find_eager(struct kc_formula *f, struct kc_arena *arena)
{
	struct queue q = {.f = f, .values = kc_arena_array(arena, (size_t)f->value_count + 1, sizeof(*q.values))};

	if (!q.values)
		return -ENOMEM;
	for (uint32_t b = 0; b < f->cfg.block_count; b++) {
		const struct kc_stage *stage = &f->stages[b];
		int stepwise = is_in_stepwise_loop(f, b);

		take(&q, stage->condition);
		for (uint32_t e = stage->event; e < stage->event + stage->event_count; e++) {
			take(&q, f->events[e].guard);
			if (stepwise)
				take(&q, f->events[e].address);
		}
	}
	spread(&q);
	return 0;
}
