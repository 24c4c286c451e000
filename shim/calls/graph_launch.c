/*
 * Launches of executable graphs: each is one record, whatever the number of kernels, and one place on the timeline. The
 * slots behind it are those of the kernels, and of the copies and memsets, which the worker makes (graph_plan.h).
 */
#include "graph_plan.h"
#include "shim/entry/real.h"
#include "shim/code/early.h"
#include "shim/tables/ranges.h"
#include "shim/tables/streams.h"
#include "calls.h"
#include "graph_nodes.h"

#include <errno.h>
#include <limits.h>

static void without_slots(uint64_t kernels)
{
	for (uint64_t i = 0; i < kernels; i++)
		kc__launch_without_slot();
}

/* The device's lock is held. A launch of the plan is the first of its kernels that were never launched. */
static void tell_early(struct kc__plan *plan, int64_t predicted_at_ns)
{
	if (plan->told)
		return;
	for (uint32_t i = 0; i < plan->kind_count; i++)
		kc__early_made(plan->kinds[i].variant, predicted_at_ns + plan->kinds[i].first);
	plan->told = true;
}

/* Each kernel has a host time of its own, as a launch by itself has. */
static void place(struct kc__plan *plan, const struct kc__stream *stream, struct kc_graph_launch *launch)
{
	struct kc__device *device = stream->device;
	const struct kc_engine_stage stage = {device->timeline, &device->history, device->answers};
	struct kc_placement placement = {0};

	kc__lock(&device->lock);
	launch->predicted_at_ns = kc__in_order(device, launch->predicted_at_ns);
	__atomic_store_n(&device->seen_ns, device->seen_ns + launch->kernels, __ATOMIC_RELAXED);
	launch->known = kc_engine_known(&kc__shim.engine);
	kc_graph_place(&plan->whole, &stage, stream->lane, launch->predicted_at_ns, &placement);
	tell_early(plan, launch->predicted_at_ns);
	kc__unlock(&device->lock);
	launch->start_ns = placement.start_ns;
	launch->end_ns = placement.end_ns;
	launch->ticket = placement.ticket;
}

static void fill(struct kc_graph_launch *launch, struct kc__plan *plan, const struct kc__known *on, uint32_t number)
{
	*launch = (struct kc_graph_launch){
	    .graph = plan->entry.graph,
	    .known = kc_engine_known(&kc__shim.engine),
	    .predicted_at_ns = kc__now_ns(),
	    .kernels = plan->entry.kernels,
	    .copies = kc__shim.whole_graphs ? 0 : plan->copy_count,
	    .number = number,
	    .stream = on->stream ? on->stream->id : 0,
	    .thread = kc__thread_id(&kc__thread),
	    .call_site = kc__thread.call_site,
	    .scope = kc__scope_of(&kc__thread),
	    .result = INT_MIN,
	    .device = plan->entry.device,
	    .unmeasured = kc__unmeasured(&kc__shim.unmeasured),
	    .unordered = kc__shim.choosing || !plan->whole.work,
	    .whole = kc__shim.whole_graphs,
	};
	if (on->stream && plan->whole.work)
		place(plan, on->stream, launch);
}

/* Of a launch that is measured as one a single record comes, whatever is in the graph. */
static uint64_t copies_of(const struct kc__graph_exec *exec)
{
	return kc__shim.whole_graphs ? 0 : exec->copies_enabled;
}

static void count_copies(enum kc_counter counter, uint64_t copies)
{
	atomic_fetch_add_explicit(&kc__shim.header->counters[counter], copies, memory_order_relaxed);
}

/* NULL: dropped, or it has nothing that is recorded. */
static struct kc_slot *record(struct kc__graph_exec *exec, const struct kc__known *on, uint32_t number)
{
	uint64_t kernels = exec->enabled, copies = copies_of(exec);
	struct kc__plan *plan = kernels + copies ? kc__plan_take(exec, on) : NULL;
	struct kc_slot *slot = NULL;

	kc__thread.recorded += kc__shim.whole_graphs ? kernels != 0 : kernels + copies;
	if (plan)
		slot = kc_journal_claim_with_room(kc__shim.journal, KC_KIND_GRAPH_LAUNCH, kernels + copies);
	if (slot) {
		fill(&slot->graph_launch, plan, on, number);
		kc_journal_commit(slot, KC_SLOT_CALLED);
	} else {
		without_slots(kernels);
		count_copies(KC_COUNT_TRANSFERS_DROPPED, copies);
		if (kc__shim.whole_graphs && !kc__unmeasured(&kc__shim.unmeasured))
			kc__selection_expects(1);
		if (plan)
			kc__plan_give(plan);
	}
	return slot;
}

static uint64_t records_of(const struct kc__graph_exec *exec)
{
	return kc__shim.whole_graphs ? 1 : exec->enabled;
}

static void passed(CUgraphExec handle, CUstream stream, bool per_thread)
{
	const struct kc__graph_exec *exec = kc__graph_exec_of(handle);

	if (exec && kc__was_paused() && !kc__capturing(stream, per_thread))
		count_copies(KC_COUNT_TRANSFERS_NOT_ASKED, copies_of(exec));
	kc__launch_passed(stream, per_thread, exec ? exec->enabled : 0, exec ? records_of(exec) : 0);
}

bool kc__graph_launch_begin(CUgraphExec handle, CUstream stream, bool per_thread, struct kc__graph_exec **launched)
{
	struct kc__graph_exec *exec;
	int saved_errno = errno;
	struct kc__known on;
	uint32_t number;

	if (!kc__launch_enter()) {
		if (kc__ended() || kc__paused())
			passed(handle, stream, per_thread);
		return false;
	}
	kc__thread.depth = 1;
	if (kc__capturing(stream, per_thread) || !(exec = kc__graph_exec_of(handle))) {
		if (!kc__capturing(stream, per_thread))
			kc__count(KC_COUNT_GRAPHS_UNKNOWN);
		kc__thread.depth = 0;
		errno = saved_errno;
		return false;
	}
	if (__builtin_expect(kc__counting(), 0) && !kc__selection_takes(exec->enabled, records_of(exec))) {
		count_copies(KC_COUNT_TRANSFERS_NOT_ASKED, copies_of(exec));
		kc__thread.depth = 0;
		errno = saved_errno;
		return false;
	}
	kc__count(KC_COUNT_GRAPH_LAUNCHES);
	if (exec->unknown)
		kc__count(KC_COUNT_GRAPHS_UNKNOWN);
	number = atomic_fetch_add_explicit(&kc__shim.graph_launches, 1, memory_order_relaxed) + 1;
	kc__know_stream(&on, stream, per_thread);
	exec->slot = record(exec, &on, number);
	*launched = exec;
	kc__thread.graph_kernels = kc__shim.whole_graphs ? 1 : exec->count + exec->copy_count;
	kc__expect_ids(KC__GRAPH_CALLS);
	errno = saved_errno;
	return true;
}

static void returned(struct kc_slot *slot, struct kc__stream *stream, CUresult result, uint32_t correlation)
{
	struct kc_graph_launch *launch = &slot->graph_launch;

	if (result != CUDA_SUCCESS)
		kc__cancel(stream, slot, launch->ticket);
	launch->result = (int32_t)result;
	launch->enclosing = kc__thread.enclosing;
	launch->correlation = correlation ? correlation : launch->enclosing;
	if (result != CUDA_SUCCESS)
		launch->unmeasured = KC_CALL_FAILED;
	else if (!launch->correlation && !launch->unmeasured)
		launch->unmeasured = KC_NO_CORRELATION;
	kc_journal_commit(slot, KC_SLOT_RETURNED);
}

void kc__graph_launch_end(struct kc__graph_exec *launched, CUstream stream, bool per_thread, CUresult result)
{
	struct kc__thread *t = &kc__thread;
	int saved_errno = errno;

	if (launched->slot)
		returned(launched->slot, result == CUDA_SUCCESS ? NULL : kc__stream_of(stream, per_thread), result,
			 t->correlation);
	launched->slot = NULL;
	t->graph_kernels = 0;
	t->depth = 0;
	errno = saved_errno;
}

#define GRAPH_LAUNCH(symbol, twin)                                                                                     \
	KC_EXPORT CUresult CUDAAPI symbol(CUgraphExec exec, CUstream stream)                                           \
	{                                                                                                              \
		struct kc__graph_exec *launched;                                                                       \
		CUresult result;                                                                                       \
                                                                                                                       \
		if (!kc__graph_launch_begin(exec, stream, twin, &launched))                                            \
			return KC_REAL(symbol)(exec, stream);                                                          \
		result = KC_REAL(symbol)(exec, stream);                                                                \
		kc__graph_launch_end(launched, stream, twin, result);                                                  \
		return result;                                                                                         \
	}

GRAPH_LAUNCH(cuGraphLaunch, false)
GRAPH_LAUNCH(cuGraphLaunch_ptsz, true)
