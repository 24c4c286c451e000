/* Parses PTX; builds, evaluates and describes the cost formula of every kernel. */
#include "predictor/code/cost.h"
#include "ptx_cut.h"

#include <stdlib.h>

#define MEMORY_BYTES ((size_t)16 << 20)
#define KERNELS_MAX 8u
#define MORE_EFFORT (2 * KC_COST_EFFORT_LAUNCH) /* more than at a launch */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void evaluate(const struct kc_cost *cost)
{
	static const struct kc_cost_argument arguments[] = {{.value = 1000, .known = 1},
							    {.value = 0x7f0000000000u, .known = 1},
							    {.value = 0, .known = 1},
							    {.value = UINT64_MAX, .known = 1}};
	static const struct kc_cost_buffer buffers[] = {{.param = 0, .first = 1000, .bytes = 1},
							{.param = 1, .first = 0x7f0000000000u, .bytes = UINT64_MAX}};
	static const struct kc_cost_launch launches[] = {
	    {.grid = {1, 1, 1}, .block = {1, 1, 1}},
	    {.grid = {4, 3, 2},
	     .block = {32, 8, 2},
	     .arguments = arguments,
	     .argument_count = 4,
	     .buffers = buffers,
	     .buffer_count = 2},
	    {.grid = {UINT32_MAX, 65535, 65535}, .block = {1024, 1, 1}, .arguments = arguments, .argument_count = 4},
	};
	struct kc_cost_story story;
	struct kc_counts counts;

	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
		kc_cost_evaluate(cost, &launches[i], KC_COST_EFFORT_LAUNCH, &counts);
		kc_cost_evaluate(cost, &launches[i], MORE_EFFORT, &counts);
	}
	if (!kc_cost_tell(cost, &story))
		kc_cost_story_free(&story);
}

/* Whatever kernels it has, in two parts. */
static void cut_all(const char *text, size_t length)
{
	struct kc_ptx_wanted wanted[KERNELS_MAX];
	struct kc_refusal refusal;
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;

	kc_ptx_cut_begin_all(&cut, wanted, KERNELS_MAX, MEMORY_BYTES);
	if (!kc_ptx_cut_feed(&cut, text, length / 2) && !kc_ptx_cut_feed(&cut, text + length / 2, length - length / 2))
		for (uint32_t i = 0; i < cut.wanted_count; i++) {
			if (wanted[i].found && !wanted[i].no_room &&
			    !kc_ptx_cut_parse(&cut, &wanted[i], &module, MEMORY_BYTES, &refusal))
				kc_ptx_free(&module);
			kc_ptx_cut_drop(&cut, &wanted[i]);
		}
	kc_ptx_cut_free(&cut);
}

/* The names of its kernels, as kerncast explain looks for one of them. */
static void find_entries(const char *text, size_t length)
{
	const char *name;
	size_t at = 0, name_length;

	while (kc_ptx_next_entry(text, length, &at, &name, &name_length))
		if (at > length || name < text || name_length > (size_t)(text + length - name))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_ptx_module module;
	struct kc_refusal refusal;
	struct kc_cost *cost;
	uint32_t kernels = 0;

	find_entries((const char *)bytes, length);
	cut_all((const char *)bytes, length);
	if (kc_ptx_parse(&module, (const char *)bytes, length, MEMORY_BYTES, &refusal))
		return 0;
	for (uint32_t i = 0; i < module.function_count && kernels < KERNELS_MAX; i++) {
		if (!module.functions[i].is_entry || !module.functions[i].has_body)
			continue;
		kernels++;
		if (kc_cost_read(&cost, &module, &module.functions[i], MEMORY_BYTES, &refusal))
			continue;
		evaluate(cost);
		kc_cost_free(cost);
	}
	kc_ptx_free(&module);
	return 0;
}
