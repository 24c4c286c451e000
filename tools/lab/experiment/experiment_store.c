#include "experiment.h"

#include "store/common/growing.h"
#include "store/database/schema.h"
#include "store/database/upkeep/forget.h"
#include "store/database/upkeep/recovery.h"
#include "store/query/query.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DYING_WAITS 20 /* for a program of an experiment that was just killed */
#define DYING_WAIT_US 100000

void kc_step_text(const struct kc_step *step, char out[static KC_STEP_TEXT])
{
	int n = snprintf(out, KC_STEP_TEXT, "%s", step->program);

	if (step->algorithm)
		n += snprintf(out + n, KC_STEP_TEXT - (size_t)n, " --only %s", step->algorithm);
	if (step->size)
		n += snprintf(out + n, KC_STEP_TEXT - (size_t)n, " --size %u", step->size);
	if (step->block)
		n += snprintf(out + n, KC_STEP_TEXT - (size_t)n, " --block %u", step->block);
	if (step->repeat)
		n += snprintf(out + n, KC_STEP_TEXT - (size_t)n, " --repeat %u", step->repeat);
	if (step->more)
		snprintf(out + n, KC_STEP_TEXT - (size_t)n, " %s", step->more);
}

void kc_experiment_path(const struct kc_laboratory *lab, const char *name, const char *ending, char *out, size_t size)
{
	snprintf(out, size, "%s/%s.%s", lab->folder, name, ending);
}

static int error_of(sqlite3 *db, char *why, size_t why_size)
{
	int code = sqlite3_errcode(db) & 0xff;

	snprintf(why, why_size, "%s", sqlite3_errmsg(db));
	return code == SQLITE_FULL ? -ENOSPC : -EIO;
}

/* A run of an experiment that belongs to no complete step; 0: there is none. Other runs of the database must stay. */
static int64_t incomplete_run(sqlite3 *db)
{
	static const char sql[] = "SELECT id FROM run WHERE token GLOB '" KC_STEP_TOKEN "*'"
				  " AND token NOT IN (SELECT token FROM experiment_step) LIMIT 1";
	sqlite3_stmt *stmt = NULL;
	int64_t run = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		run = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return run;
}

static int forget_incomplete_runs(struct kc_store *store)
{
	int64_t run;
	int rc = 0;

	while (rc == 0 && (run = incomplete_run(kc_store_db(store))) > 0)
		rc = kc_store_forget_run(store, run);
	return rc;
}

int kc_experiment_store(const struct kc_laboratory *lab, const char *name, struct kc_store **store, char *why,
			size_t why_size)
{
	struct kc_recovered recovered = {0};
	char path[PATH_MAX + 64];
	int rc;

	kc_experiment_path(lab, name, "db", path, sizeof(path));
	for (int i = 0; i < DYING_WAITS && (i == 0 || recovered.alive); i++) {
		usleep(i ? DYING_WAIT_US : 0);
		kc_recover(path, false, &recovered, why, why_size);
	}
	rc = kc_store_open(path, KC_STORE_WRITE, store, why, why_size);
	if (rc < 0)
		return rc;
	if (sqlite3_exec(kc_store_db(*store), kc_experiment_steps, NULL, NULL, NULL) != SQLITE_OK)
		rc = error_of(kc_store_db(*store), why, why_size);
	else if ((rc = forget_incomplete_runs(*store)) < 0)
		snprintf(why, why_size, "%s", strerror(-rc));
	if (rc < 0) {
		kc_store_close(*store);
		*store = NULL;
	}
	return rc;
}

/* "" where there is none. */
static const char *text_at(sqlite3_stmt *stmt, int i)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);

	return text ? text : "";
}

/* The number that a query with one text parameter returns; -1: none. */
static int64_t number(sqlite3 *db, const char *sql, const char *text)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

void kc_experiment_device(struct kc_store *store, char *name, size_t size, int *simulated)
{
	static const char sql[] = "SELECT d.name, d.simulated FROM experiment_step s JOIN run r ON r.token = s.token"
				  " JOIN process p ON p.run = r.id JOIN process_device x ON x.process = p.id"
				  " JOIN device d ON d.id = x.device LIMIT 1";
	sqlite3_stmt *stmt = NULL;

	name[0] = '\0';
	*simulated = 0;
	if (sqlite3_prepare_v2(kc_store_db(store), sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW) {
		snprintf(name, size, "%s", text_at(stmt, 0));
		*simulated = sqlite3_column_int(stmt, 1);
	}
	sqlite3_finalize(stmt);
}

int kc_step_is_complete(struct kc_store *store, const struct kc_step *step)
{
	char text[KC_STEP_TEXT];

	kc_step_text(step, text);
	return number(kc_store_db(store), "SELECT count(*) FROM experiment_step WHERE step = ?1", text) > 0;
}

/* The message of the library that may tell why nothing of this run was measured. */
static void say_cause(sqlite3 *db, const char *token, char *why, size_t why_size)
{
	static const char sql[] = "SELECT m.text FROM message m JOIN process p ON p.id = m.process JOIN run r"
				  " ON r.id = p.run WHERE r.token = ?1 ORDER BY m.severity DESC LIMIT 1";
	sqlite3_stmt *stmt = NULL;

	snprintf(why, why_size, "no launch of it was measured");
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(stmt, 1, token, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		snprintf(why, why_size, "no launch of it was measured: %s", text_at(stmt, 0));
	sqlite3_finalize(stmt);
}

static int has_measurements(sqlite3 *db, const struct kc_step *step, const char *token)
{
	if (strcmp(step->program, KC_CALIBRATION) == 0)
		return number(db, "SELECT count(*) FROM calibration WHERE ?1 IS NOT NULL", "") > 0;
	return number(db,
		      "SELECT count(*) FROM launch l JOIN run r ON r.id = l.run WHERE r.token = ?1"
		      " AND l.measured_end_ns IS NOT NULL",
		      token) > 0;
}

int kc_step_complete(struct kc_store *store, const struct kc_step *step, const char *token, const char *output,
		     char *why, size_t why_size)
{
	sqlite3 *db = kc_store_db(store);
	sqlite3_stmt *stmt = NULL;
	char text[KC_STEP_TEXT];
	struct timespec now;
	int rc = 0;

	if (!has_measurements(db, step, token)) {
		say_cause(db, token, why, why_size);
		return -ENODATA;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	kc_step_text(step, text);
	if (sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO experiment_step VALUES(?1, ?2, ?3, ?4)", -1, &stmt, NULL) !=
	    SQLITE_OK)
		return error_of(db, why, why_size);
	sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, token, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, output, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 4, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		rc = error_of(db, why, why_size);
	sqlite3_finalize(stmt);
	return rc;
}

/* --- loading */

static double real(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, column);
}

static int load_launches(sqlite3 *db, const char *token, struct kc_observed *observed)
{
	static const char sql[] =
	    "SELECT k.mangled, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z, l.dynamic_shared_bytes,"
	    " l.measured_end_ns - l.measured_start_ns, l.slowdown, l.slowdown_waves,"
	    " k.registers, k.static_shared_bytes, k.local_bytes, k.max_threads_per_block"
	    " FROM run r JOIN launch l ON l.run = r.id LEFT JOIN kernel k ON k.id = l.kernel"
	    " WHERE r.token = ?1 ORDER BY l.process, l.sequence";
	uint32_t capacity = 0;
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, token, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct kc_observed_launch *l;

		if (KC_ROOM(observed->launches, capacity, observed->launch_count)) {
			rc = SQLITE_NOMEM;
			break;
		}
		l = &observed->launches[observed->launch_count++];
		*l = (struct kc_observed_launch){
		    .kernel = strdup(text_at(stmt, 0)),
		    .dynamic_shared_bytes = (uint32_t)sqlite3_column_int64(stmt, 7),
		    .measured_ns = real(stmt, 8),
		    .slowdown = real(stmt, 9),
		    .slowdown_waves = real(stmt, 10),
		    .resources = {(uint32_t)sqlite3_column_int64(stmt, 11), (uint32_t)sqlite3_column_int64(stmt, 12),
				  (uint32_t)sqlite3_column_int64(stmt, 13), (uint32_t)sqlite3_column_int64(stmt, 14)},
		};
		for (int i = 0; i < 3; i++) {
			l->grid[i] = (uint32_t)sqlite3_column_int64(stmt, 1 + i);
			l->block[i] = (uint32_t)sqlite3_column_int64(stmt, 4 + i);
		}
		rc = l->kernel ? SQLITE_OK : SQLITE_NOMEM;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -EIO;
}

static int load_copies(sqlite3 *db, const char *token, struct kc_observed *observed)
{
	static const char sql[] =
	    "SELECT t.kind, t.bytes, t.measured_end_ns - t.measured_start_ns, count(*) OVER () FROM run r JOIN process "
	    "p"
	    " ON p.run = r.id JOIN transfer t ON t.process = p.id WHERE r.token = ?1 ORDER BY t.process, t.sequence";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, token, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct kc_observed_copy *copy;

		if (!observed->copies)
			observed->copies = calloc((size_t)sqlite3_column_int64(stmt, 3), sizeof(*copy));
		if (!observed->copies) {
			rc = SQLITE_NOMEM;
			break;
		}
		copy = &observed->copies[observed->copy_count++];
		snprintf(copy->kind, sizeof(copy->kind), "%s", text_at(stmt, 0));
		copy->bytes = (uint64_t)sqlite3_column_int64(stmt, 1);
		copy->measured_ns = real(stmt, 2);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -EIO;
}

static uint32_t occurrences(const char *text, const char *what)
{
	uint32_t count = 0;

	while ((text = strstr(text, what))) {
		count++;
		text += strlen(what);
	}
	return count;
}

/* 1: it is complete and loaded; 0: it is not complete; -errno. */
static int load_step(sqlite3 *db, const struct kc_step *step, struct kc_observed *observed)
{
	sqlite3_stmt *stmt = NULL;
	char text[KC_STEP_TEXT], token[64] = "";
	int rc = 0;

	*observed = (struct kc_observed){.step = step};
	kc_step_text(step, text);
	if (sqlite3_prepare_v2(db, "SELECT token, output FROM experiment_step WHERE step = ?1", -1, &stmt, NULL) ==
		SQLITE_OK &&
	    sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *output = text_at(stmt, 1);

		snprintf(token, sizeof(token), "%s", text_at(stmt, 0));
		observed->right = occurrences(output, ": right");
		observed->wrong = occurrences(output, ": WRONG");
		rc = 1;
	}
	sqlite3_finalize(stmt);
	if (rc == 1 && *token && (load_launches(db, token, observed) < 0 || load_copies(db, token, observed) < 0))
		rc = -EIO;
	return rc;
}

static void load_rates(sqlite3 *db, struct kc_rates *rates)
{
	static const char sql[] = "SELECT copy_bytes_per_s, scattered_bytes_per_s, flops_per_s, bus_bytes_per_s"
				  " FROM calibration ORDER BY id DESC LIMIT 1";
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		*rates = (struct kc_rates){sqlite3_column_double(stmt, 0), sqlite3_column_double(stmt, 1),
					   sqlite3_column_double(stmt, 2), sqlite3_column_double(stmt, 3)};
	sqlite3_finalize(stmt);
}

static void load_device(struct kc_store *store, struct kc_observations *evidence)
{
	struct kc_device_row *devices = NULL;
	size_t count = 0;

	if (kc_query_devices(store, &devices, &count) == 0 && count > 0) {
		evidence->device = devices[count - 1].device;
		kc_device_complete(&evidence->device);
		evidence->simulated = (int)evidence->device.simulated;
	}
	free(devices);
}

int kc_observations_load(struct kc_observations *evidence, const struct kc_laboratory *lab, const char *name,
			 const struct kc_step *steps, uint32_t count)
{
	struct kc_store *store = NULL;
	char path[PATH_MAX + 64];
	int rc;

	*evidence = (struct kc_observations){.programs = lab->programs, .planned = count, .simulated = lab->simulated};
	kc_experiment_path(lab, name, "db", path, sizeof(path));
	rc = kc_store_open(path, KC_STORE_READ, &store, NULL, 0);
	if (rc < 0)
		return rc;
	load_device(store, evidence);
	load_rates(kc_store_db(store), &evidence->rates);
	evidence->steps = calloc(count ? count : 1, sizeof(*evidence->steps));
	for (uint32_t i = 0; rc >= 0 && evidence->steps && i < count; i++) {
		rc = load_step(kc_store_db(store), &steps[i], &evidence->steps[evidence->step_count]);
		if (rc != 0)
			evidence->step_count++;
	}
	kc_store_close(store);
	for (uint32_t i = 0; i < evidence->step_count; i++)
		for (uint32_t k = 0; k < evidence->steps[i].launch_count; k++)
			evidence->unmeasured += (uint32_t)isnan(evidence->steps[i].launches[k].measured_ns);
	return !evidence->steps ? -ENOMEM : rc < 0 ? rc : 0;
}

void kc_observations_free(struct kc_observations *evidence)
{
	for (uint32_t i = 0; i < evidence->step_count; i++) {
		struct kc_observed *observed = &evidence->steps[i];

		for (uint32_t k = 0; k < observed->launch_count; k++)
			free(observed->launches[k].kernel);
		free(observed->launches);
		free(observed->copies);
	}
	free(evidence->steps);
}
