#include "counting.h"
#include "predictor/device/units.h"

#include <errno.h>
#include <string.h>

/* Sets the size of the last event. Its amount2, for all bytes, becomes that per byte. */
static void set_size(struct kc__formula_reader *r, uint32_t size)
{
	struct kc_event *event = &r->f->events[r->f->event_count - 1];

	event->size = size;
	event->amount2 = event->kind == KC_EVENT_COUNT ? event->amount2 : event->amount2 / event->bytes;
}

static int is_predicate(const struct kc__formula_reader *r, const struct kc_cfg_point *point,
			const struct kc_ptx_operand *operand)
{
	const struct kc_ptx_function *function = r->f->cfg.calls[point->call].function;

	return operand->kind == KC_PTX_REGISTER && operand->number < function->register_count &&
	       function->register_types[operand->number] == KC_PTX_PRED;
}

static uint32_t unknown_size(struct kc__formula_reader *r, const struct kc_cfg_point *point,
			     enum kc_unknown_reason reason)
{
	return kc__value(
	    r, (struct kc_value){
		   .op = KC_OP_UNKNOWN, .bits = 64, .constant = reason, .offset = point->instruction->offset});
}

static uint32_t size_value(struct kc__formula_reader *r, const struct kc_cfg_point *point,
			   const struct kc_ptx_operand *operand)
{
	if (operand->kind == KC_PTX_INTEGER)
		return kc__constant(r, operand->value, 64);
	if (operand->kind == KC_PTX_REGISTER)
		return kc__register_value(r, point, r->f->cfg.calls[point->call].registers + operand->number);
	return unknown_size(r, point, KC_UNKNOWN_INSTRUCTION);
}

/* Size of a copy that ignores its source if a predicate holds. */
static uint32_t size_unless(struct kc__formula_reader *r, const struct kc_cfg_point *point,
			    const struct kc_ptx_operand *operand, uint32_t bytes)
{
	uint32_t predicate = size_value(r, point, operand), none = kc__constant(r, 0, 64),
		 all = kc__constant(r, bytes, 64);

	if (predicate == KC_NO_VALUE || none == KC_NO_VALUE || all == KC_NO_VALUE)
		return KC_NO_VALUE;
	return kc__value(
	    r, (struct kc_value){.op = KC_OP_SELECT,
				 .bits = 64,
				 .source_bits = 64,
				 .count = 3,
				 .source = {predicate, operand->negated ? all : none, operand->negated ? none : all}});
}

/* cp.async copies from global to shared memory; bytes after src-size, or all with ignore-src, become 0. Either is the
 * operand after cp-size, unless that operand is the last one and a cache policy. */
static int count_async_copy(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
			    const struct kc_ptx_operand *to, const struct kc_ptx_operand *from)
{
	const struct kc_ptx_instruction *i = point->instruction;
	uint32_t policies = strstr(i->spelling, "::cache_hint") != NULL, bytes = 4, size = KC_NO_VALUE;
	int rc;

	if (i->operand_count > 2 && i->operands[2].kind == KC_PTX_INTEGER && i->operands[2].value > 0 &&
	    i->operands[2].value <= 16)
		bytes = (uint32_t)i->operands[2].value;
	rc = kc__count_access(r, plan, point, KC_COUNT_OF_LD_GLOBAL, from, bytes, 1);
	if (!rc && i->operand_count > 3 + policies) {
		const struct kc_ptx_operand *operand = &i->operands[3];

		size = is_predicate(r, point, operand) ? size_unless(r, point, operand, bytes)
						       : size_value(r, point, operand);
		if (size == KC_NO_VALUE)
			return -ENOMEM;
		set_size(r, size);
	}
	return rc ? rc : kc__count_access(r, plan, point, KC_COUNT_OF_ST_SHARED, to, bytes, 0);
}

/* --- bulk copies: one thread requests a copy of any size, in either direction */

/* 1: it takes from the bytes that a barrier waits for. */
static int completes_bytes(const struct kc_ptx_instruction *i)
{
	switch (i->opcode) {
	case KC_PTX_CP:
	case KC_PTX_ST:
	case KC_PTX_RED:
	case KC_PTX_OTHER:
		return strstr(i->spelling, "complete_tx") != NULL;
	default:
		return 0;
	}
}

/* The size of a tensor's box is in its tensor map, which is in memory. */
static int has_box(const struct kc_ptx_instruction *i)
{
	return strstr(i->spelling, ".tensor") != NULL;
}

/* 1: its bytes come from global memory and arrive in the shared memory of one block. */
static int is_bulk_load(const struct kc_ptx_instruction *i)
{
	return i->flags & KC_PTX_BULK && i->space == KC_PTX_SHARED && completes_bytes(i) &&
	       strstr(i->spelling, ".global") && !strstr(i->spelling, ".multicast");
}

void kc__find_expected_bytes(struct kc__formula_reader *r)
{
	const struct kc_cfg *cfg = &r->f->cfg;
	int boxes = 0, expected = 0, others = 0;

	for (uint32_t p = 0; p < cfg->point_count; p++) {
		const struct kc_ptx_instruction *i = cfg->points[p].instruction;

		boxes |= is_bulk_load(i) && has_box(i);
		expected |= kc__expected_bytes(i) != NULL;
		others |= completes_bytes(i) && !is_bulk_load(i);
	}
	r->expects_bytes = (uint8_t)(boxes && expected && !others);
}

/* Adds two events: `amount` of each counter per thread that moves any bytes; the bytes, and the sectors that they fill.
 */
static int count_bytes(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		       const uint32_t counters[3], float amount, uint32_t size)
{
	int rc =
	    size == KC_NO_VALUE ? -ENOMEM : kc__count_threads(r, plan, point, counters[0], amount, counters[1], 1, 1);

	if (rc)
		return rc;
	set_size(r, size);
	rc = kc__count_threads(r, plan, point, counters[2], amount, KC_COUNT_OF_SECTORS, 1 / (float)KC_SECTOR_BYTES, 0);
	if (!rc)
		set_size(r, size);
	return rc;
}

static int count_bulk_copy(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point)
{
	static const uint32_t of_load[] = {KC_COUNT_OF_LD_GLOBAL, KC_COUNT_OF_BYTES_LOADED, KC_COUNT_OF_REQUESTS};
	static const uint32_t of_store[] = {KC_COUNT_OF_ST_GLOBAL, KC_COUNT_OF_BYTES_STORED, KC_COUNT_OF_REQUESTS};
	static const struct kc_ptx_operand none = {.kind = KC_PTX_OPERAND_NONE};
	const struct kc_ptx_instruction *i = point->instruction;
	uint32_t size;

	if (r->expects_bytes && is_bulk_load(i))
		return kc__count_threads(r, plan, point, KC_COUNT_OF_LD_GLOBAL, 1, KC_COUNT_OF_REQUESTS, 1, 1);
	if (has_box(i))
		size = unknown_size(r, point, KC_UNKNOWN_BOX);
	else
		size = size_value(r, point, i->operand_count > 2 ? &i->operands[2] : &none);
	return count_bytes(r, plan, point, i->space == KC_PTX_GLOBAL ? of_store : of_load, 1, size);
}

int kc__count_expected_bytes(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point)
{
	static const uint32_t counters[] = {KC_COUNT_OF_LD_GLOBAL, KC_COUNT_OF_BYTES_LOADED, KC_COUNT_OF_REQUESTS};
	uint32_t first = r->f->event_count;
	int rc = count_bytes(r, plan, point, counters, 0, size_value(r, point, kc__expected_bytes(point->instruction)));

	for (uint32_t n = first; n < r->f->event_count; n++)
		r->f->events[n].expected = 1;
	return rc;
}

int kc__count_copy(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *to = kc__nth_address(i, 0), *from = kc__nth_address(i, 1);

	if (to && from && !(i->flags & KC_PTX_BULK))
		return count_async_copy(r, plan, point, to, from);
	if (to && from && strstr(i->spelling, ".global"))
		return count_bulk_copy(r, plan, point);
	plan->issues++;
	return 0;
}
