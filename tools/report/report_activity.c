#include "activity_fields.h"
#include "tools/output/colour.h"
#include "tools/output/format.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#define INDENT 2u
#define GPUS_SHOWN 8u /* as many as a node has; further ones are only counted */
#define SHOWN 5u      /* likewise */
#define GAPS_SHOWN 5u
#define CELL KC_FORMAT_BYTES

static char *percent(double share, char out[static CELL])
{
	return kc_format_percent(kc_shown_number(share * 100), out);
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

static void print_busy(const struct kc_activity *activity, const struct kc_time_row *row)
{
	char busy[CELL], kernels[CELL], copies[CELL];

	printf("    busy %s: kernels %s, ", percent(row->share.busy, busy), percent(row->share.kernels, kernels));
	if (!activity->copies_measured)
		puts("copies were not measured (--measure=kernels)");
	else if (!row->copies)
		puts("no copies were recorded");
	else
		printf("copies only %s\n", percent(row->share.copies_only, copies));
}

static void print_communication(const struct kc_time_row *row)
{
	char text[4][CELL];

	if (row->ns.communication > 0)
		printf("    computing %s, communication %s: exposed %s, hidden by computing %s (copies hide none)\n",
		       percent(row->share.compute, text[0]), percent(row->share.communication, text[1]),
		       percent(row->share.exposed, text[2]), percent(row->share.hidden, text[3]));
}

static void print_idle(const struct kc_time_row *row)
{
	char idle[CELL], launch_bound[CELL], launched[CELL], unknown[CELL];

	printf("    idle %s", percent(row->share.idle, idle));
	if (isnan(row->ns.launch_bound)) {
		puts(": launch times are not known");
		return;
	}
	if (row->ns.idle > 0)
		printf(": launch-bound %s (waiting for the host), already launched %s",
		       percent(row->share.launch_bound, launch_bound), percent(row->share.launched, launched));
	if (row->ns.unknown > 0)
		printf(", unknown %s", percent(row->share.unknown, unknown));
	putchar('\n');
}

static void print_devices(const struct kc_report *data, const struct kc_activity *activity,
			  const struct kc_activity_rows *rows)
{
	char span[CELL];

	for (size_t i = 0; i < activity->device_count && i < GPUS_SHOWN; i++) {
		const struct kc_time_row *row = rows->devices + i;

		print_name(kc_report_device(data, row->device), activity->device_count > 1);
		printf(", %s\n", kc_format_ns(row->span_ns, span));
		print_busy(activity, row);
		print_communication(row);
		print_idle(row);
	}
	if (activity->device_count > GPUS_SHOWN)
		printf("  and %zu more GPUs (--by time shows them)\n", activity->device_count - GPUS_SHOWN);
}

/* A single stream is as busy as its GPU, and so is a single process. */
static int print_times(const char *name, const struct kc_time_row *rows, size_t count, unsigned in)
{
	struct kc_fields fields = kc_time_fields;
	int rc;

	if (count < 2)
		return 0;
	fields.name = name;
	rc = kc_fields_table(&fields, in, rows, count < SHOWN ? count : SHOWN, INDENT);
	if (count > SHOWN)
		printf("  and %zu more (--by time shows them)\n", count - SHOWN);
	return rc;
}

static int print_gaps(const struct kc_report_view *view, const struct kc_activity_rows *rows)
{
	size_t count = view->activity->gap_count, most = view->sorting.top ? view->sorting.top : GAPS_SHOWN;
	int rc;

	if (!count)
		return 0;
	rc = kc_fields_table(&kc_gap_sum_fields, 0, rows->causes, rows->cause_count, INDENT);
	if (rc)
		return rc;
	kc_heading("Longest idle gaps of GPUs, and what ran next (at: since the start of the run)");
	rc = kc_fields_table(&kc_gap_fields, KC_GAPS_TEXT, rows->gaps, count < most ? count : most, INDENT);
	if (count > most)
		printf("  and %zu more (--by gap shows them)\n", count - most);
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

static int print_all(const struct kc_report_view *view, const struct kc_activity_rows *rows)
{
	const struct kc_activity *activity = view->activity;
	int rc;

	print_devices(view->data, activity, rows);
	rc = print_times("rank or process", rows->places, activity->place_count, KC_TIME_PLACES);
	if (rc == 0)
		rc = print_times("stream", rows->streams, activity->stream_count, KC_TIME_STREAMS);
	if (rc == 0 && activity->copy_count)
		rc = kc_fields_table(&kc_copy_fields, 0, activity->copies, activity->copy_count, INDENT);
	print_missing(&view->data->ledger);
	return rc ? rc : print_gaps(view, rows);
}

int kc_report_text_activity(const struct kc_report_view *view)
{
	const struct kc_activity *activity = view->activity;
	struct kc_activity_rows rows;
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
	rc = kc_activity_rows(view->data, activity, &rows);
	if (rc == 0)
		rc = print_all(view, &rows);
	kc_activity_rows_free(&rows);
	return rc;
}

json_t *kc_json_activity(const struct kc_report *data, const struct kc_activity *activity)
{
	struct kc_activity_rows rows;
	json_t *out;

	if (activity->too_many || activity->in_windows)
		return json_null();
	if (kc_activity_rows(data, activity, &rows)) {
		kc_activity_rows_free(&rows);
		return NULL;
	}
	out = json_object();
#define SET(key, fields, rows, n) json_object_set_new(out, key, kc_fields_json_list(&(fields), rows, n))
	json_object_set_new(out, "copies_measured", json_boolean(activity->copies_measured));
	SET("copies", kc_copy_fields, activity->copies, activity->copy_count);
	SET("devices", kc_time_fields, rows.devices, activity->device_count);
	SET("processes", kc_time_fields, rows.places, activity->place_count);
	SET("streams", kc_time_fields, rows.streams, activity->stream_count);
	SET("idle_causes", kc_gap_sum_fields, rows.causes, rows.cause_count);
	SET("gaps", kc_gap_fields, rows.gaps, activity->gap_count);
#undef SET
	kc_activity_rows_free(&rows);
	return out;
}
