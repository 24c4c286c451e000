#include "local_cells.h"
#include "registers.h"
#include "translation.h"

#include <errno.h>

/* The n-th of the operands that a load writes or a store reads. */
static const struct kc_ptx_operand *nth_element(const struct kc_ptx_operand *operand, uint32_t n)
{
	static const struct kc_ptx_operand none = {.kind = KC_PTX_OPERAND_NONE};

	if (operand->kind != KC_PTX_VECTOR)
		return n ? &none : operand;
	return n < operand->count ? &operand->elements[n] : &none;
}

static uint32_t declared_bits(const struct kc__translation *t, uint32_t number)
{
	return kc__type_bits(t->r->f->cfg.calls[t->point->call].function->register_types[number]);
}

/* Sets what the n-th element of a load is loaded into. It is extended to a wider register. */
static int set_loaded(struct kc__translation *t, uint32_t n, uint32_t value)
{
	const struct kc_ptx_operand *to = nth_element(&t->i->operands[0], n);
	uint32_t bits;

	if (value == KC_NO_VALUE)
		return -ENOMEM;
	if (to->kind != KC_PTX_REGISTER)
		return 0;
	bits = declared_bits(t, to->number);
	if (bits > t->bits)
		value = kc__extend(t, value, t->bits, t->is_signed, bits);
	kc__set(t, kc__register_number(&t->r->f->cfg, t->point, to->number), value);
	return value == KC_NO_VALUE ? -ENOMEM : 0;
}

/* --- parameters */

/* 1: the address is within a parameter of the kernel: *param, from *offset on. */
static int is_in_param(struct kc__translation *t, const struct kc_ptx_operand *address, uint32_t *param,
		       int64_t *offset)
{
	struct kc__formula_reader *r = t->r;
	uint32_t base;

	if (address->base == KC_PTX_BASE_PARAM && !t->point->call) {
		*param = address->number;
		*offset = address->value;
		return 1;
	}
	if (address->base != KC_PTX_BASE_REGISTER)
		return 0;
	base = kc__register_value(r, t->point, kc__register_number(&r->f->cfg, t->point, address->number));
	if (base == KC_NO_VALUE || r->f->values[base].op != KC_OP_PARAM_ADDRESS)
		return 0;
	*param = r->f->values[base].source[0];
	return !__builtin_add_overflow(r->f->values[base].constant, address->value, offset);
}

static uint32_t kernel_param(struct kc__translation *t, uint32_t param, int64_t offset)
{
	return kc__value(t->r, (struct kc_value){.op = KC_OP_PARAM,
						 .bits = (uint8_t)t->bits,
						 .source_bits = (uint8_t)t->bits,
						 .is_signed = t->is_signed,
						 .source = {param},
						 .constant = offset});
}

/* A parameter or returned value of an inlined function that is passed as a whole. */
static uint32_t passed_param(struct kc__translation *t, const struct kc_ptx_operand *address)
{
	struct kc__formula_reader *r = t->r;
	uint32_t place = kc__param_register(&r->f->cfg, t->point, address);

	if (place == KC_NO_REGISTER || address->value || t->i->vector != 1)
		return kc__unknown(t, KC_UNKNOWN_LOCAL_LOAD);
	return kc__extend(t, kc__register_value(r, t->point, place), t->bits, t->is_signed, t->bits);
}

static int load_param(struct kc__translation *t)
{
	const struct kc_ptx_operand *address = kc__address_operand(t->i);
	uint32_t param;
	int64_t offset;
	int rc = 0, in_param = address && is_in_param(t, address, &param, &offset);

	for (uint32_t n = 0; n < t->i->vector && !rc; n++) {
		if (in_param)
			rc = set_loaded(t, n, kernel_param(t, param, offset + (int64_t)n * t->bits / 8));
		else
			rc = set_loaded(t, n,
					address ? passed_param(t, address) : kc__unknown(t, KC_UNKNOWN_INSTRUCTION));
	}
	return rc;
}

static int store_param(struct kc__translation *t)
{
	const struct kc_ptx_operand *address = kc__address_operand(t->i);
	uint32_t place = address ? kc__param_register(&t->r->f->cfg, t->point, address) : KC_NO_REGISTER, value;

	if (place == KC_NO_REGISTER)
		return 0;
	value = address->value || t->i->operand_count < 2 ? kc__unknown(t, KC_UNKNOWN_LOCAL_LOAD)
							  : kc__operand_value(t, &t->i->operands[1], t->bits);
	kc__set(t, place, value);
	return value == KC_NO_VALUE ? -ENOMEM : 0;
}

/* --- variables that are followed */

static uint32_t cell_bits(const struct kc_local *local, uint32_t cell)
{
	return 8 * (local->starts[cell + 1] - local->starts[cell]);
}

/* What the cells from that byte on hold, as one number of the access's width. */
static uint32_t held(struct kc__translation *t, const struct kc_local *local, uint32_t offset)
{
	uint32_t count, first, whole = KC_NO_VALUE;

	if (local->param != KC_NO_CELL)
		return kernel_param(t, local->param, offset);
	first = kc__cells_at(local, offset, t->bits / 8, &count);
	for (uint32_t n = 0; n < count; n++) {
		uint32_t part = kc__register_value(t->r, t->point, local->first_register + first + n);

		if (count == 1)
			return part;
		part = kc__extend(t, part, cell_bits(local, first + n), 0, t->bits);
		part = kc__shifted(t, KC_OP_SHL, part, 8 * (int64_t)(local->starts[first + n] - offset));
		whole = n ? kc__binary(t, KC_OP_OR, whole, part) : part;
	}
	return whole;
}

/* The condition that an element of the access is the one from `offset` on. */
static uint32_t is_at(struct kc__translation *t, uint32_t address, const struct kc_local *local, int64_t offset)
{
	return kc__value(t->r, (struct kc_value){.op = KC_OP_COMPARE,
						 .bits = 1,
						 .source_bits = 64,
						 .compare = KC_PTX_EQ,
						 .count = 2,
						 .source = {address, kc__constant(t->r, local->address + offset, 64)}});
}

static uint32_t held_at(struct kc__translation *t, const struct kc_local *local, uint32_t address, uint32_t n)
{
	uint32_t bytes = t->bits / 8, value = KC_NO_VALUE;

	for (uint32_t at = 0; at + bytes <= local->bytes; at += bytes) {
		uint32_t here = held(t, local, at);

		value = at ? kc__selection(t, is_at(t, address, local, (int64_t)at - (int64_t)n * bytes), here, value,
					   t->bits)
			   : here;
	}
	return value;
}

static int load_local(struct kc__translation *t, const struct kc_access *access, const struct kc_local *local,
		      uint32_t address)
{
	int rc = 0;

	for (uint32_t n = 0; n < access->elements && !rc; n++)
		rc = set_loaded(t, n,
				access->is_indexed ? held_at(t, local, address, n)
						   : held(t, local, access->offset + n * access->element_bytes));
	return rc;
}

/* Stores the value into the cells from that byte on or, with a condition, leaves them as they are where it does not
 * hold. */
static int put(struct kc__translation *t, const struct kc_local *local, uint32_t offset, uint32_t value,
	       uint32_t condition)
{
	uint32_t count, first = kc__cells_at(local, offset, t->bits / 8, &count);

	for (uint32_t n = 0; n < count; n++) {
		uint32_t number = local->first_register + first + n, bits = cell_bits(local, first + n);
		uint32_t part = value;

		if (!t->r->needed[number])
			continue;
		if (count > 1)
			part = kc__shifted(t, KC_OP_SHR, part, 8 * (int64_t)(local->starts[first + n] - offset));
		if (part != KC_NO_VALUE && t->r->f->values[part].bits != bits)
			part = kc__extend(t, part, bits, 0, bits);
		if (condition != KC_NO_VALUE)
			part = kc__selection(t, condition, part, kc__register_value(t->r, t->point, number), bits);
		if (part == KC_NO_VALUE)
			return -ENOMEM;
		kc__set(t, number, part);
	}
	return 0;
}

static int store_local(struct kc__translation *t, const struct kc_access *access, const struct kc_local *local,
		       uint32_t address)
{
	uint32_t bytes = access->element_bytes;
	int rc = 0;

	t->is_signed = 0;
	for (uint32_t n = 0; n < access->elements && !rc; n++) {
		const struct kc_ptx_operand *from = nth_element(&t->i->operands[1], n);
		uint32_t value = kc__operand_value(t, from, t->bits), here;

		if (!access->is_indexed)
			rc = put(t, local, access->offset + n * bytes, value, KC_NO_VALUE);
		for (uint32_t at = 0; access->is_indexed && at + bytes <= local->bytes && !rc; at += bytes) {
			here = is_at(t, address, local, (int64_t)at - (int64_t)n * bytes);
			rc = here == KC_NO_VALUE ? -ENOMEM : put(t, local, at, value, here);
		}
	}
	return rc;
}

int kc__move_memory(struct kc__translation *t)
{
	const struct kc_access *access = kc__access(&t->r->f->cfg, t->point);
	const struct kc_local *local = access ? &t->r->f->cfg.cells->locals[access->local] : NULL;
	uint32_t address = KC_NO_VALUE;

	if (!access)
		return t->i->opcode == KC_PTX_LD ? load_param(t) : store_param(t);
	if (t->i->operand_count < 2)
		return 0;
	if (access->is_indexed) {
		address = kc__address_value(t->r, t->point, kc__address_operand(t->i));
		if (address == KC_NO_VALUE)
			return -ENOMEM;
	}
	return t->i->opcode == KC_PTX_LD ? load_local(t, access, local, address)
					 : store_local(t, access, local, address);
}
