#include "snapshot_row.h"

#include "snapshot.h"
#include "store/common/process.h"
#include "store/database/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* There are eight rows in `learned` for each program, and there may be many processes, so SQLite is to begin with the
 * former (CROSS JOIN). Nobody waits for a table that somebody has made long. */
#define NEWEST "(SELECT process, written_unix_ns FROM learned ORDER BY process DESC LIMIT 1024)"
#define LARGE_PAGE ((size_t)2 << 20)
#define PIECE_BYTES (1024 * (int)KC__CHECKSUM_PIECE)
static const char insert[] =
    "INSERT OR REPLACE INTO learned(process, checksum, written_unix_ns, snapshot) VALUES(?,?,?,?)";
static const char removal[] =
    "DELETE FROM learned WHERE process IN (SELECT l.process FROM " NEWEST " l CROSS JOIN process p"
    " ON p.id = l.process WHERE p.executable = (SELECT executable FROM process WHERE id = %lld)"
    " ORDER BY l.written_unix_ns DESC, l.process DESC LIMIT -1 OFFSET %u)";

static uint64_t checksum_of(const void *snapshot)
{
	struct kc_snapshot_head head;

	memcpy(&head, snapshot, sizeof(head));
	return head.checksum;
}

static int64_t unix_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int store_row(struct kc_store *s, const void *snapshot, size_t bytes)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, insert, -1, &row, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(row, 1, s->process);
		sqlite3_bind_int64(row, 2, (int64_t)checksum_of(snapshot));
		sqlite3_bind_int64(row, 3, unix_ns());
		sqlite3_bind_blob(row, 4, snapshot, (int)bytes, SQLITE_STATIC);
		rc = sqlite3_step(row);
	}
	sqlite3_finalize(row);
	rc = kc__errno(s->db, rc);
	return rc ? rc : kc__execute(s, removal, (long long)s->process, KC_SNAPSHOTS_OF_A_PROGRAM);
}

enum { PROCESS, ENDED, BOOT_ID, PID, PID_START };
static const char newest[] =
    "SELECT l.process, p.ended, p.boot_id, p.pid, p.pid_start FROM " NEWEST " l CROSS JOIN process p"
    " ON p.id = l.process WHERE p.executable = ?1 AND p.source IS NULL"
    " ORDER BY p.run DESC, l.written_unix_ns DESC, l.process DESC";
/* Each holds what had been written before it, older than what its process has of itself: what was written last goes
 * first. */
static const char others[] =
    "SELECT l.process FROM " NEWEST " l CROSS JOIN process p ON p.id = l.process WHERE p.executable ="
    " (SELECT executable FROM process WHERE id = ?1) AND l.process <> ?1 AND l.written_unix_ns >"
    " ifnull((SELECT written_unix_ns FROM learned WHERE process = ?2), 0)"
    " ORDER BY l.written_unix_ns DESC, l.process DESC LIMIT ?3";

/* How it ended is written by itself, or by the command that finds its journal: one that was killed may have ended
 * without either. */
static int has_ended(sqlite3_stmt *row, const char *boot_id)
{
	const char *ended = (const char *)sqlite3_column_text(row, ENDED);
	const char *boot = (const char *)sqlite3_column_text(row, BOOT_ID);

	return (ended && *ended) || !boot || strcmp(boot, boot_id) != 0 ||
	       kc_process_start((uint32_t)sqlite3_column_int64(row, PID)) !=
		   (uint64_t)sqlite3_column_int64(row, PID_START);
}

int kc_snapshot_newest(struct kc_store *s, const char *executable, int64_t *process)
{
	char boot_id[KC_BOOT_ID_BYTES] = "";
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, newest, -1, &row, NULL);

	*process = 0;
	kc_boot_id(boot_id, sizeof(boot_id));
	if (rc == SQLITE_OK)
		sqlite3_bind_text(row, 1, executable, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && !*process && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		if (has_ended(row, boot_id))
			*process = sqlite3_column_int64(row, PROCESS);
	}
	sqlite3_finalize(row);
	return kc__errno(s->db, rc);
}

/* In pages of the usual size its first touch takes as long as reading it. */
static void *room_for(size_t bytes)
{
	size_t room = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
	void *at = bytes < LARGE_PAGE ? malloc(bytes) : aligned_alloc(LARGE_PAGE, room);

	if (at && bytes >= LARGE_PAGE)
		madvise(at, room, MADV_HUGEPAGE);
	return at;
}

/* A column would be copied once more. Each piece is added up while the processor has it at hand. */
static int read_pieces(sqlite3_blob *blob, uint8_t *bytes, int size, uint64_t *checksum)
{
	struct kc__checksum sum = {0};
	int at = (int)KC__SNAPSHOT_CHECKED, rc = sqlite3_blob_read(blob, bytes, at, 0);

	for (int piece; rc == SQLITE_OK && at < size; at += piece) {
		piece = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
		rc = sqlite3_blob_read(blob, bytes + at, piece, at);
		kc__checksum_add(&sum, bytes + at, (size_t)piece);
	}
	*checksum = kc__checksum_end(&sum);
	return rc;
}

static int read_blob(struct kc_store *s, sqlite3_blob *blob, struct kc_snapshot *snapshot, void **bytes)
{
	int size = sqlite3_blob_bytes(blob), rc;
	uint64_t checksum;

	if (size < (int)sizeof(struct kc_snapshot_head) || (size_t)size > KC_SNAPSHOT_BYTES_MAX)
		return -EBADMSG;
	*bytes = kc__take(s, (size_t)size) ? NULL : room_for((size_t)size);
	if (!*bytes)
		return -ENOMEM;
	rc = kc__errno(s->db, read_pieces(blob, *bytes, size, &checksum));
	return rc ? rc : kc__snapshot_open(snapshot, *bytes, (size_t)size, checksum);
}

int kc_snapshot_load(struct kc_store *s, int64_t process, uint64_t checksum, struct kc_snapshot *snapshot, void **bytes)
{
	sqlite3_blob *blob = NULL;
	int rc = sqlite3_blob_open(s->db, "main", "learned", "snapshot", process, 0, &blob);

	*bytes = NULL;
	if (rc == SQLITE_ERROR) /* no such row, or no bytes in it */
		return 0;
	rc = rc == SQLITE_OK ? read_blob(s, blob, snapshot, bytes) : kc__errno(s->db, rc);
	sqlite3_blob_close(blob);
	if (*bytes && (rc || (checksum && checksum != snapshot->head->checksum))) {
		free(*bytes);
		*bytes = NULL;
	}
	return rc;
}

/* One that cannot be used is left alone. */
static int carry_one(struct kc_store *s, int64_t process, struct kc_snapshot_maker *maker)
{
	struct kc_snapshot snapshot;
	void *bytes;
	int rc = kc_snapshot_load(s, process, 0, &snapshot, &bytes);

	if (bytes)
		kc_snapshot_carry(maker, &snapshot, 0);
	free(bytes);
	return rc == -EBADMSG || rc == -ESTALE ? 0 : rc;
}

static int carry_others(struct kc_store *s, int64_t since, struct kc_snapshot_maker *maker)
{
	int64_t processes[KC_SNAPSHOTS_OF_A_PROGRAM];
	sqlite3_stmt *row = NULL;
	uint32_t count = 0;
	int rc = sqlite3_prepare_v2(s->db, others, -1, &row, NULL);

	sqlite3_bind_int64(row, 1, s->process);
	sqlite3_bind_int64(row, 2, since);
	sqlite3_bind_int(row, 3, KC_SNAPSHOTS_OF_A_PROGRAM);
	while (rc == SQLITE_OK && count < KC_SNAPSHOTS_OF_A_PROGRAM && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		processes[count++] = sqlite3_column_int64(row, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	rc = kc__errno(s->db, rc);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = carry_one(s, processes[i], maker);
	return rc;
}

#define BUSY_MS 2000 /* at the end of a program, which is not to wait for more */

/* What others write meanwhile waits, and carries this over: of ranks that end together, the one that writes last has
 * what all of them have learned, but for what launches took by what came before them. */
int kc_snapshot_store(struct kc_store *s, const struct kc_snapshot_carried *carried, struct kc_snapshot_maker *maker)
{
	void *bytes = NULL;
	size_t size;
	int rc;

	kc__enter();
	kc__held_lengthen(s);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	rc = kc__run(s, kc__statement(s, KC__BEGIN));
	sqlite3_busy_timeout(s->db, KC__BUSY_MS);
	if (rc == 0)
		rc = carry_others(s, carried->others_since, maker);
	if (rc == 0)
		rc = kc_snapshot_end(maker, carried->before, carried->cells, &bytes, &size);
	else
		kc_snapshot_drop(maker);
	if (rc == 0 && bytes)
		rc = store_row(s, bytes, size);
	if (rc == 0)
		rc = kc__run(s, kc__statement(s, KC__COMMIT));
	if (rc && !sqlite3_get_autocommit(s->db))
		kc__run(s, kc__statement(s, KC__ROLLBACK));
	free(bytes);
	kc__leave();
	return rc;
}
