#include "sample.h"
#include "predictor/engine.h"
#include "store/database/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What is to be added to times of a process, so that they are from the start of its run: see struct kc_filter_choice.
 */
#define OFFSET "p.started_ns - f.first_ns"
#define OF_RUNS                                                                                                        \
	" FROM process p JOIN (SELECT run, min(started_ns) AS first_ns FROM process WHERE run BETWEEN ?1 AND ?2"       \
	" GROUP BY run) f ON f.run = p.run"

/* The first seven columns are those of kc_filter_row(). */
#define LAUNCHES                                                                                                       \
	"SELECT r.id >> ?3, r.stream, s.kernel, r.launched, r.measured_span, s.device, r.id, r.wait, r.span,"          \
	" r.measured_wait,"                                                                                            \
	" r.solo, r.below, r.above, r.flags, r.slowdown"                                                               \
	" FROM launch_row r LEFT JOIN shape s ON s.id = r.shape WHERE r.id BETWEEN ?1 AND ?2 ORDER BY r.id"
enum {
	COLUMN_PROCESS,
	COLUMN_STREAM,
	COLUMN_KERNEL,
	COLUMN_LAUNCHED,
	COLUMN_MEASURED_SPAN,
	COLUMN_DEVICE,
	COLUMN_ID,
	COLUMN_WAIT,
	COLUMN_SPAN,
	COLUMN_MEASURED_WAIT,
	COLUMN_SOLO,
	COLUMN_BELOW,
	COLUMN_ABOVE,
	COLUMN_FLAGS,
	COLUMN_SLOWDOWN,
};

struct numbers {             /* those of a process's launches */
	int64_t first, last; /* rows */
	int64_t offset_ns;
};

struct reader {
	struct kc_store *store;
	struct kc_filter *filter;
	struct kc__list processes; /* struct numbers */
	sqlite3_stmt *rows;        /* LAUNCHES */
	struct kc_sample *out;
};

/* An impossible time counts as none. */
static void set_times(struct kc_sample_launch *l, enum kc_sample_kind kind, int64_t start_ns, int64_t span_ns)
{
	const int64_t wait_ns = kc_minus_ns(start_ns, l->launched_ns);

	if (span_ns < 0 || span_ns > KC_MEASURED_MAX_NS || wait_ns < -KC_MEASURED_MAX_NS ||
	    wait_ns > KC_MEASURED_MAX_NS)
		return;
	l->has[kind] = 1;
	l->start_ns[kind] = start_ns;
	l->end_ns[kind] = kc_plus_ns(start_ns, span_ns);
}

static void set_row_times(struct kc_sample_launch *l, enum kc_sample_kind kind, sqlite3_stmt *row, int wait, int span)
{
	if (sqlite3_column_type(row, span) != SQLITE_NULL)
		set_times(l, kind, kc_plus_ns(l->launched_ns, sqlite3_column_int64(row, wait)),
			  sqlite3_column_int64(row, span));
}

/* A product that is a time. */
static int is_possible(int64_t ns, double slowdown)
{
	return fabs((double)ns * slowdown) <= (double)KC_MEASURED_MAX_NS;
}

static int add_launch(struct reader *r, int64_t offset_ns)
{
	struct kc_sample_launch *l = kc__list_add(&r->out->launches, sizeof(*l));
	struct kc_engine_launch said = {0};
	sqlite3_stmt *row = r->rows;
	int64_t flags = sqlite3_column_int64(row, COLUMN_FLAGS), solo_ns = sqlite3_column_int64(row, COLUMN_SOLO);

	if (!l)
		return -ENOMEM;
	l->process = sqlite3_column_int64(row, COLUMN_PROCESS);
	l->sequence = sqlite3_column_int64(row, COLUMN_ID) & KC_SEQUENCE_MASK;
	l->stream = sqlite3_column_int64(row, COLUMN_STREAM);
	l->kernel = sqlite3_column_int64(row, COLUMN_KERNEL);
	l->launched_ns = kc_plus_ns(sqlite3_column_int64(row, COLUMN_LAUNCHED), offset_ns);
	l->overlap = KC_FLAG(flags, OVERLAP);
	set_row_times(l, KC_SAMPLE_MEASURED, row, COLUMN_MEASURED_WAIT, COLUMN_MEASURED_SPAN);
	l->novelty = KC_FLAG(flags, NOVELTY) - 1;
	if (KC_FLAG(flags, UNPREDICTABLE) != KC_PREDICTED || l->novelty > KC_REPEATED) /* the latter, if damaged */
		return 0;
	set_row_times(l, KC_SAMPLE_PREDICTED, row, COLUMN_WAIT, COLUMN_SPAN);
	l->slowdown = 1 + (double)sqlite3_column_int64(row, COLUMN_SLOWDOWN) / KC_SLOWDOWN_SCALE;
	said.solo_low_ns = kc_minus_ns(solo_ns, sqlite3_column_int64(row, COLUMN_BELOW));
	said.solo_high_ns = kc_plus_ns(solo_ns, sqlite3_column_int64(row, COLUMN_ABOVE));
	said.slowdown = (float)l->slowdown;
	if (is_possible(said.solo_low_ns, l->slowdown) && is_possible(said.solo_high_ns, l->slowdown))
		kc_engine_interval(&said, &l->low_ns, &l->high_ns);
	return 0;
}

/* Adds the first `most` launches with these ids that match. */
static int add_range(struct reader *r, int64_t first, int64_t last, int64_t offset_ns, size_t most)
{
	int rc = 0, step = SQLITE_DONE;

	sqlite3_bind_int64(r->rows, 1, first);
	sqlite3_bind_int64(r->rows, 2, last);
	while (rc >= 0 && most && (step = sqlite3_step(r->rows)) == SQLITE_ROW) {
		rc = kc_filter_row(r->filter, r->rows, COLUMN_PROCESS);
		if (rc > 0) {
			rc = add_launch(r, offset_ns);
			most--;
		}
	}
	if (rc >= 0)
		rc = most ? kc__errno(r->store->db, step) : 0;
	sqlite3_reset(r->rows);
	return rc;
}

static int add_process(sqlite3_stmt *row, void *arg)
{
	struct reader *r = arg;
	struct numbers *numbers;

	if (sqlite3_column_type(row, 0) == SQLITE_NULL) /* it has launched nothing */
		return 0;
	numbers = kc__list_add(&r->processes, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	numbers->first = sqlite3_column_int64(row, 0);
	numbers->last = sqlite3_column_int64(row, 1);
	numbers->offset_ns = sqlite3_column_int64(row, 2);
	return 0;
}

#define NUMBERS                                                                                                        \
	"SELECT (SELECT min(id) FROM launch_row WHERE id BETWEEN p.id << %d AND p.id << %d | %lld),"                   \
	" (SELECT max(id) FROM launch_row WHERE id BETWEEN p.id << %d AND p.id << %d | %lld), " OFFSET OF_RUNS         \
	" WHERE p.id BETWEEN 1 AND %lld ORDER BY p.id"

static int open_reader(struct reader *r)
{
	int rc = kc__errno(r->store->db, sqlite3_prepare_v2(r->store->db, LAUNCHES, -1, &r->rows, NULL));

	if (rc == 0)
		sqlite3_bind_int(r->rows, 3, KC_SEQUENCE_BITS);
	return rc;
}

static int read_processes(struct reader *r, const struct kc_selection *selection)
{
	const long long mask = KC_SEQUENCE_MASK;
	char sql[640];

	snprintf(sql, sizeof(sql), NUMBERS, KC_SEQUENCE_BITS, KC_SEQUENCE_BITS, mask, KC_SEQUENCE_BITS,
		 KC_SEQUENCE_BITS, mask, (long long)KC_PROCESS_MAX);
	return kc__select(r->store, selection, sql, add_process, r);
}

/* Ranges may reach over the end of a process: what lies beyond it belongs to the next range. */
static int draw(struct reader *r, size_t most)
{
	const struct numbers *processes = r->processes.at;
	uint64_t whole = 0, before = 0;
	size_t at = 0;
	int rc = 0;

	for (size_t i = 0; i < r->processes.count; i++)
		whole += (uint64_t)(processes[i].last - processes[i].first) + 1;
	if (most > whole)
		most = (size_t)whole;
	for (size_t i = 0; i < most && rc == 0; i++) {
		uint64_t first = (uint64_t)((unsigned __int128)whole * i / most);
		uint64_t next = (uint64_t)((unsigned __int128)whole * (i + 1) / most), length;
		int64_t from;

		while (first - before >= (length = (uint64_t)(processes[at].last - processes[at].first) + 1)) {
			before += length;
			at++;
		}
		from = processes[at].first + (int64_t)(first - before);
		if (next - before > length)
			next = before + length;
		rc = add_range(r, from, from + (int64_t)(next - first) - 1, processes[at].offset_ns, 1);
	}
	return rc;
}

static void close_reader(struct reader *r)
{
	sqlite3_finalize(r->rows);
	free(r->processes.at);
}

int kc_sample_draw(struct kc_store *s, const struct kc_selection *selection, struct kc_filter *filter, size_t most,
		   struct kc_sample *out)
{
	struct reader r = {.store = s, .filter = filter, .out = out};
	int rc = open_reader(&r);

	if (rc == 0)
		rc = read_processes(&r, selection);
	if (rc == 0 && r.processes.count)
		rc = draw(&r, most);
	close_reader(&r);
	return rc;
}

/* --- windows */

#define COPIES                                                                                                         \
	"SELECT t.process, t.stream, t.launched_ns, t.start_ns, t.end_ns, t.measured_start_ns, t.measured_end_ns,"     \
	" t.bytes, t.id, p.started_ns FROM transfer t JOIN process p ON p.id = t.process"                              \
	" WHERE t.id BETWEEN ?1 AND ?2 ORDER BY t.id LIMIT ?3"

struct copies {
	struct kc_sample *out;
	int64_t offset_ns;
};

static void set_copy_times(struct kc_sample_launch *l, enum kc_sample_kind kind, sqlite3_stmt *row, int start,
			   int64_t minus_ns)
{
	const int64_t start_ns = sqlite3_column_int64(row, start), end_ns = sqlite3_column_int64(row, start + 1);

	if (sqlite3_column_type(row, start) != SQLITE_NULL && sqlite3_column_type(row, start + 1) != SQLITE_NULL)
		set_times(l, kind, kc_minus_ns(start_ns, minus_ns), kc_minus_ns(end_ns, start_ns));
}

/* Times of transfers are those of the host's clock. */
static int add_copy(sqlite3_stmt *row, const struct copies *copies)
{
	struct kc_sample_launch *l = kc__list_add(&copies->out->launches, sizeof(*l));
	int64_t minus_ns = kc_minus_ns(sqlite3_column_int64(row, 9), copies->offset_ns);

	if (!l)
		return -ENOMEM;
	l->is_copy = 1;
	l->process = sqlite3_column_int64(row, 0);
	l->stream = sqlite3_column_int64(row, 1);
	l->launched_ns =
	    kc_minus_ns(sqlite3_column_int64(row, sqlite3_column_type(row, 2) == SQLITE_NULL ? 5 : 2), minus_ns);
	l->copy_bytes = sqlite3_column_int64(row, 7);
	l->sequence = sqlite3_column_int64(row, 8) & KC_SEQUENCE_MASK;
	set_copy_times(l, KC_SAMPLE_PREDICTED, row, 3, minus_ns);
	set_copy_times(l, KC_SAMPLE_MEASURED, row, 5, minus_ns);
	return 0;
}

static int add_copies(struct kc_store *s, int64_t first, int64_t last, size_t most, const struct copies *copies)
{
	sqlite3_stmt *row = NULL;
	int rc = kc__errno(s->db, sqlite3_prepare_v2(s->db, COPIES, -1, &row, NULL)), step = SQLITE_DONE;

	if (rc == 0) {
		sqlite3_bind_int64(row, 1, first);
		sqlite3_bind_int64(row, 2, last);
		sqlite3_bind_int64(row, 3, (int64_t)most);
		while (rc == 0 && (step = sqlite3_step(row)) == SQLITE_ROW)
			rc = add_copy(row, copies);
		rc = rc ? rc : kc__errno(s->db, step);
	}
	sqlite3_finalize(row);
	return rc;
}

static int read_offset(sqlite3_stmt *row, void *arg)
{
	*(int64_t *)arg = sqlite3_column_int64(row, 0);
	return 0;
}

static int offset_of(struct kc_store *s, int64_t process, int64_t *out)
{
	static const char sql[] = "SELECT p.started_ns - (SELECT min(f.started_ns) FROM process f WHERE f.run = p.run)"
				  " FROM process p WHERE p.id BETWEEN ?1 AND ?2";
	const struct kc_selection one = {process, process}; /* ?1 and ?2 are its id here */

	*out = 0;
	return kc__select(s, &one, sql, read_offset, out);
}

int kc_sample_window(struct kc_store *s, int64_t process, int64_t first_sequence, size_t most, struct kc_sample *out)
{
	struct reader r = {.store = s, .out = out};
	const int64_t first = process << KC_SEQUENCE_BITS;
	struct copies copies = {.out = out};
	int rc;

	if (process < 1 || process > KC_PROCESS_MAX || first_sequence < 0 || first_sequence > KC_SEQUENCE_MASK)
		return -EINVAL;
	rc = offset_of(s, process, &copies.offset_ns);
	if (rc == 0)
		rc = open_reader(&r);
	if (rc == 0)
		rc = add_range(&r, first | first_sequence, first | KC_SEQUENCE_MASK, copies.offset_ns, most);
	if (rc == 0 && out->launches.count) {
		const struct kc_sample_launch *all = out->launches.at, *last = all + out->launches.count - 1;

		rc = add_copies(s, first | first_sequence, first | last->sequence, most, &copies);
	}
	close_reader(&r);
	return rc;
}

/* --- λ */

#define LAMBDAS                                                                                                        \
	"SELECT p.id, s.kernel, l.shape, s.grid_x, l.level, l.time, l.count, l.value, " OFFSET OF_RUNS                 \
	" CROSS JOIN lambda_row l LEFT JOIN shape s ON s.id = l.shape"                                                 \
	" WHERE p.id BETWEEN 1 AND %lld"                                                                               \
	" AND l.id BETWEEN p.id << %d AND p.id << %d | %lld ORDER BY p.id, l.id LIMIT %zu"
#define LAMBDA_SCALE 1e9 /* of lambda_row.value */

static int add_lambda(sqlite3_stmt *row, void *arg)
{
	struct kc_sample_lambda *lambda = kc__list_add(arg, sizeof(*lambda));

	if (!lambda)
		return -ENOMEM;
	*lambda = (struct kc_sample_lambda){
	    .process = sqlite3_column_int64(row, 0),
	    .kernel = sqlite3_column_int64(row, 1),
	    .shape = sqlite3_column_int64(row, 3) > 0 ? sqlite3_column_int64(row, 2) : 0,
	    .level = (uint32_t)sqlite3_column_int64(row, 4),
	    .time_ns = kc_plus_ns(sqlite3_column_int64(row, 5), sqlite3_column_int64(row, 8)),
	    .count = (uint64_t)sqlite3_column_int64(row, 6),
	    .value = (double)sqlite3_column_int64(row, 7) / LAMBDA_SCALE,
	};
	return 0;
}

int kc_sample_lambdas(struct kc_store *s, const struct kc_selection *selection, size_t most, struct kc__list *out)
{
	char sql[768];

	snprintf(sql, sizeof(sql), LAMBDAS, (long long)KC_PROCESS_MAX, KC_SEQUENCE_BITS, KC_SEQUENCE_BITS,
		 (long long)KC_SEQUENCE_MASK, most);
	return kc__select(s, selection, sql, add_lambda, out);
}

/* --- slowdown */

#define SLOWDOWNS                                                                                                      \
	"SELECT kernel, concurrency_case, overlap, sum(slow_n), sum(slow_predicted_sum), sum(slow_measured_sum)"       \
	" FROM rollup WHERE run BETWEEN ?1 AND ?2 AND slow_n > 0"                                                      \
	" GROUP BY kernel, stream, concurrency_case, overlap ORDER BY sum(slow_n) DESC, 1, 2, 3 LIMIT %zu"

static int add_slowdown(sqlite3_stmt *row, void *arg)
{
	double n = sqlite3_column_double(row, 3);
	struct kc_sample_slowdown *slowdown = n >= 1 ? kc__list_add(arg, sizeof(*slowdown)) : NULL;

	if (n < 1) /* in a damaged database */
		return 0;
	if (!slowdown)
		return -ENOMEM;
	*slowdown = (struct kc_sample_slowdown){
	    .kernel = sqlite3_column_int64(row, 0),
	    .concurrency_case = (uint32_t)sqlite3_column_int64(row, 1),
	    .overlap = (uint32_t)sqlite3_column_int64(row, 2),
	    .launches = (uint64_t)sqlite3_column_int64(row, 3),
	    .predicted = sqlite3_column_double(row, 4) / n,
	    .measured = sqlite3_column_double(row, 5) / n,
	};
	return 0;
}

int kc_sample_slowdowns(struct kc_store *s, const struct kc_selection *selection, size_t most, struct kc__list *out)
{
	char sql[512];

	snprintf(sql, sizeof(sql), SLOWDOWNS, most);
	return kc__select(s, selection, sql, add_slowdown, out);
}
