#include "counting.h"
#include "local_cells.h"

#include <errno.h>
#include <string.h>

/*
 * The longest chain of instructions of a basic block that wait for each other's
 * results: how long a warp takes for it if no other hides its latency. Instructions
 * that do not depend on each other are taken to be in flight together, as ptxas
 * moves loads up within a block, but none across a barrier, nor past a store that
 * may be to the same place: such a load begins when what is stored is known. Places
 * that one register addresses with different offsets are not the same.
 *
 * Of the arithmetic on it the cycles are told, of loads how many wait for each
 * other, since how long one takes depends on where its bytes come from. Those in a
 * loop whose address is the same in all threads are told by themselves. Loads of
 * constant memory at addresses in registers come one after the other.
 */

/* From one dependent instruction to the next, in cycles: Arafa et al., "Low Overhead Instruction Latency
 * Characterization for NVIDIA GPGPUs" (2019), Volta: most 4, of 64 bits 8, the special function unit, which converts as
 * well, 23. A product of 16 x 8 x 16 on tensor cores: Sun et al., "Dissecting Tensor Cores via Microbenchmarks" (2022),
 * A100. A value comes from another lane through the units of shared memory. */
#define PLAIN_CYCLES 4.0f
#define DOUBLE_CYCLES 8.0f
#define SPECIAL_CYCLES 23.0f
#define TENSOR_CYCLES 33.0f
#define DIVISION_INSTRUCTIONS 20.0f /* KC_THROUGHPUT_DIVISION_INSTRUCTIONS */

struct chains {
	struct kc__formula_reader *r;
	struct kc_chain *at; /* by register: when its value is there, counted from the block's begin */
	uint32_t *block;     /* of that */
	struct stores {
		struct kc_chain chain; /* until what they store is known */
		uint32_t base;         /* register that addresses all of them; KC_NO_REGISTER: there is none */
		uint8_t any;
	} stores[2];
	struct kc_chain barrier, constant, longest; /* constant: until the last load of constant memory is there */
	uint32_t now;                               /* block */
};

enum { NEAR, FAR }; /* stores to shared and local memory, and to others */

static void extend(struct kc_chain *chain, const struct kc_chain *other)
{
	if (kc__length(other) > kc__length(chain))
		*chain = *other;
}

static void wait_for(const struct chains *c, const uint32_t *registers, uint32_t count, struct kc_chain *begin)
{
	for (uint32_t n = 0; n < count; n++)
		if (c->block[registers[n]] == c->now)
			extend(begin, &c->at[registers[n]]);
}

static int is_near(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	uint32_t space = point->instruction->space;

	return space == KC_PTX_SHARED || space == KC_PTX_LOCAL || space == KC_PTX_CONST ||
	       r->in_shared[point - r->f->cfg.points] || kc__any_access(&r->f->cfg, point) != NULL;
}

/* Parameters, and what ptxas keeps in registers: variables in local memory whose elements are known. */
static int is_register(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_access *access = kc__access(&r->f->cfg, point);

	return point->instruction->space == KC_PTX_PARAM || (access && !access->is_indexed);
}

/* Those that ptxas may not move past each other. */
static int is_ordered(const struct kc_ptx_instruction *i)
{
	return i->space != KC_PTX_PARAM && i->space != KC_PTX_CONST && !strstr(i->spelling, ".nc");
}

static float cycles_of(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	float counted[KC_COUNTER_COUNT] = {0};
	float plain = i->type == KC_PTX_F64 ? DOUBLE_CYCLES : PLAIN_CYCLES;

	if (r->contracted[point - r->f->cfg.points] == KC__IN_ANOTHER || i->opcode == KC_PTX_MOV ||
	    i->opcode == KC_PTX_CVTA)
		return 0;
	if (i->opcode == KC_PTX_MMA || i->opcode == KC_PTX_WMMA)
		return TENSOR_CYCLES;
	if (!kc__expand(i, r->module->target, counted))
		return i->opcode == KC_PTX_TANH ? SPECIAL_CYCLES : plain;
	return plain * (counted[KC_COUNT_OF_FMA] + counted[KC_COUNT_OF_ADD] + counted[KC_COUNT_OF_MUL]) +
	       PLAIN_CYCLES * (counted[KC_COUNT_OF_INT] + counted[KC_COUNT_OF_CONTROL] +
			       DIVISION_INSTRUCTIONS * counted[KC_COUNT_OF_DIVMOD]) +
	       SPECIAL_CYCLES * (counted[KC_COUNT_OF_CONVERT] + counted[KC_COUNT_OF_SPECIAL]);
}

static uint32_t base_of(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_ptx_operand *address = kc__address_operand(point->instruction);

	return address && address->base == KC_PTX_BASE_REGISTER
		   ? kc__register_number(&r->f->cfg, point, address->number)
		   : KC_NO_REGISTER;
}

static void add_store(struct chains *c, const struct kc_cfg_point *point, const struct kc_chain *begin)
{
	struct stores *stores = &c->stores[is_near(c->r, point) ? NEAR : FAR];
	uint32_t base = base_of(c->r, point);

	stores->base = !stores->any || stores->base == base ? base : KC_NO_REGISTER;
	stores->any = 1;
	extend(&stores->chain, begin);
}

static void wait_for_stores(const struct chains *c, const struct kc_cfg_point *point, struct kc_chain *begin)
{
	const struct stores *stores = &c->stores[is_near(c->r, point) ? NEAR : FAR];

	if (is_ordered(point->instruction) && (stores->base == KC_NO_REGISTER || stores->base != base_of(c->r, point)))
		extend(begin, &stores->chain);
}

/* 1: all threads of the launch go through the same places, such as a table: all but the first on an SM find them in L1.
 */
static int is_common(const struct chains *c, const struct kc_cfg_point *point)
{
	uint32_t base = base_of(c->r, point);

	return point->instruction->opcode == KC_PTX_LD && c->r->f->cfg.blocks[c->now].loop != KC_NO_LOOP &&
	       base != KC_NO_REGISTER && kc__is_common(c->r, base);
}

static struct kc_chain loaded(struct chains *c, const struct kc_cfg_point *point, struct kc_chain begin)
{
	if (is_register(c->r, point))
		return begin;
	wait_for_stores(c, point, &begin);
	extend(&begin, &c->barrier);
	if (point->instruction->space == KC_PTX_CONST && base_of(c->r, point) != KC_NO_REGISTER) {
		extend(&begin, &c->constant);
		begin.near++;
		c->constant = begin;
	} else if (is_near(c->r, point))
		begin.near++;
	else if (is_common(c, point))
		begin.common++;
	else
		begin.far++;
	return begin;
}

/* When the results of an instruction that begins then are there. */
static struct kc_chain finished(struct chains *c, const struct kc_cfg_point *point, struct kc_chain begin)
{
	const struct kc_ptx_instruction *i = point->instruction;

	switch (i->opcode) {
	case KC_PTX_ST:
	case KC_PTX_RED:
		if (!is_register(c->r, point))
			add_store(c, point, &begin);
		return begin;
	case KC_PTX_WMMA:
		if (!kc__address_operand(i))
			break;
		if (strstr(i->spelling, ".store")) {
			add_store(c, point, &begin);
			return begin;
		}
		return loaded(c, point, begin);
	case KC_PTX_CP: /* what is copied is there when it is waited for */
		if (!strstr(i->spelling, ".wait_"))
			return begin;
		begin = c->longest;
		begin.far++;
		return begin;
	case KC_PTX_LD:
	case KC_PTX_LDU:
	case KC_PTX_LDMATRIX:
	case KC_PTX_ATOM:
	case KC_PTX_TEX:
	case KC_PTX_TLD4:
	case KC_PTX_SULD:
		return loaded(c, point, begin);
	case KC_PTX_SHFL:
	case KC_PTX_MATCH:
	case KC_PTX_REDUX:
		begin.near++;
		return begin;
	case KC_PTX_BAR:
	case KC_PTX_BARRIER:
		c->barrier = c->longest;
		return c->longest;
	default:
		break;
	}
	begin.cycles += cycles_of(c->r, point);
	return begin;
}

/* 1: what the instruction does not write stays: its guard may not hold, or it writes one of several elements. */
static int leaves_what_was_there(const struct kc_cfg *cfg, const struct kc_cfg_point *point)
{
	const struct kc_access *access = kc__access(cfg, point);

	return point->instruction->guard != KC_PTX_NO_REGISTER || (access && access->is_indexed);
}

static void pass_point(struct chains *c, const struct kc_cfg_point *point)
{
	const struct kc_cfg *cfg = &c->r->f->cfg;
	uint32_t registers[KC__REGISTERS_MAX], count;
	struct kc_chain begin = {0}, end;
	int leaves_old = leaves_what_was_there(&c->r->f->cfg, point);

	wait_for(c, registers, kc__operand_registers(cfg, point, registers), &begin);
	wait_for(c, registers, kc__roots(cfg, point, registers), &begin);
	wait_for(c, registers, kc__reads(cfg, point, registers), &begin);
	end = finished(c, point, begin);
	extend(&c->longest, &end);
	count = kc__writes(cfg, point, registers);
	for (uint32_t n = 0; n < count; n++) {
		if (leaves_old && c->block[registers[n]] == c->now)
			extend(&c->at[registers[n]], &end);
		else
			c->at[registers[n]] = end;
		c->block[registers[n]] = c->now;
	}
}

int kc__find_chains(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	struct chains c = {.r = r};

	c.at = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*c.at));
	c.block = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*c.block));
	if (!c.at || !c.block)
		return -ENOMEM;
	memset(c.block, 0xff, ((size_t)cfg->register_count + 1) * sizeof(*c.block));
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		c.now = b;
		c.barrier = c.constant = c.longest = (struct kc_chain){0};
		memset(c.stores, 0, sizeof(c.stores));
		for (uint32_t p = cfg->blocks[b].first; p < cfg->blocks[b].end; p++)
			pass_point(&c, &cfg->points[p]);
		r->f->block_plans[b].chain = c.longest;
	}
	return 0;
}
