#include "registers.h"
#include "translation.h"

#include "predictor/device/units.h"

#include <errno.h>
#include <string.h>

/* The fourth operand of shfl that lets all lanes of a warp be read, in PTX ISA, "shfl.sync": clamp 31, no segments. */
#define WHOLE_WARP 31

static int has_results(const struct kc_ptx_instruction *i)
{
	return i->results && i->results <= 2 && i->operands[0].kind != KC_PTX_VECTOR;
}

int kc__is_read_from_a_lane(const struct kc_ptx_instruction *i)
{
	return i->opcode == KC_PTX_SHFL && i->type == KC_PTX_B32 && strstr(i->spelling, ".idx") != NULL &&
	       has_results(i) && i->operand_count >= i->results + 3u;
}

int kc__is_elected(const struct kc_ptx_instruction *i)
{
	return i->opcode == KC_PTX_ELECT && has_results(i) && i->operand_count == i->results + 1u;
}

/* d|p: `_` in place of either is no register. */
static int set_both(struct kc__translation *t, const uint32_t *registers, uint32_t count, uint32_t d, uint32_t p)
{
	const struct kc_ptx_operand *operands = t->i->operands;

	if (d == KC_NO_VALUE || p == KC_NO_VALUE)
		return -ENOMEM;
	if (count && operands[0].kind == KC_PTX_REGISTER)
		kc__set(t, registers[0], d);
	if (count && t->i->results > 1 && operands[1].kind == KC_PTX_REGISTER)
		kc__set(t, registers[count - 1], p);
	return 0;
}

/* shfl.sync.idx d|p, a, lane, 31, mask: a of that lane, in all lanes; p is true. */
static int read_from_a_lane(struct kc__translation *t, const uint32_t *registers, uint32_t count)
{
	int64_t lane, bounds;
	uint32_t value, is_read;

	t->bits = KC__REGISTER_BITS;
	if (!kc__constant_of(t, kc__source(t, 1), &lane) || !kc__constant_of(t, kc__source(t, 2), &bounds) ||
	    bounds != WHOLE_WARP) {
		value = is_read = kc__unknown(t, KC_UNKNOWN_OTHER_THREADS);
	} else {
		is_read = kc__constant(t->r, 1, 1);
		value = kc__value(t->r, (struct kc_value){.op = KC_OP_BROADCAST,
							  .bits = KC__REGISTER_BITS,
							  .source_bits = KC__REGISTER_BITS,
							  .is_signed = 1,
							  .count = 1,
							  .source = {kc__source(t, 0)},
							  .constant = lane & (KC_WARP_LANES - 1)});
	}
	return set_both(t, registers, count, value, is_read);
}

/* elect.sync d|p, mask: p is true in one lane of the mask. PTX ISA does not say in which: counted as the first. */
static int elect(struct kc__translation *t, const uint32_t *registers, uint32_t count)
{
	uint32_t leader, is_leader, lane;
	int64_t mask;

	t->bits = KC__REGISTER_BITS;
	if (!kc__constant_of(t, kc__source(t, 0), &mask) || !(uint32_t)mask) {
		leader = is_leader = kc__unknown(t, KC_UNKNOWN_OTHER_THREADS);
	} else {
		leader = kc__number_of(t, __builtin_ctz((uint32_t)mask));
		lane = kc__value(
		    t->r, (struct kc_value){.op = KC_OP_SPECIAL, .bits = KC__REGISTER_BITS, .constant = KC_PTX_LANEID});
		is_leader = kc__value(t->r, (struct kc_value){.op = KC_OP_COMPARE,
							      .bits = 1,
							      .source_bits = KC__REGISTER_BITS,
							      .compare = KC_PTX_EQ,
							      .count = 2,
							      .source = {lane, leader}});
	}
	return set_both(t, registers, count, leader, is_leader);
}

int kc__translate_between_lanes(struct kc__translation *t, const uint32_t *registers, uint32_t count)
{
	return t->i->opcode == KC_PTX_SHFL ? read_from_a_lane(t, registers, count) : elect(t, registers, count);
}
