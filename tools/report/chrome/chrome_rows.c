#include "chrome_rows.h"
#include "chrome_tracks.h"

#include "predictor/papers/leftover.h"
#include "predictor/solo/forecast.h"
#include "store/database/schema.h"

#include <math.h>
#include <sqlite3.h>

/* A prediction within 20 % of the measured duration is good, as in the report; beyond a factor of 2 it is far off. */
#define GOOD_LOW 0.8
#define GOOD_HIGH 1.2
#define FAR_LOW 0.5
#define FAR_HIGH 2.0
#define COLOUR_OFF "bad"          /* orange in chrome://tracing */
#define COLOUR_FAR_OFF "terrible" /* red */

enum {
	ID,
	PROCESS,
	STREAM,
	NAME,
	START,
	END,
	MEASURED_START,
	MEASURED_END,
	SEQUENCE,
	LAUNCHED,
	THREAD,
	IMPORTED,
	PROCESS_STARTED,
	/* of transfers */
	BYTES,
	/* of launches */
	MODEL = BYTES,
	CASE,
	OVERLAP,
	NOVELTY,
	SLOWDOWN,
	SOLO,
	SOLO_LOW,
	SOLO_HIGH,
	GRID,
	BLOCK = GRID + 3,
	UNPREDICTABLE = BLOCK + 3,
	UNMEASURED,
	SHARED_BYTES,
	DEVICE,
	DEVICE_SMS,
	PREDICTED_AT,
	API,
	GRAPH_LAUNCH,
};

static const char launch_sql[] =
    "SELECT l.process << 40 | l.sequence, l.process, coalesce(l.stream, 0), k.name, l.start_ns, l.end_ns,"
    " l.measured_start_ns, l.measured_end_ns, l.sequence, l.launched_ns, l.thread, p.source NOT NULL,"
    " p.started_ns, l.model,"
    " l.concurrency_case, l.overlap, l.novelty, l.slowdown, l.solo_ns, l.solo_low_ns, l.solo_high_ns,"
    " l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z, l.unpredictable, l.unmeasured,"
    " l.dynamic_shared_bytes, l.device, d.sm_count, l.predicted_at_ns, l.api, l.graph_launch, " KC__EXPORT_FILTER(
	"l", "l.kernel") " FROM launch l LEFT JOIN kernel k ON k.id = l.kernel LEFT JOIN process p ON p.id = l.process"
			 " LEFT JOIN device d ON d.id = l.device WHERE l.run BETWEEN ?1 AND ?2";

static const char transfer_sql[] =
    "SELECT t.id, t.process, coalesce(t.stream, 0), t.kind, t.start_ns, t.end_ns, t.measured_start_ns,"
    " t.measured_end_ns, t.sequence, t.launched_ns, t.thread, p.source NOT NULL, p.started_ns, "
    "t.bytes, " KC__EXPORT_FILTER(
	"t", "NULL") " FROM transfer t JOIN process p ON p.id = t.process WHERE p.run BETWEEN ?1 AND ?2 ORDER BY t.id";

int64_t kc__chrome_integer(sqlite3_stmt *row, int i)
{
	return sqlite3_column_int64(row, i);
}

const char *kc__chrome_string(sqlite3_stmt *row, int i)
{
	return (const char *)sqlite3_column_text(row, i);
}

/* A trace without times of calls has the start of the kernel in their place. */
static void read_call(sqlite3_stmt *row, const char *call, struct kc__chrome_op *op)
{
	op->launched_ns = op->called_ns = kc__chrome_integer(row, LAUNCHED);
	op->thread = kc__chrome_integer(row, THREAD);
	if (!kc__chrome_integer(row, IMPORTED) || op->launched_ns != op->start_ns[KC__TRACK_MEASURED])
		op->call = call ? call : "unknown";
}

static void read_common(sqlite3_stmt *row, const char *category, struct kc__chrome_op *op)
{
	*op = (struct kc__chrome_op){
	    .process = kc__chrome_integer(row, PROCESS),
	    .sequence = kc__chrome_integer(row, SEQUENCE),
	    .stream = kc__chrome_integer(row, STREAM),
	    .name = kc__chrome_string(row, NAME),
	    .category = category,
	    .start_ns = {kc__chrome_integer(row, START), kc__chrome_integer(row, MEASURED_START)},
	    .end_ns = {kc__chrome_integer(row, END), kc__chrome_integer(row, MEASURED_END)},
	    .error_percent = NAN,
	    .ratio = NAN,
	};
	if (!op->name)
		op->name = "unknown";
	for (int kind = 0; kind < KC__CHROME_KINDS; kind++) {
		if (op->end_ns[kind] < op->start_ns[kind]) /* a damaged row */
			op->end_ns[kind] = 0;
	}
}

static int read_transfer(sqlite3_stmt *row, struct kc__replayed *replayed, struct kc__chrome_op *op)
{
	(void)replayed;
	read_common(row, "transfer", op);
	read_call(row, op->name, op);
	return 0;
}

static int64_t blocks_of(sqlite3_stmt *row)
{
	int64_t blocks = 1;

	for (int i = 0; i < 3; i++) {
		int64_t count = kc__chrome_integer(row, GRID + i);

		if (count <= 0)
			return 0;
		if (__builtin_mul_overflow(blocks, count, &blocks))
			return INT64_MAX;
	}
	return blocks;
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

static int read_launch(sqlite3_stmt *row, struct kc__replayed *replayed, struct kc__chrome_op *op)
{
	int64_t started_ns = kc__chrome_integer(row, PROCESS_STARTED);
	int rc = 0;

	read_common(row, "kernel", op);
	read_call(row, kc__chrome_string(row, API), op);
	op->graph_launch = kc__chrome_integer(row, GRAPH_LAUNCH);
	op->device = kc__chrome_integer(row, DEVICE);
	op->device_sms = kc__chrome_integer(row, DEVICE_SMS);
	op->blocks = blocks_of(row);
	if (op->end_ns[KC__TRACK_PREDICTED] && kc__chrome_integer(row, PREDICTED_AT) <= op->launched_ns)
		op->called_ns = kc__chrome_integer(row, PREDICTED_AT);
	if (kc__chrome_integer(row, IMPORTED))
		op->replayed = kc__replayed_find(replayed, op->process, op->sequence, &rc);
	if (op->replayed && op->replayed->unpredictable == KC_PREDICTED) {
		op->start_ns[KC__TRACK_PREDICTED] = kc_plus_ns(started_ns, op->replayed->start_ns);
		op->end_ns[KC__TRACK_PREDICTED] = kc_plus_ns(started_ns, op->replayed->end_ns);
	}
	note_error(op);
	return rc;
}

/* Damaged so that JSON has no number for it, or not known: it is left out. */
static void put_known(struct kc__chrome_text *text, const char *key, sqlite3_stmt *row, int i)
{
	int type = sqlite3_column_type(row, i);

	if (type == SQLITE_INTEGER)
		kc__chrome_number(text, key, kc__chrome_integer(row, i));
	else if (type == SQLITE_FLOAT && isfinite(sqlite3_column_double(row, i)))
		kc__chrome_real(text, key, sqlite3_column_double(row, i), 4);
}

static void put_dimensions(struct kc__chrome_text *text, const char *key, sqlite3_stmt *row, int i)
{
	int64_t x = kc__chrome_integer(row, i), y = kc__chrome_integer(row, i + 1), z = kc__chrome_integer(row, i + 2);

	if (x <= 0 || y <= 0 || z <= 0)
		return;
	kc__chrome_key(text, key);
	kc__chrome_put(text, "\"");
	kc__chrome_put_integer(text, x);
	kc__chrome_put(text, "x");
	kc__chrome_put_integer(text, y);
	kc__chrome_put(text, "x");
	kc__chrome_put_integer(text, z);
	kc__chrome_put(text, "\"");
}

static void put_recorded(struct kc__chrome_text *text, sqlite3_stmt *row, const struct kc__chrome_op *op)
{
	kc__chrome_named(text, "model", kc__chrome_string(row, MODEL));
	kc__chrome_named(text, "case", kc__chrome_string(row, CASE));
	kc__chrome_named(text, "novelty", kc__chrome_string(row, NOVELTY));
	kc__chrome_named(text, "unpredictable", kc__chrome_string(row, UNPREDICTABLE));
	if (!op->end_ns[KC__TRACK_PREDICTED])
		return;
	put_known(text, "slowdown", row, SLOWDOWN);
	put_known(text, "solo_ns", row, SOLO);
	put_known(text, "solo_low_ns", row, SOLO_LOW);
	put_known(text, "solo_high_ns", row, SOLO_HIGH);
}

static void put_replayed(struct kc__chrome_text *text, const struct kc__replayed_launch *launch)
{
	static const char *const novelties[] = {"first_seen", "new_size", "repeated"};

	if (launch->unpredictable != KC_PREDICTED) {
		kc__chrome_named(text, "unpredictable", kc_unpredictable_name(launch->unpredictable));
		return;
	}
	kc__chrome_named(text, "model", kc_model_name(launch->model));
	kc__chrome_named(text, "case", kc_case_name(launch->concurrency_case));
	kc__chrome_named(text, "novelty", novelties[launch->novelty]);
	kc__chrome_real(text, "slowdown", launch->slowdown, 4);
	kc__chrome_number(text, "solo_ns", launch->solo_ns);
	kc__chrome_number(text, "solo_low_ns", launch->solo_low_ns);
	kc__chrome_number(text, "solo_high_ns", launch->solo_high_ns);
}

static void put_launch_args(struct kc__chrome_text *text, sqlite3_stmt *row, const struct kc__chrome_op *op)
{
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
		put_recorded(text, row, op);
	kc__chrome_named(text, "overlap", kc__chrome_string(row, OVERLAP));
	kc__chrome_named(text, "unmeasured", kc__chrome_string(row, UNMEASURED));
	put_dimensions(text, "grid", row, GRID);
	put_dimensions(text, "block", row, BLOCK);
	if (kc__chrome_integer(row, GRID) > 0) /* else the launch shape is not known */
		put_known(text, "dynamic_shared_bytes", row, SHARED_BYTES);
	kc__chrome_put(text, "}");
}

static void put_transfer_args(struct kc__chrome_text *text, sqlite3_stmt *row, const struct kc__chrome_op *op)
{
	(void)op;
	kc__chrome_put(text, "{");
	if (sqlite3_column_type(row, BYTES) == SQLITE_INTEGER) {
		kc__chrome_put(text, "\"bytes\":");
		kc__chrome_put_integer(text, kc__chrome_integer(row, BYTES));
	}
	kc__chrome_put(text, "}");
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

	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	sqlite3_bind_int64(source->row, 1, selection->first_run);
	sqlite3_bind_int64(source->row, 2, selection->last_run);
	source->rc = sqlite3_step(source->row);
	return 0;
}

int kc__chrome_sources_open(struct kc__chrome_source sources[KC__CHROME_SOURCES], struct kc_store *store,
			    const struct kc_selection *selection)
{
	int rc = 0;

	sources[0] = (struct kc__chrome_source){
	    .sql = launch_sql, .read = read_launch, .put_args = put_launch_args, .has_counters = 1};
	sources[1] =
	    (struct kc__chrome_source){.sql = transfer_sql, .read = read_transfer, .put_args = put_transfer_args};
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
}
