#include "chrome_kept.h"
#include "tools/report/export.h"

#include "store/query/names.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 65536u /* far more than programs have */

/* Keeps a copy of the text, which may be NULL, as the last one. 0 or -ENOMEM. */
static int keep(struct kc__chrome_texts *texts, const char *text)
{
	size_t capacity = texts->capacity ? 2 * texts->capacity : 16;
	char **at = texts->at;

	if (texts->count == texts->capacity) {
		at = reallocarray(at, capacity, sizeof(*at));
		if (!at)
			return -ENOMEM;
		texts->at = at;
		texts->capacity = capacity;
	}
	at[texts->count] = text ? strdup(text) : NULL;
	if (text && !at[texts->count])
		return -ENOMEM;
	texts->count++;
	return 0;
}

static void texts_free(struct kc__chrome_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->at[i]);
	free(texts->at);
}

static int add_stream(struct kc__chrome_streams *streams, struct kc_store *store, int64_t row)
{
	int rc = SQLITE_OK, kept;

	if (!streams->read)
		rc = sqlite3_prepare_v2(kc_store_db(store), kc__stream_name_sql(KC_STREAM_OF_PROCESS), -1,
					&streams->read, NULL);
	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	sqlite3_bind_int64(streams->read, 1, row);
	rc = sqlite3_step(streams->read);
	kept = keep(&streams->names, rc == SQLITE_ROW ? (const char *)sqlite3_column_text(streams->read, 0) : NULL);
	sqlite3_reset(streams->read);
	return kept;
}

int kc__chrome_stream_of(struct kc__chrome_streams *streams, struct kc_store *store, int64_t row, const char **name)
{
	uint32_t number;
	int rc;

	if (row != streams->latest || !row) {
		number =
		    streams->ids.count < STREAMS ? kc_ids_number(&streams->ids, row) : kc_ids_find(&streams->ids, row);
		if (!number && streams->ids.count < STREAMS)
			return -ENOMEM;
		rc = number > streams->names.count ? add_stream(streams, store, row) : 0;
		if (rc)
			return rc;
		streams->latest = row;
		streams->latest_name = number ? streams->names.at[number - 1] : NULL;
	}
	*name = streams->latest_name;
	return 0;
}

void kc__chrome_streams_free(struct kc__chrome_streams *streams)
{
	sqlite3_finalize(streams->read);
	kc_ids_free(&streams->ids);
	texts_free(&streams->names);
}

const char *kc__chrome_kind_of(struct kc__chrome_transfer_kinds *kinds, const char *kind)
{
	uint32_t number = kc_intern(&kinds->numbers, 0, kind, strlen(kind));

	if (!number || (number > kinds->texts.count && keep(&kinds->texts, kind)))
		return NULL;
	return kinds->texts.at[number - 1];
}

void kc__chrome_kinds_free(struct kc__chrome_transfer_kinds *kinds)
{
	kc_intern_free(&kinds->numbers);
	texts_free(&kinds->texts);
}
