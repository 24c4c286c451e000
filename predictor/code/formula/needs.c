#include "formula_read.h"

#include "predictor/device/units.h"

#include <errno.h>

/* Bits of a value that counts depend on: none, the lowest ones of an address, or all. */
enum need { NOT_NEEDED, AS_ADDRESS, IN_FULL };

static void need(uint8_t *needs, uint32_t value, uint8_t as, uint32_t *stack, uint32_t *depth)
{
	if (value == KC_NO_VALUE || needs[value] >= as)
		return;
	needs[value] = as;
	stack[(*depth)++] = value;
}

/* A sum is needed as an address if its parts are; of all other operations the sources are needed in full. */
static uint8_t passes_on(const struct kc_value *v, uint8_t as)
{
	return as == AS_ADDRESS && (v->op == KC_OP_ADD || v->op == KC_OP_SUB || v->op == KC_OP_PHI ||
				    v->op == KC_OP_EXIT_VALUE || (v->op == KC_OP_EXTEND && v->bits == v->source_bits))
		   ? AS_ADDRESS
		   : IN_FULL;
}

static void spread(const struct kc_formula *f, uint8_t *needs, uint32_t *stack)
{
	uint32_t depth = 0;

	for (uint32_t b = 0; b < f->cfg.block_count; b++)
		need(needs, f->block_plans[b].condition, IN_FULL, stack, &depth);
	for (uint32_t e = 0; e < f->event_count; e++) {
		need(needs, f->events[e].guard, IN_FULL, stack, &depth);
		need(needs, f->events[e].size, IN_FULL, stack, &depth);
		need(needs, f->events[e].address, AS_ADDRESS, stack, &depth);
	}
	while (depth) {
		uint32_t value = stack[--depth];
		struct kc_value *v = &f->values[value];
		uint32_t count;
		const uint32_t *from = kc__sources(f, v, &count);

		for (uint32_t n = 0; n < count; n++)
			need(needs, from[n], v->op == KC_OP_SELECT && !n ? IN_FULL : passes_on(v, needs[value]), stack,
			     &depth);
	}
}

int kc__find_needs(struct kc_formula *f, const struct kc_ptx_function *kernel, struct kc_arena *arena,
		   struct kc_cost_need **all, uint32_t *count)
{
	uint8_t *needs = kc_arena_array(arena, (size_t)f->value_count + 1, 1);
	uint32_t *stack = kc_arena_array(arena, 2 * (size_t)f->value_count + 1, sizeof(*stack)), params = 0;

	*count = 0;
	for (uint32_t i = 0; i < f->value_count; i++)
		params += f->values[i].op == KC_OP_PARAM;
	*all = kc_arena_array(arena, (size_t)params + 1, sizeof(**all));
	if (!needs || !stack || !*all)
		return -ENOMEM;
	if (!f->cfg.block_count)
		return 0;
	spread(f, needs, stack);
	for (uint32_t i = 0; i < f->value_count; i++) {
		struct kc_value *v = &f->values[i];
		uint32_t bytes = v->bits / 8;
		const struct kc_ptx_param *param;

		if (v->op != KC_OP_PARAM || needs[i] == NOT_NEEDED || v->source[0] >= kernel->param_count)
			continue;
		param = &kernel->params[v->source[0]];
		v->is_pointer = needs[i] == AS_ADDRESS && bytes == sizeof(uint64_t);
		if (v->constant < 0 || (uint64_t)v->constant + bytes > param->bytes)
			continue;
		(*all)[(*count)++] = (struct kc_cost_need){
		    .param = v->source[0],
		    .offset_bytes = param->offset_bytes + (uint32_t)v->constant,
		    .bytes = bytes,
		    .mask = v->is_pointer ? KC_SECTOR_BYTES - 1
			    : bytes == 8  ? UINT64_MAX
					  : ((uint64_t)1 << (8 * bytes)) - 1,
		};
	}
	return 0;
}
