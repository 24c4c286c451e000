/* Which schemas are accepted as ours, and what a connection keeps from running. */
#include "trust.h"
#include "internal.h"
#include "store/database/testing/database_testing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

static int set_up_database(void **state)
{
	struct kc_store *s;

	set_up(state);
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	kc_store_close(s);
	return 0;
}

#define WRITABLE "PRAGMA writable_schema = ON; "
#define ENDLESS "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "

static const struct {
	const char *sql, *reason;
} refused[] = {
    {"CREATE TRIGGER t AFTER INSERT ON launch_row BEGIN DELETE FROM launch_row; END",
     "its schema has the trigger \"t\""},
    {"CREATE TABLE notes(x); CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM notes; END", "the trigger \"t\""},
    {"ALTER TABLE launch_row RENAME TO l; CREATE VIEW launch_row AS " ENDLESS "SELECT l.* FROM l, c WHERE n < 0",
     "has a view in place of the table \"launch_row\""},
    {"ALTER TABLE rollup RENAME TO r; CREATE VIEW rollup AS " ENDLESS "SELECT r.* FROM r, c WHERE n < 0",
     "has a view in place of the table \"rollup\""},
    {"DROP TABLE work; CREATE VIRTUAL TABLE work USING fts5(x)", "its table \"work\" is another"},
    {"DROP TABLE calibration; CREATE VIEW calibration AS SELECT 1 AS device", "in place of the table \"calibration\""},
    {"CREATE VIEW experiment_step AS SELECT 1 AS step", "in place of the table \"experiment_step\""},
    {"DROP VIEW launch; CREATE VIEW launch AS " ENDLESS "SELECT n FROM c", "its view \"launch\" is another"},
    {"DROP VIEW lambda; CREATE TABLE lambda(x)", "has a table in place of the view \"lambda\""},
    {"DROP VIEW accuracy", "its schema lacks the view \"accuracy\""},
    {"DROP TABLE past", "its schema lacks the table \"past\""},
    {"DROP INDEX process_run", "its schema lacks the index \"process_run\""},
    {"DROP INDEX process_run; CREATE UNIQUE INDEX process_run ON process(run)", "its index \"process_run\" is another"},
    {"CREATE UNIQUE INDEX u ON launch_row(shape)", "its index \"u\" on \"launch_row\" is unique"},
    {"CREATE UNIQUE INDEX u ON LAUNCH_ROW(shape)", "its index \"u\" on"},
    {"CREATE INDEX e ON kernel(length(replace(hex(zeroblob(100000000)), '0', '00')))", "of an expression"},
    {"CREATE INDEX p ON stream(id) WHERE hex(zeroblob(100000000)) > ''", "partial"},
    {"ALTER TABLE stream ADD COLUMN x AS (hex(zeroblob(100000000)))", "its table \"stream\" is another"},
    {"ALTER TABLE stream ADD COLUMN x", "its table \"stream\" is another"},
    {WRITABLE
     "UPDATE sqlite_master SET sql = replace(sql, 'shape INTEGER', 'shape INTEGER CHECK(hex(zeroblob(9)) > 1)')"
     " WHERE name = 'launch_row'",
     "its table \"launch_row\" is another"},
    {WRITABLE "UPDATE sqlite_master SET sql = replace(sql, 'kernel INTEGER', 'kernel INTEGER DEFAULT (zeroblob(1e9))')"
	      " WHERE name = 'shape'",
     "its table \"shape\" is another"},
    {"PRAGMA user_version = 8", "undo that"},
};

static void what_is_not_ours_is_refused_and_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char why[400] = "";
		struct kc_store *s;

		tear_down(NULL);
		set_up_database(NULL);
		change(refused[i].sql);
		for (int mode = KC_STORE_WRITE; mode <= KC_STORE_READ; mode++) {
			assert_int_equal(kc_store_open(path, (enum kc_store_mode)mode, &s, why, sizeof(why)), -EBADMSG);
			if (!strstr(why, refused[i].reason))
				fail_msg("%s: %s", refused[i].sql, why);
		}
		assert_int_equal(kc_store_peek(path, &(const struct kc_store_bound){0}, &s, why, sizeof(why)),
				 -EBADMSG);
		assert_int_equal(kc_store_try(path, why, sizeof(why)), -EBADMSG);
		assert_non_null(strstr(why, refused[i].reason));
	}
}

static void a_schema_without_a_possible_version_is_refused(void **state)
{
	static const char *const versions[] = {"-1", "-2147483648", "0"};
	struct kc_store *s;
	char sql[64];

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		snprintf(sql, sizeof(sql), "PRAGMA user_version = %s", versions[i]);
		change(sql);
		assert_int_equal(kc_store_open(path, KC_STORE_READ, &s, NULL, 0), -EBADMSG);
		assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), -EBADMSG);
	}
}

static void what_users_add_under_other_names_stays(void **state)
{
	struct kc_store *s;

	(void)state;
	change(
	    "CREATE VIEW slow AS SELECT * FROM launch WHERE slowdown > 2; CREATE TABLE notes(id INTEGER PRIMARY KEY, "
	    "t);"
	    "CREATE INDEX mine ON launch_row(shape, launched DESC); CREATE UNIQUE INDEX own ON notes(lower(t)) WHERE t;"
	    "CREATE INDEX folded ON kernel(name COLLATE NOCASE); ANALYZE");
	for (int mode = KC_STORE_WRITE; mode <= KC_STORE_READ; mode++) {
		assert_int_equal(kc_store_open(path, (enum kc_store_mode)mode, &s, NULL, 0), 0);
		kc_store_close(s);
	}
}

/* Tables of each version, as SQLite has them after it has really made them. */
static void every_version_is_known_as_it_was_made(void **state)
{
	(void)state;
	for (int version = 1; version < KC_SCHEMA_VERSION; version++) {
		char reason[240] = "", sql[100];
		struct kc_store *s;
		sqlite3 *db;

		unlink(path);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(kc__schema_tables(db, version), SQLITE_OK);
		snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; CREATE VIEW launch AS SELECT 1",
			 KC_APPLICATION_ID);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(kc_schema_trusted(db, reason, sizeof(reason)), 0);
		assert_int_equal(sqlite3_exec(db, "ALTER TABLE run RENAME TO r", NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(kc_schema_trusted(db, reason, sizeof(reason)), -EBADMSG);
		assert_int_equal(sqlite3_exec(db, "ALTER TABLE r RENAME TO run; DROP TABLE ledger", NULL, NULL, NULL),
				 SQLITE_OK);
		assert_int_equal(kc_schema_trusted(db, reason, sizeof(reason)), -EBADMSG);
		sqlite3_close(db);
		assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), -EBADMSG);
	}
}

static void what_is_in_the_way_of_a_new_version_is_named(void **state)
{
	struct kc_store *s;
	char why[400], sql[100];
	sqlite3 *db;

	(void)state;
	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(kc__schema_tables(db, 8), SQLITE_OK);
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; CREATE VIEW work AS SELECT 1", KC_APPLICATION_ID);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(kc_store_open(path, KC_STORE_READ, &s, why, sizeof(why)), -EBADMSG);
	assert_non_null(strstr(why, "cannot be brought up to date: "));
	assert_non_null(strstr(why, "work"));
}

/* Made by somebody else after the schema was looked at. */
static void no_trigger_runs(void **state)
{
	struct kc_store *s;
	sqlite3_stmt *row;

	(void)state;
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	change("CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END");
	do_sql(s, "INSERT INTO run(token, started_unix_ns) VALUES('a', 1), ('b', 2)");
	assert_int_equal(sqlite3_prepare_v2(kc_store_db(s), "SELECT count(*) FROM run", -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(row, 0), 2);
	sqlite3_finalize(row);
	kc_store_close(s);
}

static int64_t from_now_ns(int64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + ns;
}

static void an_endless_query_ends_with_the_time(void **state)
{
	struct kc_store_bound bound;
	int64_t ns = 10000000;
	struct kc_store *s;
	int rc;

	(void)state;
	do { /* a busy machine may take longer */
		ns *= 2;
		bound = (struct kc_store_bound){.until_ns = from_now_ns(ns)};
		rc = kc_store_peek(path, &bound, &s, NULL, 0);
	} while (rc == -ETIME && ns < INT64_C(10000000000));
	assert_int_equal(rc, 0);
	assert_int_equal(sqlite3_exec(kc_store_db(s), ENDLESS "SELECT count(*) FROM c", NULL, NULL, NULL),
			 SQLITE_INTERRUPT);
	assert_true(from_now_ns(0) >= bound.until_ns);
	assert_int_equal(kc__within(s), -ETIME);
	kc_store_close(s);
}

static void bytes_are_taken_within_the_bound(void **state)
{
	const struct kc_store_bound bound = {.bytes = 1000};
	struct kc_store *s;

	(void)state;
	assert_int_equal(kc_store_peek(path, &bound, &s, NULL, 0), 0);
	assert_int_equal(kc__take(s, 600), 0);
	assert_int_equal(kc__take(s, 400), 0);
	assert_int_equal(kc__within(s), 0);
	assert_int_equal(kc__take(s, 1), -ENOMEM);
	assert_int_equal(kc__within(s), -ENOMEM);
	kc_store_close(s);
}

static void make_file(const char *name, off_t bytes)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(ftruncate(fd, bytes), 0);
	close(fd);
}

/* Whoever peeks is about to start an application: no file is made, and a strange one is left alone. */
static void peeking_waits_for_nothing_and_makes_nothing(void **state)
{
	const struct kc_store_bound bound = {0};
	char wal[320], why[400];
	struct kc_store *s;
	struct stat st;
	sqlite3 *db;

	(void)state;
	snprintf(wal, sizeof(wal), "%s-wal", path);
	assert_int_equal(kc_store_peek("/nonexistent/kerncast.db", &bound, &s, why, sizeof(why)), -ENOENT);
	assert_int_equal(kc_store_peek("/tmp", &bound, &s, why, sizeof(why)), -EISDIR);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(kc_store_peek(path, &bound, &s, why, sizeof(why)), -EBUSY);
	sqlite3_close(db);
	make_file(wal, (64 << 20) + 1);
	assert_int_equal(kc_store_peek(path, &bound, &s, why, sizeof(why)), -EFBIG);
	assert_non_null(strstr(why, "k.db-wal is longer than 64 MiB"));
	make_file(wal, 64 << 20);
	assert_int_equal(kc_store_peek(path, &bound, &s, why, sizeof(why)), 0);
	kc_store_close(s);
	unlink(wal);
	change("PRAGMA user_version = 8");
	assert_int_not_equal(kc_store_peek(path, &bound, &s, why, sizeof(why)), 0);
	make_file(path, 0);
	assert_int_equal(kc_store_peek(path, &bound, &s, why, sizeof(why)), -ENODATA);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_database, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(what_is_not_ours_is_refused_and_named),        TEST(a_schema_without_a_possible_version_is_refused),
	    TEST(what_users_add_under_other_names_stays),       TEST(every_version_is_known_as_it_was_made),
	    TEST(what_is_in_the_way_of_a_new_version_is_named), TEST(no_trigger_runs),
	    TEST(an_endless_query_ends_with_the_time),          TEST(bytes_are_taken_within_the_bound),
	    TEST(peeking_waits_for_nothing_and_makes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
