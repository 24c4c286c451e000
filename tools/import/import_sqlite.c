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
#include "sqlite_export.h"
#include "store/common/ids/ids.h"
#include "store/database/schema.h"
#include "store/database/trust.h"

#include <ctype.h>
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
	enum kc_sqlite_kind kind;
	uint64_t rows;
	struct mapped mapped[MAPPED_MAX];
	size_t mapped_count;
	struct kc_ids pids; /* of operations */
};

enum column {
	ROW,
	PID,
	START,
	END,
	DEVICE,
	CONTEXT,
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
    [CONTEXT] = "contextId",
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

static int not_readable(const struct reading *r)
{
	kc_error("%s: cannot be read further: %s%s", r->file->path, sqlite3_errmsg(r->db),
		 r->rows ? "; rows read before that are imported" : "; export the report again");
	return -EBADMSG;
}

/* Devices */

static const char sql_device_fields[] =
    ", smCount, computeMajor, computeMinor, clockRate / 1000, memoryBandwidth, totalMemory, l2CacheSize,"
    " threadsPerWarp, asyncEngines, maxWarpsPerSm * threadsPerWarp, maxBlocksPerSm, maxThreadsPerBlock,"
    " maxRegistersPerBlock, maxRegistersPerSm, maxShmemPerBlock, maxShmemPerBlockOptin, maxShmemPerSm";
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

/* "GPU-0f3e…": up to 32 hexadecimal digits, hyphens between them. */
static void read_uuid(const char *text, uint8_t uuid[KC_UUID_BYTES])
{
	static const char prefix[] = "GPU-", hex[] = "0123456789abcdef";
	size_t digits = 0;

	if (!strncmp(text, prefix, strlen(prefix)))
		text += strlen(prefix);
	for (; *text && digits < 2 * (size_t)KC_UUID_BYTES; text++) {
		const char *digit = strchr(hex, tolower((unsigned char)*text));

		if (digit) {
			uuid[digits / 2] |= (uint8_t)((digit - hex) << (digits % 2 ? 0 : 4));
			digits++;
		}
	}
}

static const char *text_of(sqlite3_stmt *stmt, int at)
{
	const char *text = (const char *)sqlite3_column_text(stmt, at);

	return text ? text : "";
}

static void read_device(const struct reading *r, sqlite3_stmt *stmt)
{
	enum { ID_AT, NAME_AT, UUID_AT, BUS_AT, FIELDS_AT };
	struct kc_trace_device said = {.device = {.name = ""}};

	snprintf(said.device.name, sizeof(said.device.name), "%s", text_of(stmt, NAME_AT));
	read_uuid(text_of(stmt, UUID_AT), said.uuid);
	snprintf(said.bus, sizeof(said.bus), "%s", text_of(stmt, BUS_AT));
	for (int i = 0; i < sqlite3_column_count(stmt) - FIELDS_AT; i++) {
		const char *text = text_of(stmt, i + FIELDS_AT);

		if (*text)
			kc_device_set(&said.device, device_fields[i], text); /* fields that it rejects stay unknown */
	}
	kc_importer_device(r->file->importer, sqlite3_column_int64(stmt, ID_AT), &said);
}

/* Older files have fewer columns: of their devices only the name is read, and what tells them apart. */
static void read_devices(const struct reading *r)
{
	const char *uuid = kc_sqlite_has_column(r->db, "TARGET_INFO_GPU", "uuid") ? "uuid" : "NULL";
	const char *bus = kc_sqlite_has_column(r->db, "TARGET_INFO_GPU", "busLocation") ? "busLocation" : "NULL";
	const char *const fields[] = {sql_device_fields, ""};
	sqlite3_stmt *stmt = NULL;

	for (size_t i = 0; !stmt && i < sizeof(fields) / sizeof(*fields); i++) {
		char *sql = sqlite3_mprintf("SELECT id, name, %s, %s%s FROM TARGET_INFO_GPU", uuid, bus, fields[i]);

		if (sql)
			sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL);
		sqlite3_free(sql);
	}
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

/* Processes */

/* Rows call it "pid 4102"; newer files know what it ran. */
static void describe_process(const struct reading *r, int64_t pid, const char *called)
{
	struct kc_trace_process said = {.name = kc_import_file_name(r->file->path), .pid = pid, .place = ""};
	sqlite3_stmt *stmt = NULL;

	sqlite3_prepare_v2(r->db, "SELECT name FROM PROCESSES WHERE pid = ?1 AND name <> ''", -1, &stmt, NULL);
	sqlite3_bind_int64(stmt, 1, pid);
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		said.name = text_of(stmt, 0);
	kc_importer_process(r->file->importer, called, &said);
	sqlite3_finalize(stmt);
}

/* Operations */

/* ", coalesce(n0.value, …) FROM table t LEFT JOIN …": the first name that there is. The mangled one is that by which a
 * live run knows the kernel. */
static void add_names(const struct reading *r, const char *table, char *sql, size_t size)
{
	static const char *const names[] = {"mangledName", "demangledName", "shortName"};
	char values[96] = "NULL", joins[256] = "";
	size_t v = strlen(values), j = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!kc_sqlite_has_column(r->db, table, names[i]))
			continue;
		v += (size_t)snprintf(values + v, sizeof(values) - v, ", nullif(n%zu.value, '')", i);
		j += (size_t)snprintf(joins + j, sizeof(joins) - j, " LEFT JOIN StringIds n%zu ON n%zu.id = t.%s", i, i,
				      names[i]);
	}
	snprintf(sql, size, ", coalesce(%s, NULL) FROM %s t%s", values, table, joins);
}

static sqlite3_stmt *select_operations(struct reading *r, const char *table)
{
	char sql[SQL_MAX], pid[64] = "NULL";
	sqlite3_stmt *stmt = NULL;
	size_t n;

	if (kc_sqlite_has_column(r->db, table, "globalPid"))
		snprintf(pid, sizeof(pid), PID_OF, "t.globalPid");
	n = (size_t)snprintf(sql, sizeof(sql), "SELECT t.rowid, %s", pid);
	for (unsigned c = START; c < NAME; c++) {
		int there = kc_sqlite_has_column(r->db, table, column_names[c]);

		n += (size_t)snprintf(sql + n, sizeof(sql) - n, there ? ", t.\"%s\"" : ", NULL", column_names[c]);
	}
	add_names(r, table, sql + n, sizeof(sql) - n);
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
	row->context = number_at(stmt, CONTEXT);
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
	int64_t pid = sqlite3_column_int64(stmt, PID);
	uint32_t pids = r->pids.count;
	int rc;

	row.what = tables[table].kind;
	row.name = name_of(row.what, stmt);
	fill_row(r, stmt, &row);
	if (row.what == KC_TRACE_KERNEL)
		fill_shape(stmt, &row);
	if (sqlite3_column_type(stmt, PID) != SQLITE_NULL) {
		snprintf(process, sizeof(process), "pid %" PRId64, pid);
		if (kc_ids_number(&r->pids, pid) > pids)
			describe_process(r, pid, process);
	}
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

	if (!kc_sqlite_has_table(r->db, tables[table].name))
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
	rc = kc_stage_call(r->stage, process, "", sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2));
	return rc ? kc_import_stage_failed(r->file, rc) : 0;
}

static int read_calls(struct reading *r, const char *table)
{
	char sql[SQL_MAX], pid[64] = "NULL";
	sqlite3_stmt *stmt = NULL;
	int step = SQLITE_DONE, rc = 0;

	if (!kc_sqlite_has_column(r->db, table, "correlationId") || !kc_sqlite_has_column(r->db, table, "start"))
		return 0;
	if (kc_sqlite_has_column(r->db, table, "globalTid") && kc_sqlite_has_column(r->db, tables[0].name, "globalPid"))
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
	int64_t graphs = kc_sqlite_ask(r->db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE");

	if (graphs > 0)
		kc_error("%s: %" PRId64 " graph launches were recorded without their kernels and are left out; nsys"
			 " profile --cuda-graph-trace=node records them",
			 r->file->path, graphs);
}

static void begin_progress(struct reading *r)
{
	int64_t rows = 0;

	for (size_t i = 0; i < TABLES; i++)
		rows += kc_sqlite_ask(r->db, "SELECT count(*) FROM %s", tables[i].name);
	for (size_t i = 0; i < CALL_TABLES; i++)
		rows += kc_sqlite_ask(r->db, "SELECT count(*) FROM %s", call_tables[i]);
	kc_progress_next(&r->file->progress, "read", (uint64_t)rows);
}

static int read_all(struct reading *r)
{
	int rc = kc_sqlite_recognise(r->file->path, r->db, &r->kind);

	if (rc)
		return rc;
	begin_progress(r);
	read_devices(r);
	read_mapping(r);
	for (unsigned i = 0; rc == 0 && i < TABLES; i++)
		rc = read_operations(r, i);
	for (size_t i = 0; rc == 0 && i < CALL_TABLES; i++)
		rc = read_calls(r, call_tables[i]);
	if (rc == 0 && !kc_stage_count(r->stage) && !r->file->malformed)
		return kc_sqlite_say_nothing(r->file->path, r->db, r->kind);
	say_graphs(r);
	return rc;
}

static int store_all(struct reading *r)
{
	int64_t zero_ns = 0;
	int rc = r->kind == KC_SQLITE_NVPROF ? kc_stage_earliest(r->stage, &zero_ns) : 0;

	return rc ? kc_import_stage_failed(r->file, rc) : kc_import_staged(r->file, r->stage, zero_ns, 1);
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
		stored = file->no_room ? 0 : store_all(r);
		rc = rc ? rc : stored;
	}
	sqlite3_close(r->db);
	kc_ids_free(&r->pids);
	kc_stage_free(r->stage);
	free(r);
	return rc;
}
