#include "chrome_rows.h"
#include "chrome_tracks.h"

#include "predictor/concurrency/overlap.h"
#include "predictor/papers/leftover.h"
#include "predictor/solo/forecast.h"
#include "store/database/schema.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

/* A prediction within 20 % of the measured duration is good, as in the report; beyond a factor of 2 it is far off. */
#define GOOD_LOW 0.8
#define GOOD_HIGH 1.2
#define FAR_LOW 0.5
#define FAR_HIGH 2.0
#define COLOUR_OFF "bad"          /* orange in chrome://tracing */
#define COLOUR_FAR_OFF "terrible" /* red */

/* Columns of both queries, then those of one. */
enum {
	ID,
	PROCESS,
	PROCESS_STARTED,
	IMPORTED,
	STREAM,
	THREAD,
	LAUNCHED,
	TRANSFER_START,
	TRANSFER_END,
	TRANSFER_MEASURED_START,
	TRANSFER_MEASURED_END,
	TRANSFER_KIND,
	TRANSFER_BYTES,
	TRANSFER_DEVICE,
	WAIT = TRANSFER_START,
	SPAN,
	MEASURED_WAIT,
	MEASURED_SPAN,
	SHAPE,
	FLAGS,
	LEAD,
	SLOWDOWN,
	SOLO,
	BELOW,
	ABOVE,
	GRAPH_LAUNCH,
};

/* As they are stored: what the view `launch` computes and looks up for each row would take longer than all else. */
static const char launch_sql[] =
    "SELECT r.id, p.id, p.started_ns, p.source NOT NULL, r.stream, r.thread, r.launched, r.wait, r.span,"
    " r.measured_wait, r.measured_span, r.shape, r.flags, r.lead, r.slowdown, r.solo, r.below, r.above,"
    " r.graph_launch FROM process p CROSS JOIN launch_row r WHERE +p.run BETWEEN ?1 AND ?2"
    " AND p.id BETWEEN 0 AND ?4 AND r.id BETWEEN p.id << 40 AND (p.id << 40) + ?3 ORDER BY p.id, r.id";

static const char transfer_sql[] =
    "SELECT t.id, t.process, p.started_ns, p.source NOT NULL, t.stream, t.thread, t.launched_ns, t.start_ns, t.end_ns,"
    " t.measured_start_ns, t.measured_end_ns, t.kind, t.bytes, t.device"
    " FROM transfer t JOIN process p ON p.id = t.process WHERE p.run BETWEEN ?1 AND ?2 ORDER BY t.id";

int64_t kc__chrome_integer(sqlite3_stmt *row, int i)
{
	return sqlite3_column_int64(row, i);
}

const char *kc__chrome_string(sqlite3_stmt *row, int i)
{
	return (const char *)sqlite3_column_text(row, i);
}

/* A trace without times of calls has the start of the kernel in their place. */
static void read_call(sqlite3_stmt *row, const char *call, int64_t launched_ns, struct kc__chrome_op *op)
{
	op->launched_ns = op->called_ns = launched_ns;
	op->thread = kc__chrome_integer(row, THREAD);
	if (!kc__chrome_integer(row, IMPORTED) || op->launched_ns != op->start_ns[KC__TRACK_MEASURED])
		op->call = call ? call : "unknown";
}

/* So that it can be asked whether it matches. */
static void note_launch(int64_t started_ns, int64_t kernel, int64_t device, struct kc__chrome_op *op)
{
	op->launch = (struct kc_filter_launch){
	    .id = op->process << KC_SEQUENCE_BITS | op->sequence,
	    .process = op->process,
	    .stream = op->stream,
	    .kernel = kernel,
	    .device = device,
	    .launched_ns = kc_minus_ns(op->launched_ns, started_ns),
	    .measured_ns = kc_minus_ns(op->end_ns[KC__TRACK_MEASURED], op->start_ns[KC__TRACK_MEASURED]),
	};
}

static int read_common(struct kc__chrome_source *source, const char *category, struct kc__chrome_op *op)
{
	sqlite3_stmt *row = source->row;

	*op = (struct kc__chrome_op){
	    .process = kc__chrome_integer(row, PROCESS),
	    .sequence = kc__chrome_integer(row, ID) & KC_SEQUENCE_MASK,
	    .stream = kc__chrome_integer(row, STREAM),
	    .category = category,
	    .error_percent = NAN,
	    .ratio = NAN,
	};
	return kc__chrome_stream_of(&source->streams, source->store, op->stream, &op->stream_name);
}

static void set_time(struct kc__chrome_op *op, enum kc__track_kind kind, int64_t start_ns, int64_t end_ns)
{
	op->start_ns[kind] = start_ns;
	op->end_ns[kind] = end_ns < start_ns ? 0 : end_ns; /* less: a damaged row */
}

static int read_transfer(struct kc__chrome_source *source, struct kc__replayed *replayed, struct kc__chrome_op *op)
{
	sqlite3_stmt *row = source->row;
	const char *kind = kc__chrome_string(row, TRANSFER_KIND);
	int rc = read_common(source, "transfer", op);

	(void)replayed;
	if (rc)
		return rc;
	set_time(op, KC__TRACK_PREDICTED, kc__chrome_integer(row, TRANSFER_START),
		 kc__chrome_integer(row, TRANSFER_END));
	set_time(op, KC__TRACK_MEASURED, kc__chrome_integer(row, TRANSFER_MEASURED_START),
		 kc__chrome_integer(row, TRANSFER_MEASURED_END));
	op->kind = kc__chrome_kind_of(&source->kinds, kind ? kind : "unknown");
	read_call(row, op->kind, kc__chrome_integer(row, LAUNCHED), op);
	note_launch(kc__chrome_integer(row, PROCESS_STARTED), 0, kc__chrome_integer(row, TRANSFER_DEVICE), op);
	op->bytes.value = kc__chrome_integer(row, TRANSFER_BYTES);
	op->bytes.is_known = sqlite3_column_type(row, TRANSFER_BYTES) == SQLITE_INTEGER;
	return op->kind ? 0 : -ENOMEM;
}

static void note_error(struct kc__chrome_op *op)
{
	int64_t predicted = kc_minus_ns(op->end_ns[KC__TRACK_PREDICTED], op->start_ns[KC__TRACK_PREDICTED]);
	int64_t measured = kc_minus_ns(op->end_ns[KC__TRACK_MEASURED], op->start_ns[KC__TRACK_MEASURED]);

	if (!op->end_ns[KC__TRACK_PREDICTED] || !op->end_ns[KC__TRACK_MEASURED] || measured <= 0)
		return;
	op->error_percent = fabs((double)(predicted - measured)) / (double)measured * 100;
	op->ratio = (double)predicted / (double)measured;
}

/* 0: it is NULL or, in a damaged row, no number: text that reads as 0, an infinite one as the greatest. Asked of those
 * alone, as the type of each column costs more than the column. */
static int is_known(sqlite3_stmt *row, int i, int64_t *out)
{
	*out = kc__chrome_integer(row, i);
	return (*out && *out != INT64_MAX && *out != INT64_MIN) || sqlite3_column_type(row, i) == SQLITE_INTEGER;
}

/* wait: the column, behind which that of the span is. */
static void read_time(sqlite3_stmt *row, int wait, enum kc__track_kind kind, struct kc__chrome_op *op)
{
	int64_t wait_ns, span_ns, start_ns;

	if (!is_known(row, wait, &wait_ns) || !is_known(row, wait + 1, &span_ns))
		return;
	start_ns = kc_plus_ns(op->launched_ns, wait_ns);
	set_time(op, kind, start_ns, kc_plus_ns(start_ns, span_ns));
}

static void read_known(sqlite3_stmt *row, int i, struct kc__chrome_known *out)
{
	out->is_known = is_known(row, i, &out->value);
}

static void read_prediction(sqlite3_stmt *row, struct kc__chrome_op *op)
{
	read_known(row, SLOWDOWN, &op->slowdown);
	read_known(row, SOLO, &op->solo_ns);
	read_known(row, BELOW, &op->below_ns);
	read_known(row, ABOVE, &op->above_ns);
}

static int read_launch(struct kc__chrome_source *source, struct kc__replayed *replayed, struct kc__chrome_op *op)
{
	sqlite3_stmt *row = source->row;
	int64_t started_ns = kc__chrome_integer(row, PROCESS_STARTED);
	const struct kc__chrome_shape *shape;
	int has_flags, rc = kc__chrome_shape_of(&source->shapes, source->store, kc__chrome_integer(row, SHAPE), &shape);

	if (rc == 0)
		rc = read_common(source, "kernel", op);
	if (rc < 0)
		return rc;
	has_flags = is_known(row, FLAGS, &op->flags);
	op->launched_ns = kc_plus_ns(started_ns, kc__chrome_integer(row, LAUNCHED));
	read_time(row, WAIT, KC__TRACK_PREDICTED, op);
	read_time(row, MEASURED_WAIT, KC__TRACK_MEASURED, op);
	read_call(row, has_flags ? kc_api_name(KC_FLAG(op->flags, API)) : NULL, op->launched_ns, op);
	note_launch(started_ns, shape->kernel, shape->device, op);
	op->name = shape->name;
	op->sizes = shape->sizes;
	op->device = shape->device;
	op->device_sms = shape->device_sms;
	op->blocks = shape->blocks;
	op->graph_launch = kc__chrome_integer(row, GRAPH_LAUNCH);
	if (op->end_ns[KC__TRACK_PREDICTED] && kc__chrome_integer(row, LEAD) >= 0)
		op->called_ns = kc_minus_ns(op->launched_ns, kc__chrome_integer(row, LEAD));
	if (kc__chrome_integer(row, IMPORTED))
		op->replayed = kc__replayed_find(replayed, op->process, op->sequence);
	if (op->replayed && op->replayed->unpredictable == KC_PREDICTED) {
		op->start_ns[KC__TRACK_PREDICTED] = kc_plus_ns(started_ns, op->replayed->start_ns);
		op->end_ns[KC__TRACK_PREDICTED] = kc_plus_ns(started_ns, op->replayed->end_ns);
	}
	if (!op->replayed && op->end_ns[KC__TRACK_PREDICTED])
		read_prediction(row, op);
	note_error(op);
	return 0;
}

/* What is not known is left out. */
static void put_solo(struct kc__chrome_text *text, const struct kc__chrome_op *op)
{
	int64_t solo_ns = op->solo_ns.value;

	if (!op->solo_ns.is_known)
		return;
	kc__chrome_number(text, "solo_ns", solo_ns);
	if (op->below_ns.is_known)
		kc__chrome_number(text, "solo_low_ns", kc_minus_ns(solo_ns, op->below_ns.value));
	if (op->above_ns.is_known)
		kc__chrome_number(text, "solo_high_ns", kc_plus_ns(solo_ns, op->above_ns.value));
}

/* A name by a part of the flags; first: the least value that has one. NULL: none. */
static const char *flagged(uint32_t value, uint32_t first, uint32_t end, const char *(*name)(uint32_t))
{
	return value >= first && value < end ? name(value) : NULL;
}

static void put_recorded(struct kc__chrome_text *text, const struct kc__chrome_op *op)
{
	int64_t flags = op->flags;
	uint32_t novelty = KC_FLAG(flags, NOVELTY), of_case = KC_FLAG(flags, CASE); /* 0: not predicted */

	kc__chrome_word(text, "model", flagged(KC_FLAG(flags, MODEL), 1, KC_MODELS, kc_model_name));
	kc__chrome_word(text, "case", of_case ? flagged(of_case - 1, 0, KC_CASE_C + 1, kc_case_name) : NULL);
	kc__chrome_word(text, "novelty", novelty ? flagged(novelty - 1, 0, KC_REPEATED + 1, kc_novelty_name) : NULL);
	kc__chrome_word(text, "unpredictable",
			flagged(KC_FLAG(flags, UNPREDICTABLE), 1, KC_UNPREDICTABLE_COUNT, kc_unpredictable_name));
	if (!op->end_ns[KC__TRACK_PREDICTED])
		return;
	if (op->slowdown.is_known)
		kc__chrome_real(text, "slowdown", 1 + (double)op->slowdown.value / KC_SLOWDOWN_SCALE, 4);
	put_solo(text, op);
}

static void put_replayed(struct kc__chrome_text *text, const struct kc__replayed_launch *launch)
{
	if (launch->unpredictable != KC_PREDICTED) {
		kc__chrome_word(text, "unpredictable", kc_unpredictable_name(launch->unpredictable));
		return;
	}
	kc__chrome_word(text, "model", kc_model_name(launch->model));
	kc__chrome_word(text, "case", kc_case_name(launch->concurrency_case));
	kc__chrome_word(text, "novelty", kc_novelty_name(launch->novelty));
	kc__chrome_real(text, "slowdown", launch->slowdown, 4);
	kc__chrome_number(text, "solo_ns", launch->solo_ns);
	kc__chrome_number(text, "solo_low_ns", launch->solo_low_ns);
	kc__chrome_number(text, "solo_high_ns", launch->solo_high_ns);
}

static void put_launch_args(struct kc__chrome_text *text, const struct kc__chrome_op *op)
{
	int64_t flags = op->flags;

	kc__chrome_put(text, "{\"launch\":");
	kc__chrome_put_integer(text, op->sequence);
	if (isfinite(op->error_percent)) {
		kc__chrome_real(text, "error_percent", op->error_percent, 3);
		kc__chrome_number(text, "predicted_ns",
				  kc_minus_ns(op->end_ns[KC__TRACK_PREDICTED], op->start_ns[KC__TRACK_PREDICTED]));
		kc__chrome_number(text, "measured_ns",
				  kc_minus_ns(op->end_ns[KC__TRACK_MEASURED], op->start_ns[KC__TRACK_MEASURED]));
	}
	if (op->replayed)
		put_replayed(text, op->replayed);
	else
		put_recorded(text, op);
	kc__chrome_word(text, "overlap",
			flagged(KC_FLAG(flags, OVERLAP), KC_OVERLAP_NONE, KC_OVERLAP_OVERTAKEN + 1, kc_overlap_name));
	kc__chrome_word(text, "unmeasured",
			flagged(KC_FLAG(flags, UNMEASURED), 1, KC_UNMEASURED_COUNT, kc_unmeasured_name));
	kc__chrome_put(text, op->sizes);
	kc__chrome_put(text, "}");
}

static void put_transfer_args(struct kc__chrome_text *text, const struct kc__chrome_op *op)
{
	kc__chrome_put(text, "{");
	if (op->bytes.is_known) {
		kc__chrome_put(text, "\"bytes\":");
		kc__chrome_put_integer(text, op->bytes.value);
	}
	kc__chrome_put(text, "}");
}

void kc__chrome_put_args(struct kc__chrome_text *text, const struct kc__chrome_op *op)
{
	(op->kind ? put_transfer_args : put_launch_args)(text, op);
}

const char *kc__chrome_colour(const struct kc__chrome_op *op)
{
	if (isnan(op->ratio) || (op->ratio >= GOOD_LOW && op->ratio <= GOOD_HIGH))
		return NULL;
	return op->ratio < FAR_LOW || op->ratio > FAR_HIGH ? COLOUR_FAR_OFF : COLOUR_OFF;
}

static int open_source(struct kc_store *store, const struct kc_selection *selection, struct kc__chrome_source *source)
{
	int rc = sqlite3_prepare_v2(kc_store_db(store), source->sql, -1, &source->row, NULL);

	source->store = store;
	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	sqlite3_bind_int64(source->row, 1, selection->first_run);
	sqlite3_bind_int64(source->row, 2, selection->last_run);
	if (sqlite3_bind_parameter_count(source->row) > 2) {
		sqlite3_bind_int64(source->row, 3, KC_SEQUENCE_MASK);
		sqlite3_bind_int64(source->row, 4, KC_PROCESS_MAX);
	}
	source->rc = sqlite3_step(source->row);
	return 0;
}

int kc__chrome_sources_open(struct kc__chrome_source sources[KC__CHROME_SOURCES], struct kc_store *store,
			    const struct kc_selection *selection)
{
	int rc = 0;

	sources[0] = (struct kc__chrome_source){.sql = launch_sql, .read = read_launch};
	sources[1] = (struct kc__chrome_source){.sql = transfer_sql, .read = read_transfer};
	for (size_t i = 0; i < KC__CHROME_SOURCES && rc == 0; i++)
		rc = open_source(store, selection, sources + i);
	return rc;
}

struct kc__chrome_source *kc__chrome_sources_next(struct kc__chrome_source sources[KC__CHROME_SOURCES])
{
	if (sources[0].rc != SQLITE_ROW || sources[1].rc != SQLITE_ROW)
		return sources[0].rc == SQLITE_ROW ? sources : sources[1].rc == SQLITE_ROW ? sources + 1 : NULL;
	return kc__chrome_integer(sources[0].row, ID) <= kc__chrome_integer(sources[1].row, ID) ? sources : sources + 1;
}

int kc__chrome_sources_error(const struct kc__chrome_source sources[KC__CHROME_SOURCES])
{
	for (size_t i = 0; i < KC__CHROME_SOURCES; i++) {
		if (sources[i].rc != SQLITE_DONE)
			return kc__export_error(sources[i].rc);
	}
	return 0;
}

void kc__chrome_sources_close(struct kc__chrome_source sources[KC__CHROME_SOURCES])
{
	for (size_t i = 0; i < KC__CHROME_SOURCES; i++)
		sqlite3_finalize(sources[i].row);
	for (size_t i = 0; i < KC__CHROME_SOURCES; i++) {
		kc__chrome_shapes_free(&sources[i].shapes);
		kc__chrome_streams_free(&sources[i].streams);
		kc__chrome_kinds_free(&sources[i].kinds);
	}
}
