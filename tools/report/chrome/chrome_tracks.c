#include "chrome_tracks.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <sqlite3.h>
#include <stdlib.h>

/* Far more than programs have streams and threads, and 32 MiB: a damaged database may name any number. */
#define TRACKS 65536u
#define KINDS 3u

const char *kc__track_kind_name(enum kc__track_kind kind)
{
	static const char *const names[KINDS] = {"predicted", "measured", "calls"};

	return names[kind];
}

static int compare_tracks(const void *a, const void *b)
{
	const struct kc__track *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

void kc__tracks_of(struct kc__tracks *tracks, int64_t process)
{
	tdestroy(tracks->tree, free);
	tracks->tree = NULL;
	tracks->count = 0;
	tracks->process = process;
}

void kc__tracks_free(struct kc__tracks *tracks)
{
	kc__tracks_of(tracks, 0);
	sqlite3_finalize(tracks->stream_name);
}

static unsigned ordinal_of(struct kc__tracks *tracks, const struct kc__track *track)
{
	struct kc__track other = *track;
	struct kc__track **found;

	/* The two tracks of a stream stand beside each other. */
	other.kind = track->kind == KC__TRACK_PREDICTED ? KC__TRACK_MEASURED : KC__TRACK_PREDICTED;
	found = track->kind == KC__TRACK_CALLS ? NULL : tfind(&other, &tracks->tree, compare_tracks);
	return found ? (*found)->ordinal : tracks->count;
}

int kc__track_find(struct kc__tracks *tracks, enum kc__track_kind kind, int64_t id, struct kc__track **out)
{
	struct kc__track wanted = {.kind = kind, .id = id};
	struct kc__track **found = tfind(&wanted, &tracks->tree, compare_tracks);

	*out = found ? *found : NULL;
	if (found || tracks->count >= TRACKS)
		return 0;
	wanted.ordinal = ordinal_of(tracks, &wanted);
	*out = malloc(sizeof(**out));
	if (!*out)
		return -ENOMEM;
	**out = wanted;
	if (!tsearch(*out, &tracks->tree, compare_tracks)) {
		free(*out);
		return -ENOMEM;
	}
	tracks->count++;
	return 0;
}

static void put_name(struct kc__tracks *tracks, int64_t tid, const char *name)
{
	struct kc__chrome_text *text = &tracks->out->text;

	kc__chrome_begin(tracks->out, "M", tracks->process, tid);
	kc__chrome_put(text, ",\"name\":\"thread_name\",\"args\":{\"name\":");
	kc__chrome_put_string(text, name);
	kc__chrome_put(text, "}}");
}

/* Calls come first, then each stream's predictions and measured times. */
static void put_place(struct kc__tracks *tracks, const struct kc__track *track, unsigned lane, int64_t tid)
{
	struct kc__chrome_text *text = &tracks->out->text;
	int64_t place =
	    track->kind == KC__TRACK_CALLS ? -1 : ((int64_t)track->ordinal * KINDS + track->kind) * KC__LANES + lane;

	kc__chrome_begin(tracks->out, "M", tracks->process, tid);
	kc__chrome_put(text, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":");
	kc__chrome_put_integer(text, place);
	kc__chrome_put(text, "}}");
}

static void stream_name(struct kc__tracks *tracks, int64_t stream, char *name, size_t size)
{
	sqlite3_stmt *row = tracks->stream_name;

	const char *called;

	sqlite3_bind_int64(row, 1, stream);
	called = sqlite3_step(row) == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
	snprintf(name, size, "%s%s", called ? called : "stream ?",
		 called && !strcmp(called, "default") ? " stream" : "");
	sqlite3_reset(row);
}

/* "stream 3 predicted", "default stream measured (2)", "calls of thread 4711" */
static void name_lane(struct kc__tracks *tracks, const struct kc__track *track, unsigned lane)
{
	char of[96], name[160], number[16] = "";
	int64_t tid = track->lanes[lane].tid;

	if (lane > 0)
		snprintf(number, sizeof(number), " (%u)", lane + 1);
	if (track->kind != KC__TRACK_CALLS) {
		stream_name(tracks, track->id, of, sizeof(of));
		snprintf(name, sizeof(name), "%s %s%s", of, kc__track_kind_name(track->kind), number);
	} else if (track->id) {
		snprintf(name, sizeof(name), "calls of thread %" PRId64 "%s", track->id, number);
	} else {
		snprintf(name, sizeof(name), "calls%s", number);
	}
	put_name(tracks, tid, name);
	put_place(tracks, track, lane, tid);
}

int64_t kc__track_take(struct kc__tracks *tracks, struct kc__track *track, int64_t start_ns, int64_t end_ns)
{
	unsigned lane = 0;

	if (!track)
		return -1;
	while (lane < track->lane_count && track->lanes[lane].end_ns > start_ns)
		lane++;
	if (lane == KC__LANES)
		return -1;
	if (lane == track->lane_count) {
		track->lanes[lane].tid = ++tracks->next_tid;
		track->lane_count++;
		name_lane(tracks, track, lane);
	}
	track->lanes[lane].end_ns = end_ns;
	return track->lanes[lane].tid;
}
