#include "step_searches.h"
#include "tools/command.h"
#include "tools/output/format.h"

#include <stdio.h>

static const char *const starts[] = {
    [KC_START_GAP] = "each begins after the longest wait of the host",
    [KC_START_COPY] = "each begins with the first copy from the host",
    [KC_START_ASSUMED] = "start assumed: that of the recording",
};
static const char *const start_keys[] = {
    [KC_START_GAP] = "wait",
    [KC_START_COPY] = "copy",
    [KC_START_ASSUMED] = "assumed",
};
static const char *const verdicts[] = {
    [KC_STEPS_NONE] = "none",
    [KC_STEPS_REPEAT] = "repeats",
    [KC_STEPS_FOUND] = "steps",
    [KC_STEPS_NESTED] = "nested",
};

static void print_repeat(const char *what, const struct kc_repeat *repeat)
{
	char count[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES], regular[KC_FORMAT_BYTES];

	printf("  %s %s of %s launches, %s of them exactly; %s\n", what, kc_format_count(repeat->count, count),
	       kc_format_count(repeat->launches, launches), kc_format_count(repeat->regular, regular),
	       starts[repeat->start]);
}

static int is_same(const struct kc_repeat *a, const struct kc_repeat *b)
{
	return a->count == b->count && a->launches == b->launches && a->regular == b->regular && a->start == b->start;
}

/* What is alike in several processes is said once. */
static int was_said(const struct kc_steps_report *steps, size_t i)
{
	const struct kc_step_search *search = &steps->searches[i];

	for (size_t k = 0; k < i; k++)
		if (steps->searches[k].verdict == search->verdict &&
		    is_same(&steps->searches[k].outer, &search->outer) &&
		    is_same(&steps->searches[k].inner, &search->inner))
			return 1;
	return 0;
}

void kc_step_searches_print(const struct kc_steps_report *steps)
{
	for (size_t i = 0; i < steps->search_count; i++) {
		const struct kc_step_search *search = &steps->searches[i];

		if (was_said(steps, i))
			continue;
		if (search->verdict == KC_STEPS_FOUND) {
			print_repeat("not told, but found by what repeats:", &search->outer);
		} else if (search->verdict == KC_STEPS_NESTED) {
			print_repeat("not told; of nested repeats, either may be the step. Outer:", &search->outer);
			print_repeat("inner:", &search->inner);
		}
	}
}

int kc_steps_missing(const char *database, const struct kc_steps_report *steps)
{
	const struct kc_repeat *most = NULL;
	char may_be[160] = "";

	for (size_t i = 0; i < steps->search_count; i++)
		if (steps->searches[i].verdict == KC_STEPS_REPEAT)
			most = &steps->searches[i].outer;
	if (most)
		snprintf(may_be, sizeof(may_be), "; %u launches repeat %u times, but those may be layers",
			 most->launches, most->count);
	kc_error("%s: no steps are known; an imported trace has them where torch.profiler was told of each (schedule, "
		 "step()), and a run has NVTX ranges that are called ProfilerStep#N. None were found by what repeats%s",
		 database, may_be);
	return KC_EXIT_FAILED;
}

static json_t *repeat_json(const struct kc_repeat *repeat)
{
	if (!repeat->count)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:s}", "count", (json_int_t)repeat->count, "launches",
			 (json_int_t)repeat->launches, "regular", (json_int_t)repeat->regular, "start",
			 start_keys[repeat->start]);
}

json_t *kc_json_step_searches(const struct kc_steps_report *steps)
{
	json_t *out;

	if (!steps->search_count || steps->too_many)
		return json_null();
	out = json_array();
	for (size_t i = 0; i < steps->search_count; i++) {
		const struct kc_step_search *search = &steps->searches[i];

		json_array_append_new(out,
				      json_pack("{s:I, s:s, s:o, s:o}", "process", (json_int_t)search->process,
						"verdict", verdicts[search->verdict], "outer",
						repeat_json(&search->outer), "inner", repeat_json(&search->inner)));
	}
	return out;
}
