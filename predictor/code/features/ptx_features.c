#include "features.h"

#include <string.h>

#define FUNCTIONS_MAX 64u /* those of one kernel; of a kernel with more, some are not looked at */

/* The kernel and the functions that it calls, each once. */
struct callees {
	const struct kc_ptx_function *of[FUNCTIONS_MAX];
	uint32_t count;
};

static void add_callee(struct kc_features *features, struct callees *callees, const struct kc_ptx_function *function)
{
	if (!function || callees->count == FUNCTIONS_MAX) {
		features->calls_away = 1;
		return;
	}
	for (uint32_t i = 0; i < callees->count; i++)
		if (callees->of[i] == function)
			return;
	callees->of[callees->count++] = function;
}

static const char *name_called(const struct kc_ptx_instruction *call)
{
	for (uint32_t i = 0; i < call->operand_count; i++)
		if (call->operands[i].kind == KC_PTX_NAME)
			return call->operands[i].text;
	return NULL;
}

/* From sm_80 on, ptxas compiles mma.m8n8k4 of 16 bits, which is for sm_70, to multiply-adds. */
static int uses_tensor_cores(const struct kc_ptx_instruction *i)
{
	if (i->opcode == KC_PTX_MMA)
		return !strstr(i->spelling, ".m8n8k4.") || strstr(i->spelling, ".f64");
	if (i->opcode == KC_PTX_WMMA || i->opcode == KC_PTX_WGMMA)
		return strstr(i->spelling, "mma.mma") != NULL;
	return i->opcode == KC_PTX_OTHER && !strncmp(i->spelling, "tcgen05.mma.", strlen("tcgen05.mma."));
}

static int is_wide(const struct kc_ptx_instruction *i)
{
	return kc_ptx_type_bytes(i->type) * i->vector >= KC_SASS_WIDE_BYTES;
}

/* cp.async of a fixed number of bytes: its third operand */
static int copies_wide(const struct kc_ptx_instruction *i)
{
	return !(i->flags & KC_PTX_BULK) && i->operand_count > 2 && i->operands[2].kind == KC_PTX_INTEGER &&
	       i->operands[2].value >= (int64_t)KC_SASS_WIDE_BYTES;
}

static int is_barrier(const struct kc_ptx_instruction *i)
{
	return (i->opcode == KC_PTX_BAR && !strstr(i->spelling, ".warp")) ||
	       (i->opcode == KC_PTX_BARRIER && !strstr(i->spelling, ".cluster"));
}

static void add_load(struct kc_features *features, const struct kc_ptx_instruction *i)
{
	if (!is_wide(i))
		return;
	if (i->space == KC_PTX_SHARED)
		features->wide_shared_loads++;
	else if (i->space == KC_PTX_GLOBAL || i->space == KC_PTX_GENERIC)
		features->wide_loads++;
}

static void add_function(struct kc_features *features, struct callees *callees, const struct kc_ptx_module *module,
			 const struct kc_ptx_function *function)
{
	for (uint32_t n = 0; n < function->instruction_count; n++) {
		const struct kc_ptx_instruction *i = &function->instructions[n];

		if (i->opcode == KC_PTX_CALL) {
			const char *name = name_called(i);

			add_callee(features, callees, name ? kc_ptx_find(module, name) : NULL);
		}
		if (i->opcode == KC_PTX_LD || i->opcode == KC_PTX_LDU)
			add_load(features, i);
		features->wide_loads += i->opcode == KC_PTX_CP && copies_wide(i);
		features->tensor += (uint32_t)uses_tensor_cores(i);
		features->barriers += (uint32_t)is_barrier(i);
	}
}

struct kc_features kc_features_of_ptx(const struct kc_ptx_module *module, const struct kc_ptx_function *kernel)
{
	struct kc_features features = {.known = 1};
	struct callees callees = {.of = {kernel}, .count = 1};

	for (uint32_t i = 0; i < callees.count; i++)
		add_function(&features, &callees, module, callees.of[i]);
	return features;
}
