#include "internal.h"

#include <errno.h>
#include <stdarg.h>

#define KEY_WHERE                                                                                                      \
	"run = ?1 AND process = ?2 AND kernel = ?3 AND stream = ?4 AND model = ?5 AND concurrency_case = ?6"           \
	" AND novelty = ?7 AND overlap = ?8"

#define PLACE(name) ", ?"
#define SET_SUM(name) ", " #name " = ?"
#define COLUMN(name) ", " #name

/* Columns are named: a later version may add some while a process of this one records. */
static const char *const texts[KC__STATEMENTS] = {
    [KC__BEGIN] = "BEGIN IMMEDIATE",
    [KC__COMMIT] = "COMMIT",
    [KC__ROLLBACK] = "ROLLBACK",
    [KC__LAUNCH] = "INSERT OR IGNORE INTO launch_row(id, shape, stream, launched, lead, solo, below, above, wait,"
		   " span, measured_wait, measured_span, flags, slowdown, slowdown_waves, result, correlation, thread,"
		   " model_state, graph_launch, graph_node, call_site, arguments, known, measured_after, decided_after)"
		   " SELECT * FROM kc_launches()",
    [KC__TRANSFER] =
	"INSERT OR IGNORE INTO transfer(id, process, sequence, device, stream, kind, bytes, result, thread,"
	" correlation, launched_ns, start_ns, end_ns, measured_start_ns, measured_end_ns, unmeasured,"
	" known_events, measured_event, decided_event) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [KC__FIND_SHAPE] = "SELECT id FROM shape WHERE kernel = ?1 AND device = ?2 AND grid_x = ?3 AND grid_y = ?4"
		       " AND grid_z = ?5 AND block_x = ?6 AND block_y = ?7 AND block_z = ?8"
		       " AND dynamic_shared_bytes = ?9 AND blocks_per_sm = ?10",
    [KC__ADD_SHAPE] = "INSERT INTO shape(kernel, device, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
		      " dynamic_shared_bytes, blocks_per_sm) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    [KC__FIND_KERNEL] = "SELECT id FROM kernel WHERE mangled = ?1 AND module = ?2 AND code_hash = ?3"
			" AND registers = ?4 AND static_shared_bytes = ?5",
    [KC__ADD_KERNEL] = "INSERT INTO kernel(mangled, module, code_hash, registers, static_shared_bytes, local_bytes,"
		       " max_threads_per_block, binary_version, ptx_version, name, name_pending, code)"
		       " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?1,?1 GLOB '_Z*', "
		       " CASE WHEN ?3 THEN 'waits' ELSE 'not seen' END)",
    /* A process that could not read the code takes nothing from what another one, or a command, has found in it. */
    [KC__SET_CODE] = "UPDATE kernel SET code = ?1 WHERE id ="
		     " (SELECT kernel FROM process_kernel WHERE process = ?2 AND local = ?3) AND (?1 GLOB 'read*'"
		     " OR (code NOT GLOB 'read*' AND (?1 <> 'waits' OR code = 'not seen')))",
    [KC__ADD_KERNEL_TEXT] = "INSERT OR REPLACE INTO kernel_text(kernel, architecture, bytes, text) VALUES(?,?,?,?)",
    [KC__ADD_CODE_PLACE] = "INSERT OR REPLACE INTO code_place(code_hash, piece, pieces, path, offset, length, hash)"
			   " VALUES(?,?,?,?,?,?,?)",
    [KC__LINK_KERNEL] = "INSERT OR REPLACE INTO process_kernel(process, local, kernel) VALUES(?,?,?)",
    [KC__LOCAL_KERNEL] = "SELECT kernel FROM process_kernel WHERE process = ? AND local = ?",
    [KC__FIND_DEVICE] = "SELECT id FROM device WHERE uuid = ?1 AND driver_version = ?2 AND name = ?3"
			" AND cc_major = ?4 AND cc_minor = ?5 AND sm_count = ?6 AND cores_per_sm = ?7"
			" AND warp_size = ?8 AND clock_khz = ?9 AND memory_clock_khz = ?10 AND memory_bus_bits = ?11"
			" AND memory_bytes_per_s = ?12 AND memory_bytes = ?13 AND l2_bytes = ?14"
			" AND max_threads_per_block = ?15 AND max_threads_per_sm = ?16 AND max_blocks_per_sm = ?17"
			" AND registers_per_sm = ?18 AND registers_per_block = ?19 AND shared_per_sm_bytes = ?20"
			" AND shared_per_block_bytes = ?21 AND shared_per_block_optin_bytes = ?22"
			" AND shared_reserved_per_block_bytes = ?23 AND copy_engines = ?24 AND hardware_queues = ?25"
			" AND launch_overhead_ns = ?26 AND launch_gap_ns = ?27 AND simulated = ?28"
			" AND empty_kernel_ns = ?29 AND copy_bytes_per_s = ?30 AND flops_per_s = ?31"
			" AND ordinal IS ?32 AND place = ?33 AND bus = ?34",
    [KC__ADD_DEVICE] = "INSERT INTO device(uuid, driver_version, name, cc_major, cc_minor, sm_count, cores_per_sm,"
		       " warp_size, clock_khz, memory_clock_khz, memory_bus_bits, memory_bytes_per_s, memory_bytes,"
		       " l2_bytes, max_threads_per_block, max_threads_per_sm, max_blocks_per_sm, registers_per_sm,"
		       " registers_per_block, shared_per_sm_bytes, shared_per_block_bytes,"
		       " shared_per_block_optin_bytes, shared_reserved_per_block_bytes, copy_engines, hardware_queues,"
		       " launch_overhead_ns, launch_gap_ns, simulated, empty_kernel_ns, copy_bytes_per_s, flops_per_s,"
		       " ordinal, place, bus)"
		       " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,"
		       "?24,?25,?26,?27,?28,?29,?30,?31,?32,?33,?34)",
    [KC__LINK_DEVICE] = "INSERT OR REPLACE INTO process_device(process, ordinal, device) VALUES(?,?,?)",
    [KC__LOCAL_DEVICE] = "SELECT device FROM process_device WHERE process = ? AND ordinal = ?",
    [KC__ADD_STREAM] = "INSERT INTO stream(process, local, device, handle, context, priority, flags, kind, thread,"
		       " lane) VALUES(?,?,?,?,?,?,?,?,?,?) ON CONFLICT(process, local) DO UPDATE SET"
		       " device = excluded.device, handle = excluded.handle, context = excluded.context,"
		       " priority = excluded.priority, flags = excluded.flags, kind = excluded.kind,"
		       " thread = excluded.thread, lane = excluded.lane",
    [KC__LOCAL_STREAM] = "SELECT id FROM stream WHERE process = ? AND local = ?",
    [KC__ADD_CALL_SITE] =
	"INSERT OR REPLACE INTO call_site(process, local, module, offset, symbol, host_symbol, address,"
	" host_function) VALUES(?,?,?,?,?,?,?,?)",
    [KC__ADD_ARGUMENTS] = "INSERT OR REPLACE INTO arguments(process, local, text) VALUES(?,?,?)",
    [KC__ADD_LAMBDA] =
	"INSERT OR IGNORE INTO lambda_row(id, level, shape, value, deviation, count, time) VALUES(?,?,?,?,?,?,?)",
    [KC__ADD_MESSAGE] =
	"INSERT OR IGNORE INTO message(id, process, time_ns, severity, code, text, count) VALUES(?,?,?,?,?,?,?)",
    [KC__ADD_EVENT] =
	"INSERT OR IGNORE INTO engine_event(process, number, kind, kernel, time_ns, device) VALUES(?,?,?,?,?,?)",
    [KC__ADD_PAST] = "INSERT OR IGNORE INTO past(process, source, checksum, prior) VALUES(?,?,?,?)",
    [KC__ADD_WORK] = "INSERT OR IGNORE INTO work(process, shape, arguments, counts) VALUES(?,?,?,?)",
    [KC__ADD_STREAM_CALL] = "INSERT OR IGNORE INTO stream_call(id, kind, stream, device, time_ns, ns, known_events,"
			    " graph_launch, start_ns, end_ns, measured_start_ns, measured_end_ns, unmeasured,"
			    " measured_event) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [KC__ADD_GPU_STATE] =
	"INSERT OR IGNORE INTO gpu_state(id, device, time_ns, sm_mhz, memory_mhz, power_mw, slowed, others)"
	" VALUES(?,?,?,?,?,?,?,?)",
    [KC__ADD_OPERATOR] = "INSERT OR REPLACE INTO operator(process, local, name, inputs, type, flop, bytes, nominal)"
			 " VALUES(?,?,?,?,?,?,?,?)",
    [KC__ADD_LAUNCHED_BY] = "INSERT OR IGNORE INTO launched_by(id, operator, parts) VALUES(?,?,?)",
    [KC__ADD_STEP] = "INSERT OR IGNORE INTO step(process, start_ns, number, end_ns) VALUES(?,?,?,?)",
    [KC__ADD_SCOPE] = "INSERT OR REPLACE INTO scope(process, local, parent, kind, name) VALUES(?,?,?,?,?)",
    [KC__ADD_LAUNCHED_IN] = "INSERT OR IGNORE INTO launched_in(id, scope) VALUES(?,?)",
    [KC__FIND_ROLLUP] =
	"SELECT id, sketch" KC__COUNT_SUMS(COLUMN) KC__REAL_SUMS(COLUMN) " FROM rollup WHERE " KEY_WHERE,
    [KC__ADD_ROLLUP] =
	"INSERT INTO rollup(run, process, kernel, stream, model, concurrency_case, novelty, overlap,"
	" sketch" KC__COUNT_SUMS(COLUMN)
	    KC__REAL_SUMS(COLUMN) ")"
				  " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9" KC__COUNT_SUMS(PLACE) KC__REAL_SUMS(PLACE) ")",
    [KC__UPDATE_ROLLUP] =
	"UPDATE rollup SET sketch = ?9" KC__COUNT_SUMS(SET_SUM) KC__REAL_SUMS(SET_SUM) " WHERE id = ?1",
    [KC__COUNT_UP] = "INSERT INTO ledger(process, item, reason, count) VALUES(?,?,?,?)"
		     " ON CONFLICT(process, item, reason) DO UPDATE SET count = count + excluded.count",
    [KC__SET_COUNT] = "INSERT OR REPLACE INTO ledger(process, item, reason, count) VALUES(?,?,?,?)",
};

/* Negative errno for a result of SQLite, which reports a full disk in several ways. */
int kc__errno(sqlite3 *db, int rc)
{
	int system = db ? sqlite3_system_errno(db) : 0;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return -EBADMSG;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return system ? -system : -EIO;
	case SQLITE_INTERRUPT:
		return -ETIME;
	case SQLITE_TOOBIG:
		return -EFBIG;
	default:
		return -EIO;
	}
}

sqlite3_stmt *kc__statement(struct kc_store *s, enum kc__statement which)
{
	if (!s->statements[which])
		sqlite3_prepare_v3(s->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT, &s->statements[which], NULL);
	return s->statements[which];
}

void kc__bind_known(sqlite3_stmt *stmt, int i, int64_t value)
{
	if (value)
		sqlite3_bind_int64(stmt, i, value);
	else
		sqlite3_bind_null(stmt, i);
}

int kc__run(struct kc_store *s, sqlite3_stmt *stmt)
{
	int rc;

	if (!stmt)
		return kc__errno(s->db, sqlite3_errcode(s->db));
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_DONE || rc == SQLITE_ROW) {
		sqlite3_reset(stmt);
		return 0;
	}
	rc = kc__errno(s->db, rc);
	sqlite3_reset(stmt);
	return rc;
}

int kc__run_value(struct kc_store *s, sqlite3_stmt *stmt, int64_t *value)
{
	int rc;

	if (!stmt)
		return kc__errno(s->db, sqlite3_errcode(s->db));
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*value = sqlite3_column_int64(stmt, 0);
	rc = kc__errno(s->db, rc);
	sqlite3_reset(stmt);
	return rc;
}

int kc__execute(struct kc_store *s, const char *format, ...)
{
	va_list arguments;
	char *sql;
	int rc;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (!sql)
		return -ENOMEM;
	rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
	return kc__errno(s->db, rc);
}

int kc__ask_number(struct kc_store *s, int64_t *value, const char *format, ...)
{
	sqlite3_stmt *stmt = NULL;
	va_list arguments;
	char *sql;
	int rc;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (!sql)
		return -ENOMEM;
	sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
	sqlite3_free(sql);
	*value = 0;
	rc = kc__run_value(s, stmt, value);
	sqlite3_finalize(stmt);
	return rc;
}

void kc__finalize(struct kc_store *s)
{
	for (int i = 0; i < KC__STATEMENTS; i++) {
		sqlite3_finalize(s->statements[i]);
		s->statements[i] = NULL;
	}
}
