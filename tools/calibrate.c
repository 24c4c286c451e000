#include "tools/calibrate/calibrate.h"
#include "tools/input/common_options.h"
#include "tools/system/child.h"
#include "command.h"
#include "tools/system/database.h"
#include "tools/output/colour.h"
#include "tools/output/format.h"
#include "tools/doctor/inspect.h"
#include "tools/output/json.h"
#include "tools/system/library.h"
#include "tools/output/table.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_WORK = 0x100, KEY_TIMINGS, KEY_ORDINAL = 'd' };

#define PRELOAD_BYTES 8192u
#define ORDINALS 64

struct request {
	struct kc_common_options common;
	const char *timings;
	int ordinal, work;
};

/* X(column of the table calibration and key of --json, name in the text, unit, explanation) */
#define VALUES(X)                                                                                                      \
	X(launch_overhead_ns, "launch overhead", NS, "from the launch call to the kernel's start on an idle device")   \
	X(empty_kernel_ns, "empty kernel", NS, "its duration")                                                         \
	X(launch_gap_ns, "gap", NS, "between two kernels back to back in a stream")                                    \
	X(copy_bytes_per_s, "bandwidth", GBPS, "read and written together by a coalesced copy")                        \
	X(scattered_bytes_per_s, "scattered", GBPS, "4-byte words read, each from a different sector")                 \
	X(flops_per_s, "arithmetic", TFLOPS, "FP32 fused multiply-adds, counted as two operations")                    \
	X(shared_latency_ns, "shared latency", NS, "a dependent load from shared memory")                              \
	X(global_latency_ns, "global latency", NS, "a dependent load from global memory that misses all caches")       \
	X(bus_bytes_per_s, "to the device", GBPS, "over the bus, from pinned memory")                                  \
	X(bus_back_bytes_per_s, "to the host", GBPS, "over the bus, to pinned memory")                                 \
	X(cupti_launch_ns, "measuring, launch", NS, "what CUPTI adds to a launch call")                                \
	X(cupti_kernel_ns, "measuring, kernel", NS, "what CUPTI adds to a kernel among kernels back to back")

enum unit { NS, GBPS, TFLOPS };

static const struct {
	const char *column, *name, *meaning;
	enum unit unit;
} value_table[] = {
#define X(column, name, unit, meaning) {#column, name, meaning, unit},
    VALUES(X)
#undef X
};
#define VALUE_COUNT (sizeof(value_table) / sizeof(*value_table))

enum value {
#define X(column, name, unit, meaning) VALUE_##column,
	VALUES(X)
#undef X
};

struct calibration {
	char device[96];
	int simulated;
	double values[VALUE_COUNT]; /* NAN: unknown */
};

static const struct argp_option options[] = {
    {"device", KEY_ORDINAL, "N", 0, "the number of the device (default: 0)", 0},
    KC_JSON_OPTION,
    {"work", KEY_WORK, NULL, OPTION_HIDDEN, "only run the kernels", 0},
    {"timings", KEY_TIMINGS, "FILE", OPTION_HIDDEN, "where the work says what the host's clock showed", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;
	char *end;
	long ordinal;

	switch (key) {
	case KEY_ORDINAL:
		ordinal = strtol(arg, &end, 10);
		if (end == arg || *end || ordinal < 0 || ordinal >= ORDINALS)
			argp_error(state, "--device takes a number, not \"%s\"", arg);
		request->ordinal = (int)ordinal;
		return 0;
	case KEY_WORK:
		request->work = 1;
		return 0;
	case KEY_TIMINGS:
		request->timings = arg;
		return 0;
	default:
		return kc_common_option(&request->common, key, arg, state);
	}
}

struct workplace {
	char folder[PATH_MAX], database[PATH_MAX + 16], timings[PATH_MAX + 16];
};

/* measure: a value of KERNCAST_MEASURE. */
static int run_work(int ordinal, const struct workplace *place, const char *measure)
{
	char self[PATH_MAX], library[PATH_MAX], preload[PRELOAD_BYTES], number[16];
	char *argv[] = {self, "calibrate", "--work", "--device", number, "--timings", (char *)place->timings, NULL};
	struct kc_child_end end;
	char why[2 * PATH_MAX];
	int rc = kc_library_self(self, sizeof(self)), found;

	if (rc == 0 && (found = kc_library_find(library, sizeof(library))) < 0) {
		kc_library_refusal(found, library, why, sizeof(why));
		kc_error("%s; build or install kerncast again", why);
		return found;
	}
	if (rc == 0)
		rc = kc_preload_value(getenv("LD_PRELOAD"), library, "", preload, sizeof(preload));
	if (rc == 0) {
		snprintf(number, sizeof(number), "%d", ordinal);
		kc_child_settle(place->database);
		setenv("KERNCAST_MEASURE", measure, 1);
		rc = kc_child_run(argv, preload, &end);
	}
	if (rc < 0) {
		kc_error("cannot run the kernels: %s", strerror(-rc));
		return rc;
	}
	return end.status ? -EIO : 0; /* the child has reported why */
}

static int read_timings(const struct workplace *place, struct kc_calibrate_host *times)
{
	FILE *from = fopen(place->timings, "re");
	int read = from ? fscanf(from, "%lf %lf", &times->launch_ns, &times->kernel_ns) : 0;

	if (from)
		fclose(from);
	if (read == 2)
		return 0;
	kc_error("%s cannot be read or does not contain two times", place->timings);
	return -EIO;
}

/* Runs the work with and without measuring; the difference is what measuring adds. Only the measured run is stored. */
static int run_both(int ordinal, const struct workplace *place, struct calibration *c)
{
	struct kc_calibrate_host with, without;
	struct workplace unmeasured = *place;
	int rc = run_work(ordinal, place, "all");

	snprintf(unmeasured.database, sizeof(unmeasured.database), "%s/off.db", place->folder);
	if (rc == 0)
		rc = read_timings(place, &with);
	if (rc == 0)
		rc = run_work(ordinal, &unmeasured, "off");
	if (rc == 0)
		rc = read_timings(place, &without);
	if (rc == 0) {
		c->values[VALUE_cupti_launch_ns] = with.launch_ns - without.launch_ns;
		c->values[VALUE_cupti_kernel_ns] = with.kernel_ns - without.kernel_ns;
	}
	return rc;
}

/* The median over the only column of a query; NAN: it has no values. Frees the query. */
static double median_of(sqlite3 *db, char *values)
{
	char *sql =
	    sqlite3_mprintf("WITH x(v) AS (%s), known AS (SELECT v FROM x WHERE v IS NOT NULL) SELECT v FROM known"
			    " ORDER BY v LIMIT 1 OFFSET (SELECT count(*) FROM known) / 2",
			    values);
	sqlite3_stmt *stmt = NULL;
	double result = NAN;

	if (sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		result = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	sqlite3_free(values);
	return result;
}

/* The median over a kernel's launches. */
static double median(sqlite3 *db, const char *kernel, const char *value, const char *condition)
{
	return median_of(db, sqlite3_mprintf("SELECT %s FROM launch l JOIN kernel k ON k.id = l.kernel"
					     " WHERE k.mangled = %Q AND %s",
					     value, kernel, condition));
}

#define THREADS "(1.0 * l.grid_x * l.block_x)"
#define DURATION "(l.measured_end_ns - l.measured_start_ns)"
#define WHOLE_BLOCK "256" /* threads per block of the launches that measure arithmetic */

/* Bytes per second over the bus; NAN: no copy was measured. */
static double bus(sqlite3 *db, const char *kind)
{
	return median_of(db, sqlite3_mprintf("SELECT 1e9 * bytes / (measured_end_ns - measured_start_ns) FROM transfer"
					     " WHERE kind = %Q AND measured_end_ns > measured_start_ns",
					     kind));
}

static void measure(sqlite3 *db, struct calibration *c)
{
	double *v = c->values;

	v[VALUE_launch_overhead_ns] = median(db, KC_CALIBRATE_EMPTY, "l.measured_start_ns - l.launched_ns", "1");
	v[VALUE_empty_kernel_ns] = median(db, KC_CALIBRATE_EMPTY, DURATION, "1");
	v[VALUE_launch_gap_ns] =
	    median(db, KC_CALIBRATE_FMA, "l.measured_start_ns - lag(l.measured_end_ns) OVER (ORDER BY l.sequence)",
		   "l.grid_x = 1");
	v[VALUE_copy_bytes_per_s] =
	    2e9 * KC_CALIBRATE_COPY_BYTES * median(db, KC_CALIBRATE_COPY, THREADS " / " DURATION, DURATION " > 0");
	v[VALUE_scattered_bytes_per_s] = 1e9 * KC_CALIBRATE_SCATTER_BYTES *
					 median(db, KC_CALIBRATE_SCATTER, THREADS " / " DURATION, DURATION " > 0");
	v[VALUE_flops_per_s] = 2e9 * KC_CALIBRATE_FMA_LOOPS * KC_CALIBRATE_FMA_EACH *
			       median(db, KC_CALIBRATE_FMA, THREADS " / " DURATION,
				      "l.grid_x > 1 AND l.block_x = " WHOLE_BLOCK " AND " DURATION " > 0");
	v[VALUE_shared_latency_ns] = median(db, KC_CALIBRATE_SHARED, DURATION, "1") / KC_CALIBRATE_SHARED_HOPS;
	v[VALUE_global_latency_ns] = median(db, KC_CALIBRATE_GLOBAL, DURATION, "1") / KC_CALIBRATE_GLOBAL_HOPS;
	v[VALUE_bus_bytes_per_s] = bus(db, "HtoD");
	v[VALUE_bus_back_bytes_per_s] = bus(db, "DtoH");
}

/* Reads the name of the device on which the work ran. */
static int name_device(sqlite3 *db, struct calibration *c)
{
	static const char sql[] = "SELECT d.name, d.simulated FROM launch l JOIN device d ON d.id = l.device LIMIT 1";
	sqlite3_stmt *stmt = NULL;
	int rc = -ENODEV;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		snprintf(c->device, sizeof(c->device), "%s", (const char *)sqlite3_column_text(stmt, 0));
		c->simulated = sqlite3_column_int(stmt, 1);
		rc = 0;
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int read_work(const char *database, struct calibration *c)
{
	struct kc_store *store = kc_database_read(database);
	int rc;

	if (!store)
		return -EIO;
	rc = name_device(kc_store_db(store), c);
	if (rc == 0)
		measure(kc_store_db(store), c);
	kc_store_close(store);
	if (rc < 0 || isnan(c->values[VALUE_empty_kernel_ns])) {
		kc_error("nothing was measured; `kerncast doctor` names the problems");
		return -ENODATA;
	}
	return 0;
}

/* Two rows are of the same device where all their columns agree, NULL with NULL. */
static char *device_columns(sqlite3 *db)
{
	static const char sql[] = "SELECT group_concat(name, ', ') FROM pragma_table_info('device') WHERE name != 'id'";
	sqlite3_stmt *stmt = NULL;
	char *columns = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		columns = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return columns;
}

static void bind(sqlite3_stmt *stmt, int i, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(stmt, i, value);
}

static int add_row(sqlite3 *db, const struct calibration *c, const char *device_columns_text)
{
	char *columns = NULL, *parameters = NULL, *sql;
	struct timespec now;
	sqlite3_stmt *stmt = NULL;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < VALUE_COUNT; i++) {
		columns = sqlite3_mprintf("%z%s, ", columns, value_table[i].column);
		parameters = sqlite3_mprintf("%z?, ", parameters);
	}
	sql =
	    sqlite3_mprintf("INSERT INTO main.calibration(%zrepeats, simulated, time_unix_ns, device)"
			    " SELECT %z%u, %d, %lld,"
			    " (SELECT id FROM main.device WHERE (%s) IS (SELECT %s FROM work.device WHERE id ="
			    " (SELECT device FROM work.launch LIMIT 1)))",
			    columns, parameters, KC_CALIBRATE_REPEATS, c->simulated,
			    (long long)now.tv_sec * 1000000000 + now.tv_nsec, device_columns_text, device_columns_text);
	rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < VALUE_COUNT; i++)
		bind(stmt, (int)i + 1, c->values[i]);
	rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int copy_over(sqlite3 *db, const struct calibration *c, const char *work)
{
	char *columns = device_columns(db), *sql = NULL;
	int rc = SQLITE_NOMEM;

	if (columns)
		sql = sqlite3_mprintf("ATTACH %Q AS work; BEGIN IMMEDIATE;"
				      "INSERT INTO main.device(%s) SELECT %s FROM work.device EXCEPT"
				      " SELECT %s FROM main.device",
				      work, columns, columns, columns);
	if (sql)
		rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = add_row(db, c, columns);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_free(sql);
	sqlite3_free(columns);
	return rc;
}

static int store_answer(const char *database, const struct calibration *c, const char *work)
{
	struct kc_store *store;
	char why[512] = "";
	int rc = kc_store_open(database, KC_STORE_WRITE, &store, why, sizeof(why));

	if (rc < 0) {
		kc_error("%s", *why ? why : strerror(-rc));
		return rc;
	}
	if (copy_over(kc_store_db(store), c, work) != SQLITE_OK) {
		kc_error("%s cannot be written: %s", database, sqlite3_errmsg(kc_store_db(store)));
		rc = -EIO;
	}
	kc_store_close(store);
	return rc;
}

static int print_json(const struct calibration *c, const char *database)
{
	json_t *out = kc_json_document("calibrate", 1);

	json_object_set_new(out, "simulated", json_boolean(c->simulated));
	json_object_set_new(out, "device", kc_json_text(c->device));
	json_object_set_new(out, "database", kc_json_text(kc_database_shown(database)));
	for (size_t i = 0; i < VALUE_COUNT; i++)
		json_object_set_new(out, value_table[i].column, kc_json_real(c->values[i]));
	json_object_set_new(out, "repeats", json_integer(KC_CALIBRATE_REPEATS));
	return kc_json_print(out);
}

static void format_value(double value, enum unit unit, char *out, size_t size)
{
	char text[KC_FORMAT_BYTES];

	if (isnan(value))
		snprintf(out, size, "-");
	else if (unit == NS && fabs(value) < 10)
		snprintf(out, size, "%.2f ns", value);
	else if (unit == NS)
		snprintf(out, size, "%s%s", value < 0 ? "-" : "", kc_format_ns(fabs(value), text));
	else
		snprintf(out, size, "%.4g %s", unit == GBPS ? value / 1e9 : value / 1e12,
			 unit == GBPS ? "GB/s" : "TFLOP/s");
}

static int print_text(const struct calibration *c, const char *database)
{
	static const struct kc_column columns[] = {
	    {"quantity", KC_LEFT, 0}, {"measured", KC_RIGHT, 0}, {"meaning", KC_LEFT, 0}, {0}};
	struct kc_table table;
	char value[2 * KC_FORMAT_BYTES];

	if (c->simulated)
		kc_say_simulated(KC_SIMULATED_ALL);
	printf("%s: medians of %u launches each, stored in %s\n", c->device, KC_CALIBRATE_REPEATS,
	       kc_database_shown(database));
	kc_table_init(&table, columns);
	for (size_t i = 0; i < VALUE_COUNT; i++) {
		format_value(c->values[i], value_table[i].unit, value, sizeof(value));
		kc_table_row(&table, (const char *const[]){value_table[i].name, value, value_table[i].meaning});
	}
	return kc_table_finish(&table, 2) ? KC_EXIT_FAILED : kc_output_finish();
}

static int calibrate(const struct request *request, const char *database, const struct workplace *place)
{
	struct calibration c = {.simulated = 0};

	if (run_both(request->ordinal, place, &c) < 0 || read_work(place->database, &c) < 0 ||
	    store_answer(database, &c, place->database) < 0)
		return KC_EXIT_FAILED;
	return request->common.json ? print_json(&c, database) : print_text(&c, database);
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = {"work.db",    "work.db-wal", "work.db-shm", "off.db",
					    "off.db-wal", "off.db-shm",  "timings"};
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

static int calibrate_main(int argc, char **argv, const struct kc_command *self)
{
	const char *temporary = getenv("TMPDIR");
	struct request request = {0};
	static struct workplace place; /* too large for the stack */
	char path[PATH_MAX];
	int status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.work)
		return kc_calibrate_work(request.ordinal, request.timings);
	kc_database_path(request.common.database, path, sizeof(path));
	snprintf(place.folder, sizeof(place.folder), "%s/kerncast-XXXXXX",
		 temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(place.folder)) {
		kc_error("%s: %s", place.folder, strerror(errno));
		return KC_EXIT_FAILED;
	}
	snprintf(place.database, sizeof(place.database), "%s/work.db", place.folder);
	snprintf(place.timings, sizeof(place.timings), "%s/timings", place.folder);
	status = calibrate(&request, path, &place);
	remove_folder(place.folder);
	return status;
}

const struct kc_command kc_command_calibrate = {
    .group = KC_GROUP_RESEARCH,
    .seldom = 1,
    .name = "calibrate",
    .summary = "measures a device: overheads, bandwidth, latencies, arithmetic",
    .arguments = "[DB]",
    .options = options,
    .run = calibrate_main,
    .manual =
	"Runs small kernels and copies on a device and measures them like those of any program: launch overhead,\n"
	"duration of an empty kernel, gap between kernels back to back, bandwidth of coalesced and of scattered\n"
	"accesses, arithmetic, latencies of shared and global memory, bandwidth of the bus.\n"
	"Then everything runs again without being measured. The difference on the host's clock is what CUPTI adds\n"
	"to a launch call and to a kernel.\n"
	"The medians are stored in the database, with the device (table calibration). Later runs that record into\n"
	"this database use them, and so do slowdown and predict with --db, and replay for traces of that device.\n",
};
