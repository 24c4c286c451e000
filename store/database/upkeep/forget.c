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
    {"launch_row", BY_ROWID},      {"lambda_row", BY_ROWID}, {"transfer", BY_COLUMN},       {"message", BY_COLUMN},
    {"ledger", BY_COLUMN},         {"call_site", BY_COLUMN}, {"arguments", BY_COLUMN},      {"stream", BY_COLUMN},
    {"process_kernel", BY_COLUMN}, {"rollup", BY_COLUMN},    {"process_device", BY_COLUMN}, {"engine_event", BY_COLUMN},
    {"stream_call", BY_ROWID},     {"past_part", BY_COLUMN}, {"work", BY_COLUMN},           {"process", BY_ITSELF},
};

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

int kc_store_forget_run(struct kc_store *store, int64_t run)
{
	sqlite3 *db = kc_store_db(store);
	int rc = sqlite3_exec(db, "SAVEPOINT forget_run", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = delete_run(db, run);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "RELEASE forget_run", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return 0;
	sqlite3_exec(db, "ROLLBACK TO forget_run; RELEASE forget_run", NULL, NULL, NULL);
	return (rc & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO;
}
