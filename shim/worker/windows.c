#include "windows.h"
#include "shim/worker/cupti/measuring.h"
#include "shim/worker/join/join.h"

/* Kernels that were launched while CUPTI rested may run at the beginning of a window. */
#define LEAD_NS 10000000ll

struct span {
	int64_t begun_ns, ended_ns; /* launches made meanwhile are measured */
};

/* Of the worker. */
static struct {
	struct kc__window window;
	struct span last, before;
	struct span off;            /* CUPTI was, the last time: there are no records of launches made meanwhile */
	uint64_t end;               /* of the slots of launches that are to be measured; while draining */
	uint32_t measured, outside; /* struct kc__window_view */
	uint64_t passed[2]; /* transfers, kernels for which records may come though they were not to be measured */
} windows;

void kc__windows_begin(void)
{
	int64_t now_ns = kc__now_ns();

	kc__shim.adaptive = kc__shim.options.measure == KC_MEASURE_ADAPTIVE && !atomic_load(&kc__shim.unmeasured);
	atomic_store(&kc__shim.resting, KC_MEASURED);
	atomic_store(&kc__shim.not_known_well, 0);
	atomic_store(&kc__shim.not_known_well_ns, 0);
	windows.window = kc__window_begin(now_ns, 0);
	windows.measured = windows.outside = 0;
	windows.last = windows.before = (struct span){now_ns - LEAD_NS, INT64_MAX};
	windows.off = (struct span){0};
	windows.passed[0] = windows.passed[1] = 0;
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
	windows.before = windows.last;
	windows.last = (struct span){now_ns, INT64_MAX};
	atomic_store(&kc__shim.resting, KC_MEASURED);
}

static void act(enum kc__window_state from, int64_t now_ns)
{
	enum kc__window_state to = windows.window.state;

	atomic_store(&kc__shim.not_known_well, 0);
	atomic_store(&kc__shim.not_known_well_ns, 0);
	if (to == KC__MEASURING)
		windows.measured = windows.outside = 0;
	if (to == KC__DRAINING) {
		windows.last.ended_ns = now_ns;
		atomic_store(&kc__shim.resting, KC_KNOWN_WELL);
		windows.end = kc_journal_claimed(kc__shim.journal);
	} else if (to == KC__RESTING) {
		kc__cupti_flush(false);
		kc__cupti_detach();
		windows.off = (struct span){kc__now_ns(), INT64_MAX};
	} else if (from == KC__RESTING) {
		begin_window(now_ns);
	}
}

/* Recording is paused or at its end, or the application measures: CUPTI is as without windows. */
static void stop(int64_t now_ns)
{
	if (windows.window.state != KC__MEASURING)
		begin_window(now_ns);
	windows.window = kc__window_begin(now_ns, kc_journal_claimed(kc__shim.journal));
	windows.measured = windows.outside = 0;
}

void kc__windows_step(int64_t now_ns, const struct kc__join *join)
{
	struct kc__window_view view = {
	    .now_ns = now_ns,
	    .launches = kc_journal_claimed(kc__shim.journal),
	    .unknown = atomic_load(&kc__shim.not_known_well),
	    .unknown_ns = atomic_load(&kc__shim.not_known_well_ns),
	    .awaiting = kc__join_awaits(join, windows.end),
	    .measured = windows.measured,
	    .outside = windows.outside,
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

void kc__windows_measured(struct kc__variant *variant, bool inside)
{
	if (atomic_load_explicit(&variant->known_well, memory_order_relaxed)) {
		windows.measured++;
		windows.outside += !inside;
		atomic_store_explicit(&variant->kernel->has_changed,
				      kc__window_changes(&variant->kernel->familiar, inside), memory_order_relaxed);
	}
	atomic_store_explicit(&variant->known_well, kc__window_learn(&variant->familiar, inside), memory_order_relaxed);
}

/* In one stream kernels do not overlap. */
bool kc__windows_unclear(const struct kc_launch *launch)
{
	const struct span *span = launch->predicted_at_ns < windows.last.begun_ns ? &windows.before : &windows.last;

	return kc__shim.adaptive && kc__shim.stream_count > 1 &&
	       (launch->measured_start_ns < span->begun_ns + LEAD_NS || launch->measured_end_ns > span->ended_ns);
}
