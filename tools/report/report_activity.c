#include "report_forms.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/output/table.h"

#include <math.h>
#include <stdio.h>

#define INDENT 2u
#define GPUS_SHOWN 8u    /* as many as a node has; further ones are only counted */
#define STREAMS_SHOWN 5u /* likewise */
#define CELL KC_FORMAT_BYTES

/* NAN if it is not known of any idle time. */
static double launch_bound_ns(const struct kc_time_use *use)
{
	return use->idle_ns && use->idle_unknown_ns == use->idle_ns ? NAN : (double)use->idle_launch_bound_ns;
}

static char *percent_of(double ns, const struct kc_time_use *use, char out[static CELL])
{
	return kc_format_percent(use->span_ns ? ns / (double)use->span_ns * 100 : NAN, out);
}

static const struct kc_device_row *row_of_device(const struct kc_report *data, int64_t id)
{
	for (size_t i = 0; i < data->device_count; i++) {
		if (data->devices[i].id == id)
			return data->devices + i;
	}
	return NULL;
}

/* "NVIDIA H100 80GB HBM3"; of several "GPU 0, NVIDIA H100 80GB HBM3" */
static void print_name(const struct kc_device_row *row, int several)
{
	const char *name = row && *row->device.name ? row->device.name : "unnamed GPU";

	if (several && row && *row->gpu)
		printf("  %s, %s", row->gpu, name);
	else
		printf("  %s", name);
}

static void print_busy(const struct kc_activity *activity, const struct kc_time_use *use)
{
	char busy[CELL], kernels[CELL], copies[CELL];

	printf("    busy %s: kernels %s, ", percent_of((double)use->busy_ns, use, busy),
	       percent_of((double)use->kernels_ns, use, kernels));
	if (!activity->copies_measured)
		puts("copies were not measured (--measure=kernels)");
	else if (!use->copies)
		puts("no copies were recorded");
	else
		printf("copies only %s\n", percent_of((double)use->copies_only_ns, use, copies));
}

static void print_idle(const struct kc_time_use *use)
{
	char idle[CELL], launch_bound[CELL], launched[CELL], unknown[CELL];

	printf("    idle %s", percent_of((double)use->idle_ns, use, idle));
	if (isnan(launch_bound_ns(use))) {
		puts(": launch times are not known");
		return;
	}
	if (use->idle_ns)
		printf(": launch-bound %s (waiting for the host), already launched %s",
		       percent_of((double)use->idle_launch_bound_ns, use, launch_bound),
		       percent_of((double)use->idle_launched_ns, use, launched));
	if (use->idle_unknown_ns)
		printf(", unknown %s", percent_of((double)use->idle_unknown_ns, use, unknown));
	putchar('\n');
}

static void print_devices(const struct kc_report *data, const struct kc_activity *activity)
{
	char span[CELL];

	for (size_t i = 0; i < activity->device_count && i < GPUS_SHOWN; i++) {
		const struct kc_device_activity *one = activity->devices + i;

		print_name(row_of_device(data, one->device), activity->device_count > 1);
		printf(", %s\n", kc_format_ns((double)one->use.span_ns, span));
		print_busy(activity, &one->use);
		print_idle(&one->use);
	}
	if (activity->device_count > GPUS_SHOWN)
		printf("  and %zu more GPUs (--json lists them)\n", activity->device_count - GPUS_SHOWN);
}

static void stream_row(struct kc_table *table, const struct kc_activity *activity, const struct kc_stream_activity *one)
{
	const struct kc_time_use *use = &one->use;
	char span[CELL], kernels[CELL], copies[CELL], idle[CELL], launch_bound[CELL];

	kc_format_ns((double)use->span_ns, span);
	percent_of((double)use->kernels_ns, use, kernels);
	percent_of(activity->copies_measured ? (double)use->copies_only_ns : NAN, use, copies);
	percent_of((double)use->idle_ns, use, idle);
	percent_of(launch_bound_ns(use), use, launch_bound);
	kc_table_row(table, (const char *const[]){one->name, span, kernels, copies, idle, launch_bound});
}

/* A single stream is as busy as its GPU. */
static int print_streams(const struct kc_report_view *view)
{
	static const struct kc_column columns[] = {
	    {"stream", KC_LEFT, 1},
	    {"first to last", KC_RIGHT, 0},
	    {"kernels", KC_RIGHT, 0},
	    {"copies only", KC_RIGHT, 0},
	    {"idle", KC_RIGHT, 0},
	    {"launch-bound", KC_RIGHT, 0},
	    {0},
	};
	const struct kc_activity *activity = view->activity;
	struct kc_table table;
	int rc;

	if (activity->stream_count < 2)
		return 0;
	kc_table_init(&table, columns);
	for (size_t i = 0; i < activity->stream_count && i < STREAMS_SHOWN; i++)
		stream_row(&table, activity, activity->streams + i);
	rc = kc_table_print(&table, stdout, INDENT, view->width);
	kc_table_free(&table);
	if (activity->stream_count > STREAMS_SHOWN)
		printf("  and %zu more (--json lists them)\n", activity->stream_count - STREAMS_SHOWN);
	return rc;
}

/* Of failed calls there is nothing to measure. */
static void print_missing(const struct kc_ledger *l)
{
	uint64_t kernels = l->dropped + l->not_asked_total + l->after_end + l->elsewhere;
	uint64_t copies = l->transfers_dropped + l->transfers_not_asked;
	char count[2][CELL];

	if (l->launches > l->measured + l->failed)
		kernels += l->launches - l->measured - l->failed;
	kernels -= kernels < l->unmeasured[KC_IN_GRAPH] ? kernels : l->unmeasured[KC_IN_GRAPH];
	kernels += l->graphs_whole - l->graphs_measured; /* as one each */
	if (l->transfers > l->transfers_measured)
		copies += l->transfers - l->transfers_measured;
	if (kernels || copies)
		printf("  %s kernel%s and %s cop%s without a measured time count as idle\n",
		       kc_format_count(kernels, count[0]), kernels == 1 ? "" : "s", kc_format_count(copies, count[1]),
		       copies == 1 ? "y" : "ies");
}

int kc_report_text_activity(const struct kc_report_view *view)
{
	const struct kc_activity *activity = view->activity;
	char count[CELL];
	int rc;

	if (!activity->too_many && !activity->in_windows && !activity->device_count)
		return 0;
	if (activity->in_windows) {
		puts("\nGPU time is not shown: with --measure=adaptive, launches that are known well are not all "
		     "measured");
		return 0;
	}
	puts("\nGPU time, from the start of the first measured kernel or copy to the end of the last");
	if (activity->too_many) {
		printf("  not shown for more than %s launches and copies: --exact reads all of them\n",
		       kc_format_count(KC_ACTIVITY_MOST, count));
		return 0;
	}
	print_devices(view->data, activity);
	rc = print_streams(view);
	print_missing(&view->data->ledger);
	return rc;
}

static void set_ns(json_t *out, const char *key, int known, int64_t ns)
{
	json_object_set_new(out, key, known ? json_integer(ns) : json_null());
}

static void set_time_use(json_t *out, const struct kc_activity *activity, const struct kc_time_use *use)
{
	int launches_known = !isnan(launch_bound_ns(use));

	json_object_set_new(out, "kernels", json_integer((json_int_t)use->kernels));
	json_object_set_new(out, "copies", json_integer((json_int_t)use->copies));
	set_ns(out, "span_ns", 1, use->span_ns);
	set_ns(out, "busy_ns", 1, use->busy_ns);
	set_ns(out, "kernels_ns", 1, use->kernels_ns);
	set_ns(out, "copies_only_ns", activity->copies_measured, use->copies_only_ns);
	set_ns(out, "idle_ns", 1, use->idle_ns);
	set_ns(out, "idle_launch_bound_ns", launches_known, use->idle_launch_bound_ns);
	set_ns(out, "idle_launched_ns", launches_known, use->idle_launched_ns);
	set_ns(out, "idle_unknown_ns", 1, use->idle_unknown_ns);
}

static json_t *device_or_null(int64_t id)
{
	return id ? json_integer(id) : json_null();
}

json_t *kc_json_activity(const struct kc_activity *activity)
{
	json_t *out, *devices, *streams;

	if (activity->too_many || activity->in_windows)
		return json_null();
	out = json_object();
	devices = json_array();
	streams = json_array();
	json_object_set_new(out, "copies_measured", json_boolean(activity->copies_measured));
	for (size_t i = 0; i < activity->device_count; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "device", device_or_null(activity->devices[i].device));
		set_time_use(one, activity, &activity->devices[i].use);
		json_array_append_new(devices, one);
	}
	for (size_t i = 0; i < activity->stream_count; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "id", json_integer(activity->streams[i].stream));
		json_object_set_new(one, "name", kc_json_text(activity->streams[i].name));
		json_object_set_new(one, "device", device_or_null(activity->streams[i].device));
		set_time_use(one, activity, &activity->streams[i].use);
		json_array_append_new(streams, one);
	}
	json_object_set_new(out, "devices", devices);
	json_object_set_new(out, "streams", streams);
	return out;
}
