#include "formula.h"
#include "registers.h"

#include "predictor/device/units.h"

#include <errno.h>
#include <string.h>

#define WIDEST 64u /* bits of a value */

static uint32_t bits_of(uint32_t type)
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

static uint32_t special_value(struct kc__formula_reader *r, const struct kc_cfg_point *point, uint32_t number)
{
	if (number == KC_PTX_WARP_SIZE)
		return kc__constant(r, KC_WARP_LANES, 32);
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

static uint32_t symbol_value(struct kc__formula_reader *r, const struct kc_cfg_point *point,
			     const struct kc_ptx_operand *operand)
{
	const struct kc_ptx_function *function = r->f->cfg.calls[point->call].function;
	const struct kc_ptx_variable *variable;

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
		return kc__value(r, (struct kc_value){.op = KC_OP_POINTER, .bits = 64, .constant = operand->value});
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
	    r, (struct kc_value){
		   .op = KC_OP_NOT, .bits = 1, .source_bits = 1, .is_signed = 0, .count = 1, .source = {predicate}});
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

struct translation {
	struct kc__formula_reader *r;
	const struct kc_cfg_point *point;
	const struct kc_ptx_instruction *i;
	uint32_t bits; /* of the type */
	uint8_t is_signed;
};

static uint32_t source(struct translation *t, uint32_t n)
{
	n += t->i->results;
	if (n >= t->i->operand_count)
		return unknown(t->r, t->point, KC_UNKNOWN_INSTRUCTION);
	return operand_value(t->r, t->point, &t->i->operands[n], t->bits);
}

static uint32_t binary(struct translation *t, enum kc_op op, uint32_t a, uint32_t b)
{
	return kc__value(t->r, (struct kc_value){.op = (uint8_t)op,
						 .bits = (uint8_t)t->bits,
						 .source_bits = (uint8_t)t->bits,
						 .is_signed = t->is_signed,
						 .count = 2,
						 .source = {a, b}});
}

static uint32_t unary(struct translation *t, enum kc_op op, uint32_t a)
{
	return kc__value(t->r, (struct kc_value){.op = (uint8_t)op,
						 .bits = (uint8_t)t->bits,
						 .source_bits = (uint8_t)t->bits,
						 .is_signed = t->is_signed,
						 .count = 1,
						 .source = {a}});
}

static uint32_t extend(struct translation *t, uint32_t a, uint32_t from, int is_signed, uint32_t to)
{
	return kc__value(t->r, (struct kc_value){.op = KC_OP_EXTEND,
						 .bits = (uint8_t)to,
						 .source_bits = (uint8_t)from,
						 .is_signed = (uint8_t)is_signed,
						 .count = 1,
						 .source = {a}});
}

static uint32_t select_value(struct translation *t, uint32_t predicate, uint32_t yes, uint32_t no, uint32_t bits)
{
	return kc__value(t->r, (struct kc_value){.op = KC_OP_SELECT,
						 .bits = (uint8_t)bits,
						 .source_bits = (uint8_t)bits,
						 .count = 3,
						 .source = {predicate, yes, no}});
}

static uint32_t product(struct translation *t)
{
	uint32_t a = source(t, 0), b = source(t, 1);

	if (t->i->flags & KC_PTX_WIDE) {
		uint32_t narrow = t->bits;

		if (narrow > WIDEST / 2) /* PTX has no wide product of such operands */
			return unknown(t->r, t->point, KC_UNKNOWN_INSTRUCTION);
		t->bits *= 2;
		return binary(t, KC_OP_MUL, extend(t, a, narrow, t->is_signed, t->bits),
			      extend(t, b, narrow, t->is_signed, t->bits));
	}
	return binary(t, t->i->flags & KC_PTX_HIGH ? KC_OP_MUL_HIGH : KC_OP_MUL, a, b);
}

static uint32_t product_and_sum(struct translation *t)
{
	uint32_t product_value = product(t);

	return binary(t, KC_OP_ADD, product_value, source(t, 2));
}

static int constant_of(struct kc__formula_reader *r, uint32_t value, int64_t *constant)
{
	if (value == KC_NO_VALUE || r->f->values[value].op != KC_OP_CONSTANT)
		return 0;
	*constant = r->f->values[value].constant;
	return 1;
}

/* bfe with constant position and length, as a shift left and a shift right. */
static uint32_t extract(struct translation *t)
{
	uint32_t a = source(t, 0);
	int64_t at, length;

	if (!constant_of(t->r, source(t, 1), &at) || !constant_of(t->r, source(t, 2), &length) || at < 0 ||
	    length <= 0 || at + length > t->bits)
		return unknown(t->r, t->point, KC_UNKNOWN_INSTRUCTION);
	a = binary(t, KC_OP_SHL, a, kc__constant(t->r, t->bits - at - length, 32));
	return binary(t, KC_OP_SHR, a, kc__constant(t->r, t->bits - length, 32));
}

static uint32_t insert(struct translation *t)
{
	uint32_t a = source(t, 0), into = source(t, 1);
	int64_t at, length, mask;

	if (!constant_of(t->r, source(t, 2), &at) || !constant_of(t->r, source(t, 3), &length) || at < 0 ||
	    length <= 0 || length > 62 || at + length > t->bits)
		return unknown(t->r, t->point, KC_UNKNOWN_INSTRUCTION);
	mask = (((int64_t)1 << length) - 1) << at;
	a = binary(t, KC_OP_SHL, a, kc__constant(t->r, at, 32));
	a = binary(t, KC_OP_AND, a, kc__constant(t->r, kc__wrap(mask, t->bits), (uint8_t)t->bits));
	into = binary(t, KC_OP_AND, into, kc__constant(t->r, kc__wrap(~mask, t->bits), (uint8_t)t->bits));
	return binary(t, KC_OP_OR, a, into);
}

static uint32_t look_up(struct translation *t)
{
	int64_t table;
	uint32_t a = source(t, 0), b = source(t, 1), c = source(t, 2);

	if (!constant_of(t->r, source(t, 3), &table))
		return unknown(t->r, t->point, KC_UNKNOWN_INSTRUCTION);
	return kc__value(t->r, (struct kc_value){.op = KC_OP_LOP3,
						 .bits = (uint8_t)t->bits,
						 .source_bits = (uint8_t)t->bits,
						 .is_signed = 1,
						 .count = 3,
						 .source = {a, b, c},
						 .constant = table});
}

static uint32_t comparison(struct translation *t)
{
	struct kc_value value = {
	    .op = KC_OP_COMPARE, .bits = 1, .source_bits = (uint8_t)t->bits, .is_signed = t->is_signed, .count = 2};
	uint32_t a = source(t, 0), b = source(t, 1);
	int swapped = 0;

	switch (t->i->compare) {
	case KC_PTX_EQ:
	case KC_PTX_NE:
		value.compare = t->i->compare;
		break;
	case KC_PTX_HI:
		value.is_signed = 0; /* fall through */
	case KC_PTX_GT:
		swapped = 1;
		value.compare = KC_PTX_LT;
		break;
	case KC_PTX_HS:
		value.is_signed = 0; /* fall through */
	case KC_PTX_GE:
		swapped = 1;
		value.compare = KC_PTX_LE;
		break;
	case KC_PTX_LO:
		value.is_signed = 0; /* fall through */
	case KC_PTX_LT:
		value.compare = KC_PTX_LT;
		break;
	case KC_PTX_LS:
		value.is_signed = 0; /* fall through */
	case KC_PTX_LE:
		value.compare = KC_PTX_LE;
		break;
	default:
		return unknown(t->r, t->point, KC_UNKNOWN_FLOAT);
	}
	value.source[0] = swapped ? b : a;
	value.source[1] = swapped ? a : b;
	return kc__value(t->r, value);
}

static uint32_t with_third_predicate(struct translation *t, uint32_t result)
{
	uint32_t flags = t->i->flags;
	enum kc_op op = flags & KC_PTX_BOOL_AND ? KC_OP_AND : flags & KC_PTX_BOOL_OR ? KC_OP_OR : KC_OP_XOR;

	if (!(flags & (KC_PTX_BOOL_AND | KC_PTX_BOOL_OR | KC_PTX_BOOL_XOR)))
		return result;
	t->bits = 1;
	return binary(t, op, result, source(t, 2));
}

static uint32_t loaded_param(struct translation *t)
{
	const struct kc_ptx_operand *address = kc__address_operand(t->i);
	struct kc__formula_reader *r = t->r;
	struct kc_value value = {.op = KC_OP_PARAM, .bits = (uint8_t)t->bits};
	uint32_t place, base;

	if (!address || !kc__is_integer_type(t->i->type) || t->i->vector != 1)
		return unknown(r, t->point, address ? KC_UNKNOWN_FLOAT : KC_UNKNOWN_INSTRUCTION);
	if (address->base == KC_PTX_BASE_REGISTER) {
		base = kc__register_value(r, t->point, kc__register_number(&r->f->cfg, t->point, address->number));
		if (base == KC_NO_VALUE || r->f->values[base].op != KC_OP_PARAM_ADDRESS)
			return unknown(r, t->point, KC_UNKNOWN_LOCAL_LOAD);
		value.source[0] = r->f->values[base].source[0];
		value.constant = r->f->values[base].constant + address->value;
	} else if (address->base == KC_PTX_BASE_PARAM && !t->point->call) {
		value.source[0] = address->number;
		value.constant = address->value;
	} else {
		place = kc__param_register(&r->f->cfg, t->point, address);
		if (place == KC_NO_REGISTER || address->value)
			return unknown(r, t->point, KC_UNKNOWN_LOCAL_LOAD);
		return extend(t, kc__register_value(r, t->point, place), t->bits, t->is_signed, t->bits);
	}
	value.is_signed = t->is_signed;
	value.source_bits = value.bits;
	return kc__value(r, value);
}

/* mov.b64 %rd, {%r1, %r2} */
static uint32_t packed(struct translation *t, const struct kc_ptx_operand *vector)
{
	uint32_t bits = t->bits / (vector->count ? vector->count : 1), result = KC_NO_VALUE;

	if (bits < 8 || bits * vector->count != t->bits)
		return unknown(t->r, t->point, KC_UNKNOWN_INSTRUCTION);
	for (uint32_t n = 0; n < vector->count; n++) {
		uint32_t part = operand_value(t->r, t->point, &vector->elements[n], bits);

		part = extend(t, part, bits, 0, t->bits);
		part = binary(t, KC_OP_SHL, part, kc__constant(t->r, (int64_t)n * bits, 32));
		result = n ? binary(t, KC_OP_OR, result, part) : part;
	}
	return result;
}

static uint32_t stored_param(struct translation *t)
{
	const struct kc_ptx_operand *address = kc__address_operand(t->i);

	if (!address || address->value)
		return unknown(t->r, t->point, KC_UNKNOWN_LOCAL_LOAD);
	return t->i->operand_count > 1 ? operand_value(t->r, t->point, &t->i->operands[1], t->bits ? t->bits : WIDEST)
				       : KC_NO_VALUE;
}

static uint32_t moved(struct translation *t)
{
	const struct kc_ptx_instruction *i = t->i;

	return i->operand_count > 1 && i->operands[1].kind == KC_PTX_VECTOR ? packed(t, &i->operands[1]) : source(t, 0);
}

static uint32_t converted(struct translation *t)
{
	t->bits = bits_of(t->i->type2);
	return extend(t, source(t, 0), t->bits, kc_ptx_type_is_signed(t->i->type2), bits_of(t->i->type));
}

/* set: all bits of the result are 1 where the comparison holds. */
static uint32_t compared_to_mask(struct translation *t)
{
	uint32_t predicate;

	t->bits = bits_of(t->i->type2);
	t->is_signed = (uint8_t)kc_ptx_type_is_signed(t->i->type2);
	predicate = with_third_predicate(t, comparison(t));
	t->bits = bits_of(t->i->type);
	return select_value(t, predicate, kc__constant(t->r, -1, (uint8_t)t->bits),
			    kc__constant(t->r, 0, (uint8_t)t->bits), t->bits);
}

static uint32_t selected(struct translation *t)
{
	uint32_t yes = source(t, 0), no = source(t, 1);

	return select_value(t, source(t, 2), yes, no, t->bits);
}

static uint32_t negative(struct translation *t)
{
	return binary(t, KC_OP_SUB, kc__constant(t->r, 0, (uint8_t)t->bits), source(t, 0));
}

/* popc and clz: the result has 32 bits, whatever the operand has. */
static uint32_t counted_bits(struct translation *t)
{
	t->is_signed = 0;
	return extend(t, unary(t, t->i->opcode == KC_PTX_POPC ? KC_OP_POPC : KC_OP_CLZ, source(t, 0)), 32, 1, 32);
}

/* Instructions that are one operation on one or two operands. */
static uint32_t operation(struct translation *t)
{
	static const uint8_t ops[KC_PTX_OPCODE_COUNT] = {
	    [KC_PTX_ADD] = KC_OP_ADD, [KC_PTX_SUB] = KC_OP_SUB, [KC_PTX_DIV] = KC_OP_DIV, [KC_PTX_REM] = KC_OP_REM,
	    [KC_PTX_MIN] = KC_OP_MIN, [KC_PTX_MAX] = KC_OP_MAX, [KC_PTX_AND] = KC_OP_AND, [KC_PTX_OR] = KC_OP_OR,
	    [KC_PTX_XOR] = KC_OP_XOR, [KC_PTX_SHL] = KC_OP_SHL, [KC_PTX_SHR] = KC_OP_SHR, [KC_PTX_ABS] = KC_OP_ABS,
	    [KC_PTX_NOT] = KC_OP_NOT,
	};
	enum kc_op op = ops[t->i->opcode];
	uint32_t a = source(t, 0), b;

	if (op == KC_OP_ABS || op == KC_OP_NOT)
		return unary(t, op, a);
	b = source(t, 1);
	return op ? binary(t, op, a, b) : unknown(t->r, t->point, KC_UNKNOWN_INSTRUCTION);
}

typedef uint32_t translate(struct translation *t);

/* Functions for opcodes that need more than one operation. */
static translate *const translate_of[KC_PTX_OPCODE_COUNT] = {
    [KC_PTX_LD] = loaded_param,      [KC_PTX_ST] = stored_param,     [KC_PTX_MOV] = moved,
    [KC_PTX_CVTA] = moved,           [KC_PTX_CVT] = converted,       [KC_PTX_SETP] = comparison,
    [KC_PTX_SET] = compared_to_mask, [KC_PTX_SELP] = selected,       [KC_PTX_MUL] = product,
    [KC_PTX_MUL24] = product,        [KC_PTX_MAD] = product_and_sum, [KC_PTX_MAD24] = product_and_sum,
    [KC_PTX_NEG] = negative,         [KC_PTX_BFE] = extract,         [KC_PTX_BFI] = insert,
    [KC_PTX_LOP3] = look_up,         [KC_PTX_POPC] = counted_bits,   [KC_PTX_CLZ] = counted_bits,
};

static uint32_t result(struct translation *t)
{
	if (!kc__is_translated(t->i))
		return unknown(t->r, t->point, kc__why_unknown(t->r, t->point));
	return translate_of[t->i->opcode] ? translate_of[t->i->opcode](t) : operation(t);
}

/* Where its guard does not hold, a guarded instruction leaves the register unchanged. */
static void set(struct translation *t, uint32_t number, uint32_t value)
{
	struct kc__formula_reader *r = t->r;
	uint32_t guard;

	if (!r->needed[number])
		return;
	if (t->i->guard != KC_PTX_NO_REGISTER && value != KC_NO_VALUE && kc__is_translated(t->i)) {
		uint32_t before = kc__register_value(r, t->point, number);

		guard = kc__register_value(r, t->point, kc__register_number(&r->f->cfg, t->point, t->i->guard));
		value = select_value(t, guard, t->i->guard_negated ? before : value,
				     t->i->guard_negated ? value : before, r->f->values[value].bits);
	}
	r->current[number] = value;
}

/* mov.b64 {%r1, %r2}, %rd */
static int unpack(struct translation *t, const uint32_t *registers, uint32_t count)
{
	uint32_t bits = t->bits / count, whole = source(t, 0);

	for (uint32_t n = 0; n < count; n++) {
		uint32_t part = binary(t, KC_OP_SHR, whole, kc__constant(t->r, (int64_t)n * bits, 32));

		set(t, registers[n], extend(t, part, bits < 8 ? 8 : bits, 0, bits < 8 ? 8 : bits));
	}
	return 0;
}

int kc__translate(struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	struct translation t = {r, point, i, bits_of(i->type), (uint8_t)kc_ptx_type_is_signed(i->type)};
	uint32_t registers[KC__REGISTERS_MAX], count = kc__writes(&r->f->cfg, point, registers), value;
	int wanted = 0;

	for (uint32_t n = 0; n < count; n++)
		wanted |= r->needed[registers[n]];
	if (!wanted)
		return 0;
	if (i->opcode == KC_PTX_MOV && i->operands[0].kind == KC_PTX_VECTOR && count == i->operands[0].count &&
	    kc__is_integer_type(i->type))
		return unpack(&t, registers, count);
	value = result(&t);
	if (i->opcode == KC_PTX_SETP && kc__is_translated(i)) {
		uint32_t other = count > 1 ? with_third_predicate(&t, negate(r, value)) : KC_NO_VALUE;

		value = with_third_predicate(&t, value);
		if (count > 1 && i->operands[0].kind == KC_PTX_REGISTER)
			set(&t, registers[1], other);
	}
	for (uint32_t n = 0; n < count; n++)
		if (!(n == 1 && i->opcode == KC_PTX_SETP && kc__is_translated(i)))
			set(&t, registers[n], value);
	return value == KC_NO_VALUE ? -ENOMEM : 0;
}
