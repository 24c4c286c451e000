#include "predictor/code/formula/formula.h"

#include <math.h>
#include <string.h>

static int64_t divide(int64_t a, int64_t b, int is_signed, int remainder)
{
	if (!b)
		return 0;
	if (!is_signed)
		return (int64_t)(remainder ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b);
	if (b == -1)
		return remainder ? 0 : (int64_t)(0 - (uint64_t)a);
	return remainder ? a % b : a / b;
}

static int64_t multiply_high(int64_t a, int64_t b, uint32_t bits, int is_signed)
{
	if (bits <= 32) /* the product fits */
		return (int64_t)((uint64_t)a * (uint64_t)b) >> bits;
	return is_signed ? (int64_t)(((__int128)a * b) >> 64)
			 : (int64_t)(((unsigned __int128)(uint64_t)a * (uint64_t)b) >> 64);
}

static int is_less(int64_t a, int64_t b, int is_signed)
{
	return is_signed ? a < b : (uint64_t)a < (uint64_t)b;
}

static int compare(const struct kc_value *value, int64_t a, int64_t b)
{
	switch (value->compare) {
	case KC_PTX_EQ:
		return a == b;
	case KC_PTX_NE:
		return a != b;
	case KC_PTX_LT:
		return is_less(a, b, value->is_signed);
	default:
		return !is_less(b, a, value->is_signed);
	}
}

double kc__float_of(int64_t value, uint32_t bits, int flushes)
{
	double number;
	float narrow;
	uint32_t low = (uint32_t)value;

	if (bits == 64) {
		memcpy(&number, &value, sizeof(number));
		return number;
	}
	memcpy(&narrow, &low, sizeof(narrow));
	return flushes && !isnormal(narrow) && isfinite(narrow) ? 0 : (double)narrow;
}

int64_t kc__float_bits_of(double number, uint32_t bits, int flushes)
{
	int64_t value;
	float narrow = (float)number;
	int32_t low;

	if (bits == 64) {
		memcpy(&value, &number, sizeof(value));
		return value;
	}
	if (flushes && !isnormal(narrow) && isfinite(narrow))
		narrow = 0;
	memcpy(&low, &narrow, sizeof(low));
	return low;
}

/* PTX ISA, "Comparisons": eq to ge are false if an operand is no number, equ to geu are true. */
static int compare_floats(const struct kc_value *value, int64_t x, int64_t y)
{
	double a = kc__float_of(x, value->source_bits, value->constant != 0);
	double b = kc__float_of(y, value->source_bits, value->constant != 0);
	int unordered = isnan(a) || isnan(b);

	switch (value->compare) {
	case KC_PTX_EQ:
	case KC_PTX_EQU:
		return unordered ? value->compare == KC_PTX_EQU : a == b;
	case KC_PTX_NE:
	case KC_PTX_NEU:
		return unordered ? value->compare == KC_PTX_NEU : a != b;
	case KC_PTX_LT:
	case KC_PTX_LTU:
		return unordered ? value->compare == KC_PTX_LTU : a < b;
	case KC_PTX_LE:
	case KC_PTX_LEU:
		return unordered ? value->compare == KC_PTX_LEU : a <= b;
	case KC_PTX_GT:
	case KC_PTX_GTU:
		return unordered ? value->compare == KC_PTX_GTU : a > b;
	case KC_PTX_GE:
	case KC_PTX_GEU:
		return unordered ? value->compare == KC_PTX_GEU : a >= b;
	default:
		return unordered == (value->compare == KC_PTX_NAN);
	}
}

static int64_t look_up_bits(uint32_t table, int64_t a, int64_t b, int64_t c)
{
	int64_t result = 0;

	for (unsigned i = 0; i < 8; i++)
		if (table >> i & 1)
			result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
	return result;
}

/* PTX ISA, shl and shr: shifts by more than the width are clamped to the width. */
static int64_t shift(const struct kc_value *value, int64_t a, int64_t by)
{
	uint64_t count = (uint64_t)by & UINT32_MAX;

	if (count >= value->bits)
		return value->op == KC_OP_SHR && value->is_signed && a < 0 ? -1 : 0;
	if (value->op == KC_OP_SHL)
		return (int64_t)((uint64_t)a << count);
	return value->is_signed ? a >> count : (int64_t)((uint64_t)a >> count);
}

static double rounded(double a, int64_t how)
{
	switch (how) {
	case 1:
		return nearbyint(a);
	case 2:
		return trunc(a);
	case 3:
		return floor(a);
	default:
		return how ? ceil(a) : a;
	}
}

/* PTX ISA, cvt: what does not fit becomes the number that is nearest; what is no number 0, but the highest bit alone
 * where the source or the destination has 64 bits. */
static int64_t integer_of(const struct kc_value *value, double a)
{
	int is_wide = value->source_bits == 64 || value->bits == 64;
	double low = value->is_signed ? -ldexp(1, value->bits - 1) : 0;
	double end = ldexp(1, value->is_signed ? value->bits - 1 : value->bits);
	int64_t most = value->is_signed ? (int64_t)((UINT64_C(1) << (value->bits - 1)) - 1)
					: (int64_t)(UINT64_MAX >> (64 - value->bits));

	if (isnan(a))
		return is_wide ? (int64_t)(UINT64_C(1) << (value->bits - 1)) : 0;
	if (a <= low)
		return value->is_signed ? (int64_t)(0 - (UINT64_C(1) << (value->bits - 1))) : 0;
	if (a >= end)
		return most;
	return value->is_signed ? (int64_t)a : (int64_t)(uint64_t)a;
}

/* Rounded once: the sum, difference, product, quotient or root of two floats has twice as many digits and two more in a
 * double, which suffices (Figueroa, "When is double rounding innocuous?", 1995). */
static double arithmetic(const struct kc_value *value, double a, double b, double c)
{
	switch (value->op) {
	case KC_OP_FLOAT_ADD:
		return a + b;
	case KC_OP_FLOAT_SUB:
		return a - b;
	case KC_OP_FLOAT_MUL:
		return a * b;
	case KC_OP_FLOAT_DIV:
		return a / b;
	case KC_OP_FLOAT_SQRT:
		return sqrt(a);
	case KC_OP_FLOAT_MIN:
		return fmin(a, b);
	case KC_OP_FLOAT_MAX:
		return fmax(a, b);
	case KC_OP_FLOAT_FMA:
		return value->bits == 64 ? fma(a, b, c) : (double)fmaf((float)a, (float)b, (float)c);
	default:
		return a;
	}
}

static int64_t compute_float(const struct kc_value *value, int64_t a, int64_t b, int64_t c)
{
	int flushes = (value->constant & KC_FLOAT_FLUSHES) != 0;
	int64_t how = value->constant & ~(int64_t)KC_FLOAT_FLUSHES;
	double first = kc__float_of(a, value->source_bits, flushes);

	switch (value->op) {
	case KC_OP_FLOAT_FROM_INTEGER:
		if (value->bits == 32)
			return kc__float_bits_of((double)(value->is_signed ? (float)a : (float)(uint64_t)a), 32, 0);
		return kc__float_bits_of(value->is_signed ? (double)a : (double)(uint64_t)a, 64, 0);
	case KC_OP_FLOAT_TO_INTEGER:
		return integer_of(value, rounded(first, how));
	case KC_OP_FLOAT_ROUND:
		return kc__float_bits_of(rounded(first, how), value->bits, flushes);
	case KC_OP_FLOAT_CONVERT:
		return kc__float_bits_of(first, value->bits, flushes);
	default:
		return kc__float_bits_of(arithmetic(value, first, kc__float_of(b, value->source_bits, flushes),
						    kc__float_of(c, value->source_bits, flushes)),
					 value->bits, flushes);
	}
}

static int64_t result_of(const struct kc_value *value, int64_t a, int64_t b, int64_t c)
{
	switch (value->op) {
	case KC_OP_ADD:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case KC_OP_SUB:
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case KC_OP_MUL:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case KC_OP_MUL_HIGH:
		return multiply_high(a, b, value->bits, value->is_signed);
	case KC_OP_DIV:
	case KC_OP_REM:
		return divide(a, b, value->is_signed, value->op == KC_OP_REM);
	case KC_OP_MIN:
		return is_less(a, b, value->is_signed) ? a : b;
	case KC_OP_MAX:
		return is_less(a, b, value->is_signed) ? b : a;
	case KC_OP_AND:
		return a & b;
	case KC_OP_OR:
		return a | b;
	case KC_OP_XOR:
		return a ^ b;
	case KC_OP_NOT:
		return ~a;
	case KC_OP_SHL:
	case KC_OP_SHR:
		return shift(value, a, b);
	case KC_OP_ABS:
		return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
	case KC_OP_COMPARE:
		return compare(value, a, b);
	case KC_OP_COMPARE_FLOAT:
		return compare_floats(value, a, b);
	case KC_OP_SELECT:
		return a & 1 ? b : c;
	case KC_OP_POPC:
		return __builtin_popcountll((uint64_t)a);
	case KC_OP_CLZ:
		return a ? __builtin_clzll((uint64_t)a) - (64 - value->source_bits) : value->source_bits;
	case KC_OP_LOP3:
		return look_up_bits((uint32_t)value->constant, a, b, c);
	default:
		return value->op >= KC_OP_FLOAT_ADD ? compute_float(value, a, b, c) : a;
	}
}

int64_t kc__compute(const struct kc_value *value, int64_t a, int64_t b, int64_t c)
{
	uint32_t bits = value->source_bits;

	if (value->op == KC_OP_SELECT)
		return kc__wrap(result_of(value, a, b, c), value->bits);
	a = kc__read(a, bits, value->is_signed);
	if (value->op != KC_OP_SHL && value->op != KC_OP_SHR)
		b = kc__read(b, bits, value->is_signed);
	return kc__wrap(result_of(value, a, b, c), value->bits);
}
