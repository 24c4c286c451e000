/*
 * When the worker asks CUPTI for the records that are finished. Each time costs CUPTI's client a buffer for every
 * thread that has launched since the last time: at a high rate there are FLUSH_MANY launches or more to it, as there
 * are to a buffer (buffers.h).
 */
#include "shim/shim.h"
#include "measuring.h"
#include "shim/worker/worker.h"

#include <string.h>

/* Between two requests: a tenth of the time measured so far, so that a short run learns, too, within these bounds; the
 * shortest at a high rate of launches. */
#define FLUSH_MIN_NS 5000000ll
#define FLUSH_MAX_NS 20000000ll
#define FLUSH_ENDED_NS 2000000ll /* after the application has waited for its work */
#define FLUSH_MANY 64            /* launches since the last request: a high rate ... */
#define FLUSH_FEW 4              /* ... and a low one, in FLUSH_ENDED_NS */

static struct {
	/* Worker */
	int64_t at_ns;     /* of the last request */
	uint64_t launches; /* made until then */
	/* Threads of the application, too */
	_Atomic bool work_ended;        /* since the last request */
	_Atomic uint64_t work_ended_at; /* slots claimed when the worker was told last */
} last;

static uint64_t launch_calls(void)
{
	return atomic_load_explicit(&kc__shim.header->counters[KC_COUNT_CALLS], memory_order_relaxed);
}

static bool work_ended(void)
{
	return atomic_load_explicit(&last.work_ended, memory_order_relaxed);
}

static int64_t interval_ns(int64_t measured_ns)
{
	uint64_t launches = launch_calls() - last.launches;

	if (work_ended())
		return launches < FLUSH_FEW || launches >= FLUSH_MANY ? FLUSH_ENDED_NS : FLUSH_MIN_NS;
	if (measured_ns / 10 < FLUSH_MIN_NS || launches >= FLUSH_MANY)
		return FLUSH_MIN_NS;
	return measured_ns / 10 > FLUSH_MAX_NS ? FLUSH_MAX_NS : measured_ns / 10;
}

bool kc__flush_is_due(int64_t now_ns, int64_t measured_ns)
{
	return now_ns - last.at_ns >= interval_ns(measured_ns);
}

bool kc__flush_is_wanted(int64_t now_ns)
{
	return work_ended() && kc__flush_is_due(now_ns, 0);
}

void kc__flush_begin(void)
{
	memset((void *)&last, 0, sizeof(last));
}

void kc__flush(void)
{
	atomic_store(&last.work_ended, false);
	last.launches = launch_calls();
	kc__cupti_flush(false);
	last.at_ns = kc__now_ns();
}

void kc__flush_not_needed(void)
{
	atomic_store(&last.work_ended, false);
}

void kc__work_ended(void)
{
	uint64_t claimed;

	if (!kc__recording() || kc__thread.depth || atomic_load_explicit(&kc__shim.unmeasured, memory_order_relaxed))
		return;
	claimed = kc_journal_claimed(kc__shim.journal);
	if (atomic_exchange_explicit(&last.work_ended_at, claimed, memory_order_relaxed) != claimed &&
	    !atomic_exchange(&last.work_ended, true))
		kc__worker_wake();
}
