#include "counting.h"
#include "local_cells.h"
#include "predictor/device/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_WORD_BYTES 4.0f

void kc__count_float(const struct kc_ptx_instruction *i, uint32_t counter, float *counted)
{
	int doubled = i->type == KC_PTX_F16X2 || i->type == KC_PTX_BF16X2 || i->type == KC_PTX_F32X2;
	float amount = doubled ? 2 : 1;

	counted[counter] += amount;
	if (i->type == KC_PTX_F64)
		counted[KC_COUNT_OF_DOUBLE] += amount;
	else if (i->type >= KC_PTX_F16 && i->type <= KC_PTX_BF16X2)
		counted[KC_COUNT_OF_HALF] += amount;
}

/* "mma.sync.aligned.m16n8k16…": multiply-adds of the operation, divided among its threads. */
static float tensor_share(const struct kc_ptx_instruction *i)
{
	const char *at = i->spelling;
	float threads = i->opcode == KC_PTX_WGMMA ? 4 * KC_WARP_LANES : KC_WARP_LANES;

	while ((at = strstr(at, ".m"))) {
		char *end;
		unsigned long m = strtoul(at + 2, &end, 10), n, k;

		at += 2;
		if (end == at || *end != 'n')
			continue;
		n = strtoul(end + 1, &end, 10);
		if (*end != 'k')
			continue;
		k = strtoul(end + 1, &end, 10);
		return (float)m * (float)n * (float)k / threads;
	}
	return 0;
}

static int is_float_type(const struct kc_ptx_instruction *i)
{
	uint32_t type = i->opcode == KC_PTX_SET && i->type2 ? i->type2 : i->type;

	return kc_ptx_type_is_float(type);
}

/* By opcode, the counter plus 1; 0: none. */
#define COUNTER(name) (KC_COUNT_OF_##name + 1)
static const uint8_t counter_of[KC_PTX_OPCODE_COUNT] = {

    [KC_PTX_TANH] = COUNTER(SPECIAL), [KC_PTX_BRA] = COUNTER(CONTROL),  [KC_PTX_BRX] = COUNTER(CONTROL),
    [KC_PTX_CALL] = COUNTER(CONTROL), [KC_PTX_RET] = COUNTER(CONTROL),  [KC_PTX_EXIT] = COUNTER(CONTROL),
    [KC_PTX_TRAP] = COUNTER(CONTROL), [KC_PTX_MAD] = COUNTER(INT),      [KC_PTX_MUL] = COUNTER(INT),
    [KC_PTX_ADD] = COUNTER(INT),      [KC_PTX_SUB] = COUNTER(INT),      [KC_PTX_MIN] = COUNTER(INT),
    [KC_PTX_MAX] = COUNTER(INT),      [KC_PTX_ABS] = COUNTER(INT),      [KC_PTX_NEG] = COUNTER(INT),
    [KC_PTX_SET] = COUNTER(INT),      [KC_PTX_SETP] = COUNTER(INT),     [KC_PTX_ADDC] = COUNTER(INT),
    [KC_PTX_AND] = COUNTER(INT),      [KC_PTX_BFE] = COUNTER(INT),      [KC_PTX_BFI] = COUNTER(INT),
    [KC_PTX_BFIND] = COUNTER(INT),    [KC_PTX_BREV] = COUNTER(INT),     [KC_PTX_CLZ] = COUNTER(INT),
    [KC_PTX_CNOT] = COUNTER(INT),     [KC_PTX_COPYSIGN] = COUNTER(INT), [KC_PTX_DP2A] = COUNTER(INT),
    [KC_PTX_DP4A] = COUNTER(INT),     [KC_PTX_FNS] = COUNTER(INT),      [KC_PTX_LOP3] = COUNTER(INT),
    [KC_PTX_MADC] = COUNTER(INT),     [KC_PTX_MAD24] = COUNTER(INT),    [KC_PTX_MUL24] = COUNTER(INT),
    [KC_PTX_MATCH] = COUNTER(INT),    [KC_PTX_NOT] = COUNTER(INT),      [KC_PTX_OR] = COUNTER(INT),
    [KC_PTX_POPC] = COUNTER(INT),     [KC_PTX_PRMT] = COUNTER(INT),     [KC_PTX_REDUX] = COUNTER(INT),
    [KC_PTX_SAD] = COUNTER(INT),      [KC_PTX_SELP] = COUNTER(INT),     [KC_PTX_SHF] = COUNTER(INT),
    [KC_PTX_SHFL] = COUNTER(INT),     [KC_PTX_SHL] = COUNTER(INT),      [KC_PTX_SHR] = COUNTER(INT),
    [KC_PTX_SLCT] = COUNTER(INT),     [KC_PTX_SUBC] = COUNTER(INT),     [KC_PTX_TESTP] = COUNTER(INT),
    [KC_PTX_VOTE] = COUNTER(INT),     [KC_PTX_VSHR] = COUNTER(INT),     [KC_PTX_XOR] = COUNTER(INT),
};
/* The same for floating-point types, where the opcode has both. */
static const uint8_t float_counter_of[KC_PTX_OPCODE_COUNT] = {
    [KC_PTX_FMA] = COUNTER(FMA), [KC_PTX_MAD] = COUNTER(FMA), [KC_PTX_MUL] = COUNTER(MUL),
    [KC_PTX_ADD] = COUNTER(ADD), [KC_PTX_SUB] = COUNTER(ADD), [KC_PTX_MIN] = COUNTER(ADD),
    [KC_PTX_MAX] = COUNTER(ADD), [KC_PTX_SET] = COUNTER(ADD), [KC_PTX_SETP] = COUNTER(ADD),
};
#undef COUNTER

/* What one thread counts, apart from accesses to memory. */
static void count_work(const struct kc_ptx_instruction *i, float *counted)
{
	uint32_t counter = counter_of[i->opcode], float_counter = float_counter_of[i->opcode];

	if (float_counter && (is_float_type(i) || !counter))
		kc__count_float(i, float_counter - 1, counted);
	else if (counter)
		counted[counter - 1]++;
	else if (i->opcode == KC_PTX_BAR || i->opcode == KC_PTX_BARRIER)
		counted[KC_COUNT_OF_BARRIERS] += (i->flags & KC_PTX_WAITS) != 0;
	else if (i->opcode == KC_PTX_MMA || i->opcode == KC_PTX_WMMA || i->opcode == KC_PTX_WGMMA)
		counted[KC_COUNT_OF_TENSOR] += tensor_share(i);
}

/* --- accesses to memory */

/* 1: a generic address was computed from one in shared memory. Others are assumed to be in global memory. */
static int is_shared(const struct kc__formula_reader *r, uint32_t value)
{
	for (unsigned steps = 0; value != KC_NO_VALUE && steps < 64; steps++) {
		const struct kc_value *v = &r->f->values[value];

		if (v->op == KC_OP_SHARED)
			return 1;
		if (v->op == KC_OP_PHI)
			value = r->f->phi_sources[v->phi];
		else if (v->op >= KC_OP_ADD && v->count && v->op != KC_OP_SELECT)
			value = v->source[0];
		else
			return 0;
	}
	return 0;
}

uint32_t kc__space_of(struct kc__formula_reader *r, const struct kc_cfg_point *point,
		      const struct kc_ptx_operand *address)
{
	uint32_t space = point->instruction->space;

	if (space != KC_PTX_GENERIC || !is_shared(r, kc__address_value(r, point, address)))
		return space;
	r->in_shared[point - r->f->cfg.points] = 1;
	return KC_PTX_SHARED;
}

const struct kc_ptx_operand *kc__nth_address(const struct kc_ptx_instruction *i, uint32_t nth)
{
	for (uint32_t n = 0; n < i->operand_count; n++)
		if (i->operands[n].kind == KC_PTX_ADDRESS && !nth--)
			return &i->operands[n];
	return NULL;
}

static int add_event(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		     struct kc_event event)
{
	struct kc_formula *f = r->f;
	const struct kc_ptx_instruction *i = point->instruction;
	int rc = kc_arena_grow(r->arena, &f->events, &r->event_capacity, f->event_count, sizeof(*f->events));

	if (rc)
		return rc;
	event.guard = KC_NO_VALUE;
	if (i->guard != KC_PTX_NO_REGISTER) {
		event.guard = kc__register_value(r, point, f->cfg.calls[point->call].registers + i->guard);
		event.guard_negated = i->guard_negated;
		if (event.guard == KC_NO_VALUE)
			return -ENOMEM;
	}
	event.offset = i->offset;
	f->events[f->event_count++] = event;
	plan->event_count++;
	return 0;
}

/* Of an instruction with two addresses it is not looked for. */
static uint8_t alike(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	const struct kc_ptx_operand *address = kc__nth_address(point->instruction, 0);

	if (!address || kc__nth_address(point->instruction, 1) || address->base != KC_PTX_BASE_REGISTER)
		return KC_ALIKE_APART;
	return (uint8_t)(r->lanes[kc__register_number(&r->f->cfg, point, address->number)] & KC_ALIKE_LANES);
}

int kc__count_access_at(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
			uint32_t counter, uint32_t address, uint32_t bytes, uint32_t lanes, int first)
{
	struct kc_event event = {.kind = KC_EVENT_GLOBAL,
				 .alike = alike(r, point),
				 .bytes = (uint8_t)(bytes ? bytes : 4),
				 .lanes = (uint8_t)lanes,
				 .counter = (uint8_t)counter,
				 .amount = 1,
				 .counter2 = KC_COUNTER_COUNT,
				 .times = 1,
				 .address = address,
				 .size = KC_NO_VALUE,
				 .issues = (float)first};

	if (address == KC_NO_VALUE)
		return -ENOMEM;
	if (counter == KC_COUNT_OF_LD_GLOBAL || counter == KC_COUNT_OF_ST_GLOBAL) {
		event.counter2 = counter == KC_COUNT_OF_LD_GLOBAL ? KC_COUNT_OF_BYTES_LOADED : KC_COUNT_OF_BYTES_STORED;
		event.amount2 = event.bytes;
	} else if (counter == KC_COUNT_OF_LD_SHARED || counter == KC_COUNT_OF_ST_SHARED) {
		event.kind = KC_EVENT_SHARED;
	} else if (counter == KC_COUNT_OF_ATOMICS_SHARED) {
		event.kind = KC_EVENT_ATOMIC;
		event.counter2 = KC_COUNT_OF_ATOMICS;
		event.amount2 = 1;
	}
	return add_event(r, plan, point, event);
}

int kc__count_access(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		     uint32_t counter, const struct kc_ptx_operand *address, uint32_t bytes, int first)
{
	uint32_t at;

	if (address)
		at = kc__address_value(r, point, address);
	else
		at = kc__value(r, (struct kc_value){.op = KC_OP_UNKNOWN,
						    .bits = 64,
						    .constant = KC_UNKNOWN_INSTRUCTION,
						    .offset = point->instruction->offset});
	return kc__count_access_at(r, plan, point, counter, at, bytes, KC_WARP_LANES, first);
}

int kc__count_threads(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		      uint32_t counter, float amount, uint32_t counter2, float amount2, int first)
{
	return add_event(r, plan, point,
			 (struct kc_event){.kind = KC_EVENT_COUNT,
					   .counter = (uint8_t)counter,
					   .amount = amount,
					   .counter2 = (uint8_t)counter2,
					   .amount2 = amount2,
					   .address = KC_NO_VALUE,
					   .size = KC_NO_VALUE,
					   .issues = (float)first});
}

/* Memory of threads lies interleaved, so that the lanes of a warp access the same word of their own next to each other.
 */
static int count_local(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		       uint32_t counter, uint32_t bytes)
{
	const struct kc_ptx_operand *address = kc__nth_address(point->instruction, 0);
	uint32_t base = address && address->base == KC_PTX_BASE_REGISTER
			    ? kc__register_number(&r->f->cfg, point, address->number)
			    : KC_NO_REGISTER;

	if (base == KC_NO_REGISTER || kc__is_alike(r, base))
		return kc__count_threads(r, plan, point, counter, 1, KC_COUNTER_COUNT, 0, 1);
	return kc__count_threads(r, plan, point, counter, 1, KC_ALSO_SCATTERED_LOCAL, (float)bytes / LOCAL_WORD_BYTES,
				 1);
}

/* Of constant memory at an address in a register: once for lanes that address the same, one after the other for those
 * that do not (programming guide, "Device memory accesses"). Fixed addresses are operands of what reads them. */
static int count_constant(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point)
{
	const struct kc_ptx_operand *address = kc__nth_address(point->instruction, 0);
	int rc;

	if (!address || address->base != KC_PTX_BASE_REGISTER) {
		plan->issues++;
		return 0;
	}
	rc = kc__count_threads(r, plan, point, KC_ALSO_CONSTANT, 1, KC_COUNTER_COUNT, 0, 1);
	if (!rc && kc__is_alike(r, kc__register_number(&r->f->cfg, point, address->number)))
		r->f->events[r->f->event_count - 1].per_warp = 1;
	return rc;
}

static int count_move(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		      int is_store)
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *address = kc__nth_address(i, 0);
	uint32_t bytes = kc_ptx_type_bytes(i->type) * i->vector, space = i->space;

	if (space == KC_PTX_GENERIC && kc__any_access(&r->f->cfg, point))
		space = KC_PTX_LOCAL;
	else if (address)
		space = kc__space_of(r, point, address);
	switch (space) {
	case KC_PTX_SHARED:
		return kc__count_access(r, plan, point, is_store ? KC_COUNT_OF_ST_SHARED : KC_COUNT_OF_LD_SHARED,
					address, bytes, 1);
	case KC_PTX_LOCAL:
		r->f->accesses_local = 1;
		return count_local(r, plan, point, is_store ? KC_COUNT_OF_ST_LOCAL : KC_COUNT_OF_LD_LOCAL, bytes);
	case KC_PTX_GLOBAL:
	case KC_PTX_GENERIC:
		return kc__count_access(r, plan, point, is_store ? KC_COUNT_OF_ST_GLOBAL : KC_COUNT_OF_LD_GLOBAL,
					address, bytes, 1);
	case KC_PTX_CONST:
		return count_constant(r, plan, point);
	default:
		plan->issues++;
		return 0;
	}
}

static int count_unguarded(struct kc__formula_reader *r, struct kc_block_plan *plan, const float *counted)
{
	for (uint32_t n = 0; n < KC_AMOUNT_COUNT; n++)
		r->counted[n] += counted[n];
	plan->issues++;
	return 0;
}

static int is_control(const struct kc_ptx_instruction *i)
{
	return counter_of[i->opcode] == KC_COUNT_OF_CONTROL + 1;
}

int kc__count(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	float counted[KC_AMOUNT_COUNT] = {0};
	int rc = 0, issues = 1;

	switch (i->opcode) {
	case KC_PTX_LD:
	case KC_PTX_LDU:
		return count_move(r, plan, point, 0);
	case KC_PTX_ST:
		return count_move(r, plan, point, 1);
	case KC_PTX_LDMATRIX:
	case KC_PTX_STMATRIX:
		return kc__count_matrices(r, plan, point);
	case KC_PTX_WMMA:
		if (kc__address_operand(i))
			return kc__count_tile(r, plan, point);
		break;
	case KC_PTX_ATOM:
	case KC_PTX_RED:
		return kc__count_atomic(r, plan, point);
	case KC_PTX_CP:
		return kc__count_copy(r, plan, point);
	case KC_PTX_OTHER:
		if (r->expects_bytes && kc__expected_bytes(i))
			return kc__count_expected_bytes(r, plan, point);
		break;
	case KC_PTX_TEX:
	case KC_PTX_TLD4:
	case KC_PTX_SULD:
		return kc__count_access(r, plan, point, KC_COUNT_OF_LD_GLOBAL, NULL, 4u * i->vector, 1);
	case KC_PTX_SUST:
		return kc__count_access(r, plan, point, KC_COUNT_OF_ST_GLOBAL, NULL, 4u * i->vector, 1);
	default:
		break;
	}
	if (r->contracted[point - r->f->cfg.points] == KC__IN_ANOTHER)
		return 0;
	if (r->contracted[point - r->f->cfg.points] == KC__AS_FMA)
		kc__count_float(i, KC_COUNT_OF_FMA, counted);
	else if (!kc__expand(i, r->module->target, counted))
		count_work(i, counted);
	if (i->opcode == KC_PTX_CVT && (kc_ptx_type_bytes(i->type) == 8 || kc_ptx_type_bytes(i->type2) == 8))
		counted[KC_ALSO_WIDE_CONVERSIONS] = counted[KC_COUNT_OF_CONVERT];
	if (i->guard == KC_PTX_NO_REGISTER || is_control(i))
		return count_unguarded(r, plan, counted);
	for (uint32_t n = 0; n < KC_AMOUNT_COUNT && !rc; n++) {
		if (!counted[n])
			continue;
		rc = kc__count_threads(r, plan, point, n, counted[n], KC_COUNTER_COUNT, 0, issues);
		issues = 0;
	}
	return rc;
}

int kc__add_counted(struct kc__formula_reader *r, struct kc_block_plan *plan)
{
	struct kc_formula *f = r->f;
	int rc = 0;

	plan->amount = r->amount_count;
	for (uint32_t n = 0; n < KC_AMOUNT_COUNT && !rc; n++) {
		if (!r->counted[n])
			continue;
		rc = kc_arena_grow(r->arena, &f->amounts, &r->amount_capacity, r->amount_count, sizeof(*f->amounts));
		if (!rc)
			f->amounts[r->amount_count++] = (struct kc_amount){n, r->counted[n]};
	}
	plan->amount_count = r->amount_count - plan->amount;
	memset(r->counted, 0, sizeof(r->counted));
	return rc;
}
