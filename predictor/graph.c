#include "graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One variant among the kernels. */
struct kind {
	struct kc_engine_variant *variant; /* NULL: free */
	struct kc_prediction_request request;
	struct kc_repeated repeated;
	struct kc_outstanding outstanding; /* in this launch alone */
	int64_t span_ns;                   /* of all its kernels */
};

struct kinds { /* open addressing */
	struct kind *at;
	size_t mask, count;
};

struct kc_graph_room {
	struct kc_history history;
	_Alignas(64) char rest[]; /* the estimates, then the timeline */
};

static size_t estimates_bytes(void)
{
	return (kc_estimate_cache_bytes() + 63) & ~(size_t)63;
}

size_t kc_graph_room_bytes(void)
{
	return sizeof(struct kc_graph_room) + estimates_bytes() + kc_timeline_size();
}

static size_t place_of(const struct kinds *kinds, const struct kc_engine_variant *variant)
{
	size_t place = (size_t)((uint64_t)(uintptr_t)variant * UINT64_C(0x9e3779b97f4a7c15) >> 32) & kinds->mask;

	while (kinds->at[place].variant && kinds->at[place].variant != variant)
		place = (place + 1) & kinds->mask;
	return place;
}

static int grow(struct kinds *kinds)
{
	struct kinds bigger = {.mask = 4 * kinds->mask + 3, .count = kinds->count};

	bigger.at = calloc(bigger.mask + 1, sizeof(*bigger.at));
	if (!bigger.at)
		return -ENOMEM;
	for (size_t i = 0; kinds->at && i <= kinds->mask; i++)
		if (kinds->at[i].variant)
			bigger.at[place_of(&bigger, kinds->at[i].variant)] = kinds->at[i];
	free(kinds->at);
	*kinds = bigger;
	return 0;
}

/* NULL: no memory */
static struct kind *kind_of(struct kinds *kinds, struct kc_engine *engine, struct kc_estimate_cache *estimates,
			    struct kc_engine_variant *variant)
{
	struct kind *kind;

	if (2 * kinds->count >= kinds->mask && grow(kinds))
		return NULL;
	kind = &kinds->at[place_of(kinds, variant)];
	if (!kind->variant) {
		kind->variant = variant;
		kinds->count++;
		kc_engine_ask(engine, variant, estimates, &kind->request);
	}
	/* These are set again, as the table may have been moved. */
	kind->request.repeated = &kind->repeated;
	kind->request.outstanding = &kind->outstanding;
	return kind;
}

static void keep(const struct kc_prediction_request *request, const struct kc_prediction *p,
		 const struct kc_engine_launch *kept, struct kc_graph_prediction *out)
{
	const struct kc_placement *placement = &p->placement;

	*out = (struct kc_graph_prediction){
	    .start_ns = placement->start_ns,
	    .span_ns = placement->end_ns - placement->start_ns,
	    .solo_ns = p->solo_ns,
	    .solo_low_ns = p->solo_low_ns,
	    .solo_high_ns = p->solo_high_ns,
	    .context = kept->context,
	    .meeting = kept->meeting,
	    .slowdown = placement->slowdown,
	    .slowdown_waves = placement->slowdown_waves,
	    .contended = kept->contended,
	    .state = request->solo.state,
	    .model = (uint8_t)p->model,
	    .concurrency_case = (uint8_t)placement->concurrency_case,
	    .novelty = (uint8_t)request->novelty,
	};
}

/* The graph was launched before: what comes before its first kernels are its last ones. */
static void follow_itself(struct kc_history *history, const struct kc_graph_whole *whole)
{
	kc_history_init(history, 0);
	for (uint32_t i = 0; whole->last_count && i < KC_HISTORY_LAUNCHES; i++) {
		uint32_t back = (KC_HISTORY_LAUNCHES - 1 - i) % whole->last_count;

		kc_history_add(history, whole->last[whole->last_count - 1 - back], 0, 0);
	}
}

static void find_last(struct kc_engine_variant *const *variants, size_t count, struct kc_graph_whole *whole)
{
	uint32_t left = KC_HISTORY_LAUNCHES;

	for (size_t i = count; i-- && left;)
		if (variants[i])
			whole->last[--left] = variants[i]->name.launch;
	whole->last_count = KC_HISTORY_LAUNCHES - left;
	memmove(whole->last, whole->last + left, whole->last_count * sizeof(*whole->last));
}

static void add_load(struct kc_graph_whole *whole, const struct kind *kind, const struct kc_graph_prediction *p)
{
	struct kc_load load = kc_outlook_load(&kind->request.launch, p->solo_ns);

	for (int i = 0; i < KC_LOAD_TERMS; i++)
		whole->load.of[i] += load.of[i] * (float)p->span_ns;
}

/* Times from the start of the first one. Of those that take as long, the first takes most. */
static void sum_up(const struct kinds *kinds, struct kc_engine_variant *const *variants, size_t count,
		   struct kc_graph_prediction *predictions, struct kc_graph_whole *whole)
{
	int64_t first_ns = 0, most_ns = -1;

	for (size_t i = 0; i < count; i++) {
		const struct kind *kind = variants[i] ? &kinds->at[place_of(kinds, variants[i])] : NULL;

		if (!kind)
			continue;
		if (most_ns < 0)
			first_ns = predictions[i].start_ns;
		predictions[i].start_ns -= first_ns;
		whole->span_ns = predictions[i].start_ns + predictions[i].span_ns;
		whole->identity = kind->request.launch.identity;
		whole->in_stream = kind->request.launch.in_stream;
		if (kind->span_ns > most_ns) {
			most_ns = kind->span_ns;
			whole->work = kind->request.launch.work;
		}
	}
	for (int i = 0; i < KC_LOAD_TERMS; i++)
		whole->load.of[i] = whole->span_ns > 0 ? whole->load.of[i] / (float)whole->span_ns : 0;
}

int kc_graph_predict(struct kc_engine *engine, struct kc_engine_variant *const *variants, uint32_t count,
		     struct kc_graph_room *room, struct kc_graph_prediction *predictions, uint32_t *firsts,
		     struct kc_graph_whole *whole)
{
	struct kc_estimate_cache *estimates = (void *)room->rest;
	struct kc_timeline *timeline = (void *)(room->rest + estimates_bytes());
	const struct kc_engine_stage stage = {timeline, &room->history, estimates};
	struct kinds kinds = {0};
	int rc = 0;

	*whole = (struct kc_graph_whole){0};
	find_last(variants, count, whole);
	follow_itself(&room->history, whole);
	memset(predictions, 0, count * sizeof(*predictions));
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		size_t different = kinds.count;
		struct kind *kind = variants[i] ? kind_of(&kinds, engine, estimates, variants[i]) : NULL;
		struct kc_engine_launch kept;
		struct kc_prediction p;

		if (!kind) {
			rc = variants[i] ? -ENOMEM : 0;
			continue;
		}
		if (!different)
			kc_timeline_init(timeline, variants[i]->kernel->device->info);
		if (kinds.count > different && firsts)
			firsts[different] = i;
		kc_engine_predict(&kind->request, &stage, 0, 0, &p, &kept);
		keep(&kind->request, &p, &kept, &predictions[i]);
		kind->span_ns += predictions[i].span_ns;
		add_load(whole, kind, &predictions[i]);
	}
	if (rc == 0)
		sum_up(&kinds, variants, count, predictions, whole);
	free(kinds.at);
	return rc ? rc : (int)kinds.count;
}

void kc_graph_place(const struct kc_graph_whole *whole, const struct kc_engine_stage *stage, uint32_t stream,
		    int64_t now_ns, struct kc_placement *placement)
{
	const struct kc_demand demand = {
	    .work = whole->work, .solo_ns = whole->span_ns, .load = whole->load, .identity = whole->identity};

	if (!whole->work)
		return;
	if (whole->in_stream)
		kc_timeline_occupy(stage->timeline, stream, now_ns, whole->span_ns, placement);
	else
		kc_timeline_launch(stage->timeline, stream, now_ns, &demand, placement);
	for (uint32_t i = 0; i < whole->last_count; i++)
		kc_history_add(stage->history, whole->last[i], stream, placement->end_ns);
}
