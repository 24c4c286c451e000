#include "tools/command.h"
#include "export.h"
#include "store/common/version.h"
#include "tools/output/filter_shown.h"
#include "tools/output/json.h"

#include "store/database/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <search.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/*
 * A track shows slices that follow or enclose one another. Predictions made at
 * different times may cross: what would, goes to the next lane of its stream.
 */
#define LANES 8u
#define KINDS 2u /* predicted, measured */
#define STREAM_NAME "CASE kind WHEN 'legacy' THEN 'default stream' ELSE 'stream ' || local END"
static const char *const kind_names[KINDS] = {"predicted", "measured"};

struct track {
	int64_t stream, process;
	int64_t end_ns[KINDS][LANES];
	unsigned lanes[KINDS]; /* in use */
};

struct process {
	int64_t id;
	int64_t to_unix_ns; /* to be added to its times; the same for a whole run */
};

struct trace {
	FILE *to;
	struct kc_filter *filter;
	int events;
	int64_t base_unix_ns;      /* time 0 of the trace */
	void *tracks;              /* tree of struct track (tsearch) */
	struct process *processes; /* by id */
	size_t process_count;
	sqlite3_stmt *stream_name;
	FILE *args; /* open_memstream(): of an event, for both of its slices */
	char *args_text;
	size_t args_bytes;
};

struct event { /* a launch or a transfer */
	int64_t process, stream;
	const char *name, *category;
	int64_t start_ns[KINDS], end_ns[KINDS]; /* end 0: has none */
};

static int64_t integer(sqlite3_stmt *row, int i)
{
	return sqlite3_column_int64(row, i);
}

static const char *text(sqlite3_stmt *row, int i)
{
	return (const char *)sqlite3_column_text(row, i);
}

static void put_string(FILE *to, const char *string)
{
	json_t *value = kc_json_text(string);

	kc_json_write(value, to, JSON_ENCODE_ANY);
	json_decref(value);
}

/* Most of the time of a large trace goes into its numbers: printf() is slower where it is also given text. */
static void put_key(FILE *to, const char *key)
{
	fputs(",\"", to);
	fputs(key, to);
	fputs("\":", to);
}

static void put_us(FILE *to, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	if (ns < 0)
		fputc('-', to);
	fprintf(to, "%" PRIu64 ".%03u", size / 1000, (unsigned)(size % 1000));
}

static void begin_event(struct trace *trace)
{
	fputs(trace->events++ ? ",\n" : "\n", trace->to);
}

static void put_metadata(struct trace *trace, int64_t pid, int64_t tid, const char *what, const char *name)
{
	begin_event(trace);
	fprintf(trace->to,
		"{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":\"%s\",\"args\":{\"name\":", pid, tid,
		what);
	put_string(trace->to, name);
	fputs("}}", trace->to);
}

static void put_sort_index(struct trace *trace, int64_t pid, int64_t tid)
{
	begin_event(trace);
	fprintf(trace->to,
		"{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRId64 "}}",
		pid, tid, tid);
}

static int64_t track_id(const struct track *track, unsigned kind, unsigned lane)
{
	return (int64_t)((uint64_t)track->stream * (KINDS * LANES) + kind * LANES + lane);
}

/* "stream 3 predicted", "default stream measured (2)" */
static void name_lane(struct trace *trace, const struct track *track, unsigned kind, unsigned lane)
{
	char name[128], number[16] = "";
	sqlite3_stmt *row = trace->stream_name;
	int64_t tid = track_id(track, kind, lane);

	if (lane > 0)
		snprintf(number, sizeof(number), " (%u)", lane + 1);
	sqlite3_bind_int64(row, 1, track->stream);
	if (sqlite3_step(row) == SQLITE_ROW)
		snprintf(name, sizeof(name), "%s %s%s", text(row, 0), kind_names[kind], number);
	else
		snprintf(name, sizeof(name), "stream ? %s%s", kind_names[kind], number);
	sqlite3_reset(row);
	put_metadata(trace, track->process, tid, "thread_name", name);
	put_sort_index(trace, track->process, tid);
}

static int compare_tracks(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

/* NULL: out of memory. */
static struct track *track_of(struct trace *trace, const struct event *event)
{
	struct track wanted = {.stream = event->stream, .process = event->process};
	struct track **found = tfind(&wanted, &trace->tracks, compare_tracks), *track;

	if (found)
		return *found;
	track = malloc(sizeof(*track));
	if (!track)
		return NULL;
	*track = wanted;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (unsigned lane = 0; lane < LANES; lane++)
			track->end_ns[kind][lane] = INT64_MIN;
	}
	if (!tsearch(track, &trace->tracks, compare_tracks)) {
		free(track);
		return NULL;
	}
	return track;
}

static unsigned lane_for(struct trace *trace, struct track *track, unsigned kind, int64_t start_ns, int64_t end_ns)
{
	unsigned lane = 0;

	while (lane + 1 < LANES && track->end_ns[kind][lane] > start_ns)
		lane++;
	for (; track->lanes[kind] <= lane; track->lanes[kind]++)
		name_lane(trace, track, kind, track->lanes[kind]);
	track->end_ns[kind][lane] = end_ns;
	return lane;
}

static const struct process *process_of(const struct trace *trace, int64_t id)
{
	size_t low = 0, high = trace->process_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (trace->processes[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < trace->process_count && trace->processes[low].id == id ? trace->processes + low : NULL;
}

/* Prints the event up to its args, which the caller adds. */
static void put_slice(struct trace *trace, struct track *track, const struct event *event, unsigned kind)
{
	const struct process *process = process_of(trace, event->process);
	int64_t offset = process ? kc_minus_ns(process->to_unix_ns, trace->base_unix_ns) : 0;
	unsigned lane = lane_for(trace, track, kind, event->start_ns[kind], event->end_ns[kind]);

	begin_event(trace);
	fputs("{\"ph\":\"X\",\"name\":", trace->to);
	put_string(trace->to, event->name ? event->name : "unknown");
	put_key(trace->to, "cat");
	fputc('"', trace->to);
	fputs(event->category, trace->to);
	fputc(',', trace->to);
	fputs(kind_names[kind], trace->to);
	fprintf(trace->to, "\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", event->process,
		track_id(track, kind, lane));
	put_us(trace->to, kc_plus_ns(event->start_ns[kind], offset));
	put_key(trace->to, "dur");
	put_us(trace->to, kc_minus_ns(event->end_ns[kind], event->start_ns[kind]));
	put_key(trace->to, "args");
}

static const char launch_sql[] =
    "SELECT l.process << 40 | l.sequence, l.process, coalesce(l.stream, 0), k.name, l.start_ns, l.end_ns,"
    " l.measured_start_ns, l.measured_end_ns, l.sequence, l.model, l.concurrency_case, l.overlap, l.novelty,"
    " l.slowdown, l.solo_ns, l.solo_low_ns, l.solo_high_ns, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y,"
    " l.block_z, l.unpredictable, l.unmeasured, l.dynamic_shared_bytes, " KC__EXPORT_FILTER(
	"l", "l.kernel") " FROM launch l LEFT JOIN kernel k ON k.id = l.kernel LEFT JOIN process p ON p.id = l.process"
			 " WHERE l.run BETWEEN ?1 AND ?2";

static const char transfer_sql[] =
    "SELECT t.id, t.process, coalesce(t.stream, 0), t.kind, t.start_ns, t.end_ns, t.measured_start_ns,"
    " t.measured_end_ns, t.bytes, " KC__EXPORT_FILTER("t", "NULL") " FROM transfer t JOIN process p ON p.id = t.process"
								   " WHERE p.run BETWEEN ?1 AND ?2 ORDER BY t.id";

static void put_named(FILE *to, const char *key, const char *value)
{
	if (!value)
		return;
	put_key(to, key);
	put_string(to, value);
}

/* What is not known, or damaged so that JSON has no number for it, is left out. */
static void put_number(FILE *to, const char *key, sqlite3_stmt *row, int i)
{
	int type = sqlite3_column_type(row, i);

	if (type == SQLITE_INTEGER) {
		put_key(to, key);
		fprintf(to, "%" PRId64, integer(row, i));
	} else if (type == SQLITE_FLOAT && isfinite(sqlite3_column_double(row, i))) {
		put_key(to, key);
		fprintf(to, "%.4f", sqlite3_column_double(row, i));
	}
}

static void put_dimensions(FILE *to, const char *key, sqlite3_stmt *row, int i)
{
	int64_t x = integer(row, i), y = integer(row, i + 1), z = integer(row, i + 2);

	if (x > 0 && y > 0 && z > 0) {
		put_key(to, key);
		fprintf(to, "\"%" PRId64 "x%" PRId64 "x%" PRId64 "\"", x, y, z);
	}
}

static void put_launch_args(FILE *to, sqlite3_stmt *row, const struct event *event)
{
	int64_t predicted = kc_minus_ns(event->end_ns[0], event->start_ns[0]);
	int64_t measured = kc_minus_ns(event->end_ns[1], event->start_ns[1]);

	fprintf(to, "{\"launch\":%" PRId64, integer(row, 8));
	if (event->end_ns[0] && event->end_ns[1] && measured > 0)
		fprintf(to, ",\"error_percent\":%.3f,\"predicted_ns\":%" PRId64 ",\"measured_ns\":%" PRId64,
			fabs((double)(predicted - measured)) / (double)measured * 100, predicted, measured);
	put_named(to, "model", text(row, 9));
	put_named(to, "case", text(row, 10));
	put_named(to, "overlap", text(row, 11));
	put_named(to, "novelty", text(row, 12));
	put_named(to, "unpredictable", text(row, 23));
	put_named(to, "unmeasured", text(row, 24));
	if (event->end_ns[0]) {
		put_number(to, "slowdown", row, 13);
		put_number(to, "solo_ns", row, 14);
		put_number(to, "solo_low_ns", row, 15);
		put_number(to, "solo_high_ns", row, 16);
	}
	put_dimensions(to, "grid", row, 17);
	put_dimensions(to, "block", row, 20);
	if (integer(row, 17) > 0) /* else the launch shape is not known */
		put_number(to, "dynamic_shared_bytes", row, 25);
	fputc('}', to);
}

static void put_transfer_args(FILE *to, sqlite3_stmt *row, const struct event *event)
{
	(void)event;
	if (sqlite3_column_type(row, 8) == SQLITE_INTEGER)
		fprintf(to, "{\"bytes\":%" PRId64 "}", integer(row, 8));
	else
		fputs("{}", to);
}

static struct event event_of(sqlite3_stmt *row, const char *category)
{
	return (struct event){
	    .process = integer(row, 1),
	    .stream = integer(row, 2),
	    .name = text(row, 3),
	    .category = category,
	    .start_ns = {integer(row, 4), integer(row, 6)},
	    .end_ns = {integer(row, 5), integer(row, 7)},
	};
}

/* One of the two tables that events come from, in the order of their ids
 * (process, then sequence). */
struct source {
	const char *sql, *category;
	void (*put_args)(FILE *to, sqlite3_stmt *row, const struct event *event);
	sqlite3_stmt *row;
	int rc; /* SQLITE_ROW while there is a row */
};

static int open_source(struct kc_store *store, const struct kc_selection *selection, struct source *source)
{
	int rc = sqlite3_prepare_v2(kc_store_db(store), source->sql, -1, &source->row, NULL);

	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	sqlite3_bind_int64(source->row, 1, selection->first_run);
	sqlite3_bind_int64(source->row, 2, selection->last_run);
	source->rc = sqlite3_step(source->row);
	return 0;
}

static int put_events(struct trace *trace, const struct source *source)
{
	struct event event = event_of(source->row, source->category);
	int first = sqlite3_column_count(source->row) - KC__EXPORT_FILTER_COLUMNS;
	int matches = kc_filter_row(trace->filter, source->row, first);
	struct track *track;

	if (matches <= 0)
		return matches;
	track = track_of(trace, &event);
	if (!track)
		return -ENOMEM;
	rewind(trace->args);
	source->put_args(trace->args, source->row, &event);
	if (fflush(trace->args))
		return -ENOMEM;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		if (event.end_ns[kind] == 0)
			continue;
		put_slice(trace, track, &event, kind);
		fwrite(trace->args_text, 1, trace->args_bytes, trace->to);
		fputc('}', trace->to);
	}
	return 0;
}

/* The source whose row comes first; NULL at the end of both. */
static struct source *next_source(struct source sources[2])
{
	if (sources[0].rc != SQLITE_ROW || sources[1].rc != SQLITE_ROW)
		return sources[0].rc == SQLITE_ROW ? sources : sources[1].rc == SQLITE_ROW ? sources + 1 : NULL;
	return integer(sources[0].row, 0) <= integer(sources[1].row, 0) ? sources : sources + 1;
}

static int put_rows(struct kc_store *store, const struct kc_selection *selection, struct trace *trace)
{
	struct source sources[2] = {
	    {.sql = launch_sql, .category = "kernel", .put_args = put_launch_args},
	    {.sql = transfer_sql, .category = "transfer", .put_args = put_transfer_args},
	};
	struct source *source;
	int rc = 0;

	for (size_t i = 0; i < 2 && rc == 0; i++)
		rc = open_source(store, selection, sources + i);
	while (rc == 0 && !ferror(trace->to) && (source = next_source(sources))) {
		rc = put_events(trace, source);
		source->rc = sqlite3_step(source->row);
	}
	for (size_t i = 0; i < 2; i++) {
		if (rc == 0 && !ferror(trace->to) && sources[i].rc != SQLITE_DONE)
			rc = kc__export_error(sources[i].rc);
		sqlite3_finalize(sources[i].row);
	}
	return rc;
}

static const char process_sql[] =
    "WITH began AS (SELECT run, min(started_ns) AS ns FROM process WHERE run BETWEEN ?1 AND ?2 GROUP BY run)"
    " SELECT p.id, p.run, p.pid, r.started_unix_ns - b.ns, r.started_unix_ns, p.simulated,"
    " coalesce(p.command_line, p.executable, '')"
    " FROM process p JOIN run r ON r.id = p.run JOIN began b ON b.run = p.run"
    " WHERE p.run BETWEEN ?1 AND ?2 ORDER BY p.id";

static int add_process(struct trace *trace, sqlite3_stmt *row)
{
	struct process *processes = reallocarray(trace->processes, trace->process_count + 1, sizeof(*processes));
	char name[512];

	if (!processes)
		return -ENOMEM;
	trace->processes = processes;
	processes[trace->process_count++] = (struct process){
	    .id = integer(row, 0),
	    .to_unix_ns = integer(row, 3),
	};
	if (trace->process_count == 1 || integer(row, 4) < trace->base_unix_ns)
		trace->base_unix_ns = integer(row, 4);
	if (!kc_filter_process(trace->filter, integer(row, 0)))
		return 0;
	snprintf(name, sizeof(name), "%srun %" PRId64 ", pid %" PRId64 ": %s", integer(row, 5) ? "SIMULATED " : "",
		 integer(row, 1), integer(row, 2), text(row, 6));
	put_metadata(trace, integer(row, 0), 0, "process_name", name);
	return 0;
}

static int put_processes(struct kc_store *store, const struct kc_selection *selection, struct trace *trace)
{
	sqlite3_stmt *row;
	int rc, added = 0;

	rc = sqlite3_prepare_v2(kc_store_db(store), process_sql, -1, &row, NULL);
	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	sqlite3_bind_int64(row, 1, selection->first_run);
	sqlite3_bind_int64(row, 2, selection->last_run);
	while ((rc = sqlite3_step(row)) == SQLITE_ROW && added == 0)
		added = add_process(trace, row);
	if (added == 0 && rc != SQLITE_DONE)
		added = kc__export_error(rc);
	sqlite3_finalize(row);
	return added;
}

static void put_filter(const struct trace *trace)
{
	json_t *chosen = trace->filter ? kc_filter_choice_json(kc_filter_choice_of(trace->filter)) : json_null();

	kc_json_write(chosen, trace->to, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(chosen);
}

static int put_trace(struct kc_store *store, const struct kc_selection *selection, struct trace *trace)
{
	int rc = sqlite3_prepare_v2(kc_store_db(store), "SELECT " STREAM_NAME " FROM stream WHERE id = ?1", -1,
				    &trace->stream_name, NULL);

	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"schema\":\"kerncast.chrome/"
	      "1\",\"producer\":\"kerncast " KC_VERSION "\",\"filter\":",
	      trace->to);
	put_filter(trace);
	fputs("},\"traceEvents\":[", trace->to);
	rc = put_processes(store, selection, trace);
	if (rc == 0)
		rc = put_rows(store, selection, trace);
	fputs("\n]}\n", trace->to);
	return rc;
}

int kc_export_chrome(struct kc_store *store, const struct kc_selection *selection, struct kc_filter *filter, FILE *to)
{
	struct trace trace = {.to = to, .filter = filter};
	int rc;

	trace.args = open_memstream(&trace.args_text, &trace.args_bytes);
	if (!trace.args)
		return -ENOMEM;
	rc = put_trace(store, selection, &trace);
	sqlite3_finalize(trace.stream_name);
	tdestroy(trace.tracks, free);
	free(trace.processes);
	fclose(trace.args);
	free(trace.args_text);
	return rc;
}
