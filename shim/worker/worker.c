/*
 * The worker, the library's only permanent thread: keeps journal segments ready,
 * collects measurements, learns, and writes what is final to the database. While
 * the database cannot be written, slots stay in the journal.
 */
#include "shim/tables/loaded_code.h"
#include "shim/calls/launch.h"
#include "join.h"

#include "store/database/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TICK_BUSY_NS 2000000ll /* while launches come in */
#define TICK_IDLE_NS 20000000ll
#define STORE_NS 200000000ll   /* longest wait before a batch is written ... */
#define STORE_SLOTS 512        /* ... or this many: nothing is learned while it is written ... */
#define STORE_FIRST_SLOTS 8192 /* ... nor while the database is opened, which takes longer */
#define LEDGER_NS 1000000000ll /* counters of a running process, and whether its journal is still there */
#define RETRY_NS 1000000000ll  /* after the database could not be written */
#define READY_MAX (1u << 17)

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
	_Atomic bool joining;  /* a child forked at this moment finds it half changed */
	_Atomic bool in_cupti; /* collecting the last records */
	struct kc_store *store;
	struct kc_slot **ready;
	uint32_t ready_count;
	bool overflowed; /* there are final slots that are not in the list */
	bool measuring;
	int64_t started_ns, stored_ns, ledger_ns, retry_ns;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_ready(struct kc_slot *slot)
{
	if (worker.ready_count < READY_MAX)
		worker.ready[worker.ready_count++] = slot;
	else
		worker.overflowed = true;
}

/* Storing */

/* A child that is forked at this moment finds either no store or a whole one. */
static struct kc_store *take_store(void)
{
	struct kc_store *store = worker.store;

	worker.store = NULL;
	return store;
}

static int open_at_path(struct kc_store **store)
{
	int64_t row;
	char why[512];
	int error = kc_store_open(kc__shim.options.db, KC_STORE_WRITE, store, why, sizeof(why));

	if (error) {
		if (error != -EBUSY)
			kc__say(KC_MESSAGE_DATABASE, why);
		return error;
	}
	error = kc_store_process(*store, kc__shim.header, &row);
	if (error) {
		kc_store_close(*store);
		*store = NULL;
	} else {
		atomic_store(&kc__shim.header->process_row, row);
	}
	return error;
}

/* The database is no longer at its path: begins a new one there, with the entries of the old one that later rows
 * refer to. Where none can be made, the old one is kept: its folder may have been moved only for a moment. */
static int follow(void)
{
	struct kc_store *old, *fresh = NULL;
	int error;

	if (kc_store_settle(worker.store))
		kc_store_abandon(take_store());
	old = worker.store;
	error = open_at_path(&fresh);
	if (error)
		return error;
	if (old && kc_store_carry(old, fresh) == -EBUSY) { /* after another error the rows still count */
		kc_store_close(fresh);
		return -EBUSY;
	}
	kc_store_abandon(take_store());
	worker.store = fresh;
	kc__say(KC_MESSAGE_DATABASE_MOVED, NULL);
	return 0;
}

static int open_store(void)
{
	enum kc_store_hold hold = worker.store ? kc_store_hold(worker.store) : KC_STORE_CLOSED;

	if (hold == KC_STORE_HELD)
		return 0;
	if (hold == KC_STORE_MOVED)
		return follow();
	if (worker.store) {
		kc__say(KC_MESSAGE_FOREIGN_DESCRIPTOR, NULL);
		kc_store_abandon(take_store());
	}
	return open_at_path(&worker.store);
}

static int write_batch(struct kc_slot **slots, uint32_t n)
{
	int error = kc_store_begin(worker.store);

	for (uint32_t i = 0; !error && i < n; i++)
		error = kc_store_slot(worker.store, slots[i]);
	if (!error)
		error = kc_store_commit(worker.store);
	if (error)
		kc_store_rollback(worker.store);
	return error;
}

/* Messages that a full journal had no room for. */
static int write_messages(void)
{
	uint64_t index = kc_journal_claimed(kc__shim.journal);
	int error = kc_store_begin(worker.store);
	struct kc_slot slot;

	for (uint32_t code = 1; !error && code < KC_MESSAGE_COUNT; code++)
		if (kc__say_unwritten(code, &slot)) {
			slot.index = index++;
			error = kc_store_slot(worker.store, &slot);
		}
	if (!error)
		error = kc_store_commit(worker.store);
	if (error)
		kc_store_rollback(worker.store);
	return error;
}

static void store_failed(int error)
{
	bool foreign = worker.store && !kc_store_intact(worker.store); /* opened again at the next try */

	if (error != -EBUSY && !foreign)
		kc__say(KC_MESSAGE_DATABASE, strerror(-error));
	worker.retry_ns = kc__now_ns() + RETRY_NS;
}

/* Finds final slots that did not fit into the list, in a pass over the journal. */
static void find_ready(void)
{
	uint64_t end = kc_journal_claimed(kc__shim.journal);

	worker.overflowed = false;
	for (uint64_t i = kc_journal_first(kc__shim.journal); i < end; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);

		if (slot && atomic_load_explicit(&slot->state, memory_order_relaxed) == KC_SLOT_FINAL)
			on_ready(slot);
	}
}

/* 0: nothing final is left outside the database. */
static int store_ready(void)
{
	int error;

	do {
		if (!worker.ready_count && !worker.overflowed)
			return 0;
		error = open_store();
		if (!error)
			error = write_batch(worker.ready, worker.ready_count);
		if (error) {
			store_failed(error);
			return error;
		}
		for (uint32_t i = 0; i < worker.ready_count; i++)
			kc_journal_commit(worker.ready[i], KC_SLOT_STORED);
		worker.ready_count = 0;
		worker.stored_ns = kc__now_ns();
		if (worker.overflowed)
			find_ready();
	} while (worker.ready_count);
	kc_journal_retire(kc__shim.journal);
	return 0;
}

static void store_when_due(int64_t now_ns)
{
	if (now_ns < worker.retry_ns)
		return;
	if (worker.ready_count >= (worker.store ? STORE_SLOTS : STORE_FIRST_SLOTS) || worker.overflowed ||
	    (worker.ready_count && now_ns - worker.stored_ns > STORE_NS))
		store_ready();
	if (now_ns - worker.ledger_ns > LEDGER_NS) {
		worker.ledger_ns = now_ns;
		kc_journal_look(kc__shim.journal);
		if (worker.store && kc_store_intact(worker.store))
			kc_store_process_end(worker.store, kc__shim.header, "");
	}
}

/* Collecting */

static int join_step(void)
{
	int awaited;

	atomic_store(&worker.joining, true);
	awaited = kc__join_step(worker.join);
	atomic_store(&worker.joining, false);
	return awaited;
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
	join_step();
	join_give_up();
	kc__join_bound(worker.join, UINT64_MAX);
}

/* Counts what is neither in the database nor in the journal's file; returns how many launches. */
static uint64_t count_lost(void)
{
	uint64_t end = kc_journal_claimed(kc__shim.journal), lost = 0;
	bool deleted = kc_journal_deleted(kc__shim.journal);

	for (uint64_t i = kc_journal_first(kc__shim.journal); i < end; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);

		if (!slot || (!deleted && kc_journal_on_disk(kc__shim.journal, i)) ||
		    atomic_load_explicit(&slot->state, memory_order_relaxed) >= KC_SLOT_STORED)
			continue;
		if (slot->kind == KC_KIND_TRANSFER)
			kc__count(KC_COUNT_TRANSFERS_DROPPED);
		if (slot->kind != KC_KIND_LAUNCH)
			continue;
		kc__count(KC_COUNT_DROPPED);
		if (slot->launch.measured_end_ns)
			kc__count(KC_COUNT_CUPTI_LOST);
		lost++;
	}
	return lost;
}

/* Writes the messages that are in no file. */
static int write_lost_messages(void)
{
	uint64_t end = kc_journal_claimed(kc__shim.journal);
	int error = kc_store_begin(worker.store);

	for (uint64_t i = kc_journal_first(kc__shim.journal); !error && i < end; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);
		uint32_t state = slot ? atomic_load(&slot->state) : KC_SLOT_EMPTY;

		if (slot && slot->kind == KC_KIND_MESSAGE && (state == KC_SLOT_RETURNED || state == KC_SLOT_FINAL))
			error = kc_store_slot(worker.store, slot);
	}
	if (!error)
		error = kc_store_process_end(worker.store, kc__shim.header, "exit");
	if (!error)
		error = kc_store_commit(worker.store);
	if (error)
		kc_store_rollback(worker.store);
	return error;
}

/* Says what is lost with the process, and stores the counts if the database still has room for a few rows. */
static void say_lost(int error)
{
	uint64_t lost = count_lost();
	char detail[64];

	if (!lost)
		return;
	snprintf(detail, sizeof(detail), "%llu launch%s", (unsigned long long)lost, lost == 1 ? "" : "es");
	kc__say(KC_MESSAGE_LOST, detail);
	if (error != -EBUSY && !open_store() && !write_lost_messages())
		write_messages();
}

static int store_last(void)
{
	join_step();
	join_give_up();
	return store_ready();
}

static int store_end(void)
{
	int error = open_store();

	if (!error)
		error = write_messages();
	if (!error)
		error = kc_store_process_end(worker.store, kc__shim.header, "exit");
	return error;
}

/* What the worker thread alone uses. */
static void release(void)
{
	kc__join_free(worker.join);
	if (worker.ready)
		munmap(worker.ready, READY_MAX * sizeof(*worker.ready));
	worker.join = NULL;
	worker.ready = NULL;
}

/* What is not in the database afterwards stays in the journal, for recovery. Storing
 * twice gives threads that were making a record when the journal was sealed the time
 * to finish it. */
static void end(void)
{
	uint64_t before;
	int error;

	kc__code_finish();
	join_step();
	join_give_up();
	kc_journal_seal(kc__shim.journal);
	before = atomic_load(&kc__shim.header->counters[KC_COUNT_AFTER_END]);
	error = store_last();
	if (!error)
		error = store_last();
	if (!error)
		error = store_end();
	if (error == -EBUSY)
		kc__say(KC_MESSAGE_EXIT_TIMEOUT, NULL);
	if (error)
		say_lost(error);
	kc_store_close(take_store());
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
		store_ready(); /* while the application's own handlers run */
}

static enum kc__request sleep_until(int64_t deadline_ns)
{
	struct timespec t = {deadline_ns / 1000000000, deadline_ns % 1000000000};
	enum kc__request request;

	pthread_mutex_lock(&worker.lock);
	while (worker.request == worker.answered && !(worker.measuring && kc__flush_is_wanted(kc__now_ns())) &&
	       pthread_cond_timedwait(&worker.wake, &worker.lock, &t) != ETIMEDOUT)
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
	kc__tables_say_full();
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

	(void)unused;
	kc__thread.depth = 1; /* driver calls from here are ours */
	hold_journal();
	wait_for_begin();
	worker.started_ns = worker.stored_ns = worker.ledger_ns = kc__now_ns();
	do {
		int64_t now_ns = kc__now_ns();

		kc_journal_prepare(kc__shim.journal);
		collect(now_ns);
		store_when_due(now_ns);
		kc__code_step();
		claimed = kc_journal_claimed(kc__shim.journal);
		request = sleep_until(kc__now_ns() + (claimed != seen ? TICK_BUSY_NS : TICK_IDLE_NS));
		seen = claimed;
		say_state();
		if (request)
			answer(request);
	} while (request != KC__END);
	stay();
}

int kc__worker_start(void)
{
	pthread_condattr_t clock;
	int error;

	worker.join = kc__join_start(on_ready);
	worker.ready = mmap(NULL, READY_MAX * sizeof(*worker.ready), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (worker.ready == MAP_FAILED)
		worker.ready = NULL;
	if (!worker.join || !worker.ready) {
		release();
		return -ENOMEM;
	}
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&worker.wake, &clock);
	pthread_cond_init(&worker.done, &clock);
	pthread_condattr_destroy(&clock);
	error = kc__make_thread(&worker.thread, run, NULL);
	if (error) {
		release();
		return error;
	}
	worker.running = 1;
	pthread_setname_np(worker.thread, "kerncast");
	pthread_detach(worker.thread); /* it ends with the process */
	wait_for_holder();
	return 0;
}

void kc__worker_begin(void)
{
	pthread_mutex_lock(&worker.lock);
	worker.measuring = !atomic_load(&kc__shim.unmeasured);
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
	pthread_mutex_init(&worker.lock, NULL);
	worker.running = 0;
	worker.begun = worker.holds = false;
	worker.request = worker.answered = KC__NOTHING;
	if (!atomic_exchange(&worker.joining, false))
		release();
	worker.join = NULL;
	worker.ready = NULL;
	worker.ready_count = 0;
	if (worker.store)
		kc_store_abandon(take_store());
}
