#include "sqlite_export.h"
#include "import_foreign.h"
#include "tools/command.h"
#include "tools/output/format.h"
#include "store/database/schema.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int64_t kc_sqlite_ask(sqlite3 *db, const char *format, ...)
{
	sqlite3_stmt *stmt = NULL;
	va_list args;
	int64_t value = 0;
	char *sql;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	if (sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return value;
}

int kc_sqlite_has_table(sqlite3 *db, const char *name)
{
	return kc_sqlite_ask(db, "SELECT count(*) FROM pragma_table_info(%Q)", name) > 0;
}

int kc_sqlite_has_column(sqlite3 *db, const char *table, const char *column)
{
	return kc_sqlite_ask(db, "SELECT count(*) FROM pragma_table_info(%Q) WHERE name = %Q", table, column) > 0;
}

/* Views, virtual tables and generated columns compute what they show, which may never end. An export has none. */
static int refuse_computed(const char *path, sqlite3 *db)
{
	static const char computed[] =
	    "SELECT m.name FROM main.sqlite_master m WHERE m.type IN ('table', 'view')"
	    " AND (m.name LIKE 'CUPTI\\_ACTIVITY\\_KIND\\_%' ESCAPE '\\' OR m.name COLLATE NOCASE IN ('StringIds',"
	    " 'StringTable', 'TARGET_INFO_GPU', 'TARGET_INFO_CUDA_DEVICE', 'PROCESSES', 'DIAGNOSTIC_EVENT'))"
	    " AND (coalesce(m.rootpage, 0) = 0 OR EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden > 1))";
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(db, computed, -1, &row, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		kc_error("%s: its %s is not a table of stored rows, so this is not an export of Nsight Systems", path,
			 (const char *)sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	if (rc == SQLITE_DONE)
		return 0;
	if (rc == SQLITE_ROW)
		return -EINVAL;
	kc_error("%s: cannot be read further: %s; export the report again", path, sqlite3_errmsg(db));
	return -EBADMSG;
}

static int has_activity(sqlite3 *db)
{
	return kc_sqlite_ask(db, "SELECT count(*) FROM main.sqlite_master"
				 " WHERE name LIKE 'CUPTI\\_ACTIVITY\\_KIND\\_%%' ESCAPE '\\'") > 0;
}

static int say_other(const char *path, sqlite3 *db)
{
	if (kc_sqlite_ask(db, "PRAGMA application_id") == KC_APPLICATION_ID)
		kc_error("%s: this is a database of kerncast, not a trace; read it with kerncast report or replay",
			 path);
	else if (kc_sqlite_ask(db, "SELECT count(*) FROM main.sqlite_master WHERE name LIKE 'rocpd\\_%%' ESCAPE '\\'"))
		return kc_foreign_refuse(path, &kc_foreign_rocpd);
	else
		kc_error("%s: this SQLite file is not an export of Nsight Systems (nsys export --type sqlite)", path);
	return -EINVAL;
}

int kc_sqlite_recognise(const char *path, sqlite3 *db, enum kc_sqlite_kind *kind)
{
	int rc = refuse_computed(path, db);

	*kind = KC_SQLITE_NSYS;
	if (rc)
		return rc;
	if (kc_sqlite_has_table(db, "StringIds"))
		return has_activity(db) ? 0 : kc_sqlite_say_nothing(path, db, *kind);
	if (!kc_sqlite_has_table(db, "StringTable") || !has_activity(db))
		return say_other(path, db);
	*kind = KC_SQLITE_NVPROF;
	if (kc__nvprof_views(db) == SQLITE_OK)
		return 0;
	kc_error("%s: this profile of nvprof cannot be read: %s", path, sqlite3_errmsg(db));
	return -EBADMSG;
}

/* What nsys noted about CUDA while it recorded: errors first, then what CUPTI's part said. */
static void add_diagnostics(sqlite3 *db, char *out, size_t size)
{
	static const char sql[] = "SELECT replace(text, char(9), '') FROM DIAGNOSTIC_EVENT"
				  " WHERE (severity IN (2, 3) OR text LIKE '%CUPTI events%')"
				  " AND (text LIKE '%CUDA%' OR text LIKE '%CUPTI%') GROUP BY text"
				  " ORDER BY severity = 3 DESC, source = 1 DESC, min(rowid) LIMIT 3";
	sqlite3_stmt *stmt = NULL;
	size_t used = 0;

	sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	while (stmt && used < size && sqlite3_step(stmt) == SQLITE_ROW)
		used += (size_t)snprintf(out + used, size - used, "%s \"%.400s\"",
					 used ? "" : "; nsys says:", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

int kc_sqlite_say_nothing(const char *path, sqlite3 *db, enum kc_sqlite_kind kind)
{
	int64_t graphs = kc_sqlite_ask(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE");
	int64_t calls = kc_sqlite_ask(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME") +
			kc_sqlite_ask(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_DRIVER");
	char count[KC_FORMAT_BYTES], why[1300] = "";

	add_diagnostics(db, why, sizeof(why));
	if (kind == KC_SQLITE_NVPROF)
		kc_error("%s: nothing was imported: this profile of nvprof has no kernel, copy or memset", path);
	else if (graphs > 0)
		kc_error("%s: nothing was imported: %s graph launch%s recorded without their kernels; nsys profile"
			 " --cuda-graph-trace=node records them",
			 path, kc_format_count((uint64_t)graphs, count), graphs == 1 ? " was" : "es were");
	else if (calls > 0)
		kc_error("%s: nothing was imported: CUDA was traced, with %s call%s of its API, but CUPTI recorded no"
			 " kernel, copy or memset%s",
			 path, kc_format_count((uint64_t)calls, count), calls == 1 ? "" : "s",
			 *why ? why : ": kerncast doctor tells whether it can here");
	else
		kc_error("%s: this Nsight Systems export contains no CUDA operations; record again with nsys profile"
			 " --trace=cuda%s",
			 path, why);
	return -ENODATA;
}
