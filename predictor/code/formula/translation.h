/*
 * The translation of one instruction into values, shared by the files that do so:
 * translate.c, translate_bits.c, translate_compare.c, translate_float.c,
 * translate_lanes.c and translate_memory.c.
 */
#ifndef KC_TRANSLATION_H
#define KC_TRANSLATION_H

#include "formula.h"

struct kc__translation {
	struct kc__formula_reader *r;
	const struct kc_cfg_point *point;
	const struct kc_ptx_instruction *i;
	uint32_t bits; /* of the type */
	uint8_t is_signed;
};

/* translate.c: an unknown value, an operand's value, the n-th source operand's. */
uint32_t kc__unknown(struct kc__translation *t, enum kc_unknown_reason reason);
uint32_t kc__operand_value(struct kc__translation *t, const struct kc_ptx_operand *operand, uint32_t bits);
uint32_t kc__source(struct kc__translation *t, uint32_t n);
uint32_t kc__type_bits(uint32_t type);

/* Operations on values of the instruction's type. */
uint32_t kc__binary(struct kc__translation *t, enum kc_op op, uint32_t a, uint32_t b);
uint32_t kc__unary(struct kc__translation *t, enum kc_op op, uint32_t a);
uint32_t kc__extend(struct kc__translation *t, uint32_t a, uint32_t from, int is_signed, uint32_t to);
uint32_t kc__selection(struct kc__translation *t, uint32_t predicate, uint32_t yes, uint32_t no, uint32_t bits);
/* A constant of the instruction's width; `by` of a shift. */
uint32_t kc__number_of(struct kc__translation *t, int64_t number);
uint32_t kc__shifted(struct kc__translation *t, enum kc_op op, uint32_t a, int64_t by);
/* 1: the value is a constant. */
int kc__constant_of(const struct kc__translation *t, uint32_t value, int64_t *constant);

/* Where its guard does not hold, a guarded instruction leaves the register unchanged. */
void kc__set(struct kc__translation *t, uint32_t number, uint32_t value);

typedef uint32_t kc__translate_one(struct kc__translation *t);

/* translate_bits.c */
kc__translate_one kc__extract_bits, kc__insert_bits, kc__look_up_bits, kc__permute_bytes, kc__funnel_shift,
    kc__reverse_bits, kc__find_bit, kc__dot_product, kc__shift_and_add, kc__absolute_difference, kc__select_by_sign;
/* translate_compare.c */
kc__translate_one kc__compare_operands, kc__compare_to_mask;
uint32_t kc__with_third_predicate(struct kc__translation *t, uint32_t result);
/* translate_float.c: of an instruction that kc__is_float_operation(). */
kc__translate_one kc__float_operation;
/* translate_lanes.c: sets what an instruction writes that kc__is_read_from_a_lane() or kc__is_elected(). 0, -ENOMEM. */
#define KC__REGISTER_BITS 32u
int kc__translate_between_lanes(struct kc__translation *t, const uint32_t *registers, uint32_t count);
/* translate_memory.c: sets all that a load or store writes. 0, -ENOMEM. */
int kc__move_memory(struct kc__translation *t);

#endif
