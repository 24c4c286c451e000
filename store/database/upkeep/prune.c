#include "prune.h"
#include "forget.h"

#include "store/common/growing.h"
#include "store/common/process.h"
#include "store/database/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#define ROWS_PER_STEP 5000u
/* For so long others wait, before as much time is left to them. */
#define TURN_MS 20
/* The write-ahead log is copied into the database each time it has so many, 1 MiB: the disk may be full, which is a
 * reason to remove runs. */
#define LOG_PAGES 256
/* A copy of the database is worth it for this part of the file. */
#define WORTH_SHRINKING 16

struct planner {
	struct kc_store *store;
	int (*is_busy)(const char *token, void *arg);
	void *arg;
	struct kc_prune_plan *plan;
	size_t capacity;
	int weigh;
};

static int each(struct kc_store *s, const char *sql, int64_t value, int (*fn)(sqlite3_stmt *row, void *arg), void *arg)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &row, NULL), stopped = 0;

	if (rc != SQLITE_OK)
		return kc__errno(s->db, rc);
	sqlite3_bind_int64(row, 1, value);
	while (!stopped && (rc = sqlite3_step(row)) == SQLITE_ROW)
		stopped = fn(row, arg);
	if (!stopped)
		stopped = kc__errno(s->db, rc);
	sqlite3_finalize(row);
	return stopped;
}

/* The plan */

/* Its journal is gone, so only /proc can tell. The process is treated as one of our namespaces. */
static int is_alive(sqlite3_stmt *row, void *arg)
{
	const struct kc_process_identity who = {
	    .pid = (uint32_t)sqlite3_column_int64(row, 0),
	    .start = (uint64_t)sqlite3_column_int64(row, 1),
	    .pid_namespace = kc_pid_namespace(),
	    .time_namespace = kc_time_namespace(),
	};
	const char *boot_id = (const char *)sqlite3_column_text(row, 2);
	char here[KC_BOOT_ID_BYTES];
	int *alive = arg;

	if (boot_id && *boot_id && kc_boot_id(here, sizeof(here)) == 0 && strcmp(boot_id, here) != 0)
		return 0;
	*alive |= kc_process_look(&who) != KC_PROCESS_GONE;
	return 0;
}

/* A process that did not say how it ended. */
static int is_running(struct planner *p, int64_t run, const char *token, int *running)
{
	*running = p->is_busy(token, p->arg);
	return each(p->store, "SELECT pid, pid_start, boot_id FROM process WHERE run = ?1 AND ended = ''", run,
		    is_alive, running);
}

static int add_rows(sqlite3_stmt *row, void *arg)
{
	struct kc_prunable *run = arg;

	run->launches += (uint64_t)sqlite3_column_int64(row, 0);
	run->rows += (uint64_t)(sqlite3_column_int64(row, 0) + sqlite3_column_int64(row, 1));
	return 0;
}

static int add_number(sqlite3_stmt *row, void *arg)
{
	*(uint64_t *)arg = (uint64_t)sqlite3_column_int64(row, 0);
	return 0;
}

#define RANGE "BETWEEN p.id << 40 AND p.id << 40 | 1099511627775"
_Static_assert(KC_SEQUENCE_BITS == 40, "the shift in RANGE");

static int count_rows(struct planner *p, struct kc_prunable *run)
{
	return each(p->store,
		    "SELECT (SELECT count(*) FROM launch_row WHERE id " RANGE "),"
		    " (SELECT count(*) FROM lambda_row WHERE id " RANGE ")"
		    " + (SELECT count(*) FROM transfer WHERE id " RANGE ")"
		    " + (SELECT count(*) FROM stream_call WHERE id " RANGE ")"
		    " + (SELECT count(*) FROM gpu_state WHERE id " RANGE ")"
		    " + (SELECT count(*) FROM launched_by WHERE id " RANGE ")"
		    " + (SELECT count(*) FROM launched_in WHERE id " RANGE ") FROM process p WHERE p.run = ?1",
		    run->run, add_rows, run);
}

static struct kc_prunable *room(struct planner *p)
{
	struct kc_prune_plan *plan = p->plan;

	if (KC_ROOM(plan->at, p->capacity, plan->count))
		return NULL;
	memset(&plan->at[plan->count], 0, sizeof(*plan->at));
	return &plan->at[plan->count];
}

static int add_run(sqlite3_stmt *row, void *arg)
{
	struct planner *p = arg;
	struct kc_prunable *run = room(p);
	const char *token = (const char *)sqlite3_column_text(row, 1);
	const char *command_line = (const char *)sqlite3_column_text(row, 2);
	int running, rc;

	if (!run)
		return -ENOMEM;
	run->run = sqlite3_column_int64(row, 0);
	run->ended_unix_ns = sqlite3_column_int64(row, 3);
	run->last_process = sqlite3_column_int64(row, 6);
	run->command_line = strdup(command_line ? command_line : "");
	if (!run->command_line)
		return -ENOMEM;
	p->plan->count++;
	rc = is_running(p, run->run, token ? token : "", &running);
	run->what = sqlite3_column_int(row, 4)   ? KC_PRUNE_IMPORTED
		    : running                    ? KC_PRUNE_RUNNING
		    : sqlite3_column_int(row, 5) ? KC_PRUNE_NEWEST
						 : KC_PRUNE_KEEP;
	return rc || !p->weigh ? rc : count_rows(p, run);
}

/* A process that was killed ended with its last launch, as far as is known.
 * The highest process is the newest of its program, so its run stays: kc_store_drop_run() counts on that. */
static const char runs[] =
    "SELECT r.id, r.token, r.command_line,"
    " (SELECT max(p.started_unix_ns + max(coalesce(p.ended_ns - p.started_ns, (SELECT l.launched FROM launch_row l"
    " WHERE l.id " RANGE " ORDER BY l.id DESC LIMIT 1), 0), 0)) FROM process p WHERE p.run = r.id)"
    " AS ended, r.source IS NOT NULL,"
    " EXISTS(SELECT 1 FROM process p WHERE p.run = r.id AND p.id IN"
    " (SELECT max(id) FROM process WHERE source IS NULL GROUP BY executable UNION SELECT max(id) FROM process)),"
    " (SELECT max(p.id) FROM process p WHERE p.run = r.id) FROM run r ORDER BY ended, r.id";

/* All rows have a part in what is in use, those that a removal left behind when it was interrupted, too: they are
 * removed first, and *used is without them from here on. */
static int share_out(struct planner *p, uint64_t *used)
{
	static const char all_rows[] = "SELECT (SELECT count(*) FROM launch_row) + (SELECT count(*) FROM lambda_row)"
				       " + (SELECT count(*) FROM transfer) + (SELECT count(*) FROM stream_call)"
				       " + (SELECT count(*) FROM gpu_state)"
				       " + (SELECT count(*) FROM launched_by) + (SELECT count(*) FROM launched_in)";
	uint64_t all = 0, rows = 0;
	int rc = each(p->store, all_rows, 0, add_number, &all);

	for (size_t i = 0; i < p->plan->count; i++) {
		struct kc_prunable *run = &p->plan->at[i];

		rows += run->rows;
		run->bytes = all ? (uint64_t)((double)*used * (double)run->rows / (double)all) : 0;
	}
	if (rows < all)
		*used = (uint64_t)((double)*used * (double)rows / (double)all);
	return rc;
}

static int is_older(int64_t ended_unix_ns, int64_t age_ns, int64_t now_unix_ns)
{
	int64_t oldest;

	return age_ns && !__builtin_sub_overflow(now_unix_ns, age_ns, &oldest) && ended_unix_ns < oldest;
}

static void judge(struct kc_prune_plan *plan, const struct kc_keep *keep, int64_t now_unix_ns, uint64_t used)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct kc_prunable *run = &plan->at[i];
		int goes = is_older(run->ended_unix_ns, keep->age_ns, now_unix_ns) ||
			   (keep->runs && plan->count - i > keep->runs) || (keep->bytes && used > keep->bytes);

		if (!goes || run->what == KC_PRUNE_IMPORTED) {
			if (run->what != KC_PRUNE_IMPORTED)
				run->what = KC_PRUNE_KEEP;
			continue;
		}
		if (run->what != KC_PRUNE_KEEP)
			continue;
		run->what = KC_PRUNE_REMOVE;
		plan->removed++;
		used -= run->bytes < used ? run->bytes : used;
	}
}

int kc_prune_plan(struct kc_store *store, const struct kc_keep *keep, int64_t now_unix_ns, int weigh,
		  int (*is_busy)(const char *token, void *arg), void *arg, struct kc_prune_plan *plan)
{
	struct planner p = {
	    .store = store, .is_busy = is_busy, .arg = arg, .plan = plan, .weigh = weigh || keep->bytes};
	uint64_t used, file;
	int rc;

	*plan = (struct kc_prune_plan){0};
	rc = kc_prune_size(store, &used, &file);
	if (rc == 0)
		rc = each(store, runs, 0, add_run, &p);
	if (rc == 0 && p.weigh)
		rc = share_out(&p, &used);
	if (rc) {
		kc_prune_plan_free(plan);
		return rc;
	}
	judge(plan, keep, now_unix_ns, used);
	return 0;
}

void kc_prune_plan_free(struct kc_prune_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		free(plan->at[i].command_line);
	free(plan->at);
	*plan = (struct kc_prune_plan){0};
}

/* Doing it */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* Half of the time is left to others: who waits for the lock looks for it at intervals, and must find it free. */
static void take_turns(int64_t *began_ms)
{
	int64_t took_ms = now_ms() - *began_ms;

	if (took_ms < TURN_MS)
		return;
	sqlite3_sleep((int)took_ms);
	*began_ms = now_ms();
}

static int sweep(struct kc_store *store, int64_t *began_ms)
{
	struct kc_sweep swept = {0};
	int rc;

	while ((rc = kc_store_sweep(store, &swept, ROWS_PER_STEP)) > 0)
		take_turns(began_ms);
	return rc;
}

static int drop(struct kc_store *store, struct kc_prunable *run, struct kc_prune_plan *plan)
{
	int rc = kc_store_drop_run(store, run->run, run->last_process);

	if (rc != -ESTALE)
		return rc;
	run->what = KC_PRUNE_RUNNING;
	plan->removed--;
	return 0;
}

int kc_prune(struct kc_store *store, struct kc_prune_plan *plan)
{
	int64_t began_ms = now_ms();
	int rc = 0;

	sqlite3_wal_autocheckpoint(store->db, LOG_PAGES);
	for (size_t i = 0; rc == 0 && i < plan->count; i++) {
		if (plan->at[i].what == KC_PRUNE_REMOVE)
			rc = drop(store, &plan->at[i], plan);
		take_turns(&began_ms);
	}
	return rc ? rc : sweep(store, &began_ms);
}

int kc_prune_size(struct kc_store *store, uint64_t *used, uint64_t *file)
{
	uint64_t pages, unused, bytes;
	int rc = each(store, "PRAGMA page_count", 0, add_number, &pages);

	if (rc == 0)
		rc = each(store, "PRAGMA freelist_count", 0, add_number, &unused);
	if (rc == 0)
		rc = each(store, "PRAGMA page_size", 0, add_number, &bytes);
	if (rc)
		return rc;
	*used = (pages - unused) * bytes;
	*file = pages * bytes;
	return 0;
}

/* SQLite makes the copy in a file of its own, and copies that into the database by the write-ahead log. */
static int has_room(const char *folder, uint64_t used)
{
	struct statvfs disk;

	return statvfs(folder, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize / 2 > used;
}

/* Its only row says first whether another connection, which has a copy of an older state, stopped it. */
static int add_checkpointed(sqlite3_stmt *row, void *arg)
{
	(void)arg;
	return sqlite3_column_int(row, 0) ? -EBUSY : 0;
}

int kc_prune_shrink(struct kc_store *store, const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	uint64_t used, file;
	int rc = kc_prune_size(store, &used, &file);

	if (rc)
		return rc;
	if ((size_t)snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".") >=
	    sizeof(folder))
		return -ENAMETOOLONG;
	if (file - used >= file / WORTH_SHRINKING) {
		if (!has_room(folder, used))
			return -ENOSPC;
		setenv("SQLITE_TMPDIR", folder, 1);
		rc = kc__errno(store->db, sqlite3_exec(store->db, "VACUUM", NULL, NULL, NULL));
	}
	return rc ? rc : each(store, "PRAGMA wal_checkpoint(TRUNCATE)", 0, add_checkpointed, NULL);
}
