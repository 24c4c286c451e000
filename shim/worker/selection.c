#include "selection.h"
#include "shim/tables/streams.h"
#include "shim/worker/cupti/measuring.h"
#include "threads.h"

#include <regex.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS 100000000ll /* between two looks for the file, and for the signal's handler */
/* CUPTI measures from so many launches before --after N is reached: no launch waits until it does. */
#define LEAD_LAUNCHES 65536u
/* What was recorded before a pause is awaited for so long before CUPTI stops measuring. */
#define AWAIT_NS 10000000000ll
#define SETTLE_NS 100000000ll /* a launch that was admitted before has been made by then */

enum phase { BEFORE, WITHIN, OVER }; /* of --after and --for */

static struct {
	_Atomic int phase;
	_Atomic bool open;        /* the file is there, and the signal has come */
	_Atomic uint32_t signals; /* that have come; every second one stops */
	_Atomic uint32_t reason;  /* enum kc_counter of what is launched while paused */
	_Atomic uint64_t passed;  /* launches while paused */
	_Atomic uint64_t records; /* of kernels and graphs that may come without a launch */
	_Atomic int64_t left;     /* launches that --for N still asks for */
	_Atomic bool measuring;   /* CUPTI is to measure */
	bool windows;             /* recording may be paused */
	bool handling, taken;     /* the signal is handled by us; by the application */
	bool matching;
	regex_t regex;
	/* Worker */
	bool there; /* the file, at looked_ns */
	int64_t begun_ns, within_ns, looked_ns;
	int64_t paused_ns;     /* 0: it is not */
	uint32_t left_out;     /* slots, since segments were last retired */
	uint64_t explained[2]; /* records without a launch: of transfers, of kernels */
} selection;

static const struct kc_options *options(void)
{
	return &kc__shim.options;
}

static uint64_t counted(enum kc_counter counter)
{
	return atomic_load_explicit(&kc__shim.header->counters[counter], memory_order_relaxed);
}

static void count(enum kc_counter counter, uint64_t n)
{
	atomic_fetch_add_explicit(&kc__shim.header->counters[counter], n, memory_order_relaxed);
}

/* The signal */

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add_explicit(&selection.signals, 1, memory_order_relaxed);
}

static bool handled_by_us(void)
{
	struct sigaction now;

	return sigaction(options()->toggle, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
	       now.sa_handler == on_signal;
}

/* Only where nobody else has said what is to happen. */
static void take_signal(void)
{
	struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;

	sigemptyset(&ours.sa_mask);
	if (!options()->toggle || sigaction(options()->toggle, NULL, &before))
		return;
	selection.handling = !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL &&
			     sigaction(options()->toggle, &ours, NULL) == 0;
	selection.taken = !selection.handling;
}

/* In a forked child the signal does what it did before us. */
void kc__selection_forget(void)
{
	if (selection.handling && handled_by_us())
		signal(options()->toggle, SIG_DFL);
	selection.handling = selection.matching = false;
}

static void look_for_handler(void)
{
	if (selection.handling && !handled_by_us()) {
		selection.handling = false;
		selection.taken = true;
	}
	if (selection.taken)
		kc__say(KC_MESSAGE_SIGNAL_TAKEN, NULL);
}

/* Phases */

static bool is_there(void)
{
	return !options()->gate[0] || access(options()->gate, F_OK) == 0;
}

static bool is_open(void)
{
	return selection.there &&
	       (!options()->toggle || atomic_load_explicit(&selection.signals, memory_order_relaxed) % 2);
}

static enum kc_counter why_not(void)
{
	int phase = atomic_load(&selection.phase);

	return phase == BEFORE ? KC_COUNT_NOT_ASKED_BEFORE
	       : phase == OVER ? KC_COUNT_NOT_ASKED_AFTER
			       : KC_COUNT_NOT_ASKED_STOPPED;
}

static enum kc__stage recording(void)
{
	return options()->lasting.launches ? KC__COUNTED : KC__ON;
}

static bool change(enum kc__stage from, enum kc__stage to)
{
	int expected = (int)from;

	return atomic_compare_exchange_strong(&kc__shim.stage, &expected, (int)to);
}

static bool is_asked(void)
{
	return atomic_load(&selection.phase) == WITHIN && atomic_load(&selection.open);
}

static void begin_matching(void)
{
	if (selection.matching)
		regfree(&selection.regex);
	selection.matching =
	    options()->kernel[0] && regcomp(&selection.regex, options()->kernel, REG_EXTENDED | REG_NOSUB) == 0;
	kc__shim.choosing = selection.matching || options()->every > 1;
	atomic_store(&kc__shim.header->counters[KC_COUNT_CHOSEN], kc__shim.choosing);
}

enum kc__stage kc__selection_begin(void)
{
	const struct kc_extent *after = &options()->after, *lasting = &options()->lasting;

	begin_matching();
	take_signal();
	selection.windows =
	    after->ns || after->launches || lasting->ns || lasting->launches || options()->gate[0] || options()->toggle;
	selection.there = is_there();
	atomic_store(&selection.phase, after->ns || after->launches ? BEFORE : WITHIN);
	atomic_store(&selection.signals, 0);
	atomic_store(&selection.open, is_open());
	atomic_store(&selection.passed, 0);
	atomic_store(&selection.records, 0);
	atomic_store(&selection.left, (int64_t)lasting->launches);
	atomic_store(&selection.reason, why_not());
	memset(selection.explained, 0, sizeof(selection.explained));
	atomic_store(&selection.measuring, true);
	selection.begun_ns = selection.within_ns = kc__now_ns();
	selection.looked_ns = selection.paused_ns = 0;
	selection.left_out = 0;
	return is_asked() ? recording() : KC__PAUSED;
}

/* Launch path */

void kc__selection_expects(uint64_t records)
{
	atomic_fetch_add(&selection.records, records);
}

void kc__passed_over(uint64_t kernels, uint64_t records)
{
	uint64_t wanted = options()->after.launches;
	uint64_t passed = atomic_fetch_add(&selection.passed, kernels) + kernels;
	int before = BEFORE;

	kc__selection_expects(records);
	count(atomic_load_explicit(&selection.reason, memory_order_relaxed), kernels);
	/* The timeline is told of nothing before this, so there is nothing to begin anew. */
	if (wanted && passed >= wanted && atomic_load(&selection.measuring) &&
	    atomic_compare_exchange_strong(&selection.phase, &before, WITHIN)) {
		atomic_store(&selection.reason, KC_COUNT_NOT_ASKED_STOPPED);
		if (atomic_load(&selection.open))
			change(KC__PAUSED, recording());
	}
}

bool kc__selection_takes(uint64_t kernels, uint64_t records)
{
	int64_t left = atomic_fetch_sub(&selection.left, (int64_t)kernels);

	if (left > (int64_t)kernels)
		return true;
	atomic_store(&selection.phase, OVER);
	atomic_store(&selection.reason, KC_COUNT_NOT_ASKED_AFTER);
	change(KC__COUNTED, KC__PAUSED);
	if (left > 0)
		return true;
	kc__passed_over(kernels, records);
	return false;
}

bool kc__selection_skips(struct kc__kernel *kernel)
{
	uint32_t made;

	if (kernel->every == KC__NEVER) {
		count(KC_COUNT_NOT_ASKED_KERNEL, 1);
		return true;
	}
	made = atomic_fetch_add_explicit(&kernel->made, 1, memory_order_relaxed);
	if (made % kernel->every == 0)
		return false;
	count(KC_COUNT_NOT_ASKED_EVERY, 1);
	return true;
}

/* Kernels */

struct question {
	const char *name;
	bool matches;
};

static void match(void *arg)
{
	struct question *question = arg;

	question->matches = regexec(&selection.regex, question->name, 0, NULL, 0) == 0;
}

/* The C library's matcher may need more stack than the launching thread has. */
uint32_t kc__selection_every(const char *name)
{
	struct question question = {name, true};

	if (selection.matching && kc__on_own_thread(match, &question) == 0 && !question.matches)
		return KC__NEVER;
	return options()->every > 1 ? options()->every : 0;
}

/* Worker */

bool kc__selection_explains(bool is_kernel)
{
	uint64_t may_come = is_kernel ? atomic_load(&selection.records) : counted(KC_COUNT_TRANSFERS_NOT_ASKED);

	if (selection.explained[is_kernel] >= may_come)
		return false;
	selection.explained[is_kernel]++;
	return true;
}

/* What was launched meanwhile, and when that ends, is not known: as if the application had waited for it. */
static void begin_timelines_anew(void)
{
	for (int i = 0; i < kc__shim.device_count; i++) {
		struct kc__device *device = &kc__shim.devices[i];
		int64_t now_ns = kc__now_ns();

		if (!device->timeline)
			continue;
		kc__lock(&device->lock);
		now_ns = kc__in_order(device, now_ns);
		if (kc_timeline_device_idle(device->timeline, now_ns))
			kc__put_stream_call(device, NULL, KC_CALL_DEVICE_IDLE, now_ns, 0);
		kc__unlock(&device->lock);
	}
	kc__events_happened();
}

/* CUPTI is on before the first launch is recorded, and off when the last one has been measured: a kernel that runs at
 * that moment would get a wrong end when it is on again (github.com/pytorch/kineto/pull/1105). */
static void measure(bool on)
{
	if (on == atomic_load(&selection.measuring) || atomic_load(&kc__shim.unmeasured))
		return;
	if (!on) {
		kc__cupti_flush(false);
		kc__cupti_detach();
	} else if (!kc__cupti_resume()) {
		atomic_store(&kc__shim.unmeasured, KC_NO_CUPTI);
		atomic_store(&kc__shim.transfers_unmeasured, KC_NO_CUPTI);
	}
	atomic_store(&selection.measuring, on);
}

static bool begins_soon(void)
{
	uint64_t wanted = options()->after.launches;

	return atomic_load(&selection.phase) == BEFORE && wanted &&
	       atomic_load(&selection.passed) + LEAD_LAUNCHES >= wanted;
}

static void pause_recording(int64_t now_ns, bool awaiting)
{
	int64_t since_ns;

	atomic_store(&selection.reason, why_not());
	if (!change(KC__ON, KC__PAUSED))
		change(KC__COUNTED, KC__PAUSED);
	if (!selection.paused_ns)
		selection.paused_ns = now_ns;
	since_ns = now_ns - selection.paused_ns;
	measure(begins_soon() || since_ns < SETTLE_NS || (awaiting && since_ns < AWAIT_NS));
}

static void resume_recording(void)
{
	selection.paused_ns = 0;
	if (!kc__paused())
		return;
	measure(true);
	begin_timelines_anew();
	change(KC__PAUSED, recording());
}

static void follow_clock(int64_t now_ns)
{
	const struct kc_extent *after = &options()->after, *lasting = &options()->lasting;
	int before = BEFORE, within = WITHIN;

	if (after->ns && now_ns - selection.begun_ns >= after->ns)
		atomic_compare_exchange_strong(&selection.phase, &before, WITHIN);
	if (atomic_load(&selection.phase) == BEFORE)
		selection.within_ns = now_ns;
	if (lasting->ns && now_ns - selection.within_ns >= lasting->ns)
		atomic_compare_exchange_strong(&selection.phase, &within, OVER);
}

static void look(int64_t now_ns)
{
	if (now_ns - selection.looked_ns >= LOOK_NS) {
		selection.looked_ns = now_ns;
		selection.there = is_there();
		look_for_handler();
	}
	atomic_store(&selection.open, is_open());
}

void kc__selection_leaves_out(struct kc_slot *slot)
{
	kc_journal_commit(slot, KC_SLOT_STORED);
	selection.left_out++;
}

void kc__selection_step(int64_t now_ns, bool awaiting)
{
	int stage = atomic_load(&kc__shim.stage);

	if (selection.left_out >= KC_SEGMENT_SLOTS) {
		selection.left_out = 0;
		kc_journal_retire(kc__shim.journal);
	}
	if (!selection.windows || (stage != KC__ON && stage != KC__COUNTED && stage != KC__PAUSED) ||
	    atomic_load(&kc__shim.exit_ns))
		return;
	follow_clock(now_ns);
	look(now_ns);
	if (is_asked())
		resume_recording();
	else
		pause_recording(now_ns, awaiting);
}
