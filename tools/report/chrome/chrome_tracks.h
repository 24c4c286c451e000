/*
 * The tracks of one process at a time: of each stream one of predictions and one of measured times, of each thread one
 * of its calls.
 *
 * On a track, slices follow one another. Predictions made at different times may cross, and so may kernels of one
 * stream: what would cross goes to a further lane. Lanes are threads of the format, numbered through the whole trace.
 * What finds no lane, because very much runs at once, has to become an asynchronous slice.
 */
#ifndef KC_CHROME_TRACKS_H
#define KC_CHROME_TRACKS_H

#include "chrome_text.h"

enum kc__track_kind { KC__TRACK_PREDICTED, KC__TRACK_MEASURED, KC__TRACK_CALLS, KC__TRACK_KINDS };

#define KC__LANES 32u

struct kc__lane {
	int64_t tid, end_ns;
};

struct kc__track_key {
	enum kc__track_kind kind;
	int64_t id; /* row of the stream, or Linux thread; 0: not known */
};

struct kc__track {
	struct kc__track_key key; /* first: what the tree compares */
	const char *stream_name;  /* NULL: it has none */
	unsigned ordinal;         /* in its process */
	unsigned lane_count;
	struct kc__lane lanes[KC__LANES];
	int64_t graph_launch, graph_start_ns, graph_tid; /* of calls: the last launch of a graph; 0: none */
};

struct kc__tracks {
	struct kc__chrome_out *out;
	int64_t process;
	void *tree;                                /* of struct kc__track (tsearch) */
	struct kc__track *latest[KC__TRACK_KINDS]; /* the one found last; NULL: none */
	unsigned count;
	int64_t next_tid;
};

/* Begins a process, and leaves the one before. */
void kc__tracks_of(struct kc__tracks *tracks, int64_t process);
/* stream_name: of a stream's, NULL: it has none; it stays. 0; -ENOMEM. *out NULL: the process has too many tracks
 * already.
 */
int kc__track_find(struct kc__tracks *tracks, enum kc__track_kind kind, int64_t id, const char *stream_name,
		   struct kc__track **out);
/* The tid of a lane that is free at this time, named where it is new, and taken until end_ns; -1: there is none. track
 * may be NULL. */
int64_t kc__track_take(struct kc__tracks *tracks, struct kc__track *track, int64_t start_ns, int64_t end_ns);
/* "predicted", "measured" */
const char *kc__track_kind_name(enum kc__track_kind kind);
void kc__tracks_free(struct kc__tracks *tracks);

#endif
