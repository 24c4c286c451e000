#include "registers.h"

#include "local_cells.h"

#include <string.h>

int kc__is_integer_type(uint32_t type)
{
	return type && type <= KC_PTX_S64 && type != KC_PTX_B128;
}

int kc__is_compared_float(uint32_t type)
{
	return type == KC_PTX_F32 || type == KC_PTX_F64;
}

/* 1: a type of at most 64 bits, whatever they mean. */
static int is_plain_type(uint32_t type)
{
	uint32_t bytes = kc_ptx_type_bytes(type);

	return bytes && bytes <= sizeof(uint64_t);
}

const struct kc_ptx_operand *kc__address_operand(const struct kc_ptx_instruction *i)
{
	for (uint32_t n = 0; n < i->operand_count; n++)
		if (i->operands[n].kind == KC_PTX_ADDRESS)
			return &i->operands[n];
	return NULL;
}

/* It is the last operand: PTX ISA, mbarrier.expect_tx, mbarrier.arrive.expect_tx, mbarrier.arrive_drop.expect_tx. */
const struct kc_ptx_operand *kc__expected_bytes(const struct kc_ptx_instruction *i)
{
	if (i->opcode != KC_PTX_OTHER || i->operand_count < 2 || !strstr(i->spelling, ".expect_tx"))
		return NULL;
	return &i->operands[i->operand_count - 1];
}

uint32_t kc__register_number(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t number)
{
	return cfg->calls[point->call].registers + number;
}

uint32_t kc__param_register(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
			    const struct kc_ptx_operand *operand)
{
	if (operand->base == KC_PTX_BASE_PARAM)
		return kc_cfg_param_register(cfg, point->call, operand->number, 1);
	if (operand->base == KC_PTX_BASE_SYMBOL && operand->number & KC_PTX_LOCAL_SYMBOL)
		return kc_cfg_param_register(cfg, point->call, operand->number & ~KC_PTX_LOCAL_SYMBOL, 0);
	return KC_NO_REGISTER;
}

static uint32_t add_registers(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
			      const struct kc_ptx_operand *operand, uint32_t *registers, uint32_t count)
{
	if (operand->kind == KC_PTX_REGISTER && count < KC__REGISTERS_MAX)
		registers[count++] = kc__register_number(cfg, point, operand->number);
	else if (operand->kind == KC_PTX_VECTOR)
		for (uint32_t i = 0; i < operand->count && count < KC__REGISTERS_MAX; i++)
			if (operand->elements[i].kind == KC_PTX_REGISTER)
				registers[count++] = kc__register_number(cfg, point, operand->elements[i].number);
	return count;
}

static uint32_t add_param_register(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
				   const struct kc_ptx_operand *operand, uint32_t *registers, uint32_t count)
{
	uint32_t place = operand ? kc__param_register(cfg, point, operand) : KC_NO_REGISTER;

	if (place != KC_NO_REGISTER && count < KC__REGISTERS_MAX)
		registers[count++] = place;
	return count;
}

/* The cells that the access touches: of an array with an index that is no constant, all. */
static uint32_t add_cells(const struct kc_cfg *cfg, const struct kc_access *access, uint32_t *registers, uint32_t count)
{
	const struct kc_local *local = &cfg->cells->locals[access->local];
	uint32_t cells = local->cell_count, first = 0;

	if (!access->is_indexed && cells)
		first = kc__cells_at(local, access->offset, (uint32_t)access->element_bytes * access->elements, &cells);
	for (uint32_t n = 0; n < cells && count < KC__REGISTERS_MAX; n++)
		registers[count++] = local->first_register + first + n;
	return count;
}

/* What a call that is not inlined returns in a parameter: all of its cells, or the register that stands for it. */
static uint32_t add_returned(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
			     const struct kc_ptx_operand *result, uint32_t *registers, uint32_t count)
{
	const struct kc_local *local = kc__followed_local(cfg, point, result);

	if (!local)
		return add_param_register(cfg, point, result, registers, count);
	for (uint32_t n = 0; n < local->cell_count && count < KC__REGISTERS_MAX; n++)
		registers[count++] = local->first_register + n;
	return count;
}

uint32_t kc__writes(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t registers[KC__REGISTERS_MAX])
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_access *access = kc__access(cfg, point);
	uint32_t count = 0;

	if (i->opcode == KC_PTX_ST && access)
		return add_cells(cfg, access, registers, 0);
	if (i->opcode == KC_PTX_ST && i->space == KC_PTX_PARAM)
		return add_param_register(cfg, point, kc__address_operand(i), registers, 0);
	if (i->opcode == KC_PTX_CALL) {
		if (point->target != KC_NO_POINT || !i->results)
			return 0;
		for (uint32_t n = 0; n < i->operands[0].count; n++) {
			const struct kc_ptx_operand *result = &i->operands[0].elements[n];

			count = result->kind == KC_PTX_SYMBOL ? add_returned(cfg, point, result, registers, count)
							      : add_registers(cfg, point, result, registers, count);
		}
		return count;
	}
	for (uint32_t n = 0; n < i->results && n < i->operand_count; n++)
		count = add_registers(cfg, point, &i->operands[n], registers, count);
	return count;
}

static int is_moved(const struct kc_cfg *cfg, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;

	if (kc__access(cfg, point))
		return 1;
	return i->space == KC_PTX_PARAM && is_plain_type(i->type) && (i->opcode == KC_PTX_LD || i->vector == 1);
}

int kc__is_translated(const struct kc_cfg *cfg, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;

	if (i->flags & KC_PTX_SATURATES)
		return 0;
	if (kc__is_float_operation(i))
		return 1;
	switch (i->opcode) {
	case KC_PTX_CVT:
		return kc__is_integer_type(i->type) && kc__is_integer_type(i->type2);
	case KC_PTX_SET:
		return kc__is_integer_type(i->type) &&
		       (kc__is_integer_type(i->type2) || kc__is_compared_float(i->type2));
	case KC_PTX_SETP:
		return kc__is_integer_type(i->type) || kc__is_compared_float(i->type);
	case KC_PTX_MOV:
	case KC_PTX_SELP:
		return is_plain_type(i->type);
	case KC_PTX_ABS:
	case KC_PTX_ADD:
	case KC_PTX_AND:
	case KC_PTX_BFE:
	case KC_PTX_BFI:
	case KC_PTX_BFIND:
	case KC_PTX_BREV:
	case KC_PTX_CLZ:
	case KC_PTX_CVTA:
	case KC_PTX_DIV:
	case KC_PTX_DP2A:
	case KC_PTX_DP4A:
	case KC_PTX_LOP3:
	case KC_PTX_MAD:
	case KC_PTX_MAX:
	case KC_PTX_MIN:
	case KC_PTX_MUL:
	case KC_PTX_MUL24:
	case KC_PTX_MAD24:
	case KC_PTX_NEG:
	case KC_PTX_NOT:
	case KC_PTX_OR:
	case KC_PTX_POPC:
	case KC_PTX_PRMT:
	case KC_PTX_REM:
	case KC_PTX_SAD:
	case KC_PTX_SHF:
	case KC_PTX_SHL:
	case KC_PTX_SHR:
	case KC_PTX_SLCT:
	case KC_PTX_SUB:
	case KC_PTX_VSHR:
	case KC_PTX_XOR:
		return kc__is_integer_type(i->type);
	case KC_PTX_LD:
	case KC_PTX_ST:
		return is_moved(cfg, point);
	case KC_PTX_SHFL:
		return kc__is_read_from_a_lane(i);
	case KC_PTX_ELECT:
		return kc__is_elected(i);
	default:
		return 0;
	}
}

static uint32_t add_guard(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t *registers,
			  uint32_t count)
{
	if (point->instruction->guard != KC_PTX_NO_REGISTER && count < KC__REGISTERS_MAX)
		registers[count++] = kc__register_number(cfg, point, point->instruction->guard);
	return count;
}

static uint32_t add_base(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
			 const struct kc_ptx_operand *address, uint32_t *registers, uint32_t count)
{
	if (address && address->base == KC_PTX_BASE_REGISTER && count < KC__REGISTERS_MAX)
		registers[count++] = kc__register_number(cfg, point, address->number);
	return count;
}

uint32_t kc__reads(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t registers[KC__REGISTERS_MAX])
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *address = kc__address_operand(i);
	const struct kc_access *access = kc__access(cfg, point);
	uint32_t count = 0;

	if (!kc__is_translated(cfg, point))
		return 0;
	for (uint32_t n = i->results; n < i->operand_count; n++)
		count = add_registers(cfg, point, &i->operands[n], registers, count);
	if (access) {
		if (i->opcode == KC_PTX_LD || access->is_indexed)
			count = add_cells(cfg, access, registers, count);
		count = add_base(cfg, point, address, registers, count);
	} else if (i->opcode == KC_PTX_LD) {
		count = add_param_register(cfg, point, address, registers, count);
		count = add_base(cfg, point, address, registers, count);
	}
	return add_guard(cfg, point, registers, count);
}

/* wmma.load and wmma.store: elements from one line of the matrix to the next. */
static int is_stride(const struct kc_ptx_instruction *i, uint32_t operand)
{
	return i->opcode == KC_PTX_WMMA && operand == 2 && kc__address_operand(i);
}

uint32_t kc__roots(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t registers[KC__REGISTERS_MAX])
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *bytes = kc__expected_bytes(i);
	uint32_t count = add_guard(cfg, point, registers, 0);

	if (i->opcode == KC_PTX_BRX && i->operand_count)
		return add_registers(cfg, point, &i->operands[0], registers, count);
	if (i->space == KC_PTX_PARAM)
		return i->guard == KC_PTX_NO_REGISTER ? 0 : count;
	for (uint32_t n = 0; n < i->operand_count; n++) {
		if (i->operands[n].kind == KC_PTX_ADDRESS)
			count = add_base(cfg, point, &i->operands[n], registers, count);
		else if (i->opcode == KC_PTX_CP || is_stride(i, n)) /* size of a copy */
			count = add_registers(cfg, point, &i->operands[n], registers, count);
	}
	return bytes ? add_registers(cfg, point, bytes, registers, count) : count;
}

uint32_t kc__operand_registers(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
			       uint32_t registers[KC__REGISTERS_MAX])
{
	const struct kc_ptx_instruction *i = point->instruction;
	uint32_t count = 0;

	for (uint32_t n = i->results; n < i->operand_count; n++)
		count = add_registers(cfg, point, &i->operands[n], registers, count);
	return count;
}
