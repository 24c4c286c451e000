#include "past_texts.h"
#include "store/common/growing.h"
#include "store/database/internal.h"

#include "predictor/code/stored/packed_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX 1024u

enum { MANGLED, CODE_HASH, ARCHITECTURE, BYTES, TEXT };
static const char texts_of_process[] =
    "SELECT k.mangled, k.code_hash, t.architecture, t.bytes, t.text FROM process_kernel p"
    " JOIN kernel_text t ON t.kernel = p.kernel JOIN kernel k ON k.id = p.kernel"
    " WHERE p.process = ?1 AND k.code_hash <> 0 AND length(t.text) <= ?2";

const struct kc_past_text *kc__past_texts_find(const struct kc__past_texts *texts, const char *mangled,
					       uint64_t code_hash, uint32_t architecture)
{
	for (size_t i = 0; i < texts->count; i++) {
		const struct kc_past_text *text = &texts->at[i];

		if (text->code_hash == code_hash && text->architecture == architecture &&
		    !strcmp(text->mangled, mangled))
			return text;
	}
	return NULL;
}

/* The text and, behind it, the name. */
static void *copy(struct kc_store *s, const void *packed, size_t bytes, const char *mangled)
{
	size_t name_bytes = strlen(mangled) + 1;
	char *both = kc__take(s, bytes + name_bytes) ? NULL : malloc(bytes + name_bytes);

	if (!both)
		return NULL;
	memcpy(both, packed, bytes);
	memcpy(both + bytes, mangled, name_bytes);
	return both;
}

static int add(struct kc_store *s, struct kc__past_texts *texts, sqlite3_stmt *row)
{
	const char *mangled = (const char *)sqlite3_column_text(row, MANGLED);
	uint64_t hash = (uint64_t)sqlite3_column_int64(row, CODE_HASH);
	int64_t architecture = sqlite3_column_int64(row, ARCHITECTURE), bytes = sqlite3_column_int64(row, BYTES);
	const void *packed = sqlite3_column_blob(row, TEXT);
	size_t packed_bytes = (size_t)sqlite3_column_bytes(row, TEXT);
	void *kept;

	if (!mangled || !packed || bytes <= 0 || bytes > (int64_t)KC_TEXT_BYTES || architecture <= 0 ||
	    architecture > UINT32_MAX || packed_bytes > KC_PACKED_TEXT_BYTES || texts->count == TEXTS_MAX ||
	    texts->bytes + packed_bytes > KC_PAST_TEXTS_BYTES ||
	    kc__past_texts_find(texts, mangled, hash, (uint32_t)architecture))
		return 0;
	if (KC_ROOM(texts->at, texts->capacity, texts->count) || !(kept = copy(s, packed, packed_bytes, mangled)))
		return -ENOMEM;
	texts->bytes += packed_bytes;
	texts->at[texts->count++] = (struct kc_past_text){
	    .mangled = (char *)kept + packed_bytes,
	    .code_hash = hash,
	    .architecture = (uint32_t)architecture,
	    .bytes = (uint32_t)bytes,
	    .packed_bytes = (uint32_t)packed_bytes,
	    .packed = kept,
	};
	return 0;
}

int kc__past_texts_add(struct kc_store *s, int64_t process, struct kc__past_texts *texts)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, texts_of_process, -1, &row, NULL), added = 0;

	sqlite3_bind_int64(row, 1, process);
	sqlite3_bind_int64(row, 2, (int64_t)KC_PACKED_TEXT_BYTES);
	while (rc == SQLITE_OK && !added) {
		int step = sqlite3_step(row);

		if (step != SQLITE_ROW) {
			rc = step;
			break;
		}
		added = add(s, texts, row);
	}
	sqlite3_finalize(row);
	return added ? added : kc__errno(s->db, rc);
}

void kc__past_texts_free(struct kc__past_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free((void *)texts->at[i].packed);
	free(texts->at);
	*texts = (struct kc__past_texts){0};
}
