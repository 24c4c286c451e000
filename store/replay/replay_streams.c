#include "replay_internal.h"
#include "store/common/growing.h"

#include <stdlib.h>
#include <string.h>

static struct kc_timeline *fresh_timeline(struct kc_timeline *tl, const struct kc_device *device)
{
	if (!tl)
		tl = calloc(1, kc_timeline_size());
	if (tl)
		kc_timeline_init(tl, device);
	return tl;
}

static int renew_answers(struct kc__used_device *device)
{
	free(device->answers);
	device->answers = calloc(1, kc_estimate_cache_bytes());
	return device->answers != NULL;
}

static struct kc__used_device *device_of(struct kc__used_devices *used, int64_t row)
{
	struct kc__used_device *device;

	for (uint32_t i = 0; i < used->count; i++) {
		if (used->at[i].row == row)
			return &used->at[i];
	}
	if (used->count == KC__USED_DEVICES_MAX)
		return NULL;
	device = &used->at[used->count];
	device->on = kc__knowledge_device(used->knowledge, row);
	if (!device->on)
		return NULL;
	device->timeline = fresh_timeline(device->timeline, &device->on->info);
	if (used->with_plain)
		device->plain = fresh_timeline(device->plain, &device->on->info);
	if (!device->timeline || (used->with_plain && !device->plain))
		return NULL;
	kc_history_init(&device->history, used->joined);
	if (used->answering && !renew_answers(device))
		return NULL;
	device->row = row;
	used->count++;
	return device;
}

static struct kc__replay_stream *add_stream(struct kc_store *store, struct kc__used_device *device,
					    const struct kc__stream_row *row)
{
	struct kc__replay_stream *stream;

	if (KC_ROOM(device->streams, device->stream_capacity, device->stream_count))
		return NULL;
	stream = kc__take(store, sizeof(*stream)) ? NULL : calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->device = device;
	stream->lane = row->lane ? row->lane - 1 : device->stream_count;
	stream->awaited.bound_ns = INT64_MIN;
	device->streams[device->stream_count++] = stream;
	kc_timeline_stream(device->timeline, stream->lane, row->kind, row->priority);
	if (device->plain)
		kc_timeline_stream(device->plain, stream->lane, row->kind, row->priority);
	return stream;
}

static struct kc__replay_stream *first_met(struct kc__used_devices *used, int64_t stream, int64_t device_row)
{
	struct kc__stream_row row;
	struct kc__used_device *device;

	if (kc__stream_load(used->loader, stream, &row))
		return NULL;
	device = device_of(used, row.device ? row.device : device_row);
	return device ? add_stream(used->loader->store, device, &row) : NULL;
}

/* NULL: no memory. */
static struct kc__replay_stream **slot_of(struct kc__used_devices *used, int64_t stream)
{
	uint32_t number = stream ? kc_ids_number(&used->stream_ids, stream) : 0;

	if (stream && !number)
		return NULL;
	if (KC_ROOM(used->streams, used->stream_capacity, number))
		return NULL;
	return &used->streams[number];
}

struct kc__replay_stream *kc__used_devices_stream(struct kc__used_devices *used, const struct kc__op *op,
						  int64_t device_row)
{
	struct kc__replay_stream **slot = slot_of(used, op->stream);

	if (slot && !*slot)
		*slot = first_met(used, op->stream, device_row);
	return slot ? *slot : NULL;
}

void kc__used_devices_leave(struct kc__used_devices *used)
{
	for (uint32_t i = 0; i < used->count; i++) {
		struct kc__used_device *device = &used->at[i];

		for (uint32_t k = 0; k < device->stream_count; k++)
			free(device->streams[k]);
		device->stream_count = 0;
		kc_spans_free(&device->spans); /* what was measured and never decided: its owners end, too */
	}
	used->count = 0;
	kc_ids_clear(&used->stream_ids);
	if (used->streams)
		memset(used->streams, 0, used->stream_capacity * sizeof(*used->streams));
}

void kc__used_devices_begin(struct kc__used_devices *used, int joined)
{
	kc__used_devices_leave(used);
	used->joined = joined;
}

void kc__used_devices_free(struct kc__used_devices *used)
{
	kc__used_devices_leave(used);
	for (uint32_t i = 0; i < KC__USED_DEVICES_MAX; i++) {
		free(used->at[i].timeline);
		free(used->at[i].plain);
		free(used->at[i].answers);
		free(used->at[i].streams);
	}
	kc_ids_free(&used->stream_ids);
	free(used->streams);
}
