#include "windows.h"
#include "shim/worker/cupti/measuring.h"
#include "shim/worker/join/join.h"

#include <math.h>

/* Kernels that were launched while CUPTI rested may run at the beginning of a window. */
#define LEAD_NS 10000000ll
#define KERNEL_PART 20u /* a kernel takes much of the time: more than one part in so many of what was measured */

struct span {
	int64_t begun_ns, ended_ns; /* launches made meanwhile are measured */
};

/* Of the worker. */
static struct {
	struct kc__window window;
	struct span last, before;
	struct span off; /* CUPTI was, the last time: there are no records of launches made meanwhile */
	uint64_t end;    /* of the slots of launches that are to be measured; while draining */
	/* Of all that is known well */
	struct kc__drift drift;
	uint64_t measured_ns;
	bool drifts;
	uint32_t turn;          /* how often measuring has begun */
	uint32_t since;         /* the turn of the last window */
	uint32_t kernels_drift; /* those that take much of the time, and were measured since then */
	_Atomic uint64_t put;   /* slots of what was learned; any thread that learns */
	uint64_t passed[2];     /* transfers, kernels for which records may come though they were not to be measured */
} windows;

static void look_anew(bool learning)
{
	windows.turn++;
	if (!learning)
		windows.since = windows.turn;
	windows.drifts = false;
	windows.kernels_drift = 0;
}

static void keep_to_share(bool does)
{
	atomic_store(&kc__shim.window.shares, false);
	atomic_store(&kc__shim.window.skip, windows.window.share.skip);
	atomic_store(&kc__shim.window.size, windows.window.share.size);
	atomic_store(&kc__shim.window.made, 0);
	atomic_store(&kc__shim.window.measured, 0);
	atomic_store(&kc__shim.window.in_graphs, 0);
	atomic_store(&kc__shim.window.begun_ns, 0);
	atomic_store(&kc__shim.window.ended_ns, 0);
	atomic_store(&kc__shim.window.shares, does);
}

void kc__windows_take_share(struct kc_launch *launch)
{
	const struct kc__window_share share = {atomic_load(&kc__shim.window.skip), atomic_load(&kc__shim.window.size)};
	uint64_t number = atomic_fetch_add(&kc__shim.window.made, 1);

	if (number == share.skip)
		atomic_store(&kc__shim.window.begun_ns, launch->predicted_at_ns);
	if (number == share.skip + share.size)
		atomic_store(&kc__shim.window.ended_ns, launch->predicted_at_ns);
	if (kc__window_measures(share, number))
		atomic_fetch_add(&kc__shim.window.measured, 1);
	else
		launch->unmeasured = KC_KNOWN_WELL;
}

/* What has been made while the window is open, as far as all of it is measured. */
static struct span last(void)
{
	struct span span = windows.last;
	int64_t begun_ns = atomic_load(&kc__shim.window.begun_ns), ended_ns = atomic_load(&kc__shim.window.ended_ns);

	if (!atomic_load(&kc__shim.window.shares))
		return span;
	if (atomic_load(&kc__shim.window.skip))
		span.begun_ns = begun_ns ? begun_ns : INT64_MAX - LEAD_NS;
	if (ended_ns)
		span.ended_ns = ended_ns;
	return span;
}

void kc__windows_begin(void)
{
	int64_t now_ns = kc__now_ns();

	kc__shim.adaptive = kc__shim.options.measure == KC_MEASURE_ADAPTIVE && !atomic_load(&kc__shim.unmeasured);
	atomic_store(&kc__shim.resting, KC_MEASURED);
	atomic_store(&kc__shim.not_known_well, 0);
	atomic_store(&kc__shim.not_known_well_ns, 0);
	windows.window = kc__window_begin(now_ns, 0);
	windows.drift = (struct kc__drift){0};
	windows.measured_ns = 0;
	look_anew(false);
	windows.last = windows.before = (struct span){now_ns - LEAD_NS, INT64_MAX};
	windows.off = (struct span){0};
	keep_to_share(false);
	atomic_store(&windows.put, 0);
	windows.passed[0] = windows.passed[1] = 0;
}

static void begin_span(int64_t now_ns)
{
	windows.before = windows.last;
	windows.last = (struct span){now_ns, INT64_MAX};
}

static void begin_window(int64_t now_ns)
{
	windows.off.ended_ns = now_ns;
	if (!kc__cupti_resume()) {
		uint32_t measured = KC_MEASURED;

		atomic_compare_exchange_strong(&kc__shim.unmeasured, &measured, KC_NO_CUPTI);
		measured = KC_MEASURED;
		atomic_compare_exchange_strong(&kc__shim.transfers_unmeasured, &measured, KC_NO_CUPTI);
	}
	begin_span(now_ns);
	atomic_store(&kc__shim.resting, KC_MEASURED);
}

static void act(enum kc__window_state from, int64_t now_ns)
{
	enum kc__window_state to = windows.window.state;

	atomic_store(&kc__shim.not_known_well, 0);
	atomic_store(&kc__shim.not_known_well_ns, 0);
	if (to == KC__MEASURING)
		look_anew(windows.window.learning);
	if (to == KC__DRAINING) {
		windows.last.ended_ns = now_ns;
		windows.last = last();
		atomic_store(&kc__shim.resting, KC_KNOWN_WELL);
		keep_to_share(false);
		windows.end = kc_journal_claimed(kc__shim.journal);
	} else if (to == KC__RESTING) {
		kc__cupti_flush(false);
		kc__cupti_detach();
		windows.off = (struct span){kc__now_ns(), INT64_MAX};
	} else if (from == KC__RESTING) {
		keep_to_share(!windows.window.learning);
		begin_window(now_ns);
	} else if (atomic_load(&kc__shim.window.shares)) { /* it measures on in another way */
		windows.last.ended_ns = now_ns;
		windows.last = last();
		begin_span(now_ns);
		keep_to_share(!windows.window.learning);
	}
}

/* What was learned comes long after the launches that it was learned from: it is none of what is launched. */
void kc__windows_put(void)
{
	atomic_fetch_add(&windows.put, 1);
}

static uint64_t launches(void)
{
	uint64_t put = atomic_load(&windows.put); /* first: each of them has its slot by then */

	return kc_journal_claimed(kc__shim.journal) - put;
}

/* Recording is paused or at its end, or the application measures: CUPTI is as without windows. */
static void stop(int64_t now_ns)
{
	if (windows.window.state != KC__MEASURING)
		begin_window(now_ns);
	windows.window = kc__window_begin(now_ns, launches());
	keep_to_share(false);
}

static uint64_t left_out(void)
{
	uint64_t measured = atomic_load(&kc__shim.window.measured);

	return atomic_load(&kc__shim.window.made) - measured;
}

void kc__windows_step(int64_t now_ns, const struct kc__join *join)
{
	struct kc__window_view view = {
	    .now_ns = now_ns,
	    .left_out = left_out(),
	    .measured = atomic_load(&kc__shim.window.measured) + atomic_load(&kc__shim.window.in_graphs) +
			atomic_load(&kc__shim.not_known_well),
	    .launches = launches(),
	    .unknown = atomic_load(&kc__shim.not_known_well),
	    .unknown_ns = atomic_load(&kc__shim.not_known_well_ns),
	    .awaiting = kc__join_awaits(join, windows.end),
	    .drifts = windows.drifts || windows.kernels_drift,
	};
	enum kc__window_state from = windows.window.state;

	if (!kc__shim.adaptive)
		return;
	if (!kc__recording() || atomic_load(&kc__shim.unmeasured) || atomic_load(&kc__shim.exit_ns))
		stop(now_ns);
	else if (kc__window_step(&windows.window, &view))
		act(from, now_ns);
}

static bool while_off(int64_t launched_ns)
{
	return launched_ns > windows.off.begun_ns && launched_ns < windows.off.ended_ns;
}

void kc__windows_passed(const struct kc_slot *slot)
{
	if (slot->kind == KC_KIND_LAUNCH)
		windows.passed[true] +=
		    slot->launch.unmeasured == KC_KNOWN_WELL && !while_off(slot->launch.launched_ns);
	else if (slot->kind == KC_KIND_TRANSFER)
		windows.passed[false] +=
		    slot->transfer.unmeasured == KC_KNOWN_WELL && !while_off(slot->transfer.launched_ns);
}

bool kc__windows_explain(bool is_kernel)
{
	if (!windows.passed[is_kernel])
		return false;
	windows.passed[is_kernel]--;
	return true;
}

static bool drifts(struct kc__drift *drift, unsigned launches, float error, float width)
{
	bool does = kc__window_drifts(drift, launches, error, width, drift->found_in >= windows.since);

	drift->found_in = does ? windows.turn : 0;
	return does;
}

static void look_at_kernel(struct kc__kernel *kernel, float error, float width)
{
	bool did = kernel->drift.found_in == windows.turn;

	if (kernel->measured_ns * KERNEL_PART > windows.measured_ns)
		windows.kernels_drift +=
		    (uint32_t)drifts(&kernel->drift, KC__DRIFT_OF_KERNEL, error, width) - (uint32_t)did;
}

static void look_for_drift(struct kc__kernel *kernel, const struct kc_launch *launch, int64_t low_ns, int64_t high_ns)
{
	float predicted_ns = (float)launch->solo_ns * launch->slowdown,
	      ns = (float)(launch->measured_end_ns - launch->measured_start_ns);
	float error = logf(fmaxf(ns, 1) / fmaxf(predicted_ns, 1)),
	      width = logf(fmaxf((float)high_ns, 1) / fmaxf((float)low_ns, 1));

	windows.measured_ns += (uint64_t)ns;
	kernel->measured_ns += (uint64_t)ns;
	windows.drifts = drifts(&windows.drift, KC__DRIFT_OF_ALL, error, width);
	look_at_kernel(kernel, error, width);
}

void kc__windows_measured(struct kc__variant *variant, const struct kc_launch *launch, int64_t low_ns, int64_t high_ns)
{
	int64_t ns = launch->measured_end_ns - launch->measured_start_ns;
	bool inside = ns >= low_ns && ns <= high_ns, repeated = launch->novelty == KC_REPEATED;

	if (!repeated && !inside) {
		kc__window_meet(&variant->familiar);
		return;
	}
	if (repeated && atomic_load_explicit(&variant->known_well, memory_order_relaxed))
		look_for_drift(variant->kernel, launch, low_ns, high_ns);
	atomic_store_explicit(&variant->known_well, kc__window_learn(&variant->familiar, inside), memory_order_relaxed);
}

/* In one stream kernels do not overlap. */
bool kc__windows_unclear(const struct kc_launch *launch)
{
	struct span span = last();

	if (launch->predicted_at_ns < span.begun_ns)
		span = windows.before;
	return kc__shim.adaptive && kc__shim.stream_count > 1 &&
	       (launch->measured_start_ns < span.begun_ns + LEAD_NS || launch->measured_end_ns > span.ended_ns);
}
