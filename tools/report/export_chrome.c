#include "tools/report/chrome/chrome_counters.h"
#include "tools/report/chrome/chrome_replay.h"
#include "tools/report/chrome/chrome_rows.h"
#include "tools/report/chrome/chrome_tracks.h"
#include "tools/output/filter_shown.h"
#include "tools/output/json.h"

#include "store/query/names.h"
#include "store/common/version.h"
#include "store/database/schema.h"
#include "store/replay/relay/relay.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct process {
	int64_t id;
	int64_t to_unix_ns; /* to be added to its times; the same for a whole run */
};

struct trace {
	struct kc__chrome_out out;
	struct kc_filter *filter;
	int64_t base_unix_ns;      /* time 0 of the trace */
	struct process *processes; /* by id */
	size_t process_count;
	int64_t process, offset_ns; /* whose events are written, and what is to be added to its times */
	struct kc__tracks tracks;
	struct kc__counters counters;
	struct kc__replayed *replayed;
	struct kc__chrome_text args; /* of an event, for both of its slices */
	uint64_t asynchronous;
};

/* Where a launch or transfer is on the screen, for the flow that joins its slices. */
struct place {
	int64_t tid, ts_ns;
};
#define PLACES 3u /* call, prediction, measurement */

/* Processes */

static const struct process *process_of(const struct trace *trace, int64_t id)
{
	size_t at = KC_FIRST(i, trace->process_count, trace->processes[i].id >= id);

	return at < trace->process_count && trace->processes[at].id == id ? trace->processes + at : NULL;
}

static void enter_process(struct trace *trace, int64_t id)
{
	const struct process *process;

	if (trace->process == id)
		return;
	process = process_of(trace, id);
	trace->process = id;
	trace->offset_ns = process ? kc_minus_ns(process->to_unix_ns, trace->base_unix_ns) : 0;
	kc__tracks_of(&trace->tracks, id);
	kc__counters_of(&trace->counters, id, trace->offset_ns);
}

static void put_metadata(struct trace *trace, int64_t pid, const char *what, const char *key, const char *value)
{
	struct kc__chrome_text *text = &trace->out.text;

	kc__chrome_begin(&trace->out, "M", pid, 0);
	kc__chrome_word(text, "name", what);
	kc__chrome_put(text, ",\"args\":{\"");
	kc__chrome_put(text, key);
	kc__chrome_put(text, "\":");
	kc__chrome_put_string(text, value);
	kc__chrome_put(text, "}}");
}

/* A kernel's or copy's times are where its call is, or later; only traces and damaged rows say otherwise. */
#define EARLIEST_LAUNCH_SQL                                                                                            \
	"(SELECT p.started_ns + min(launched + min(0, -coalesce(lead, 0), coalesce(wait, 0), coalesce(measured_wait, " \
	"0))) FROM launch_row WHERE id BETWEEN p.id << 40 AND (p.id << 40) + ?3)"
#define EARLIEST_TRANSFER_SQL                                                                                          \
	"(SELECT min(min(launched_ns, coalesce(start_ns, launched_ns), coalesce(measured_start_ns, launched_ns)))"     \
	" FROM transfer WHERE id BETWEEN p.id << 40 AND (p.id << 40) + ?3)"

static const char process_sql[] =
    "WITH began AS (SELECT run, min(started_ns) AS ns FROM process WHERE run BETWEEN ?1 AND ?2 GROUP BY run)"
    " SELECT p.id, p.run, iif(p.source IS NULL, " KC__PROCESS_NAME
    ", 'pid ' || p.pid) || iif((SELECT count(DISTINCT x.device) > 1 FROM process_device x JOIN process q"
    " ON q.id = x.process WHERE q.run BETWEEN ?1 AND ?2), coalesce(', GPU ' || " KC__GPU_NUMBERS
    ", ''), ''), r.started_unix_ns - b.ns, r.started_unix_ns, p.simulated,"
    " coalesce(p.command_line, p.executable, ''), p.source NOT NULL,"
    " min(p.started_ns, coalesce(" EARLIEST_LAUNCH_SQL ", p.started_ns), coalesce(" EARLIEST_TRANSFER_SQL
    ", p.started_ns)), p.rank"
    " FROM process p JOIN run r ON r.id = p.run JOIN began b ON b.run = p.run"
    " WHERE p.run BETWEEN ?1 AND ?2 ORDER BY p.id";

/* Viewers leave out what is before time 0: it is the start of the run, or of what the trace has before that. */
static void begin_at(struct trace *trace, int64_t unix_ns)
{
	if (unix_ns < trace->base_unix_ns)
		trace->base_unix_ns = unix_ns;
}

/* Viewers show ranks in their order. */
static void put_place(struct trace *trace, int64_t pid, int64_t rank)
{
	struct kc__chrome_text *text = &trace->out.text;

	kc__chrome_begin(&trace->out, "M", pid, 0);
	kc__chrome_put(text, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":");
	kc__chrome_put_integer(text, rank);
	kc__chrome_put(text, "}}");
}

static int add_process(struct trace *trace, sqlite3_stmt *row)
{
	struct process *processes = reallocarray(trace->processes, trace->process_count + 1, sizeof(*processes));
	int64_t id = kc__chrome_integer(row, 0);
	char name[512];

	if (!processes)
		return -ENOMEM;
	trace->processes = processes;
	processes[trace->process_count++] = (struct process){.id = id, .to_unix_ns = kc__chrome_integer(row, 3)};
	begin_at(trace, kc__chrome_integer(row, 4));
	begin_at(trace, kc_plus_ns(kc__chrome_integer(row, 3), kc__chrome_integer(row, 8)));
	trace->tracks.next_tid = id; /* no track has the number of a process, which would be its main thread */
	if (!kc_filter_process(trace->filter, id))
		return 0;
	snprintf(name, sizeof(name), "%srun %" PRId64 ", %s: %s", kc__chrome_integer(row, 5) ? "SIMULATED " : "",
		 kc__chrome_integer(row, 1), kc__chrome_string(row, 2), kc__chrome_string(row, 6));
	put_metadata(trace, id, "process_name", "name", name);
	if (sqlite3_column_type(row, 9) == SQLITE_INTEGER)
		put_place(trace, id, kc__chrome_integer(row, 9));
	if (kc__chrome_integer(row, 7))
		put_metadata(trace, id, "process_labels", "labels", "predicted by replay");
	return kc__chrome_flush(&trace->out, 0);
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
	sqlite3_bind_int64(row, 3, KC_SEQUENCE_MASK);
	while ((rc = sqlite3_step(row)) == SQLITE_ROW && added == 0)
		added = add_process(trace, row);
	if (added == 0 && rc != SQLITE_DONE)
		added = kc__export_error(rc);
	sqlite3_finalize(row);
	return added;
}

/* Slices */

static void begin_slice(struct trace *trace, const char *phase, int64_t tid, int64_t ts_ns)
{
	struct kc__chrome_text *text = &trace->out.text;

	kc__chrome_begin(&trace->out, phase, trace->process, tid);
	kc__chrome_key(text, "ts");
	kc__chrome_put_us(text, kc_plus_ns(ts_ns, trace->offset_ns));
}

static void put_name(struct kc__chrome_text *text, const struct kc__chrome_op *op, enum kc__track_kind kind)
{
	kc__chrome_key(text, "name");
	if (op->kind)
		kc__chrome_put_string(text, op->kind);
	else
		kc__chrome_put(text, op->name);
	kc__chrome_put(text, ",\"cat\":\"");
	kc__chrome_put(text, op->category);
	kc__chrome_put(text, ",");
	kc__chrome_put(text, kc__track_kind_name(kind));
	kc__chrome_put(text, "\"");
}

static void end_slice(struct trace *trace)
{
	kc__chrome_key(&trace->out.text, "args");
	kc__chrome_put_bytes(&trace->out.text, trace->args.at, trace->args.used);
	kc__chrome_put(&trace->out.text, "}");
}

/* Beside those of tracks, for what runs at once with too many others: it has no place in a flow. */
static void put_asynchronous(struct trace *trace, const struct kc__chrome_op *op, enum kc__track_kind kind)
{
	const int64_t times[] = {op->start_ns[kind], op->end_ns[kind]};

	trace->asynchronous++;
	for (int i = 0; i < 2; i++) {
		begin_slice(trace, i ? "e" : "b", 0, times[i]);
		put_name(&trace->out.text, op, kind);
		kc__chrome_id(&trace->out.text, trace->asynchronous);
		end_slice(trace);
	}
}

/* Adds where it is to places, if it is on a track. 0 or -errno. */
static int put_slice(struct trace *trace, const struct kc__chrome_op *op, enum kc__track_kind kind,
		     struct place *places, size_t *count)
{
	struct kc__chrome_text *text = &trace->out.text;
	struct kc__track *track;
	int rc = kc__track_find(&trace->tracks, kind, op->stream, op->stream_name, &track);
	int64_t tid, duration_ns = kc_minus_ns(op->end_ns[kind], op->start_ns[kind]);

	if (rc < 0)
		return rc;
	tid = kc__track_take(&trace->tracks, track, op->start_ns[kind], op->end_ns[kind]);
	if (tid < 0) {
		put_asynchronous(trace, op, kind);
		return 0;
	}
	places[(*count)++] = (struct place){tid, op->start_ns[kind]};
	begin_slice(trace, "X", tid, op->start_ns[kind]);
	put_name(text, op, kind);
	kc__chrome_key(text, "dur");
	kc__chrome_put_us(text, duration_ns);
	kc__chrome_word(text, "cname", kc__chrome_colour(op));
	end_slice(trace);
	return 0;
}

/* All nodes of a graph were launched by one call. */
static int is_same_call(const struct kc__track *track, const struct kc__chrome_op *op)
{
	return op->graph_launch && track->graph_launch == op->graph_launch;
}

static void put_call_args(struct kc__chrome_text *text, const struct kc__chrome_op *op)
{
	kc__chrome_put(text, ",\"args\":{\"launch\":");
	kc__chrome_put_integer(text, op->sequence);
	if (op->graph_launch)
		kc__chrome_number(text, "graph_launch", op->graph_launch);
	kc__chrome_put(text, "}}");
}

/* From when it was predicted until just before the driver's call; where no prediction was made live, a moment. */
static int put_call(struct trace *trace, const struct kc__chrome_op *op, struct place *places, size_t *count)
{
	struct kc__chrome_text *text = &trace->out.text;
	struct kc__track *track;
	int rc = op->call ? kc__track_find(&trace->tracks, KC__TRACK_CALLS, op->thread, NULL, &track) : 0;
	int64_t tid;

	if (rc < 0 || !op->call || !track)
		return rc;
	if (!is_same_call(track, op)) {
		tid = kc__track_take(&trace->tracks, track, op->called_ns, op->launched_ns);
		if (tid < 0)
			return 0;
		track->graph_launch = op->graph_launch;
		track->graph_start_ns = op->called_ns;
		track->graph_tid = tid;
		begin_slice(trace, "X", tid, op->called_ns);
		kc__chrome_key(text, "name");
		kc__chrome_put_string(text, op->call);
		kc__chrome_put(text, ",\"cat\":\"call\",\"dur\":");
		kc__chrome_put_us(text, kc_minus_ns(op->launched_ns, op->called_ns));
		put_call_args(text, op);
	}
	places[(*count)++] = (struct place){track->graph_tid, track->graph_start_ns};
	return 0;
}

/* Flows */

static void sort_places(struct place *places, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct place moved = places[i];
		size_t to = i;

		for (; to > 0 && places[to - 1].ts_ns > moved.ts_ns; to--)
			places[to] = places[to - 1];
		places[to] = moved;
	}
}

/* Joins the slices in the order of time, as the format wants: "s", "t" and "f", each bound to the slice around it. */
static void put_flow(struct trace *trace, const struct kc__chrome_op *op, struct place *places, size_t count)
{
	struct kc__chrome_text *text = &trace->out.text;

	if (count < 2)
		return;
	sort_places(places, count);
	for (size_t i = 0; i < count; i++) {
		begin_slice(trace, i == 0 ? "s" : i + 1 < count ? "t" : "f", places[i].tid, places[i].ts_ns);
		kc__chrome_word(text, "name", op->category);
		kc__chrome_put(text, ",\"cat\":\"flow\"");
		kc__chrome_id(text, (uint64_t)trace->process << KC_SEQUENCE_BITS | (uint64_t)op->sequence);
		kc__chrome_put(text, i + 1 < count ? "}" : ",\"bp\":\"e\"}");
	}
}

/* Launches and transfers */

static int put_counters(struct trace *trace, const struct kc__chrome_op *op)
{
	int rc = 0;

	for (int kind = 0; kind < KC__CHROME_KINDS && rc == 0; kind++) {
		if (op->end_ns[kind])
			rc = kc__counters_ran(&trace->counters, (enum kc__track_kind)kind, op->device, op->device_sms,
					      op->blocks, op->start_ns[kind], op->end_ns[kind]);
	}
	if (rc == 0 && isfinite(op->error_percent))
		rc = kc__counters_erred(&trace->counters, op->start_ns[KC__TRACK_MEASURED], op->error_percent);
	return rc;
}

static int put_op(struct trace *trace, const struct kc__chrome_op *op)
{
	struct place places[PLACES];
	size_t count = 0;
	int rc = put_call(trace, op, places, &count);

	for (int kind = 0; kind < KC__CHROME_KINDS && rc == 0; kind++) {
		if (op->end_ns[kind])
			rc = put_slice(trace, op, (enum kc__track_kind)kind, places, &count);
	}
	if (rc == 0)
		put_flow(trace, op, places, count);
	return rc;
}

/* In the other thread. Where writing failed, ferror() tells it. */
static int write_op(void *record, void *arg)
{
	const struct kc__chrome_op *op = record;
	struct trace *trace = arg;
	int rc;

	enter_process(trace, op->process);
	trace->args.used = 0;
	kc__chrome_put_args(&trace->args, op);
	rc = trace->args.failed ? -ENOMEM : put_op(trace, op);
	if (rc == 0 && !op->kind)
		rc = put_counters(trace, op);
	if (rc == 0)
		rc = kc__chrome_flush(&trace->out, 0);
	return rc == 0 && ferror(trace->out.to) ? -EIO : rc;
}

static int read_row(struct trace *trace, struct kc__chrome_source *source, struct kc_relay *relay)
{
	struct kc__chrome_op *op = kc_relay_room(relay);
	int rc = source->read(source, trace->replayed, op), matches;

	if (rc < 0)
		return rc;
	matches = kc_filter_matches(trace->filter, &op->launch);
	return matches <= 0 ? matches : kc_relay_give(relay);
}

static int read_rows(struct trace *trace, struct kc__chrome_source *sources, struct kc_relay *relay)
{
	struct kc__chrome_source *source;
	int rc = 0, written;

	while (rc == 0 && (source = kc__chrome_sources_next(sources))) {
		rc = read_row(trace, source, relay);
		source->rc = sqlite3_step(source->row);
	}
	written = kc_relay_wait(relay);
	if (ferror(trace->out.to))
		return 0;
	return rc ? rc : written ? written : kc__chrome_sources_error(sources);
}

/* Rows are read here and written by another thread, which has the trace to itself meanwhile. */
static int put_rows(struct kc_store *store, const struct kc_selection *selection, struct trace *trace)
{
	struct kc__chrome_source sources[KC__CHROME_SOURCES];
	struct kc_relay *relay = kc_relay_new(sizeof(struct kc__chrome_op), write_op, trace);
	int rc = kc__chrome_sources_open(sources, store, selection);

	if (rc == 0)
		rc = relay ? read_rows(trace, sources, relay) : -ENOMEM;
	kc_relay_free(relay);
	enter_process(trace, 0);
	kc__chrome_sources_close(sources);
	return rc;
}

/* The document */

static json_t *replay_json(const struct kc_export_replay *replay)
{
	if (!replay->launches)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:o, s:I}", "launches", (json_int_t)replay->launches, "predicted",
			 (json_int_t)replay->predicted, "delay_ns", (json_int_t)replay->delay_ns, "assumed_device",
			 replay->assumed_launches ? kc_json_text(replay->assumed_device) : json_null(),
			 "assumed_device_launches", (json_int_t)replay->assumed_launches);
}

static void put_head(const struct trace *trace, const struct kc_export_replay *replay)
{
	json_t *chosen = trace->filter ? kc_filter_choice_json(kc_filter_choice_of(trace->filter)) : json_null();
	json_t *replayed = replay_json(replay);
	FILE *to = trace->out.to;

	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"schema\":\"kerncast.chrome/"
	      "1\",\"producer\":\"kerncast " KC_VERSION "\",\"filter\":",
	      to);
	kc_json_write(chosen, to, JSON_COMPACT | JSON_ENCODE_ANY);
	fputs(",\"replay\":", to);
	kc_json_write(replayed, to, JSON_COMPACT | JSON_ENCODE_ANY);
	fputs("},\"traceEvents\":[", to);
	json_decref(chosen);
	json_decref(replayed);
}

static int put_trace(struct kc_store *store, const struct kc_selection *selection, struct trace *trace,
		     struct kc_export_replay *replay)
{
	int rc = kc__replayed_new(store, selection, trace->filter, &trace->replayed, replay);

	if (rc < 0)
		return rc;
	put_head(trace, replay);
	rc = put_processes(store, selection, trace);
	if (rc == 0)
		rc = put_rows(store, selection, trace);
	if (rc == 0)
		rc = kc__chrome_flush(&trace->out, 1);
	fputs("\n]}\n", trace->out.to);
	return rc;
}

int kc_export_chrome(struct kc_store *store, const struct kc_selection *selection, struct kc_filter *filter, FILE *to,
		     struct kc_export_replay *replay)
{
	struct trace trace = {.out.to = to, .filter = filter, .base_unix_ns = INT64_MAX};
	int rc;

	*replay = (struct kc_export_replay){0};
	trace.tracks.out = trace.counters.out = &trace.out;
	rc = put_trace(store, selection, &trace, replay);
	kc__tracks_free(&trace.tracks);
	kc__counters_free(&trace.counters);
	kc__replayed_free(trace.replayed);
	free(trace.processes);
	free(trace.args.at);
	free(trace.out.text.at);
	return rc;
}
