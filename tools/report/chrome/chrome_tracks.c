#include "chrome_tracks.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>

/* Far more than programs have streams and threads, and 32 MiB: a damaged database may name any number. */
#define TRACKS 65536u

const char *kc__track_kind_name(enum kc__track_kind kind)
{
	static const char *const names[KC__TRACK_KINDS] = {"predicted", "measured", "calls"};

	return names[kind];
}

KC_ORDER(compare_tracks, struct kc__track_key, KC_UP(kind) ?: KC_UP(id))

void kc__tracks_of(struct kc__tracks *tracks, int64_t process)
{
	tdestroy(tracks->tree, free);
	tracks->tree = NULL;
	memset(tracks->latest, 0, sizeof(tracks->latest));
	tracks->count = 0;
	tracks->process = process;
}

void kc__tracks_free(struct kc__tracks *tracks)
{
	kc__tracks_of(tracks, 0);
}

/* NULL: there is none. */
static struct kc__track *look_up(const struct kc__tracks *tracks, enum kc__track_kind kind, int64_t id)
{
	const struct kc__track_key key = {kind, id};
	struct kc__track **found = tfind(&key, &tracks->tree, compare_tracks);

	return found ? *found : NULL;
}

static unsigned ordinal_of(const struct kc__tracks *tracks, enum kc__track_kind kind, int64_t id)
{
	const struct kc__track *other = NULL;

	/* The two tracks of a stream stand beside each other. */
	if (kind != KC__TRACK_CALLS)
		other = look_up(tracks, kind == KC__TRACK_PREDICTED ? KC__TRACK_MEASURED : KC__TRACK_PREDICTED, id);
	return other ? other->ordinal : tracks->count;
}

static struct kc__track *add(struct kc__tracks *tracks, enum kc__track_kind kind, int64_t id, const char *stream_name)
{
	struct kc__track *track = calloc(1, sizeof(*track));

	if (!track)
		return NULL;
	track->key = (struct kc__track_key){kind, id};
	track->stream_name = stream_name;
	track->ordinal = ordinal_of(tracks, kind, id);
	if (!tsearch(track, &tracks->tree, compare_tracks)) {
		free(track);
		return NULL;
	}
	tracks->count++;
	return track;
}

int kc__track_find(struct kc__tracks *tracks, enum kc__track_kind kind, int64_t id, const char *stream_name,
		   struct kc__track **out)
{
	*out = tracks->latest[kind];
	if (*out && (*out)->key.id == id)
		return 0;
	*out = look_up(tracks, kind, id);
	if (!*out && tracks->count < TRACKS) {
		*out = add(tracks, kind, id, stream_name);
		if (!*out)
			return -ENOMEM;
	}
	tracks->latest[kind] = *out;
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
	int64_t place = track->key.kind == KC__TRACK_CALLS
			    ? -1
			    : ((int64_t)track->ordinal * KC__TRACK_KINDS + track->key.kind) * KC__LANES + lane;

	kc__chrome_begin(tracks->out, "M", tracks->process, tid);
	kc__chrome_put(text, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":");
	kc__chrome_put_integer(text, place);
	kc__chrome_put(text, "}}");
}

/* "stream 3 predicted", "default stream measured (2)", "calls of thread 4711" */
static void name_lane(struct kc__tracks *tracks, const struct kc__track *track, unsigned lane)
{
	const char *of = track->stream_name ? track->stream_name : "stream ?";
	char name[160], number[16] = "";
	int64_t tid = track->lanes[lane].tid;

	if (lane > 0)
		snprintf(number, sizeof(number), " (%u)", lane + 1);
	if (track->key.kind != KC__TRACK_CALLS) {
		snprintf(name, sizeof(name), "%.95s%s %s%s", of, !strcmp(of, "default") ? " stream" : "",
			 kc__track_kind_name(track->key.kind), number);
	} else if (track->key.id) {
		snprintf(name, sizeof(name), "calls of thread %" PRId64 "%s", track->key.id, number);
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
