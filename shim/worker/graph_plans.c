/*
 * Plans of graphs (shim/calls/graph_plan.h) on the worker: launches become slots by them, and they are made anew when
 * something was learned. Lists change under the plans' lock, and the worker alone takes plans out.
 */
#include "windows.h"
#include "shim/code/early.h"
#include "shim/calls/graph_plan.h"
#include "shim/code/variants.h"
#include "shim/calls/graph_nodes.h"

#include <stdlib.h>
#include <string.h>

#define CHAINS 1024u /* of plans by their numbers; a power of two */
#define CHAIN_OF(graph) ((uint32_t)((graph) ^ (graph) >> 10) & (CHAINS - 1))
/* A plan whose place in the journal is so many slots back is put again if it is in use, and given up else: the slots
 * from the first that is not stored on are counted as waiting to be stored (pace.h). */
#define OLD_SLOTS (32u * KC_SEGMENT_SLOTS)
/* Making plans again takes at most one part in so many of the worker's time. */
#define SHARE 20

static struct kc__plan *_Atomic chains[CHAINS];

void kc__plans_add(struct kc__plan *plan)
{
	struct kc__plan *_Atomic *chain = &chains[CHAIN_OF(plan->entry.graph)];

	plan->next = *chain;
	atomic_store_explicit(chain, plan, memory_order_release);
}

static struct kc__plan *find(uint64_t graph)
{
	struct kc__plan *plan = atomic_load_explicit(&chains[CHAIN_OF(graph)], memory_order_acquire);

	while (plan && plan->entry.graph != graph)
		plan = plan->next;
	return plan;
}

/* Expanding */

/* A graph some kernel of which is not known well is measured as a whole. */
static void count_for_windows(const struct kc__plan *plan, const struct kc_graph_launch *launch)
{
	for (uint32_t i = 0; i < plan->kind_count; i++)
		if (!kc__windows_knows_well(plan->kinds[i].variant)) {
			atomic_fetch_add_explicit(&kc__shim.not_known_well, plan->entry.kernels, memory_order_relaxed);
			return;
		}
	if (launch->unmeasured == KC_MEASURED)
		atomic_fetch_add_explicit(&kc__shim.window.in_graphs, plan->entry.kernels, memory_order_relaxed);
}

static uint8_t copies_unmeasured(const struct kc_graph_launch *launch)
{
	if (launch->unmeasured == KC_MEASURED && kc__shim.options.measure == KC_MEASURE_KERNELS)
		return KC_MEASURE_OFF;
	return launch->unmeasured;
}

static void expand_copy(const struct kc_graph_launch *launch, const struct kc__plan *plan,
			const struct kc__plan_copy *copy, struct kc_slot *slot)
{
	slot->kind = KC_KIND_TRANSFER;
	slot->transfer = (struct kc_transfer){
	    .launched_ns = launch->predicted_at_ns,
	    .bytes = copy->bytes,
	    .stream = launch->stream,
	    .result = launch->result,
	    .correlation = launch->correlation,
	    .thread = launch->thread,
	    .kind = copy->kind,
	    .device = launch->device,
	    .unmeasured = copies_unmeasured(launch),
	    .not_asked = kc__shim.choosing,
	    .order.known = plan->entry.known,
	    .enclosing = launch->enclosing,
	    .in_graph = 1,
	    .in_child = copy->in_child,
	    .graph_record = copy->record,
	};
	if (!kc__shim.choosing)
		return;
	kc__count(KC_COUNT_TRANSFERS_NOT_ASKED);
	kc_journal_not_asked(kc__shim.journal, slot);
}

/* Behind the slots of the kernels. */
static void expand_copies(const struct kc_slot *launch, const struct kc__plan *plan, uint32_t state)
{
	uint64_t first = launch->index + 1 + launch->graph_launch.kernels;

	for (uint32_t i = 0; i < launch->graph_launch.copies; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, first + i);

		if (!slot) {
			kc__count(KC_COUNT_TRANSFERS_DROPPED);
			continue;
		}
		slot->index = first + i;
		kc_journal_for_transfer(kc__shim.journal, slot);
		expand_copy(&launch->graph_launch, plan, &plan->copies[i], slot);
		kc_journal_commit(slot, state);
	}
}

void kc__plans_expand(struct kc_slot *launch)
{
	uint32_t state = atomic_load_explicit(&launch->state, memory_order_acquire);
	uint32_t kernels = launch->graph_launch.kernels;
	struct kc__plan *plan = find(launch->graph_launch.graph);

	if (plan)
		kc_journal_make_room(kc__shim.journal, launch, (uint64_t)kernels + launch->graph_launch.copies);
	for (uint32_t i = 0; plan && i < kernels; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, launch->index + 1 + i);

		if (!slot) {
			kc__count(KC_COUNT_DROPPED);
			continue;
		}
		slot->kind = KC_KIND_LAUNCH;
		slot->index = launch->index + 1 + i;
		kc_graph_expand(&launch->graph_launch, &plan->entry, &plan->kernels[i], i, &slot->launch);
		if (plan->chosen && plan->chosen[i])
			slot->launch.not_asked = kc__selection_skips(plan->chosen[i]);
		if (slot->launch.not_asked)
			kc_journal_not_asked(kc__shim.journal, slot);
		kc_journal_commit(slot, state);
	}
	if (plan)
		expand_copies(launch, plan, state);
	launch->graph_launch.made = 1;
	if (!plan)
		return;
	if (kc__shim.adaptive)
		count_for_windows(plan, &launch->graph_launch);
	kc__plan_give(plan);
}

/* Making anew */

static bool has_news(const struct kc__plan *plan)
{
	for (uint32_t i = 0; i < plan->kind_count; i++) {
		const struct kc__plan_kind *kind = &plan->kinds[i];

		if (atomic_load(&kind->variant->engine.news) != kind->news ||
		    kc_engine_sizes_known(&kind->variant->engine) != kind->sizes)
			return true;
	}
	return plan->formulas != atomic_load(&kc__shim.formulas);
}

/* The same launch, told by its arguments, where the code has been read since. *missing: a launching thread must look it
 * up, as only there the driver can be asked. */
static struct kc__variant *current(struct kc__variant *variant, bool *missing)
{
	struct kc__variant *successor;

	if (!kc__variant_is_outdated(variant))
		return variant;
	successor = kc__early_successor(variant);
	*missing |= !successor;
	return successor ? successor : variant;
}

/* Of the plan's kernels. kernels: a copy of them, which is brought up to date. */
static bool find_variants(const struct kc__plan *plan, struct kc_graph_kernel *kernels,
			  struct kc_engine_variant **variants)
{
	bool missing = false;

	for (uint32_t i = 0; i < plan->entry.kernels; i++) {
		struct kc__variant *variant;

		variants[i] = NULL;
		if (kernels[i].unpredictable != KC_PREDICTED)
			continue;
		variant = current(kc__shim.variant_by_id[kernels[i].variant], &missing);
		variants[i] = &variant->engine;
		kernels[i].variant = variant->id;
		kernels[i].arguments = variant->arguments;
		kernels[i].not_kept = kc__early_is_lost(variant);
	}
	return !missing;
}

static struct kc__plan *make_again(const struct kc__plan *plan, bool *complete)
{
	uint32_t count = plan->entry.kernels;
	struct kc_graph_kernel *kernels = malloc((count + 1) * sizeof(*kernels));
	struct kc_engine_variant **variants = malloc((count + 1) * sizeof(*variants));
	/* What a launch may change meanwhile is not among it. */
	struct kc__plan like = {.entry = plan->entry,
				.device = plan->device,
				.copies = plan->copies,
				.copy_count = plan->copy_count,
				.with_stream = plan->with_stream,
				.generation = plan->generation};
	struct kc__plan *again = NULL;

	if (kernels && variants) {
		memcpy(kernels, plan->kernels, count * sizeof(*kernels));
		pthread_mutex_lock(&kc__shim.learning);
		*complete = find_variants(plan, kernels, variants);
		like.formulas = atomic_load(&kc__shim.formulas);
		again = kc__plan_new(&like, variants, kernels);
		pthread_mutex_unlock(&kc__shim.learning);
	}
	if (again && plan->chosen && (again->chosen = malloc(count * sizeof(*again->chosen))))
		memcpy(again->chosen, plan->chosen, count * sizeof(*again->chosen));
	free(kernels);
	free(variants);
	return again;
}

/* Unless the exec has another one by now. */
static void replace(struct kc__plan *plan, struct kc__plan *again, bool complete)
{
	struct kc__graph_exec *exec;

	kc__plan_lock();
	exec = plan->exec;
	if (exec && kc__plan_put(again)) {
		exec->plan = again;
		again->exec = exec;
		plan->exec = NULL;
	}
	if (exec && !complete)
		exec->changed = true;
	kc__plans_add(again);
	kc__plan_unlock();
}

static void look_at(struct kc__plan *plan, uint64_t known)
{
	int64_t began_ns, now_ns;
	struct kc__plan *again;
	bool complete = true;

	if (!atomic_load(&plan->used) || plan->checked == known || kc__now_ns() < plan->again_ns)
		return;
	if (!has_news(plan)) {
		plan->checked = known;
		return;
	}
	began_ns = kc__now_ns();
	again = make_again(plan, &complete);
	now_ns = kc__now_ns();
	plan->again_ns = now_ns + SHARE * (now_ns - began_ns);
	if (!again)
		return;
	again->again_ns = plan->again_ns;
	atomic_store(&again->used, true);
	replace(plan, again, complete);
}

/* The journal, and freeing */

static void release(struct kc__plan_place *places, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint64_t k = 0; k < places[i].slots; k++) {
			struct kc_slot *slot = kc_journal_at(kc__shim.journal, places[i].first + k);

			if (!slot)
				continue;
			kc_journal_commit(slot, KC_SLOT_STORED);
			kc_journal_touched(kc__shim.journal, slot);
		}
}

/* The lock is held. Puts it again, or gives it up where no launch refers to it. Returns its old place, NULL: it keeps
 * it. */
static struct kc__plan_place *leave_place(struct kc__plan *plan, uint32_t *count)
{
	struct kc__plan_place *old = plan->places;

	*count = plan->place_count;
	if (!*count || kc_journal_claimed(kc__shim.journal) - old[0].first <= OLD_SLOTS ||
	    (!plan->used_since_put && atomic_load(&plan->launches)))
		return NULL;
	plan->places = NULL;
	plan->place_count = 0;
	if (!plan->used_since_put || kc__plan_put(plan))
		return old;
	release(plan->places, plan->place_count);
	free(plan->places);
	plan->places = old;
	plan->place_count = *count;
	return NULL;
}

static void take_out(struct kc__plan *_Atomic *chain, struct kc__plan *plan)
{
	struct kc__plan *at;

	kc__plan_lock();
	at = atomic_load(chain);
	if (at == plan)
		atomic_store(chain, plan->next);
	for (; at && at->next != plan; at = at->next)
		;
	if (at)
		at->next = plan->next;
	kc__plan_unlock();
	release(plan->places, plan->place_count);
	kc__plan_free(plan);
}

static void step(struct kc__plan *_Atomic *chain, struct kc__plan *plan, uint64_t known)
{
	struct kc__plan_place *old;
	bool needless;
	uint32_t count;

	kc__plan_lock();
	needless = !plan->exec && !atomic_load(&plan->launches);
	old = needless ? NULL : leave_place(plan, &count);
	kc__plan_unlock();
	if (old)
		release(old, count);
	free(old);
	if (needless)
		take_out(chain, plan);
	else
		look_at(plan, known);
}

void kc__plans_step(void)
{
	uint64_t known = kc_engine_known(&kc__shim.engine);
	struct kc__plan *plan, *next;

	for (uint32_t i = 0; i < CHAINS; i++)
		for (plan = atomic_load_explicit(&chains[i], memory_order_acquire); plan; plan = next) {
			next = plan->next;
			step(&chains[i], plan, known);
		}
}

/* A launch that has not returned is recovered from the journal, so what it needs stays there. */
void kc__plans_end(void)
{
	kc__plan_lock();
	for (uint32_t i = 0; i < CHAINS; i++)
		for (struct kc__plan *plan = atomic_load(&chains[i]); plan; plan = plan->next)
			if (!atomic_load(&plan->launches))
				release(plan->places, plan->place_count);
	kc__plan_unlock();
}

void kc__plans_forget(void)
{
	memset(chains, 0, sizeof(chains));
}
