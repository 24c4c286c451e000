#include "chrome_replay.h"

#include "store/database/schema.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct kc__replayed {
	sqlite3 *db;
	sqlite3_stmt *add, *from; /* from an id on */
	int is_at;                /* `from` stands at a row */
	int64_t at, sought;
	struct kc__replayed_launch launch;
};

/* Nobody else ever reads it, and nothing of it need last. */
static const char schema[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
			     "CREATE TABLE replayed(id INTEGER PRIMARY KEY, launch BLOB)";

static int error_of(int sqlite_rc)
{
	if (sqlite_rc == SQLITE_OK || sqlite_rc == SQLITE_DONE || sqlite_rc == SQLITE_ROW)
		return 0;
	/* What is at fault is the folder for temporary files, not the database that is exported. */
	return sqlite_rc == SQLITE_NOMEM ? -ENOMEM : -ENOSPC;
}

static int64_t id_of(int64_t process, int64_t sequence)
{
	return (int64_t)((uint64_t)process << KC_SEQUENCE_BITS | (uint64_t)sequence);
}

static int open_scratch(struct kc__replayed *replayed)
{
	int rc = sqlite3_open_v2("", &replayed->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(replayed->db, schema, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(replayed->db, "INSERT OR REPLACE INTO replayed VALUES (?1, ?2)", -1,
					&replayed->add, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(replayed->db, "SELECT id, launch FROM replayed WHERE id >= ?1 ORDER BY id", -1,
					&replayed->from, NULL);
	return error_of(rc);
}

static int keep(const struct kc_replay_launch *launch, void *arg)
{
	const struct kc__replayed_launch kept = {
	    .start_ns = launch->start_ns,
	    .end_ns = launch->end_ns,
	    .solo_ns = launch->solo_ns,
	    .solo_low_ns = launch->solo_low_ns,
	    .solo_high_ns = launch->solo_high_ns,
	    .slowdown = launch->slowdown,
	    .model = launch->model,
	    .concurrency_case = launch->concurrency_case,
	    .novelty = launch->novelty,
	    .unpredictable = launch->unpredictable,
	};
	struct kc__replayed *replayed = arg;

	sqlite3_bind_int64(replayed->add, 1, id_of(launch->process, (int64_t)launch->sequence));
	sqlite3_bind_blob(replayed->add, 2, &kept, sizeof(kept), SQLITE_STATIC);
	sqlite3_step(replayed->add);
	return error_of(sqlite3_reset(replayed->add)); /* what the step said, too */
}

static void note_figures(const struct kc_replay *replay, struct kc_export_replay *figures)
{
	figures->launches = replay->launches;
	figures->predicted = replay->predicted;
	figures->delay_ns = KC_REPLAY_DELAY_NS;
	figures->assumed_launches = replay->assumed_device;
	memcpy(figures->assumed_device, replay->assumed_name, sizeof(figures->assumed_device));
}

static int replay_imported(struct kc__replayed *replayed, struct kc_store *store, const struct kc_selection *selection,
			   struct kc_filter *filter, struct kc_export_replay *figures)
{
	const struct kc_replay_options options = {
	    .selection = *selection,
	    .filter = filter,
	    .imported_only = 1,
	    .delay = {.ns = KC_REPLAY_DELAY_NS, .batch = 1},
	    .launch = keep,
	    .arg = replayed,
	};
	struct kc_replay *replay = NULL;
	int rc = kc_replay_run(store, &options, &replay);

	if (rc == 0)
		note_figures(replay, figures);
	kc_replay_free(replay);
	return rc;
}

/* 1: some process of these runs was imported; 0; -errno. */
static int was_imported(struct kc_store *store, const struct kc_selection *selection)
{
	sqlite3_stmt *row;
	int rc = sqlite3_prepare_v2(kc_store_db(store),
				    "SELECT 1 FROM process WHERE run BETWEEN ?1 AND ?2 AND source NOT NULL LIMIT 1", -1,
				    &row, NULL);

	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	sqlite3_bind_int64(row, 1, selection->first_run);
	sqlite3_bind_int64(row, 2, selection->last_run);
	rc = sqlite3_step(row);
	sqlite3_finalize(row);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : kc__export_error(rc);
}

int kc__replayed_new(struct kc_store *store, const struct kc_selection *selection, struct kc_filter *filter,
		     struct kc__replayed **out, struct kc_export_replay *figures)
{
	int rc = was_imported(store, selection);

	*out = NULL;
	if (rc <= 0)
		return rc;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	rc = open_scratch(*out);
	if (rc == 0)
		rc = replay_imported(*out, store, selection, filter, figures);
	if (rc == 0)
		return 0;
	kc__replayed_free(*out);
	*out = NULL;
	return rc;
}

static int go_on(struct kc__replayed *replayed)
{
	int rc = sqlite3_step(replayed->from);

	replayed->is_at = rc == SQLITE_ROW;
	if (replayed->is_at)
		replayed->at = sqlite3_column_int64(replayed->from, 0);
	return error_of(rc);
}

static int go_to(struct kc__replayed *replayed, int64_t id)
{
	int rc = 0;

	if (id < replayed->sought || !replayed->sought) {
		sqlite3_reset(replayed->from);
		sqlite3_bind_int64(replayed->from, 1, id);
		rc = go_on(replayed);
	}
	replayed->sought = id;
	while (rc == 0 && replayed->is_at && replayed->at < id)
		rc = go_on(replayed);
	return rc;
}

const struct kc__replayed_launch *kc__replayed_find(struct kc__replayed *replayed, int64_t process, int64_t sequence,
						    int *rc)
{
	int64_t id = id_of(process, sequence);
	const void *blob;

	*rc = replayed ? go_to(replayed, id) : 0;
	if (!replayed || *rc || !replayed->is_at || replayed->at != id)
		return NULL;
	blob = sqlite3_column_blob(replayed->from, 1);
	if (!blob) {
		*rc = -ENOMEM;
		return NULL;
	}
	memcpy(&replayed->launch, blob, sizeof(replayed->launch));
	return &replayed->launch;
}

void kc__replayed_free(struct kc__replayed *replayed)
{
	if (!replayed)
		return;
	sqlite3_finalize(replayed->add);
	sqlite3_finalize(replayed->from);
	sqlite3_close(replayed->db);
	free(replayed);
}
