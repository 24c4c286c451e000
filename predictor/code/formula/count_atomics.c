#include "counting.h"

#include <string.h>

/*
 * Where all lanes of a warp certainly address the same word, ptxas lets one of
 * them do it for all: the lanes' integers are reduced first, or counted where they
 * are the same constant, in which case each lane can still be told its result.
 * Others are one operation per lane. As ptxas 13.0 does for sm_75, sm_86 and sm_90,
 * on global and on shared memory.
 *
 * To a floating-point number in shared memory all three add in a loop: a load, an
 * addition, and an exchange if the number is still the same, else once more.
 */
#define REDUX_SINCE 80u /* redux: reductions of 32-bit integers over a warp */
#define SOURCES_MAX 64u /* values that an address is computed from; one of more is not looked through */

static int is_same_in_all_lanes(uint32_t special)
{
	return (special >= KC_PTX_NTID_X && special <= KC_PTX_NCTAID_Z) || special == KC_PTX_NWARPID ||
	       special == KC_PTX_WARP_SIZE;
}

/* 1: of constants, parameters and the block's index alone. What is loaded is not looked through. */
static int is_uniform(const struct kc_formula *f, uint32_t value)
{
	uint32_t stack[SOURCES_MAX], depth = 0, seen = 1;

	stack[depth++] = value;
	while (depth) {
		const struct kc_value *v = &f->values[stack[--depth]];

		if (v->op == KC_OP_UNKNOWN || v->op == KC_OP_PHI || v->op == KC_OP_EXIT_VALUE ||
		    v->op == KC_OP_BROADCAST ||
		    (v->op == KC_OP_SPECIAL && !is_same_in_all_lanes((uint32_t)v->constant)))
			return 0;
		if (v->op < KC_OP_ADD)
			continue;
		seen += v->count;
		if (seen > SOURCES_MAX)
			return 0;
		for (uint32_t n = 0; n < v->count; n++)
			stack[depth++] = v->source[n];
	}
	return 1;
}

static int is_read(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	uint32_t registers[KC__REGISTERS_MAX];
	uint32_t count = kc__writes(&r->f->cfg, point, registers);

	for (uint32_t n = 0; n < count; n++)
		if (r->reads[registers[n]])
			return 1;
	return 0;
}

static int has_modifier(const struct kc_ptx_instruction *i, const char *const *modifiers, size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (strstr(i->spelling, modifiers[n]))
			return 1;
	return 0;
}

/* 1: what the lanes do to one word can be done at once. */
static int is_reducible(const struct kc__formula_reader *r, const struct kc_cfg_point *point)
{
	static const char *const sums[] = {".add."}, *const others[] = {".min.", ".max.", ".and.", ".or.", ".xor."};
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *last = i->operand_count ? &i->operands[i->operand_count - 1] : NULL;
	int is_sum = has_modifier(i, sums, sizeof(sums) / sizeof(*sums));

	if (!last || i->vector > 1 || (!kc__is_integer_type(i->type)))
		return 0;
	if (is_sum && last->kind == KC_PTX_INTEGER)
		return 1;
	return (is_sum || has_modifier(i, others, sizeof(others) / sizeof(*others))) &&
	       kc_ptx_type_bytes(i->type) == 4 && r->module->target >= REDUX_SINCE && !is_read(r, point);
}

static int is_loop(const struct kc_ptx_instruction *i, int shared)
{
	static const char *const sums[] = {".add."};

	return shared && kc_ptx_type_is_float(i->type) && has_modifier(i, sums, sizeof(sums) / sizeof(*sums));
}

/* Counts the addition; the counter of its width, KC_COUNTER_COUNT: it has 32 bits. */
static uint32_t counted_width(const struct kc_ptx_instruction *i, float *counted)
{
	kc__count_float(i, KC_COUNT_OF_ADD, counted);
	return counted[KC_COUNT_OF_DOUBLE] ? KC_COUNT_OF_DOUBLE
	       : counted[KC_COUNT_OF_HALF] ? KC_COUNT_OF_HALF
					   : KC_COUNTER_COUNT;
}

/* What it adds. is_one_word: lanes of a warp take turns; what other warps make them try again is not counted, as it
 * depends on when these come. */
static int count_loop(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		      int is_one_word)
{
	float counted[KC_AMOUNT_COUNT] = {0};
	uint32_t width = counted_width(point->instruction, counted);
	int rc = kc__count_threads(r, plan, point, KC_COUNT_OF_ADD, counted[KC_COUNT_OF_ADD], width,
				   counted[KC_COUNT_OF_ADD], 0);

	if (rc || !is_one_word)
		return rc;
	r->f->events[r->f->event_count - 1].retried = 1;
	return kc__count_threads(r, plan, point, KC_ALSO_CONTENDED, 1, KC_COUNTER_COUNT, 0, 0);
}

int kc__count_atomic(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *address = kc__nth_address(i, 0);
	int shared = address && kc__space_of(r, point, address) == KC_PTX_SHARED;
	int rc = kc__count_access(r, plan, point, shared ? KC_COUNT_OF_ATOMICS_SHARED : KC_COUNT_OF_ATOMICS, address,
				  kc_ptx_type_bytes(i->type) * i->vector, 1);
	struct kc_event *event = rc ? NULL : &r->f->events[r->f->event_count - 1];
	int is_one_word = event && is_uniform(r->f, event->address);

	if (!event)
		return rc;
	if (is_loop(i, shared))
		return count_loop(r, plan, point, is_one_word);
	if (is_one_word && is_reducible(r, point))
		event->per_warp = 1;
	return 0;
}
