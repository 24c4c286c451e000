/*
 * The program has a SQLite of its own, linked statically, its symbols exported
 * to all libraries; it is set up in its own way and shut down in between.
 */
#include "cuda_tests/matrix/runtime.h"

#include <sqlite3.h>
#include <stdio.h>

#define ROUNDS 3
#define LAUNCHES 200

static void run_sql(sqlite3 *db, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &error))
		program_fail("sqlite: %s", error ? error : sqlite3_errmsg(db));
}

static int print_value(void *unused, int columns, char **values, char **names)
{
	(void)unused;
	(void)columns;
	printf("%s %s\n", names[0], values[0]);
	return 0;
}

static long one_round(int i)
{
	sqlite3_stmt *insert;
	sqlite3 *db;
	long kernels;

	sqlite3_shutdown();
	if (sqlite3_config(SQLITE_CONFIG_MEMSTATUS, i % 2) || sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) ||
	    sqlite3_initialize())
		program_fail("sqlite: cannot be configured: somebody else uses it");
	if (sqlite3_open("own.db", &db))
		program_fail("sqlite: %s", sqlite3_errmsg(db));
	run_sql(db, "CREATE TABLE IF NOT EXISTS launches(round, kernels); BEGIN");
	kernels = runtime_add(LAUNCHES);
	if (sqlite3_prepare_v2(db, "INSERT INTO launches VALUES(?, ?)", -1, &insert, NULL))
		program_fail("sqlite: %s", sqlite3_errmsg(db));
	sqlite3_bind_int(insert, 1, i);
	sqlite3_bind_int64(insert, 2, kernels);
	sqlite3_step(insert);
	sqlite3_finalize(insert);
	run_sql(db, "COMMIT");
	sqlite3_exec(db, "SELECT sum(kernels) AS stored FROM launches", print_value, NULL, NULL);
	sqlite3_exec(db, "PRAGMA integrity_check", print_value, NULL, NULL);
	if (sqlite3_close(db))
		program_fail("sqlite: a statement was left");
	return kernels;
}

int main(void)
{
	long kernels = 0;

	for (int i = 0; i < ROUNDS; i++)
		kernels += one_round(i);
	program_print(kernels);
	return 0;
}
