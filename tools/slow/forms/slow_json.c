#include "slow_fields.h"
#include "slow_steps.h"
#include "store/query/names.h"
#include "tools/output/filter_shown.h"
#include "tools/output/json.h"

#include <stdlib.h>

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *name_of(const struct kc_slow_view *view, uint32_t kernel)
{
	return kc_json_text(kc_measured_kernel(view->runs->names, kernel)->name);
}

static json_t *earlier_json(const struct kc_slow_view *view)
{
	json_t *out = json_array();

	for (size_t i = 0; i < view->runs->earlier_count; i++)
		json_array_append_new(out, json_integer(view->runs->earlier[i].id));
	return out;
}

/* Its share of `of`, in percent. */
static json_t *sum_json(const struct kc_slow_sum *sum, const struct kc_slow_sum *of)
{
	json_t *out = json_object();

	set(out, "launches", json_integer((json_int_t)sum->launches));
	set(out, "ns", kc_json_real(sum->ns));
	set(out, "share", of->ns > 0 ? kc_json_real(kc_slow_percent(sum->ns, of->ns)) : json_null());
	return out;
}

static json_t *overlapped_json(const struct kc_slow_overlapped *overlapped)
{
	json_t *out = json_object();

	set(out, "launches", json_integer((json_int_t)overlapped->launches));
	set(out, "alone_ns", kc_json_real(overlapped->alone_ns));
	set(out, "together_ns", kc_json_real(overlapped->together_ns));
	set(out, "saved_ns", kc_json_real(overlapped->alone_ns - overlapped->together_ns));
	return out;
}

/* --- causes */

static json_t *pairs_json(const struct kc_slow_view *view, uint32_t kernel)
{
	json_t *out = json_array();
	size_t count;
	const struct kc_slow_pair *pairs = kc_slow_pairs_of(&view->slow->beside, kernel, &count);

	for (size_t i = 0; i < count; i++) {
		json_t *one = json_object();

		set(one, "name", name_of(view, pairs[i].other));
		set(one, "launches", json_integer((json_int_t)pairs[i].launches));
		set(one, "lost_ns", kc_json_real(pairs[i].lost_ns));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *processes_json(const struct kc_slow_view *view, uint32_t kernel)
{
	json_t *out = json_array();
	size_t count;
	const struct kc_slow_pair *pairs = kc_slow_pairs_of(&view->slow->processes, kernel, &count);

	for (size_t i = 0; i < count; i++) {
		json_t *one = json_object();
		char name[KC_PROCESS_NAME_BYTES];
		int64_t pid;
		int is_known;

		set(one, "process", json_integer(pairs[i].other));
		is_known = kc_process_name(view->store, pairs[i].other, &pid, name) == 0;
		set(one, "pid", is_known ? json_integer(pid) : json_null());
		set(one, "name", is_known && *name ? kc_json_text(name) : json_null());
		set(one, "launches", json_integer((json_int_t)pairs[i].launches));
		set(one, "lost_ns", kc_json_real(pairs[i].lost_ns));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *stragglers_json(const struct kc_slow_view *view)
{
	json_t *out = json_array();

	for (size_t i = 0; i < view->slow->stragglers.list.count; i++) {
		const struct kc_slow_process *straggler =
		    (const struct kc_slow_process *)view->slow->stragglers.list.at + i;
		struct kc_slow_straggler_row row;
		json_t *one;

		kc_slow_straggler_row(view, straggler, &row);
		one = kc_fields_json(&kc_slow_straggler_fields, &row);
		set(one, "as_a_whole", json_boolean(straggler->is_whole || straggler->since_ns != INT64_MAX));
		set(one, "since_ns",
		    straggler->since_ns == INT64_MAX ? json_null() : json_integer(kc_slow_since(view, straggler)));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *places_json(const struct kc_slow_view *view, enum kc_slow_by by)
{
	const struct kc_fields fields = kc_slow_place_fields(by);
	size_t count;
	struct kc_slow_place_row *rows = kc_slow_place_rows(view, by, KC_SORT_NONE, &count);
	json_t *out = rows ? kc_fields_json_list(&fields, rows, count < view->top ? count : view->top) : NULL;

	free(rows);
	return out;
}

static json_t *kernels_json(const struct kc_slow_view *view, enum kc_slow_cause cause)
{
	json_t *out = json_array();

	for (size_t i = 0; i < view->slow->row_count; i++) {
		const struct kc_slow_row *row = view->slow->rows + i;
		struct kc_slow_kernel_row shown;
		json_t *one;

		if (row->cause != cause)
			continue;
		kc_slow_kernel_row(view, row, &shown);
		one = kc_fields_json(&kc_slow_kernel_fields, &shown);
		set(one, "beside", cause == KC_SLOW_OVERLAP ? pairs_json(view, row->kernel) : json_array());
		set(one, "processes", cause == KC_SLOW_PROCESS ? processes_json(view, row->kernel) : json_array());
		json_array_append_new(out, one);
	}
	return out;
}

/* Of drift. null: how the GPUs were is not known. */
static json_t *gpu_states_json(const struct kc_slow_gpu_states *states)
{
	char why[KC_SLOW_WHY_BYTES];
	json_t *out;

	if (!(states->known_ns > 0))
		return json_null();
	out = json_object();
	set(out, "lost_ns", kc_json_real(states->known_ns));
	set(out, "clock_lower", states->clock_ns > 0 ? kc_json_percent(states->lower) : json_null());
	set(out, "clock_lost_ns", kc_json_real(states->clock_ns));
	set(out, "power_lost_ns", kc_json_real(states->power_ns));
	set(out, "thermal_lost_ns", kc_json_real(states->thermal_ns));
	set(out, "hardware_lost_ns", kc_json_real(states->hardware_ns));
	set(out, "others_lost_ns", kc_json_real(states->others_ns));
	set(out, "clock_share", kc_json_percent(states->clock_ns / states->known_ns));
	set(out, "others_share", kc_json_percent(states->others_ns / states->known_ns));
	set(out, "why", json_string(kc_slow_gpu_text(states, why)));
	return out;
}

static json_t *causes_json(const struct kc_slow_view *view)
{
	json_t *out = json_array();

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++) {
		const struct kc_slow_cause_row row = kc_slow_cause_row(view->slow, (enum kc_slow_cause)cause);
		json_t *one = kc_fields_json(&kc_slow_cause_fields, &row);

		set(one, "gpu", cause == KC_SLOW_DRIFT ? gpu_states_json(view->gpu_states) : json_null());
		set(one, "kernels", kernels_json(view, (enum kc_slow_cause)cause));
		json_array_append_new(out, one);
	}
	return out;
}

/* --- launches */

static json_t *parts_json(const double parts_ns[static KC_SLOW_CAUSES])
{
	json_t *out = json_object();

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		if (parts_ns[cause] > 0)
			set(out, kc_slow_cause_name((enum kc_slow_cause)cause), kc_json_real(parts_ns[cause]));
	return out;
}

static json_t *beside_json(const struct kc_slow_view *view, const struct kc_slow_beside *beside)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < beside->count; i++) {
		json_t *one = json_object();

		set(one, "name", name_of(view, beside->kernels[i]));
		set(one, "ns", json_integer(beside->ns[i]));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *launch_json(const struct kc_slow_view *view, const struct kc_slow_where *where)
{
	const struct kc_slow_found *found = where->found;
	struct kc_slow_launch_row row;
	json_t *out;

	kc_slow_launch_row(view, where, &row);
	out = kc_fields_json(&kc_slow_launch_fields, &row);
	set(out, "causes", parts_json(found->parts_ns));
	set(out, "beside", beside_json(view, &where->beside));
	return out;
}

/* null: they are not asked for */
static json_t *steps_json(const struct kc_slow_view *view)
{
	const struct kc_slow_step_row *rows = view->steps ? view->steps->list.at : NULL;
	json_t *out = view->steps ? json_array() : json_null();

	for (size_t i = 0; rows && i < view->steps->list.count && i < view->top; i++) {
		json_t *one = kc_fields_json(&kc_slow_step_fields, rows + i);

		set(one, "causes", parts_json(rows[i].causes_ns));
		set(one, "is_found", json_boolean(rows[i].are != KC_STEPS_ARE_TOLD));
		json_array_append_new(out, one);
	}
	return out;
}

json_t *kc_slow_document(const struct kc_slow_view *view)
{
	const struct kc_slow_sum not_judged = kc_slow_not_judged(view->slow);
	const struct kc_slow *slow = view->slow;
	json_t *out = kc_json_document("slow", 1), *launches = json_array();

	for (size_t i = 0; i < view->worst_count; i++)
		json_array_append_new(launches, launch_json(view, view->worst + i));
	set(out, "simulated", json_boolean(view->runs->run->simulated));
	set(out, "path", kc_json_text(view->path));
	set(out, "run", json_integer(view->runs->run->id));
	set(out, "earlier_runs", earlier_json(view));
	set(out, "earlier_runs_on_other_devices", json_integer(view->other_devices));
	set(out, "filter", kc_filter_json(view->filter));
	set(out, "over", kc_json_percent(view->limits.over));
	set(out, "floor_ns", kc_json_real(view->limits.floor_ns));
	set(out, "measured", sum_json(&slow->measured, &slow->measured));
	set(out, "judged", sum_json(&slow->judged, &slow->measured));
	set(out, "not_judged", sum_json(&not_judged, &slow->measured));
	set(out, "lost", sum_json(&slow->lost, &slow->judged));
	set(out, "unknown", sum_json(&slow->unknown, &slow->measured));
	set(out, "never_alone", sum_json(&slow->never_alone, &slow->measured));
	set(out, "overlapped", overlapped_json(&slow->overlapped));
	set(out, "processes", stragglers_json(view));
	set(out, "ranks", places_json(view, KC_SLOW_BY_RANK));
	set(out, "gpus", places_json(view, KC_SLOW_BY_GPU));
	set(out, "steps", steps_json(view));
	set(out, "causes", causes_json(view));
	set(out, "launches", launches);
	return out;
}

int kc_slow_json(const struct kc_slow_view *view)
{
	return kc_json_print(kc_slow_document(view));
}
