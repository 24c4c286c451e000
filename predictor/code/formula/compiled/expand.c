#include "predictor/code/formula/counting.h"

#include <string.h>

/* What one PTX instruction becomes: instructions by counter. Those of fma, add and mul have the type's width, unless
 * is_narrow says that they have 32 bits although it has 64. */
struct expansion {
	uint8_t fma, add, mul, special, integer, control;
	uint8_t narrow_fma;
};

/*
 * ptxas 13.0 for sm_75, sm_86 and sm_90, which do the same; nvdisasm 13.1. Counted
 * is what ordinary numbers take: checks of the exponent, but not the call or the
 * scaling of numbers that fail them.
 */
static const struct expansion
    divide_f32 = {.fma = 5, .special = 1, .integer = 1, .control = 1},
    divide_full = {.mul = 1, .special = 1, .integer = 2}, divide_approx = {.mul = 1, .special = 1, .integer = 1},
    divide_approx_ftz = {.mul = 1, .special = 1},
    reciprocal_f32 = {.fma = 2, .add = 1, .special = 1, .integer = 3, .control = 1},
    reciprocal_approx = {.mul = 2, .special = 1, .integer = 4},
    root_f32 = {.fma = 2, .mul = 2, .special = 1, .integer = 2, .control = 1}, scaled = {.special = 1, .integer = 1},
    reduced = {.mul = 1, .special = 1}, approximation = {.special = 1},
    divide_f64 = {.fma = 7, .mul = 1, .narrow_fma = 1, .special = 1, .integer = 2, .control = 1},
    reciprocal_f64 = {.fma = 5, .special = 1, .integer = 4, .control = 1},
    root_f64 = {.fma = 5, .mul = 3, .special = 1, .integer = 3, .control = 1},
    inverse_root_f64 = {.fma = 3, .mul = 2, .special = 1, .integer = 2, .control = 1};

static int is_approximate(const struct kc_ptx_instruction *i)
{
	return strstr(i->spelling, ".approx") != NULL;
}

static const struct expansion *of_division(const struct kc_ptx_instruction *i)
{
	if (i->type == KC_PTX_F64)
		return &divide_f64;
	if (strstr(i->spelling, ".full"))
		return &divide_full;
	if (is_approximate(i))
		return i->flags & KC_PTX_FLUSHES ? &divide_approx_ftz : &divide_approx;
	return &divide_f32;
}

static const struct expansion *of_f64(const struct kc_ptx_instruction *i)
{
	if (i->flags & KC_PTX_FLUSHES) /* rcp.approx.ftz.f64, rsqrt.approx.ftz.f64 */
		return &approximation;
	return i->opcode == KC_PTX_RCP     ? &reciprocal_f64
	       : i->opcode == KC_PTX_SQRT  ? &root_f64
	       : i->opcode == KC_PTX_RSQRT ? &inverse_root_f64
					   : &approximation;
}

/* NULL: it is one instruction of the counter that its opcode has. */
static const struct expansion *expansion_of(const struct kc_ptx_instruction *i)
{
	int flushes = (i->flags & KC_PTX_FLUSHES) != 0;

	if (!kc_ptx_type_is_float(i->type))
		return NULL;
	switch (i->opcode) {
	case KC_PTX_DIV:
		return of_division(i);
	case KC_PTX_RCP:
		if (i->type == KC_PTX_F64)
			return of_f64(i);
		return !is_approximate(i) ? &reciprocal_f32 : flushes ? &approximation : &reciprocal_approx;
	case KC_PTX_SQRT:
		if (i->type == KC_PTX_F64)
			return of_f64(i);
		return !is_approximate(i) ? &root_f32 : flushes ? &approximation : &scaled;
	case KC_PTX_RSQRT:
		if (i->type == KC_PTX_F64)
			return of_f64(i);
		return flushes ? &approximation : &scaled;
	case KC_PTX_EX2:
	case KC_PTX_LG2:
		return flushes || i->type != KC_PTX_F32 ? &approximation : &scaled;
	case KC_PTX_SIN:
	case KC_PTX_COS:
		return &reduced;
	default:
		return NULL;
	}
}

static void count_arithmetic(const struct kc_ptx_instruction *i, const struct expansion *x, float *counted)
{
	counted[KC_COUNT_OF_FMA] += (float)(x->fma + x->narrow_fma);
	counted[KC_COUNT_OF_ADD] += x->add;
	counted[KC_COUNT_OF_MUL] += x->mul;
	counted[KC_COUNT_OF_SPECIAL] += x->special;
	counted[KC_COUNT_OF_INT] += x->integer;
	counted[KC_COUNT_OF_CONTROL] += x->control;
	if (i->type == KC_PTX_F64)
		counted[KC_COUNT_OF_DOUBLE] += (float)(x->fma + x->add + x->mul);
}

/* --- conversions */

/* Between integers: none, as a register's upper bits are as good as unset; where they matter, the loads that most
 * narrow numbers come from have set them. */
static void count_resizing(const struct kc_ptx_instruction *i, float *counted)
{
	uint32_t to = kc_ptx_type_bytes(i->type), from = kc_ptx_type_bytes(i->type2);

	if (i->flags & KC_PTX_SATURATES)
		counted[KC_COUNT_OF_CONVERT]++;
	else if (to == 1 || (to == 8 && from < 8 && kc_ptx_type_is_signed(i->type2)))
		counted[KC_COUNT_OF_INT]++;
}

static int is_half(uint32_t type)
{
	return type >= KC_PTX_F16 && type <= KC_PTX_BF16X2;
}

/* Conversions between 16-bit and 32-bit floating-point numbers, and of integers to 32-bit ones except signed ones of
 * less than 32 bits, run on the integer unit from sm_80 and sm_86 on (F2FP, I2FP). */
static int is_on_integer_unit(const struct kc_ptx_instruction *i, uint32_t target)
{
	uint32_t from = kc_ptx_type_bytes(i->type2);

	if (i->type2 == KC_PTX_F32 && is_half(i->type))
		return target >= 80;
	if (i->type == KC_PTX_F32 && is_half(i->type2))
		return 1;
	return target >= 86 && i->type == KC_PTX_F32 && kc__is_integer_type(i->type2) &&
	       (from == 4 || (from < 4 && !kc_ptx_type_is_signed(i->type2)));
}

static void count_conversion(const struct kc_ptx_instruction *i, uint32_t target, float *counted)
{
	int rounds_to_integer = strstr(i->spelling, "i.") != NULL; /* .rni, .rzi, .rmi, .rpi */

	if (kc__is_integer_type(i->type) && kc__is_integer_type(i->type2))
		count_resizing(i, counted);
	else if (i->type == i->type2 && i->type == KC_PTX_F32 && !rounds_to_integer)
		counted[KC_COUNT_OF_ADD]++; /* FADD with a modifier */
	else
		counted[is_on_integer_unit(i, target) ? KC_COUNT_OF_INT : KC_COUNT_OF_CONVERT]++;
}

/* --- */

/* A division of 64-bit integers takes some 80 instructions, one of 32 bits some 20. */
#define DIVISIONS_WIDE 4.0f

int kc__expand(const struct kc_ptx_instruction *i, uint32_t target, float *counted)
{
	const struct expansion *x = expansion_of(i);
	int is_single = i->type == KC_PTX_F32;

	if (x) {
		count_arithmetic(i, x, counted);
		return 1;
	}
	switch (i->opcode) {
	case KC_PTX_CVT:
		count_conversion(i, target, counted);
		return 1;
	case KC_PTX_DIV:
	case KC_PTX_REM:
		counted[KC_COUNT_OF_DIVMOD] += kc_ptx_type_bytes(i->type) == 8 ? DIVISIONS_WIDE : 1;
		return 1;
	case KC_PTX_ABS:
	case KC_PTX_NEG: /* modifiers of what reads the result */
		return kc_ptx_type_is_float(i->type);
	case KC_PTX_MIN:
	case KC_PTX_MAX:
	case KC_PTX_SETP:
		break;
	case KC_PTX_SET:
		is_single = i->type2 == KC_PTX_F32 || (!i->type2 && is_single);
		break;
	default:
		return 0;
	}
	counted[KC_COUNT_OF_INT] += (float)is_single; /* FMNMX, FSETP and FSET run on the integer unit */
	return is_single;
}
