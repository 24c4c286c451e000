#include "shim/calls/launch.h"
#include "ready.h"
#include "storing.h"

#include "store/database/store.h"
#include "store/past/snapshot.h"
#include "store/past/snapshot_row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STORE_NS 200000000ll   /* longest wait before a batch is written ... */
#define STORE_SLOTS 512        /* ... or this many: nothing is learned while it is written ... */
#define STORE_FIRST_SLOTS 8192 /* ... nor while the database is opened, which takes longer */
#define BATCH_SLOTS 2048u      /* written at a time, in about 5 ms */
#define LEDGER_NS 1000000000ll /* counters of a running process, and whether its journal is still there */
#define RETRY_NS 1000000000ll  /* after the database could not be written */
#define READY_MAX (1u << 17)
#define ENOUGH_SLOTS (1u << 15)

static struct {
	struct kc_store *store;
	struct kc__ready ready;
	int64_t stored_ns, ledger_ns, retry_ns;
} storing;

void kc__storing_add(struct kc_slot *slot)
{
	kc__ready_add(&storing.ready, slot);
}

/* A child that is forked at this moment finds either no store or a whole one. */
static struct kc_store *take_store(void)
{
	struct kc_store *store = storing.store;

	storing.store = NULL;
	return store;
}

static int open_at_path(struct kc_store **store)
{
	int64_t row;
	char why[512];
	int error = kc_store_open(kc__shim.options.db, KC_STORE_WRITE, store, why, sizeof(why));

	/* What was not there when it was looked for may be somebody else's by now. */
	if (!error && kc__shim.options.unnamed && (error = kc_store_own(kc__shim.options.db, why, sizeof(why)))) {
		kc_store_close(*store);
		*store = NULL;
	}
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

	if (kc_store_settle(storing.store))
		kc_store_abandon(take_store());
	old = storing.store;
	error = open_at_path(&fresh);
	if (error)
		return error;
	if (old && kc_store_carry(old, fresh) == -EBUSY) { /* after another error the rows still count */
		kc_store_close(fresh);
		return -EBUSY;
	}
	kc_store_abandon(take_store());
	storing.store = fresh;
	kc__say(KC_MESSAGE_DATABASE_MOVED, NULL);
	return 0;
}

static int open_store(void)
{
	if (!storing.store)
		return open_at_path(&storing.store);
	return kc_store_hold(storing.store) == KC_STORE_MOVED ? follow() : 0;
}

static int commit_or_roll_back(int error)
{
	if (!error)
		error = kc_store_commit(storing.store);
	if (error)
		kc_store_rollback(storing.store);
	return error;
}

static int write_batch(struct kc_slot **slots, uint32_t n)
{
	int error = kc_store_begin(storing.store);

	for (uint32_t i = 0; !error && i < n; i++) {
		error = kc_store_slot(storing.store, slots[i]);
		kc_journal_touched(kc__shim.journal, slots[i]);
	}
	return commit_or_roll_back(error);
}

/* Messages that a full journal had no room for. */
static int write_messages(void)
{
	uint64_t index = kc_journal_claimed(kc__shim.journal);
	int error = kc_store_begin(storing.store);
	struct kc_slot slot;

	for (uint32_t code = 1; !error && code < KC_MESSAGE_COUNT; code++)
		if (kc__say_unwritten(code, &slot)) {
			slot.index = index++;
			error = kc_store_slot(storing.store, &slot);
		}
	return commit_or_roll_back(error);
}

static void store_failed(int error)
{
	bool moved = storing.store && !kc_store_intact(storing.store); /* followed at the next try */

	if (error != -EBUSY && !moved)
		kc__say(KC_MESSAGE_DATABASE, strerror(-error));
	storing.retry_ns = kc__now_ns() + RETRY_NS;
}

static void batch_written(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct kc_slot *slot = storing.ready.slots[storing.ready.written + i];

		kc_journal_commit(slot, KC_SLOT_STORED);
		kc_journal_touched(kc__shim.journal, slot);
	}
	kc__ready_done(&storing.ready, n);
	storing.stored_ns = kc__now_ns();
	kc__ready_find(&storing.ready, kc__shim.journal);
	kc_journal_retire(kc__shim.journal);
}

static uint32_t left(void)
{
	return kc__ready_left(&storing.ready);
}

/* 0: a batch has been written, or there is none. */
static int store_batch(void)
{
	uint32_t n = left() < BATCH_SLOTS ? left() : BATCH_SLOTS;
	int error;

	if (!n)
		return 0;
	error = open_store();
	if (!error)
		error = write_batch(storing.ready.slots + storing.ready.written, n);
	if (error)
		store_failed(error);
	else
		batch_written(n);
	return error;
}

bool kc__storing_has_enough(void)
{
	return left() > ENOUGH_SLOTS;
}

int kc__storing_all(void)
{
	int error = 0;

	kc__ready_find(&storing.ready, kc__shim.journal);
	while (!error && left())
		error = store_batch();
	return error;
}

bool kc__storing_step(int64_t now_ns)
{
	if (now_ns < storing.retry_ns)
		return false;
	kc__ready_find(&storing.ready, kc__shim.journal);
	if (left() >= (storing.store ? STORE_SLOTS : STORE_FIRST_SLOTS) || kc__ready_searches(&storing.ready) ||
	    (left() && now_ns - storing.stored_ns > STORE_NS))
		store_batch();
	if (now_ns - storing.ledger_ns > LEDGER_NS) {
		storing.ledger_ns = now_ns;
		kc_journal_look(kc__shim.journal);
		if (storing.store && kc_store_intact(storing.store))
			kc_store_process_end(storing.store, kc__shim.header, "");
	}
	return now_ns >= storing.retry_ns && left() >= STORE_SLOTS;
}

/* A graph's launch whose nodes have no slots yet. */
static bool is_unmade(const struct kc_slot *slot)
{
	uint32_t state = atomic_load(&((struct kc_slot *)slot)->state);

	return slot->kind == KC_KIND_GRAPH_LAUNCH && state != KC_SLOT_EMPTY && state < KC_SLOT_FINAL &&
	       !slot->graph_launch.made;
}

static void count_lost_slot(const struct kc_slot *slot)
{
	const struct kc_stream_call *call = (const void *)slot->part.payload;

	if (slot->kind == KC_KIND_LAUNCH)
		kc__count(KC_COUNT_DROPPED);
	if (is_unmade(slot)) {
		atomic_fetch_add(&kc__shim.header->counters[KC_COUNT_DROPPED], slot->graph_launch.kernels);
		atomic_fetch_add(&kc__shim.header->counters[KC_COUNT_TRANSFERS_DROPPED], slot->graph_launch.copies);
	}
	if (slot->kind == KC_KIND_LAUNCH && slot->launch.measured_end_ns)
		kc__count(KC_COUNT_CUPTI_LOST);
	if (slot->kind == KC_KIND_TRANSFER)
		kc__count(KC_COUNT_TRANSFERS_DROPPED);
	if (slot->kind == KC_KIND_EVENT)
		kc__count(KC_COUNT_EVENTS_DROPPED);
	if (slot->kind == KC_KIND_STREAM_CALL && atomic_load(&slot->state) >= KC_SLOT_RETURNED)
		kc__count(KC_COUNT_DROPPED_CALLS(call->kind));
}

/* Counts what is neither in the database nor in the journal's file; returns how many launches. */
static uint64_t count_lost(void)
{
	uint64_t end = kc_journal_claimed(kc__shim.journal), lost = 0;
	bool deleted = kc_journal_deleted(kc__shim.journal);

	for (uint64_t i = kc_journal_first(kc__shim.journal); i < end; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);

		if (!slot || kc_slot_not_asked(slot) || (!deleted && kc_journal_on_disk(kc__shim.journal, i)) ||
		    atomic_load_explicit(&slot->state, memory_order_relaxed) >= KC_SLOT_STORED)
			continue;
		count_lost_slot(slot);
		lost += is_unmade(slot) ? slot->graph_launch.kernels : slot->kind == KC_KIND_LAUNCH;
	}
	kc_journal_memory_counted(kc__shim.journal);
	return lost;
}

/* Writes the messages that are in no file. */
static int write_lost_messages(void)
{
	uint64_t end = kc_journal_claimed(kc__shim.journal);
	int error = kc_store_begin(storing.store);

	for (uint64_t i = kc_journal_first(kc__shim.journal); !error && i < end; i++) {
		struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);
		uint32_t state = slot ? atomic_load(&slot->state) : KC_SLOT_EMPTY;

		if (slot && slot->kind == KC_KIND_MESSAGE && (state == KC_SLOT_RETURNED || state == KC_SLOT_FINAL))
			error = kc_store_slot(storing.store, slot);
	}
	if (!error)
		error = kc_store_process_end(storing.store, kc__shim.header, "exit");
	return commit_or_roll_back(error);
}

void kc__storing_say_lost(int error)
{
	uint64_t lost = count_lost();
	char detail[64];

	if (!lost)
		return;
	kc_journal_look(kc__shim.journal);
	kc__say_journal_memory();
	snprintf(detail, sizeof(detail), "%llu launch%s", (unsigned long long)lost, lost == 1 ? "" : "es");
	kc__say(KC_MESSAGE_LOST, detail);
	if (error != -EBUSY && !open_store() && !write_lost_messages())
		write_messages();
}

int kc__storing_end(void)
{
	int error = open_store();

	if (!error)
		error = write_messages();
	if (!error)
		error = kc_store_process_end(storing.store, kc__shim.header, "exit");
	return error;
}

int kc__storing_learned(const struct kc_snapshot_carried *carried, struct kc_snapshot_maker *maker)
{
	int error = open_store();

	if (!error)
		return kc_snapshot_store(storing.store, carried, maker);
	kc_snapshot_drop(maker);
	return error;
}

int kc__storing_start(void)
{
	void *slots = mmap(NULL, READY_MAX * sizeof(*storing.ready.slots), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (slots == MAP_FAILED)
		return -ENOMEM;
	storing.ready = (struct kc__ready){.slots = slots, .capacity = READY_MAX};
	return 0;
}

void kc__storing_begin(int64_t now_ns)
{
	storing.stored_ns = storing.ledger_ns = storing.retry_ns = now_ns;
}

void kc__storing_free(void)
{
	if (storing.ready.slots)
		munmap(storing.ready.slots, READY_MAX * sizeof(*storing.ready.slots));
	storing.ready = (struct kc__ready){0};
}

void kc__storing_close(void)
{
	kc_store_close(take_store());
}

void kc__storing_forget(bool list)
{
	if (list)
		kc__storing_free();
	storing.ready = (struct kc__ready){0};
	if (kc_store_forked_inside())
		storing.store = NULL;
	else if (storing.store)
		kc_store_leave_to_parent(take_store());
}
