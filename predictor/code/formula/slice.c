#include "registers.h"

#include <errno.h>
#include <string.h>

static int find_definitions(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	uint32_t registers[KC__REGISTERS_MAX], count;

	r->set_from = kc_arena_array(r->arena, (size_t)cfg->register_count + 2, sizeof(*r->set_from));
	if (!r->set_from)
		return -ENOMEM;
	for (uint32_t p = 0; p < cfg->point_count; p++) {
		count = kc__writes(cfg, &cfg->points[p], registers);
		for (uint32_t n = 0; n < count; n++)
			r->set_from[registers[n] + 2]++;
	}
	for (uint32_t n = 2; n < cfg->register_count + 2; n++)
		r->set_from[n] += r->set_from[n - 1];
	r->set_at = kc_arena_array(r->arena, (size_t)r->set_from[cfg->register_count + 1] + 1, sizeof(*r->set_at));
	if (!r->set_at)
		return -ENOMEM;
	for (uint32_t p = 0; p < cfg->point_count; p++) {
		count = kc__writes(cfg, &cfg->points[p], registers);
		for (uint32_t n = 0; n < count; n++)
			r->set_at[r->set_from[registers[n] + 1]++] = p;
	}
	return 0;
}

static void need(struct kc__formula_reader *r, const uint32_t *registers, uint32_t count, uint32_t *stack,
		 uint32_t *depth)
{
	for (uint32_t n = 0; n < count; n++) {
		if (r->needed[registers[n]])
			continue;
		r->needed[registers[n]] = 1;
		stack[(*depth)++] = registers[n];
	}
}

static void read_here(struct kc__formula_reader *r, const uint32_t *set_in, uint32_t block, const uint32_t *registers,
		      uint32_t count)
{
	for (uint32_t n = 0; n < count; n++)
		if (set_in[registers[n]] != block)
			r->crosses[registers[n]] = 1;
}

/* Finds registers that are read in a block before they are set there. A guarded instruction also reads what it writes,
 * as it may leave that unchanged. */
static int find_crossing(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	uint32_t *set_in = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*set_in));
	uint32_t registers[KC__REGISTERS_MAX], count;

	if (!set_in)
		return -ENOMEM;
	memset(set_in, 0xff, ((size_t)cfg->register_count + 1) * sizeof(*set_in));
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		for (uint32_t p = cfg->blocks[b].first; p < cfg->blocks[b].end; p++) {
			const struct kc_cfg_point *point = &cfg->points[p];

			count = kc__reads(cfg, point, registers);
			read_here(r, set_in, b, registers, count);
			count = kc__roots(cfg, point, registers);
			read_here(r, set_in, b, registers, count);
			count = kc__writes(cfg, point, registers);
			if (point->instruction->guard != KC_PTX_NO_REGISTER)
				read_here(r, set_in, b, registers, count);
			for (uint32_t n = 0; n < count; n++)
				set_in[registers[n]] = b;
		}
	}
	return 0;
}

int kc__slice(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	uint32_t registers[KC__REGISTERS_MAX], depth = 0;
	uint32_t *stack = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*stack));
	int rc = find_definitions(r);

	r->needed = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, 1);
	r->crosses = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, 1);
	if (rc || !stack || !r->needed || !r->crosses)
		return -ENOMEM;
	for (uint32_t p = 0; p < cfg->point_count; p++)
		need(r, registers, kc__roots(cfg, &cfg->points[p], registers), stack, &depth);
	while (depth) {
		uint32_t number = stack[--depth];

		for (uint32_t n = r->set_from[number]; n < r->set_from[number + 1]; n++)
			need(r, registers, kc__reads(cfg, &cfg->points[r->set_at[n]], registers), stack, &depth);
	}
	return find_crossing(r);
}
