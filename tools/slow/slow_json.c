#include "slow_forms.h"
#include "store/query/names.h"
#include "tools/output/filter_shown.h"
#include "tools/output/json.h"

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

static json_t *sum_json(const struct kc_slow_sum *sum)
{
	json_t *out = json_object();

	set(out, "launches", json_integer((json_int_t)sum->launches));
	set(out, "ns", kc_json_real(sum->ns));
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

		set(one, "process", json_integer(pairs[i].other));
		set(one, "pid",
		    kc_process_name(view->store, pairs[i].other, &pid, name) == 0 ? json_integer(pid) : json_null());
		set(one, "launches", json_integer((json_int_t)pairs[i].launches));
		set(one, "lost_ns", kc_json_real(pairs[i].lost_ns));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *kernels_json(const struct kc_slow_view *view, enum kc_slow_cause cause)
{
	json_t *out = json_array();

	for (size_t i = 0; i < view->slow->row_count; i++) {
		const struct kc_slow_row *row = view->slow->rows + i;
		json_t *one;

		if (row->cause != cause)
			continue;
		one = json_object();
		set(one, "name", name_of(view, row->kernel));
		set(one, "launches", json_integer((json_int_t)row->launches));
		set(one, "took_ns", kc_json_real(row->took_ns));
		set(one, "lost_ns", kc_json_real(row->lost_ns));
		set(one, "beside", cause == KC_SLOW_OVERLAP ? pairs_json(view, row->kernel) : json_array());
		set(one, "processes", cause == KC_SLOW_PROCESS ? processes_json(view, row->kernel) : json_array());
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *causes_json(const struct kc_slow_view *view)
{
	json_t *out = json_array();

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++) {
		const struct kc_slow_sum *sum = view->slow->causes + cause;
		json_t *one = json_object();

		set(one, "cause", json_string(kc_slow_cause_name((enum kc_slow_cause)cause)));
		set(one, "launches", json_integer((json_int_t)sum->launches));
		set(one, "lost_ns", kc_json_real(sum->ns));
		set(one, "kernels", kernels_json(view, (enum kc_slow_cause)cause));
		json_array_append_new(out, one);
	}
	return out;
}

/* --- launches */

static json_t *parts_json(const struct kc_slow_found *found)
{
	json_t *out = json_object();

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		if (found->parts_ns[cause] > 0)
			set(out, kc_slow_cause_name((enum kc_slow_cause)cause), kc_json_real(found->parts_ns[cause]));
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
	json_t *out = json_object();

	set(out, "name", name_of(view, kc_measured_shape(view->runs->names, found->shape)->kernel));
	set(out, "process", json_integer(where->origin.process));
	set(out, "sequence", json_integer(where->origin.sequence));
	set(out, "pid", json_integer(where->origin.pid));
	set(out, "stream", where->origin.stream ? json_integer(where->origin.stream) : json_null());
	set(out, "after_ns", json_integer(where->after_ns));
	set(out, "took_ns", kc_json_real(found->took_ns));
	set(out, "should_ns", kc_json_real(found->should_ns));
	set(out, "lost_ns", kc_json_real(found->lost_ns));
	set(out, "cause", json_string(kc_slow_cause_name(found->cause)));
	set(out, "causes", parts_json(found));
	set(out, "beside", beside_json(view, &where->beside));
	return out;
}

json_t *kc_slow_document(const struct kc_slow_view *view)
{
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
	set(out, "measured", sum_json(&slow->measured));
	set(out, "lost", sum_json(&slow->lost));
	set(out, "unknown", sum_json(&slow->unknown));
	set(out, "never_alone", sum_json(&slow->never_alone));
	set(out, "causes", causes_json(view));
	set(out, "launches", launches);
	return out;
}

int kc_slow_json(const struct kc_slow_view *view)
{
	return kc_json_print(kc_slow_document(view));
}
