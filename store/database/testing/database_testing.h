/* A database of the test's own, in a folder of its own, and looks at what is in it. */
#ifndef KC_DATABASE_TESTING_H
#define KC_DATABASE_TESTING_H

#include "test_rows.h"

#include "predictor/code/cost.h"

static char *scratch, path[300];

static inline int set_up(void **state)
{
	(void)state;
	scratch = make_scratch();
	snprintf(path, sizeof(path), "%s/k.db", scratch);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	remove_scratch(scratch);
	return 0;
}

/* The database, with a device, two streams and kernel 3 of process 1, inside of a transaction. */
static inline struct kc_store *begin(uint64_t *index)
{
	struct kc_journal_header header = make_header(1, "a");
	struct kc_store *s;
	int64_t process;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, index, 0);
	put_kernel(s, index, 3, "axpy", "libm.so");
	return s;
}

static inline void end(struct kc_store *s)
{
	assert_int_equal(kc_store_commit(s), 0);
	kc_store_close(s);
}

/* The text a query answers with, or "NULL". */
static inline const char *answer(const char *sql)
{
	static char text[600];
	sqlite3_stmt *row;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	snprintf(text, sizeof(text), "%s",
		 sqlite3_column_text(row, 0) ? (const char *)sqlite3_column_text(row, 0) : "NULL");
	sqlite3_finalize(row);
	sqlite3_close(db);
	return text;
}

static inline void change(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static inline struct kc_work_entry work_of(double fma)
{
	struct kc_work_entry work = {.kernel = 3,
				     .grid = {64, 1, 1},
				     .block = {256, 1, 1},
				     .blocks_per_sm = 8,
				     .dynamic_shared_bytes = 48,
				     .arguments = 2,
				     .count = KC_WORK_NUMBERS};
	struct kc_counts counts = {.of = {[KC_COUNT_OF_FMA] = fma}, .threads = 16384, .assumed = 1};

	kc_work_numbers(&counts, work.numbers);
	return work;
}

static inline void put_events(struct kc_store *s, uint64_t *index)
{
	struct kc_event_entry past = {.number = 1, .kind = KC_EVENT_PAST};
	struct kc_event_entry formula = {.number = 9, .kind = KC_EVENT_FORMULA, .kernel = 3, .time_ns = BASE_NS + 7};
	struct kc_past_entry began_with = {.source = 4, .checksum = UINT64_MAX, .prior = 7};
	struct kc_work_entry work = work_of(1.0 / 3);

	put_entry(s, index, KC_KIND_EVENT, &past, sizeof(past));
	put_entry(s, index, KC_KIND_EVENT, &formula, sizeof(formula));
	put_entry(s, index, KC_KIND_PAST, &began_with, sizeof(began_with));
	put_entry(s, index, KC_KIND_WORK, &work, sizeof(work));
}

#endif
