#include "registers.h"
#include "translation.h"

/* The order that the comparison tests is written as `less` or `less or equal`, with its operands swapped if need be.
 * The type tells whether it has a sign. */
struct order {
	uint8_t compare, swapped;
};

static const struct order orders[] = {
    [KC_PTX_EQ] = {KC_PTX_EQ, 0}, [KC_PTX_NE] = {KC_PTX_NE, 0}, [KC_PTX_LT] = {KC_PTX_LT, 0},
    [KC_PTX_LE] = {KC_PTX_LE, 0}, [KC_PTX_GT] = {KC_PTX_LT, 1}, [KC_PTX_GE] = {KC_PTX_LE, 1},
    [KC_PTX_LO] = {KC_PTX_LT, 0}, [KC_PTX_LS] = {KC_PTX_LE, 0}, [KC_PTX_HI] = {KC_PTX_LT, 1},
    [KC_PTX_HS] = {KC_PTX_LE, 1},
};

static uint32_t compare_floats(struct kc__translation *t)
{
	return kc__value(t->r, (struct kc_value){.op = KC_OP_COMPARE_FLOAT,
						 .bits = 1,
						 .source_bits = (uint8_t)t->bits,
						 .compare = t->i->compare,
						 .count = 2,
						 .source = {kc__source(t, 0), kc__source(t, 1)},
						 .constant = (t->i->flags & KC_PTX_FLUSHES) != 0});
}

/* 1: the comparison of a number with a greater one holds. */
static int holds_for_less(uint8_t compare)
{
	switch (compare) {
	case KC_PTX_NE:
	case KC_PTX_NEU:
	case KC_PTX_LT:
	case KC_PTX_LTU:
	case KC_PTX_LE:
	case KC_PTX_LEU:
	case KC_PTX_NUM:
		return 1;
	default:
		return 0;
	}
}

/* From where on CUDA's sines, cosines and tangents take another way, of 32 and of 64 bits. */
static int is_beyond_ordinary(const struct kc_value *v, uint8_t bits)
{
	return v->op == KC_OP_CONSTANT &&
	       (bits == 64 ? v->constant == 0x41e0000000000000 : (uint32_t)v->constant == 0x47ce4780);
}

int kc__take_as_ordinary(struct kc_formula *f)
{
	int taken = 0;

	/* Their other way keeps words in memory of the thread's own: without it, the number is compared for something
	 * else. */
	for (uint32_t i = 0; f->accesses_local && i < f->value_count; i++) {
		struct kc_value *v = &f->values[i];

		if (v->op != KC_OP_COMPARE_FLOAT || !v->memory ||
		    !is_beyond_ordinary(&f->values[v->source[1]], v->source_bits))
			continue;
		v->op = KC_OP_CONSTANT;
		v->constant = holds_for_less(v->compare);
		v->count = 0;
		taken = 1;
	}
	for (uint32_t i = 0; taken && i < f->value_count; i++)
		f->values[i].memory = 0;
	return taken;
}

uint32_t kc__compare_operands(struct kc__translation *t)
{
	struct kc_value value = {
	    .op = KC_OP_COMPARE, .bits = 1, .source_bits = (uint8_t)t->bits, .is_signed = t->is_signed, .count = 2};
	const struct order *order;

	if (kc__is_compared_float(t->i->opcode == KC_PTX_SET ? t->i->type2 : t->i->type))
		return compare_floats(t);
	if (t->i->compare >= sizeof(orders) / sizeof(orders[0]) || !orders[t->i->compare].compare)
		return kc__unknown(t, KC_UNKNOWN_FLOAT);
	order = &orders[t->i->compare];
	value.compare = order->compare;
	value.source[order->swapped] = kc__source(t, 0);
	value.source[!order->swapped] = kc__source(t, 1);
	return kc__value(t->r, value);
}

uint32_t kc__with_third_predicate(struct kc__translation *t, uint32_t result)
{
	uint32_t flags = t->i->flags;
	enum kc_op op = flags & KC_PTX_BOOL_AND ? KC_OP_AND : flags & KC_PTX_BOOL_OR ? KC_OP_OR : KC_OP_XOR;

	if (!(flags & (KC_PTX_BOOL_AND | KC_PTX_BOOL_OR | KC_PTX_BOOL_XOR)))
		return result;
	t->bits = 1;
	return kc__binary(t, op, result, kc__source(t, 2));
}

/* set: all bits of the result are 1 where the comparison holds. */
uint32_t kc__compare_to_mask(struct kc__translation *t)
{
	uint32_t predicate;

	t->bits = kc__type_bits(t->i->type2);
	t->is_signed = (uint8_t)kc_ptx_type_is_signed(t->i->type2);
	predicate = kc__with_third_predicate(t, kc__compare_operands(t));
	t->bits = kc__type_bits(t->i->type);
	return kc__selection(t, predicate, kc__number_of(t, -1), kc__number_of(t, 0), t->bits);
}
