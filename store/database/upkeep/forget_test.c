/* A run that is forgotten leaves no row, in whatever table, and takes none of another run's. */
#include "forget.h"
#include "store/database/schema.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <sqlite3.h>

/* One row of the table for a process: 0 in every column that must hold something. */
static void add_row(struct kc_store *s, const char *table, int64_t process)
{
	int64_t run = number_of(s, "SELECT run FROM process WHERE id = %lld", (long long)process);
	sqlite3_stmt *stmt;
	char *columns = NULL, *values = NULL;

	assert_int_equal(
	    sqlite3_prepare_v2(kc_store_db(s),
			       "SELECT name, pk FROM pragma_table_info(?1) WHERE name = 'id' OR \"notnull\"", -1, &stmt,
			       NULL),
	    SQLITE_OK);
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		int64_t value = !strcmp(name, "process") ? process
				: !strcmp(name, "run")   ? run
				: !strcmp(name, "id")    ? process << KC_SEQUENCE_BITS | 1
							 : 0;

		columns = sqlite3_mprintf("%z%s%s", columns, columns ? ", " : "", name);
		values = sqlite3_mprintf("%z%s%lld", values, values ? ", " : "", (long long)value);
	}
	sqlite3_finalize(stmt);
	do_sql(s, "INSERT INTO %s(%s) VALUES(%s)", table, columns, values);
	sqlite3_free(columns);
	sqlite3_free(values);
}

/* The i-th table whose rows belong to a process; 0: there are no more. by: how they name it. */
static int owned_table(struct kc_store *s, int i, char *table, size_t size, const char **by)
{
	static const char sql[] =
	    "SELECT m.name, max(c.name = 'process') FROM sqlite_master m, pragma_table_info(m.name) c"
	    " WHERE m.type = 'table' AND (c.name = 'process' OR m.name IN"
	    " ('launch_row', 'lambda_row', 'stream_call', 'launched_by', 'launched_in')) GROUP BY m.name LIMIT 1 "
	    "OFFSET ?1";
	sqlite3_stmt *stmt;
	int found;

	assert_int_equal(sqlite3_prepare_v2(kc_store_db(s), sql, -1, &stmt, NULL), SQLITE_OK);
	sqlite3_bind_int(stmt, 1, i);
	found = sqlite3_step(stmt) == SQLITE_ROW;
	if (found) {
		snprintf(table, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
		*by = sqlite3_column_int(stmt, 1) ? "process" : "id >> 40";
	}
	sqlite3_finalize(stmt);
	return found;
}

static void add_run(struct kc_store *s, uint32_t pid, const char *token, int64_t *process)
{
	struct kc_journal_header h = make_header(pid, token);
	const char *by;
	char table[64];

	assert_int_equal(kc_store_process(s, &h, process), 0);
	for (int i = 0; owned_table(s, i, table, sizeof(table), &by); i++)
		add_row(s, table, *process);
}

static void no_row_is_left_and_none_of_another_run_goes(void **state)
{
	char *folder = make_scratch(), table[64];
	int64_t gone, kept;
	struct kc_store *s = open_scratch(folder);
	const char *by;
	int tables = 0;

	(void)state;
	add_run(s, 1, "gone", &gone);
	add_run(s, 2, "kept", &kept);
	assert_int_equal(kc_store_forget_run(s, number_of(s, "SELECT id FROM run WHERE token = 'gone'")), 0);
	for (; owned_table(s, tables, table, sizeof(table), &by); tables++) {
		print_message("%s\n", table);
		assert_int_equal(number_of(s, "SELECT count(*) FROM %s WHERE %s = %lld", table, by, (long long)gone),
				 0);
		assert_int_equal(number_of(s, "SELECT count(*) FROM %s WHERE %s = %lld", table, by, (long long)kept),
				 1);
	}
	assert_true(tables >= 11); /* those of the schema's first version, at least */
	assert_int_equal(number_of(s, "SELECT count(*) FROM process"), 1);
	assert_int_equal(number_of(s, "SELECT count(*) FROM run WHERE token = 'kept'"), 1);
	assert_int_equal(number_of(s, "SELECT count(*) FROM run"), 1);
	kc_store_close(s);
	remove_scratch(folder);
}

static int64_t large_rows(struct kc_store *s, int64_t process)
{
	return number_of(s,
			 "SELECT (SELECT count(*) FROM launch_row WHERE id >> 40 = %lld)"
			 " + (SELECT count(*) FROM lambda_row WHERE id >> 40 = %lld)"
			 " + (SELECT count(*) FROM transfer WHERE id >> 40 = %lld)"
			 " + (SELECT count(*) FROM stream_call WHERE id >> 40 = %lld)",
			 (long long)process, (long long)process, (long long)process, (long long)process);
}

/* Between two steps the run is gone for whoever reads, and what is left of it goes later. */
static void in_steps_a_run_goes_at_once_and_its_large_tables_bit_by_bit(void **state)
{
	char *folder = make_scratch();
	int64_t first, gone, last;
	struct kc_sweep sweep = {0};
	struct kc_store *s = open_scratch(folder);

	(void)state;
	add_run(s, 1, "first", &first);
	add_run(s, 2, "gone", &gone);
	add_run(s, 3, "last", &last);
	assert_int_equal(large_rows(s, gone), 4); /* a row in each of the four tables */
	assert_int_equal(kc_store_sweep(s, &sweep, 100), 0);
	assert_int_equal(kc_store_drop_run(s, 2, first), -ESTALE);
	assert_int_equal(kc_store_drop_run(s, 2, gone), 0);
	assert_int_equal(number_of(s, "SELECT count(*) FROM process"), 2);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch WHERE run IS NOT NULL"), 2);
	assert_int_equal(number_of(s, "SELECT count(*) FROM ledger WHERE process = %lld", (long long)gone), 0);
	assert_int_equal(large_rows(s, gone), 4);
	sweep = (struct kc_sweep){0};
	for (int64_t left = 4, before = 4, steps = 0; left; before = left, steps++) {
		assert_int_equal(kc_store_sweep(s, &sweep, 2), 1); /* at most a look and a row */
		left = large_rows(s, gone);
		assert_in_range(before - left, 0, 1);
		assert_in_range(steps, 0, 20);
	}
	while (kc_store_sweep(s, &sweep, 2) > 0)
		;
	assert_int_equal(number_of(s, "SELECT count(*) FROM message WHERE process = %lld", (long long)gone), 0);
	assert_int_equal(large_rows(s, first), 4);
	assert_int_equal(large_rows(s, last), 4);
	assert_int_equal(number_of(s, "SELECT count(*) FROM message"), 2);
	kc_store_close(s);
	remove_scratch(folder);
}

static void what_is_kept_for_the_next_run_goes_with_the_last(void **state)
{
	char *folder = make_scratch();
	struct kc_sweep sweep = {0};
	struct kc_store *s = open_scratch(folder);

	(void)state;
	do_sql(s, "INSERT INTO kernel(id, mangled, name, module, code_hash, registers, static_shared_bytes)"
		  " VALUES(1, 'a', 'a', '', 10, 0, 0), (2, 'b', 'b', '', 20, 0, 0), (3, 'c', 'c', '', 10, 0, 0);"
		  "INSERT INTO kernel_text VALUES(1, 90, 1, ''), (2, 90, 1, ''), (3, 90, 1, '');"
		  "INSERT INTO code_place VALUES(10, 0, 1, '/a', 0, 1, 0), (20, 0, 1, '/b', 0, 1, 0);"
		  "INSERT INTO process_kernel VALUES(7, 1, 1)");
	assert_int_equal(kc_store_sweep(s, &sweep, 1000), 0);
	assert_int_equal(number_of(s, "SELECT sum(kernel) FROM kernel_text"), 1);
	assert_int_equal(number_of(s, "SELECT sum(code_hash) FROM code_place"), 10);
	kc_store_close(s);
	remove_scratch(folder);
}

static void inside_a_transaction_it_can_be_taken_back(void **state)
{
	char *folder = make_scratch();
	int64_t process;
	struct kc_store *s = open_scratch(folder);

	(void)state;
	add_run(s, 1, "kept", &process);
	do_sql(s, "BEGIN IMMEDIATE");
	assert_int_equal(kc_store_forget_run(s, 1), 0);
	assert_int_equal(number_of(s, "SELECT count(*) FROM process"), 0);
	do_sql(s, "ROLLBACK");
	assert_int_equal(number_of(s, "SELECT count(*) FROM process"), 1);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch_row"), 1);
	kc_store_close(s);
	remove_scratch(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_row_is_left_and_none_of_another_run_goes),
	    cmocka_unit_test(in_steps_a_run_goes_at_once_and_its_large_tables_bit_by_bit),
	    cmocka_unit_test(what_is_kept_for_the_next_run_goes_with_the_last),
	    cmocka_unit_test(inside_a_transaction_it_can_be_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
