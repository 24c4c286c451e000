/*
 * The SQLite file that Nsight Systems exports (nsys export --type sqlite; user
 * guide, "SQLite Schema Reference"): operations in CUPTI_ACTIVITY_KIND_KERNEL,
 * _MEMCPY and _MEMSET, launch times in _RUNTIME and _DRIVER, by correlation id,
 * names in StringIds, devices in TARGET_INFO_GPU. Tables and columns differ
 * between versions; what is not there is not known.
 */
#include "tools/command.h"
#include "tools/input/device_spec.h"
#include "import_file.h"
#include "store/database/schema.h"
#include "store/database/trust.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQL_MAX 4096u
#define MAPPED_MAX 4096u                       /* pairs of process and device */
#define PROGRESS_ROWS 4096u                    /* between two looks at the clock */
#define LAST_COPY_KIND 10                      /* CUpti_ActivityMemcpyKind */
#define PID_OF "(%s / 0x1000000) %% 0x1000000" /* user guide, "Serialized process and thread identifiers" */

/* The ordinal of a device in a process, and its id in TARGET_INFO_GPU. */
struct mapped {
	int64_t pid, ordinal, gpu;
};

struct reading {
	struct kc_import *file;
	sqlite3 *db;
	struct kc_stage *stage;
	uint64_t rows;
	struct mapped mapped[MAPPED_MAX];
	size_t mapped_count;
};

enum column {
	ROW,
	PID,
	START,
	END,
	DEVICE,
	STREAM,
	CORRELATION,
	GRAPH_NODE,
	GRID_X,
	GRID_Y,
	GRID_Z,
	BLOCK_X,
	BLOCK_Y,
	BLOCK_Z,
	REGISTERS,
	STATIC_SHARED,
	DYNAMIC_SHARED,
	BYTES,
	COPY_KIND,
	NAME,
	COLUMNS,
};

static const char *const column_names[COLUMNS] = {
    [START] = "start",
    [END] = "end",
    [DEVICE] = "deviceId",
    [STREAM] = "streamId",
    [CORRELATION] = "correlationId",
    [GRAPH_NODE] = "graphNodeId",
    [GRID_X] = "gridX",
    [GRID_Y] = "gridY",
    [GRID_Z] = "gridZ",
    [BLOCK_X] = "blockX",
    [BLOCK_Y] = "blockY",
    [BLOCK_Z] = "blockZ",
    [REGISTERS] = "registersPerThread",
    [STATIC_SHARED] = "staticSharedMemory",
    [DYNAMIC_SHARED] = "dynamicSharedMemory",
    [BYTES] = "bytes",
    [COPY_KIND] = "copyKind",
};

static const struct {
	const char *name;
	enum kc_trace_kind kind;
} tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", KC_TRACE_KERNEL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", KC_TRACE_COPY},
    {"CUPTI_ACTIVITY_KIND_MEMSET", KC_TRACE_MEMSET},
};
#define TABLES (sizeof(tables) / sizeof(*tables))

static const char *const call_tables[] = {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"};
#define CALL_TABLES (sizeof(call_tables) / sizeof(*call_tables))

/* What is there */

/* A number; 0 where the file has no such table or column. */
static int64_t ask(sqlite3 *db, const char *format, ...)
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

static int has_table(sqlite3 *db, const char *name)
{
	return ask(db, "SELECT count(*) FROM sqlite_master WHERE name = %Q", name) > 0;
}

static int has_column(sqlite3 *db, const char *table, const char *column)
{
	return ask(db, "SELECT count(*) FROM pragma_table_info(%Q) WHERE name = %Q", table, column) > 0;
}

static int not_readable(const struct reading *r)
{
	kc_error("%s: cannot be read further: %s%s", r->file->path, sqlite3_errmsg(r->db),
		 r->rows ? "; rows read before that are imported" : "; export the report again");
	return -EBADMSG;
}

/* Views, virtual tables and generated columns compute what they show, which may never end. An export has none. */
static int refuse_computed(const struct reading *r)
{
	static const char computed[] =
	    "SELECT m.name FROM sqlite_master m WHERE m.type IN ('table', 'view')"
	    " AND m.name COLLATE NOCASE IN ('CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY',"
	    " 'CUPTI_ACTIVITY_KIND_MEMSET', 'CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_DRIVER', 'StringIds',"
	    " 'TARGET_INFO_GPU', 'TARGET_INFO_CUDA_DEVICE') AND (coalesce(m.rootpage, 0) = 0"
	    " OR EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden > 1))";
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(r->db, computed, -1, &row, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		kc_error("%s: its %s is not a table of stored rows, so this is not an export of Nsight Systems",
			 r->file->path, (const char *)sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	if (rc == SQLITE_DONE)
		return 0;
	return rc == SQLITE_ROW ? -EINVAL : not_readable(r);
}

/* 0: the file is an export with operations. */
static int recognise(const struct reading *r)
{
	const char *path = r->file->path;
	int rc = refuse_computed(r);

	if (rc)
		return rc;
	for (size_t i = 0; i < TABLES; i++) {
		if (has_table(r->db, tables[i].name) && has_table(r->db, "StringIds"))
			return 0;
	}
	if (ask(r->db, "PRAGMA application_id") == KC_APPLICATION_ID)
		kc_error("%s: this is a database of kerncast, not a trace; read it with kerncast report or replay",
			 path);
	else if (has_table(r->db, "StringTable"))
		kc_error("%s: this is a profile of nvprof; print it with nvprof --import-profile FILE"
			 " --print-gpu-trace --csv and import what that prints",
			 path);
	else if (has_table(r->db, "StringIds"))
		kc_error("%s: this Nsight Systems export contains no CUDA operations; record again with nsys profile"
			 " --trace=cuda",
			 path);
	else
		kc_error("%s: this SQLite file is not an export of Nsight Systems (nsys export --type sqlite)", path);
	return -EINVAL;
}

/* Devices */

static const char sql_devices[] =
    "SELECT id, name, smCount, computeMajor, computeMinor, clockRate / 1000, memoryBandwidth, totalMemory, l2CacheSize,"
    " threadsPerWarp, asyncEngines, maxWarpsPerSm * threadsPerWarp, maxBlocksPerSm, maxThreadsPerBlock,"
    " maxRegistersPerBlock, maxRegistersPerSm, maxShmemPerBlock, maxShmemPerBlockOptin, maxShmemPerSm"
    " FROM TARGET_INFO_GPU";
static const char *const device_fields[] = {
    "sm_count",
    "cc_major",
    "cc_minor",
    "clock_khz",
    "memory_bytes_per_s",
    "memory_bytes",
    "l2_bytes",
    "warp_size",
    "copy_engines",
    "max_threads_per_sm",
    "max_blocks_per_sm",
    "max_threads_per_block",
    "registers_per_block",
    "registers_per_sm",
    "shared_per_block_bytes",
    "shared_per_block_optin_bytes",
    "shared_per_sm_bytes",
};

static void read_device(const struct reading *r, sqlite3_stmt *stmt)
{
	const char *name = (const char *)sqlite3_column_text(stmt, 1), *text;
	struct kc_device device = {.name = ""};

	snprintf(device.name, sizeof(device.name), "%s", name ? name : "");
	for (size_t i = 0; i < sizeof(device_fields) / sizeof(*device_fields); i++) {
		text = (const char *)sqlite3_column_text(stmt, (int)i + 2);
		if (text)
			kc_device_set(&device, device_fields[i], text); /* fields that it rejects stay unknown */
	}
	kc_importer_device(r->file->importer, sqlite3_column_int64(stmt, 0), &device);
}

/* For older files, which have fewer columns: only the name. */
static void read_devices(const struct reading *r)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(r->db, sql_devices, -1, &stmt, NULL) != SQLITE_OK)
		sqlite3_prepare_v2(r->db, "SELECT id, name FROM TARGET_INFO_GPU", -1, &stmt, NULL);
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		read_device(r, stmt);
	sqlite3_finalize(stmt);
}

static void read_mapping(struct reading *r)
{
	sqlite3_stmt *stmt = NULL;

	sqlite3_prepare_v2(r->db, "SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE WHERE gpuId IS NOT NULL", -1,
			   &stmt, NULL);
	while (stmt && r->mapped_count < MAPPED_MAX && sqlite3_step(stmt) == SQLITE_ROW)
		r->mapped[r->mapped_count++] = (struct mapped){
		    sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2)};
	sqlite3_finalize(stmt);
}

static int64_t gpu_of(const struct reading *r, int64_t pid, int64_t ordinal)
{
	for (size_t i = 0; i < r->mapped_count; i++) {
		if (r->mapped[i].pid == pid && r->mapped[i].ordinal == ordinal)
			return r->mapped[i].gpu;
	}
	return ordinal;
}

/* Operations */

static const char *name_column(sqlite3 *db, const char *table)
{
	static const char *const names[] = {"demangledName", "shortName", "mangledName"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (has_column(db, table, names[i]))
			return names[i];
	}
	return NULL;
}

static sqlite3_stmt *select_operations(struct reading *r, const char *table)
{
	const char *name = name_column(r->db, table);
	char sql[SQL_MAX], pid[64] = "NULL";
	sqlite3_stmt *stmt = NULL;
	size_t n;

	if (has_column(r->db, table, "globalPid"))
		snprintf(pid, sizeof(pid), PID_OF, "t.globalPid");
	n = (size_t)snprintf(sql, sizeof(sql), "SELECT t.rowid, %s", pid);
	for (unsigned c = START; c < NAME; c++) {
		int there = has_column(r->db, table, column_names[c]);

		n += (size_t)snprintf(sql + n, sizeof(sql) - n, there ? ", t.\"%s\"" : ", NULL", column_names[c]);
	}
	if (name)
		snprintf(sql + n, sizeof(sql) - n, ", s.value FROM %s t LEFT JOIN StringIds s ON s.id = t.%s", table,
			 name);
	else
		snprintf(sql + n, sizeof(sql) - n, ", NULL FROM %s t", table);
	sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL);
	return stmt;
}

static int64_t number_at(sqlite3_stmt *stmt, int at)
{
	return sqlite3_column_type(stmt, at) == SQLITE_NULL ? KC_TRACE_UNKNOWN : sqlite3_column_int64(stmt, at);
}

/* CUpti_ActivityMemcpyKind, from 0 */
static const char *copy_name(int64_t kind)
{
	static const char *const names[LAST_COPY_KIND + 1] = {
	    "[CUDA memcpy]",      "[CUDA memcpy HtoD]", "[CUDA memcpy DtoH]", "[CUDA memcpy HtoA]",
	    "[CUDA memcpy AtoH]", "[CUDA memcpy AtoA]", "[CUDA memcpy AtoD]", "[CUDA memcpy DtoA]",
	    "[CUDA memcpy DtoD]", "[CUDA memcpy HtoH]", "[CUDA memcpy PtoP]",
	};

	return names[kind >= 0 && kind <= LAST_COPY_KIND ? kind : 0];
}

static const char *name_of(enum kc_trace_kind kind, sqlite3_stmt *stmt)
{
	const char *name = (const char *)sqlite3_column_text(stmt, NAME);

	if (kind == KC_TRACE_KERNEL)
		return name ? name : "";
	return kind == KC_TRACE_COPY ? copy_name(sqlite3_column_int64(stmt, COPY_KIND)) : "[CUDA memset]";
}

static void fill_row(const struct reading *r, sqlite3_stmt *stmt, struct kc_trace_row *row)
{
	int64_t end_ns = number_at(stmt, END), node = number_at(stmt, GRAPH_NODE);

	row->start_ns = number_at(stmt, START);
	if (row->start_ns == 0 || end_ns == 0) /* no time was collected */
		row->start_ns = KC_TRACE_UNKNOWN;
	else if (row->start_ns != KC_TRACE_UNKNOWN && end_ns != KC_TRACE_UNKNOWN)
		row->duration_ns = kc_minus_ns(end_ns, row->start_ns);
	row->device = gpu_of(r, number_at(stmt, PID), number_at(stmt, DEVICE));
	row->stream = number_at(stmt, STREAM);
	row->correlation = number_at(stmt, CORRELATION);
	row->bytes = number_at(stmt, BYTES);
	if (node > 0)
		row->graph_node = node & UINT32_MAX; /* the node; the graph's number is above it */
}

static void fill_shape(sqlite3_stmt *stmt, struct kc_trace_row *row)
{
	row->grid_x = number_at(stmt, GRID_X);
	row->grid_y = number_at(stmt, GRID_Y);
	row->grid_z = number_at(stmt, GRID_Z);
	row->block_x = number_at(stmt, BLOCK_X);
	row->block_y = number_at(stmt, BLOCK_Y);
	row->block_z = number_at(stmt, BLOCK_Z);
	row->registers = number_at(stmt, REGISTERS);
	row->static_shared_bytes = number_at(stmt, STATIC_SHARED);
	row->dynamic_shared_bytes = number_at(stmt, DYNAMIC_SHARED);
}

static int take_operation(struct reading *r, sqlite3_stmt *stmt, unsigned table)
{
	struct kc_trace_row row = kc_trace_row_unknown;
	char why[160], process[32] = "";
	int rc;

	row.what = tables[table].kind;
	row.name = name_of(row.what, stmt);
	fill_row(r, stmt, &row);
	if (row.what == KC_TRACE_KERNEL)
		fill_shape(stmt, &row);
	if (sqlite3_column_type(stmt, PID) != SQLITE_NULL)
		snprintf(process, sizeof(process), "pid %lld", sqlite3_column_int64(stmt, PID));
	row.process = process;
	if (kc_trace_row_check(&row, why, sizeof(why))) {
		kc_import_malformed(r->file, (uint64_t)sqlite3_column_int64(stmt, ROW), "row of %s: %s",
				    tables[table].name, why);
		return 0;
	}
	rc = kc_stage_add(r->stage, &row);
	return rc ? kc_import_stage_failed(r->file, rc) : 0;
}

static void count(struct reading *r)
{
	if (++r->rows % PROGRESS_ROWS == 0)
		kc_progress(&r->file->progress, r->rows);
}

static int read_operations(struct reading *r, unsigned table)
{
	sqlite3_stmt *stmt;
	int step = SQLITE_DONE, rc = 0;

	if (!has_table(r->db, tables[table].name))
		return 0;
	stmt = select_operations(r, tables[table].name);
	if (!stmt)
		return not_readable(r);
	while (rc == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		rc = take_operation(r, stmt, table);
		count(r);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = not_readable(r);
	sqlite3_finalize(stmt);
	return rc;
}

/* Launch calls */

static int take_call(struct reading *r, sqlite3_stmt *stmt)
{
	char process[32] = "";
	int rc;

	if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		snprintf(process, sizeof(process), "pid %lld", sqlite3_column_int64(stmt, 0));
	rc = kc_stage_call(r->stage, process, sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2));
	return rc ? kc_import_stage_failed(r->file, rc) : 0;
}

static int read_calls(struct reading *r, const char *table)
{
	char sql[SQL_MAX], pid[64] = "NULL";
	sqlite3_stmt *stmt = NULL;
	int step = SQLITE_DONE, rc = 0;

	if (!has_column(r->db, table, "correlationId") || !has_column(r->db, table, "start"))
		return 0;
	if (has_column(r->db, table, "globalTid") && has_column(r->db, tables[0].name, "globalPid"))
		snprintf(pid, sizeof(pid), PID_OF, "globalTid");
	snprintf(sql, sizeof(sql), "SELECT %s, correlationId, start FROM %s WHERE correlationId > 0", pid, table);
	if (sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return not_readable(r);
	while (rc == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		rc = take_call(r, stmt);
		count(r);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = not_readable(r);
	sqlite3_finalize(stmt);
	return rc;
}

/* The file */

static void say_graphs(const struct reading *r)
{
	int64_t graphs = ask(r->db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE");

	if (graphs > 0)
		kc_error("%s: %" PRId64 " graph launches were recorded without their kernels and are left out; nsys"
			 " profile --cuda-graph-trace=node records them",
			 r->file->path, graphs);
}

static void begin_progress(struct reading *r)
{
	int64_t rows = 0;

	for (size_t i = 0; i < TABLES; i++)
		rows += ask(r->db, "SELECT count(*) FROM %s", tables[i].name);
	for (size_t i = 0; i < CALL_TABLES; i++)
		rows += ask(r->db, "SELECT count(*) FROM %s", call_tables[i]);
	kc_progress_next(&r->file->progress, "read", (uint64_t)rows);
}

static int read_all(struct reading *r)
{
	int rc = recognise(r);

	if (rc)
		return rc;
	begin_progress(r);
	read_devices(r);
	read_mapping(r);
	for (unsigned i = 0; rc == 0 && i < TABLES; i++)
		rc = read_operations(r, i);
	for (size_t i = 0; rc == 0 && i < CALL_TABLES; i++)
		rc = read_calls(r, call_tables[i]);
	say_graphs(r);
	return rc;
}

int kc_import_sqlite(struct kc_import *file)
{
	struct reading *r = calloc(1, sizeof(*r));
	int rc, stored;

	if (!r)
		return -ENOMEM;
	r->file = file;
	rc = kc_stage_new(&r->stage);
	if (rc)
		kc_import_stage_failed(file, rc);
	if (rc == 0 && kc_database_connect(file->path, SQLITE_OPEN_READONLY, &r->db) != SQLITE_OK)
		rc = not_readable(r);
	if (rc == 0) {
		rc = read_all(r);
		stored = kc_import_staged(file, r->stage, 0);
		rc = rc ? rc : stored;
	}
	sqlite3_close(r->db);
	kc_stage_free(r->stage);
	free(r);
	return rc;
}
