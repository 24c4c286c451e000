#include "forget.h"
#include "store/database/schema.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>

/* How the rows of a table name their process. */
enum owner {
	BY_COLUMN, /* the column "process" */
	BY_ROWID,  /* its upper bits */
	BY_RUN,    /* the column "run" */
};

/* Children before their parents. By what each names, there is an index. */
static const struct {
	const char *table;
	enum owner owner;
} tables[] = {
    {"ledger", BY_COLUMN},         {"call_site", BY_COLUMN},    {"arguments", BY_COLUMN},      {"stream", BY_COLUMN},
    {"process_kernel", BY_COLUMN}, {"rollup", BY_RUN},          {"process_device", BY_COLUMN}, {"work", BY_COLUMN},
    {"past_part", BY_COLUMN},      {"engine_event", BY_COLUMN}, {"process", BY_RUN},
};

/* Those with a row for each launch, transfer or call. The process is in the upper bits of the row's id. */
static const char *const large[] = {"launch_row", "lambda_row", "transfer", "stream_call"};
enum { LARGE = sizeof(large) / sizeof(*large) };

__attribute__((format(printf, 2, 3))) static int execute(sqlite3 *db, const char *format, ...)
{
	va_list arguments;
	char *sql;
	int rc;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

static int delete_rows(sqlite3 *db, const char *table, enum owner owner, int64_t run)
{
	char key[32] = "process";

	if (owner == BY_RUN)
		return execute(db, "DELETE FROM %s WHERE run = %lld", table, (long long)run);
	if (owner == BY_ROWID)
		sqlite3_snprintf(sizeof(key), key, "id >> %d", KC_SEQUENCE_BITS);
	return execute(db, "DELETE FROM %s WHERE %s IN (SELECT id FROM process WHERE run = %lld)", table, key,
		       (long long)run);
}

static int delete_large(sqlite3 *db, int64_t run)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < LARGE && rc == SQLITE_OK; i++)
		rc = delete_rows(db, large[i], BY_ROWID, run);
	return rc;
}

static int delete_run(sqlite3 *db, int64_t run)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && rc == SQLITE_OK; i++)
		rc = delete_rows(db, tables[i].table, tables[i].owner, run);
	return rc == SQLITE_OK ? execute(db, "DELETE FROM run WHERE id = %lld", (long long)run) : rc;
}

/* What names a process and is found by a scan alone. Nobody can tell any more what other processes took from it when
 * they began. processes: a query for their ids, behind IN or NOT IN. */
static int delete_loose(sqlite3 *db, const char *processes)
{
	return execute(db, "DELETE FROM message WHERE process %s; UPDATE past_part SET source = NULL WHERE source %s",
		       processes, processes);
}

static int delete_loose_of(sqlite3 *db, int64_t run)
{
	char processes[80];

	sqlite3_snprintf(sizeof(processes), processes, "IN (SELECT id FROM process WHERE run = %lld)", (long long)run);
	return delete_loose(db, processes);
}

static int error_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

int kc_store_forget_run(struct kc_store *store, int64_t run)
{
	sqlite3 *db = kc_store_db(store);
	int rc = sqlite3_exec(db, "SAVEPOINT forget_run", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = delete_large(db, run);
	if (rc == SQLITE_OK)
		rc = delete_loose_of(db, run);
	if (rc == SQLITE_OK)
		rc = delete_run(db, run);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "RELEASE forget_run", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return 0;
	sqlite3_exec(db, "ROLLBACK TO forget_run; RELEASE forget_run", NULL, NULL, NULL);
	return (rc & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO;
}

/* In steps */

static int end(sqlite3 *db, int rc)
{
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc != SQLITE_OK && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return error_of(rc);
}

/* The first column of the first row. SQLITE_DONE: there is no row. */
__attribute__((format(printf, 3, 4))) static int ask(sqlite3 *db, int64_t *answer, const char *format, ...)
{
	sqlite3_stmt *row = NULL;
	va_list arguments;
	char *sql;
	int rc;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	rc = sql ? sqlite3_prepare_v2(db, sql, -1, &row, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		*answer = sqlite3_column_int64(row, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return rc;
}

int kc_store_drop_run(struct kc_store *store, int64_t run, int64_t last_process)
{
	sqlite3 *db = kc_store_db(store);
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	int64_t last = 0;

	if (rc == SQLITE_OK)
		rc = ask(db, &last, "SELECT ifnull(max(id), %lld) FROM process WHERE run = %lld",
			 (long long)last_process, (long long)run);
	if (rc == SQLITE_OK && last != last_process) {
		end(db, SQLITE_ABORT);
		return -ESTALE;
	}
	if (rc == SQLITE_OK)
		rc = delete_run(db, run);
	return end(db, rc);
}

/* Where the sweep goes on, and whether rows are to be deleted there: the process of the next row, if it does not exist;
 * else the next one that does not. SQLITE_DONE: there are no more rows. */
static int next_process(sqlite3 *db, const char *table, int64_t *process, int *exists)
{
	int64_t row, process_row;
	int rc = ask(db, &row, "SELECT id FROM %s WHERE id >= %lld ORDER BY id LIMIT 1", table,
		     (long long)(*process << KC_SEQUENCE_BITS));

	if (rc != SQLITE_OK)
		return rc;
	*process = row >> KC_SEQUENCE_BITS;
	rc = ask(db, &process_row, "SELECT id FROM process WHERE id = %lld", (long long)*process);
	*exists = rc == SQLITE_OK;
	if (rc == SQLITE_OK)
		return ask(db, process,
			   "SELECT id + 1 FROM process AS p WHERE id >= %lld AND NOT EXISTS"
			   " (SELECT 1 FROM process WHERE id = p.id + 1) ORDER BY id LIMIT 1",
			   (long long)*process);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int delete_some(sqlite3 *db, const char *table, int64_t process, uint32_t at_most, uint32_t *rows)
{
	int64_t first = process << KC_SEQUENCE_BITS, last = first | KC_SEQUENCE_MASK;
	int rc = execute(db, "DELETE FROM %s WHERE id IN (SELECT id FROM %s WHERE id BETWEEN %lld AND %lld LIMIT %u)",
			 table, table, (long long)first, (long long)last, at_most);

	*rows = rc == SQLITE_OK ? (uint32_t)sqlite3_changes(db) : 0;
	return rc;
}

/* A look counts as a row, too. SQLITE_DONE: nothing of the table is left to sweep. */
static int sweep_table(sqlite3 *db, const char *table, int64_t *process, uint32_t *left)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && *left) {
		uint32_t rows = 0;
		int exists;

		if (*process > KC_PROCESS_MAX)
			return SQLITE_DONE;
		rc = next_process(db, table, process, &exists);
		(*left)--;
		if (rc == SQLITE_OK && !exists && *left)
			rc = delete_some(db, table, *process, *left, &rows);
		*left -= rows;
	}
	return rc;
}

static int sweep_tables(sqlite3 *db, struct kc_sweep *sweep, uint32_t left)
{
	int rc = sweep->begun ? SQLITE_OK : delete_loose(db, "NOT IN (SELECT id FROM process)");

	sweep->begun = 1;
	while (rc == SQLITE_OK && left && sweep->table < LARGE) {
		rc = sweep_table(db, large[sweep->table], &sweep->process, &left);
		if (rc == SQLITE_DONE) {
			sweep->table++;
			sweep->process = 0;
			rc = SQLITE_OK;
		}
	}
	return rc;
}

int kc_store_sweep(struct kc_store *store, struct kc_sweep *sweep, uint32_t at_most)
{
	struct kc_sweep next = *sweep;
	sqlite3 *db = kc_store_db(store);
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sweep_tables(db, &next, at_most);
	rc = end(db, rc);
	if (rc == 0)
		*sweep = next;
	return rc ? rc : next.table < LARGE;
}
