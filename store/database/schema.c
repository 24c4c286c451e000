#include "schema.h"
#include "internal.h"

#include <sqlite3.h>
#include <time.h>

static const char tables_1[] =
    "CREATE TABLE schema(version INTEGER PRIMARY KEY, applied_unix_ns INTEGER NOT NULL);"
    "CREATE TABLE run(id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, started_unix_ns INTEGER NOT NULL,"
    " command_line TEXT, directory TEXT, simulated INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE process(id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run, pid INTEGER NOT NULL,"
    " ppid INTEGER, pid_start INTEGER NOT NULL, boot_id TEXT NOT NULL, executable TEXT, command_line TEXT,"
    " directory TEXT, measure TEXT, started_ns INTEGER NOT NULL, started_unix_ns INTEGER NOT NULL,"
    " ended_ns INTEGER, ended TEXT NOT NULL DEFAULT '', simulated INTEGER NOT NULL DEFAULT 0,"
    " UNIQUE(boot_id, pid, pid_start, started_ns));"
    "CREATE INDEX process_run ON process(run);"
    "CREATE TABLE device(id INTEGER PRIMARY KEY, uuid TEXT NOT NULL, driver_version INTEGER NOT NULL,"
    " name TEXT NOT NULL, cc_major INTEGER, cc_minor INTEGER, sm_count INTEGER, cores_per_sm INTEGER,"
    " warp_size INTEGER, clock_khz INTEGER, memory_clock_khz INTEGER, memory_bus_bits INTEGER,"
    " memory_bytes_per_s INTEGER, memory_bytes INTEGER, l2_bytes INTEGER, max_threads_per_block INTEGER,"
    " max_threads_per_sm INTEGER, max_blocks_per_sm INTEGER, registers_per_sm INTEGER, registers_per_block INTEGER,"
    " shared_per_sm_bytes INTEGER, shared_per_block_bytes INTEGER, shared_per_block_optin_bytes INTEGER,"
    " shared_reserved_per_block_bytes INTEGER, copy_engines INTEGER, hardware_queues INTEGER,"
    " launch_overhead_ns INTEGER, launch_gap_ns INTEGER, simulated INTEGER NOT NULL);"
    "CREATE TABLE process_device(process INTEGER NOT NULL, ordinal INTEGER NOT NULL, device INTEGER NOT NULL,"
    " PRIMARY KEY(process, ordinal)) WITHOUT ROWID;"
    "CREATE TABLE stream(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, local INTEGER NOT NULL, device INTEGER,"
    " handle INTEGER, context INTEGER, priority INTEGER, flags INTEGER, kind TEXT, thread INTEGER,"
    " UNIQUE(process, local));"
    "CREATE TABLE kernel(id INTEGER PRIMARY KEY, mangled TEXT NOT NULL, name TEXT NOT NULL, module TEXT NOT NULL,"
    " code_hash INTEGER NOT NULL, registers INTEGER NOT NULL, static_shared_bytes INTEGER NOT NULL,"
    " local_bytes INTEGER, max_threads_per_block INTEGER, binary_version INTEGER, ptx_version INTEGER,"
    " cost_formula TEXT, UNIQUE(mangled, module, code_hash, registers, static_shared_bytes));"
    "CREATE TABLE process_kernel(process INTEGER NOT NULL, local INTEGER NOT NULL, kernel INTEGER NOT NULL,"
    " PRIMARY KEY(process, local)) WITHOUT ROWID;"
    "CREATE TABLE shape(id INTEGER PRIMARY KEY, kernel INTEGER NOT NULL, device INTEGER NOT NULL,"
    " grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL, block_x INTEGER NOT NULL,"
    " block_y INTEGER NOT NULL, block_z INTEGER NOT NULL, dynamic_shared_bytes INTEGER NOT NULL,"
    " blocks_per_sm INTEGER NOT NULL, UNIQUE(kernel, device, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
    " dynamic_shared_bytes, blocks_per_sm));"
    "CREATE TABLE launch_row(id INTEGER PRIMARY KEY, shape INTEGER, stream INTEGER, launched INTEGER, lead INTEGER,"
    " solo INTEGER, below INTEGER, above INTEGER, wait INTEGER, span INTEGER, measured_wait INTEGER,"
    " measured_span INTEGER, flags INTEGER, slowdown INTEGER, slowdown_waves INTEGER, result INTEGER,"
    " correlation INTEGER, thread INTEGER, model_state INTEGER, graph_launch INTEGER, graph_node INTEGER,"
    " call_site INTEGER);"
    "CREATE TABLE call_site(process INTEGER NOT NULL, local INTEGER NOT NULL, module TEXT NOT NULL,"
    " offset INTEGER NOT NULL, symbol TEXT NOT NULL, host_symbol TEXT NOT NULL, address INTEGER NOT NULL,"
    " host_function INTEGER, PRIMARY KEY(process, local)) WITHOUT ROWID;"
    "CREATE TABLE transfer(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, sequence INTEGER NOT NULL, device INTEGER,"
    " stream INTEGER, kind TEXT, bytes INTEGER, result INTEGER, thread INTEGER, correlation INTEGER,"
    " launched_ns INTEGER, start_ns INTEGER, end_ns INTEGER, measured_start_ns INTEGER, measured_end_ns INTEGER,"
    " unmeasured TEXT);"
    "CREATE TABLE lambda_row(id INTEGER PRIMARY KEY, level INTEGER, shape INTEGER, value INTEGER, deviation INTEGER,"
    " count INTEGER, time INTEGER);"
    "CREATE TABLE message(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, time_ns INTEGER, severity INTEGER NOT NULL,"
    " code TEXT NOT NULL, text TEXT NOT NULL, count INTEGER NOT NULL);"
    "CREATE TABLE ledger(process INTEGER NOT NULL, item TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',"
    " count INTEGER NOT NULL, PRIMARY KEY(process, item, reason)) WITHOUT ROWID;"
    "CREATE TABLE rollup(id INTEGER PRIMARY KEY, run INTEGER NOT NULL, process INTEGER NOT NULL, kernel INTEGER NOT "
    "NULL, stream INTEGER NOT "
    "NULL,"
    " model INTEGER NOT NULL, concurrency_case INTEGER NOT NULL, novelty INTEGER NOT NULL, overlap INTEGER NOT NULL,"
    " launches INTEGER NOT NULL, measured INTEGER NOT NULL, matched INTEGER NOT NULL, within_20 INTEGER NOT NULL,"
    " slow_n INTEGER NOT NULL, slow_without INTEGER NOT NULL, measured_ns REAL NOT NULL, matched_ns REAL NOT NULL,"
    " predicted_ns REAL NOT NULL, error_ns REAL NOT NULL, error_sum REAL NOT NULL, log_sum REAL NOT NULL,"
    " log_square_sum REAL NOT NULL, slow_error_sum REAL NOT NULL, slow_predicted_sum REAL NOT NULL,"
    " slow_measured_sum REAL NOT NULL, slow_waves_error_sum REAL NOT NULL, slow_waves_sum REAL NOT NULL, sketch BLOB,"
    " UNIQUE(run, process, kernel, stream, model, concurrency_case, novelty, overlap));";

/* Imported traces, and what `kerncast calibrate` measured. */
static const char tables_2[] =
    "ALTER TABLE run ADD COLUMN source TEXT;"
    "ALTER TABLE process ADD COLUMN source TEXT;"
    "CREATE TABLE calibration(id INTEGER PRIMARY KEY, device INTEGER NOT NULL, time_unix_ns INTEGER NOT NULL,"
    " launch_overhead_ns REAL, empty_kernel_ns REAL, launch_gap_ns REAL, copy_bytes_per_s REAL,"
    " flops_per_s REAL, repeats INTEGER NOT NULL, simulated INTEGER NOT NULL);";

/* Problem sizes of imported launches. */
static const char tables_3[] =
    "ALTER TABLE launch_row ADD COLUMN arguments INTEGER;"
    "CREATE TABLE arguments(process INTEGER NOT NULL, local INTEGER NOT NULL, text TEXT NOT NULL,"
    " PRIMARY KEY(process, local)) WITHOUT ROWID;";
/* What became of a kernel's code: kc_code_state_name(). */
static const char tables_4[] = "ALTER TABLE kernel ADD COLUMN code TEXT NOT NULL DEFAULT 'not seen';";

/* What was measured of a device and the models use. */
static const char tables_5[] = "ALTER TABLE device ADD COLUMN empty_kernel_ns INTEGER NOT NULL DEFAULT 0;"
			       "ALTER TABLE device ADD COLUMN copy_bytes_per_s INTEGER NOT NULL DEFAULT 0;"
			       "ALTER TABLE device ADD COLUMN flops_per_s INTEGER NOT NULL DEFAULT 0;";

/* Sweeps over block sizes and the basis made from them: `kerncast-lab basis train`. */
static const char tables_6[] =
    "CREATE TABLE sweep_kernel(id INTEGER PRIMARY KEY, module TEXT NOT NULL, name TEXT NOT NULL,"
    " simulated INTEGER NOT NULL, UNIQUE(module, name));"
    "CREATE TABLE sweep(kernel INTEGER NOT NULL, device INTEGER NOT NULL, block_x INTEGER NOT NULL,"
    " block_y INTEGER NOT NULL, block_z INTEGER NOT NULL, size REAL NOT NULL, ns REAL NOT NULL,"
    " launches INTEGER NOT NULL, blocks_per_sm INTEGER NOT NULL, registers INTEGER NOT NULL,"
    " shared_bytes INTEGER NOT NULL, PRIMARY KEY(kernel, device, block_x, block_y, block_z, size)) WITHOUT ROWID;"
    "CREATE TABLE basis(component INTEGER NOT NULL, threads INTEGER NOT NULL, value REAL NOT NULL,"
    " singular REAL NOT NULL, PRIMARY KEY(component, threads)) WITHOUT ROWID;"
    "CREATE TABLE basis_training(time_unix_ns INTEGER NOT NULL, rows INTEGER NOT NULL, kernels INTEGER NOT NULL,"
    " k INTEGER NOT NULL, error REAL);";

/* More values of `kerncast calibrate`. */
static const char tables_7[] = "ALTER TABLE calibration ADD COLUMN scattered_bytes_per_s REAL;"
			       "ALTER TABLE calibration ADD COLUMN bus_bytes_per_s REAL;"
			       "ALTER TABLE calibration ADD COLUMN bus_back_bytes_per_s REAL;"
			       "ALTER TABLE calibration ADD COLUMN shared_latency_ns REAL;"
			       "ALTER TABLE calibration ADD COLUMN global_latency_ns REAL;"
			       "ALTER TABLE calibration ADD COLUMN cupti_launch_ns REAL;"
			       "ALTER TABLE calibration ADD COLUMN cupti_kernel_ns REAL;";

/* No table changed: the view `launch` shows one more name, `after_exit`. */
static const char tables_8[] = "";

/* 1: kernel.name is still the mangled name, and a command is to make it readable. */
#define KERNEL_NAMES_9                                                                                                 \
	"ALTER TABLE kernel ADD COLUMN name_pending INTEGER NOT NULL DEFAULT 0;"                                       \
	"UPDATE kernel SET name_pending = 1 WHERE name = mangled AND mangled GLOB '_Z*';"                              \
	"CREATE INDEX kernel_name_pending ON kernel(name_pending) WHERE name_pending = 1;"

/* What was known when each launch was predicted: struct kc_order. Rows from before have NULL. */
static const char tables_9[] = KERNEL_NAMES_9
    "ALTER TABLE launch_row ADD COLUMN known INTEGER;"
    "ALTER TABLE launch_row ADD COLUMN measured_after INTEGER;"
    "ALTER TABLE launch_row ADD COLUMN decided_after INTEGER;"
    "ALTER TABLE transfer ADD COLUMN known_events INTEGER;"
    "ALTER TABLE transfer ADD COLUMN measured_event INTEGER;"
    "ALTER TABLE transfer ADD COLUMN decided_event INTEGER;"
    "CREATE TABLE engine_event(process INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,"
    " kernel INTEGER, time_ns INTEGER, PRIMARY KEY(process, number)) WITHOUT ROWID;"
    "CREATE TABLE past_part(process INTEGER NOT NULL, place INTEGER NOT NULL, source INTEGER,"
    " first_sequence INTEGER NOT NULL, last_sequence INTEGER NOT NULL, PRIMARY KEY(process, place)) WITHOUT ROWID;"
    "CREATE TABLE work(process INTEGER NOT NULL, shape INTEGER NOT NULL, arguments INTEGER NOT NULL,"
    " counts BLOB NOT NULL, PRIMARY KEY(process, shape, arguments)) WITHOUT ROWID;"
    "ALTER TABLE stream ADD COLUMN lane INTEGER;"
    "CREATE TABLE stream_call(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, stream INTEGER, device INTEGER,"
    " time_ns INTEGER NOT NULL, ns INTEGER, known_events INTEGER NOT NULL);";

/* On which of several devices a kernel's formula is ready. */
static const char tables_10[] = "ALTER TABLE engine_event ADD COLUMN device INTEGER;";

/* Where the code of kernels lies that waits to be read, and PTX that the next run will not find by itself. */
static const char tables_11[] =
    "CREATE TABLE code_place(code_hash INTEGER NOT NULL, piece INTEGER NOT NULL,"
    " pieces INTEGER NOT NULL, path TEXT NOT NULL,"
    " offset INTEGER NOT NULL, length INTEGER NOT NULL, hash INTEGER NOT NULL, PRIMARY KEY(code_hash, piece))"
    " WITHOUT ROWID;"
    "UPDATE kernel SET code = 'waits' WHERE code = 'not seen' AND code_hash <> 0;"
    "CREATE TABLE kernel_text(kernel INTEGER PRIMARY KEY, architecture INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " text BLOB NOT NULL);"
    "CREATE INDEX kernel_code_waits ON kernel(code_hash) WHERE code = 'waits';";

/* Views name one more model. */
static const char tables_12[] = "";

/* Which GPU an imported device is, and whose. Processes of a trace that have clocks of their own are known by that. */
static const char tables_13[] = "ALTER TABLE device ADD COLUMN ordinal INTEGER;"
				"ALTER TABLE device ADD COLUMN place TEXT NOT NULL DEFAULT '';"
				"ALTER TABLE device ADD COLUMN bus TEXT NOT NULL DEFAULT '';"
				"UPDATE process SET boot_id = boot_id || '-' || pid WHERE source NOT NULL;";

/* Views name one more reason why a launch was not measured, `known_well`. */
static const char tables_14[] = "";

/* Launches of graphs that are measured as one. Views name one more reason why a launch was not measured, `in_graph`. */
static const char tables_15[] = "ALTER TABLE stream_call ADD COLUMN graph_launch INTEGER;"
				"ALTER TABLE stream_call ADD COLUMN start_ns INTEGER;"
				"ALTER TABLE stream_call ADD COLUMN end_ns INTEGER;"
				"ALTER TABLE stream_call ADD COLUMN measured_start_ns INTEGER;"
				"ALTER TABLE stream_call ADD COLUMN measured_end_ns INTEGER;"
				"ALTER TABLE stream_call ADD COLUMN unmeasured TEXT;"
				"ALTER TABLE stream_call ADD COLUMN measured_event INTEGER;";

/* What a process has learned (store/past/snapshot.h), and with whose it began. What processes of earlier versions began
 * with were launches that were learned from anew: nobody does that any more. */
static const char tables_16[] =
    "CREATE TABLE learned(process INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, written_unix_ns INTEGER NOT NULL,"
    " snapshot BLOB NOT NULL);"
    "CREATE TABLE past(process INTEGER PRIMARY KEY, source INTEGER, checksum INTEGER NOT NULL);"
    "INSERT INTO past SELECT DISTINCT process, NULL, 0 FROM past_part;"
    "DROP TABLE past_part;";

/* Which of many processes each is: store/common/job/job.h. What is recorded of a process that was imported is its rank.
 */
static const char tables_17[] =
    "ALTER TABLE process ADD COLUMN host TEXT;"
    "ALTER TABLE process ADD COLUMN container TEXT;"
    "ALTER TABLE process ADD COLUMN visible_devices TEXT;"
    "ALTER TABLE process ADD COLUMN job TEXT;"
    "ALTER TABLE process ADD COLUMN rank INTEGER;"
    "ALTER TABLE process ADD COLUMN local_rank INTEGER;"
    "ALTER TABLE process ADD COLUMN world_size INTEGER;"
    "UPDATE process SET rank = CAST(substr(command_line, 6) AS INTEGER) WHERE source NOT NULL"
    " AND command_line GLOB 'rank [0-9]*' AND NOT command_line GLOB 'rank *[^0-9]*'"
    " AND length(command_line) < 13;"
    "UPDATE process SET rank = NULL WHERE rank >= 16777216;";

/* The checksum of the file that a process began with, which stood in a message, in hexadecimal. */
static const char tables_18[] =
    "ALTER TABLE past ADD COLUMN prior INTEGER;"
    "INSERT OR IGNORE INTO past SELECT process, NULL, 0, NULL FROM message WHERE code = 'PRIOR';"
    "UPDATE past SET prior = (WITH RECURSIVE digit(i, value, text) AS (SELECT 1, 0,"
    " substr(text, instr(text, ': ') + 2, 16) FROM message WHERE process = past.process AND code = 'PRIOR'"
    " UNION ALL SELECT i + 1, value << 4 | instr('123456789abcdef', substr(text, i, 1)), text FROM digit WHERE i < 17)"
    " SELECT value FROM digit WHERE i = 17)"
    " WHERE process IN (SELECT process FROM message WHERE code = 'PRIOR');";

/* How GPUs were while processes ran: struct kc_gpu_state_entry. */
static const char tables_19[] =
    "CREATE TABLE gpu_state(id INTEGER PRIMARY KEY, device INTEGER NOT NULL, time_ns INTEGER NOT NULL,"
    " sm_mhz INTEGER, memory_mhz INTEGER, power_mw INTEGER, slowed INTEGER NOT NULL, others INTEGER NOT NULL);";

/* Operators that launched kernels, and what they come to: struct kc_operator_entry, struct kc_launched_by_entry. */
static const char tables_20[] =
    "CREATE TABLE operator(process INTEGER NOT NULL, local INTEGER NOT NULL, name TEXT NOT NULL, inputs TEXT NOT NULL,"
    " type TEXT NOT NULL, flop REAL, bytes REAL, nominal INTEGER NOT NULL, PRIMARY KEY(process, local)) WITHOUT ROWID;"
    "CREATE TABLE launched_by(id INTEGER PRIMARY KEY, operator INTEGER NOT NULL, parts INTEGER);";

/* Steps of a training or a server, and the ranges and operators in which launches were made: struct kc_step_entry,
 * struct kc_scope_entry, struct kc_launched_in_entry. */
static const char tables_21[] =
    "CREATE TABLE step(process INTEGER NOT NULL, start_ns INTEGER NOT NULL, number INTEGER NOT NULL,"
    " end_ns INTEGER NOT NULL, PRIMARY KEY(process, start_ns, number)) WITHOUT ROWID;"
    "CREATE TABLE scope(process INTEGER NOT NULL, local INTEGER NOT NULL, parent INTEGER, kind TEXT NOT NULL,"
    " name TEXT NOT NULL, PRIMARY KEY(process, local)) WITHOUT ROWID;"
    "CREATE TABLE launched_in(id INTEGER PRIMARY KEY, scope INTEGER NOT NULL);";

const char kc_experiment_steps[] =
    "CREATE TABLE IF NOT EXISTS experiment_step(step TEXT PRIMARY KEY, token TEXT NOT NULL, output TEXT NOT NULL,"
    " completed_unix_ns INTEGER NOT NULL)";

/* steps[v] brings version v to v + 1. */
static const char *const steps[KC_SCHEMA_VERSION] = {tables_1,  tables_2,  tables_3,  tables_4,  tables_5,  tables_6,
						     tables_7,  tables_8,  tables_9,  tables_10, tables_11, tables_12,
						     tables_13, tables_14, tables_15, tables_16, tables_17, tables_18,
						     tables_19, tables_20, tables_21};

const char *kc__schema_step(int from)
{
	return steps[from];
}

static int pragma(sqlite3 *db, const char *sql, int64_t *value)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* In one read transaction, as another process may be making the tables. */
static int look(sqlite3 *db, int64_t *tables, int64_t *application, int64_t *version)
{
	int rc = sqlite3_exec(db, "SAVEPOINT look", NULL, NULL, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = pragma(db, "SELECT count(*) FROM sqlite_master", tables);
	if (rc == SQLITE_OK)
		rc = pragma(db, "PRAGMA application_id", application);
	if (rc == SQLITE_OK)
		rc = pragma(db, "PRAGMA user_version", version);
	sqlite3_exec(db, "RELEASE look", NULL, NULL, NULL);
	return rc;
}

int kc_schema_state(sqlite3 *db, enum kc_schema_state *state)
{
	int64_t application = 0, version = 0, tables = 0;
	int rc = look(db, &tables, &application, &version);

	if (rc != SQLITE_OK)
		return rc;
	if (application == KC_APPLICATION_ID && version > 0)
		*state = version > KC_SCHEMA_VERSION   ? KC_SCHEMA_NEWER
			 : version < KC_SCHEMA_VERSION ? KC_SCHEMA_OLDER
						       : KC_SCHEMA_OURS;
	else
		*state = tables == 0 && application == 0 && version == 0 ? KC_SCHEMA_EMPTY : KC_SCHEMA_FOREIGN;
	return SQLITE_OK;
}

static int set_version(sqlite3 *db, int version)
{
	struct timespec now;
	char *sql;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	sql = sqlite3_mprintf("PRAGMA user_version = %d; INSERT INTO schema VALUES(%d, %lld)", version, version,
			      (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	if (!sql)
		return SQLITE_NOMEM;
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
	return rc;
}

int kc__schema_tables(sqlite3 *db, int to)
{
	int64_t version;
	int rc = pragma(db, "PRAGMA user_version", &version);

	if (rc == SQLITE_OK && version < 0)
		return SQLITE_CORRUPT;
	for (; rc == SQLITE_OK && version < to; version++) {
		rc = sqlite3_exec(db, steps[version], NULL, NULL, NULL);
		if (rc == SQLITE_OK)
			rc = set_version(db, (int)version + 1);
	}
	return rc;
}

int kc_schema_apply(sqlite3 *db)
{
	char application[64];
	int rc = kc__schema_tables(db, KC_SCHEMA_VERSION);

	if (rc == SQLITE_OK)
		rc = kc__views_apply(db);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_snprintf(sizeof(application), application, "PRAGMA application_id = %d", KC_APPLICATION_ID);
	return sqlite3_exec(db, application, NULL, NULL, NULL);
}
