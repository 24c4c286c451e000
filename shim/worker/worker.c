/*
 * The worker: keeps journal segments ready, collects measurements, learns, and writes what is final to the database.
 * While the database cannot be written, slots stay in the journal.
 */
#include "shim/code/reader.h"
#include "shim/calls/graph_plan.h"
#include "ending.h"
#include "gpu_state.h"
#include "keep_learned.h"
#include "shim/worker/join/join.h"
#include "shim/worker/cupti/pace.h"
#include "selection.h"
#include "storing.h"
#include "windows.h"
#include "shim/entry/profiler.h"
#include "shim/tables/ranges.h"
#include "shim/tables/streams.h"
#include "shim/tables/tables.h"
#include "shim/worker/cupti/measuring.h"
#include "threads.h"
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK_BUSY_NS 2000000ll /* while launches come in */
#define TICK_IDLE_NS 20000000ll

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	enum kc__request request, answered;
	int running;
	bool begun;
	bool holds; /* the thread is the journal's holder, or cannot be */
	/* Of the thread. */
	struct kc__join *join;
	struct kc__pace pace;
	_Atomic bool joining;  /* a child forked at this moment finds it half changed */
	_Atomic bool in_cupti; /* collecting the last records */
	bool measuring;
	int64_t started_ns;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Collecting */

static int join_step(void)
{
	int awaited;

	atomic_store(&worker.joining, true);
	awaited = kc__join_step(worker.join);
	atomic_store(&worker.joining, false);
	return awaited;
}

/* All records that have been delivered. */
static void join_all(void)
{
	do
		join_step();
	while (kc__cupti_has_records());
}

static void join_give_up(void)
{
	atomic_store(&worker.joining, true);
	kc__join_give_up(worker.join);
	atomic_store(&worker.joining, false);
}

static void collect(int64_t now_ns)
{
	if (!join_step()) {
		kc__flush_not_needed();
	} else if (worker.measuring && kc__flush_is_due(now_ns, now_ns - worker.started_ns)) {
		kc__flush();
		join_step();
	}
}

static void measure_no_more(void)
{
	if (worker.measuring)
		kc__cupti_detach();
	if (!atomic_load(&kc__shim.unmeasured))
		atomic_store(&kc__shim.unmeasured, KC_AFTER_EXIT);
	if (!atomic_load(&kc__shim.transfers_unmeasured))
		atomic_store(&kc__shim.transfers_unmeasured, KC_AFTER_EXIT);
}

/* The application is about to exit: collects CUPTI's last records. Its threads may
 * go on launching, but the exit does not wait for what they launch from now on. */
static void collect_last(void)
{
	atomic_store(&worker.in_cupti, true);
	measure_no_more();
	kc__join_bound(worker.join, kc_journal_claimed(kc__shim.journal));
	if (worker.measuring)
		kc__cupti_flush(true);
	worker.measuring = false;
	atomic_store(&worker.in_cupti, false);
	join_all();
	join_give_up();
	kc__join_bound(worker.join, UINT64_MAX);
}

static int store_last(void)
{
	join_all();
	join_give_up();
	return kc__storing_all();
}

/* What the worker thread alone uses. */
static void release(void)
{
	kc__join_free(worker.join);
	worker.join = NULL;
	kc__storing_free();
}

/* What is not in the database afterwards stays in the journal, for recovery. Storing
 * twice gives threads that were making a record when the journal was sealed the time
 * to finish it. */
static void end(void)
{
	uint64_t before;
	int error;

	kc__reader_finish();
	join_all();
	join_give_up();
	kc_journal_seal(kc__shim.journal);
	before = atomic_load(&kc__shim.header->counters[KC_COUNT_AFTER_END]);
	error = store_last();
	if (!error)
		error = store_last();
	if (!error) {
		kc__keep_learned_last();
		error = kc__storing_end();
	}
	if (error == -EBUSY)
		kc__say(KC_MESSAGE_EXIT_TIMEOUT, NULL);
	if (error)
		kc__storing_say_lost(error);
	kc__storing_close();
	kc__plans_end();
	kc__close_journal(!error, before);
	atomic_store(&worker.joining, true);
	release();
}

static void answer(enum kc__request request)
{
	if (request == KC__COLLECT)
		collect_last();
	else
		end();
	pthread_mutex_lock(&worker.lock);
	worker.answered = request;
	pthread_cond_broadcast(&worker.done);
	pthread_mutex_unlock(&worker.lock);
	if (request == KC__COLLECT)
		kc__storing_all(); /* while the application's own handlers run */
}

/* The application's profiler has ended. */
static void take_cupti_back(void)
{
	if (!kc__recording() || atomic_load(&kc__shim.exit_ns) ||
	    atomic_load(&kc__shim.unmeasured) != KC_PROFILER_BUSY || !kc__profiler_has_ended())
		return;
	kc__cupti_attach_again(&kc__shim.options);
	worker.measuring = !atomic_load(&kc__shim.unmeasured);
}

/* Until then, or until it is wanted before. Returns false at the end of the time. */
static bool doze(int64_t deadline_ns)
{
	int64_t until_ns = worker.measuring ? kc__flush_wanted_at(kc__now_ns(), deadline_ns) : deadline_ns;
	struct timespec t = {until_ns / 1000000000, until_ns % 1000000000};

	return pthread_cond_timedwait(&worker.wake, &worker.lock, &t) != ETIMEDOUT;
}

static enum kc__request sleep_until(int64_t deadline_ns)
{
	enum kc__request request;

	pthread_mutex_lock(&worker.lock);
	while (worker.request == worker.answered && !(worker.measuring && kc__flush_is_wanted(kc__now_ns())) &&
	       doze(deadline_ns))
		;
	request = worker.request == worker.answered ? KC__NOTHING : worker.request;
	pthread_mutex_unlock(&worker.lock);
	return request;
}

/* No lock is taken: if the worker is just falling asleep, it sleeps until its next tick. */
void kc__worker_wake(void)
{
	pthread_cond_signal(&worker.wake);
}

/* Says what launching threads have met but have no time to say. */
static void say_state(void)
{
	kc__say_journal_memory();
	if (atomic_load_explicit(&kc__shim.second_driver, memory_order_relaxed))
		kc__say(KC_MESSAGE_SECOND_DRIVER, NULL);
	if (atomic_load_explicit(&kc__shim.green_contexts, memory_order_relaxed))
		kc__say(KC_MESSAGE_GREEN_CONTEXT, NULL);
	kc__tables_say_full();
	kc__ranges_say_full();
}

static void share_time(uint64_t not_stored)
{
	uint64_t slots = kc_journal_claimed(kc__shim.journal);

	kc__cupti_read_at_most(kc__pace(&worker.pace, not_stored, slots, kc__join_matched(worker.join)));
}

static void hold_journal(void)
{
	kc_journal_hold(kc__shim.journal);
	pthread_mutex_lock(&worker.lock);
	worker.holds = true;
	pthread_cond_signal(&worker.done);
	pthread_mutex_unlock(&worker.lock);
}

/* Locks are held here: the thread must not be cancelled while it waits. */
static void wait_for_holder(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&worker.lock);
	while (!worker.holds)
		pthread_cond_wait(&worker.done, &worker.lock);
	pthread_mutex_unlock(&worker.lock);
	pthread_setcancelstate(before, NULL);
}

static void wait_for_begin(void)
{
	pthread_mutex_lock(&worker.lock);
	while (!worker.begun)
		pthread_cond_wait(&worker.wake, &worker.lock);
	pthread_mutex_unlock(&worker.lock);
}

/* As the journal's holder: the process may live on, and what it still launches is counted in the journal. */
static _Noreturn void stay(void)
{
	for (;;)
		pause();
}

static void *run(void *unused)
{
	uint64_t claimed = 0, seen = 0;
	enum kc__request request;
	bool busy;

	(void)unused;
	pthread_setname_np(pthread_self(), "kerncast"); /* of another thread, it would open a file */
	kc__thread.depth = 1;                           /* driver calls from here are ours */
	kc__ending_not_for();
	hold_journal();
	wait_for_begin();
	worker.started_ns = kc__now_ns();
	kc__storing_begin(worker.started_ns);
	kc__keep_learned_begin(worker.started_ns);
	do {
		int64_t now_ns = kc__now_ns();

		share_time(kc_journal_prepare(kc__shim.journal));
		take_cupti_back();
		collect(now_ns);
		kc__selection_step(now_ns, kc__join_awaits(worker.join, kc_journal_claimed(kc__shim.journal)));
		kc__windows_step(now_ns, worker.join);
		kc__plans_step();
		kc__reader_remind();
		kc__streams_give_back(kc__join_looked_at(worker.join), now_ns);
		busy = kc__storing_step(now_ns);
		kc__keep_learned_step(now_ns);
		kc__ending_look(now_ns);
		claimed = kc_journal_claimed(kc__shim.journal);
		busy |= kc__cupti_has_records();
		request = sleep_until(busy ? now_ns : kc__now_ns() + (claimed != seen ? TICK_BUSY_NS : TICK_IDLE_NS));
		seen = claimed;
		say_state();
		if (request)
			answer(request);
	} while (request != KC__END);
	stay();
}

static int make_threads(void)
{
	int error = kc__application_begin();

	if (error)
		return error;
	error = kc__make_files_thread(&worker.thread, run, NULL);
	if (error)
		kc__application_end();
	return error;
}

int kc__worker_start(void)
{
	pthread_condattr_t clock;
	int error;

	kc__flush_begin();
	worker.pace = (struct kc__pace){0};
	atomic_store(&worker.in_cupti, false);
	worker.join = kc__join_start(kc__storing_add, kc__storing_has_enough);
	if (!worker.join || kc__storing_start()) {
		release();
		return -ENOMEM;
	}
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&worker.wake, &clock);
	pthread_cond_init(&worker.done, &clock);
	pthread_condattr_destroy(&clock);
	error = make_threads();
	if (error) {
		release();
		return error;
	}
	worker.running = 1;
	pthread_detach(worker.thread); /* it ends with the process */
	kc__gpu_state_begin();
	wait_for_holder();
	return 0;
}

void kc__worker_begin(void)
{
	pthread_mutex_lock(&worker.lock);
	worker.measuring = !atomic_load(&kc__shim.unmeasured);
	kc__windows_begin();
	worker.begun = true;
	pthread_cond_signal(&worker.wake);
	pthread_mutex_unlock(&worker.lock);
}

enum kc_message_code kc__worker_finish(enum kc__request request, int64_t *left_ns)
{
	int64_t deadline_ns = kc__now_ns() + *left_ns;
	struct timespec t = {deadline_ns / 1000000000, deadline_ns % 1000000000};
	int done;

	if (!worker.running)
		return KC_MESSAGE_NONE;
	pthread_mutex_lock(&worker.lock);
	/* A collection that ran out of time still holds the thread: what it has
	 * not stored is recovered from the journal. */
	done = worker.request == worker.answered;
	if (done) {
		worker.request = request;
		pthread_cond_signal(&worker.wake);
		while (worker.answered != request &&
		       pthread_cond_timedwait(&worker.done, &worker.lock, &t) != ETIMEDOUT)
			;
		done = worker.answered == request;
	}
	pthread_mutex_unlock(&worker.lock);
	*left_ns = done ? deadline_ns - kc__now_ns() : 0;
	if (*left_ns < 0)
		*left_ns = 0;
	if (done && request == KC__END)
		worker.running = 0;
	return done                            ? KC_MESSAGE_NONE
	       : atomic_load(&worker.in_cupti) ? KC_MESSAGE_FLUSH_TIMEOUT
					       : KC_MESSAGE_EXIT_TIMEOUT;
}

void kc__worker_forget(void)
{
	bool whole;

	pthread_mutex_init(&worker.lock, NULL);
	worker.running = 0;
	worker.begun = worker.holds = false;
	worker.request = worker.answered = KC__NOTHING;
	whole = !atomic_exchange(&worker.joining, false);
	if (whole)
		kc__join_free(worker.join);
	worker.join = NULL;
	kc__storing_forget(whole);
}
