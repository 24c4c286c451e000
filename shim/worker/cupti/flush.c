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
/* While a launch shape that was never measured is in flight: what else is launched of it is predicted without. For no
 * longer than FLUSH_NEW_MOST_NS after one was first seen, as it may take longer or never be measured; and requests that
 * are earlier for this reason take no more than FLUSH_NEW_SPENT_NS of processor time and one part in FLUSH_NEW_SHARE of
 * the time measured, all of them together. */
#define FLUSH_NEW_NS 1000000ll
#define FLUSH_NEW_MOST_NS 20000000ll
#define FLUSH_NEW_SPENT_NS 20000000ll
#define FLUSH_NEW_SHARE 100

static struct {
	/* Worker */
	int64_t at_ns;     /* of the last request */
	uint64_t launches; /* made until then */
	/* Threads of the application, too */
	_Atomic bool work_ended;        /* since the last request */
	_Atomic uint64_t work_ended_at; /* slots claimed when the worker was told last */
} last;

/* Launch shapes that were never measured */
static struct {
	_Atomic uint64_t seen;
	_Atomic int64_t seen_at_ns; /* the last of them */
	_Atomic bool told;          /* the worker, since the last request */
	/* Worker */
	uint64_t measured;          /* of those seen, or waited for in vain */
	int64_t began_ns, spent_ns; /* the second: processor time of requests that were early */
	int64_t looked_ns;          /* when last nothing was found to wait for, as while a call still loads its code */
} new;

static uint64_t launch_calls(void)
{
	return atomic_load_explicit(&kc__shim.header->counters[KC_COUNT_CALLS], memory_order_relaxed);
}

static bool work_ended(void)
{
	return atomic_load_explicit(&last.work_ended, memory_order_relaxed);
}

static bool new_in_flight(int64_t now_ns)
{
	return atomic_load_explicit(&new.seen, memory_order_relaxed) >
	       new.measured &&now_ns - atomic_load_explicit(&new.seen_at_ns, memory_order_relaxed) <
	       FLUSH_NEW_MOST_NS &&new.spent_ns <= FLUSH_NEW_SPENT_NS + (now_ns - new.began_ns) / FLUSH_NEW_SHARE;
}

static int64_t interval_ns(int64_t now_ns, int64_t measured_ns)
{
	uint64_t launches = launch_calls() - last.launches;

	if (new_in_flight(now_ns))
		return FLUSH_NEW_NS;
	if (work_ended())
		return launches < FLUSH_FEW || launches >= FLUSH_MANY ? FLUSH_ENDED_NS : FLUSH_MIN_NS;
	if (measured_ns / 10 < FLUSH_MIN_NS || launches >= FLUSH_MANY)
		return FLUSH_MIN_NS;
	return measured_ns / 10 > FLUSH_MAX_NS ? FLUSH_MAX_NS : measured_ns / 10;
}

bool kc__flush_is_due(int64_t now_ns, int64_t measured_ns)
{
	return now_ns - last.at_ns >= interval_ns(now_ns, measured_ns);
}

bool kc__flush_is_wanted(int64_t now_ns)
{
	return (work_ended() || (new_in_flight(now_ns) && now_ns - new.looked_ns >= FLUSH_NEW_NS)) &&
	       kc__flush_is_due(now_ns, 0);
}

int64_t kc__flush_wanted_at(int64_t now_ns, int64_t deadline_ns)
{
	int64_t at_ns = (last.at_ns > new.looked_ns ? last.at_ns : new.looked_ns) + FLUSH_NEW_NS;

	return new_in_flight(now_ns) && at_ns < deadline_ns ? at_ns : deadline_ns;
}

void kc__flush_begin(void)
{
	memset((void *)&last, 0, sizeof(last));
	memset((void *)&new, 0, sizeof(new));
	new.began_ns = kc__now_ns();
}

void kc__flush(void)
{
	uint64_t seen = atomic_load_explicit(&new.seen, memory_order_relaxed);
	bool early = new_in_flight(kc__now_ns());
	int64_t took_ns;

	atomic_store(&last.work_ended, false);
	atomic_store(&new.told, false);
	last.launches = launch_calls();
	took_ns = kc__cupti_flush(false);
	last.at_ns = kc__now_ns();
	if (early)
		new.spent_ns += took_ns;
	else
		new.measured = seen;
}

void kc__flush_new_shape(int64_t now_ns)
{
	atomic_store_explicit(&new.seen_at_ns, now_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&new.seen, 1, memory_order_relaxed);
	if (!atomic_exchange(&new.told, true))
		kc__worker_wake();
}

void kc__flush_shape_measured(void)
{
	new.measured += new.measured < atomic_load_explicit(&new.seen, memory_order_relaxed);
}

void kc__flush_not_needed(void)
{
	atomic_store(&last.work_ended, false);
	new.looked_ns = kc__now_ns();
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
