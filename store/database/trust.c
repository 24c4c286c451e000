#include "trust.h"
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* None of our rows, statements and patterns is longer, nor any that is read from a trace. */
#define ROW_BYTES (16 << 20)
#define STATEMENT_BYTES (1 << 20)
#define PATTERN_BYTES 1000
/* Of SQLite's virtual machine, between two looks at the clock. Each may read some pages from a slow disk. */
#define PROGRESS_STEPS 100

/* --- connections */

static void configure(sqlite3 *db, int writes)
{
	static const struct {
		int option, on;
	} options[] = {
	    {SQLITE_DBCONFIG_DEFENSIVE, 1},
	    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
	    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
	    {SQLITE_DBCONFIG_ENABLE_FKEY, 0},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		sqlite3_db_config(db, options[i].option, options[i].on, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, ROW_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, STATEMENT_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, writes);
}

int kc_database_connect(const char *path, int flags, sqlite3 **db)
{
	int rc = sqlite3_open_v2(path, db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

	if (rc != SQLITE_OK)
		return rc;
	configure(*db, (flags & SQLITE_OPEN_READWRITE) != 0);
	/* A damaged page is noticed before a row of it is read. */
	return sqlite3_exec(*db, "PRAGMA cell_size_check = 1", NULL, NULL, NULL);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int kc_database_is_late(const struct kc_store_bound *bound)
{
	return (bound->until_ns && clock_ns(CLOCK_MONOTONIC) >= bound->until_ns) ||
	       (bound->processor_ns && clock_ns(CLOCK_THREAD_CPUTIME_ID) >= bound->processor_ns);
}

static int is_late(void *bound)
{
	return kc_database_is_late(bound);
}

void kc_database_within(sqlite3 *db, const struct kc_store_bound *bound)
{
	if (bound->until_ns || bound->processor_ns)
		sqlite3_progress_handler(db, PROGRESS_STEPS, is_late, (void *)bound);
}

/* --- schemas */

struct check {
	sqlite3 *db;
	int version;
	struct kc__objects made; /* what is to be there */
	sqlite3_stmt *row;       /* what is there */
	int differs;
	char *reason;
	size_t reason_bytes;
};

enum { NAME, TYPE, TABLE, SQL };
static const char objects[] = "SELECT name, type, tbl_name, sql FROM main.sqlite_master";

static const char *text_at(const struct check *c, int column)
{
	const char *text = (const char *)sqlite3_column_text(c->row, column);

	return text ? text : "";
}

__attribute__((format(printf, 2, 3))) static int refuse(struct check *c, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(c->reason, c->reason_bytes, format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

static int is_table_of_ours(struct check *c, const char *name)
{
	for (int i = 0; i < c->made.count; i++) {
		if (!sqlite3_stricmp(c->made.at[i].name, name))
			return 1;
	}
	return 0;
}

/* table and index: parameters of the query. -1: it cannot be asked. */
static int64_t ask(struct check *c, const char *sql, const char *table, const char *index)
{
	sqlite3_stmt *stmt = NULL;
	int64_t answer = -1;

	if (sqlite3_prepare_v2(c->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, index, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			answer = sqlite3_column_int64(stmt, 0);
	}
	sqlite3_finalize(stmt);
	return answer;
}

static int is_plain(struct check *c, const char *table, const char *index)
{
	static const char one[] = "SELECT count(*) FROM pragma_index_list(?1) WHERE name = ?2 COLLATE NOCASE"
				  " AND NOT \"unique\" AND NOT partial";
	static const char odd_columns[] = "SELECT count(?1) * count(*) FROM pragma_index_xinfo(?2) WHERE cid < -1"
					  " OR coll COLLATE NOCASE NOT IN ('BINARY', 'NOCASE', 'RTRIM')";

	return ask(c, one, table, index) == 1 && ask(c, odd_columns, table, index) == 0;
}

/* An object that has the name of none of ours. */
static int check_other(struct check *c)
{
	const char *name = text_at(c, NAME), *type = text_at(c, TYPE), *table = text_at(c, TABLE);

	if (!strcmp(type, "trigger"))
		return refuse(c, "its schema has the trigger \"%.60s\"", name);
	/* An index without SQL is that of a constraint of its table. */
	if (!strcmp(type, "index") && *text_at(c, SQL) && is_table_of_ours(c, table) && !is_plain(c, table, name))
		return refuse(c, "its index \"%.60s\" on \"%.60s\" is unique, partial or of an expression", name,
			      table);
	return 0;
}

static int check_ours(struct check *c, struct kc__object *object)
{
	int differs = strcmp(object->table, text_at(c, TABLE)) || strcmp(object->sql, text_at(c, SQL));

	object->found = 1;
	if (strcmp(object->type, text_at(c, TYPE)))
		return refuse(c, "its schema has a %.20s in place of the %s \"%s\"", text_at(c, TYPE), object->type,
			      object->name);
	if (!differs)
		return 0;
	refuse(c, "its %s \"%s\" is another than kerncast makes", object->type, object->name);
	c->differs = 1; /* SQLite changes the text of views when it renames a table: there may be a better reason */
	return 0;
}

static int check_all_found(struct check *c)
{
	for (int i = 0; i < c->made.count; i++) {
		const struct kc__object *object = &c->made.at[i];

		if (!object->found && !object->optional)
			return refuse(c, "its schema lacks the %s \"%s\"", object->type, object->name);
	}
	return 0;
}

/* 0, -EBADMSG, or an SQLite result code. */
static int check_objects(struct check *c)
{
	int rc = sqlite3_prepare_v2(c->db, objects, -1, &c->row, NULL), bad = 0;

	if (rc != SQLITE_OK)
		return rc;
	while (!bad && (rc = sqlite3_step(c->row)) == SQLITE_ROW) {
		struct kc__object *object = kc__object_find(&c->made, text_at(c, NAME));

		bad = object ? check_ours(c, object) : check_other(c);
	}
	if (bad)
		return bad;
	if (c->differs)
		return -EBADMSG;
	return rc == SQLITE_DONE ? check_all_found(c) : rc;
}

/* The views of an older version are dropped when it is brought up to date. */
static int know_made(struct check *c)
{
	char *views = c->version == KC_SCHEMA_VERSION ? kc__views_text() : sqlite3_mprintf("");
	int rc = views ? SQLITE_OK : SQLITE_NOMEM;

	for (int v = 0; rc == SQLITE_OK && v < c->version; v++)
		rc = kc__objects_add(&c->made, kc__schema_step(v));
	if (rc == SQLITE_OK)
		rc = kc__objects_add(&c->made, kc_experiment_steps);
	if (rc == SQLITE_OK)
		rc = kc__objects_add(&c->made, views);
	sqlite3_free(views);
	return rc;
}

static int read_version(struct check *c)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(c->db, "PRAGMA user_version", -1, &row, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		c->version = sqlite3_column_int(row, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return rc;
}

/* In one read transaction, as another process may be bringing the schema up to date. */
static int check(struct check *c)
{
	int rc = read_version(c);

	if (rc != SQLITE_OK)
		return rc;
	if (c->version < 1 || c->version > KC_SCHEMA_VERSION)
		return -EPROTO;
	rc = know_made(c);
	return rc == SQLITE_OK ? check_objects(c) : rc;
}

int kc_schema_trusted(sqlite3 *db, char *reason, size_t reason_bytes)
{
	struct check *c = calloc(1, sizeof(*c)); /* large for a stack */
	int rc = c ? sqlite3_exec(db, "SAVEPOINT trust", NULL, NULL, NULL) : SQLITE_NOMEM;

	if (rc == SQLITE_OK) {
		*c = (struct check){.db = db, .reason = reason, .reason_bytes = reason_bytes};
		rc = check(c);
		sqlite3_finalize(c->row);
		sqlite3_exec(db, "RELEASE trust", NULL, NULL, NULL);
	}
	if (c)
		kc__objects_free(&c->made);
	free(c);
	return rc < 0 ? rc : kc__errno(db, rc);
}

int kc_schema_each(void (*fn)(const struct kc_schema_object *object, void *arg), void *arg)
{
	struct check *c = calloc(1, sizeof(*c)); /* large for a stack */
	int rc;

	if (!c)
		return -ENOMEM;
	c->version = KC_SCHEMA_VERSION;
	rc = know_made(c);
	for (int i = 0; rc == SQLITE_OK && i < c->made.count; i++) {
		const struct kc__object *made = &c->made.at[i];

		fn(&(struct kc_schema_object){made->type, made->name, made->table, made->sql, made->optional}, arg);
	}
	kc__objects_free(&c->made);
	free(c);
	return rc == SQLITE_OK ? 0 : -ENOMEM;
}
