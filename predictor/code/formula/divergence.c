#include "counting.h"

#include <errno.h>
#include <string.h>

/*
 * Which branches the lanes of a warp take together, although it is not known which
 * way: those whose condition does not depend on memory that lanes address
 * differently, or on what other threads did. Loads from one address are alike in
 * all lanes, as votes are. A condition that depends on indices and arithmetic alone
 * changes its value seldom from one lane to the next, such as at the edge of a
 * picture. What control flow leaves in a register, such as the counter of a loop
 * that lanes leave one by one, is taken to be alike if what was written into it is.
 */

enum {
	VARIES = 1,  /* by the lane's index */
	DIFFERS = 2, /* by memory contents or other threads: each lane by itself */
};

/* Times that the kernel is gone through: compilers write a value before it is read, so that a nest of loops needs few.
 * What has not come to rest by then is taken to differ. */
#define PASSES_MAX 16

static int is_special_of_lanes(uint32_t number)
{
	return (number >= KC_PTX_TID_X && number <= KC_PTX_TID_Z) || number == KC_PTX_LANEID ||
	       (number >= KC_PTX_LANEMASK_EQ && number <= KC_PTX_LANEMASK_GT);
}

static uint8_t all_of(const uint8_t *lanes, const uint32_t *registers, uint32_t count)
{
	uint8_t all = 0;

	for (uint32_t n = 0; n < count; n++)
		all |= lanes[registers[n]];
	return all;
}

static int is_load(const struct kc_ptx_instruction *i)
{
	return i->opcode == KC_PTX_LD || i->opcode == KC_PTX_LDU || i->opcode == KC_PTX_TEX ||
	       i->opcode == KC_PTX_TLD4 || i->opcode == KC_PTX_SULD;
}

/* What the point writes, by what it reads. */
static uint8_t written(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	const struct kc_ptx_instruction *i = point->instruction;
	uint32_t registers[KC__REGISTERS_MAX];
	uint8_t read = 0;

	switch (i->opcode) {
	case KC_PTX_VOTE:
	case KC_PTX_ACTIVEMASK:
	case KC_PTX_REDUX:
		return 0;
	case KC_PTX_ATOM:
	case KC_PTX_SHFL:
	case KC_PTX_MATCH:
	case KC_PTX_ELECT:
	case KC_PTX_LDMATRIX:
	case KC_PTX_CALL:
		return VARIES | DIFFERS;
	default:
		break;
	}
	for (uint32_t n = i->results; n < i->operand_count; n++)
		if (i->operands[n].kind == KC_PTX_SPECIAL && is_special_of_lanes(i->operands[n].number))
			read |= VARIES;
	read |= all_of(r->lanes, registers, kc__operand_registers(cfg, point, registers));
	read |= all_of(r->lanes, registers, kc__roots(cfg, point, registers));
	read |= all_of(r->lanes, registers, kc__reads(cfg, point, registers));
	if (is_load(i) && i->space != KC_PTX_PARAM && !kc__is_translated(cfg, point) &&
	    (read || i->space == KC_PTX_LOCAL))
		read = VARIES | DIFFERS;
	return read;
}

int kc__find_divergence(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	uint32_t target[KC__REGISTERS_MAX];
	int changed = 1, passes = 0;

	r->lanes = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, 1);
	if (!r->lanes)
		return -ENOMEM;
	for (; changed && passes < PASSES_MAX; passes++) {
		changed = 0;
		for (uint32_t p = 0; p < cfg->point_count; p++) {
			uint32_t count = kc__writes(cfg, &cfg->points[p], target);
			uint8_t all = VARIES | DIFFERS, now;

			for (uint32_t n = 0; n < count; n++)
				all &= r->lanes[target[n]];
			if (!count || all == (VARIES | DIFFERS))
				continue;
			now = written(r, &cfg->points[p]);
			for (uint32_t n = 0; n < count; n++) {
				changed |= (now & ~r->lanes[target[n]]) != 0;
				r->lanes[target[n]] |= now;
			}
		}
	}
	if (changed)
		memset(r->lanes, VARIES | DIFFERS, cfg->register_count);
	return 0;
}

int kc__goes_together(const struct kc__formula_reader *r, uint32_t number)
{
	return !(r->lanes[number] & DIFFERS);
}

int kc__is_alike(const struct kc__formula_reader *r, uint32_t number)
{
	return !r->lanes[number];
}
