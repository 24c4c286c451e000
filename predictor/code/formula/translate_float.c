#include "registers.h"
#include "translation.h"

#include <string.h>

/* Modifiers by which a result is another one than rounded to the nearest number, or within an error that PTX only
 * bounds. */
static int is_rounded_otherwise(const struct kc_ptx_instruction *i)
{
	static const char *const words[] = {".rz", ".rm", ".rp", ".rna", ".approx", ".full", ".NaN", ".xorsign"};

	for (size_t n = 0; n < sizeof(words) / sizeof(words[0]); n++)
		if (strstr(i->spelling, words[n]))
			return 1;
	return 0;
}

/* cvt.rmi: the integer that is not larger, and so on. 0: it has no such modifier. */
static int integral_rounding(const struct kc_ptx_instruction *i)
{
	static const char *const words[] = {".rni", ".rzi", ".rmi", ".rpi"};

	for (uint32_t n = 0; n < sizeof(words) / sizeof(words[0]); n++)
		if (strstr(i->spelling, words[n]))
			return (int)(n + 1);
	return 0;
}

static int is_conversion(const struct kc_ptx_instruction *i)
{
	int from_float = kc__is_compared_float(i->type2), to_float = kc__is_compared_float(i->type);

	if (from_float && to_float && i->type == i->type2)
		return integral_rounding(i) != 0;
	if (from_float && to_float)
		return !is_rounded_otherwise(i);
	return (from_float && kc__is_integer_type(i->type) && integral_rounding(i)) ||
	       (to_float && kc__is_integer_type(i->type2) && !is_rounded_otherwise(i));
}

int kc__is_float_operation(const struct kc_ptx_instruction *i)
{
	switch (i->opcode) {
	case KC_PTX_CVT:
		return is_conversion(i);
	case KC_PTX_ABS:
	case KC_PTX_NEG:
		return kc__is_compared_float(i->type);
	case KC_PTX_ADD:
	case KC_PTX_DIV:
	case KC_PTX_FMA:
	case KC_PTX_MAX:
	case KC_PTX_MIN:
	case KC_PTX_MUL:
	case KC_PTX_RCP:
	case KC_PTX_SQRT:
	case KC_PTX_SUB:
		return kc__is_compared_float(i->type) && !is_rounded_otherwise(i);
	default:
		return 0;
	}
}

/* What is computed from an unknown value is not known either. */
static uint32_t value_of(struct kc__translation *t, struct kc_value v)
{
	for (uint32_t n = 0; n < v.count; n++) {
		const struct kc_value *source;

		if (v.source[n] == KC_NO_VALUE)
			return KC_NO_VALUE;
		source = &t->r->f->values[v.source[n]];
		if (source->op == KC_OP_UNKNOWN)
			return kc__unknown(t, (enum kc_unknown_reason)source->constant);
	}
	v.constant |= t->i->flags & KC_PTX_FLUSHES ? KC_FLOAT_FLUSHES : 0;
	return kc__value(t->r, v);
}

static uint32_t conversion(struct kc__translation *t)
{
	const struct kc_ptx_instruction *i = t->i;
	int from_float = kc__is_compared_float(i->type2), to_float = kc__is_compared_float(i->type);
	struct kc_value v = {.bits = (uint8_t)kc__type_bits(i->type),
			     .source_bits = (uint8_t)kc__type_bits(i->type2),
			     .count = 1,
			     .constant = integral_rounding(i)};

	if (from_float)
		v.op =
		    to_float ? (i->type == i->type2 ? KC_OP_FLOAT_ROUND : KC_OP_FLOAT_CONVERT) : KC_OP_FLOAT_TO_INTEGER;
	else
		v.op = KC_OP_FLOAT_FROM_INTEGER;
	v.is_signed = (uint8_t)kc_ptx_type_is_signed(to_float ? i->type2 : i->type);
	t->bits = v.source_bits;
	v.source[0] = kc__source(t, 0);
	t->bits = v.bits;
	return value_of(t, v);
}

/* PTX ISA, abs and neg: they change the sign bit. */
static uint32_t with_sign(struct kc__translation *t)
{
	int64_t sign = kc__wrap((int64_t)(UINT64_C(1) << (t->bits - 1)), t->bits);
	struct kc_value v = {.op = t->i->opcode == KC_PTX_NEG ? KC_OP_XOR : KC_OP_AND,
			     .bits = (uint8_t)t->bits,
			     .source_bits = (uint8_t)t->bits,
			     .count = 2};

	v.source[0] = kc__source(t, 0);
	v.source[1] =
	    kc__constant(t->r, t->i->opcode == KC_PTX_NEG ? sign : kc__wrap(~sign, t->bits), (uint8_t)t->bits);
	if (v.source[0] != KC_NO_VALUE && t->r->f->values[v.source[0]].op == KC_OP_UNKNOWN)
		return kc__unknown(t, (enum kc_unknown_reason)t->r->f->values[v.source[0]].constant);
	return kc__value(t->r, v);
}

uint32_t kc__float_operation(struct kc__translation *t)
{
	static const uint8_t ops[KC_PTX_OPCODE_COUNT] = {
	    [KC_PTX_ADD] = KC_OP_FLOAT_ADD, [KC_PTX_SUB] = KC_OP_FLOAT_SUB, [KC_PTX_MUL] = KC_OP_FLOAT_MUL,
	    [KC_PTX_DIV] = KC_OP_FLOAT_DIV, [KC_PTX_RCP] = KC_OP_FLOAT_DIV, [KC_PTX_FMA] = KC_OP_FLOAT_FMA,
	    [KC_PTX_MIN] = KC_OP_FLOAT_MIN, [KC_PTX_MAX] = KC_OP_FLOAT_MAX, [KC_PTX_SQRT] = KC_OP_FLOAT_SQRT,
	};
	struct kc_value v = {
	    .op = ops[t->i->opcode], .bits = (uint8_t)t->bits, .source_bits = (uint8_t)t->bits, .is_signed = 1};

	if (t->i->opcode == KC_PTX_CVT)
		return conversion(t);
	if (!v.op)
		return with_sign(t);
	if (t->i->opcode == KC_PTX_RCP)
		v.source[v.count++] = kc__constant(t->r, kc__float_bits_of(1, t->bits, 0), (uint8_t)t->bits);
	for (uint32_t n = t->i->results; n < t->i->operand_count && v.count < KC_SOURCES_MAX; n++)
		v.source[v.count++] = kc__source(t, n - t->i->results);
	return value_of(t, v);
}
