#include "registers.h"

#include <string.h>

/* Limit on the instructions that are followed back. */
#define POINTS_MAX 64u

static int waits(const struct kc_ptx_instruction *i)
{
	return i->opcode == KC_PTX_OTHER && (!strncmp(i->spelling, "mbarrier.try_wait", strlen("mbarrier.try_wait")) ||
					     !strncmp(i->spelling, "mbarrier.test_wait", strlen("mbarrier.test_wait")));
}

static enum kc_unknown_reason own_reason(const struct kc_ptx_instruction *i)
{
	switch (i->opcode) {
	case KC_PTX_LD:
	case KC_PTX_LDU:
		return i->space == KC_PTX_SHARED       ? KC_UNKNOWN_SHARED_LOAD
		       : i->space == KC_PTX_LOCAL      ? KC_UNKNOWN_LOCAL_LOAD
		       : i->space == KC_PTX_CONST      ? KC_UNKNOWN_CONST_LOAD
		       : i->space != KC_PTX_PARAM      ? KC_UNKNOWN_GLOBAL_LOAD
		       : kc_ptx_type_is_float(i->type) ? KC_UNKNOWN_FLOAT
						       : KC_UNKNOWN_LOCAL_LOAD;
	case KC_PTX_TEX:
	case KC_PTX_TLD4:
	case KC_PTX_SULD:
		return KC_UNKNOWN_GLOBAL_LOAD;
	case KC_PTX_LDMATRIX:
		return KC_UNKNOWN_SHARED_LOAD;
	case KC_PTX_ATOM:
		return KC_UNKNOWN_ATOMIC;
	case KC_PTX_SHFL:
	case KC_PTX_VOTE:
	case KC_PTX_MATCH:
	case KC_PTX_REDUX:
	case KC_PTX_ACTIVEMASK:
	case KC_PTX_BAR:
	case KC_PTX_BARRIER:
		return KC_UNKNOWN_OTHER_THREADS;
	case KC_PTX_CALL:
		return KC_UNKNOWN_CALL;
	default:
		if (waits(i))
			return KC_UNKNOWN_WAIT;
		return kc_ptx_type_is_float(i->type) || kc_ptx_type_is_float(i->type2) ? KC_UNKNOWN_FLOAT
										       : KC_UNKNOWN_INSTRUCTION;
	}
}

static int is_arithmetic(enum kc_unknown_reason reason)
{
	return reason == KC_UNKNOWN_FLOAT || reason == KC_UNKNOWN_INSTRUCTION;
}

/* Instructions that were followed or are to be, each once. */
struct trail {
	uint32_t points[POINTS_MAX];
	uint32_t count;
};

static void add_point(struct trail *trail, uint32_t point)
{
	for (uint32_t n = 0; n < trail->count; n++)
		if (trail->points[n] == point)
			return;
	if (trail->count < POINTS_MAX)
		trail->points[trail->count++] = point;
}

/* Adds all instructions that set its operands, on any path. */
static void add_sources(const struct kc__formula_reader *r, struct trail *trail, const struct kc_cfg_point *point)
{
	uint32_t registers[KC__REGISTERS_MAX];
	uint32_t count = kc__is_translated(&r->f->cfg, point) ? kc__reads(&r->f->cfg, point, registers)
							      : kc__operand_registers(&r->f->cfg, point, registers);

	for (uint32_t n = 0; n < count; n++)
		for (uint32_t at = r->set_from[registers[n]];
		     at < r->set_from[registers[n] + 1] && trail->count < POINTS_MAX; at++)
			add_point(trail, r->set_at[at]);
}

enum kc_unknown_reason kc__why_unknown(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	enum kc_unknown_reason first = own_reason(point->instruction);
	struct trail trail = {.count = 0};

	if (!is_arithmetic(first))
		return first;
	add_sources(r, &trail, point);
	for (uint32_t n = 0; n < trail.count; n++) {
		const struct kc_cfg_point *at = &r->f->cfg.points[trail.points[n]];

		if (!kc__is_translated(&r->f->cfg, at)) {
			enum kc_unknown_reason reason = own_reason(at->instruction);

			if (!is_arithmetic(reason))
				return reason;
		}
		add_sources(r, &trail, at);
	}
	return first;
}
