#include "formula.h"

static uint64_t constant_hash(int64_t constant, uint8_t bits)
{
	return ((uint64_t)constant * 0x9e3779b97f4a7c15ull + bits) >> 56;
}

uint32_t kc__constant(struct kc__formula_reader *r, int64_t constant, uint8_t bits)
{
	uint32_t *slot = &r->constants[constant_hash(constant, bits)];
	const struct kc_value *known = *slot < r->f->value_count ? &r->f->values[*slot] : NULL;

	if (!known || known->op != KC_OP_CONSTANT || known->constant != constant || known->bits != bits)
		*slot = kc__value(r, (struct kc_value){.op = KC_OP_CONSTANT, .bits = bits, .constant = constant});
	return *slot;
}

static int is_constant(const struct kc__formula_reader *r, uint32_t value)
{
	return r->f->values[value].op == KC_OP_CONSTANT;
}

/* A 32-bit value zero-extended to 64 bits. */
static int is_widened(const struct kc__formula_reader *r, uint32_t value)
{
	const struct kc_value *v = &r->f->values[value];

	return v->op == KC_OP_EXTEND && v->bits == 64 && v->source_bits == 32 && !v->is_signed;
}

/*
 * A division by a constant as compilers write it: the high half of x * m shifted
 * right by s, or the whole product by 32 + s, with m = ceil(2^(32 + s) / d).
 * Granlund and Montgomery 1994, Theorem 4.2: it is floor(x / d) for every x if
 * m * d - 2^(32 + s) <= 2^s.
 */
static uint32_t as_division(struct kc__formula_reader *r, const struct kc_value *product, int64_t shift)
{
	int is_high = product->op == KC_OP_MUL_HIGH && !product->is_signed && product->bits == 32;
	int is_whole = product->op == KC_OP_MUL && product->bits == 64 && is_widened(r, product->source[0]);
	uint64_t m, power, divisor;

	shift -= is_whole ? 32 : 0;
	if ((!is_high && !is_whole) || !is_constant(r, product->source[1]) || shift < 0 || shift > 31 ||
	    (is_whole && (uint64_t)r->f->values[product->source[1]].constant > UINT32_MAX))
		return KC_NO_VALUE;
	m = (uint32_t)r->f->values[product->source[1]].constant;
	power = (uint64_t)1 << (32 + shift);
	divisor = m ? power / m + (power % m != 0) : 0;
	if (divisor > 1 && (divisor - 1) * m >= power)
		divisor--;
	if (divisor < 2 || divisor > INT32_MAX || m * divisor < power || m * divisor - power > (uint64_t)1 << shift)
		return KC_NO_VALUE;
	return kc__value(
	    r, (struct kc_value){.op = KC_OP_DIV,
				 .bits = product->bits,
				 .source_bits = product->bits,
				 .count = 2,
				 .source = {product->source[0], kc__constant(r, (int64_t)divisor, product->bits)}});
}

/* Extended to more bits and truncated again. */
static int is_round_trip(const struct kc__formula_reader *r, const struct kc_value *v)
{
	const struct kc_value *a = &r->f->values[v->source[0]];

	return v->op == KC_OP_EXTEND && a->op == KC_OP_EXTEND && a->source_bits == v->bits &&
	       a->bits >= v->source_bits && v->source_bits >= v->bits && r->f->values[a->source[0]].bits == v->bits;
}

/* What a selection selects, if that is the same in all threads. */
static uint32_t chosen_value(const struct kc__formula_reader *r, const struct kc_value *v)
{
	const struct kc_value *predicate = &r->f->values[v->source[0]];
	uint32_t chosen = predicate->op == KC_OP_CONSTANT && !(predicate->constant & 1) ? v->source[2] : v->source[1];

	if (predicate->op != KC_OP_CONSTANT && v->source[1] != v->source[2])
		return KC_NO_VALUE;
	return r->f->values[chosen].bits == v->bits ? chosen : KC_NO_VALUE;
}

/* Returns a known value that v is equal to: x + 0, x * 1 and the like, or the address of a parameter plus a constant.
 * KC_NO_VALUE: there is none. */
static uint32_t simplify(struct kc__formula_reader *r, const struct kc_value *v)
{
	const struct kc_value *a = &r->f->values[v->source[0]], *b;
	int64_t constant;

	if (is_round_trip(r, v))
		return a->source[0];
	if (v->op == KC_OP_SELECT)
		return chosen_value(r, v);
	if (v->count != 2 || !is_constant(r, v->source[1]))
		return KC_NO_VALUE;
	b = &r->f->values[v->source[1]];
	constant = b->constant;
	if (v->op == KC_OP_ADD && a->op == KC_OP_PARAM_ADDRESS) {
		struct kc_value moved = *a;

		moved.constant += constant;
		return kc__value(r, moved);
	}
	if (a->bits != v->bits)
		return KC_NO_VALUE;
	if (v->op == KC_OP_SHR && !v->is_signed) {
		struct kc_value product = *a;
		uint32_t quotient = as_division(r, &product, constant);

		if (quotient != KC_NO_VALUE)
			return quotient;
	}
	if (!constant && (v->op == KC_OP_ADD || v->op == KC_OP_SUB || v->op == KC_OP_SHL || v->op == KC_OP_SHR ||
			  v->op == KC_OP_OR || v->op == KC_OP_XOR))
		return v->source[0];
	return constant == 1 && v->op == KC_OP_MUL ? v->source[0] : KC_NO_VALUE;
}

uint32_t kc__value(struct kc__formula_reader *r, struct kc_value value)
{
	struct kc_formula *f = r->f;
	uint32_t same;
	int constant = value.count != 0 && value.op > KC_OP_EXIT_VALUE;

	for (uint32_t n = 0; n < value.count; n++) {
		if (value.source[n] == KC_NO_VALUE)
			return KC_NO_VALUE;
		constant = constant && is_constant(r, value.source[n]);
	}
	if (constant) {
		int64_t s[KC_SOURCES_MAX] = {0};

		for (uint32_t n = 0; n < value.count; n++)
			s[n] = f->values[value.source[n]].constant;
		return kc__constant(r, kc__compute(&value, s[0], s[1], s[2]), value.bits);
	}
	same = value.count ? simplify(r, &value) : KC_NO_VALUE;
	if (same != KC_NO_VALUE)
		return same;
	if (f->value_count == KC_NO_VALUE - 1 ||
	    kc_arena_grow(r->arena, &f->values, &r->value_capacity, f->value_count, sizeof(*f->values)))
		return KC_NO_VALUE;
	value.block = r->block;
	value.exit_value = KC_NO_VALUE;
	if (value.level != KC_LEVEL_FLOW)
		value.loop = KC_NO_LOOP;
	f->values[f->value_count] = value;
	return f->value_count++;
}
