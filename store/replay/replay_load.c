#include "replay_load.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_OPS 4096u
/* 73 years: sums and differences of two such times do not overflow. */
#define REACH_NS (INT64_C(1) << 61)

/* Room for one more than count elements; at: of elements of this size. Returns where they are now, NULL: no memory. */
static void *grown(const struct kc__ops *ops, void *at, size_t count, size_t *capacity, size_t element_bytes)
{
	size_t more = *capacity ? 2 * *capacity : FIRST_OPS;

	if (count < *capacity)
		return at;
	if (kc__take(ops->store, (more - *capacity) * element_bytes))
		return NULL;
	at = realloc(at, more * element_bytes);
	if (at)
		*capacity = more;
	return at;
}

static struct kc__op *add_op(struct kc__ops *ops, enum kc__op_kind kind)
{
	struct kc__op *at = grown(ops, ops->at, ops->count, &ops->capacity, sizeof(*at)), *op;
	struct kc__recorded_op *recorded = NULL;

	if (!at)
		return NULL;
	ops->at = at;
	if (ops->as_recorded) {
		recorded = grown(ops, ops->recorded, ops->count, &ops->recorded_capacity, sizeof(*recorded));
		if (!recorded)
			return NULL;
		ops->recorded = recorded;
		recorded[ops->count] = (struct kc__recorded_op){0};
	}
	op = &at[ops->count];
	memset(op, 0, sizeof(*op));
	op->kind = (uint8_t)kind;
	op->recorded = (uint32_t)ops->count++;
	return op;
}

static int64_t within_reach(int64_t ns)
{
	return ns < -REACH_NS ? -REACH_NS : ns > REACH_NS ? REACH_NS : ns;
}

int64_t kc__time_at(sqlite3_stmt *row, int i)
{
	return within_reach(sqlite3_column_int64(row, i));
}

/* Of an occupation, or from a call to the end of what it waits for: a month at most, like a kernel. */
static int64_t duration_at(sqlite3_stmt *row, int i)
{
	int64_t ns = sqlite3_column_int64(row, i);

	return ns < -KC_MEASURED_MAX_NS ? -KC_MEASURED_MAX_NS : ns > KC_MEASURED_MAX_NS ? KC_MEASURED_MAX_NS : ns;
}

/* An impossible measurement counts as none. */
static void set_measured(struct kc__op *op, int64_t start_ns, int64_t duration_ns)
{
	int64_t wait_ns = start_ns - op->issued_ns;

	if (duration_ns < 0 || duration_ns > KC_MEASURED_MAX_NS || wait_ns < -KC_MEASURED_MAX_NS ||
	    wait_ns > KC_MEASURED_MAX_NS)
		return;
	op->start_ns = start_ns;
	op->end_ns = start_ns + duration_ns;
}

/* A damaged number is ignored, and so are those that follow it. */
static void set_order(struct kc__recorded_op *recorded, int was_measured, int64_t known, int64_t measured,
		      int64_t decided)
{
	if (known < 0 || known > KC_EVENTS_MAX)
		return;
	recorded->known = (uint64_t)known;
	if (!was_measured || measured <= known)
		return;
	recorded->measured_event = (uint64_t)measured;
	if (decided > measured)
		recorded->decided_event = (uint64_t)decided;
}

static int add_launch(struct kc__ops *ops, sqlite3_stmt *row)
{
	struct kc__op *op = add_op(ops, KC__OP_LAUNCH);
	int64_t id = sqlite3_column_int64(row, 0), flags = sqlite3_column_int64(row, 6);

	if (!op)
		return -ENOMEM;
	op->sequence = (uint64_t)(id & KC_SEQUENCE_MASK);
	op->shape = sqlite3_column_int64(row, 1);
	op->stream = sqlite3_column_int64(row, 2);
	op->issued_ns = kc__time_at(row, 3);
	if (sqlite3_column_type(row, 5) != SQLITE_NULL)
		set_measured(op, op->issued_ns + kc__time_at(row, 4), kc__time_at(row, 5));
	op->overlap = (uint8_t)KC_FLAG(flags, OVERLAP);
	op->unmeasured = (uint8_t)KC_FLAG(flags, UNMEASURED);
	op->not_kept = (uint8_t)KC_FLAG(flags, NOT_KEPT);
	op->arguments = sqlite3_column_int64(row, 7);
	ops->with_arguments |= op->arguments != 0;
	return 0;
}

/* Columns of what was recorded, behind those of each launch, as they are stored: relative to one another. */
enum { KNOWN = 8, MEASURED_AFTER, DECIDED_AFTER, LEAD, SOLO, BELOW, ABOVE, SPAN };

/* A prediction whose interval, times its slowdown, is no time counts as none. */
static void set_said(struct kc__recorded_op *recorded, sqlite3_stmt *row)
{
	int64_t solo_ns = kc__time_at(row, SOLO), low_ns, high_ns, span_ns;
	double slowdown;

	if (solo_ns <= 0)
		return;
	low_ns = within_reach(solo_ns - kc__time_at(row, BELOW));
	high_ns = within_reach(solo_ns + kc__time_at(row, ABOVE));
	span_ns = kc__time_at(row, SPAN);
	slowdown = (double)span_ns / (double)solo_ns;
	if (fabs((double)low_ns * slowdown) > REACH_NS || fabs((double)high_ns * slowdown) > REACH_NS)
		return;
	recorded->said.solo_ns = solo_ns;
	recorded->said.low_ns = low_ns;
	recorded->said.high_ns = high_ns;
	recorded->said.span_ns = span_ns;
}

static int add_recorded_launch(struct kc__ops *ops, sqlite3_stmt *row)
{
	struct kc__recorded_op *recorded;
	const struct kc__op *op;
	int64_t known, measured;

	if (add_launch(ops, row))
		return -ENOMEM;
	op = &ops->at[ops->count - 1];
	recorded = kc__recorded_of(ops, op);
	if (sqlite3_column_type(row, KNOWN) != SQLITE_NULL) {
		known = sqlite3_column_int64(row, KNOWN);
		measured = kc_plus_ns(known, sqlite3_column_int64(row, MEASURED_AFTER));
		set_order(recorded, op->end_ns != 0, known, measured,
			  kc_plus_ns(measured, sqlite3_column_int64(row, DECIDED_AFTER)));
	}
	/* Of a launch that could not be predicted, only the time of its call is known. */
	recorded->predicted_at_ns = within_reach(op->issued_ns - kc__time_at(row, LEAD));
	set_said(recorded, row);
	return 0;
}

static int add_transfer(struct kc__ops *ops, sqlite3_stmt *row)
{
	struct kc__op *op = add_op(ops, KC__OP_TRANSFER);

	if (!op)
		return -ENOMEM;
	op->sequence = (uint64_t)sqlite3_column_int64(row, 1);
	op->stream = sqlite3_column_int64(row, 2);
	op->issued_ns = kc__time_at(row, 3);
	if (sqlite3_column_type(row, 5) != SQLITE_NULL)
		set_measured(op, kc__time_at(row, 4), kc__time_at(row, 5) - kc__time_at(row, 4));
	op->bytes = (uint64_t)sqlite3_column_int64(row, 6);
	op->transfer_kind = (uint8_t)kc_transfer_kind_of((const char *)sqlite3_column_text(row, 7));
	op->device = sqlite3_column_int64(row, 8);
	if (sqlite3_column_int(row, 9)) /* it failed */
		op->unmeasured = KC_CALL_FAILED;
	if (ops->as_recorded)
		set_order(kc__recorded_of(ops, op), op->end_ns != 0, sqlite3_column_int64(row, 10),
			  sqlite3_column_int64(row, 11), sqlite3_column_int64(row, 12));
	return 0;
}

static void set_measured_graph(struct kc__recorded_op *recorded, struct kc__op *op, sqlite3_stmt *row)
{
	int64_t start_ns = kc__time_at(row, 7), event = sqlite3_column_int64(row, 9);

	set_measured(op, start_ns, kc__time_at(row, 8) - start_ns);
	if (op->end_ns && event > 0 && event <= KC_EVENTS_MAX && (uint64_t)event > recorded->known)
		recorded->measured_event = (uint64_t)event;
}

static int add_stream_call(struct kc__ops *ops, sqlite3_stmt *row)
{
	struct kc__op *op = add_op(ops, KC__OP_STREAM_CALL);
	int64_t id = sqlite3_column_int64(row, 0), call = sqlite3_column_int64(row, 1);

	if (!op)
		return -ENOMEM;
	op->sequence = (uint64_t)(id & KC_SEQUENCE_MASK);
	op->call = call > 0 && call <= UINT8_MAX ? (uint8_t)call : 0;
	op->stream = sqlite3_column_int64(row, 2);
	op->device = sqlite3_column_int64(row, 3);
	op->issued_ns = kc__time_at(row, 4);
	op->ns = duration_at(row, 5);
	if (op->call == KC_CALL_WAIT)
		op->ns += op->issued_ns;
	kc__recorded_of(ops, op)->known = (uint64_t)kc__time_at(row, 6);
	if (op->call == KC_CALL_GRAPH_LAUNCH && sqlite3_column_type(row, 8) != SQLITE_NULL)
		set_measured_graph(kc__recorded_of(ops, op), op, row);
	return 0;
}

#define LAUNCH "SELECT id, shape, stream, launched, measured_wait, measured_span, flags, arguments"
#define LAUNCHES " FROM launch_row WHERE id BETWEEN ?1 AND ?2"

/* Times of launches are relative to the start of the process; those of transfers are made so here. Of a live process,
 * transfers without a prediction are nodes of graphs: the timeline was not told of them. */
static const char *const texts[KC__LOADS] = {
    [KC__LOAD_LAUNCHES] = LAUNCH LAUNCHES,
    [KC__LOAD_RECORDED_LAUNCHES] = LAUNCH ", known, measured_after, decided_after, lead, solo, below,"
					  " above, span" LAUNCHES,
    [KC__LOAD_TRANSFERS] = "SELECT t.process, t.sequence, t.stream, t.launched_ns - p.started_ns,"
			   " t.measured_start_ns - p.started_ns, t.measured_end_ns - p.started_ns, t.bytes, t.kind,"
			   " t.device, t.result, t.known_events, t.measured_event, t.decided_event FROM transfer t "
			   "JOIN process p ON p.id = t.process"
			   " WHERE t.id BETWEEN ?1 AND ?2 AND (t.start_ns NOT NULL OR p.source NOT NULL)",
    [KC__LOAD_ARGUMENTS] = "SELECT local, text FROM arguments WHERE process = ?1",
    [KC__LOAD_EVENTS] = "SELECT e.number, e.kind, e.kernel, e.time_ns - p.started_ns, e.device FROM engine_event e"
			" JOIN process p ON p.id = e.process WHERE e.process = ?1 ORDER BY e.number LIMIT ?2",
    [KC__LOAD_PAST] =
	"SELECT (SELECT id FROM process WHERE id = past.source), checksum, prior FROM past WHERE process = ?1",
    /* The ns of a wait are a time on the process's clock, those of an occupation are a duration. */
    [KC__LOAD_STREAM_CALLS] = "SELECT id, kind, stream, device, time_ns, ns, known_events, measured_start_ns,"
			      " measured_end_ns, measured_event FROM stream_call"
			      " WHERE id BETWEEN ?1 AND ?2",
    [KC__LOAD_GRAPHS_MEASURED] =
	"SELECT 1 FROM stream_call WHERE id BETWEEN ?1 AND ?2 AND measured_event NOT NULL LIMIT 1",
    [KC__LOAD_COUNTED_WORK] =
	"SELECT shape, arguments, counts FROM work WHERE process = ?1 ORDER BY shape, arguments LIMIT ?2",
    /* Incomplete is what the journal had no room for all of. */
    [KC__LOAD_SHORTFALL] =
	"SELECT max(item = 'chosen'), max(item NOT IN ('chosen', 'graphs_measured')),"
	" max(item = 'graphs_measured') FROM ledger WHERE process = ?1"
	" AND item IN ('chosen', 'graphs_measured', 'dropped', 'transfers_dropped', 'events_dropped',"
	" 'stream_idle_dropped', 'device_idle_dropped', 'occupy_dropped', 'wait_dropped',"
	" 'destroy_dropped', 'create_dropped', 'cancel_dropped', 'graph_dropped', "
	"'graph_launch_dropped') AND reason = '' AND count > 0",
};

sqlite3_stmt *kc__loader_ask(struct kc__loader *loader, enum kc__load which)
{
	if (!loader->statements[which])
		sqlite3_prepare_v2(loader->store->db, texts[which], -1, &loader->statements[which], NULL);
	return loader->statements[which];
}

void kc__loader_close(struct kc__loader *loader)
{
	sqlite3_finalize(loader->streams.stmt);
	for (int i = 0; i < KC__LOADS; i++)
		sqlite3_finalize(loader->statements[i]);
}

KC_ORDER(by_call, struct kc__op, KC_UP(issued_ns) ?: KC_UP(sequence))

/* Adds operations in the order of their calls. */
static int load(struct kc__loader *loader, enum kc__load which, const struct kc__part *part, struct kc__ops *ops,
		int (*add)(struct kc__ops *ops, sqlite3_stmt *row))
{
	sqlite3 *db = loader->store->db;
	sqlite3_stmt *row = kc__loader_ask(loader, which);
	size_t first = ops->count;
	int rc = SQLITE_OK, failed = 0, in_order = 1;

	if (!row)
		return kc__errno(db, sqlite3_errcode(db));
	sqlite3_bind_int64(row, 1, part->process << KC_SEQUENCE_BITS | (int64_t)part->first_sequence);
	sqlite3_bind_int64(row, 2, part->process << KC_SEQUENCE_BITS | (int64_t)part->last_sequence);
	while (!failed && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		failed = add(ops, row);
		if (!failed && ops->count - first >= 2)
			in_order &= by_call(&ops->at[ops->count - 2], &ops->at[ops->count - 1]) <= 0;
	}
	if (!failed)
		failed = kc__errno(db, rc);
	if (!failed && !in_order)
		qsort(ops->at + first, ops->count - first, sizeof(*ops->at), by_call);
	sqlite3_reset(row);
	return failed;
}

/* Merges the operations before `first` with those from it on; each of the two parts is in order. */
static int merge(struct kc__ops *ops, size_t first)
{
	size_t last = ops->count - first, to = ops->count, from = first;
	struct kc__op *aside;

	if (!last || !first)
		return 0;
	aside = malloc(last * sizeof(*aside));
	if (!aside)
		return -ENOMEM;
	memcpy(aside, ops->at + first, last * sizeof(*aside));
	while (last) {
		if (from && by_call(&ops->at[from - 1], &aside[last - 1]) > 0)
			ops->at[--to] = ops->at[--from];
		else
			ops->at[--to] = aside[--last];
	}
	free(aside);
	return 0;
}

int kc__ops_load(struct kc__loader *loader, const struct kc__part *part, int as_recorded, struct kc__ops *ops)
{
	size_t launches;
	int rc;

	ops->store = loader->store;
	ops->process = part->process;
	ops->count = 0;
	ops->as_recorded = as_recorded;
	ops->with_arguments = 0;
	if (part->process < 1 || part->process > KC_PROCESS_MAX) /* no launch can belong to it */
		return 0;
	rc = as_recorded ? load(loader, KC__LOAD_RECORDED_LAUNCHES, part, ops, add_recorded_launch)
			 : load(loader, KC__LOAD_LAUNCHES, part, ops, add_launch);
	if (rc)
		return rc;
	launches = ops->count;
	rc = load(loader, KC__LOAD_TRANSFERS, part, ops, add_transfer);
	return rc ? rc : merge(ops, launches);
}

int kc__stream_calls_load(struct kc__loader *loader, int64_t process, struct kc__ops *ops)
{
	const struct kc__part all = {process, 0, KC_SEQUENCE_MASK};
	size_t others = ops->count;
	int rc = load(loader, KC__LOAD_STREAM_CALLS, &all, ops, add_stream_call);

	return rc ? rc : merge(ops, others);
}

void kc__ops_free(struct kc__ops *ops)
{
	free(ops->at);
	free(ops->recorded);
	free(ops->known_ns);
}

void kc__argument_texts_free(struct kc__argument_texts *texts)
{
	for (size_t i = 0; texts->at && i <= texts->ids.count; i++)
		free(texts->at[i]);
	free(texts->at);
	kc_ids_free(&texts->ids);
	*texts = (struct kc__argument_texts){0};
}

/* Only the arguments of these operations, and of launches whose work was counted, are kept. */
static int want_texts(struct kc_store *store, struct kc__argument_texts *texts, const struct kc__ops *ops,
		      const struct kc__counted_work *work)
{
	kc__argument_texts_free(texts);
	texts->store = store;
	for (size_t i = 0; i < work->count; i++) {
		if (work->at[i].arguments && !kc_ids_number(&texts->ids, work->at[i].arguments))
			return -ENOMEM;
	}
	for (size_t i = 0; ops->with_arguments && i < ops->count; i++) {
		const struct kc__op *op = &ops->at[i];

		if (op->kind == KC__OP_LAUNCH && op->arguments && !kc_ids_number(&texts->ids, op->arguments))
			return -ENOMEM;
	}
	texts->at = calloc((size_t)texts->ids.count + 1, sizeof(*texts->at));
	return texts->at ? 0 : -ENOMEM;
}

static int add_text(struct kc__argument_texts *texts, int64_t id, const char *text)
{
	uint32_t number = kc_ids_find(&texts->ids, id);

	if (!number)
		return 0;
	free(texts->at[number]);
	texts->at[number] = kc__take(texts->store, strlen(text ? text : "")) ? NULL : strdup(text ? text : "");
	return texts->at[number] ? 0 : -ENOMEM;
}

int kc__arguments_load(struct kc__loader *loader, int64_t process, const struct kc__ops *ops,
		       const struct kc__counted_work *work, struct kc__argument_texts *texts)
{
	sqlite3_stmt *row = kc__loader_ask(loader, KC__LOAD_ARGUMENTS);
	int rc = SQLITE_OK, failed = want_texts(loader->store, texts, ops, work);

	if (!row)
		return kc__errno(loader->store->db, sqlite3_errcode(loader->store->db));
	sqlite3_bind_int64(row, 1, process);
	while (!failed && (rc = sqlite3_step(row)) == SQLITE_ROW)
		failed = add_text(texts, sqlite3_column_int64(row, 0), (const char *)sqlite3_column_text(row, 1));
	if (!failed)
		failed = kc__errno(loader->store->db, rc);
	sqlite3_reset(row);
	return failed;
}

static int is_near(const struct kc__cursor *cursor, int64_t id)
{
	enum { STEPS_MAX = 4 }; /* about what a search costs */

	return cursor->at && id > cursor->at && id - cursor->at <= STEPS_MAX;
}

int kc__cursor_to(sqlite3 *db, struct kc__cursor *cursor, int64_t id)
{
	int rc = SQLITE_ROW;

	if (!cursor->stmt && sqlite3_prepare_v2(db, cursor->sql, -1, &cursor->stmt, NULL) != SQLITE_OK)
		return kc__errno(db, sqlite3_errcode(db));
	if (id <= 0)
		return 0;
	if (cursor->at == id)
		return 1;
	if (!is_near(cursor, id)) {
		sqlite3_reset(cursor->stmt);
		sqlite3_bind_int64(cursor->stmt, 1, id);
		cursor->at = 0;
	}
	while (cursor->at < id && (rc = sqlite3_step(cursor->stmt)) == SQLITE_ROW)
		cursor->at = sqlite3_column_int64(cursor->stmt, sqlite3_column_count(cursor->stmt) - 1);
	if (rc != SQLITE_ROW)
		cursor->at = 0;
	return rc == SQLITE_ROW ? cursor->at == id : kc__errno(db, rc);
}

int kc__stream_load(struct kc__loader *loader, int64_t row, struct kc__stream_row *out)
{
	const char *kind;
	int found;

	*out = (struct kc__stream_row){.kind = KC_STREAM_NONBLOCKING};
	loader->streams.sql = "SELECT device, priority, kind, lane, id FROM stream WHERE id >= ?1 ORDER BY id";
	if (!row)
		return 0;
	found = kc__cursor_to(loader->store->db, &loader->streams, row);
	if (found <= 0)
		return found ? found : -ENOENT;
	kind = (const char *)sqlite3_column_text(loader->streams.stmt, 2);
	out->device = sqlite3_column_int64(loader->streams.stmt, 0);
	out->priority = (int32_t)sqlite3_column_int64(loader->streams.stmt, 1);
	out->lane = (uint32_t)sqlite3_column_int64(loader->streams.stmt, 3);
	if (kind && !strcmp(kind, "legacy"))
		out->kind = KC_STREAM_LEGACY;
	else if (kind && !strcmp(kind, "blocking"))
		out->kind = KC_STREAM_BLOCKING;
	return 0;
}
