#include "chrome_replay.h"

#include "store/database/schema.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct kc__replayed {
	FILE *file; /* of struct kc__replayed_launch, in the order of the replay */
	size_t count, next;
	int unordered;
	int64_t latest_id;
	struct kc__replayed_launch *at; /* the file's bytes, once all are there, in the order of ids */
};

static int64_t id_of(int64_t process, int64_t sequence)
{
	return (int64_t)((uint64_t)process << KC_SEQUENCE_BITS | (uint64_t)sequence);
}

/* Without a name, where SQLite would put its own. */
static int open_scratch(struct kc__replayed *replayed)
{
	const char *folders[] = {getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp", "."};
	char path[PATH_MAX];
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof(folders) / sizeof(*folders); i++)
		if (folders[i] && (size_t)snprintf(path, sizeof(path), "%s/kerncast.XXXXXX", folders[i]) < sizeof(path))
			fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -ENOSPC;
	unlink(path);
	replayed->file = fdopen(fd, "w+");
	if (!replayed->file)
		close(fd);
	return replayed->file ? 0 : -ENOMEM;
}

static int keep(const struct kc_replay_launch *launch, void *arg)
{
	const struct kc__replayed_launch kept = {
	    .id = id_of(launch->process, (int64_t)launch->sequence),
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

	replayed->unordered |= replayed->count > 0 && kept.id < replayed->latest_id;
	replayed->latest_id = kept.id;
	replayed->count++;
	return fwrite(&kept, sizeof(kept), 1, replayed->file) == 1 ? 0 : -ENOSPC;
}

KC_ORDER(by_id, struct kc__replayed_launch, KC_UP(id))

/* On the disk where memory is short. */
static int look_up(struct kc__replayed *replayed)
{
	if (fflush(replayed->file) != 0)
		return -ENOSPC;
	if (replayed->count == 0)
		return 0;
	replayed->at = mmap(NULL, replayed->count * sizeof(*replayed->at), PROT_READ | PROT_WRITE, MAP_SHARED,
			    fileno(replayed->file), 0);
	if (replayed->at == MAP_FAILED) {
		replayed->at = NULL;
		return -ENOMEM;
	}
	if (replayed->unordered)
		qsort(replayed->at, replayed->count, sizeof(*replayed->at), by_id);
	return 0;
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
	    .launches_alone = 1,
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
		rc = look_up(*out);
	if (rc == 0)
		return 0;
	kc__replayed_free(*out);
	*out = NULL;
	return rc;
}

const struct kc__replayed_launch *kc__replayed_find(struct kc__replayed *replayed, int64_t process, int64_t sequence)
{
	const struct kc__replayed_launch wanted = {.id = id_of(process, sequence)}, *found;

	if (!replayed || !replayed->at)
		return NULL;
	found = replayed->next < replayed->count && replayed->at[replayed->next].id == wanted.id
		    ? replayed->at + replayed->next
		    : bsearch(&wanted, replayed->at, replayed->count, sizeof(*replayed->at), by_id);
	if (found)
		replayed->next = (size_t)(found - replayed->at) + 1;
	return found;
}

void kc__replayed_free(struct kc__replayed *replayed)
{
	if (!replayed)
		return;
	if (replayed->at)
		munmap(replayed->at, replayed->count * sizeof(*replayed->at));
	if (replayed->file)
		fclose(replayed->file);
	free(replayed);
}
