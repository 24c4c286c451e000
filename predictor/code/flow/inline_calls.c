#include "cfg.h"

#include <errno.h>
#include <string.h>

/* Limits on inlining: a call beyond them remains a call. */
#define DEPTH_MAX 16u
#define POINTS_MAX (1u << 20)
#define CALLS_MAX 4096u

struct inliner {
	struct kc_cfg *cfg;
	const struct kc_ptx_module *module;
	uint32_t point_capacity, call_capacity;
};

static const struct kc_ptx_operand *callee_operand(const struct kc_ptx_instruction *call)
{
	for (uint32_t i = 0; i < call->operand_count; i++)
		if (call->operands[i].kind == KC_PTX_NAME)
			return &call->operands[i];
	return NULL;
}

static int is_among_callers(const struct kc_cfg *cfg, uint32_t call, const struct kc_ptx_function *function)
{
	for (uint32_t depth = 0; depth <= DEPTH_MAX; depth++) {
		if (cfg->calls[call].function == function)
			return 1;
		if (!call)
			return 0;
		call = cfg->calls[call].parent;
	}
	return 1;
}

/* NULL: the function has no body, is recursive or nested too deeply. */
static const struct kc_ptx_function *callee_to_inline(const struct inliner *o, uint32_t call,
						      const struct kc_ptx_instruction *i)
{
	const struct kc_ptx_operand *name = i->opcode == KC_PTX_CALL ? callee_operand(i) : NULL;
	const struct kc_ptx_function *function = name ? kc_ptx_find(o->module, name->text) : NULL;

	if (!function || !function->has_body || function->is_entry || o->cfg->call_count >= CALLS_MAX)
		return NULL;
	if (is_among_callers(o->cfg, call, function) || o->cfg->point_count >= POINTS_MAX / 2 ||
	    function->instruction_count >= POINTS_MAX / 2)
		return NULL;
	return function;
}

static int add_call(struct inliner *o, struct kc_arena *arena, struct kc_call call)
{
	struct kc_cfg *cfg = o->cfg;
	int rc = kc_arena_grow(arena, &cfg->calls, &o->call_capacity, cfg->call_count, sizeof(*cfg->calls));
	uint64_t registers = (uint64_t)cfg->register_count + call.function->register_count +
			     call.function->local_count + call.function->param_count;

	if (rc || registers >= KC_NO_REGISTER)
		return -ENOMEM;
	call.registers = cfg->register_count;
	cfg->register_count = (uint32_t)registers;
	cfg->calls[cfg->call_count++] = call;
	return 0;
}

static int add_point(struct inliner *o, struct kc_arena *arena, struct kc_cfg_point point)
{
	struct kc_cfg *cfg = o->cfg;
	int rc = kc_arena_grow(arena, &cfg->points, &o->point_capacity, cfg->point_count, sizeof(*cfg->points));

	if (!rc)
		cfg->points[cfg->point_count++] = point;
	return rc;
}

/* Branch targets of one body, once the points of its instructions are known. A return continues after the call. */
static void resolve_targets(struct kc_cfg *cfg, uint32_t call, uint32_t first, const uint32_t *place)
{
	for (uint32_t p = first; p < cfg->point_count; p++) {
		struct kc_cfg_point *point = &cfg->points[p];

		if (point->call != call)
			continue;
		if (point->instruction->opcode == KC_PTX_BRA)
			point->target = place[point->instruction->target];
		else if (point->instruction->opcode == KC_PTX_RET)
			point->target = call ? cfg->point_count : KC_NO_POINT;
	}
}

static int inline_body(struct inliner *o, struct kc_arena *arena, uint32_t call, unsigned depth)
{
	const struct kc_ptx_function *function = o->cfg->calls[call].function;
	uint32_t first = o->cfg->point_count;
	uint32_t *place = kc_arena_array(arena, (size_t)function->instruction_count + 1, sizeof(*place));
	int rc = place ? 0 : -ENOMEM;

	for (uint32_t i = 0; !rc && i < function->instruction_count; i++) {
		const struct kc_ptx_instruction *instruction = &function->instructions[i];
		const struct kc_ptx_function *callee =
		    depth < DEPTH_MAX ? callee_to_inline(o, call, instruction) : NULL;
		uint32_t site = o->cfg->point_count;

		place[i] = site;
		rc = add_point(o, arena, (struct kc_cfg_point){instruction, call, KC_NO_POINT});
		if (rc || !callee)
			continue;
		rc = add_call(o, arena, (struct kc_call){.function = callee, .site = instruction, .parent = call});
		if (!rc)
			rc = inline_body(o, arena, o->cfg->call_count - 1, depth + 1);
		if (!rc)
			o->cfg->points[site].target = o->cfg->point_count;
	}
	if (rc)
		return rc;
	place[function->instruction_count] = o->cfg->point_count;
	o->cfg->calls[call].points_of = place;
	resolve_targets(o->cfg, call, first, place);
	return 0;
}

int kc__inline_calls(struct kc_cfg *cfg, struct kc_arena *arena, const struct kc_ptx_module *module,
		     const struct kc_ptx_function *kernel)
{
	struct inliner o = {.cfg = cfg, .module = module};
	int rc = add_call(&o, arena, (struct kc_call){.function = kernel});

	return rc ? rc : inline_body(&o, arena, 0, 0);
}

/* The call's vector of arguments, or that of results, which comes before the callee's name. */
static const struct kc_ptx_operand *call_vector(const struct kc_ptx_instruction *site, int results)
{
	int past_name = 0;

	for (uint32_t i = 0; i < site->operand_count; i++) {
		if (site->operands[i].kind == KC_PTX_NAME)
			past_name = 1;
		else if (site->operands[i].kind == KC_PTX_VECTOR && past_name == !results)
			return &site->operands[i];
	}
	return NULL;
}

uint32_t kc_cfg_param_register(const struct kc_cfg *cfg, uint32_t call, uint32_t number, int by_param)
{
	for (uint32_t depth = 0; depth <= DEPTH_MAX + 1; depth++) {
		const struct kc_call *c = &cfg->calls[call];
		const struct kc_ptx_operand *passed = NULL;
		uint32_t own = c->registers + c->function->register_count + number;

		if (!by_param) {
			if (number >= c->function->local_count)
				return KC_NO_REGISTER;
			if (!c->site)
				return own;
		} else if (!c->site) {
			return KC_NO_REGISTER;
		}
		passed = call_vector(c->site, !by_param);
		if (!passed || number >= passed->count) /* returned values are declared first */
			return own + (by_param ? c->function->local_count : 0);
		passed = &passed->elements[number];
		call = c->parent;
		if (passed->kind == KC_PTX_REGISTER)
			return cfg->calls[call].registers + passed->number;
		if (passed->kind != KC_PTX_SYMBOL)
			return KC_NO_REGISTER;
		by_param = passed->base == KC_PTX_BASE_PARAM;
		if (!by_param && !(passed->number & KC_PTX_LOCAL_SYMBOL))
			return KC_NO_REGISTER;
		number = passed->number & ~KC_PTX_LOCAL_SYMBOL;
	}
	return KC_NO_REGISTER;
}
