/*
 * A database that was moved, deleted or replaced while it was open. The connection
 * is intact, and it is the only way to the file that is left. So the write-ahead log
 * is copied into that file through it, and what it holds about the process is copied
 * into the database that is at the path now.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Every connection holds a read lock on this byte of the -shm ("dead man's switch", sqlite.org/src, os_unix.c). */
#define SHARED_MEMORY_LOCK 128

static int others_use(const struct kc__held *shared_memory)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SHARED_MEMORY_LOCK, .l_len = 1};

	return fcntl(shared_memory->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void unlink_held(const struct kc_store *s, const char *ending)
{
	char *name = kc__held_at(s, ending) ? sqlite3_mprintf("%s%s", s->path, ending) : NULL;

	if (name)
		unlink(name);
	sqlite3_free(name);
}

static int settle(struct kc_store *s)
{
	const struct kc__held *shared_memory = kc__held_at(s, "-shm");

	/* Another process has opened the database at the path and found our shared memory: it uses it now. */
	if (access(s->path, F_OK) == 0 && shared_memory && others_use(shared_memory))
		return -EBUSY;
	/* The next database at the path must not find them: SQLite goes by their names. */
	unlink_held(s, "-wal");
	unlink_held(s, "-shm");
	sqlite3_wal_checkpoint_v2(s->db, "main", SQLITE_CHECKPOINT_FULL, NULL, NULL);
	return kc__held_at(s, "") ? -EEXIST : 0;
}

int kc_store_settle(struct kc_store *s)
{
	int rc;

	kc__enter();
	rc = settle(s);
	kc__leave();
	return rc;
}

#define OF_PROCESS(table) " WHERE d.id IN (SELECT " #table " FROM main.process_" #table " WHERE process = ?1)"
#define SAME_KERNEL                                                                                                    \
	"f.mangled = d.mangled AND f.module = d.module AND f.code_hash = d.code_hash AND f.registers = d.registers"    \
	" AND f.static_shared_bytes = d.static_shared_bytes"
#define COUNT(schema, process, items)                                                                                  \
	"(SELECT coalesce(sum(count), 0) FROM " schema ".ledger WHERE process = " process " AND item IN (" items "))"
#define ELSEWHERE(rows, item)                                                                                          \
	"INSERT OR REPLACE INTO fresh.ledger SELECT ?2, '" item                                                        \
	"', '', max(0, " COUNT("main", "?1", "'" rows "', '" item "'") " - " COUNT("fresh", "?2", "'" rows "'") ")"

#define DIMENSIONS(row)                                                                                                \
	row "grid_x, " row "grid_y, " row "grid_z, " row "block_x, " row "block_y, " row "block_z, " row               \
	    "dynamic_shared_bytes, " row "blocks_per_sm"
/* Counted launch shapes of the process, with the rows that its kernel and device have in the other file. */
#define COUNTED_SHAPES                                                                                                 \
	"main.work w JOIN main.shape s ON s.id = w.shape"                                                              \
	" JOIN main.process_kernel p ON p.process = ?1 AND p.kernel = s.kernel"                                        \
	" JOIN fresh.process_kernel k ON k.process = ?2 AND k.local = p.local"                                         \
	" JOIN main.process_device q ON q.process = ?1 AND q.device = s.device"                                        \
	" JOIN fresh.process_device d ON d.process = ?2 AND d.ordinal = q.ordinal"

/* From the database main, where the process is ?1, to the database fresh, where it is ?2. COLUMNS stands for all
 * columns of `device`, SAME for the condition that they are the same in f and d. */
static const char *const statements[] = {
    "INSERT INTO fresh.device(COLUMNS) SELECT COLUMNS FROM main.device d" OF_PROCESS(
	device) " AND NOT EXISTS (SELECT 1 FROM fresh.device f WHERE SAME)",
    "INSERT OR REPLACE INTO fresh.process_device SELECT ?2, p.ordinal, f.id FROM main.process_device p"
    " JOIN main.device d ON d.id = p.device JOIN fresh.device f ON SAME WHERE p.process = ?1",
    "INSERT OR IGNORE INTO fresh.kernel(mangled, name, name_pending, module, code_hash, registers, "
    "static_shared_bytes, local_bytes,"
    " max_threads_per_block, binary_version, ptx_version, cost_formula, code)"
    " SELECT mangled, name, name_pending, module, code_hash, registers, static_shared_bytes, local_bytes,"
    " max_threads_per_block, binary_version, ptx_version, cost_formula, code FROM main.kernel d" OF_PROCESS(kernel),
    "INSERT OR IGNORE INTO fresh.code_place(code_hash, piece, pieces, path, offset, length, hash)"
    " SELECT code_hash, piece, pieces, path, offset, length, hash FROM main.code_place"
    " WHERE code_hash IN (SELECT code_hash FROM main.kernel d" OF_PROCESS(kernel) ")",
    "INSERT OR REPLACE INTO fresh.process_kernel SELECT ?2, p.local, f.id FROM main.process_kernel p"
    " JOIN main.kernel d ON d.id = p.kernel JOIN fresh.kernel f ON " SAME_KERNEL " WHERE p.process = ?1",
    "INSERT OR IGNORE INTO fresh.kernel_text(kernel, architecture, bytes, text)"
    " SELECT q.kernel, t.architecture, t.bytes, t.text FROM main.kernel_text t"
    " JOIN main.process_kernel p ON p.process = ?1 AND p.kernel = t.kernel"
    " JOIN fresh.process_kernel q ON q.process = ?2 AND q.local = p.local",
    "INSERT OR IGNORE INTO fresh.stream(process, local, device, handle, context, priority, flags, kind, thread, lane)"
    " SELECT ?2, local, (SELECT q.device FROM main.process_device p JOIN fresh.process_device q"
    " ON q.process = ?2 AND q.ordinal = p.ordinal WHERE p.process = ?1 AND p.device = s.device),"
    " handle, context, priority, flags, kind, thread, lane FROM main.stream s WHERE s.process = ?1",
    "INSERT OR IGNORE INTO fresh.call_site SELECT ?2, local, module, offset, symbol, host_symbol, address,"
    " host_function FROM main.call_site WHERE process = ?1",
    "INSERT OR IGNORE INTO fresh.arguments SELECT ?2, local, text FROM main.arguments WHERE process = ?1",
    "INSERT OR IGNORE INTO fresh.engine_event SELECT ?2, number, kind, (SELECT q.kernel FROM main.process_kernel p"
    " JOIN fresh.process_kernel q ON q.process = ?2 AND q.local = p.local"
    " WHERE p.process = ?1 AND p.kernel = e.kernel), time_ns, (SELECT q.device FROM main.process_device p"
    " JOIN fresh.process_device q ON q.process = ?2 AND q.ordinal = p.ordinal"
    " WHERE p.process = ?1 AND p.device = e.device) FROM main.engine_event e WHERE e.process = ?1",
    /* The process that it learned from is in main only. */
    "INSERT OR IGNORE INTO fresh.past SELECT ?2, NULL, checksum, prior FROM main.past WHERE process = ?1",
    "INSERT OR IGNORE INTO fresh.shape(kernel, device, " DIMENSIONS("") ") SELECT k.kernel, d.device, " DIMENSIONS(
	"s.") " FROM " COUNTED_SHAPES " WHERE w.process = ?1",
    "INSERT OR IGNORE INTO fresh.work SELECT ?2, t.id, w.arguments, w.counts FROM " COUNTED_SHAPES
    " JOIN fresh.shape t ON t.kernel = k.kernel AND t.device = d.device AND (" DIMENSIONS("t.") ") = (" DIMENSIONS(
	"s.") ") WHERE w.process = ?1",
    "INSERT OR IGNORE INTO fresh.stream_call SELECT (?2 << 40) | (c.id & ((1 << 40) - 1)), c.kind,"
    " (SELECT t.id FROM main.stream s JOIN fresh.stream t ON t.process = ?2 AND t.local = s.local WHERE s.id = "
    "c.stream),"
    " (SELECT q.device FROM main.process_device p JOIN fresh.process_device q ON q.process = ?2"
    " AND q.ordinal = p.ordinal WHERE p.process = ?1 AND p.device = c.device), c.time_ns, c.ns, c.known_events,"
    " c.graph_launch, c.start_ns, c.end_ns, c.measured_start_ns, c.measured_end_ns, c.unmeasured, c.measured_event"
    " FROM main.stream_call c WHERE c.id BETWEEN ?1 << 40 AND ?1 << 40 | ((1 << 40) - 1)",
    "INSERT OR IGNORE INTO fresh.gpu_state SELECT (?2 << 40) | (g.id & ((1 << 40) - 1)),"
    " (SELECT q.device FROM main.process_device p JOIN fresh.process_device q ON q.process = ?2"
    " AND q.ordinal = p.ordinal WHERE p.process = ?1 AND p.device = g.device), g.time_ns, g.sm_mhz, g.memory_mhz,"
    " g.power_mw, g.slowed, g.others FROM main.gpu_state g WHERE g.id BETWEEN ?1 << 40 AND ?1 << 40 | ((1 << 40) - 1)",
    "INSERT OR IGNORE INTO fresh.operator SELECT ?2, local, name, inputs, type, flop, bytes, nominal"
    " FROM main.operator WHERE process = ?1",
    "INSERT OR IGNORE INTO fresh.launched_by SELECT (?2 << 40) | (id & ((1 << 40) - 1)), operator, parts"
    " FROM main.launched_by WHERE id BETWEEN ?1 << 40 AND ?1 << 40 | ((1 << 40) - 1)",
    "INSERT OR IGNORE INTO fresh.step SELECT ?2, start_ns, number, end_ns FROM main.step WHERE process = ?1",
    "INSERT OR IGNORE INTO fresh.scope SELECT ?2, local, parent, kind, name FROM main.scope WHERE process = ?1",
    /* Of launches that are still to come: the others stay where they are. */
    "INSERT OR IGNORE INTO fresh.launched_in SELECT (?2 << 40) | (id & ((1 << 40) - 1)), scope"
    " FROM main.launched_in i WHERE id BETWEEN ?1 << 40 AND ?1 << 40 | ((1 << 40) - 1)"
    " AND NOT EXISTS (SELECT 1 FROM main.launch_row r WHERE r.id = i.id)",
    "INSERT OR IGNORE INTO fresh.message SELECT (?2 << 40) | (id & ((1 << 40) - 1)), ?2, time_ns, severity, code, text,"
    " count FROM main.message WHERE process = ?1",
    ELSEWHERE("launches", "elsewhere"),
    ELSEWHERE("measured", "elsewhere_measured"),
};
_Static_assert(KC_SEQUENCE_BITS == 40, "row ids of messages");

static const char device_columns[] = "SELECT group_concat(name, ', '), group_concat('f.' || name || ' IS d.' || name, "
				     "' AND ') FROM pragma_table_info('device') WHERE name <> 'id'";

/* A copy of text with COLUMNS and SAME replaced; the caller frees it with sqlite3_free(). */
static char *filled(const char *text, sqlite3_stmt *device)
{
	sqlite3_str *out = sqlite3_str_new(NULL);

	while (*text) {
		if (strncmp(text, "COLUMNS", 7) == 0) {
			sqlite3_str_appendf(out, "%s", sqlite3_column_text(device, 0));
			text += 7;
		} else if (strncmp(text, "SAME", 4) == 0) {
			sqlite3_str_appendf(out, "%s", sqlite3_column_text(device, 1));
			text += 4;
		} else {
			sqlite3_str_append(out, text++, 1);
		}
	}
	return sqlite3_str_finish(out);
}

static int carry_one(struct kc_store *from, int64_t to_process, const char *text, sqlite3_stmt *device)
{
	char *sql = filled(text, device);
	sqlite3_stmt *stmt = NULL;
	int rc = -ENOMEM;

	if (sql) {
		sqlite3_prepare_v2(from->db, sql, -1, &stmt, NULL);
		sqlite3_bind_int64(stmt, 1, from->process);
		sqlite3_bind_int64(stmt, 2, to_process);
		rc = kc__run(from, stmt);
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return rc;
}

static int carry_all(struct kc_store *from, int64_t to_process)
{
	sqlite3_stmt *device = NULL;
	int rc = kc__errno(from->db, sqlite3_prepare_v2(from->db, device_columns, -1, &device, NULL));

	if (rc == 0 && sqlite3_step(device) != SQLITE_ROW)
		rc = kc__errno(from->db, sqlite3_errcode(from->db));
	for (size_t i = 0; rc == 0 && i < sizeof(statements) / sizeof(statements[0]); i++)
		rc = carry_one(from, to_process, statements[i], device);
	sqlite3_finalize(device);
	return rc;
}

static int attach(struct kc_store *from, const char *path)
{
	char *sql = sqlite3_mprintf("ATTACH %Q AS fresh", path);
	int rc = sql ? kc__errno(from->db, sqlite3_exec(from->db, sql, NULL, NULL, NULL)) : -ENOMEM;

	sqlite3_free(sql);
	return rc;
}

int kc_store_carry(struct kc_store *from, struct kc_store *to)
{
	int rc;

	kc__enter();
	rc = attach(from, to->path);
	if (rc == 0) {
		rc = kc__run(from, kc__statement(from, KC__BEGIN));
		if (rc == 0)
			rc = carry_all(from, to->process);
		if (rc == 0)
			rc = kc__run(from, kc__statement(from, KC__COMMIT));
		if (rc && !sqlite3_get_autocommit(from->db))
			kc__run(from, kc__statement(from, KC__ROLLBACK));
		sqlite3_exec(from->db, "DETACH fresh", NULL, NULL, NULL);
	}
	kc__held_find(to); /* SQLite may keep the descriptor of the attached file for it */
	kc__leave();
	return rc;
}
