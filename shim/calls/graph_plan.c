#include "graph_plan.h"
#include "shim/code/early.h"
#include "shim/code/variants.h"
#include "shim/tables/streams.h"
#include "graph_nodes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Before the journal's lock; never while the driver is called, nor for longer than putting a plan into the journal
 * takes. */
static pthread_mutex_t plans_lock = PTHREAD_MUTEX_INITIALIZER;

/* Numbers for plans that no replay has to know of. */
#define UNTOLD (UINT64_C(1) << 63)

void kc__plan_forget(void)
{
	pthread_mutex_init(&plans_lock, NULL);
}

void kc__plan_lock(void)
{
	pthread_mutex_lock(&plans_lock);
}

void kc__plan_unlock(void)
{
	pthread_mutex_unlock(&plans_lock);
}

/* Making */

/* Tells replays of the plan. Returns its number. */
static uint64_t tell(const struct kc__plan *plan, int64_t now_ns)
{
	static _Atomic uint64_t untold;
	struct kc__device *device = plan->device;
	struct kc_stream_call call = {.kind = KC_CALL_GRAPH, .ns = plan->entry.kernels, .known = plan->entry.known};
	uint64_t number = UNTOLD | atomic_fetch_add(&untold, 1);

	if (!plan->whole.work || kc__shim.choosing)
		return number;
	kc__lock(&device->lock);
	call.device = device->ordinal;
	call.time_ns = kc__in_order(device, now_ns);
	if (kc_journal_put_at(kc__shim.journal, KC_KIND_STREAM_CALL, &call, sizeof(call), &number) < 0)
		kc__count(KC_COUNT_DROPPED_CALLS(KC_CALL_GRAPH));
	kc__unlock(&device->lock);
	return number;
}

static bool list_kinds(struct kc__plan *plan, const uint32_t *firsts, uint32_t count)
{
	plan->kinds = calloc(count + 1, sizeof(*plan->kinds));
	if (!plan->kinds)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct kc__variant *variant = kc__shim.variant_by_id[plan->kernels[firsts[i]].variant];

		plan->kinds[i] = (struct kc__plan_kind){variant, atomic_load(&variant->engine.news),
							kc_engine_sizes_known(&variant->engine), firsts[i]};
	}
	plan->kind_count = count;
	return true;
}

/* kc__shim.learning is held. */
static bool predict(struct kc__plan *plan, struct kc_engine_variant *const *variants)
{
	uint32_t count = plan->entry.kernels;
	struct kc_graph_prediction *predictions = malloc((count + 1) * sizeof(*predictions));
	uint32_t *firsts = malloc((count + 1) * sizeof(*firsts));
	void *room = mmap(NULL, kc_graph_room_bytes(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int different = -1;

	if (predictions && firsts && room != MAP_FAILED)
		different =
		    kc_graph_predict(&kc__shim.engine, variants, count, room, predictions, firsts, &plan->whole);
	if (room != MAP_FAILED)
		munmap(room, kc_graph_room_bytes());
	for (uint32_t i = 0; different >= 0 && i < count; i++) {
		plan->kernels[i].predicted = predictions[i];
		if (variants[i])
			plan->entry.last = i + 1;
	}
	if (different >= 0 && !list_kinds(plan, firsts, (uint32_t)different))
		different = -1;
	free(predictions);
	free(firsts);
	return different >= 0;
}

struct kc__plan *kc__plan_new(const struct kc__plan *like, struct kc_engine_variant *const *variants,
			      const struct kc_graph_kernel *kernels)
{
	struct kc__plan *plan = malloc(sizeof(*plan));
	uint32_t count = like->entry.kernels;
	int64_t now_ns = kc__now_ns();

	if (!plan)
		return NULL;
	*plan = (struct kc__plan){
	    .entry = like->entry,
	    .device = like->device,
	    .with_stream = like->with_stream,
	    .generation = like->generation,
	    .formulas = like->formulas,
	    .kernels = malloc((count + 1) * sizeof(*kernels)),
	    .copies = malloc((like->copy_count + 1) * sizeof(*like->copies)),
	    .copy_count = like->copy_count,
	};
	plan->entry.known = plan->checked = kc_engine_known(&kc__shim.engine);
	plan->entry.last = 0;
	if (plan->kernels)
		memcpy(plan->kernels, kernels, count * sizeof(*kernels));
	if (plan->copies)
		memcpy(plan->copies, like->copies, plan->copy_count * sizeof(*plan->copies));
	if (!plan->kernels || !plan->copies || !predict(plan, variants)) {
		kc__plan_free(plan);
		return NULL;
	}
	plan->entry.span_ns = plan->whole.span_ns;
	plan->entry.graph = tell(plan, now_ns);
	return plan;
}

void kc__plan_free(struct kc__plan *plan)
{
	free(plan->kernels);
	free(plan->copies);
	free(plan->chosen);
	free(plan->kinds);
	free(plan->places);
	free(plan);
}

static bool put_part(struct kc__plan *plan, struct kc__plan_place *place, uint32_t first, void *buffer)
{
	struct kc_graph_entry *entry = buffer;
	uint32_t left = plan->entry.kernels - first;
	int slots;

	*entry = plan->entry;
	entry->first = first;
	entry->count = left < KC_GRAPH_KERNELS_MAX ? left : KC_GRAPH_KERNELS_MAX;
	memcpy(entry + 1, plan->kernels + first, entry->count * sizeof(*plan->kernels));
	slots = kc_journal_put_at(kc__shim.journal, KC_KIND_GRAPH, buffer,
				  sizeof(*entry) + entry->count * sizeof(*plan->kernels), &place->first);
	place->slots = slots > 0 ? (uint32_t)slots : 0;
	return slots > 0;
}

bool kc__plan_put(struct kc__plan *plan)
{
	uint32_t parts = (plan->entry.kernels + KC_GRAPH_KERNELS_MAX - 1) / KC_GRAPH_KERNELS_MAX;
	struct kc__plan_place *places = calloc(parts + 1, sizeof(*places));
	void *buffer = malloc(sizeof(plan->entry) + KC_GRAPH_KERNELS_MAX * sizeof(*plan->kernels));
	uint32_t put = 0;

	while (places && buffer && put < parts && put_part(plan, &places[put], put * KC_GRAPH_KERNELS_MAX, buffer))
		put++;
	free(buffer);
	free(plan->places);
	plan->places = places;
	plan->place_count = put;
	plan->used_since_put = false;
	return put == parts;
}

/* Looking up */

/* Of a plan in the making. */
struct draft {
	struct kc__plan like;
	struct kc_graph_kernel *kernels;
	struct kc_engine_variant **variants;
	struct kc__kernel **chosen;
	bool some_chosen;
};

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
	node->variant = known->variant;
	node->generation = atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire);
}

/* What is known of the node's kernel is kept from one plan to the next. */
static void know_node(struct kc__known *known, struct kc__node *node, const struct kc__known *on)
{
	uint32_t generation = atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire);
	struct kc__variant *variant = node->variant;

	if (!variant || node->generation != generation || variant->kernel->device != on->device ||
	    kc__variant_is_outdated(variant)) {
		look_up(known, node, on);
		return;
	}
	*known = *on;
	known->variant = variant;
	known->kernel = variant->kernel;
	known->unpredictable = KC_PREDICTED;
}

static void set_kernel(struct draft *draft, uint32_t i, const struct kc__known *known)
{
	struct kc_graph_kernel *k = &draft->kernels[i];
	const struct kc__variant *variant = known->variant;

	k->unpredictable = (uint8_t)known->unpredictable;
	k->kernel = known->kernel ? known->kernel->id : 0;
	if (known->kernel && known->kernel->every) {
		k->not_asked = known->kernel->every == KC__NEVER;
		draft->chosen[i] = known->kernel;
		draft->some_chosen = true;
	}
	draft->variants[i] = variant ? &known->variant->engine : NULL;
	k->variant = variant ? variant->id : 0;
	k->arguments = variant ? variant->arguments : 0;
	k->blocks_per_sm = variant ? variant->blocks_per_sm : 0;
	k->not_kept = variant && kc__early_is_lost(variant);
}

static void set_node(struct kc_graph_kernel *k, const struct kc__node *node, size_t ordinal)
{
	k->record = node->record_id;
	for (int i = 0; i < 3; i++) {
		k->grid[i] = node->dims.grid[i];
		k->block[i] = (uint16_t)node->dims.block[i];
	}
	k->dynamic_shared_bytes = node->dims.dynamic_shared_bytes;
	k->node = (uint32_t)ordinal;
	k->in_child = node->in_child;
}

static void gather(struct draft *draft, struct kc__graph_exec *exec, const struct kc__known *on)
{
	uint32_t i = 0;

	for (size_t n = 0; n < exec->count; n++) {
		struct kc__known known;

		if (!exec->nodes[n].enabled)
			continue;
		know_node(&known, &exec->nodes[n], on);
		set_node(&draft->kernels[i], &exec->nodes[n], n + 1);
		set_kernel(draft, i++, &known);
	}
}

static void gather_copies(struct kc__plan_copy *to, const struct kc__graph_exec *exec)
{
	for (size_t n = 0; n < exec->copy_count; n++) {
		const struct kc__copy_node *copy = &exec->copies[n];

		if (copy->enabled)
			*to++ = (struct kc__plan_copy){.record = copy->record_id,
						       .bytes = copy->bytes,
						       .kind = (uint8_t)copy->kind,
						       .in_child = copy->in_child};
	}
}

static bool is_outdated(const struct draft *draft, const struct kc__graph_exec *exec, uint32_t i)
{
	const struct kc__variant *variant = exec->nodes[draft->kernels[i].node - 1].variant;

	return variant && draft->variants[i] && kc__variant_is_outdated(variant);
}

static bool any_outdated(const struct draft *draft, const struct kc__graph_exec *exec)
{
	for (uint32_t i = 0; i < draft->like.entry.kernels; i++)
		if (is_outdated(draft, exec, i))
			return true;
	return false;
}

static void gather_outdated(struct draft *draft, struct kc__graph_exec *exec, const struct kc__known *on)
{
	for (uint32_t i = 0; i < draft->like.entry.kernels; i++) {
		struct kc__node *node = &exec->nodes[draft->kernels[i].node - 1];
		struct kc__known known;

		if (!is_outdated(draft, exec, i))
			continue;
		know_node(&known, node, on);
		set_kernel(draft, i, &known);
	}
}

/* From here on nothing is learned: kc__shim.learning is held. Where a kernel's code was read after the kernel had been
 * looked up, it is looked up again, without the lock, as the driver is asked for it, and what the driver waits for may
 * be what the worker does. Code is read once for each kernel. */
static void learn_nothing(struct draft *draft, struct kc__graph_exec *exec, const struct kc__known *on)
{
	pthread_mutex_lock(&kc__shim.learning);
	while (any_outdated(draft, exec)) {
		pthread_mutex_unlock(&kc__shim.learning);
		gather_outdated(draft, exec, on);
		pthread_mutex_lock(&kc__shim.learning);
	}
}

static bool draft_new(struct draft *draft, const struct kc__graph_exec *exec, const struct kc__known *on)
{
	uint32_t count = exec->enabled;

	draft->like = (struct kc__plan){
	    .entry = {.kernels = count,
		      .device = on->device ? (uint8_t)on->device->ordinal : 0,
		      .beside = exec->parallel ? KC_BESIDE_IN_GRAPH : KC_IN_ORDER},
	    .device = on->device,
	    .copies = calloc(exec->copies_enabled + 1, sizeof(*draft->like.copies)),
	    .copy_count = exec->copies_enabled,
	    .with_stream = on->stream || (on->device && on->any_stream),
	    .generation = atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire),
	    .formulas = atomic_load(&kc__shim.formulas),
	};
	draft->kernels = calloc(count + 1, sizeof(*draft->kernels));
	draft->variants = calloc(count + 1, sizeof(*draft->variants));
	draft->chosen = calloc(count + 1, sizeof(*draft->chosen));
	draft->some_chosen = false;
	return draft->kernels && draft->variants && draft->chosen && draft->like.copies;
}

static void draft_free(struct draft *draft)
{
	free(draft->kernels);
	free(draft->variants);
	free(draft->chosen);
	free(draft->like.copies);
}

/* The lock is held. */
static void take(struct kc__plan *plan)
{
	plan->used_since_put = true;
	if (!atomic_load_explicit(&plan->used, memory_order_relaxed))
		atomic_store(&plan->used, true);
	atomic_fetch_add_explicit(&plan->launches, 1, memory_order_relaxed);
}

/* Takes the plan over, or frees it. */
static bool set_plan(struct kc__graph_exec *exec, struct kc__plan *plan, bool launches)
{
	bool put;

	kc__plan_lock();
	put = kc__plan_put(plan);
	if (exec->plan)
		exec->plan->exec = NULL;
	exec->plan = put ? plan : NULL;
	plan->exec = exec->plan ? exec : NULL;
	exec->changed = false;
	if (put && launches)
		take(plan);
	kc__plans_add(plan);
	kc__plan_unlock(); /* where it could not be put, or has been made anew, the worker frees it from here on */
	return put;
}

static struct kc__plan *make(struct kc__graph_exec *exec, const struct kc__known *on, bool launches)
{
	struct kc__plan *plan = NULL;
	struct draft draft;

	if (draft_new(&draft, exec, on)) {
		gather(&draft, exec, on);
		gather_copies(draft.like.copies, exec);
		learn_nothing(&draft, exec, on);
		plan = kc__plan_new(&draft.like, draft.variants, draft.kernels);
		pthread_mutex_unlock(&kc__shim.learning);
	}
	if (plan && draft.some_chosen) {
		plan->chosen = draft.chosen;
		draft.chosen = NULL;
	}
	draft_free(&draft);
	return plan && set_plan(exec, plan, launches) ? plan : NULL;
}

void kc__plan_make(struct kc__graph_exec *exec, const struct kc__known *on)
{
	make(exec, on, false);
}

/* Using */

void kc__plan_leave(struct kc__graph_exec *exec)
{
	kc__plan_lock();
	if (exec->plan)
		exec->plan->exec = NULL;
	exec->plan = NULL;
	kc__plan_unlock();
}

static bool fits(const struct kc__graph_exec *exec, const struct kc__known *on)
{
	const struct kc__plan *plan = exec->plan;

	return plan && !exec->changed && plan->device == on->device && plan->with_stream == (on->stream != NULL) &&
	       plan->generation == atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire);
}

struct kc__plan *kc__plan_take(struct kc__graph_exec *exec, const struct kc__known *on)
{
	struct kc__plan *plan = NULL;

	kc__plan_lock();
	if (fits(exec, on) && (exec->plan->place_count || kc__plan_put(exec->plan))) {
		plan = exec->plan;
		take(plan);
	}
	kc__plan_unlock();
	return plan ? plan : make(exec, on, true);
}

void kc__plan_give(struct kc__plan *plan)
{
	atomic_fetch_sub(&plan->launches, 1);
}
