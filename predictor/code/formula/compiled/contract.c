#include "predictor/code/formula/counting.h"

#include <errno.h>
#include <string.h>

/*
 * The PTX ISA lets mul and add or sub without rounding modifiers be contracted to
 * fma. ptxas does so where all that reads the product are such sums in its own
 * block (ptxas 13.0, sm_75 to sm_90): the product then is no instruction. A sum of
 * two products contains one of them. What only negates is a modifier of whatever
 * reads it.
 */
#define NO_USE UINT32_MAX

struct product {
	uint32_t first_use; /* in uses: the last that was found */
	uint32_t negates;   /* the product that this instruction negates; KC_NO_POINT: none */
	uint8_t is_product, is_kept;
};

struct use {
	uint32_t sum; /* point */
	uint32_t next;
};

struct contraction {
	struct kc__formula_reader *r;
	struct product *products; /* by point */
	struct use *uses;
	uint32_t use_count, use_capacity;
	struct held {
		uint32_t block, product; /* valid in this block only: the product's point */
	} * held;                        /* by register */
	uint32_t *found;                 /* by register: how many of its reads are where `held` was valid */
};

static int is_rounded(const struct kc_ptx_instruction *i)
{
	static const char *const modifiers[] = {".rn", ".rz", ".rm", ".rp"};

	for (size_t n = 0; n < sizeof(modifiers) / sizeof(*modifiers); n++)
		if (strstr(i->spelling, modifiers[n]))
			return 1;
	return 0;
}

static int is_product(const struct kc_ptx_instruction *i)
{
	return i->opcode == KC_PTX_MUL && kc_ptx_type_is_float(i->type) && i->guard == KC_PTX_NO_REGISTER &&
	       !(i->flags & KC_PTX_SATURATES) && !is_rounded(i) && i->operand_count &&
	       i->operands[0].kind == KC_PTX_REGISTER;
}

static int is_sum_of(const struct kc_ptx_instruction *i, const struct kc_ptx_instruction *product)
{
	return (i->opcode == KC_PTX_ADD || i->opcode == KC_PTX_SUB) && i->type == product->type && !is_rounded(i) &&
	       !((i->flags ^ product->flags) & KC_PTX_FLUSHES);
}

static int add_use(struct contraction *c, uint32_t product, uint32_t sum)
{
	int rc = kc_arena_grow(c->r->arena, &c->uses, &c->use_capacity, c->use_count, sizeof(*c->uses));

	if (rc)
		return rc;
	c->uses[c->use_count] = (struct use){sum, c->products[product].first_use};
	c->products[product].first_use = c->use_count++;
	return 0;
}

/* A register that the instruction reads; twice: as both of its operands. */
static int read_register(struct contraction *c, uint32_t block, uint32_t point, uint32_t number, int twice)
{
	const struct kc_cfg *cfg = &c->r->f->cfg;
	const struct kc_ptx_instruction *i = cfg->points[point].instruction;
	uint32_t product = c->held[number].product;

	c->r->reads[number]++;
	if (c->held[number].block != block || product == KC_NO_POINT)
		return 0;
	c->found[number]++;
	if (i->opcode == KC_PTX_NEG && i->type == cfg->points[product].instruction->type &&
	    i->guard == KC_PTX_NO_REGISTER)
		c->products[point].negates = product;
	else if (is_sum_of(i, cfg->points[product].instruction) && !twice)
		return add_use(c, product, point);
	else
		c->products[product].is_kept = 1;
	return 0;
}

static int pass_point(struct contraction *c, uint32_t block, uint32_t point)
{
	const struct kc_cfg_point *at = &c->r->f->cfg.points[point];
	uint32_t registers[KC__REGISTERS_MAX];
	uint32_t count = kc__operand_registers(&c->r->f->cfg, at, registers);
	int rc = 0, twice = count == 2 && registers[0] == registers[1];

	for (uint32_t n = 0; n < count && !rc; n++)
		rc = read_register(c, block, point, registers[n], twice);
	count = kc__writes(&c->r->f->cfg, at, registers);
	for (uint32_t n = 0; n < count; n++)
		c->held[registers[n]] =
		    (struct held){block, is_product(at->instruction) ? point : c->products[point].negates};
	c->products[point].is_product = (uint8_t)is_product(at->instruction);
	return rc;
}

/* Keeps products whose registers are read where they may hold something else, as in another block. */
static void keep_those_that_cross(struct contraction *c, uint32_t block)
{
	const struct kc_cfg *cfg = &c->r->f->cfg;
	uint32_t registers[KC__REGISTERS_MAX];

	for (uint32_t p = cfg->blocks[block].first; p < cfg->blocks[block].end; p++) {
		struct product *product = &c->products[p];
		uint32_t negates = product->negates;

		if (!product->is_product && negates == KC_NO_POINT)
			continue;
		kc__writes(cfg, &cfg->points[p], registers);
		if (c->r->reads[registers[0]] == c->found[registers[0]])
			continue;
		(negates == KC_NO_POINT ? product : &c->products[negates])->is_kept = 1;
	}
}

static void contract_block(struct contraction *c, uint32_t block)
{
	const struct kc_cfg *cfg = &c->r->f->cfg;
	uint8_t *contracted = c->r->contracted;

	keep_those_that_cross(c, block);
	for (uint32_t p = cfg->blocks[block].first; p < cfg->blocks[block].end; p++) {
		const struct product *product = &c->products[p];
		int taken = product->first_use == NO_USE;

		if (!product->is_product || product->is_kept)
			continue;
		for (uint32_t u = product->first_use; u != NO_USE; u = c->uses[u].next)
			taken |= contracted[c->uses[u].sum] != 0;
		if (taken)
			continue;
		contracted[p] = KC__IN_ANOTHER;
		for (uint32_t u = product->first_use; u != NO_USE; u = c->uses[u].next)
			contracted[c->uses[u].sum] = KC__AS_FMA;
	}
}

int kc__find_contractions(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	struct contraction c = {.r = r};
	int rc = 0;

	r->contracted = kc_arena_array(r->arena, (size_t)cfg->point_count + 1, 1);
	c.products = kc_arena_array(r->arena, (size_t)cfg->point_count + 1, sizeof(*c.products));
	c.held = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*c.held));
	r->reads = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*r->reads));
	c.found = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*c.found));
	if (!r->contracted || !c.products || !c.held || !r->reads || !c.found)
		return -ENOMEM;
	for (uint32_t n = 0; n < cfg->register_count; n++)
		c.held[n].block = KC_NO_BLOCK;
	for (uint32_t p = 0; p < cfg->point_count; p++)
		c.products[p] = (struct product){.first_use = NO_USE, .negates = KC_NO_POINT};
	for (uint32_t b = 0; b < cfg->block_count; b++)
		for (uint32_t p = cfg->blocks[b].first; p < cfg->blocks[b].end && !rc; p++)
			rc = pass_point(&c, b, p);
	for (uint32_t b = 0; b < cfg->block_count && !rc; b++)
		contract_block(&c, b);
	return rc;
}
