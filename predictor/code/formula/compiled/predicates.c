#include "predictor/code/formula/counting.h"

#include <errno.h>

/*
 * A comparison of the machine code takes a predicate that it joins with its result
 * (FSETP.LT.AND, .OR, .XOR), and whatever reads a predicate may negate it. ptxas 13.0
 * (sm_75 to sm_90) thus joins and, or or xor with a setp in the same block that
 * nothing else reads: there is no instruction for them, nor for not.
 */

static int is_joining(const struct kc_ptx_instruction *i)
{
	return i->opcode == KC_PTX_AND || i->opcode == KC_PTX_OR || i->opcode == KC_PTX_XOR;
}

/* With two results, or with a predicate that it joins already, it has one operand more. */
static int is_plain_comparison(const struct kc_ptx_instruction *i)
{
	return i->opcode == KC_PTX_SETP && i->results == 1 && i->operand_count == 3 && i->guard == KC_PTX_NO_REGISTER;
}

/* held: by register, the block in which it holds the result of a comparison that can join another predicate. guards: by
 * register, how many instructions it guards. */

static void count_guards(struct kc__formula_reader *r, uint32_t *guards)
{
	const struct kc_cfg *cfg = &r->f->cfg;

	for (uint32_t p = 0; p < cfg->point_count; p++) {
		const struct kc_cfg_point *point = &cfg->points[p];

		if (point->instruction->guard != KC_PTX_NO_REGISTER)
			guards[cfg->calls[point->call].registers + point->instruction->guard]++;
	}
}

/* 1: one of the registers that it reads is a comparison that joins the other one. */
static int is_joined(const struct kc__formula_reader *r, const uint32_t *held, const uint32_t *guards, uint32_t block,
		     const uint32_t *registers, uint32_t count)
{
	for (uint32_t n = 0; n < count; n++)
		if (held[registers[n]] == block && r->reads[registers[n]] == 1 && !guards[registers[n]])
			return 1;
	return 0;
}

static void pass_block(struct kc__formula_reader *r, uint32_t *held, const uint32_t *guards, uint32_t block)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	uint32_t registers[KC__REGISTERS_MAX];

	for (uint32_t p = cfg->blocks[block].first; p < cfg->blocks[block].end; p++) {
		const struct kc_ptx_instruction *i = cfg->points[p].instruction;
		uint32_t count = kc__operand_registers(cfg, &cfg->points[p], registers);

		if (i->type == KC_PTX_PRED && i->guard == KC_PTX_NO_REGISTER &&
		    (i->opcode == KC_PTX_NOT || (is_joining(i) && is_joined(r, held, guards, block, registers, count))))
			r->contracted[p] = KC__IN_ANOTHER;
		count = kc__writes(cfg, &cfg->points[p], registers);
		for (uint32_t n = 0; n < count; n++)
			held[registers[n]] = is_plain_comparison(i) ? block : KC_NO_BLOCK;
	}
}

int kc__find_joined_predicates(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	uint32_t *held = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*held));
	uint32_t *guards = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*guards));

	if (!held || !guards)
		return -ENOMEM;
	for (uint32_t n = 0; n < cfg->register_count; n++)
		held[n] = KC_NO_BLOCK;
	count_guards(r, guards);
	for (uint32_t b = 0; b < cfg->block_count; b++)
		pass_block(r, held, guards, b);
	return 0;
}
