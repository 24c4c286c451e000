/*
 * nvprof's profile (nvprof -o FILE, .nvvp): CUPTI's records in tables of their
 * names, and texts, kernels' mangled names among them, in StringTable.
 */
#include "sqlite_export.h"

#include <stdio.h>

#define SQL_MAX 4096u

struct column {
	const char *theirs, *expression, *ours; /* expression: of `theirs`; NULL: as it is */
};

static const struct column kernel_columns[] = {
    {"_id_", NULL, "rowid"},
    {"start", NULL, "start"},
    {"end", NULL, "end"},
    {"deviceId", NULL, "deviceId"},
    {"contextId", NULL, "contextId"},
    {"streamId", NULL, "streamId"},
    {"correlationId", NULL, "correlationId"},
    {"registersPerThread", NULL, "registersPerThread"},
    {"gridX", NULL, "gridX"},
    {"gridY", NULL, "gridY"},
    {"gridZ", NULL, "gridZ"},
    {"blockX", NULL, "blockX"},
    {"blockY", NULL, "blockY"},
    {"blockZ", NULL, "blockZ"},
    {"staticSharedMemory", NULL, "staticSharedMemory"},
    {"dynamicSharedMemory", NULL, "dynamicSharedMemory"},
    {"name", NULL, "mangledName"},
};

static const struct column copy_columns[] = {
    {"_id_", NULL, "rowid"},
    {"start", NULL, "start"},
    {"end", NULL, "end"},
    {"deviceId", NULL, "deviceId"},
    {"contextId", NULL, "contextId"},
    {"streamId", NULL, "streamId"},
    {"correlationId", NULL, "correlationId"},
    {"bytes", NULL, "bytes"},
    {"copyKind", NULL, "copyKind"},
};

/* CUpti_ActivityDevice: the clock in kHz, the bandwidth in kB/s. */
static const struct column device_columns[] = {
    {"id", NULL, "id"},
    {"name", "(SELECT value FROM main.StringTable WHERE _id_ = name)", "name"},
    {"uuid", "hex(uuid)", "uuid"},
    {"numMultiprocessors", NULL, "smCount"},
    {"computeCapabilityMajor", NULL, "computeMajor"},
    {"computeCapabilityMinor", NULL, "computeMinor"},
    {"coreClockRate", "coreClockRate * 1000", "clockRate"},
    {"globalMemoryBandwidth", "globalMemoryBandwidth * 1000", "memoryBandwidth"},
    {"globalMemorySize", NULL, "totalMemory"},
    {"l2CacheSize", NULL, "l2CacheSize"},
    {"numThreadsPerWarp", NULL, "threadsPerWarp"},
    {"numMemcpyEngines", NULL, "asyncEngines"},
    {"maxWarpsPerMultiprocessor", NULL, "maxWarpsPerSm"},
    {"maxBlocksPerMultiprocessor", NULL, "maxBlocksPerSm"},
    {"maxThreadsPerBlock", NULL, "maxThreadsPerBlock"},
    {"maxRegistersPerBlock", NULL, "maxRegistersPerBlock"},
    {"maxRegistersPerMultiprocessor", NULL, "maxRegistersPerSm"},
    {"maxSharedMemoryPerBlock", NULL, "maxShmemPerBlock"},
    {"maxSharedMemoryPerBlockOptin", NULL, "maxShmemPerBlockOptin"},
    {"maxSharedMemoryPerMultiprocessor", NULL, "maxShmemPerSm"},
};

static const struct column string_columns[] = {{"_id_", NULL, "id"}, {"value", NULL, "value"}};

static const struct view {
	const char *name;
	const char *tables[2]; /* each may be there or not */
	const struct column *columns;
	size_t count;
} views[] = {
#define COLUMNS(array) (array), sizeof(array) / sizeof(*(array))
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"},
     COLUMNS(kernel_columns)},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMCPY2"},
     COLUMNS(copy_columns)},
    {"TARGET_INFO_GPU", {"CUPTI_ACTIVITY_KIND_DEVICE", NULL}, COLUMNS(device_columns)},
    {"StringIds", {"StringTable", NULL}, COLUMNS(string_columns)},
#undef COLUMNS
};

static int has_column(sqlite3 *db, const char *table, const char *column)
{
	return kc_sqlite_ask(db, "SELECT count(*) FROM pragma_table_info(%Q, 'main') WHERE name = %Q", table, column) >
	       0;
}

/* What a version of nvprof did not write is NULL. */
static size_t add_table(sqlite3 *db, const struct view *view, const char *table, char *sql, size_t n)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct column *c = view->columns + i;
		const char *expression = c->expression ? c->expression : c->theirs;

		n += (size_t)snprintf(sql + n, SQL_MAX - n, "%s%s AS \"%s\"", i ? ", " : "SELECT ",
				      has_column(db, table, c->theirs) ? expression : "NULL", c->ours);
	}
	return n + (size_t)snprintf(sql + n, SQL_MAX - n, " FROM main.\"%s\"", table);
}

static int make_view(sqlite3 *db, const struct view *view)
{
	char sql[SQL_MAX];
	size_t n = (size_t)snprintf(sql, sizeof(sql), "CREATE TEMP VIEW \"%s\" AS ", view->name), before = n;

	for (size_t i = 0; i < sizeof(view->tables) / sizeof(*view->tables); i++) {
		const char *table = view->tables[i];

		if (!table || !has_column(db, table, view->columns[0].theirs))
			continue;
		if (n > before)
			n += (size_t)snprintf(sql + n, sizeof(sql) - n, " UNION ALL ");
		n = add_table(db, view, table, sql, n);
	}
	return n > before ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_OK;
}

int kc__nvprof_views(sqlite3 *db)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(views) / sizeof(*views); i++)
		rc = make_view(db, views + i);
	return rc;
}
