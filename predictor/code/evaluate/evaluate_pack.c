#include "evaluate.h"

#include <errno.h>
#include <string.h>

struct packer {
	struct kc_formula *to;
	const struct kc_formula *from;
	struct kc_arena *arena;
	uint32_t *number; /* value → its new number */
	int lacks_memory;
};

static void *keep(struct packer *p, const void *things, size_t count, size_t bytes)
{
	void *copy = kc_arena_array(p->arena, count ? count : 1, bytes);

	if (!copy)
		p->lacks_memory = 1;
	else if (count)
		memcpy(copy, things, count * bytes);
	return copy;
}

static uint32_t renumbered(const struct packer *p, uint32_t value)
{
	return value == KC_NO_VALUE ? value : p->number[value];
}

static void keep_control_flow(struct packer *p)
{
	struct kc_cfg *to = &p->to->cfg;
	const struct kc_cfg *from = &p->from->cfg;

	to->blocks = keep(p, from->blocks, from->block_count, sizeof(*to->blocks));
	to->edges = keep(p, from->edges, from->edge_count, sizeof(*to->edges));
	to->in_edges = keep(p, from->in_edges, from->edge_count, sizeof(*to->in_edges));
	to->loops = keep(p, from->loops, from->loop_count, sizeof(*to->loops));
	to->members = keep(p, from->members, (size_t)from->block_count + from->loop_count, sizeof(*to->members));
	to->points = NULL;
	to->calls = NULL;
	to->cells = NULL;
	p->to->leaves = kc_arena_array(p->arena, (size_t)from->edge_count + 1, 1);
	p->lacks_memory |= !p->to->leaves;
	if (p->lacks_memory)
		return;
	for (uint32_t e = 0; e < from->edge_count; e++) {
		uint32_t loop = from->blocks[from->edges[e].from].loop, to_block = from->edges[e].to;

		for (; loop != KC_NO_LOOP; loop = from->loops[loop].parent) {
			if (to_block != KC_NO_BLOCK && kc_cfg_holds(from, loop, to_block))
				break;
			p->to->leaves[e]++;
		}
	}
}

static uint32_t slot_bytes(const struct kc_value *v)
{
	/* Values that depend on block coordinates at most are the same in all lanes. */
	size_t bytes = v->level <= 3 ? KC_UNIFORM_BYTES : sizeof(struct kc_lanes);

	return (uint32_t)((bytes + 7) & ~(size_t)7);
}

static int keep_values(struct packer *p)
{
	const struct kc_formula *from = p->from;
	struct kc_formula *to = p->to;
	uint32_t live = 0, phi_sources = 0;

	for (uint32_t i = 0; i < from->value_count; i++)
		live += from->values[i].live;
	to->values = kc_arena_array(p->arena, (size_t)live + 1, sizeof(*to->values));
	if (!to->values)
		return -ENOMEM;
	to->value_count = 0;
	to->slot_bytes = 0;
	for (uint32_t i = 0; i < from->value_count; i++) {
		struct kc_value *v = &to->values[to->value_count];

		if (!from->values[i].live)
			continue;
		p->number[i] = to->value_count++;
		*v = from->values[i];
		v->slot = to->slot_bytes;
		to->slot_bytes += slot_bytes(v);
		if (v->op == KC_OP_PHI)
			phi_sources += from->cfg.blocks[v->block].in_count;
	}
	to->phi_sources = kc_arena_array(p->arena, (size_t)phi_sources + 1, sizeof(*to->phi_sources));
	if (!to->phi_sources)
		return -ENOMEM;
	to->phi_source_count = 0;
	for (uint32_t i = 0; i < to->value_count; i++) {
		struct kc_value *v = &to->values[i];
		uint32_t first = to->phi_source_count;

		for (uint32_t n = 0; n < v->count; n++)
			v->source[n] = renumbered(p, v->source[n]);
		v->exit_value = KC_NO_VALUE;
		if (v->op != KC_OP_PHI)
			continue;
		for (uint32_t n = 0; n < from->cfg.blocks[v->block].in_count; n++)
			to->phi_sources[to->phi_source_count++] = renumbered(p, from->phi_sources[v->phi + n]);
		v->phi = first;
	}
	return 0;
}

static void keep_lists(struct packer *p)
{
	const struct kc_formula *from = p->from;
	struct kc_formula *to = p->to;
	uint32_t amounts = from->cfg.block_count ? from->block_plans[0].amount : 0;

	for (uint32_t b = 0; b < from->cfg.block_count; b++)
		if (amounts < from->block_plans[b].amount + from->block_plans[b].amount_count)
			amounts = from->block_plans[b].amount + from->block_plans[b].amount_count;
	to->order = keep(p, from->order, from->order_count, sizeof(*to->order));
	to->block_plans = keep(p, from->block_plans, from->cfg.block_count, sizeof(*to->block_plans));
	to->events = keep(p, from->events, from->event_count, sizeof(*to->events));
	to->launch_events = keep(p, from->launch_events, from->launch_event_count, sizeof(*to->launch_events));
	to->amounts = keep(p, from->amounts, amounts, sizeof(*to->amounts));
	to->loop_plans = keep(p, from->loop_plans, from->cfg.loop_count, sizeof(*to->loop_plans));
	to->carried = keep(p, from->carried, from->carried_count, sizeof(*to->carried));
	if (p->lacks_memory)
		return;
	for (uint32_t i = 0; i < to->order_count; i++)
		to->order[i] = renumbered(p, to->order[i]);
	for (uint32_t b = 0; b < to->cfg.block_count; b++)
		to->block_plans[b].condition = renumbered(p, to->block_plans[b].condition);
	for (uint32_t i = 0; i < to->event_count; i++) {
		to->events[i].guard = renumbered(p, to->events[i].guard);
		to->events[i].address = renumbered(p, to->events[i].address);
		to->events[i].size = renumbered(p, to->events[i].size);
	}
	for (uint32_t i = 0; i < to->launch_event_count; i++) {
		to->launch_events[i].guard = renumbered(p, to->launch_events[i].guard);
		to->launch_events[i].address = renumbered(p, to->launch_events[i].address);
		to->launch_events[i].size = renumbered(p, to->launch_events[i].size);
	}
	for (uint32_t i = 0; i < to->carried_count; i++) {
		to->carried[i].phi = renumbered(p, to->carried[i].phi);
		to->carried[i].step = renumbered(p, to->carried[i].step);
		to->carried[i].slot = to->slot_bytes;
		to->slot_bytes += (uint32_t)((sizeof(struct kc_lanes) + 7) & ~(size_t)7);
	}
}

int kc__pack_formula(struct kc_formula *to, struct kc_arena *arena, const struct kc_formula *from,
		     struct kc_arena *working)
{
	struct packer p = {.to = to, .from = from, .arena = arena};
	uint64_t slots = ((uint64_t)from->value_count + from->carried_count) * sizeof(struct kc_lanes);
	int rc;

	*to = *from;
	if (!from->cfg.block_count)
		return 0;
	if (slots > UINT32_MAX / 2)
		return -ENOMEM;
	p.number = kc_arena_array(working, from->value_count ? from->value_count : 1, sizeof(*p.number));
	if (!p.number)
		return -ENOMEM;
	keep_control_flow(&p);
	rc = p.lacks_memory ? -ENOMEM : keep_values(&p);
	if (!rc)
		keep_lists(&p);
	return p.lacks_memory ? -ENOMEM : rc;
}
