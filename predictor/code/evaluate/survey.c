#include "evaluate.h"

static const struct kc_lanes *first_from(const struct kc_evaluation *e, const struct kc_value *phi)
{
	const struct kc_cfg *cfg = &e->f->cfg;
	const struct kc_block *block = &cfg->blocks[phi->block];
	uint32_t n = 0;

	while (n + 1 < block->in_count && cfg->edges[cfg->in_edges[block->in + n]].from >= phi->block)
		n++;
	return kc__slot(e, e->f->phi_sources[phi->phi + n]);
}

static void survey_block(struct kc_evaluation *e, uint32_t block, int is_header)
{
	const struct kc_formula *f = e->f;
	const struct kc_block_plan *plan = &f->block_plans[block];

	for (uint32_t i = plan->phi; !is_header && i < plan->phi + plan->phi_count; i++) {
		const struct kc_value *phi = &f->values[f->order[i]];

		if (kc__is_skipped(e, f->order[i]))
			continue;
		e->steps++;
		kc__blend(kc__slot(e, f->order[i]), first_from(e, phi), KC_ALL_LANES, 1);
	}
	kc__evaluate_values(e, plan->value, plan->value_count, KC_ALL_LANES);
}

static void survey_members(struct kc_evaluation *e, uint32_t loop, const uint32_t *members, uint32_t count);

static void survey_loop(struct kc_evaluation *e, uint32_t loop)
{
	const struct kc_formula *f = e->f;
	const struct kc_loop *l = &f->cfg.loops[loop];
	const struct kc_loop_plan *loop_plan = &f->loop_plans[loop];
	uint32_t c = KC_AXES + l->depth;

	for (uint32_t i = loop_plan->carried; i < loop_plan->carried + loop_plan->carried_count; i++) {
		const struct kc_carried *carried = &f->carried[i];
		struct kc_lanes *entry = kc__entry_slot(e, carried);

		if (kc__is_skipped(e, carried->phi))
			continue;
		kc__blend(entry, first_from(e, &f->values[carried->phi]), KC_ALL_LANES, 1);
		if (carried->memory) /* known only in the first iteration */
			entry->known = 0;
	}
	kc__evaluate_values(e, loop_plan->entry, loop_plan->entry_count, KC_ALL_LANES);
	e->counters[c] = (struct kc_index){.end = KC_ENDLESS, .period = 1};
	e->loop_runs[l->depth] = (struct kc_loop_run){.loop = loop};
	kc__set_carried(e, loop, c);
	survey_members(e, loop, f->cfg.members + l->member, l->member_count);
	for (uint32_t i = loop_plan->exit_value; i < loop_plan->exit_value + loop_plan->exit_value_count; i++) {
		uint32_t value = f->order[i];

		if (kc__is_skipped(e, value))
			continue;
		e->steps++;
		kc__blend(kc__slot(e, value), kc__slot(e, f->values[value].source[0]), KC_ALL_LANES, 1);
	}
}

static void survey_members(struct kc_evaluation *e, uint32_t loop, const uint32_t *members, uint32_t count)
{
	for (uint32_t i = 0; i < count && !kc__survey_is_stopped(e); i++) {
		uint32_t within = e->f->cfg.blocks[members[i]].loop;

		if (within == loop)
			survey_block(e, members[i], loop != KC_NO_LOOP && i == 0);
		else
			survey_loop(e, within);
	}
}

void kc__survey(struct kc_evaluation *e)
{
	const struct kc_formula *f = e->f;

	e->is_surveying = 1;
	for (uint32_t c = 0; c < KC_AXES; c++) {
		int64_t end = kc__axis_terms(e, c);

		e->counters[c] = (struct kc_index){.at = (end - 1) / 2, .end = end, .period = 1};
	}
	kc__evaluate_values(e, f->level[1], f->level[KC_LEVEL_FLOW] - f->level[1], KC_ALL_LANES);
	survey_members(e, KC_NO_LOOP, f->cfg.members + f->cfg.root_member, f->cfg.root_member_count);
	for (uint32_t i = 0; i < f->launch_event_count; i++)
		e->patterns[i].mask = 0;
	e->is_surveying = 0;
}
