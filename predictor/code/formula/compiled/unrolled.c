#include "predictor/code/formula/counting.h"

/*
 * Loops that ptxas unrolls as a whole, as they count from a constant to a constant
 * in few steps: what they load from constant memory is at fixed addresses then, and
 * no request. ptxas 13.0 unrolls a nest of 4 and 8 iterations, and leaves a loop of
 * 600 (sm_86).
 */
#define UNROLLED_TRIPS 64.0

static int is_constant(const struct kc_formula *f, uint32_t value)
{
	return f->values[value].op == KC_OP_CONSTANT;
}

/* What the value adds to the variable; 0: it is not a sum of it and a constant. */
static int64_t step_from(const struct kc_formula *f, uint32_t value, uint32_t variable)
{
	const struct kc_value *v = &f->values[value];

	for (uint32_t n = 0; v->op == KC_OP_ADD && n < 2; n++)
		if (v->source[n] == variable && is_constant(f, v->source[1 - n]))
			return f->values[v->source[1 - n]].constant;
	return 0;
}

/* Iterations until the variable, or its next value, comes to `end`; 0: it does not count from a constant. */
static double trips_to(const struct kc_formula *f, uint32_t variable, int64_t end)
{
	struct kc_value *v = &f->values[variable];
	int64_t first = 0, step = 0;
	uint32_t count, constants = 0, *sources;

	if (!kc__is_header_phi(f, v))
		return 0;
	sources = kc__sources(f, v, &count);
	for (uint32_t n = 0; n < count; n++) {
		if (is_constant(f, sources[n])) {
			first = f->values[sources[n]].constant;
			constants++;
		} else {
			step = step_from(f, sources[n], variable);
		}
	}
	if (count != 2 || constants != 1 || !step)
		return 0;
	return ((double)end - (double)first) / (double)step;
}

/* Of a branch by whose condition a loop ends; 0: it is not known before the launch. */
static double trips_by(const struct kc_formula *f, uint32_t condition)
{
	const struct kc_value *v = &f->values[condition];

	if (v->op != KC_OP_COMPARE)
		return 0;
	for (uint32_t n = 0; n < 2; n++) {
		uint32_t counted = v->source[n];
		const struct kc_value *next = &f->values[counted];

		if (!is_constant(f, v->source[1 - n]))
			continue;
		for (uint32_t s = 0; next->op == KC_OP_ADD && s < 2; s++)
			if (step_from(f, counted, next->source[s]))
				counted = next->source[s];
		return trips_to(f, counted, f->values[v->source[1 - n]].constant);
	}
	return 0;
}

static double trips_of(const struct kc_formula *f, uint32_t loop)
{
	const struct kc_cfg *cfg = &f->cfg;

	for (uint32_t b = cfg->loops[loop].header; b < cfg->block_count; b++) {
		const struct kc_block *block = &cfg->blocks[b];
		double trips = 0;

		if (block->loop != loop || block->ends != KC_END_BRANCH)
			continue;
		for (uint32_t e = block->out; e < block->out + block->out_count; e++)
			if (cfg->edges[e].to == KC_NO_BLOCK || !kc_cfg_holds(cfg, loop, cfg->edges[e].to))
				trips = trips_by(f, f->block_plans[b].condition);
		if (trips > 0)
			return trips;
	}
	return 0;
}

static int is_unrolled(const struct kc_formula *f, uint32_t block)
{
	double trips = 1;

	for (uint32_t loop = f->cfg.blocks[block].loop; loop != KC_NO_LOOP; loop = f->cfg.loops[loop].parent) {
		double times = trips_of(f, loop);

		if (!(times > 0))
			return 0;
		trips *= times;
	}
	return trips <= UNROLLED_TRIPS;
}

void kc__drop_fixed_requests(struct kc_formula *f)
{
	for (uint32_t b = 0; b < f->cfg.block_count; b++) {
		const struct kc_block_plan *plan = &f->block_plans[b];

		for (uint32_t e = plan->event; e < plan->event + plan->event_count; e++)
			if (f->events[e].counter == KC_ALSO_CONSTANT && f->cfg.blocks[b].loop != KC_NO_LOOP &&
			    is_unrolled(f, b))
				f->events[e].amount = 0;
	}
}
