/*
 * The records of one launch of a graph. Its kernels are predicted in batches: for each batch the clock is read once,
 * and the device's lock is taken once. A graph launches the same variants again and again, so a variant's solo time and
 * what else a prediction needs of it are worked out once, and used until an event is taken in; the same holds for its
 * place on the timeline while nothing else is in flight. Nodes and records are prefetched, as those of 10,000 nodes are
 * not in the processor's caches.
 */
#include "graph_nodes.h"
#include "launch.h"

#include <limits.h>
#include <stdlib.h>

/* Nodes of a batch: the lock is held for about a microsecond. */
#define BATCH 16u
_Static_assert(BATCH <= KC_CLAIM_MAX, "a batch is claimed in one step");
#define PLACES_MAX 32u

/* What was asked of a variant; its place is its id's modulo their number. */
struct asked {
	const struct kc__variant *variant; /* NULL: nothing */
	uint64_t known;                    /* events taken in then */
	uint32_t sizes;                    /* kc_engine_sizes_known() then */
	struct kc_prediction_request request;
	struct kc_repeated repeated;
};

struct entry {
	struct kc__node *node;
	struct kc__variant *variant; /* NULL: cannot be predicted, for this reason: */
	enum kc_unpredictable unpredictable;
	struct kc__kernel *kernel; /* NULL: not known */
	uint32_t ordinal;          /* of the node, from 1 */
	uint32_t place;            /* of what is asked, where there is a variant */
};

struct kc__batch {
	struct kc_launch like;  /* what all records of a launch have in common */
	uint64_t known;         /* events taken in when the batch was begun */
	uint32_t count, taken;  /* entries; places that they have, a bit for each */
	uint32_t claimed;       /* entries that have a slot, the first ones */
	struct kc_slot **slots; /* theirs */
	uint32_t place_mask;
	struct entry at[BATCH];
	struct asked asked[];
};

struct kc__batch *kc__batch_new(size_t nodes)
{
	uint32_t places = 1;
	struct kc__batch *batch;

	while (places < PLACES_MAX && places < nodes)
		places *= 2;
	batch = calloc(1, sizeof(*batch) + places * sizeof(batch->asked[0]));
	if (batch)
		batch->place_mask = places - 1;
	return batch;
}

static void describe(struct kc__batch *batch, const struct kc__graph_exec *exec, const struct kc__known *on,
		     uint32_t number)
{
	batch->like = (struct kc_launch){
	    .result = INT_MIN,
	    .api = KC_API_GRAPH,
	    .thread = kc__thread_id(&kc__thread),
	    .call_site = kc__thread.call_site,
	    .device = on->device ? (uint8_t)on->device->ordinal : 0,
	    .stream = on->stream ? on->stream->id : 0,
	    .graph_launch = number,
	    .beside = exec->parallel ? KC_BESIDE_IN_GRAPH : KC_IN_ORDER,
	};
}

/* Nodes: what is known of them */

static void look_up(struct kc__known *known, struct kc__node *node, const struct kc__known *on)
{
	struct kc__packed packed;
	struct kc__given given = {0};

	if (node->arguments)
		given = kc__given_packed(&packed, node->arguments, node->argument_bytes);
	*known = *on;
	known->function = node->function;
	known->given = &given;
	kc__know_kernel(known, &node->dims);
	known->given = NULL;
}

/* What is known of the node's kernel is kept from launch to launch, as looking it up again costs as much as a third of
 * the rest. on: the stream and its device. */
static void know_node(struct entry *entry, const struct kc__known *on)
{
	uint32_t generation = atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire);
	struct kc__node *node = entry->node;
	struct kc__variant *variant = node->variant;
	struct kc__known known;

	if (!variant || !on->stream || node->generation != generation || variant->kernel->device != on->device ||
	    kc__variant_is_outdated(variant)) {
		look_up(&known, node, on);
		node->variant = known.variant;
		node->generation = generation;
		entry->unpredictable = known.unpredictable;
		entry->kernel = known.kernel;
	} else {
		entry->unpredictable = KC_PREDICTED;
		entry->kernel = variant->kernel;
	}
	entry->variant = node->variant;
}

static void ask(const struct kc__device *device, struct asked *asked, struct kc__variant *variant, uint64_t known)
{
	asked->variant = variant;
	asked->known = known;
	asked->sizes = kc_engine_sizes_known(&variant->engine);
	kc_engine_ask(&kc__shim.engine, &variant->engine, device->answers, &asked->request);
	asked->repeated.known = 0;
	asked->request.repeated = &asked->repeated;
}

/* false: another entry of the batch has the place that this one needs. */
static bool take_place(struct kc__batch *batch, struct entry *entry, const struct kc__device *device)
{
	struct asked *asked;

	entry->place = entry->variant->id & batch->place_mask;
	asked = &batch->asked[entry->place];
	if (asked->variant == entry->variant && asked->known == batch->known &&
	    asked->sizes == kc_engine_sizes_known(&entry->variant->engine)) {
		batch->taken |= 1u << entry->place;
		return true;
	}
	if (batch->taken >> entry->place & 1)
		return false;
	batch->taken |= 1u << entry->place;
	ask(device, asked, entry->variant, batch->known);
	return true;
}

/* Fills a batch with enabled nodes from *next on. What is new goes into the journal before the launches. */
static void gather(struct kc__batch *batch, struct kc__graph_exec *exec, size_t *next, const struct kc__known *on)
{
	batch->known = kc_engine_known(&kc__shim.engine);
	batch->count = batch->taken = 0;
	for (; *next < exec->count && batch->count < BATCH; ++*next) {
		struct entry *entry = &batch->at[batch->count];

		entry->node = &exec->nodes[*next];
		kc__fetch_to_read((uintptr_t)(entry->node) + BATCH * sizeof(*entry->node), sizeof(*entry->node));
		entry->ordinal = (uint32_t)*next + 1;
		if (!entry->node->enabled)
			continue;
		know_node(entry, on);
		if (entry->variant && !take_place(batch, entry, on->stream->device))
			return;
		batch->count++;
	}
}

/* Records */

static void fill(struct kc_launch *launch, const struct kc_launch *like, const struct entry *entry)
{
	const struct kc__node *node = entry->node;

	*launch = *like;
	for (int k = 0; k < 3; k++) {
		launch->grid[k] = node->dims.grid[k];
		launch->block[k] = (uint16_t)node->dims.block[k];
	}
	launch->dynamic_shared_bytes = node->dims.dynamic_shared_bytes;
	launch->graph_node = entry->ordinal;
	launch->graph_record = node->record_id;
	kc__record_kernel(launch, entry->kernel);
	launch->unpredictable = (uint8_t)entry->unpredictable;
}

static void claim(struct kc__batch *batch)
{
	batch->like.unmeasured = (uint8_t)atomic_load_explicit(&kc__shim.unmeasured, memory_order_relaxed);
	batch->like.predicted_at_ns = batch->like.launched_ns = kc__now_ns();
	batch->like.order.known = batch->known;
	batch->claimed = kc_journal_claim_several(kc__shim.journal, KC_KIND_LAUNCH, batch->count, batch->slots);
	for (uint32_t i = 0; i < batch->claimed; i++)
		fill(&batch->slots[i]->launch, &batch->like, &batch->at[i]);
	for (uint32_t i = batch->claimed; i < batch->count; i++)
		kc__launch_without_slot();
}

/* The device's lock is held. */
static void place(struct kc__device *device, const struct kc__stream *stream, const struct entry *entry,
		  const struct kc_prediction_request *request, struct kc_launch *launch, uint64_t known)
{
	const struct kc_engine_stage stage = {device->timeline, &device->history, device->answers};
	struct kc_engine_launch kept;
	struct kc_prediction p;

	/* Reading the clock again would take as long as a tenth of the rest. */
	launch->predicted_at_ns = launch->launched_ns = kc__in_order(device, launch->predicted_at_ns);
	launch->order.known = known;
	kc_engine_predict(request, &stage, stream->lane, launch->predicted_at_ns, &p, &kept);
	kc__early_made(entry->variant, launch->predicted_at_ns);
	kc__keep_prediction(launch, entry->variant, request, &p, &kept);
}

/* Something was learned since the first was asked: each is asked again, and nothing is learned meanwhile. */
static void place_again(struct kc__batch *batch, struct kc__device *device, const struct kc__known *on)
{
	uint64_t known;

	pthread_mutex_lock(&kc__shim.learning);
	known = kc_engine_known(&kc__shim.engine);
	for (uint32_t i = 0; i < batch->claimed; i++) {
		struct entry *entry = &batch->at[i];
		struct asked *asked = &batch->asked[entry->place];
		struct kc__known latest;

		if (!entry->variant)
			continue;
		if (kc__variant_is_outdated(entry->variant)) {
			look_up(&latest, entry->node, on);
			if (latest.variant)
				entry->variant = entry->node->variant = latest.variant;
		}
		ask(device, asked, entry->variant, known);
		pthread_mutex_lock(&device->lock);
		place(device, on->stream, entry, &asked->request, &batch->slots[i]->launch, known);
		pthread_mutex_unlock(&device->lock);
		asked->variant = NULL; /* it may be of another place */
	}
	pthread_mutex_unlock(&kc__shim.learning);
}

static void predict(struct kc__batch *batch, const struct kc__known *on)
{
	struct kc__device *device = on->stream->device;

	pthread_mutex_lock(&device->lock);
	if (kc_engine_known(&kc__shim.engine) != batch->known) {
		pthread_mutex_unlock(&device->lock);
		place_again(batch, device, on);
		return;
	}
	for (uint32_t i = 0; i < batch->claimed; i++) {
		const struct entry *entry = &batch->at[i];

		/* The next batch's slots mostly lie behind these; the worker cleared them, on another core. */
		kc__fetch_to_write((uintptr_t)batch->slots[i] + BATCH * KC_SLOT_BYTES, KC_SLOT_BYTES);
		if (entry->variant)
			place(device, on->stream, entry, &batch->asked[entry->place].request, &batch->slots[i]->launch,
			      batch->known);
	}
	pthread_mutex_unlock(&device->lock);
}

static void commit(const struct kc__batch *batch)
{
	for (uint32_t i = 0; i < batch->claimed; i++)
		kc_journal_commit(batch->slots[i], KC_SLOT_CALLED);
}

void kc__graph_record(struct kc__graph_exec *exec, const struct kc__known *on, uint32_t number)
{
	struct kc__batch *batch = exec->batch;
	size_t next = 0;

	describe(batch, exec, on, number);
	exec->slot_count = 0;
	while (next < exec->count) {
		batch->slots = exec->slots + exec->slot_count;
		gather(batch, exec, &next, on);
		kc__thread.recorded += batch->count;
		claim(batch);
		if (batch->taken)
			predict(batch, on);
		commit(batch);
		exec->slot_count += batch->claimed;
	}
}
