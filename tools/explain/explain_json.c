#include "explain.h"
#include "tools/output/models_json.h"

#include <inttypes.h>
#include <stdio.h>

static json_t *dimensions(const uint32_t of[3])
{
	return json_pack("[iii]", (int)of[0], (int)of[1], (int)of[2]);
}

static json_t *launch_json(const struct kc_explain_launch *launch)
{
	json_t *out, *arguments;

	if (!launch->given)
		return json_null();
	out = json_object();
	arguments = json_array();
	json_object_set_new(out, "grid", dimensions(launch->grid));
	json_object_set_new(out, "block", dimensions(launch->block));
	json_object_set_new(out, "dynamic_shared_bytes", json_integer(launch->dynamic_shared_bytes));
	for (uint32_t i = 0; i < launch->argument_count; i++)
		json_array_append_new(arguments, kc_json_text(launch->arguments[i]));
	json_object_set_new(out, "args", arguments);
	return out;
}

static json_t *param_json(uint32_t offset_bytes, uint32_t bytes, const char *type)
{
	json_t *out = json_object();

	json_object_set_new(out, "type", type ? json_string(type) : json_null());
	json_object_set_new(out, "offset_bytes", json_integer(offset_bytes));
	json_object_set_new(out, "bytes", json_integer(bytes));
	return out;
}

/* By position. Machine code tells sizes but no types. */
static json_t *params_json(const struct kc_explained *kernel)
{
	const struct kc_cubin_kernel *code = kernel->entry->code;
	int has_ptx = kernel->entry->has_ptx;
	json_t *out = json_array();

	for (uint32_t i = 0; i < kernel->param_count; i++) {
		const struct kc_ptx_param *param = &kernel->params[i];

		json_array_append_new(out, param_json(param->offset_bytes, param->bytes, kc_explain_type(param)));
	}
	for (uint32_t i = 0; !has_ptx && i < code->param_count; i++) {
		const struct kc_cubin_param *param = &code->params[i];

		json_array_append_new(out, param_json(param->offset_bytes, param->bytes, NULL));
	}
	return out;
}

static json_t *loops_json(const struct kc_cost_story *story)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < story->loop_count; i++) {
		const struct kc_cost_loop *loop = &story->loops[i];
		json_t *one = json_object();

		json_object_set_new(one, "depth", json_integer(loop->depth));
		json_object_set_new(one, "parent", loop->depth ? json_integer(loop->parent) : json_null());
		json_object_set_new(one, "offset", json_integer(loop->offset));
		json_object_set_new(one, "known", json_boolean(loop->known));
		json_object_set_new(one, "trips", kc_json_text(loop->trips));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *formula_json(const struct kc_cost_story *story)
{
	json_t *out = json_object();

	for (uint32_t i = 0; i < KC_COUNTER_COUNT; i++)
		json_object_set_new(out, kc_cost_counter_name(i), kc_json_text(story->formula[i]));
	return out;
}

static json_t *unknown_json(const struct kc_cost_story *story)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < story->unknown_count; i++) {
		const struct kc_cost_unknown *unknown = &story->unknown[i];
		json_t *one = json_object();

		json_object_set_new(one, "what", kc_json_text(unknown->what));
		json_object_set_new(one, "assumed", kc_json_text(unknown->assumed));
		json_object_set_new(one, "offset", json_integer(unknown->offset));
		json_array_append_new(out, one);
	}
	return out;
}

/* What had to be assumed. */
static json_t *assumed_json(uint32_t assumed)
{
	json_t *out = json_array();

	if (assumed & (KC_ASSUMED_UNTOLD_TRIPS | KC_ASSUMED_LENGTH | KC_ASSUMED_TRIPS))
		json_array_append_new(out, json_string("trips"));
	if (assumed & KC_ASSUMED_BRANCH)
		json_array_append_new(out, json_string("branch"));
	if (assumed & KC_ASSUMED_ADDRESS)
		json_array_append_new(out, json_string("address"));
	if (assumed & KC_ASSUMED_TURNS)
		json_array_append_new(out, json_string("turns"));
	return out;
}

static json_t *counts_json(const struct kc_explained *kernel)
{
	const struct kc_counts *counts = &kernel->counts;
	json_t *out;

	if (kernel->counted != 1)
		return json_null();
	out = json_object();
	for (uint32_t i = 0; i < KC_COUNTER_COUNT; i++)
		json_object_set_new(out, kc_cost_counter_name(i), kc_json_real(counts->of[i]));
	json_object_set_new(out, "bytes_global",
			    kc_json_real(counts->of[KC_COUNT_OF_BYTES_LOADED] + counts->of[KC_COUNT_OF_BYTES_STORED]));
	json_object_set_new(out, "sectors_per_request", kc_json_ratio(kc_counts_sectors_per_request(counts)));
	json_object_set_new(out, "sectors_per_request_minimum",
			    kc_json_ratio(kc_counts_least_sectors_per_request(counts)));
	json_object_set_new(out, "sectors_scattered", kc_json_real(counts->scattered_sectors));
	json_object_set_new(out, "bank_conflict_degree", kc_json_ratio(kc_counts_bank_conflict_degree(counts)));
	json_object_set_new(out, "threads", kc_json_real(counts->threads));
	json_object_set_new(out, "active_share", kc_json_real(counts->active_share));
	json_object_set_new(out, "longest_warp", kc_json_real(counts->longest_warp));
	json_object_set_new(out, "contended", kc_json_real(counts->contended));
	json_object_set_new(out, "conversions_of_64_bits", kc_json_real(counts->wide_conversions));
	json_object_set_new(out, "lines", kc_json_real(counts->lines));
	json_object_set_new(out, "local_scattered", kc_json_real(counts->scattered_local));
	json_object_set_new(out, "constant_requests", kc_json_real(counts->constant_requests));
	json_object_set_new(out, "chain_cycles", kc_json_real(counts->chain_cycles));
	json_object_set_new(out, "chain_loads", kc_json_real(counts->chain_far));
	json_object_set_new(out, "chain_near_loads", kc_json_real(counts->chain_near));
	json_object_set_new(out, "chain_common_loads", kc_json_real(counts->chain_common));
	json_object_set_new(out, "distinct_loaded_bytes", kc_json_real(counts->distinct_loaded_bytes));
	json_object_set_new(out, "distinct_stored_bytes", kc_json_real(counts->distinct_stored_bytes));
	json_object_set_new(out, "block_loaded_bytes", kc_json_real(counts->block_loaded_bytes));
	json_object_set_new(out, "distinct_atomics", kc_json_real(counts->distinct_atomics));
	json_object_set_new(out, "exact", json_boolean(counts->exact));
	json_object_set_new(out, "sampled", json_boolean(counts->sampled));
	json_object_set_new(out, "assumed", json_boolean(counts->assumed));
	json_object_set_new(out, "assumed_of", assumed_json(counts->assumed));
	json_object_set_new(out, "unsure_share", kc_json_real(counts->unsure_share));
	return out;
}

/* Counted as they are in the code; null if the instructions of its architecture are unknown. */
static json_t *instructions_json(const struct kc_sass *sass)
{
	static const char *const reaches[] = {
	    [KC_SASS_STATIC] = "unknown", [KC_SASS_AT_MOST] = "at most once", [KC_SASS_EXACT] = "once"};
	json_t *out;

	if (!sass->known)
		return json_null();
	out = json_object();
	for (uint32_t i = 0; i < KC_SASS_CLASS_COUNT; i++)
		json_object_set_new(out, kc_sass_class_name(i), json_integer(sass->of[i]));
	json_object_set_new(out, "executed", json_string(reaches[sass->reach]));
	return out;
}

static json_t *code_json(const struct kc_explained *kernel)
{
	const struct kc_cubin_kernel *code = kernel->entry->code;
	json_t *out;

	if (!code)
		return json_null();
	out = json_object();
	json_object_set_new(out, "architecture", json_integer(kernel->entry->code_sm));
	json_object_set_new(out, "registers", json_integer(code->registers));
	json_object_set_new(out, "static_shared_bytes", json_integer(code->static_shared_bytes));
	json_object_set_new(out, "local_bytes", json_integer(code->local_bytes));
	json_object_set_new(out, "code_bytes", json_integer(code->code_bytes));
	json_object_set_new(out, "instructions", instructions_json(&code->sass));
	return out;
}

static json_t *kernel_json(const struct kc_explained *kernel)
{
	char why[KC_EXPLAIN_WHY_BYTES];
	json_t *out = json_object();

	json_object_set_new(out, "name", kc_json_text(kernel->entry->name));
	json_object_set_new(out, "demangled", kc_json_text(kernel->readable));
	json_object_set_new(out, "ptx", kernel->entry->has_ptx ? json_integer(kernel->ptx_target) : json_null());
	json_object_set_new(out, "code", code_json(kernel));
	json_object_set_new(out, "params", params_json(kernel));
	json_object_set_new(out, "loops", kernel->cost ? loops_json(&kernel->story) : json_array());
	json_object_set_new(out, "formula", kernel->cost ? formula_json(&kernel->story) : json_null());
	json_object_set_new(out, "counts", counts_json(kernel));
	json_object_set_new(out, "models", kernel->timed == 1 ? kc_models_json(&kernel->times) : json_null());
	json_object_set_new(out, "unknown", kernel->cost ? unknown_json(&kernel->story) : json_array());
	json_object_set_new(out, "refused", kc_explain_refusal(kernel, why) ? kc_json_text(why) : json_null());
	return out;
}

/* Whether this image was read and not passed over for another one of its fatbin. */
static int is_read(const struct kc_explanation *explanation, const struct kc_image *image)
{
	const struct kc_explain_unit *unit = &explanation->units[image->fatbin];

	return unit->ptx_image == image || unit->code_image == image;
}

static json_t *images_json(const struct kc_explanation *explanation)
{
	const struct kc_images *images = &explanation->images;
	json_t *out = json_array();

	for (uint32_t i = 0; i < images->count; i++) {
		const struct kc_image *image = &images->images[i];
		json_t *one = json_object();

		json_object_set_new(one, "kind", json_string(image->kind == KC_IMAGE_PTX ? "ptx" : "cubin"));
		json_object_set_new(one, "architecture", json_integer(image->sm));
		json_object_set_new(one, "fatbin", json_integer(image->fatbin));
		json_object_set_new(one, "offset", json_integer((json_int_t)image->offset));
		json_object_set_new(one, "read", json_boolean(is_read(explanation, image)));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *notes_json(const struct kc_explanation *explanation)
{
	char note[KC_EXPLAIN_WHY_BYTES];
	json_t *out = json_array();

	for (uint32_t i = 0; kc_explain_note(explanation, i, note); i++) {
		if (note[0])
			json_array_append_new(out, kc_json_text(note));
	}
	return out;
}

static int put_head(const struct kc_explanation *explanation)
{
	json_t *out = kc_json_document("explain", 1);

	json_object_set_new(out, "file", kc_json_text(explanation->path));
	json_object_set_new(out, "device", kc_json_text(explanation->device ? explanation->device->name : NULL));
	json_object_set_new(out, "architecture", json_integer(explanation->sm));
	json_object_set_new(out, "images", images_json(explanation));
	json_object_set_new(out, "notes", notes_json(explanation));
	json_object_set_new(out, "launch", launch_json(explanation->launch));
	json_object_set_new(out, "lambda", json_real(explanation->lambda));
	return kc_json_open(out, "kernels");
}

static int put_kernel(const struct kc_explanation *explanation, const struct kc_explained *kernel)
{
	return kc_json_element(kernel_json(kernel), kernel->entry == explanation->entries[0]);
}

static int put_end(const struct kc_explanation *explanation)
{
	(void)explanation;
	return kc_json_close();
}

const struct kc_explain_form kc_explain_json = {put_head, put_kernel, put_end};
