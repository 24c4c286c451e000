#include "tools/output/filter_shown.h"
#include "tools/output/json.h"
#include "report_fields.h"
#include "scope_fields.h"
#include "step_fields.h"
#include "step_searches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
	set(object, key, json_integer((json_int_t)value));
}

static json_t *reasons(const uint64_t *counts, unsigned n, const char *(*name)(uint32_t))
{
	json_t *out = json_object();

	for (unsigned i = 1; i < n; i++)
		set_count(out, name(i), counts[i]);
	return out;
}

static json_t *ledger(const struct kc_ledger *l)
{
	json_t *out = json_object();

	set_count(out, "launches", l->launches);
	set_count(out, "predicted", l->predicted);
	set_count(out, "unpredictable", l->unpredictable_total);
	set(out, "unpredictable_reasons", reasons(l->unpredictable, KC_UNPREDICTABLE_COUNT, kc_unpredictable_name));
	set_count(out, "failed", l->failed);
	set_count(out, "unreturned", l->unreturned);
	set_count(out, "measured", l->measured);
	set_count(out, "matched", l->matched);
	set_count(out, "unmeasured", l->unmeasured_total);
	set(out, "unmeasured_reasons", reasons(l->unmeasured, KC_UNMEASURED_COUNT, kc_unmeasured_name));
	set_count(out, "awaited", l->awaited);
	set_count(out, "records", l->cupti_records);
	set_count(out, "unmatched", l->unmatched);
	set_count(out, "invalid", l->invalid);
	set_count(out, "records_lost", l->records_lost);
	set_count(out, "records_awaited", l->records_awaited);
	set_count(out, "records_dropped", l->records_dropped);
	set_count(out, "dropped", l->dropped);
	set_count(out, "after_end", l->after_end);
	set_count(out, "not_asked", l->not_asked_total);
	set(out, "not_asked_reasons", reasons(l->not_asked, KC_NOT_ASKED_COUNT, kc_not_asked_name));
	set_count(out, "transfers_not_asked", l->transfers_not_asked);
	set_count(out, "calls", l->calls);
	set_count(out, "captured", l->captured);
	set_count(out, "graph_launches", l->graph_launches);
	set_count(out, "graphs_unknown", l->graphs_unknown);
	set_count(out, "elsewhere", l->elsewhere);
	set_count(out, "routed_by_name", l->routed_by_name);
	set_count(out, "left_unhooked", l->left_unhooked);
	set_count(out, "loads_unseen", l->loads_unseen);
	set_count(out, "transfers", l->transfers);
	set_count(out, "transfers_measured", l->transfers_measured);
	set_count(out, "transfer_records", l->transfer_records);
	set_count(out, "transfers_unmatched", l->transfer_unmatched);
	set_count(out, "transfers_dropped", l->transfers_dropped);
	set_count(out, "graphs_whole", l->graphs_whole);
	set_count(out, "graphs_measured", l->graphs_measured);
	set_count(out, "graphs_unmatched", l->graphs_unmatched);
	set_count(out, "stream_calls_dropped", l->stream_calls_dropped_total);
	set(out, "stream_calls_dropped_kinds",
	    reasons(l->stream_calls_dropped, KC_STREAM_CALL_COUNT, kc_stream_call_name));
	set_count(out, "events_dropped", l->events_dropped);
	set(out, "adds_up", json_boolean(kc_ledger_adds_up(l)));
	return out;
}

json_t *kc_json_accuracy(const struct kc_accuracy *a)
{
	const struct kc_fields fields = kc_report_fields(NULL);
	const struct kc_report_row row = kc_report_row_of(NULL, a);
	json_t *whole = kc_fields_json(&fields, &row), *out = json_incref(json_object_get(whole, "accuracy"));

	json_decref(whole);
	return out;
}

static json_t *hints(uint32_t bits)
{
	json_t *out = json_array();

	for (uint32_t bit = 1; bit <= KC_HINT_LAST; bit <<= 1) {
		if (bits & bit)
			json_array_append_new(out, json_string(kc_hint_text(bit)));
	}
	return out;
}

static void leave_out_of_kernels(json_t *group)
{
	json_object_del(group, "class");
	json_object_del(group, "work");
}

/* Nobody may have asked for the work. */
static void set_of_kernel(json_t *out, const struct kc_report *data, const struct kc_group *kernel)
{
	set(out, "why", hints(kernel->hints));
	if (isnan(data->work_ns))
		json_object_del(out, "work");
	else if (!kernel->work.launches)
		set(out, "work", json_null());
}

json_t *kc_json_groups(const struct kc_report *data, enum kc_report_by by)
{
	const struct kc_groups *groups = kc_report_groups(data, by);
	const struct kc_fields fields = kc_report_fields(NULL);
	json_t *out = json_array();

	for (size_t i = 0; i < groups->count; i++) {
		struct kc_report_row row;
		json_t *one;

		kc_report_row_fill(&row, data, groups->at + i, by == KC_BY_KERNEL);
		one = kc_fields_json(&fields, &row);
		if (by == KC_BY_KERNEL)
			set_of_kernel(one, data, groups->at + i);
		else
			leave_out_of_kernels(one);
		json_array_append_new(out, one);
	}
	return out;
}

json_t *kc_json_concurrency(const struct kc_report *data)
{
	static const char *const overlaps[KC_OVERLAPS] = {"unknown", "solo", "behind", "overtaken"};
	json_t *out = json_object(), *slowdown = json_object();

	for (unsigned i = 0; i < KC_CASES; i++) {
		json_t *row = json_object();

		for (unsigned k = 0; k < KC_OVERLAPS; k++)
			set_count(row, overlaps[k], data->concurrency[i][k]);
		set(out, kc_case_name(i), row);
	}
	set_count(slowdown, "n", data->slowdown.n);
	set_count(slowdown, "without_solo_median", data->slowdown.without);
	set(slowdown, "mape", kc_json_percent(data->slowdown.mape));
	set(slowdown, "mean_predicted", kc_json_real(data->slowdown.mean_predicted));
	set(slowdown, "mean_measured", kc_json_real(data->slowdown.mean_measured));
	set(slowdown, "mape_waves", kc_json_percent(data->slowdown.mape_waves));
	set(slowdown, "mean_waves", kc_json_real(data->slowdown.mean_waves));
	set(out, "slowdown", slowdown);
	return out;
}

static json_t *devices(const struct kc_report *data)
{
	json_t *out = json_array();

	for (size_t i = 0; i < data->device_count; i++) {
		const struct kc_device_row *row = data->devices + i;
		json_t *one = json_object();

		set(one, "id", json_integer(row->id));
		set(one, "name", kc_json_text(row->device.name));
		set(one, "gpu", *row->gpu ? kc_json_text(row->gpu) : json_null());
		set(one, "uuid", *row->uuid ? kc_json_text(row->uuid) : json_null());
		set(one, "bus", *row->bus ? kc_json_text(row->bus) : json_null());
		set(one, "simulated", json_boolean(row->device.simulated));
		set(one, "driver_version", row->driver_version ? json_integer(row->driver_version) : json_null());
		set(one, "memory_bytes",
		    row->device.memory_bytes ? json_integer((json_int_t)row->device.memory_bytes) : json_null());
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *number_json(int64_t number)
{
	return number < 0 ? json_null() : json_integer(number);
}

/* "0, 1" */
static json_t *numbers_json(const char *list)
{
	json_t *out = json_array();
	char *end;

	for (long long number; *list; list = end + strspn(end, ", ")) {
		number = strtoll(list, &end, 10);
		if (end == list)
			break;
		json_array_append_new(out, json_integer(number));
	}
	return out;
}

static json_t *text_json(const char *text)
{
	return *text ? kc_json_text(text) : json_null();
}

static json_t *processes(const struct kc_report *data)
{
	json_t *out = json_array();

	for (size_t i = 0; i < data->process_count; i++) {
		const struct kc_process_row *row = data->processes + i;
		json_t *one = json_object();

		set(one, "run", json_integer(row->run));
		set_count(one, "pid", row->pid);
		set(one, "name", kc_json_text(row->name));
		set(one, "rank", number_json(row->rank));
		set(one, "local_rank", number_json(row->local_rank));
		set(one, "world_size", number_json(row->world_size));
		set(one, "host", text_json(row->host));
		set(one, "container", text_json(row->container));
		set(one, "visible_devices", text_json(row->visible_devices));
		set(one, "job", text_json(row->job));
		set(one, "gpus", numbers_json(row->gpus));
		set(one, "command_line", kc_json_text(row->command_line));
		set(one, "ended", kc_json_text(row->ended));
		set(one, "started_unix_ns", json_integer(row->started_unix_ns));
		set(one, "duration_ns", row->duration_ns ? json_integer(row->duration_ns) : json_null());
		set_count(one, "launches", row->launches);
		set(one, "measure", kc_json_text(row->measure));
		set(one, "simulated", json_boolean(row->simulated));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *graphs(const struct kc_report *data)
{
	json_t *out = json_array();

	for (size_t i = 0; i < data->graph_count; i++) {
		const struct kc_graph_row *row = data->graphs + i;
		json_t *one = json_object();

		set(one, "kernels", row->kernels ? json_integer((json_int_t)row->kernels) : json_null());
		set_count(one, "launches", row->launches);
		set_count(one, "measured", row->measured);
		set(one, "mean_predicted_ns", kc_json_real(row->mean_predicted_ns));
		set(one, "mean_measured_ns", kc_json_real(row->mean_measured_ns));
		set(one, "error", kc_json_percent(row->error));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *messages(const struct kc_report *data)
{
	static const char *const severities[] = {"info", "warning", "error"};
	json_t *out = json_array();

	for (size_t i = 0; i < data->message_count; i++) {
		const struct kc_message_row *row = data->messages + i;
		json_t *one = json_object();

		set(one, "severity", json_string(severities[row->severity < 2 ? row->severity : 2]));
		set(one, "code", kc_json_text(row->code));
		set(one, "text", kc_json_text(row->text));
		set_count(one, "count", row->count);
		set(one, "process", json_integer(row->process));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *scopes(const struct kc_report_view *view, enum kc_scope_kind kind)
{
	return view->scopes[kind] ? kc_json_scopes(view->scopes[kind]) : json_null();
}

json_t *kc_report_json(const struct kc_report_view *view)
{
	const struct kc_report *data = view->data;
	json_t *out = kc_json_document("report", 1), *runs = json_object();

	set(out, "simulated", json_boolean(data->simulated));
	set(out, "database", kc_json_text(view->database));
	set(runs, "first", json_integer(data->selection.first_run));
	set(runs, "last", json_integer(data->selection.last_run));
	set(out, "runs", runs);
	set(out, "exact", json_boolean(data->exact));
	set(out, "filter", kc_filter_json(view->filter));
	set(out, "ledger", ledger(&data->ledger));
	set(out, "accuracy", kc_json_accuracy(&data->all));
	set(out, "first_seen", kc_json_accuracy(&data->novelty[KC_FIRST_SEEN]));
	set(out, "new_size", kc_json_accuracy(&data->novelty[KC_NEW_SIZE]));
	set(out, "repeated", kc_json_accuracy(&data->novelty[KC_REPEATED]));
	set(out, "solo", kc_json_accuracy(&data->solo));
	set(out, "overlapped", kc_json_accuracy(&data->overlapped));
	set(out, "behind", kc_json_accuracy(&data->behind));
	set(out, "overtaken", kc_json_accuracy(&data->overtaken));
	set(out, "measured_ns", kc_json_real(data->measured_ns));
	set(out, "work_known", kc_json_percent(data->work_ns / data->measured_ns));
	set(out, "kernels", kc_json_groups(data, KC_BY_KERNEL));
	set(out, "models", kc_json_groups(data, KC_BY_MODEL));
	set(out, "streams", kc_json_groups(data, KC_BY_STREAM));
	set(out, "ranks", kc_json_groups(data, KC_BY_RANK));
	set(out, "gpus", kc_json_groups(data, KC_BY_GPU));
	set(out, "classes", kc_json_groups(data, KC_BY_CLASS));
	set(out, "cases", kc_json_groups(data, KC_BY_CASE));
	set(out, "concurrency", kc_json_concurrency(data));
	set(out, "activity", kc_json_activity(data, view->activity));
	set(out, "steps", view->steps ? kc_json_steps(view->steps) : json_null());
	set(out, "found_steps", view->steps ? kc_json_found_steps(view->steps) : json_null());
	set(out, "step_searches", view->steps ? kc_json_step_searches(view->steps) : json_null());
	set(out, "ranges", scopes(view, KC_SCOPE_RANGE));
	set(out, "operators", scopes(view, KC_SCOPE_OPERATOR));
	set(out, "graphs", graphs(data));
	set(out, "devices", devices(data));
	set(out, "processes", processes(data));
	set(out, "messages", messages(data));
	return out;
}
