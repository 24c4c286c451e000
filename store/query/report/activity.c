#include "activity.h"
#include "gap_rows.h"
#include "predictor/math/order.h"
#include "predictor/prior/kernel_name.h"
#include "report_internal.h"
#include "store/common/ids/ids.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shape {
	uint32_t device; /* its number */
	int communicates;
};

struct reader {
	struct kc_store *store;
	uint64_t left;   /* rows that may still be read */
	int with_graphs; /* some were measured as one */
	sqlite3_stmt *launches, *transfers, *graphs, *waits, *shape;
	struct kc_ids device_ids, stream_ids, shape_ids, place_ids; /* a number less 1 is an index of the lists below */
	struct kc__list devices;                                    /* int64_t: device.id */
	struct kc__list streams;                                    /* struct kc_stream_activity */
	struct kc__list shapes;                                     /* struct shape */
	struct kc__list places;                                     /* struct kc_place_activity */
	struct kc__list clocks;                                     /* int64_t: when the first process started */
	struct kc__list intervals;                                  /* of the last clock, as the next */
	struct kc__list host_waits;
	struct kc_time_sums sums;
	struct kc_copy_activity copies[KC_TRANSFER_KINDS];
	/* The process that is being read: */
	int64_t process, started_ns;
	int imported;
};

static int device_number(struct reader *r, int64_t id, uint32_t *out)
{
	int64_t *device;

	*out = kc_ids_number(&r->device_ids, id);
	if (!*out)
		return -ENOMEM;
	if (*out > r->devices.count) {
		device = kc__list_add(&r->devices, sizeof(*device));
		if (!device)
			return -ENOMEM;
		*device = id;
	}
	return 0;
}

static int read_shape(struct reader *r, int64_t id, struct shape *out)
{
	struct kc_name_traits traits = {0};
	int64_t device = 0;

	sqlite3_bind_int64(r->shape, 1, id);
	if (sqlite3_step(r->shape) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(r->shape, 1);

		device = sqlite3_column_int64(r->shape, 0);
		kc_name_read(&traits, name ? name : "");
	}
	sqlite3_reset(r->shape);
	out->communicates = traits.family == KC_FAMILY_WAITING;
	return device_number(r, device, &out->device);
}

static int shape_of(struct reader *r, int64_t id, struct shape *out)
{
	uint32_t number = kc_ids_number(&r->shape_ids, id);
	struct shape *shape;

	if (!number)
		return -ENOMEM;
	if (number > r->shapes.count) {
		shape = kc__list_add(&r->shapes, sizeof(*shape));
		if (!shape || read_shape(r, id, shape) < 0)
			return -ENOMEM;
	}
	*out = ((const struct shape *)r->shapes.at)[number - 1];
	return 0;
}

/* Of the process on a device. */
static int place_number(struct reader *r, uint32_t device, uint32_t *out)
{
	struct kc_place_activity *place;

	*out = kc_ids_number(&r->place_ids, r->process << KC_SEQUENCE_BITS | device);
	if (!*out)
		return -ENOMEM;
	if (*out > r->places.count) {
		place = kc__list_add(&r->places, sizeof(*place));
		if (!place)
			return -ENOMEM;
		place->process = r->process;
		place->device = ((const int64_t *)r->devices.at)[device - 1];
	}
	return 0;
}

static int stream_number(struct reader *r, sqlite3_stmt *row, int i, uint32_t device, uint32_t *out)
{
	struct kc_stream_activity *stream;

	*out = 0;
	if (sqlite3_column_type(row, i) == SQLITE_NULL)
		return 0;
	*out = kc_ids_number(&r->stream_ids, sqlite3_column_int64(row, i));
	if (!*out)
		return -ENOMEM;
	if (*out > r->streams.count) {
		stream = kc__list_add(&r->streams, sizeof(*stream));
		if (!stream)
			return -ENOMEM;
		stream->stream = sqlite3_column_int64(row, i);
		stream->device = ((const int64_t *)r->devices.at)[device - 1];
	}
	return 0;
}

/* An impossible measurement counts as none. The row has a stream in column 1. A trace without launch times has starts
 * in their place. */
static int add_interval(struct reader *r, sqlite3_stmt *row, uint32_t device, const struct kc_interval *interval)
{
	struct kc_interval *kept;
	int64_t ns = kc_minus_ns(interval->end_ns, interval->start_ns);
	int64_t wait_ns = kc_minus_ns(interval->start_ns, interval->launched_ns);
	uint32_t stream, place = 0;
	int rc = stream_number(r, row, 1, device, &stream);

	if (rc == 0)
		rc = place_number(r, device, &place);
	if (rc < 0)
		return rc;
	if (ns < 0 || ns > KC_MEASURED_MAX_NS || interval->start_ns < KC_INTERVAL_FIRST_NS ||
	    interval->end_ns > KC_INTERVAL_LAST_NS)
		return 0;
	if (interval->launched_ns != KC_LAUNCH_UNKNOWN &&
	    (wait_ns < -KC_MEASURED_MAX_NS || wait_ns > KC_MEASURED_MAX_NS))
		return 0;
	if (!r->left)
		return -E2BIG;
	r->left--;
	kept = kc__list_add(&r->intervals, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = *interval;
	kept->device = device;
	kept->stream = stream;
	kept->place = place;
	kept->row = sqlite3_column_int64(row, 5);
	if (r->imported && wait_ns == 0)
		kept->launched_ns = KC_LAUNCH_UNKNOWN;
	return 0;
}

static int add_launch(struct reader *r, sqlite3_stmt *row)
{
	struct kc_interval interval = {.launched_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 2))};
	struct shape shape = {0};
	int rc = shape_of(r, sqlite3_column_int64(row, 0), &shape);

	interval.communicates = shape.communicates != 0;
	interval.start_ns = kc_plus_ns(interval.launched_ns, sqlite3_column_int64(row, 3));
	interval.end_ns = kc_plus_ns(interval.start_ns, sqlite3_column_int64(row, 4));
	return rc ? rc : add_interval(r, row, shape.device, &interval);
}

static int add_transfer(struct reader *r, sqlite3_stmt *row)
{
	struct kc_interval interval = {
	    .start_ns = sqlite3_column_int64(row, 3),
	    .end_ns = sqlite3_column_int64(row, 4),
	    .launched_ns =
		sqlite3_column_type(row, 2) == SQLITE_NULL ? KC_LAUNCH_UNKNOWN : sqlite3_column_int64(row, 2),
	    .is_copy = 1,
	};
	enum kc_transfer_kind kind = kc_transfer_kind_of((const char *)sqlite3_column_text(row, 6));
	struct kc_copy_activity *of = r->copies + kind;
	size_t before = r->intervals.count;
	uint32_t device;
	int rc = device_number(r, sqlite3_column_int64(row, 0), &device);

	interval.of_host = kind == KC_COPY_HTOD || kind == KC_COPY_DTOH;
	if (rc == 0)
		rc = add_interval(r, row, device, &interval);
	if (rc == 0 && r->intervals.count > before) {
		of->count++;
		of->bytes += fmax(sqlite3_column_double(row, 7), 0);
		of->ns += (double)(interval.end_ns - interval.start_ns);
	}
	return rc;
}

/* A graph that was measured as one is as busy as a kernel. Its times count from the start of the process. */
static int add_graph(struct reader *r, sqlite3_stmt *row)
{
	struct kc_interval interval = {
	    .launched_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 2)),
	    .start_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 3)),
	    .end_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 4)),
	    .is_graph = 1,
	};
	uint32_t device;
	int rc = device_number(r, sqlite3_column_int64(row, 0), &device);

	return rc ? rc : add_interval(r, row, device, &interval);
}

/* That the host has waited for the stream or the device. Earlier versions did not store how long. */
static int add_wait(struct reader *r, sqlite3_stmt *row)
{
	struct kc_host_wait *wait;
	uint32_t device, place = 0;
	int rc = device_number(r, sqlite3_column_int64(row, 0), &device);

	if (rc == 0)
		rc = place_number(r, device, &place);
	if (rc)
		return rc;
	wait = kc__list_add(&r->host_waits, sizeof(*wait));
	if (!wait)
		return -ENOMEM;
	wait->time_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 1));
	wait->began_ns = kc_minus_ns(wait->time_ns, sqlite3_column_int64(row, 2));
	wait->place = place;
	return 0;
}

static int read_rows(struct reader *r, sqlite3_stmt *rows, int64_t process,
		     int (*add)(struct reader *r, sqlite3_stmt *row))
{
	int rc = SQLITE_OK, failed = 0;

	sqlite3_bind_int64(rows, 1, process << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(rows, 2, process << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	while (!failed && (rc = sqlite3_step(rows)) == SQLITE_ROW)
		failed = add(r, rows);
	if (!failed)
		failed = kc__errno(r->store->db, rc);
	sqlite3_reset(rows);
	return failed;
}

KC_ORDER(by_time, struct kc_host_wait, KC_UP(time_ns))

static int add_up(struct reader *r)
{
	struct kc_gaps *gaps = &r->sums.gaps;
	int rc;

	if (r->host_waits.count)
		qsort(r->host_waits.at, r->host_waits.count, sizeof(struct kc_host_wait), by_time);
	gaps->clock = (int64_t)r->clocks.count;
	gaps->waits = r->host_waits.at;
	gaps->wait_count = r->host_waits.count;
	rc = kc_time_sums_add(&r->sums, r->intervals.at, r->intervals.count);
	r->intervals.count = r->host_waits.count = 0;
	return rc;
}

/* Processes come by their clocks, which are numbers from 1. */
static int begin_process(struct reader *r, sqlite3_stmt *process)
{
	int64_t *start;
	int rc = 0;

	r->process = sqlite3_column_int64(process, 0);
	r->started_ns = sqlite3_column_int64(process, 1);
	r->imported = sqlite3_column_int(process, 2);
	if (sqlite3_column_int64(process, 3) != (int64_t)r->clocks.count) {
		rc = add_up(r);
		start = kc__list_add(&r->clocks, sizeof(*start));
		if (!start)
			return -ENOMEM;
		*start = r->started_ns;
	}
	start = (int64_t *)r->clocks.at + r->clocks.count - 1;
	if (r->started_ns < *start)
		*start = r->started_ns;
	return rc;
}

static int read_process(sqlite3_stmt *process, void *arg)
{
	struct reader *r = arg;
	int rc = begin_process(r, process);
	int64_t id = r->process;

	if (rc || id < 1 || id > KC_PROCESS_MAX) /* no launch can belong to it */
		return rc;
	rc = read_rows(r, r->launches, id, add_launch);
	if (rc == 0 && r->with_graphs)
		rc = read_rows(r, r->graphs, id, add_graph);
	if (rc == 0 && !r->imported)
		rc = read_rows(r, r->waits, id, add_wait);
	return rc ? rc : read_rows(r, r->transfers, id, add_transfer);
}

static int prepare(struct reader *r)
{
#define OF_PROCESS " WHERE id BETWEEN ?1 AND ?2 AND "
#define DEVICE "coalesce(device, (SELECT s.device FROM stream s WHERE s.id = stream))"
	const struct {
		const char *sql;
		sqlite3_stmt **to;
	} all[] = {
	    {"SELECT shape, stream, launched, measured_wait, measured_span, id FROM launch_row" OF_PROCESS
	     "measured_span NOT NULL",
	     &r->launches},
	    {"SELECT device, stream, launched_ns, measured_start_ns, measured_end_ns, id, kind, bytes FROM "
	     "transfer" OF_PROCESS "measured_end_ns NOT NULL",
	     &r->transfers},
	    {"SELECT " DEVICE ", stream, time_ns, measured_start_ns, measured_end_ns, id FROM stream_call" OF_PROCESS
	     "measured_end_ns NOT NULL",
	     &r->graphs},
	    {"SELECT " DEVICE ", time_ns, ns FROM stream_call" OF_PROCESS "kind IN (?3, ?4) AND ns > 0", &r->waits},
	    {"SELECT s.device, k.name FROM shape s LEFT JOIN kernel k ON k.id = s.kernel WHERE s.id = ?1", &r->shape},
	};
#undef DEVICE
#undef OF_PROCESS
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(all) / sizeof(*all); i++)
		rc = sqlite3_prepare_v2(r->store->db, all[i].sql, -1, all[i].to, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int(r->waits, 3, KC_CALL_STREAM_IDLE);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int(r->waits, 4, KC_CALL_DEVICE_IDLE);
	return kc__errno(r->store->db, rc);
}

static int read_all(struct reader *r, const struct kc_selection *selection)
{
	static const char processes[] = "SELECT id, started_ns, source NOT NULL,"
					" dense_rank() OVER (ORDER BY run, boot_id) AS clock"
					" FROM process WHERE run BETWEEN ?1 AND ?2 ORDER BY clock, id";
	int rc = prepare(r);

	if (rc == 0)
		rc = kc__select(r->store, selection, processes, read_process, r);
	return rc ? rc : add_up(r);
}

static int longer_first(const struct kc_time_use *x, const struct kc_time_use *y, int64_t x_id, int64_t y_id)
{
	if (x->busy_ns != y->busy_ns)
		return x->busy_ns < y->busy_ns ? 1 : -1;
	return (x_id > y_id) - (x_id < y_id);
}

static int compare_devices(const void *a, const void *b)
{
	const struct kc_device_activity *x = a, *y = b;

	return longer_first(&x->use, &y->use, x->device, y->device);
}

static int compare_streams(const void *a, const void *b)
{
	const struct kc_stream_activity *x = a, *y = b;

	return longer_first(&x->use, &y->use, x->stream, y->stream);
}

static int is_used(const struct kc_time_use *use)
{
	return use->kernels || use->copies;
}

static int take_devices(const struct reader *r, struct kc_activity *out)
{
	out->devices = calloc(r->devices.count + 1, sizeof(*out->devices));
	if (!out->devices)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->devices.count; i++) {
		struct kc_time_use use = kc_time_use_of_device(&r->sums, i + 1);

		if (is_used(&use))
			out->devices[out->device_count++] =
			    (struct kc_device_activity){((const int64_t *)r->devices.at)[i], use};
	}
	qsort(out->devices, out->device_count, sizeof(*out->devices), compare_devices);
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct kc_place_activity *x = a, *y = b;
	int by_time = longer_first(&x->use, &y->use, x->process, y->process);

	return by_time ? by_time : (x->device > y->device) - (x->device < y->device);
}

static int take_places(const struct reader *r, struct kc_activity *out)
{
	int rc = 0;

	out->places = calloc(r->places.count + 1, sizeof(*out->places));
	if (!out->places)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < r->places.count; i++) {
		struct kc_place_activity *place = out->places + out->place_count;

		*place = ((const struct kc_place_activity *)r->places.at)[i];
		place->use = kc_time_use_of_place(&r->sums, i + 1);
		if (!is_used(&place->use))
			continue;
		out->place_count++;
		rc = kc__place_name(r->store, place->process, &place->name);
	}
	qsort(out->places, out->place_count, sizeof(*out->places), compare_places);
	return rc;
}

static int take_streams(const struct reader *r, struct kc_activity *out, enum kc_stream_naming naming)
{
	sqlite3_stmt *name = NULL;
	int rc =
	    kc__errno(r->store->db, sqlite3_prepare_v2(r->store->db, kc__stream_name_sql(naming), -1, &name, NULL));

	out->streams = calloc(r->streams.count + 1, sizeof(*out->streams));
	if (!out->streams)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < r->streams.count; i++) {
		struct kc_stream_activity *stream = &out->streams[out->stream_count];

		*stream = ((const struct kc_stream_activity *)r->streams.at)[i];
		stream->use = kc_time_use_of_stream(&r->sums, i + 1);
		if (!is_used(&stream->use))
			continue;
		out->stream_count++;
		stream->name = kc__row_name(name, stream->stream);
		rc = stream->name ? 0 : -ENOMEM;
	}
	sqlite3_finalize(name);
	if (rc == 0)
		qsort(out->streams, out->stream_count, sizeof(*out->streams), compare_streams);
	return rc;
}

KC_ORDER(compare_copies, struct kc_copy_activity, KC_DOWN(ns) ?: strcmp(x->kind, y->kind))

static void take_copies(struct reader *r, struct kc_activity *out)
{
	for (uint32_t kind = KC_COPY_HTOD; kind < KC_TRANSFER_KINDS; kind++) {
		struct kc_copy_activity *of = r->copies + kind;

		of->kind = kc_transfer_kind_name(kind);
		of->bytes_per_s = of->ns > 0 ? of->bytes / of->ns * 1e9 : NAN;
		if (of->count > 0)
			out->copies[out->copy_count++] = *of;
	}
	qsort(out->copies, out->copy_count, sizeof(*out->copies), compare_copies);
}

static void close_reader(struct reader *r)
{
	sqlite3_finalize(r->launches);
	sqlite3_finalize(r->transfers);
	sqlite3_finalize(r->graphs);
	sqlite3_finalize(r->waits);
	sqlite3_finalize(r->shape);
	kc_ids_free(&r->device_ids);
	kc_ids_free(&r->stream_ids);
	kc_ids_free(&r->shape_ids);
	kc_ids_free(&r->place_ids);
	free(r->devices.at);
	free(r->streams.at);
	free(r->shapes.at);
	free(r->places.at);
	free(r->clocks.at);
	free(r->host_waits.at);
	free(r->intervals.at);
	kc_time_sums_free(&r->sums);
}

static int are_copies_measured(const struct kc_report *report)
{
	for (size_t i = 0; i < report->process_count; i++) {
		if (strcmp(report->processes[i].measure, "kernels") != 0)
			return 1;
	}
	return report->process_count == 0;
}

static int make(struct kc_store *s, const struct kc_report *report, struct kc_activity *out)
{
	struct reader r = {.store = s,
			   .left = report->exact ? UINT64_MAX : KC_ACTIVITY_MOST,
			   .with_graphs = report->ledger.graphs_measured != 0};
	enum kc_stream_naming naming = report->process_count > 1 ? KC_STREAM_OF_RUN : KC_STREAM_OF_PROCESS;
	int rc = -E2BIG;

	/* A damaged ledger may say less than there is. */
	if (report->exact || report->ledger.measured + report->ledger.transfers_measured <= KC_ACTIVITY_MOST)
		rc = read_all(&r, &report->selection);
	if (rc == 0)
		rc = take_devices(&r, out);
	if (rc == 0)
		rc = take_streams(&r, out, naming);
	if (rc == 0)
		rc = take_places(&r, out);
	if (rc == 0)
		rc = kc__gap_rows(s, &r.sums.gaps, r.clocks.at, r.places.at, r.devices.at, naming, out);
	if (rc == 0)
		take_copies(&r, out);
	close_reader(&r);
	out->too_many = rc == -E2BIG;
	return out->too_many ? 0 : rc;
}

int kc_query_activity(struct kc_store *s, const struct kc_report *report, struct kc_activity **out)
{
	struct kc_activity *activity = calloc(1, sizeof(*activity));
	int rc;

	*out = NULL;
	if (!activity)
		return -ENOMEM;
	activity->copies_measured = are_copies_measured(report);
	activity->in_windows = report->ledger.unmeasured[KC_KNOWN_WELL] != 0;
	if (activity->in_windows) {
		*out = activity;
		return 0;
	}
	rc = kc__errno(s->db, sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL));
	if (rc == 0) {
		rc = make(s, report, activity);
		sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	}
	if (rc) {
		kc_activity_free(activity);
		return rc;
	}
	*out = activity;
	return 0;
}

void kc_activity_free(struct kc_activity *activity)
{
	if (!activity)
		return;
	for (size_t i = 0; i < activity->stream_count; i++)
		free(activity->streams[i].name);
	for (size_t i = 0; i < activity->place_count; i++)
		free(activity->places[i].name);
	kc_activity_keep_gaps(activity, 0);
	free(activity->gaps);
	free(activity->streams);
	free(activity->places);
	free(activity->devices);
	free(activity);
}
