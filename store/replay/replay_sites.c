#include "replay_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_STREAMS 16u

static struct kc_timeline *fresh_timeline(struct kc_timeline *tl, const struct kc_device *device)
{
	if (!tl)
		tl = calloc(1, kc_timeline_size());
	if (tl)
		kc_timeline_init(tl, device);
	return tl;
}

static int renew_answers(struct kc__replay_site *site)
{
	free(site->answers);
	site->answers = calloc(1, kc_answers_bytes());
	return site->answers != NULL;
}

static struct kc__replay_site *site_of(struct kc__sites *sites, int64_t device)
{
	struct kc__replay_site *site;

	for (uint32_t i = 0; i < sites->count; i++) {
		if (sites->at[i].device == device)
			return &sites->at[i];
	}
	if (sites->count == KC__SITES_MAX)
		return NULL;
	site = &sites->at[sites->count];
	site->on = kc__subject_device(sites->subject, device);
	if (!site->on)
		return NULL;
	site->timeline = fresh_timeline(site->timeline, &site->on->info);
	site->plain = fresh_timeline(site->plain, &site->on->info);
	if (!site->timeline || !site->plain)
		return NULL;
	kc_history_init(&site->history, sites->joined);
	if (sites->answering && !renew_answers(site))
		return NULL;
	site->device = device;
	sites->count++;
	return site;
}

static struct kc__replay_stream *add_stream(struct kc__replay_site *site, const struct kc__stream_row *row)
{
	struct kc__replay_stream *stream;

	if (site->stream_count == site->stream_capacity) {
		uint32_t capacity = site->stream_capacity ? 2 * site->stream_capacity : 8;
		struct kc__replay_stream **grown = realloc(site->streams, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		site->streams = grown;
		site->stream_capacity = capacity;
	}
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->site = site;
	stream->lane = row->lane ? row->lane - 1 : site->stream_count;
	stream->awaited.bound_ns = INT64_MIN;
	site->streams[site->stream_count++] = stream;
	kc_timeline_stream(site->timeline, stream->lane, row->kind, row->priority);
	kc_timeline_stream(site->plain, stream->lane, row->kind, row->priority);
	return stream;
}

static struct kc__replay_stream *first_met(struct kc__sites *sites, int64_t stream, int64_t device)
{
	struct kc__stream_row row;
	struct kc__replay_site *site;

	if (kc__stream_load(sites->loader, stream, &row))
		return NULL;
	site = site_of(sites, row.device ? row.device : device);
	return site ? add_stream(site, &row) : NULL;
}

/* NULL: no memory. */
static struct kc__replay_stream **slot_of(struct kc__sites *sites, int64_t stream)
{
	uint32_t number = stream ? kc_ids_number(&sites->stream_ids, stream) : 0;

	if (stream && !number)
		return NULL;
	if (number >= sites->stream_capacity) {
		size_t capacity = 2 * (size_t)number + FIRST_STREAMS;
		struct kc__replay_stream **grown = realloc(sites->streams, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + sites->stream_capacity, 0, (capacity - sites->stream_capacity) * sizeof(*grown));
		sites->streams = grown;
		sites->stream_capacity = capacity;
	}
	return &sites->streams[number];
}

struct kc__replay_stream *kc__sites_stream(struct kc__sites *sites, const struct kc__op *op, int64_t device)
{
	struct kc__replay_stream **slot = slot_of(sites, op->stream);

	if (slot && !*slot)
		*slot = first_met(sites, op->stream, device);
	return slot ? *slot : NULL;
}

#define LANES_MAX 128u /* more than any timeline tells apart */

struct beginning {
	struct kc__sites *sites;
	uint8_t begun[KC__SITES_MAX][LANES_MAX];
};

static int begin_stream(int64_t row, void *arg)
{
	struct beginning *beginning = arg;
	const struct kc__op op = {.stream = row};
	struct kc__stream_row facts;
	struct kc__replay_site *site;

	if (kc__stream_load(beginning->sites->loader, row, &facts) || !facts.device || facts.lane > LANES_MAX)
		return 0;
	site = site_of(beginning->sites, facts.device);
	if (!site || beginning->begun[site - beginning->sites->at][facts.lane - 1]++)
		return 0;
	return kc__sites_stream(beginning->sites, &op, facts.device) ? 0 : -ENOMEM;
}

int kc__sites_recorded(struct kc__sites *sites, int64_t process)
{
	struct beginning beginning = {.sites = sites};

	return kc__streams_each(sites->loader, process, begin_stream, &beginning);
}

void kc__sites_leave(struct kc__sites *sites)
{
	for (uint32_t i = 0; i < sites->count; i++) {
		struct kc__replay_site *site = &sites->at[i];

		for (uint32_t k = 0; k < site->stream_count; k++)
			free(site->streams[k]);
		site->stream_count = 0;
	}
	sites->count = 0;
	kc_ids_clear(&sites->stream_ids);
	if (sites->streams)
		memset(sites->streams, 0, sites->stream_capacity * sizeof(*sites->streams));
}

void kc__sites_begin(struct kc__sites *sites, int joined)
{
	kc__sites_leave(sites);
	sites->joined = joined;
}

void kc__sites_free(struct kc__sites *sites)
{
	kc__sites_leave(sites);
	for (uint32_t i = 0; i < KC__SITES_MAX; i++) {
		free(sites->at[i].timeline);
		free(sites->at[i].plain);
		free(sites->at[i].answers);
		free(sites->at[i].streams);
		kc_spans_free(&sites->at[i].spans);
	}
	kc_ids_free(&sites->stream_ids);
	free(sites->streams);
}
