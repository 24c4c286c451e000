#include "kernel_names.h"
#include "readable.h"
#include "store/database/internal.h"

#include <time.h>

/* A name is nothing to wait long for. */
#define NAMES_BUSY_MS 1000

/* A table of this connection with the name that all queries ask for comes before the database's. */
static const char copy[] = "CREATE TEMP TABLE kernel AS SELECT * FROM main.kernel;"
			   "CREATE UNIQUE INDEX temp.kernel_id ON kernel(id);"
			   "CREATE INDEX temp.kernel_name_pending ON kernel(name_pending) WHERE name_pending = 1";

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int execute(struct kc_store *s, const char *sql)
{
	return kc__errno(s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

/* 1: there was a row, renamed; 0: there is none; -errno. */
static int name_one(struct kc_store *s, sqlite3_stmt *find, sqlite3_stmt *rename)
{
	char readable[KC_READABLE_BYTES];
	const char *mangled;
	int rc = sqlite3_step(find);

	if (rc == SQLITE_ROW) {
		mangled = (const char *)sqlite3_column_text(find, 1);
		kc_readable_name(mangled ? mangled : "", readable, sizeof(readable));
		sqlite3_bind_int64(rename, 1, sqlite3_column_int64(find, 0));
		sqlite3_bind_text(rename, 2, readable, -1, SQLITE_STATIC);
	}
	sqlite3_reset(find);
	if (rc != SQLITE_ROW)
		return kc__errno(s->db, rc);
	rc = kc__run(s, rename);
	return rc ? rc : 1;
}

/* In the transaction that is open. 0; 1: time was up; -errno. */
static int name_all(struct kc_store *s, int64_t limit_ns)
{
	int64_t until_ns = now_ns() + limit_ns;
	sqlite3_stmt *find = NULL, *rename = NULL;
	int rc =
	    sqlite3_prepare_v2(s->db, "SELECT id, mangled FROM kernel WHERE name_pending = 1 LIMIT 1", -1, &find, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(s->db, "UPDATE kernel SET name = ?2, name_pending = 0 WHERE id = ?1", -1,
					&rename, NULL);
	rc = kc__errno(s->db, rc);
	if (rc == 0)
		do
			rc = name_one(s, find, rename);
		while (rc > 0 && now_ns() < until_ns);
	sqlite3_finalize(find);
	sqlite3_finalize(rename);
	return rc;
}

/* make: SQL that makes the table which is to be written to. As name_all(). */
static int name_in(struct kc_store *s, const char *begin, const char *make, int64_t limit_ns)
{
	int rc = execute(s, begin), ended;

	if (rc == 0)
		rc = execute(s, make);
	if (rc == 0)
		rc = name_all(s, limit_ns);
	if (rc >= 0) {
		ended = execute(s, "COMMIT");
		rc = ended ? ended : rc;
	}
	if (rc < 0 && !sqlite3_get_autocommit(s->db))
		execute(s, "ROLLBACK");
	return rc;
}

static int any_pending(struct kc_store *s)
{
	sqlite3_stmt *row = NULL;
	int64_t pending = 0;
	int rc = kc__errno(
	    s->db, sqlite3_prepare_v2(s->db, "SELECT 1 FROM kernel WHERE name_pending = 1 LIMIT 1", -1, &row, NULL));

	if (rc == 0)
		rc = kc__run_value(s, row, &pending);
	sqlite3_finalize(row);
	return rc ? rc : (int)pending;
}

int kc_kernel_names(struct kc_store *s, int64_t limit_ns)
{
	int rc = any_pending(s);

	if (rc <= 0)
		return rc;
	execute(s, "PRAGMA query_only = 0");
	sqlite3_busy_timeout(s->db, NAMES_BUSY_MS);
	rc = name_in(s, "BEGIN IMMEDIATE", "", limit_ns);
	if (rc < 0)
		rc = name_in(s, "BEGIN", copy, limit_ns);
	sqlite3_busy_timeout(s->db, KC__BUSY_MS);
	if (s->mode != KC_STORE_WRITE)
		execute(s, "PRAGMA query_only = 1");
	return rc;
}
