#include "local_cells.h"
#include "registers.h"
#include "translation.h"

#include "predictor/device/units.h"

#include <errno.h>
#include <string.h>

#define WIDEST 64u /* bits of a value */

uint32_t kc__type_bits(uint32_t type)
{
	return type == KC_PTX_PRED ? 1 : kc_ptx_type_bytes(type) * 8;
}

/* --- values */

static uint32_t unknown(struct kc__formula_reader *r, const struct kc_cfg_point *point, enum kc_unknown_reason reason)
{
	return kc__value(
	    r, (struct kc_value){
		   .op = KC_OP_UNKNOWN, .bits = 64, .constant = reason, .offset = point->instruction->offset});
}

/* Of the lanes before, at or after a lane: 2^lane - 1, 2^lane and the like. */
static uint32_t lane_mask(struct kc__formula_reader *r, uint32_t number)
{
	uint32_t lane = kc__value(r, (struct kc_value){.op = KC_OP_SPECIAL, .bits = 32, .constant = KC_PTX_LANEID});
	struct kc_value mask = {.op = KC_OP_SHL, .bits = 32, .source_bits = 32, .count = 2};
	int from_above = number == KC_PTX_LANEMASK_GE || number == KC_PTX_LANEMASK_GT;
	int without_lane = number == KC_PTX_LANEMASK_LT || number == KC_PTX_LANEMASK_GE;

	if (number == KC_PTX_LANEMASK_EQ)
		mask.source[0] = kc__constant(r, 1, 32);
	else
		mask.source[0] = kc__constant(r, without_lane ? -1 : -2, 32);
	mask.source[1] = lane;
	if (number == KC_PTX_LANEMASK_EQ || from_above)
		return kc__value(r, mask);
	mask = (struct kc_value){
	    .op = KC_OP_NOT, .bits = 32, .source_bits = 32, .count = 1, .source = {kc__value(r, mask)}};
	return kc__value(r, mask);
}

static uint32_t special_value(struct kc__formula_reader *r, const struct kc_cfg_point *point, uint32_t number)
{
	if (number == KC_PTX_WARP_SIZE)
		return kc__constant(r, KC_WARP_LANES, 32);
	if (number >= KC_PTX_LANEMASK_EQ && number <= KC_PTX_LANEMASK_GT)
		return lane_mask(r, number);
	if (number == KC_PTX_SPECIAL_OTHER || number > KC_PTX_LANEID)
		return unknown(r, point, KC_UNKNOWN_SPECIAL);
	return kc__value(r, (struct kc_value){.op = KC_OP_SPECIAL, .bits = 32, .constant = number});
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
	return align ? (value + align - 1) / align * align : value;
}

/* Shared variables are laid out in the order of their declaration, the kernel's before the module's. The one whose size
 * is given at launch comes last. */
static int64_t shared_address(const struct kc__formula_reader *r, const struct kc_ptx_variable *wanted)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < r->kernel->local_count + r->module->variable_count; i++) {
		const struct kc_ptx_variable *v = i < r->kernel->local_count
						      ? &r->kernel->locals[i]
						      : &r->module->variables[i - r->kernel->local_count];

		if (v->space != KC_PTX_SHARED || !v->bytes)
			continue;
		at = align_up(at, v->align_bytes);
		if (v == wanted)
			return (int64_t)at;
		at += v->bytes;
	}
	return (int64_t)align_up(at, wanted->align_bytes);
}

static uint32_t variable_number(const struct kc__formula_reader *r, const struct kc_ptx_function *function,
				const struct kc_ptx_variable *variable)
{
	if (variable >= r->module->variables && variable < r->module->variables + r->module->variable_count)
		return (uint32_t)(variable - r->module->variables);
	return r->module->variable_count + (uint32_t)(variable - function->locals);
}

static uint32_t symbol_value(struct kc__formula_reader *r, const struct kc_cfg_point *point,
			     const struct kc_ptx_operand *operand)
{
	const struct kc_ptx_function *function = r->f->cfg.calls[point->call].function;
	const struct kc_local *local = kc__followed_local(&r->f->cfg, point, operand);
	const struct kc_ptx_variable *variable;

	if (local)
		return kc__constant(r, local->address + operand->value, 64);
	if (operand->base == KC_PTX_BASE_PARAM)
		return point->call ? unknown(r, point, KC_UNKNOWN_LOCAL_LOAD)
				   : kc__value(r, (struct kc_value){.op = KC_OP_PARAM_ADDRESS,
								    .bits = 64,
								    .source = {operand->number},
								    .constant = operand->value});
	variable = kc_ptx_symbol(r->module, function, operand->number);
	if (variable->space == KC_PTX_SHARED)
		return kc__value(r, (struct kc_value){.op = KC_OP_SHARED,
						      .bits = 64,
						      .constant = shared_address(r, variable) + operand->value});
	if (variable->space == KC_PTX_GLOBAL || variable->space == KC_PTX_CONST)
		return kc__value(
		    r,
		    (struct kc_value){.op = KC_OP_POINTER,
				      .bits = 64,
				      .source = {variable_number(r, function, variable),
						 variable->bytes < UINT32_MAX ? (uint32_t)variable->bytes : UINT32_MAX},
				      .constant = operand->value});
	return unknown(r, point, KC_UNKNOWN_LOCAL_LOAD);
}

uint32_t kc__register_value(struct kc__formula_reader *r, const struct kc_cfg_point *point, uint32_t number)
{
	uint32_t value = r->current[number];

	return value == KC_NO_VALUE ? unknown(r, point, KC_UNKNOWN_UNSET) : value;
}

static uint32_t negate(struct kc__formula_reader *r, uint32_t predicate)
{
	return kc__value(
	    r, (struct kc_value){.op = KC_OP_NOT, .bits = 1, .source_bits = 1, .count = 1, .source = {predicate}});
}

/* A float's bits: of 0f3F800000 those that are written; any other spelling is a double's. */
static int64_t float_bits(int64_t value, uint32_t bits)
{
	double number;
	float narrow;
	uint32_t low;

	if (bits != 32 || (uint64_t)value <= UINT32_MAX)
		return kc__wrap(value, bits);
	memcpy(&number, &value, sizeof(number));
	narrow = (float)number;
	memcpy(&low, &narrow, sizeof(low));
	return (int32_t)low;
}

static uint32_t operand_value(struct kc__formula_reader *r, const struct kc_cfg_point *point,
			      const struct kc_ptx_operand *operand, uint32_t bits)
{
	uint32_t value;

	switch (operand->kind) {
	case KC_PTX_REGISTER:
		value = kc__register_value(r, point, kc__register_number(&r->f->cfg, point, operand->number));
		return operand->negated ? negate(r, value) : value;
	case KC_PTX_INTEGER:
		return kc__constant(r, kc__wrap(operand->value, bits), (uint8_t)bits);
	case KC_PTX_FLOAT:
		return kc__constant(r, float_bits(operand->value, bits), (uint8_t)bits);
	case KC_PTX_SPECIAL:
		return special_value(r, point, operand->number);
	case KC_PTX_SYMBOL:
		return symbol_value(r, point, operand);
	default:
		return unknown(r, point, KC_UNKNOWN_FLOAT);
	}
}

uint32_t kc__address_value(struct kc__formula_reader *r, const struct kc_cfg_point *point,
			   const struct kc_ptx_operand *address)
{
	struct kc_ptx_operand symbol = *address;
	uint32_t base;

	switch (address->base) {
	case KC_PTX_BASE_REGISTER:
		base = kc__register_value(r, point, kc__register_number(&r->f->cfg, point, address->number));
		if (!address->value || base == KC_NO_VALUE)
			return base;
		return kc__value(r, (struct kc_value){.op = KC_OP_ADD,
						      .bits = 64,
						      .source_bits = 64,
						      .count = 2,
						      .source = {base, kc__constant(r, address->value, 64)}});
	case KC_PTX_BASE_NUMBER:
		return kc__constant(r, address->value, 64);
	default:
		symbol.kind = KC_PTX_SYMBOL;
		return symbol_value(r, point, &symbol);
	}
}

uint32_t kc__unknown(struct kc__translation *t, enum kc_unknown_reason reason)
{
	return unknown(t->r, t->point, reason);
}

uint32_t kc__operand_value(struct kc__translation *t, const struct kc_ptx_operand *operand, uint32_t bits)
{
	return operand_value(t->r, t->point, operand, bits);
}

uint32_t kc__source(struct kc__translation *t, uint32_t n)
{
	n += t->i->results;
	if (n >= t->i->operand_count)
		return kc__unknown(t, KC_UNKNOWN_INSTRUCTION);
	return kc__operand_value(t, &t->i->operands[n], t->bits);
}

uint32_t kc__binary(struct kc__translation *t, enum kc_op op, uint32_t a, uint32_t b)
{
	return kc__value(t->r, (struct kc_value){.op = (uint8_t)op,
						 .bits = (uint8_t)t->bits,
						 .source_bits = (uint8_t)t->bits,
						 .is_signed = t->is_signed,
						 .count = 2,
						 .source = {a, b}});
}

uint32_t kc__unary(struct kc__translation *t, enum kc_op op, uint32_t a)
{
	return kc__value(t->r, (struct kc_value){.op = (uint8_t)op,
						 .bits = (uint8_t)t->bits,
						 .source_bits = (uint8_t)t->bits,
						 .is_signed = t->is_signed,
						 .count = 1,
						 .source = {a}});
}

uint32_t kc__extend(struct kc__translation *t, uint32_t a, uint32_t from, int is_signed, uint32_t to)
{
	return kc__value(t->r, (struct kc_value){.op = KC_OP_EXTEND,
						 .bits = (uint8_t)to,
						 .source_bits = (uint8_t)from,
						 .is_signed = (uint8_t)is_signed,
						 .count = 1,
						 .source = {a}});
}

uint32_t kc__selection(struct kc__translation *t, uint32_t predicate, uint32_t yes, uint32_t no, uint32_t bits)
{
	return kc__value(t->r, (struct kc_value){.op = KC_OP_SELECT,
						 .bits = (uint8_t)bits,
						 .source_bits = (uint8_t)bits,
						 .count = 3,
						 .source = {predicate, yes, no}});
}

uint32_t kc__number_of(struct kc__translation *t, int64_t number)
{
	return kc__constant(t->r, kc__wrap(number, t->bits), (uint8_t)t->bits);
}

uint32_t kc__shifted(struct kc__translation *t, enum kc_op op, uint32_t a, int64_t by)
{
	return kc__binary(t, op, a, kc__constant(t->r, by, 32));
}

int kc__constant_of(const struct kc__translation *t, uint32_t value, int64_t *constant)
{
	if (value == KC_NO_VALUE || t->r->f->values[value].op != KC_OP_CONSTANT)
		return 0;
	*constant = t->r->f->values[value].constant;
	return 1;
}

static uint32_t product(struct kc__translation *t)
{
	uint32_t a = kc__source(t, 0), b = kc__source(t, 1);

	if (t->i->flags & KC_PTX_WIDE) {
		uint32_t narrow = t->bits;

		if (narrow > WIDEST / 2) /* PTX has no wide product of such operands */
			return kc__unknown(t, KC_UNKNOWN_INSTRUCTION);
		t->bits *= 2;
		return kc__binary(t, KC_OP_MUL, kc__extend(t, a, narrow, t->is_signed, t->bits),
				  kc__extend(t, b, narrow, t->is_signed, t->bits));
	}
	return kc__binary(t, t->i->flags & KC_PTX_HIGH ? KC_OP_MUL_HIGH : KC_OP_MUL, a, b);
}

static uint32_t product_and_sum(struct kc__translation *t)
{
	uint32_t product_value = product(t);

	return kc__binary(t, KC_OP_ADD, product_value, kc__source(t, 2));
}

/* mov.b64 %rd, {%r1, %r2} */
static uint32_t packed(struct kc__translation *t, const struct kc_ptx_operand *vector)
{
	uint32_t bits = t->bits / (vector->count ? vector->count : 1), result = KC_NO_VALUE;

	if (bits < 8 || bits * vector->count != t->bits)
		return kc__unknown(t, KC_UNKNOWN_INSTRUCTION);
	for (uint32_t n = 0; n < vector->count; n++) {
		uint32_t part = kc__operand_value(t, &vector->elements[n], bits);

		part = kc__extend(t, part, bits, 0, t->bits);
		part = kc__binary(t, KC_OP_SHL, part, kc__constant(t->r, (int64_t)n * bits, 32));
		result = n ? kc__binary(t, KC_OP_OR, result, part) : part;
	}
	return result;
}

static uint32_t moved(struct kc__translation *t)
{
	const struct kc_ptx_instruction *i = t->i;

	return i->operand_count > 1 && i->operands[1].kind == KC_PTX_VECTOR ? packed(t, &i->operands[1])
									    : kc__source(t, 0);
}

static uint32_t converted(struct kc__translation *t)
{
	t->bits = kc__type_bits(t->i->type2);
	return kc__extend(t, kc__source(t, 0), t->bits, kc_ptx_type_is_signed(t->i->type2), kc__type_bits(t->i->type));
}

static uint32_t selected(struct kc__translation *t)
{
	uint32_t yes = kc__source(t, 0), no = kc__source(t, 1);

	return kc__selection(t, kc__source(t, 2), yes, no, t->bits);
}

static uint32_t negative(struct kc__translation *t)
{
	return kc__binary(t, KC_OP_SUB, kc__constant(t->r, 0, (uint8_t)t->bits), kc__source(t, 0));
}

/* popc and clz: the result has 32 bits, whatever the operand has. */
static uint32_t counted_bits(struct kc__translation *t)
{
	return kc__extend(t, kc__unary(t, t->i->opcode == KC_PTX_POPC ? KC_OP_POPC : KC_OP_CLZ, kc__source(t, 0)), 32,
			  1, 32);
}

/* Instructions that are one operation on one or two operands. */
static uint32_t operation(struct kc__translation *t)
{
	static const uint8_t ops[KC_PTX_OPCODE_COUNT] = {
	    [KC_PTX_ADD] = KC_OP_ADD, [KC_PTX_SUB] = KC_OP_SUB, [KC_PTX_DIV] = KC_OP_DIV, [KC_PTX_REM] = KC_OP_REM,
	    [KC_PTX_MIN] = KC_OP_MIN, [KC_PTX_MAX] = KC_OP_MAX, [KC_PTX_AND] = KC_OP_AND, [KC_PTX_OR] = KC_OP_OR,
	    [KC_PTX_XOR] = KC_OP_XOR, [KC_PTX_SHL] = KC_OP_SHL, [KC_PTX_SHR] = KC_OP_SHR, [KC_PTX_ABS] = KC_OP_ABS,
	    [KC_PTX_NOT] = KC_OP_NOT,
	};
	enum kc_op op = ops[t->i->opcode];
	uint32_t a = kc__source(t, 0), b;

	if (op == KC_OP_ABS || op == KC_OP_NOT)
		return kc__unary(t, op, a);
	b = kc__source(t, 1);
	return op ? kc__binary(t, op, a, b) : kc__unknown(t, KC_UNKNOWN_INSTRUCTION);
}

/* Functions for opcodes that need more than one operation. */
static kc__translate_one *const translate_of[KC_PTX_OPCODE_COUNT] = {
    [KC_PTX_MOV] = moved,
    [KC_PTX_CVTA] = moved,
    [KC_PTX_CVT] = converted,
    [KC_PTX_SETP] = kc__compare_operands,
    [KC_PTX_SET] = kc__compare_to_mask,
    [KC_PTX_SELP] = selected,
    [KC_PTX_MUL] = product,
    [KC_PTX_MUL24] = product,
    [KC_PTX_MAD] = product_and_sum,
    [KC_PTX_MAD24] = product_and_sum,
    [KC_PTX_NEG] = negative,
    [KC_PTX_BFE] = kc__extract_bits,
    [KC_PTX_BFI] = kc__insert_bits,
    [KC_PTX_BFIND] = kc__find_bit,
    [KC_PTX_BREV] = kc__reverse_bits,
    [KC_PTX_DP2A] = kc__dot_product,
    [KC_PTX_DP4A] = kc__dot_product,
    [KC_PTX_LOP3] = kc__look_up_bits,
    [KC_PTX_POPC] = counted_bits,
    [KC_PTX_CLZ] = counted_bits,
    [KC_PTX_PRMT] = kc__permute_bytes,
    [KC_PTX_SAD] = kc__absolute_difference,
    [KC_PTX_SHF] = kc__funnel_shift,
    [KC_PTX_SLCT] = kc__select_by_sign,
    [KC_PTX_VSHR] = kc__shift_and_add,
};

static uint32_t result(struct kc__translation *t)
{
	if (!kc__is_translated(&t->r->f->cfg, t->point))
		return kc__unknown(t, kc__why_unknown(t->r, t->point));
	if (kc__is_float_operation(t->i))
		return kc__float_operation(t);
	return translate_of[t->i->opcode] ? translate_of[t->i->opcode](t) : operation(t);
}

void kc__set(struct kc__translation *t, uint32_t number, uint32_t value)
{
	struct kc__formula_reader *r = t->r;
	uint32_t guard;

	if (!r->needed[number])
		return;
	if (t->i->guard != KC_PTX_NO_REGISTER && value != KC_NO_VALUE && kc__is_translated(&t->r->f->cfg, t->point)) {
		uint32_t before = kc__register_value(r, t->point, number);

		guard = kc__register_value(r, t->point, kc__register_number(&r->f->cfg, t->point, t->i->guard));
		value = kc__selection(t, guard, t->i->guard_negated ? before : value,
				      t->i->guard_negated ? value : before, r->f->values[value].bits);
	}
	r->current[number] = value;
}

/* mov.b64 {%r1, %r2}, %rd */
static int unpack(struct kc__translation *t, const uint32_t *registers, uint32_t count)
{
	uint32_t bits = t->bits / count, whole = kc__source(t, 0);

	for (uint32_t n = 0; n < count; n++) {
		uint32_t part = kc__binary(t, KC_OP_SHR, whole, kc__constant(t->r, (int64_t)n * bits, 32));

		kc__set(t, registers[n], kc__extend(t, part, bits < 8 ? 8 : bits, 0, bits < 8 ? 8 : bits));
	}
	return 0;
}

int kc__translate(struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	struct kc__translation t = {r, point, i, kc__type_bits(i->type), (uint8_t)kc_ptx_type_is_signed(i->type)};
	uint32_t registers[KC__REGISTERS_MAX], count = kc__writes(&r->f->cfg, point, registers), value;
	int wanted = 0;

	for (uint32_t n = 0; n < count; n++)
		wanted |= r->needed[registers[n]];
	if (!wanted)
		return 0;
	if ((i->opcode == KC_PTX_LD || i->opcode == KC_PTX_ST) && kc__is_translated(&r->f->cfg, point))
		return kc__move_memory(&t);
	if (i->opcode == KC_PTX_MOV && i->operands[0].kind == KC_PTX_VECTOR && count == i->operands[0].count &&
	    kc__is_integer_type(i->type))
		return unpack(&t, registers, count);
	if ((i->opcode == KC_PTX_SHFL || i->opcode == KC_PTX_ELECT) && kc__is_translated(&r->f->cfg, point))
		return kc__translate_between_lanes(&t, registers, count);
	value = result(&t);
	if (i->opcode == KC_PTX_SETP && kc__is_translated(&r->f->cfg, point)) {
		uint32_t other = count > 1 ? kc__with_third_predicate(&t, negate(r, value)) : KC_NO_VALUE;

		value = kc__with_third_predicate(&t, value);
		if (count > 1 && i->operands[0].kind == KC_PTX_REGISTER)
			kc__set(&t, registers[1], other);
	}
	for (uint32_t n = 0; n < count; n++)
		if (!(n == 1 && i->opcode == KC_PTX_SETP && kc__is_translated(&r->f->cfg, point)))
			kc__set(&t, registers[n], value);
	return value == KC_NO_VALUE ? -ENOMEM : 0;
}
