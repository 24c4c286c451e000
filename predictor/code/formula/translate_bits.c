#include "translation.h"

#include <string.h>

/* PTX ISA: of the position and the length of a bit field only the lowest eight bits count. */
static uint32_t lowest_byte(struct kc__translation *t, uint32_t n)
{
	uint32_t bits = t->bits, value;

	t->bits = 32;
	value = kc__source(t, n);
	value = kc__binary(t, KC_OP_AND, value, kc__number_of(t, 0xff));
	t->bits = bits;
	return value;
}

/* 2^length - 1; all ones if length is the width or more. */
static uint32_t low_mask(struct kc__translation *t, uint32_t length)
{
	return kc__unary(t, KC_OP_NOT, kc__binary(t, KC_OP_SHL, kc__number_of(t, -1), length));
}

/* The field from bit `at` on, with the sign of its highest bit. */
static uint32_t signed_field(struct kc__translation *t, uint32_t a, uint32_t at, uint32_t length)
{
	uint32_t width = kc__constant(t->r, t->bits, 32), bits = t->bits, above;

	t->bits = 32;
	length = kc__binary(t, KC_OP_MIN, length, width);
	above = kc__binary(t, KC_OP_SUB, width, length);
	t->bits = bits;
	a = kc__binary(t, KC_OP_SHR, a, at);
	return kc__binary(t, KC_OP_SHR, kc__binary(t, KC_OP_SHL, a, above), above);
}

uint32_t kc__extract_bits(struct kc__translation *t)
{
	uint32_t a = kc__source(t, 0), from = lowest_byte(t, 1), count = lowest_byte(t, 2);
	int64_t at, length;

	if (kc__constant_of(t, from, &at) && kc__constant_of(t, count, &length) && length > 0 &&
	    at + length <= (int64_t)t->bits) {
		a = kc__shifted(t, KC_OP_SHL, a, t->bits - at - length);
		return kc__shifted(t, KC_OP_SHR, a, t->bits - length);
	}
	if (t->is_signed)
		return signed_field(t, a, from, count);
	return kc__binary(t, KC_OP_AND, kc__binary(t, KC_OP_SHR, a, from), low_mask(t, count));
}

uint32_t kc__insert_bits(struct kc__translation *t)
{
	uint32_t a = kc__source(t, 0), into = kc__source(t, 1), at = lowest_byte(t, 2), length = lowest_byte(t, 3);
	uint32_t mask = kc__binary(t, KC_OP_SHL, low_mask(t, length), at);

	a = kc__binary(t, KC_OP_AND, kc__binary(t, KC_OP_SHL, a, at), mask);
	return kc__binary(t, KC_OP_OR, a, kc__binary(t, KC_OP_AND, into, kc__unary(t, KC_OP_NOT, mask)));
}

uint32_t kc__look_up_bits(struct kc__translation *t)
{
	int64_t table;
	uint32_t a = kc__source(t, 0), b = kc__source(t, 1), c = kc__source(t, 2);

	if (!kc__constant_of(t, kc__source(t, 3), &table))
		return kc__unknown(t, KC_UNKNOWN_INSTRUCTION);
	return kc__value(t->r, (struct kc_value){.op = KC_OP_LOP3,
						 .bits = (uint8_t)t->bits,
						 .source_bits = (uint8_t)t->bits,
						 .is_signed = 1,
						 .count = 3,
						 .source = {a, b, c},
						 .constant = table});
}

/* prmt: byte n of the result is the byte of {b, a} that the n-th hexadecimal digit of the selector names, or, if the
 * digit is 8 or more, the sign of that byte. */
uint32_t kc__permute_bytes(struct kc__translation *t)
{
	uint32_t words[2] = {kc__source(t, 0), kc__source(t, 1)}, result = KC_NO_VALUE;
	int64_t selector;

	if (strcmp(t->i->spelling, "prmt.b32") || !kc__constant_of(t, kc__source(t, 2), &selector))
		return kc__unknown(t, KC_UNKNOWN_INSTRUCTION);
	for (uint32_t n = 0; n < 4; n++) {
		uint32_t digit = (uint32_t)(selector >> (4 * n)) & 15, byte = digit & 3, part = words[digit >> 2 & 1];

		t->is_signed = digit >= 8;
		part = kc__shifted(t, KC_OP_SHL, part, 24 - 8 * (int64_t)byte);
		part = kc__shifted(t, KC_OP_SHR, part, digit >= 8 ? 31 : 24);
		part = kc__binary(t, KC_OP_AND, part, kc__number_of(t, 0xff));
		part = kc__shifted(t, KC_OP_SHL, part, 8 * (int64_t)n);
		result = n ? kc__binary(t, KC_OP_OR, result, part) : part;
	}
	return result;
}

/* shf: a shift of the 64 bits {b, a}, of which the upper half (.l) or the lower half (.r) is kept. */
uint32_t kc__funnel_shift(struct kc__translation *t)
{
	uint32_t low = kc__source(t, 0), high = kc__source(t, 1), by = kc__source(t, 2), back;
	int left = strstr(t->i->spelling, ".l.") != NULL, wraps = strstr(t->i->spelling, ".wrap") != NULL;

	by = kc__binary(t, wraps ? KC_OP_AND : KC_OP_MIN, by, kc__number_of(t, wraps ? 31 : 32));
	back = kc__binary(t, KC_OP_SUB, kc__number_of(t, 32), by);
	low = kc__binary(t, KC_OP_SHR, low, left ? back : by);
	return kc__binary(t, KC_OP_OR, low, kc__binary(t, KC_OP_SHL, high, left ? by : back));
}

/* Bits, pairs, nibbles, bytes, … change places. */
uint32_t kc__reverse_bits(struct kc__translation *t)
{
	static const uint64_t lower[] = {0x5555555555555555u, 0x3333333333333333u, 0x0f0f0f0f0f0f0f0fu,
					 0x00ff00ff00ff00ffu, 0x0000ffff0000ffffu, 0x00000000ffffffffu};
	uint32_t a = kc__source(t, 0);

	for (uint32_t n = 0; 1u << n < t->bits; n++) {
		uint32_t mask = kc__number_of(t, (int64_t)lower[n]);
		uint32_t up = kc__shifted(t, KC_OP_SHL, kc__binary(t, KC_OP_AND, a, mask), (int64_t)1 << n);

		a = kc__binary(t, KC_OP_OR, up,
			       kc__binary(t, KC_OP_AND, kc__shifted(t, KC_OP_SHR, a, (int64_t)1 << n), mask));
	}
	return a;
}

/* bfind: the highest bit that is set, or of a negative number clear, or its distance from the top; -1: there is none.
 */
uint32_t kc__find_bit(struct kc__translation *t)
{
	uint32_t a = kc__source(t, 0), bits = t->bits, none, zeros;
	int distance = strstr(t->i->spelling, ".shiftamt") != NULL;

	if (t->is_signed)
		a = kc__binary(t, KC_OP_XOR, a, kc__shifted(t, KC_OP_SHR, a, t->bits - 1));
	t->is_signed = 0;
	none = kc__value(t->r, (struct kc_value){.op = KC_OP_COMPARE,
						 .bits = 1,
						 .source_bits = (uint8_t)bits,
						 .compare = KC_PTX_EQ,
						 .count = 2,
						 .source = {a, kc__number_of(t, 0)}});
	zeros = kc__extend(t, kc__unary(t, KC_OP_CLZ, a), 32, 1, 32);
	t->bits = 32;
	if (!distance) /* of 0 the result is -1 by itself */
		return kc__binary(t, KC_OP_SUB, kc__number_of(t, bits - 1), zeros);
	return kc__selection(t, none, kc__number_of(t, -1), zeros, 32);
}

static uint32_t part_of(struct kc__translation *t, uint32_t word, uint32_t n, uint32_t bits, int is_signed)
{
	t->is_signed = (uint8_t)is_signed;
	word = kc__shifted(t, KC_OP_SHL, word, 32 - (int64_t)bits * (n + 1));
	return kc__shifted(t, KC_OP_SHR, word, 32 - (int64_t)bits);
}

/* dp4a: four products of bytes and c. dp2a: two products of a half of a and a byte of b, the lower or the upper two. */
uint32_t kc__dot_product(struct kc__translation *t)
{
	uint32_t a = kc__source(t, 0), b = kc__source(t, 1), sum = kc__source(t, 2);
	int of_four = t->i->opcode == KC_PTX_DP4A, is_signed[2] = {t->is_signed, kc_ptx_type_is_signed(t->i->type2)};
	uint32_t from = strstr(t->i->spelling, ".hi") ? 2 : 0;

	for (uint32_t n = 0; n < (of_four ? 4u : 2u); n++) {
		uint32_t x = part_of(t, a, n, of_four ? 8 : 16, is_signed[0]);
		uint32_t y = part_of(t, b, from + n, 8, is_signed[1]);

		sum = kc__binary(t, KC_OP_ADD, sum, kc__binary(t, KC_OP_MUL, x, y));
	}
	return sum;
}

/* vshr.u32.u32.u32.clamp.add: a >> b, and c added. */
uint32_t kc__shift_and_add(struct kc__translation *t)
{
	uint32_t a = kc__source(t, 0), by = kc__source(t, 1);

	if (strcmp(t->i->spelling, "vshr.u32.u32.u32.clamp.add") || t->i->operand_count != 4)
		return kc__unknown(t, KC_UNKNOWN_INSTRUCTION);
	return kc__binary(t, KC_OP_ADD, kc__binary(t, KC_OP_SHR, a, by), kc__source(t, 2));
}

/* sad: |a - b| + c */
uint32_t kc__absolute_difference(struct kc__translation *t)
{
	uint32_t a = kc__source(t, 0), b = kc__source(t, 1);
	uint32_t apart = kc__binary(t, KC_OP_SUB, kc__binary(t, KC_OP_MAX, a, b), kc__binary(t, KC_OP_MIN, a, b));

	return kc__binary(t, KC_OP_ADD, apart, kc__source(t, 2));
}

/* slct: a if c is not below 0, otherwise b. */
uint32_t kc__select_by_sign(struct kc__translation *t)
{
	uint32_t a = kc__source(t, 0), b = kc__source(t, 1), bits = t->bits, below;

	if (t->i->type2 != KC_PTX_S32)
		return kc__unknown(t, KC_UNKNOWN_FLOAT);
	t->bits = 32;
	below = kc__value(t->r, (struct kc_value){.op = KC_OP_COMPARE,
						  .bits = 1,
						  .source_bits = 32,
						  .is_signed = 1,
						  .compare = KC_PTX_LT,
						  .count = 2,
						  .source = {kc__source(t, 2), kc__constant(t->r, 0, 32)}});
	t->bits = bits;
	return kc__selection(t, below, b, a, bits);
}
