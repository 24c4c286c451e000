#include "activity_fields.h"
#include "tools/command.h"
#include "tools/output/format.h"
#include "tools/output/names/plain_name.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WIDTH 50u /* columns of a kernel's name in a note */
#define INDENT 2u

#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct kc_time_row, key, head, unit, member, __VA_ARGS__)
#define STREAMS (KC_TIME_STREAMS | KC_TIME_PAGE_STREAMS)
#define PLACES (KC_TIME_PLACES | KC_TIME_PAGE | KC_TIME_BY)

static const struct kc_field time_fields[] = {
    FIELD("of", "of", TEXT, of, KC_TIME_BY),
    FIELD("name", "name", TITLE, name, 0),
    FIELD("gpu", "GPU", TEXT, gpu, KC_TIME_PLACES | KC_TIME_BY),
    FIELD("id", NULL, ID, id, 0),
    FIELD("device", NULL, ID, device, 0),
    FIELD("kernels", NULL, COUNT64, kernels, 0),
    FIELD("copies", NULL, COUNT64, copies, 0),
    FIELD("span_ns", "first to last", NS, span_ns, 0),
    FIELD("busy_ns", NULL, NS, ns.busy, 0),
    FIELD("kernels_ns", NULL, NS, ns.kernels, 0),
    FIELD("compute_ns", NULL, NS, ns.compute, 0),
    FIELD("communication_ns", NULL, NS, ns.communication, 0),
    FIELD("communication_hidden_ns", NULL, NS, ns.hidden, 0),
    FIELD("communication_exposed_ns", NULL, NS, ns.exposed, 0),
    FIELD("copies_only_ns", NULL, NS, ns.copies_only, 0),
    FIELD("idle_ns", NULL, NS, ns.idle, 0),
    FIELD("idle_launch_bound_ns", NULL, NS, ns.launch_bound, 0),
    FIELD("idle_launched_ns", NULL, NS, ns.launched, 0),
    FIELD("idle_unknown_ns", NULL, NS, ns.unknown, 0),
    FIELD("busy_share", "busy", PERCENT, share.busy, PLACES, NULL, "a kernel or a copy ran"),
    FIELD("kernels_share", "kernels", PERCENT, share.kernels, STREAMS, NULL, "at least one kernel ran"),
    FIELD("compute_share", "computing", PERCENT, share.compute, PLACES, NULL,
	  "at least one kernel ran that does not communicate"),
    FIELD("communication_share", NULL, PERCENT, share.communication, 0),
    FIELD("communication_exposed_share", "exposed", PERCENT, share.exposed, PLACES, NULL,
	  "communication, while no kernel computed"),
    FIELD("communication_hidden_share", "hidden", PERCENT, share.hidden, PLACES, NULL,
	  "communication, while a kernel computed; a copy does not hide it"),
    FIELD("copies_only_share", "copies only", PERCENT, share.copies_only, STREAMS | PLACES, NULL,
	  "a copy ran, and no kernel"),
    FIELD("idle_share", "idle", PERCENT, share.idle, STREAMS | PLACES, NULL, "nothing ran"),
    FIELD("idle_launch_bound_share", "launch-bound", PERCENT, share.launch_bound, STREAMS | KC_TIME_PAGE, NULL,
	  "idle, as the host had not launched what ran next"),
    FIELD("idle_launched_share", NULL, PERCENT, share.launched, 0),
    FIELD("idle_unknown_share", NULL, PERCENT, share.unknown, 0),
};
#undef FIELD
const struct kc_fields kc_time_fields = KC_FIELDS(time_fields, struct kc_time_row);

#define FIELD(...) KC_FIELD_OF(struct kc_gap_row, __VA_ARGS__)
static const struct kc_field gap_fields[] = {
    FIELD("ns", "gap", NS, ns, .about = "nothing ran on the GPU"),
    FIELD("at_ns", "at", NS, at_ns, .about = "since the start of the run"),
    FIELD("cause", NULL, TEXT, cause),
    FIELD("why", "cause", TEXT, why, .csv = ""),
    FIELD("late_ns", "late", NS, late_ns, .about = "how long the GPU had been idle when what ran next was launched"),
    FIELD("waited_ns", "waited", NS, waited_ns, .about = "of that, while the host waited for the GPU"),
    FIELD("gpu", "GPU", TEXT, gpu, .in = KC_GAPS_PAGE),
    FIELD("process", "process", TEXT, process, .in = KC_GAPS_PAGE),
    FIELD("thread", "thread", ID, thread, .in = KC_GAPS_PAGE, .about = "that launched what ran next"),
    FIELD("call", "call", TEXT, call, .in = KC_GAPS_PAGE),
    FIELD("before", "before it", NAME, before, .in = KC_GAPS_PAGE),
    FIELD("before_stream", "on", TEXT, before_stream, .in = KC_GAPS_PAGE),
    FIELD("next", "next", NAME, name),
    FIELD("stream", "on", TEXT, stream, .in = KC_GAPS_PAGE),
    FIELD(NULL, NULL, NOTE, note),
};
#undef FIELD
const struct kc_fields kc_gap_fields = KC_FIELDS(gap_fields, struct kc_gap_row);

#define FIELD(...) KC_FIELD_OF(struct kc_gap_sum, __VA_ARGS__)
static const struct kc_field sum_fields[] = {
    FIELD("cause", NULL, TEXT, cause),       FIELD("why", "idle because", TEXT, why, .csv = ""),
    FIELD("count", "gaps", COUNT64, count),  FIELD("ns", "time", NS, ns),
    FIELD("share", "share", PERCENT, share), FIELD("meaning", "what it means", TITLE, meaning, .csv = ""),
};
#undef FIELD
const struct kc_fields kc_gap_sum_fields = KC_FIELDS(sum_fields, struct kc_gap_sum);

#define FIELD(...) KC_FIELD_OF(struct kc_copy_activity, __VA_ARGS__)
static const struct kc_field copy_fields[] = {
    FIELD("kind", "copies", TEXT, kind),
    FIELD("count", "count", COUNT, count),
    FIELD("bytes", "size", BYTES, bytes),
    FIELD("ns", "time", NS, ns),
    FIELD("bytes_per_s", "rate", BYTES_PER_S, bytes_per_s, .about = "bytes by the time in which they were copied"),
};
#undef FIELD
const struct kc_fields kc_copy_fields = KC_FIELDS(copy_fields, struct kc_copy_activity);

/* --- times */

static void set_parts(struct kc_time_row *row, const struct kc_time_use *use, int copies_measured)
{
	int known = !use->idle_ns || use->idle_unknown_ns != use->idle_ns;
	const double *ns = (const double *)&row->ns;
	double *share = (double *)&row->share;

	row->kernels = use->kernels;
	row->copies = use->copies;
	row->span_ns = (double)use->span_ns;
	row->ns = (struct kc_time_parts){
	    .busy = (double)use->busy_ns,
	    .kernels = (double)use->kernels_ns,
	    .compute = (double)use->compute_ns,
	    .communication = (double)use->communication_ns,
	    .hidden = (double)use->hidden_ns,
	    .exposed = (double)use->exposed_ns,
	    .copies_only = copies_measured ? (double)use->copies_only_ns : NAN,
	    .idle = (double)use->idle_ns,
	    .launch_bound = known ? (double)use->idle_launch_bound_ns : NAN,
	    .launched = known ? (double)use->idle_launched_ns : NAN,
	    .unknown = (double)use->idle_unknown_ns,
	};
	for (size_t i = 0; i < sizeof(row->ns) / sizeof(double); i++)
		share[i] = use->span_ns ? ns[i] / row->span_ns : NAN;
}

static const char *gpu_of(const struct kc_report *data, int64_t id)
{
	const struct kc_device_row *row = kc_report_device(data, id);

	if (!row)
		return "";
	return *row->gpu ? row->gpu : row->device.name;
}

static struct kc_time_row row_of(const struct kc_report *data, const struct kc_activity *activity, const char *of,
				 int64_t device, const struct kc_time_use *use)
{
	struct kc_time_row row = {.of = of, .gpu = gpu_of(data, device), .id = -1, .device = device ? device : -1};

	set_parts(&row, use, activity->copies_measured);
	return row;
}

static int make_times(const struct kc_report *data, const struct kc_activity *activity, struct kc_activity_rows *out)
{
	out->devices = calloc(activity->device_count + 1, sizeof(*out->devices));
	out->places = calloc(activity->place_count + 1, sizeof(*out->places));
	out->streams = calloc(activity->stream_count + 1, sizeof(*out->streams));
	if (!out->devices || !out->places || !out->streams)
		return -ENOMEM;
	for (size_t i = 0; i < activity->device_count; i++) {
		const struct kc_device_activity *of = activity->devices + i;

		out->devices[i] = row_of(data, activity, "GPU", of->device, &of->use);
		out->devices[i].name = *out->devices[i].gpu ? out->devices[i].gpu : "not known";
		out->devices[i].id = out->devices[i].device;
	}
	for (size_t i = 0; i < activity->place_count; i++) {
		const struct kc_place_activity *of = activity->places + i;

		out->places[i] = row_of(data, activity, "process", of->device, &of->use);
		out->places[i].name = of->name;
		out->places[i].id = of->process;
	}
	for (size_t i = 0; i < activity->stream_count; i++) {
		const struct kc_stream_activity *of = activity->streams + i;

		out->streams[i] = row_of(data, activity, "stream", of->device, &of->use);
		out->streams[i].name = of->name;
		out->streams[i].id = of->stream;
	}
	return 0;
}

/* --- gaps */

static const struct {
	const char *why, *meaning;
} causes[KC_GAP_CAUSES] = {
    [KC_GAP_HOST] = {"host was late", "launched after the GPU had become idle"},
    [KC_GAP_SYNC] = {"synchronisation", "launched late, as the host was waiting for the GPU"},
    [KC_GAP_COPY] = {"copy", "after a copy to or from the host; or one was yet to begin"},
    [KC_GAP_NOTHING] = {"nothing launched", "the process had launched nothing before"},
    [KC_GAP_STREAM] = {"another stream", "launched in time; what ran before was of another stream"},
    [KC_GAP_LAUNCH] = {"launching", "launched in time, on the stream of what ran before"},
    [KC_GAP_UNKNOWN] = {"not known", "it is not known when it was launched"},
};

static void add_text(struct kc_gap_row *row, const char *before, const char *text)
{
	char shown[4 * NAME_WIDTH + 4];

	if (text && *text)
		kc_add_text(row->text, sizeof(row->text), "%s%s", before,
			    kc_shorten_name(text, NAME_WIDTH, shown, sizeof(shown)));
}

static const char *comma(const struct kc_gap_row *row)
{
	return *row->text ? ", " : "";
}

/* "GPU 0, thread 4103, cuLaunchKernel, pid 4102, stream 2; after saxpy, pid 4102, stream 1", without what there is one
 * of, or what the stream's name tells. */
static void describe(struct kc_gap_row *row, const struct kc_activity *activity)
{
	if (activity->device_count > 1 && !strstr(row->stream, "GPU "))
		add_text(row, "", row->gpu);
	if (activity->place_count > 1 && !*row->stream)
		add_text(row, comma(row), row->process);
	if (row->thread >= 0)
		kc_add_text(row->text, sizeof(row->text), "%sthread %lld", comma(row), (long long)row->thread);
	add_text(row, comma(row), row->call);
	add_text(row, comma(row), row->stream);
	add_text(row, *row->text ? "; after " : "after ", row->before);
	add_text(row, ", ", row->before_stream);
	row->note = row->text;
}

static void fill_gap(const struct kc_report *data, const struct kc_activity *activity,
		     const struct kc_gap_activity *gap, struct kc_gap_row *row)
{
	*row = (struct kc_gap_row){
	    .ns = (double)(gap->gap.end_ns - gap->gap.start_ns),
	    .at_ns = (double)gap->at_ns,
	    .late_ns = gap->gap.late_ns < 0 ? NAN : (double)gap->gap.late_ns,
	    .waited_ns = gap->gap.waited_ns < 0 ? NAN : (double)gap->gap.waited_ns,
	    .cause = kc_gap_cause_name(gap->gap.cause),
	    .why = causes[gap->gap.cause].why,
	    .gpu = gpu_of(data, gap->device),
	    .process = gap->process_name,
	    .thread = gap->after.thread,
	    .call = gap->after.call,
	    .stream = gap->after.stream,
	    .name = gap->after.name,
	    .before = gap->before.name,
	    .before_stream = gap->before.stream,
	};
	describe(row, activity);
}

KC_ORDER(by_ns, struct kc_gap_sum, KC_DOWN(ns) ?: strcmp(x->cause, y->cause))

static int make_gaps(const struct kc_report *data, const struct kc_activity *activity, struct kc_activity_rows *out)
{
	double idle_ns = 0;

	out->gaps = calloc(activity->gap_count + 1, sizeof(*out->gaps));
	if (!out->gaps)
		return -ENOMEM;
	for (size_t i = 0; i < activity->gap_count; i++)
		fill_gap(data, activity, activity->gaps + i, out->gaps + i);
	for (unsigned i = 0; i < KC_GAP_CAUSES; i++)
		idle_ns += (double)activity->gap_ns[i];
	for (unsigned i = 0; i < KC_GAP_CAUSES; i++)
		if (activity->gap_counts[i])
			out->causes[out->cause_count++] =
			    (struct kc_gap_sum){kc_gap_cause_name(i),        causes[i].why,
						causes[i].meaning,           activity->gap_counts[i],
						(double)activity->gap_ns[i], (double)activity->gap_ns[i] / idle_ns};
	qsort(out->causes, out->cause_count, sizeof(*out->causes), by_ns);
	return 0;
}

int kc_activity_rows(const struct kc_report *data, const struct kc_activity *activity, struct kc_activity_rows *out)
{
	int rc;

	*out = (struct kc_activity_rows){0};
	rc = make_times(data, activity, out);
	return rc ? rc : make_gaps(data, activity, out);
}

void kc_activity_rows_free(struct kc_activity_rows *rows)
{
	free(rows->devices);
	free(rows->places);
	free(rows->streams);
	free(rows->gaps);
}

/* --- by time, gap or copy */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* GPUs, then processes on them, then streams, as one list. */
static int put_times(const struct kc_activity *activity, const struct kc_activity_rows *rows, size_t most,
		     struct kc_fields_form form)
{
	size_t counts[] = {activity->device_count, activity->place_count, activity->stream_count}, n = 0;
	const struct kc_time_row *from[] = {rows->devices, rows->places, rows->streams};
	struct kc_time_row *all = calloc(counts[0] + counts[1] + counts[2] + 1, sizeof(*all));
	int rc;

	if (!all)
		return -ENOMEM;
	for (int i = 0; i < 3; i++) {
		memcpy(all + n, from[i], counts[i] * sizeof(*all));
		n += counts[i];
	}
	rc = kc_fields_put(&kc_time_fields, KC_TIME_BY, all, least(n, most), form);
	free(all);
	return rc;
}

int kc_activity_by(const struct kc_report_view *view, size_t most, int csv)
{
	const struct kc_activity *activity = view->activity;
	const struct kc_fields_form form = {csv, view->data->simulated, INDENT};
	struct kc_activity_rows rows;
	int rc;

	if (activity->in_windows || activity->too_many) {
		kc_error("--by %s needs the times of all launches%s", kc_report_by_text(view->by),
			 activity->too_many ? ": add --exact, which reads all of them"
					    : ", and --measure=adaptive has left some out");
		return KC_EXIT_FAILED;
	}
	rc = kc_activity_rows(view->data, activity, &rows);
	if (rc == 0 && view->by == KC_BY_TIME)
		rc = put_times(activity, &rows, most, form);
	else if (rc == 0 && view->by == KC_BY_GAP)
		rc = kc_fields_put(&kc_gap_fields, KC_GAPS_TEXT, rows.gaps, least(activity->gap_count, most), form);
	else if (rc == 0)
		rc = kc_fields_put(&kc_copy_fields, 0, activity->copies, least(activity->copy_count, most), form);
	kc_activity_rows_free(&rows);
	return rc;
}
