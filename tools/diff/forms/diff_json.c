#include "changes.h"
#include "contributors.h"
#include "step_rows.h"
#include "tools/output/filter_shown.h"
#include "tools/output/json.h"

const char *kc_diff_what_name(enum kc_diff_what what)
{
	static const char *const names[] = {
	    [KC_DIFF_SAME] = "same",   [KC_DIFF_SLOWER] = "slower", [KC_DIFF_FASTER] = "faster",
	    [KC_DIFF_FEW] = "too_few", [KC_DIFF_NEW] = "new",       [KC_DIFF_GONE] = "gone",
	};

	return names[what];
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *source_json(const struct kc_diff_source *source)
{
	json_t *out = json_object(), *runs = json_array();

	for (size_t i = 0; i < source->count; i++)
		json_array_append_new(runs, json_integer(source->runs[i].id));
	set(out, "path", kc_json_text(source->path));
	set(out, "runs", runs);
	set(out, "baseline", kc_json_text(source->baseline));
	set(out, "devices", kc_json_text(source->devices));
	return out;
}

static json_t *dimensions(const uint32_t *at)
{
	json_t *out = json_array();

	for (int i = 0; i < 3; i++)
		json_array_append_new(out, json_integer(at[i]));
	return out;
}

static json_t *shape_json(const struct kc_diff_view *view, const struct kc_diff_shape *shape)
{
	const struct kc_measured_shape *of = kc_measured_shape(view->names, shape->shape);
	const double *ns = shape->estimate.ns;
	json_t *out = json_object();

	set(out, "grid", dimensions(of->grid));
	set(out, "block", dimensions(of->block));
	set(out, "dynamic_shared_bytes", json_integer(of->dynamic_shared_bytes));
	set(out, "what", json_string(kc_diff_what_name(shape->what)));
	set(out, "old_ns", kc_json_real(ns[KC_OLD]));
	set(out, "new_ns", kc_json_real(ns[KC_NEW]));
	set(out, "change", kc_json_percent(ns[KC_NEW] / ns[KC_OLD] - 1));
	set(out, "error", kc_json_percent(shape->estimate.error));
	set(out, "p", kc_json_real(shape->p));
	return out;
}

static json_t *kernel_json(const struct kc_diff_view *view, const struct kc_diff_kernel *kernel)
{
	const struct kc_diff_change_row row = kc_diff_change_row(view, kernel);
	json_t *out = kc_fields_json(&kc_diff_change_fields, &row), *shapes = json_array();

	for (uint32_t i = 0; i < kernel->shapes; i++)
		json_array_append_new(shapes, shape_json(view, view->diff->shapes + kernel->first_shape + i));
	set(out, "shapes", shapes);
	return out;
}

static json_t *kernels_json(const struct kc_diff_view *view, unsigned whats)
{
	json_t *out = json_array();

	for (size_t i = 0; i < view->diff->count; i++)
		if (whats & 1u << view->diff->kernels[i].what)
			json_array_append_new(out, kernel_json(view, view->diff->kernels + i));
	return out;
}

static int set_contributors(const struct kc_diff_view *view, json_t *out)
{
	struct kc_diff_contributors made;
	json_t *list = json_array();
	int rc = kc_diff_contributors(view->names, view->diff, &view->limits, &made);

	for (size_t i = 0; rc == 0 && i < made.count; i++)
		json_array_append_new(list, kc_fields_json(&kc_diff_contributor_fields, made.at + i));
	set(out, "contributors", list);
	set(out, "other_contributors",
	    json_pack("{s:I, s:o, s:o, s:o}", "kernels", (json_int_t)made.others, "difference_ns",
		      kc_json_real(made.rest.ns), "old_total_ns", kc_json_real(made.rest.total_ns[KC_OLD]),
		      "new_total_ns", kc_json_real(made.rest.total_ns[KC_NEW])));
	kc_diff_contributors_free(&made);
	return rc;
}

static json_t *sums_json(const struct kc_diff *diff)
{
	json_t *out = json_object();

	set(out, "old_ns", kc_json_real(diff->total_ns[KC_OLD]));
	set(out, "new_ns", kc_json_real(diff->total_ns[KC_NEW]));
	set(out, "difference_ns", kc_json_real(diff->sums.difference));
	set(out, "change", kc_json_real(kc_diff_percent(diff)));
	set(out, "slower_ns", kc_json_real(diff->sums.slower));
	set(out, "faster_ns", kc_json_real(diff->sums.faster));
	set(out, "new_kernels_ns", kc_json_real(diff->sums.new));
	set(out, "gone_kernels_ns", kc_json_real(diff->sums.gone));
	set(out, "more_launches_ns", kc_json_real(diff->sums.mix));
	set(out, "overlap_ns", kc_json_real(diff->sums.company));
	set(out, "rest_ns", kc_json_real(diff->sums.rest));
	return out;
}

static json_t *filter_json(const struct kc_diff_view *view)
{
	static const char *const keys[KC_SIDES][3] = {
	    [KC_OLD] = {"old_launches", "of_old_launches", "old_steps_are"},
	    [KC_NEW] = {"new_launches", "of_new_launches", "new_steps_are"},
	};
	json_t *out = kc_filter_choice_json(view->filter);

	for (int i = 0; i < KC_SIDES && !json_is_null(out); i++) {
		const struct kc_filter *filter = view->sources[i].filter;
		struct kc_filter_counts counted = filter ? kc_filter_counted(filter) : (struct kc_filter_counts){0};

		set(out, keys[i][0], json_integer((json_int_t)counted.matching));
		set(out, keys[i][1], json_integer((json_int_t)counted.launches));
		set(out, keys[i][2], kc_filter_steps_json(filter));
	}
	return out;
}

static json_t *step_side_json(const struct kc_diff_step_side *of)
{
	json_t *out = json_object();

	set(out, "steps", json_integer((json_int_t)of->steps));
	set(out, "steps_are", json_string(kc_filter_steps_word(of->are)));
	set(out, "outside_launches", json_integer((json_int_t)of->outside_launches));
	set(out, "outside_ns", kc_json_real(of->outside_ns));
	return out;
}

static json_t *steps_json(const struct kc_diff_view *view)
{
	struct kc_diff_step_row rows[KC_DIFF_STEP_ROWS];

	if (!kc_diff_is_per_step(view))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "old", step_side_json(view->steps->of + KC_OLD), "new",
			 step_side_json(view->steps->of + KC_NEW), "rows",
			 kc_fields_json_list(&kc_diff_step_fields, rows, kc_diff_step_rows(view, rows)));
}

json_t *kc_diff_document(const struct kc_diff_view *view)
{
	const struct kc_diff *diff = view->diff;
	const struct kc_diff_tells tells = kc_diff_tells(diff);
	json_t *out = kc_json_document("diff", 1);

	set(out, "simulated", json_boolean(view->simulated));
	set(out, "old_source", source_json(view->sources + KC_OLD));
	set(out, "new_source", source_json(view->sources + KC_NEW));
	set(out, "over", kc_json_percent(view->limits.over));
	set(out, "floor_ns", kc_json_real(view->limits.floor_ns));
	set(out, "false_discoveries", kc_json_percent(KC_DIFF_FALSE));
	set(out, "between_runs", kc_json_percent(diff->between));
	set(out, "filter", filter_json(view));
	set(out, "per", json_string(kc_diff_is_per_step(view) ? "step" : "run"));
	set(out, "steps", steps_json(view));
	set(out, "sums", sums_json(diff));
	if (set_contributors(view, out) < 0) {
		json_decref(out);
		return NULL;
	}
	set(out, "compared_kernels", json_integer((json_int_t)diff->compared));
	set(out, "would_be_found",
	    json_pack("{s:o, s:I, s:o}", "slowdown", kc_json_percent(KC_DIFF_TELLS), "kernels",
		      (json_int_t)tells.kernels, "share", kc_json_percent(tells.share)));
	set(out, "compared_on_processes", json_integer((json_int_t)diff->on_processes));
	set(out, "not_in_baseline", json_integer((json_int_t)view->left_out));
	set(out, "changes", kernels_json(view, 1u << KC_DIFF_SLOWER | 1u << KC_DIFF_FASTER));
	set(out, "new", kernels_json(view, 1u << KC_DIFF_NEW));
	set(out, "gone", kernels_json(view, 1u << KC_DIFF_GONE));
	set(out, "others", kernels_json(view, 1u << KC_DIFF_SAME | 1u << KC_DIFF_FEW));
	return out;
}

int kc_diff_json(const struct kc_diff_view *view)
{
	return kc_json_print(kc_diff_document(view));
}
