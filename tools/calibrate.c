#include "calibrate.h"
#include "child.h"
#include "command.h"
#include "database.h"
#include "format.h"
#include "inspect.h"
#include "json.h"
#include "library.h"

#include "store/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_JSON = 0x100, KEY_WORK, KEY_ORDINAL = 'd' };

#define PRELOAD_BYTES 8192u
#define ORDINALS 64

struct request {
	const char *database;
	int ordinal, json, work;
};

struct calibration {
	char device[96];
	int64_t device_row; /* in the database of the answer */
	int simulated;
	double launch_overhead_ns, empty_kernel_ns, launch_gap_ns, copy_bytes_per_s, flops_per_s; /* NAN: not known */
};

static const struct argp_option options[] = {
    {"device", KEY_ORDINAL, "N", 0, "the device's number (default: 0)", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON document", 0},
    {"work", KEY_WORK, NULL, OPTION_HIDDEN, "only run the kernels", 0},
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
			argp_error(state, "--device takes the device's number, not \"%s\"", arg);
		request->ordinal = (int)ordinal;
		return 0;
	case KEY_JSON:
		request->json = 1;
		return 0;
	case KEY_WORK:
		request->work = 1;
		return 0;
	case ARGP_KEY_ARG:
		if (request->database)
			argp_error(state, "one database, not two (%s, %s)", request->database, arg);
		request->database = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What the user has set for other programs does not hold for this one. */
static void settle_environment(const char *database)
{
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++) {
		const char *name = kc_option_info(i)->env;

		if (strcmp(name, "KERNCAST_CUPTI") != 0)
			unsetenv(name);
	}
	setenv("KERNCAST_DB", database, 1);
	setenv("KERNCAST_QUIET", "1", 1);
}

static int run_work(int ordinal, const char *database)
{
	char self[PATH_MAX], library[PATH_MAX], preload[PRELOAD_BYTES], number[16];
	char *argv[] = {self, "calibrate", "--work", "--device", number, NULL};
	struct kc_child_end end;
	int rc = kc_library_self(self, sizeof(self));

	if (rc == 0 && kc_library_find(library, sizeof(library)) < 0) {
		kc_error("%s is missing; build or install kerncast again", library);
		return -ENOENT;
	}
	if (rc == 0)
		rc = kc_preload_value(getenv("LD_PRELOAD"), library, "", preload, sizeof(preload));
	if (rc == 0) {
		snprintf(number, sizeof(number), "%d", ordinal);
		settle_environment(database);
		rc = kc_child_run(argv, preload, &end);
	}
	if (rc < 0) {
		kc_error("the kernels cannot be run: %s", strerror(-rc));
		return rc;
	}
	return end.status ? -EIO : 0; /* it has said why */
}

/* The median of the values a query answers with; NAN: there are none. */
static double median(sqlite3 *db, const char *kernel, const char *value, const char *condition)
{
	char *sql = sqlite3_mprintf("WITH x(v) AS (SELECT v FROM (SELECT %s AS v FROM launch l JOIN kernel k"
				    " ON k.id = l.kernel WHERE k.mangled = %Q AND %s) WHERE v IS NOT NULL)"
				    " SELECT v FROM x ORDER BY v LIMIT 1 OFFSET (SELECT count(*) FROM x) / 2",
				    value, kernel, condition);
	sqlite3_stmt *stmt = NULL;
	double result = NAN;

	if (sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		result = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return result;
}

#define THREADS "(1.0 * l.grid_x * l.block_x)"
#define DURATION "(l.measured_end_ns - l.measured_start_ns)"

static void measure(sqlite3 *db, struct calibration *c)
{
	c->launch_overhead_ns = median(db, KC_CALIBRATE_EMPTY, "l.measured_start_ns - l.launched_ns", "1");
	c->empty_kernel_ns = median(db, KC_CALIBRATE_EMPTY, DURATION, "1");
	c->launch_gap_ns =
	    median(db, KC_CALIBRATE_FMA, "l.measured_start_ns - lag(l.measured_end_ns) OVER (ORDER BY l.sequence)",
		   "l.grid_x = 1");
	c->copy_bytes_per_s =
	    2e9 * KC_CALIBRATE_COPY_BYTES * median(db, KC_CALIBRATE_COPY, THREADS " / " DURATION, DURATION " > 0");
	c->flops_per_s = 2e9 * KC_CALIBRATE_FMA_LOOPS * KC_CALIBRATE_FMA_EACH *
			 median(db, KC_CALIBRATE_FMA, THREADS " / " DURATION, "l.grid_x > 1 AND " DURATION " > 0");
}

/* The one device the work ran on. */
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
	if (rc < 0 || isnan(c->empty_kernel_ns)) {
		kc_error("nothing was measured; `kerncast doctor` says what is in the way");
		return -ENODATA;
	}
	return 0;
}

/* Device rows are told apart by all of their columns. */
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

static int add_row(sqlite3 *db, const struct calibration *c, const char *columns)
{
	char *sql = sqlite3_mprintf(
	    "INSERT INTO main.calibration(device, time_unix_ns, launch_overhead_ns, empty_kernel_ns, launch_gap_ns,"
	    " copy_bytes_per_s, flops_per_s, repeats, simulated)"
	    " SELECT (SELECT id FROM main.device WHERE (%s) = (SELECT %s FROM work.device WHERE id ="
	    " (SELECT device FROM work.launch LIMIT 1))), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8",
	    columns, columns);
	struct timespec now;
	sqlite3_stmt *stmt = NULL;
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	if (rc != SQLITE_OK)
		return rc;
	clock_gettime(CLOCK_REALTIME, &now);
	sqlite3_bind_int64(stmt, 1, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
	bind(stmt, 2, c->launch_overhead_ns);
	bind(stmt, 3, c->empty_kernel_ns);
	bind(stmt, 4, c->launch_gap_ns);
	bind(stmt, 5, c->copy_bytes_per_s);
	bind(stmt, 6, c->flops_per_s);
	sqlite3_bind_int(stmt, 7, KC_CALIBRATE_REPEATS);
	sqlite3_bind_int(stmt, 8, c->simulated);
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
	json_t *out = json_object();

	json_object_set_new(out, "simulated", json_boolean(c->simulated));
	json_object_set_new(out, "device", kc_json_text(c->device));
	json_object_set_new(out, "database", kc_json_text(kc_database_shown(database)));
	json_object_set_new(out, "launch_overhead_ns", kc_json_real(c->launch_overhead_ns));
	json_object_set_new(out, "empty_kernel_ns", kc_json_real(c->empty_kernel_ns));
	json_object_set_new(out, "launch_gap_ns", kc_json_real(c->launch_gap_ns));
	json_object_set_new(out, "copy_bytes_per_s", kc_json_real(c->copy_bytes_per_s));
	json_object_set_new(out, "flops_per_s", kc_json_real(c->flops_per_s));
	json_object_set_new(out, "repeats", json_integer(KC_CALIBRATE_REPEATS));
	return kc_json_print(out);
}

static int print_text(const struct calibration *c, const char *database)
{
	char text[KC_FORMAT_BYTES];

	if (c->simulated)
		puts("SIMULATED: these times come from a stand-in device, not from a GPU.\n");
	printf("%s, medians of %u launches each, kept in %s\n", c->device, KC_CALIBRATE_REPEATS,
	       kc_database_shown(database));
	printf("  launch overhead   %s  call to first block on an idle device\n",
	       kc_format_ns(c->launch_overhead_ns, text));
	printf("  empty kernel      %s\n", kc_format_ns(c->empty_kernel_ns, text));
	printf("  gap               %s  end to start, back to back in a stream\n",
	       kc_format_ns(c->launch_gap_ns, text));
	printf("  bandwidth         %.4g GB/s  read and written by a kernel that copies\n", c->copy_bytes_per_s / 1e9);
	printf("  arithmetic        %.4g TFLOP/s  FP32, fused multiply-adds\n", c->flops_per_s / 1e12);
	return kc_output_finish();
}

static int calibrate(const struct request *request, const char *database, const char *folder)
{
	struct calibration c = {.simulated = 0};
	char work[PATH_MAX + 16];

	snprintf(work, sizeof(work), "%s/work.db", folder);
	if (run_work(request->ordinal, work) < 0 || read_work(work, &c) < 0 || store_answer(database, &c, work) < 0)
		return KC_EXIT_FAILED;
	return request->json ? print_json(&c, database) : print_text(&c, database);
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = {"work.db", "work.db-wal", "work.db-shm"};
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
	char path[PATH_MAX], folder[PATH_MAX];
	int status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.work)
		return kc_calibrate_work(request.ordinal);
	kc_database_path(request.database, path, sizeof(path));
	snprintf(folder, sizeof(folder), "%s/kerncast-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(folder)) {
		kc_error("%s: %s", folder, strerror(errno));
		return KC_EXIT_FAILED;
	}
	status = calibrate(&request, path, folder);
	remove_folder(folder);
	return status;
}

const struct kc_command kc_command_calibrate = {
    .name = "calibrate",
    .summary = "measures a device: overheads, bandwidth, arithmetic",
    .arguments = "[DB]",
    .options = options,
    .run = calibrate_main,
    .manual =
	"Runs small kernels on a device and measures them as any program's are: launch overhead, the time of an\n"
	"empty kernel, the gap between kernels back to back, bandwidth and arithmetic.\n"
	"The medians are kept in the database with the device (table calibration). Runs that record there afterwards\n"
	"predict with them, and so do slowdown and predict with --db, and replay for traces of that device.\n",
};
