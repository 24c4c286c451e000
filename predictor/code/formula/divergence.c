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
 *
 * And what is alike in all threads of the launch: what depends on no number of a
 * thread, warp or block, nor on what was loaded by one.
 */

#define DIFFERS ((uint16_t)(KC_ALIKE_X | KC_ALIKE_APART | KC_ALIKE_BLOCK))

/* Times that the kernel is gone through: compilers write a value before it is read, so that a nest of loops needs few.
 * What has not come to rest by then is taken to differ. */
#define PASSES_MAX 16

/* Threads beside each other along y whose numbers are multiplied by more are in rows of their own: by less, they are
 * elements of an array. */
#define NEAR_ROW_BYTES 8

static uint16_t special(uint32_t number)
{
	if (number == KC_PTX_TID_Y || number == KC_PTX_TID_Z)
		return KC_ALIKE_Y;
	if (number == KC_PTX_TID_X || number == KC_PTX_LANEID ||
	    (number >= KC_PTX_LANEMASK_EQ && number <= KC_PTX_LANEMASK_GT))
		return KC_ALIKE_X;
	return (number >= KC_PTX_NTID_X && number <= KC_PTX_NTID_Z) ||
		       (number >= KC_PTX_NCTAID_X && number <= KC_PTX_NCTAID_Z) || number == KC_PTX_WARP_SIZE
		   ? 0
		   : KC_ALIKE_BLOCK;
}

static uint16_t all_of(const uint16_t *lanes, const uint32_t *registers, uint32_t count)
{
	uint16_t all = 0;

	for (uint32_t n = 0; n < count; n++)
		all |= lanes[registers[n]];
	return all;
}

static int is_load(const struct kc_ptx_instruction *i)
{
	return i->opcode == KC_PTX_LD || i->opcode == KC_PTX_LDU || i->opcode == KC_PTX_TEX ||
	       i->opcode == KC_PTX_TLD4 || i->opcode == KC_PTX_SULD;
}

/* A product with that number; 0: with one that is not known. */
static uint16_t scaled(uint16_t lanes, int64_t by)
{
	uint32_t pitch = (lanes & KC_ALIKE_PITCH) >> KC_ALIKE_PITCH_AT, far = KC_ALIKE_PITCH >> KC_ALIKE_PITCH_AT;

	if (!by || by == INT64_MIN)
		by = INT64_MAX;
	by = by < 0 ? -by : by;
	if (lanes & KC_ALIKE_Y && by > NEAR_ROW_BYTES)
		lanes |= KC_ALIKE_ROWS;
	for (; lanes & KC_ALIKE_X && by > 1 && pitch < far; by -= by / 2)
		pitch++;
	return (uint16_t)((lanes & ~KC_ALIKE_PITCH) | pitch << KC_ALIKE_PITCH_AT);
}

/* Of two factors and what is added, or of what is shifted left. */
static uint16_t product(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_ptx_operand *factor = &point->instruction->operands[point->instruction->results];
	uint16_t lanes[3] = {0};
	int64_t by[3] = {0};

	for (uint32_t n = 0; n + point->instruction->results < point->instruction->operand_count && n < 3; n++) {
		if (factor[n].kind == KC_PTX_REGISTER)
			lanes[n] = r->lanes[kc__register_number(&r->f->cfg, point, factor[n].number)];
		else if (factor[n].kind == KC_PTX_SPECIAL)
			lanes[n] = special(factor[n].number);
		else if (factor[n].kind == KC_PTX_INTEGER)
			by[n] = factor[n].value;
	}
	if (point->instruction->opcode == KC_PTX_SHL && factor[1].kind == KC_PTX_INTEGER) {
		uint32_t bits = (uint32_t)by[1];

		if (bits >= 8 * kc_ptx_type_bytes(point->instruction->type))
			return 0;
		by[1] = (int64_t)(UINT64_C(1) << bits);
	}
	return scaled(lanes[0], by[1]) | scaled(lanes[1], by[0]) | lanes[2];
}

/* 1: what it writes may lie further apart than what it reads. Floating-point numbers are taken to be positions, which
 * are near each other in lanes beside each other. */
static int is_product(const struct kc_ptx_instruction *i)
{
	return (i->opcode == KC_PTX_MUL || i->opcode == KC_PTX_MAD || i->opcode == KC_PTX_SHL) &&
	       !kc_ptx_type_is_float(i->type) && !(i->flags & KC_PTX_HIGH);
}

/* What the point writes, by what it reads. */
static uint16_t written(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	const struct kc_ptx_instruction *i = point->instruction;
	uint32_t registers[KC__REGISTERS_MAX];
	uint16_t read = 0;

	switch (i->opcode) {
	case KC_PTX_VOTE:
	case KC_PTX_ACTIVEMASK:
	case KC_PTX_REDUX:
		return KC_ALIKE_BLOCK;
	case KC_PTX_ATOM:
	case KC_PTX_SHFL:
	case KC_PTX_MATCH:
	case KC_PTX_ELECT:
	case KC_PTX_LDMATRIX:
	case KC_PTX_CALL:
		return DIFFERS;
	default:
		break;
	}
	if (is_product(i))
		return product(r, point);
	for (uint32_t n = i->results; n < i->operand_count; n++)
		if (i->operands[n].kind == KC_PTX_SPECIAL)
			read |= special(i->operands[n].number);
	read |= all_of(r->lanes, registers, kc__operand_registers(cfg, point, registers));
	read |= all_of(r->lanes, registers, kc__roots(cfg, point, registers));
	read |= all_of(r->lanes, registers, kc__reads(cfg, point, registers));
	if (is_load(i) && i->space != KC_PTX_PARAM && !kc__is_translated(cfg, point) &&
	    (read & KC_ALIKE_LANES || i->space == KC_PTX_LOCAL))
		read = DIFFERS;
	return read;
}

int kc__find_divergence(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	uint32_t target[KC__REGISTERS_MAX];
	int changed = 1, passes = 0;

	r->lanes = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*r->lanes));
	if (!r->lanes)
		return -ENOMEM;
	for (; changed && passes < PASSES_MAX; passes++) {
		changed = 0;
		for (uint32_t p = 0; p < cfg->point_count; p++) {
			uint32_t count = kc__writes(cfg, &cfg->points[p], target);
			uint16_t all = UINT16_MAX, now;

			for (uint32_t n = 0; n < count; n++)
				all &= r->lanes[target[n]];
			if (!count || all & KC_ALIKE_APART)
				continue;
			now = written(r, &cfg->points[p]);
			for (uint32_t n = 0; n < count; n++) {
				changed |= (now & ~r->lanes[target[n]]) != 0;
				r->lanes[target[n]] |= now;
			}
		}
	}
	for (uint32_t n = 0; changed && n < cfg->register_count; n++)
		r->lanes[n] = DIFFERS;
	return 0;
}

int kc__goes_together(const struct kc__formula_reader *r, uint32_t number)
{
	return !(r->lanes[number] & KC_ALIKE_APART);
}

int kc__is_alike(const struct kc__formula_reader *r, uint32_t number)
{
	return !(r->lanes[number] & KC_ALIKE_LANES);
}

int kc__is_common(const struct kc__formula_reader *r, uint32_t number)
{
	return !r->lanes[number];
}
