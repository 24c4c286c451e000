#include "forget.h"
#include "store/database/schema.h"

#include <errno.h>
#include <sqlite3.h>

/* How the rows of a table name their process. */
enum owner {
	BY_COLUMN, /* the column "process" */
	BY_ROWID,  /* its upper bits */
	BY_ITSELF, /* they are the processes */
};

/* Children before their parents. */
static const struct {
	const char *table;
	enum owner owner;
} tables[] = {
    {"message", BY_COLUMN}, {"ledger", BY_COLUMN},         {"call_site", BY_COLUMN},    {"arguments", BY_COLUMN},
    {"stream", BY_COLUMN},  {"process_kernel", BY_COLUMN}, {"rollup", BY_COLUMN},       {"process_device", BY_COLUMN},
    {"work", BY_COLUMN},    {"past_part", BY_COLUMN},      {"engine_event", BY_COLUMN}, {"process", BY_ITSELF},
};

/* Those with a row for each launch, transfer or call. The process is in the upper bits of the row's id. */
static const char *const large[] = {"launch_row", "lambda_row", "transfer", "stream_call"};
enum { LARGE = sizeof(large) / sizeof(*large) };

static int delete_rows(sqlite3 *db, const char *table, enum owner owner, int64_t run)
{
	char *sql, key[32] = "process";
	int rc;

	if (owner == BY_ROWID)
		sqlite3_snprintf(sizeof(key), key, "id >> %d", KC_SEQUENCE_BITS);
	else if (owner == BY_ITSELF)
		sqlite3_snprintf(sizeof(key), key, "id");
	sql = sqlite3_mprintf("DELETE FROM %s WHERE %s IN (SELECT id FROM process WHERE run = %lld)", table, key,
			      (long long)run);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

/* Processes of other runs that began with what the run had taught: nobody can tell any more what that was. */
static int forget_source(sqlite3 *db, int64_t run)
{
	char *sql = sqlite3_mprintf("UPDATE past_part SET source = NULL WHERE source IN"
				    " (SELECT id FROM process WHERE run = %lld)",
				    (long long)run);
	int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc;
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
	char *sql = sqlite3_mprintf("DELETE FROM run WHERE id = %lld", (long long)run);
	int rc = sql ? forget_source(db, run) : SQLITE_NOMEM;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && rc == SQLITE_OK; i++)
		rc = delete_rows(db, tables[i].table, tables[i].owner, run);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
	return rc;
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

int kc_store_drop_run(struct kc_store *store, int64_t run)
{
	sqlite3 *db = kc_store_db(store);
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = delete_run(db, run);
	return end(db, rc);
}

/* The process of the first row of the table from this one on, and whether it exists. SQLITE_DONE: there is no row. */
static int next_process(sqlite3 *db, const char *table, int64_t from, int64_t *process, int *exists)
{
	char *sql = sqlite3_mprintf("SELECT p, EXISTS(SELECT 1 FROM process WHERE id = p) FROM"
				    " (SELECT id >> %d AS p FROM %s WHERE id >= %lld ORDER BY id LIMIT 1)",
				    KC_SEQUENCE_BITS, table, (long long)(from << KC_SEQUENCE_BITS));
	sqlite3_stmt *row = NULL;
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &row, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		*process = sqlite3_column_int64(row, 0);
		*exists = sqlite3_column_int(row, 1);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return rc;
}

static int delete_some(sqlite3 *db, const char *table, int64_t process, uint32_t at_most, uint32_t *rows)
{
	int64_t first = process << KC_SEQUENCE_BITS, last = first | KC_SEQUENCE_MASK;
	char *sql =
	    sqlite3_mprintf("DELETE FROM %s WHERE id IN (SELECT id FROM %s WHERE id BETWEEN %lld AND %lld LIMIT %u)",
			    table, table, (long long)first, (long long)last, at_most);
	int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		*rows += (uint32_t)sqlite3_changes(db);
	return rc;
}

static int sweep_table(sqlite3 *db, const char *table, uint32_t at_most, uint32_t *rows)
{
	int64_t process = 0;
	int exists = 1, rc = SQLITE_OK;

	for (; rc == SQLITE_OK && *rows < at_most && process < KC_PROCESS_MAX; process++) {
		rc = next_process(db, table, process, &process, &exists);
		if (rc == SQLITE_OK && !exists)
			rc = delete_some(db, table, process, at_most - *rows, rows);
	}
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int kc_store_sweep(struct kc_store *store, uint32_t at_most, uint32_t *rows)
{
	sqlite3 *db = kc_store_db(store);
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	*rows = 0;
	for (size_t i = 0; rc == SQLITE_OK && i < LARGE; i++)
		rc = sweep_table(db, large[i], at_most, rows);
	return end(db, rc);
}
