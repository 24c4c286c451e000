#include "import_stage.h"
#include "operators/link.h"
#include "store/common/ids/intern.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct kc_stage {
	sqlite3 *db;
	sqlite3_stmt *add_row, *add_call, *add_text, *add_owner, *add_caller, *add_step;
	struct kc_operator_links *links;
	struct kc_intern texts;
	uint32_t texts_stored;
	uint64_t rows;
};

#define NUMBER(name, ...) #name ","
#define COLUMN(name, ...) "r." #name ","
#define MARK(name, ...) "?,"

static const char schema[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -8192;"
    "PRAGMA temp_store = FILE;"
    "CREATE TABLE row(" KC_TRACE_NUMBERS(
	NUMBER) "process, module, device_name, args, name, what);"
		"CREATE TABLE call(process, correlation, launch_ns, thread, PRIMARY KEY(process, correlation))"
		" WITHOUT ROWID;"
		"CREATE TABLE owner(process INTEGER PRIMARY KEY, owner);"
		"CREATE TABLE caller(process, caller, PRIMARY KEY(process, caller)) WITHOUT ROWID;"
		"CREATE TABLE step(process, number, start_ns, end_ns);"
		"CREATE TABLE text(id INTEGER PRIMARY KEY, value TEXT);"
		"BEGIN";

static const char sql_row[] = "INSERT INTO row VALUES(" KC_TRACE_NUMBERS(MARK) "?, ?, ?, ?, ?, ?)";
static const char sql_call[] = "INSERT INTO call VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE"
			       " SET launch_ns = excluded.launch_ns, thread = excluded.thread"
			       " WHERE excluded.launch_ns < launch_ns";
static const char sql_step[] = "INSERT INTO step VALUES(?, ?, ?, ?)";
static const char sql_text[] = "INSERT INTO text VALUES(?, ?)";
static const char sql_owner[] = "INSERT OR REPLACE INTO owner VALUES(?, ?)";
static const char sql_caller[] = "INSERT OR IGNORE INTO caller VALUES(?, ?)";
#define LAUNCHED                                                                                                       \
	"coalesce((SELECT c.launch_ns FROM call c WHERE c.process = r.process AND c.correlation = r.correlation),"     \
	" (SELECT min(c.launch_ns) FROM caller k CROSS JOIN call c ON c.process = k.caller"                            \
	" AND c.correlation = r.correlation WHERE k.process = r.process))"
#define TAKE(order)                                                                                                    \
	"SELECT " KC_TRACE_NUMBERS(                                                                                    \
	    COLUMN) "p.value, m.value, d.value, a.value, n.value, r.what, " LAUNCHED                                   \
		    " AS called_ns, " KC_OPERATOR_COLUMNS " FROM row r" KC_OPERATOR_JOIN                               \
		    " LEFT JOIN owner o ON o.process = r.process"                                                      \
		    " JOIN text p ON p.id = coalesce(o.owner, r.process) JOIN text m ON m.id = r.module"               \
		    " JOIN text d ON d.id = r.device_name JOIN text n ON n.id = r.name JOIN text a ON a.id = r.args"   \
		    " ORDER BY " order "coalesce(r.start_ns, r.launch_ns, called_ns) NULLS LAST, r.rowid"
static const char sql_take[] = TAKE("");
static const char sql_take_by_process[] = TAKE("p.id, ");

/* Of the one process that the calls are of. */
static const char sql_steps[] = "SELECT t.value, s.number, s.start_ns, s.end_ns FROM step s JOIN (SELECT k.caller, "
				"min(coalesce(o.owner, k.process))"
				" AS owner FROM caller k LEFT JOIN owner o ON o.process = k.process GROUP BY 1"
				" HAVING count(DISTINCT coalesce(o.owner, k.process)) = 1) c ON c.caller = s.process"
				" JOIN text t ON t.id = c.owner ORDER BY s.start_ns, s.rowid";

int kc_stage_errno(int rc)
{
	switch (rc) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

static int prepare(struct kc_stage *s, const char *sql, sqlite3_stmt **stmt)
{
	return kc_stage_errno(sqlite3_prepare_v2(s->db, sql, -1, stmt, NULL));
}

int kc_stage_new(struct kc_stage **out)
{
	struct kc_stage *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	rc = kc_stage_errno(sqlite3_open("", &s->db));
	if (rc == 0)
		rc = kc_stage_errno(sqlite3_exec(s->db, schema, NULL, NULL, NULL));
	if (rc == 0)
		rc = kc_operator_links_new(s->db, &s->links);
	if (rc == 0)
		rc = prepare(s, sql_row, &s->add_row);
	if (rc == 0)
		rc = prepare(s, sql_call, &s->add_call);
	if (rc == 0)
		rc = prepare(s, sql_text, &s->add_text);
	if (rc == 0)
		rc = prepare(s, sql_owner, &s->add_owner);
	if (rc == 0)
		rc = prepare(s, sql_caller, &s->add_caller);
	if (rc == 0)
		rc = prepare(s, sql_step, &s->add_step);
	if (rc) {
		kc_stage_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

static int run(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	return kc_stage_errno(rc);
}

/* The id of a text, which is stored at its first use. */
static int number_text(struct kc_stage *s, const char *text, uint32_t *id)
{
	*id = kc_intern(&s->texts, 't', text, strlen(text) + 1);
	if (!*id)
		return -ENOMEM;
	if (*id <= s->texts_stored)
		return 0;
	s->texts_stored = *id;
	sqlite3_bind_int64(s->add_text, 1, *id);
	sqlite3_bind_text(s->add_text, 2, text, -1, SQLITE_STATIC);
	return run(s->add_text);
}

static int bind_text(struct kc_stage *s, sqlite3_stmt *stmt, int at, const char *text)
{
	uint32_t id;
	int rc = number_text(s, text, &id);

	sqlite3_bind_int64(stmt, at, id);
	return rc;
}

static void bind_number(sqlite3_stmt *stmt, int at, int64_t value)
{
	if (value == KC_TRACE_UNKNOWN)
		sqlite3_bind_null(stmt, at);
	else
		sqlite3_bind_int64(stmt, at, value);
}

int kc_stage_add(struct kc_stage *s, const struct kc_trace_row *row)
{
	const char *const texts[] = {row->process, row->module, row->device_name, row->args, row->name};
	int at = 1, rc = 0;

#define BIND(name, ...) bind_number(s->add_row, at++, row->name);
	KC_TRACE_NUMBERS(BIND)
#undef BIND
	for (size_t i = 0; rc == 0 && i < sizeof(texts) / sizeof(*texts); i++)
		rc = bind_text(s, s->add_row, at++, texts[i]);
	sqlite3_bind_int(s->add_row, at, row->what);
	s->rows++;
	return rc ? rc : run(s->add_row);
}

int kc_stage_call(struct kc_stage *s, const char *process, const char *thread, int64_t correlation, int64_t launch_ns)
{
	int rc;

	if (launch_ns < KC_TRACE_FIRST_NS || launch_ns > KC_TRACE_LAST_NS)
		return 0;
	rc = bind_text(s, s->add_call, 1, process);
	sqlite3_bind_int64(s->add_call, 2, correlation);
	sqlite3_bind_int64(s->add_call, 3, launch_ns);
	if (!*thread)
		sqlite3_bind_null(s->add_call, 4);
	else if (rc == 0)
		rc = bind_text(s, s->add_call, 4, thread);
	return rc ? rc : run(s->add_call);
}

static int is_possible(const struct kc_stage_span *span)
{
	return span->start_ns >= KC_TRACE_FIRST_NS && span->end_ns <= KC_TRACE_LAST_NS &&
	       span->start_ns <= span->end_ns;
}

int kc_stage_span(struct kc_stage *s, const struct kc_stage_span *span, enum kc_scope_kind kind, const char *name,
		  const struct kc_operator_inputs *inputs)
{
	struct kc_operator_call call = {.start_ns = span->start_ns, .end_ns = span->end_ns, .kind = kind, .name = name};
	uint32_t process, thread;
	int rc;

	if (!is_possible(span))
		return 0;
	rc = number_text(s, span->process, &process);
	if (rc == 0)
		rc = number_text(s, span->thread, &thread);
	if (rc)
		return rc;
	call.process = process;
	call.thread = thread;
	return kc_operator_links_add(s->links, &call, inputs);
}

int kc_stage_step(struct kc_stage *s, const struct kc_stage_span *span, int64_t number)
{
	int rc;

	if (!is_possible(span))
		return 0;
	rc = bind_text(s, s->add_step, 1, span->process);
	sqlite3_bind_int64(s->add_step, 2, number);
	sqlite3_bind_int64(s->add_step, 3, span->start_ns);
	sqlite3_bind_int64(s->add_step, 4, span->end_ns);
	return rc ? rc : run(s->add_step);
}

static int add_pair(struct kc_stage *s, sqlite3_stmt *stmt, const char *one, const char *other)
{
	int rc = bind_text(s, stmt, 1, one);

	if (rc == 0)
		rc = bind_text(s, stmt, 2, other);
	return rc ? rc : run(stmt);
}

int kc_stage_owner(struct kc_stage *s, const char *process, const char *owner)
{
	return add_pair(s, s->add_owner, process, owner);
}

int kc_stage_caller(struct kc_stage *s, const char *process, const char *caller)
{
	return add_pair(s, s->add_caller, process, caller);
}

uint64_t kc_stage_count(const struct kc_stage *s)
{
	return s->rows;
}

static int64_t number_at(sqlite3_stmt *stmt, int at)
{
	return sqlite3_column_type(stmt, at) == SQLITE_NULL ? KC_TRACE_UNKNOWN : sqlite3_column_int64(stmt, at);
}

static const char *text_at(sqlite3_stmt *stmt, int at)
{
	const char *text = (const char *)sqlite3_column_text(stmt, at);

	return text ? text : "";
}

static double amount_at(sqlite3_stmt *stmt, int at)
{
	return sqlite3_column_type(stmt, at) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, at);
}

/* The columns are KC_OPERATOR_COLUMNS. */
static void read_operator(sqlite3_stmt *stmt, int at, struct kc_trace_operator *out)
{
	*out = (struct kc_trace_operator){
	    .id = (uint32_t)sqlite3_column_int64(stmt, at),
	    .parts = (uint32_t)sqlite3_column_int64(stmt, at + 1),
	    .name = text_at(stmt, at + 2),
	    .inputs = text_at(stmt, at + 3),
	    .type = text_at(stmt, at + 4),
	    .flop = amount_at(stmt, at + 5),
	    .bytes = amount_at(stmt, at + 6),
	    .is_nominal = sqlite3_column_int(stmt, at + 7),
	};
}

static void read_row(sqlite3_stmt *stmt, int64_t zero_ns, struct kc_trace_row *row)
{
	int at = 0;

#define READ(name, ...) row->name = number_at(stmt, at++);
	KC_TRACE_NUMBERS(READ)
#undef READ
	row->process = text_at(stmt, at++);
	row->module = text_at(stmt, at++);
	row->device_name = text_at(stmt, at++);
	row->args = text_at(stmt, at++);
	row->name = text_at(stmt, at++);
	row->what = (enum kc_trace_kind)sqlite3_column_int(stmt, at++);
	if (row->launch_ns == KC_TRACE_UNKNOWN)
		row->launch_ns = number_at(stmt, at);
	read_operator(stmt, at + 1, &row->launched_by);
	row->scope = (uint32_t)sqlite3_column_int64(stmt, at + 9);
	if (kc_trace_row_has_time(row))
		row->start_ns -= zero_ns;
	if (row->launch_ns != KC_TRACE_UNKNOWN)
		row->launch_ns -= zero_ns;
}

int kc_stage_take(struct kc_stage *s, int64_t zero_ns, int one_clock,
		  int (*take)(const struct kc_trace_row *row, void *arg), void *arg)
{
	struct kc_trace_row row = {.kind = ""};
	sqlite3_stmt *stmt = NULL;
	int step = SQLITE_DONE, rc = kc_operator_links_make(s->links);

	if (rc == 0)
		rc = prepare(s, one_clock ? sql_take : sql_take_by_process, &stmt);
	while (rc == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		read_row(stmt, zero_ns, &row);
		rc = take(&row, arg);
	}
	sqlite3_finalize(stmt);
	return rc ? rc : kc_stage_errno(step);
}

int kc_stage_take_steps(struct kc_stage *s, int64_t zero_ns, int (*take)(const struct kc_stage_step *step, void *arg),
			void *arg)
{
	sqlite3_stmt *stmt = NULL;
	int step = SQLITE_DONE, rc = prepare(s, sql_steps, &stmt);

	while (rc == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		const struct kc_stage_step one = {
		    .process = text_at(stmt, 0),
		    .number = sqlite3_column_int64(stmt, 1),
		    .start_ns = sqlite3_column_int64(stmt, 2) - zero_ns,
		    .end_ns = sqlite3_column_int64(stmt, 3) - zero_ns,
		};

		rc = take(&one, arg);
	}
	sqlite3_finalize(stmt);
	return rc ? rc : kc_stage_errno(step);
}

const struct kc_scopes *kc_stage_scopes(const struct kc_stage *s)
{
	return kc_operator_links_scopes(s->links);
}

int kc_stage_earliest(struct kc_stage *s, int64_t *start_ns)
{
	sqlite3_stmt *stmt = NULL;
	int step,
	    rc = prepare(s, "SELECT coalesce((SELECT min(start_ns) FROM row), (SELECT min(launch_ns) FROM call), 0)",
			 &stmt);

	*start_ns = 0;
	if (rc)
		return rc;
	step = sqlite3_step(stmt);
	if (step == SQLITE_ROW)
		*start_ns = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return kc_stage_errno(step);
}

void kc_stage_free(struct kc_stage *s)
{
	if (!s)
		return;
	sqlite3_finalize(s->add_row);
	sqlite3_finalize(s->add_call);
	sqlite3_finalize(s->add_text);
	sqlite3_finalize(s->add_owner);
	sqlite3_finalize(s->add_caller);
	sqlite3_finalize(s->add_step);
	kc_operator_links_free(s->links);
	sqlite3_close(s->db);
	kc_intern_free(&s->texts);
	free(s);
}
