#include "activity.h"
#include "store/query/names.h"
#include "report_internal.h"
#include "store/common/ids/ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct kc_store *store;
	uint64_t left;   /* rows that may still be read */
	int with_graphs; /* some were measured as one */
	sqlite3_stmt *launches, *transfers, *graphs, *device;
	struct kc_ids device_ids, stream_ids, shape_ids; /* a number less 1 is a place in the lists below */
	struct kc__list devices;                         /* int64_t: device.id */
	struct kc__list streams;                         /* struct kc_stream_activity */
	struct kc__list shapes;                          /* uint32_t: the number of the shape's device */
	int64_t clock;                                   /* of the intervals */
	struct kc__list intervals;
	struct kc_time_sums sums;
	/* The process that is being read: */
	int64_t started_ns;
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

static int device_of_shape(struct reader *r, int64_t shape, uint32_t *out)
{
	uint32_t number = kc_ids_number(&r->shape_ids, shape), *device;
	int64_t id = 0;

	if (!number)
		return -ENOMEM;
	if (number > r->shapes.count) {
		device = kc__list_add(&r->shapes, sizeof(*device));
		if (!device)
			return -ENOMEM;
		sqlite3_bind_int64(r->device, 1, shape);
		if (sqlite3_step(r->device) == SQLITE_ROW)
			id = sqlite3_column_int64(r->device, 0);
		sqlite3_reset(r->device);
		if (device_number(r, id, device) < 0)
			return -ENOMEM;
	}
	*out = ((const uint32_t *)r->shapes.at)[number - 1];
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
	uint32_t stream;
	int rc = stream_number(r, row, 1, device, &stream);

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
	if (r->imported && wait_ns == 0)
		kept->launched_ns = KC_LAUNCH_UNKNOWN;
	return 0;
}

static int add_launch(struct reader *r, sqlite3_stmt *row)
{
	struct kc_interval interval = {.launched_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 2))};
	uint32_t device;
	int rc = device_of_shape(r, sqlite3_column_int64(row, 0), &device);

	interval.start_ns = kc_plus_ns(interval.launched_ns, sqlite3_column_int64(row, 3));
	interval.end_ns = kc_plus_ns(interval.start_ns, sqlite3_column_int64(row, 4));
	return rc ? rc : add_interval(r, row, device, &interval);
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
	uint32_t device;
	int rc = device_number(r, sqlite3_column_int64(row, 0), &device);

	return rc ? rc : add_interval(r, row, device, &interval);
}

/* A graph that was measured as one is as busy as a kernel. Its times count from the start of the process. */
static int add_graph(struct reader *r, sqlite3_stmt *row)
{
	struct kc_interval interval = {
	    .launched_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 2)),
	    .start_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 3)),
	    .end_ns = kc_plus_ns(r->started_ns, sqlite3_column_int64(row, 4)),
	};
	uint32_t device;
	int rc = device_number(r, sqlite3_column_int64(row, 0), &device);

	return rc ? rc : add_interval(r, row, device, &interval);
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

static int add_up(struct reader *r)
{
	int rc = kc_time_sums_add(&r->sums, r->intervals.at, r->intervals.count);

	r->intervals.count = 0;
	return rc;
}

/* Processes come by their clocks. */
static int read_process(sqlite3_stmt *process, void *arg)
{
	struct reader *r = arg;
	int64_t id = sqlite3_column_int64(process, 0), clock = sqlite3_column_int64(process, 3);
	int rc = 0;

	if (id < 1 || id > KC_PROCESS_MAX) /* no launch can belong to it */
		return 0;
	if (clock != r->clock)
		rc = add_up(r);
	r->clock = clock;
	r->started_ns = sqlite3_column_int64(process, 1);
	r->imported = sqlite3_column_int(process, 2);
	if (rc == 0)
		rc = read_rows(r, r->launches, id, add_launch);
	if (rc == 0 && r->with_graphs)
		rc = read_rows(r, r->graphs, id, add_graph);
	return rc ? rc : read_rows(r, r->transfers, id, add_transfer);
}

static int prepare(struct reader *r)
{
	static const char launches[] = "SELECT shape, stream, launched, measured_wait, measured_span FROM launch_row"
				       " WHERE id BETWEEN ?1 AND ?2 AND measured_span NOT NULL";
	static const char transfers[] = "SELECT device, stream, launched_ns, measured_start_ns, measured_end_ns"
					" FROM transfer WHERE id BETWEEN ?1 AND ?2 AND measured_end_ns NOT NULL";
	static const char graphs[] =
	    "SELECT coalesce(device, (SELECT s.device FROM stream s WHERE s.id = stream)), stream,"
	    " time_ns, measured_start_ns, measured_end_ns FROM stream_call"
	    " WHERE id BETWEEN ?1 AND ?2 AND measured_end_ns NOT NULL";
	sqlite3 *db = r->store->db;
	int rc = sqlite3_prepare_v2(db, launches, -1, &r->launches, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, graphs, -1, &r->graphs, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, transfers, -1, &r->transfers, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "SELECT device FROM shape WHERE id = ?1", -1, &r->device, NULL);
	return kc__errno(db, rc);
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

static void close_reader(struct reader *r)
{
	sqlite3_finalize(r->launches);
	sqlite3_finalize(r->transfers);
	sqlite3_finalize(r->graphs);
	sqlite3_finalize(r->device);
	kc_ids_free(&r->device_ids);
	kc_ids_free(&r->stream_ids);
	kc_ids_free(&r->shape_ids);
	free(r->devices.at);
	free(r->streams.at);
	free(r->shapes.at);
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
	int rc = -E2BIG;

	/* A damaged ledger may say less than there is. */
	if (report->exact || report->ledger.measured + report->ledger.transfers_measured <= KC_ACTIVITY_MOST)
		rc = read_all(&r, &report->selection);
	if (rc == 0)
		rc = take_devices(&r, out);
	if (rc == 0)
		rc = take_streams(&r, out, report->process_count > 1 ? KC_STREAM_OF_RUN : KC_STREAM_OF_PROCESS);
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
	free(activity->streams);
	free(activity->devices);
	free(activity);
}
