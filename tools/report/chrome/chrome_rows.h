/*
 * Launches and transfers as they are drawn: rows of the database in the order of their ids (process, then sequence),
 * and for imported launches what the replay predicted.
 */
#ifndef KC_CHROME_ROWS_H
#define KC_CHROME_ROWS_H

#include "chrome_kept.h"
#include "chrome_replay.h"
#include "chrome_shapes.h"
#include "chrome_text.h"

#include "store/query/filter.h"

#define KC__CHROME_KINDS 2 /* predicted, measured: the first of enum kc__track_kind */

struct kc__chrome_known {
	int64_t value;
	int is_known; /* 0: it is NULL or, in a damaged row, no number */
};

/* A launch or a transfer. What it points to stays until the sources are closed. */
struct kc__chrome_op {
	int64_t process, sequence, stream, device;
	int64_t device_sms, blocks; /* 0: not known */
	const char *stream_name;    /* NULL: it has none */
	const char *name;           /* of a launch: a JSON string */
	const char *kind;           /* of a transfer; NULL: it is a launch */
	const char *category;
	const char *sizes;                                             /* of a launch: kc__chrome_shape */
	int64_t flags;                                                 /* of a launch */
	struct kc__chrome_known slowdown, solo_ns, below_ns, above_ns; /* of a launch with a recorded prediction */
	struct kc__chrome_known bytes;                                 /* of a transfer */
	int64_t start_ns[KC__CHROME_KINDS], end_ns[KC__CHROME_KINDS];  /* end 0: has none */
	const char *call; /* of the driver; NULL: it is not known when it was made */
	int64_t called_ns, launched_ns, thread, graph_launch;
	double error_percent; /* NAN: not predicted or not measured */
	double ratio;         /* predicted over measured duration; NAN likewise */
	struct kc_filter_launch launch;
	const struct kc__replayed_launch *replayed; /* NULL: what the row says holds */
};

#define KC__CHROME_SOURCES 2u

struct kc__chrome_source { /* launches or transfers */
	const char *sql;
	/* 0 or -errno. */
	int (*read)(struct kc__chrome_source *source, struct kc__replayed *replayed, struct kc__chrome_op *op);
	struct kc_store *store;
	struct kc__chrome_shapes shapes;
	struct kc__chrome_transfer_kinds kinds;
	struct kc__chrome_streams streams;
	struct sqlite3_stmt *row;
	int rc; /* SQLITE_ROW while there is a row */
};

/* 0 or -errno; to be closed in either case. */
int kc__chrome_sources_open(struct kc__chrome_source sources[KC__CHROME_SOURCES], struct kc_store *store,
			    const struct kc_selection *selection);
/* The source whose row comes first; NULL at the end of both. */
struct kc__chrome_source *kc__chrome_sources_next(struct kc__chrome_source sources[KC__CHROME_SOURCES]);
/* 0: both were read to their end; -errno. */
int kc__chrome_sources_error(const struct kc__chrome_source sources[KC__CHROME_SOURCES]);
void kc__chrome_sources_close(struct kc__chrome_source sources[KC__CHROME_SOURCES]);

/* The arguments of its slices, a JSON object. */
void kc__chrome_put_args(struct kc__chrome_text *text, const struct kc__chrome_op *op);
/* The format's name for the colour of what was mispredicted; NULL: it was not. */
const char *kc__chrome_colour(const struct kc__chrome_op *op);

int64_t kc__chrome_integer(struct sqlite3_stmt *row, int i);
const char *kc__chrome_string(struct sqlite3_stmt *row, int i);

#endif
