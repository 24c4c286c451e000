#include "past.h"

#include "past_texts.h"
#include "snapshot.h"
#include "snapshot_row.h"
#include "store/database/internal.h"

#include "store/common/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAPPED_BYTES (1u << 30) /* of the file; what is behind it is read */
#define TEXTS_PROCESSES_MAX 4u  /* whose kernels are looked up for a text */

struct kc_past {
	struct kc_past_entry began_with;
	struct kc_snapshot snapshot; /* head NULL: there is none */
	void *bytes;
	struct kc__past_texts texts;
};

static void explain(int rc, const struct kc_past_options *options, char *why, size_t why_size)
{
	if (rc == -ETIME)
		snprintf(why, why_size, "reading it takes too long");
	else if (rc == -ENOMEM)
		snprintf(why, why_size, "it needs more memory than %zu KiB", options->bound.bytes >> 10);
	else if (rc == -EFBIG)
		snprintf(why, why_size, "it has a row longer than any of kerncast's");
	else if (rc == -EBUSY)
		snprintf(why, why_size, "it is locked by another process");
	else if (rc == -ESTALE)
		snprintf(why, why_size, "another build of kerncast learned it, in which other things are learned");
	else if (rc == -EBADMSG)
		snprintf(why, why_size, "what the newest run has learned is damaged");
	else
		snprintf(why, why_size, "%s", strerror(-rc));
}

static int take_snapshot(struct kc_store *s, int64_t process, uint64_t checksum, struct kc_past *past)
{
	int rc = kc_snapshot_load(s, process, checksum, &past->snapshot, &past->bytes);

	if (past->bytes)
		past->began_with = (struct kc_past_entry){.source = process, .checksum = past->snapshot.head->checksum};
	else
		past->snapshot.head = NULL;
	return rc;
}

/* A snapshot may lie in two thousand pages: to ask for each takes longer than all else that is done with them. Not
 * where a server's page may be gone, nor where addresses are limited: the program may need those. */
static int map_file(struct kc_store *s)
{
	struct rlimit addresses;

	if (kc_is_remote(s->path) || getrlimit(RLIMIT_AS, &addresses) || addresses.rlim_cur != RLIM_INFINITY)
		return 0;
	return kc__execute(s, "PRAGMA mmap_size = %u", MAPPED_BYTES);
}

static int load_newest(struct kc_store *s, const char *executable, struct kc_past *past)
{
	int64_t process;
	int rc = kc_snapshot_newest(s, executable, &process);

	return rc || !process ? rc : take_snapshot(s, process, 0, past);
}

/* Of the newest processes first. What is not read is not known: the program's own code is looked at then. */
static int load_texts(struct kc_store *s, const char *executable, struct kc_past *past)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db,
				    "SELECT id FROM process WHERE executable = ?1 AND source IS NULL"
				    " ORDER BY id DESC LIMIT ?2",
				    -1, &row, NULL);
	int more = 0;

	sqlite3_bind_text(row, 1, executable, -1, SQLITE_STATIC);
	sqlite3_bind_int(row, 2, TEXTS_PROCESSES_MAX);
	while (rc == SQLITE_OK && !more && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		more = kc__past_texts_add(s, sqlite3_column_int64(row, 0), &past->texts);
	}
	sqlite3_finalize(row);
	return kc__errno(s->db, rc);
}

static int load(struct kc_store *s, const struct kc_past_options *options, struct kc_past *past)
{
	int known = map_file(s), rc;

	if (known == 0)
		known = load_newest(s, options->executable, past);
	rc = known;
	if (known == -ESTALE || known == -EBADMSG) /* the texts do not rest on it */
		rc = 0;
	if (rc == 0)
		rc = load_texts(s, options->executable, past);
	if (rc == 0)
		rc = kc__within(s);
	if (rc)
		return rc;
	return known || past->snapshot.head || past->texts.count ? known : -ENODATA;
}

int kc_past_load(const char *path, const struct kc_past_options *options, struct kc_past **out, char *why,
		 size_t why_size)
{
	struct kc_past *past = calloc(1, sizeof(*past));
	struct kc_store *s = NULL;
	int rc = past ? kc_store_peek(path, &options->bound, &s, why, why_size) : -ENOMEM;

	*out = NULL;
	if (s) {
		rc = load(s, options, past);
		kc_store_close(s);
		if (rc && why)
			explain(rc, options, why, why_size);
	}
	if (rc == 0 || ((rc == -ESTALE || rc == -EBADMSG) && past->texts.count))
		*out = past;
	else
		kc_past_free(past);
	return rc == -ENOENT ? -ENODATA : rc;
}

int kc_past_of(struct kc_store *s, const struct kc_past_entry *began_with, struct kc_past **out)
{
	struct kc_past *past = calloc(1, sizeof(*past));
	int rc = past ? take_snapshot(s, began_with->source, began_with->checksum, past) : -ENOMEM;

	*out = NULL;
	if (rc == 0 && past->snapshot.head)
		*out = past;
	else
		kc_past_free(past);
	return rc == -ESTALE || rc == -EBADMSG ? 0 : rc;
}

int kc_past_of_snapshot(void *bytes, size_t size, struct kc_past **out)
{
	struct kc_past *past = calloc(1, sizeof(*past));
	int rc = -ENOMEM;

	*out = NULL;
	if (past) {
		past->bytes = bytes;
		rc = kc_snapshot_open(&past->snapshot, bytes, size);
	}
	if (rc)
		kc_past_free(past);
	else
		*out = past;
	return rc;
}

void kc_past_free(struct kc_past *past)
{
	if (!past)
		return;
	kc__past_texts_free(&past->texts);
	free(past->bytes);
	free(past);
}

const struct kc_snapshot *kc_past_snapshot(const struct kc_past *past)
{
	return past && past->snapshot.head ? &past->snapshot : NULL;
}

int kc_past_began_with(const struct kc_past *past, struct kc_past_entry *began_with)
{
	if (!kc_past_snapshot(past))
		return 0;
	*began_with = past->began_with;
	return 1;
}

const struct kc_past_text *kc_past_text(const struct kc_past *past, const char *mangled, uint64_t code_hash,
					uint32_t architecture)
{
	return past ? kc__past_texts_find(&past->texts, mangled, code_hash, architecture) : NULL;
}
