#include "features.h"

struct kc_features kc_features_of_code(const struct kc_cubin_kernel *kernel)
{
	const struct kc_sass *sass = &kernel->sass;

	if (!sass->known)
		return (struct kc_features){0};
	return (struct kc_features){
	    .known = 1,
	    .calls_away = sass->calls_away,
	    .barriers = kernel->barriers,
	    .tensor = sass->of[KC_SASS_TENSOR],
	    .wide_loads = sass->wide_loads,
	    .wide_shared_loads = sass->wide_shared_loads,
	};
}

#define WIDE_LOADS_MIN 2u /* ptxas may join two narrow loads, or remove a wide one whose value is not used */
#define RATIO_MAX 16u
#define GAP_BYTES 15u /* between variables in shared memory, each of them aligned to 16 bytes at most */

/* One has some and the other none, nor could have any in code that was not looked at. */
static int lacks(uint32_t some, uint32_t none, const struct kc_features *of_none)
{
	return some && !none && !of_none->calls_away;
}

/* No compiler unrolls a loop that the other left as it was so far that it explains this. */
static int far_apart(uint32_t a, uint32_t b)
{
	return a && b && (a > (uint64_t)b * RATIO_MAX || b > (uint64_t)a * RATIO_MAX);
}

/* ptxas joins loads from shared memory, and finds that a generic address is in shared memory. */
static const char *loads_differ(const struct kc_features *ptx, const struct kc_features *code)
{
	uint32_t in_ptx = ptx->wide_loads + ptx->wide_shared_loads;
	uint32_t in_code = code->wide_loads + code->wide_shared_loads;

	if (ptx->calls_away || code->calls_away)
		return NULL;
	if (in_ptx >= WIDE_LOADS_MIN && !in_code)
		return "the code for the device has no loads of 16 bytes";
	if (code->wide_loads >= WIDE_LOADS_MIN && !ptx->wide_loads)
		return "the code for the device has loads of 16 bytes, this has none";
	if (far_apart(ptx->wide_loads, code->wide_loads))
		return "the code for the device has another number of loads of 16 bytes";
	return NULL;
}

static const char *features_differ(const struct kc_features *ptx, const struct kc_features *code)
{
	if (lacks(ptx->barriers, code->barriers, code))
		return "the code for the device has no barriers";
	if (lacks(code->barriers, ptx->barriers, ptx))
		return "the code for the device has barriers, this has none";
	if (lacks(ptx->tensor, code->tensor, code))
		return "the code for the device does not use tensor cores";
	if (lacks(code->tensor, ptx->tensor, ptx))
		return "the code for the device uses tensor cores, this does not";
	if (!ptx->calls_away && !code->calls_away && far_apart(ptx->tensor, code->tensor))
		return "the code for the device has another number of instructions for tensor cores";
	return loads_differ(ptx, code);
}

/* Between variables there may be gaps; which variables of the module a function uses is not looked up. */
static int takes_shared(const struct kc_ptx_module *module, const struct kc_ptx_function *kernel, uint64_t bytes)
{
	uint64_t counted = kernel->static_shared_bytes;

	for (uint32_t i = 0; i < module->variable_count; i++)
		if (module->variables[i].space == KC_PTX_SHARED && module->variables[i].bytes)
			return 1;
	return bytes >= counted && bytes - counted <= GAP_BYTES * (uint64_t)kernel->local_count;
}

const char *kc_features_differ(const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
			       const struct kc_features *code, uint64_t static_shared_bytes)
{
	struct kc_features ptx;

	if (!takes_shared(module, kernel, static_shared_bytes))
		return "the code for the device takes another amount of shared memory";
	if (!code->known)
		return NULL;
	ptx = kc_features_of_ptx(module, kernel);
	return features_differ(&ptx, code);
}
