/* Texts of the database that stay where they are while rows come and go: events are written by another thread than the
 * one that reads. */
#ifndef KC_CHROME_KEPT_H
#define KC_CHROME_KEPT_H

#include "store/common/ids/ids.h"
#include "store/common/ids/intern.h"
#include "store/database/store.h"

struct kc__chrome_texts { /* by number, from 1 */
	char **at;
	size_t count, capacity;
};

/* Names of streams. Starts as zeros. */
struct kc__chrome_streams {
	struct sqlite3_stmt *read;
	struct kc_ids ids; /* of rows */
	struct kc__chrome_texts names;
	int64_t latest; /* the row asked for last; 0: none */
	const char *latest_name;
};

/* "stream 3"; NULL in *name: it has none, or a damaged database names more streams than any program has. 0 or -errno.
 */
int kc__chrome_stream_of(struct kc__chrome_streams *streams, struct kc_store *store, int64_t row, const char **name);
void kc__chrome_streams_free(struct kc__chrome_streams *streams);

/* Kinds of transfers. Starts as zeros. */
struct kc__chrome_transfer_kinds {
	struct kc_intern numbers;
	struct kc__chrome_texts texts;
};

/* NULL: no memory. */
const char *kc__chrome_kind_of(struct kc__chrome_transfer_kinds *kinds, const char *kind);
void kc__chrome_kinds_free(struct kc__chrome_transfer_kinds *kinds);

#endif
