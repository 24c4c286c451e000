#include "journal_internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* Segments prepared ahead of the claims: enough for so long at the recent rate. */
#define AHEAD_NS 50000000
#define RATE_INTERVAL_NS 1000000
/* Segments behind a slot that is not stored yet that one kc_journal_retire() examines. */
#define RETIRE_AHEAD 8u

/* ---- Launch path ---- */

/* Keeps a backlog out of our memory while the worker is delayed. The caller holds the lock. */
static int make_and_drop(struct kc_journal *j)
{
	int rc = kc__segment_make(j);

	if (rc == 0 && j->made > KC__WRITTEN_SEGMENTS)
		kc__segment_drop(j, j->made - 1 - KC__WRITTEN_SEGMENTS);
	return rc;
}

/* No segment is ready, so the launching thread makes one. The application's errno is
 * kept, and a cancelled thread must not end while it holds the lock. */
static __attribute__((noinline, cold)) int make_room(struct kc_journal *j, uint64_t end)
{
	int rc = 0, saved_errno = errno, cancel;

	if (atomic_load(&j->full))
		return -ENOSPC;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&j->lock);
	while (rc == 0 && atomic_load_explicit(&j->limit, memory_order_relaxed) < end)
		rc = make_and_drop(j);
	pthread_mutex_unlock(&j->lock);
	pthread_setcancelstate(cancel, &cancel);
	errno = saved_errno;
	return rc;
}

static struct kc_memory_segment *memory_of(const struct kc_journal *j, uint64_t index)
{
	uint32_t place = kc__segment_of(j, index / KC_SEGMENT_SLOTS)->place;

	return __builtin_expect(place >= KC__IN_MEMORY, 0) ? &j->header->memory[place - KC__IN_MEMORY] : NULL;
}

static void count_in_memory(struct kc_memory_segment *memory, uint32_t kind, uint32_t by)
{
	if (kind == KC_KIND_LAUNCH)
		atomic_fetch_add_explicit(&memory->launches, by, memory_order_relaxed);
	else if (kind == KC_KIND_TRANSFER)
		atomic_fetch_add_explicit(&memory->transfers, by, memory_order_relaxed);
}

void kc_journal_for_transfer(struct kc_journal *j, const struct kc_slot *slot)
{
	struct kc_memory_segment *memory = memory_of(j, slot->index);

	if (!memory)
		return;
	count_in_memory(memory, KC_KIND_LAUNCH, -1u);
	count_in_memory(memory, KC_KIND_TRANSFER, 1);
}

void kc_journal_not_asked(struct kc_journal *j, const struct kc_slot *slot)
{
	struct kc_memory_segment *memory = memory_of(j, slot->index);

	if (memory)
		count_in_memory(memory, slot->kind, -1u);
}

/* Fetches the lines of the slot behind, which nobody has written to since its page was made: the next launch finds them
 * in this processor's caches. */
static inline void expect_next(const struct kc_slot *slot)
{
	enum { LINE_BYTES = 64 };

	for (uint32_t i = 0; i < KC_SLOT_BYTES; i += LINE_BYTES)
		__builtin_prefetch((const char *)(slot + 1) + i, 1);
}

/* NULL: sealed, or threads claim more than KC__CLAIM_MARGIN_SLOTS at this instant. */
static inline struct kc_slot *begin_slot(struct kc_journal *j, uint64_t index, uint32_t kind)
{
	struct kc_slot *slot = kc__slot_at(j, index);
	struct kc_memory_segment *memory;

	if (__builtin_expect(!slot, 0))
		return NULL;
	if (__builtin_expect(index % KC__SLOTS_PER_POPULATE == 0, 0))
		kc__slots_populate(j, index);
	expect_next(slot);
	slot->kind = kind;
	slot->index = index;
	memory = memory_of(j, index);
	if (memory)
		count_in_memory(memory, kind, 1);
	return slot;
}

/* Since this thread has looked at the limit, room was claimed that goes beyond what is made, and this slot lies behind
 * it. It waits until the room's claim is complete. */
static __attribute__((noinline, cold)) struct kc_slot *begin_behind_room(struct kc_journal *j, uint64_t index,
									 uint32_t kind)
{
	if (index & KC__SEALED || make_room(j, index + 1))
		return NULL;
	return begin_slot(j, index, kind);
}

__attribute__((hot)) struct kc_slot *kc_journal_claim(struct kc_journal *j, uint32_t kind)
{
	uint64_t index = atomic_load_explicit(&j->tail, memory_order_relaxed);
	struct kc_slot *slot;

	if (__builtin_expect(index >= atomic_load_explicit(&j->limit, memory_order_acquire), 0) &&
	    make_room(j, index + 1))
		return NULL;
	index = atomic_fetch_add_explicit(&j->tail, 1, memory_order_relaxed);
	slot = begin_slot(j, index, kind);
	return __builtin_expect(slot != NULL, 1) ? slot : begin_behind_room(j, index, kind);
}

static void put_part(struct kc_slot *slot, const void *payload, size_t bytes, size_t part, size_t parts)
{
	size_t room = sizeof(slot->part.payload), offset = part * room;
	size_t n = bytes - offset < room ? bytes - offset : room;

	slot->part.index = (uint16_t)part;
	slot->part.count = (uint16_t)parts;
	slot->part.bytes = (uint32_t)n;
	if (n > 0)
		memcpy(slot->part.payload, (const char *)payload + offset, n);
	kc_journal_commit(slot, KC_SLOT_RETURNED);
}

/* Claims slots in a row, all or none. The caller holds the lock. */
static int claim_row(struct kc_journal *j, uint64_t count, uint64_t *first)
{
	int rc = 0;

	while (rc == 0 && atomic_load(&j->tail) + count > atomic_load(&j->limit))
		rc = make_and_drop(j);
	if (rc == 0)
		*first = atomic_fetch_add_explicit(&j->tail, count, memory_order_relaxed);
	return rc;
}

/* The launches that the worker will make in these slots. What is not made yet is lost with the slot before it. */
static void count_room_in_memory(struct kc_journal *j, uint64_t index, uint64_t count)
{
	struct kc_memory_segment *before = memory_of(j, index);

	for (index++; count;) {
		uint64_t rest = KC_SEGMENT_SLOTS - index % KC_SEGMENT_SLOTS, n = count < rest ? count : rest;
		struct kc_memory_segment *memory = kc__slot_at(j, index) ? memory_of(j, index) : before;

		if (memory)
			count_in_memory(memory, KC_KIND_LAUNCH, (uint32_t)n);
		index += n;
		count -= n;
	}
}

/* The caller holds the lock. */
static int claim_room(struct kc_journal *j, uint64_t count, uint64_t *index)
{
	int rc = 0;

	while (rc == 0 && atomic_load(&j->tail) >= atomic_load(&j->limit))
		rc = make_and_drop(j);
	if (rc || !kc__segments_suffice(j, count + 1))
		return -ENOSPC;
	*index = atomic_fetch_add_explicit(&j->tail, count + 1, memory_order_relaxed);
	kc__segments_skip(j, *index + 1, *index + 1 + count);
	return 0;
}

struct kc_slot *kc_journal_claim_with_room(struct kc_journal *j, uint32_t kind, uint64_t count)
{
	int rc, saved_errno = errno, cancel;
	uint64_t index = 0;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&j->lock);
	rc = claim_room(j, count, &index);
	if (rc == 0)
		count_room_in_memory(j, index, count);
	pthread_mutex_unlock(&j->lock);
	pthread_setcancelstate(cancel, &cancel);
	errno = saved_errno;
	return rc ? NULL : begin_slot(j, index, kind);
}

int kc_journal_put_at(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes, uint64_t *first)
{
	size_t room = sizeof(((struct kc_part *)0)->payload);
	size_t parts = bytes > 0 ? (bytes + room - 1) / room : 1;
	int rc, cancel;

	if (parts > KC__PARTS_MAX)
		return -EMSGSIZE;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&j->lock);
	rc = claim_row(j, parts, first);
	for (size_t i = 0; rc == 0 && i < parts; i++) {
		struct kc_slot *slot = kc__slot_at(j, *first + i);

		if (!slot)
			continue;
		slot->kind = kind;
		slot->index = *first + i;
		put_part(slot, payload, bytes, i, parts);
	}
	pthread_mutex_unlock(&j->lock);
	pthread_setcancelstate(cancel, &cancel);
	return rc ? rc : (int)parts;
}

int kc_journal_put(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes)
{
	uint64_t first;
	int parts = kc_journal_put_at(j, kind, payload, bytes, &first);

	return parts < 0 ? parts : 0;
}

int kc_journal_note(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes)
{
	struct kc_slot *slot = bytes <= sizeof(slot->part.payload) ? kc_journal_claim(j, kind) : NULL;

	if (!slot)
		return -ENOSPC;
	put_part(slot, payload, bytes, 0, 1);
	return 0;
}

/* ---- Worker ---- */

/* Adds a segment to the ring of resident ones; the one that has been there for longest is
 * dropped. */
static void keep_pages(struct kc_journal *j, uint64_t segment)
{
	uint64_t *place = &j->resident[j->resident_next++ % KC__RESIDENT_SEGMENTS];

	kc__segment_of(j, segment)->resident = 1;
	if (*place && kc__segment_drop(j, *place - 1))
		kc__segment_of(j, *place - 1)->resident = 0;
	*place = segment + 1;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t segments_ahead(struct kc_journal *j, uint64_t tail)
{
	int64_t now = now_ns(), elapsed = now - j->rate_ns;
	double wanted;

	if (elapsed >= RATE_INTERVAL_NS) {
		double recent = (double)(tail - j->rate_tail) / (double)elapsed;

		/* Rises at once and falls slowly, as bursts tend to recur. */
		j->slots_per_ns = recent > j->slots_per_ns ? recent : 0.9 * j->slots_per_ns + 0.1 * recent;
		j->rate_tail = tail;
		j->rate_ns = now;
	}
	wanted = j->slots_per_ns * AHEAD_NS / KC_SEGMENT_SLOTS + 2;
	return wanted > KC__AHEAD_SEGMENTS_MAX ? KC__AHEAD_SEGMENTS_MAX : (uint64_t)wanted;
}

uint64_t kc_journal_prepare(struct kc_journal *j)
{
	uint64_t tail = kc_journal_claimed(j), current = tail / KC_SEGMENT_SLOTS;
	uint64_t ahead = segments_ahead(j, tail), segment;
	int rc = 0;

	while (rc == 0) {
		pthread_mutex_lock(&j->lock);
		segment = j->made;
		rc = segment < current + 1 + ahead ? kc__segment_make(j) : 1;
		pthread_mutex_unlock(&j->lock);
		if (rc == 0)
			kc__segment_populate(j, segment);
	}
	for (; j->swept + 1 < current; j->swept++)
		if (kc__slot_at(j, j->swept * KC_SEGMENT_SLOTS) && !kc__segment_of(j, j->swept)->resident)
			keep_pages(j, j->swept);
	return tail - kc_journal_first(j);
}

/* Of what is made in memory, the launches are counted there. */
static void count_made(struct kc_journal *j, uint64_t before, uint64_t segment, uint32_t slots)
{
	struct kc_memory_segment *from = memory_of(j, before), *to = memory_of(j, segment * KC_SEGMENT_SLOTS);

	if (from)
		count_in_memory(from, KC_KIND_LAUNCH, -slots);
	if (to)
		count_in_memory(to, KC_KIND_LAUNCH, slots);
}

/* The segment in which the room ends is not owed, as it has other slots as well; whoever claims one of these makes it.
 * So it is not there if nobody has. */
static void make_end(struct kc_journal *j, uint64_t before, uint64_t end)
{
	uint64_t segment;
	int rc = 1;

	pthread_mutex_lock(&j->lock);
	segment = j->made;
	if (segment * KC_SEGMENT_SLOTS < end)
		rc = kc__segment_make(j);
	pthread_mutex_unlock(&j->lock);
	if (rc == 0)
		count_made(j, before, segment, (uint32_t)(end - segment * KC_SEGMENT_SLOTS));
}

void kc_journal_make_room(struct kc_journal *j, const struct kc_slot *slot, uint64_t count)
{
	uint64_t segment = slot->index / KC_SEGMENT_SLOTS + 1, end = (slot->index + 1 + count) / KC_SEGMENT_SLOTS;

	for (; segment < end; segment++)
		if (kc__segment_make_owed(j, segment) == 0)
			count_made(j, slot->index, segment, KC_SEGMENT_SLOTS);
	make_end(j, slot->index, slot->index + 1 + count);
}

uint64_t kc_journal_first(const struct kc_journal *j)
{
	return atomic_load_explicit(&j->first, memory_order_relaxed);
}

uint64_t kc_journal_claimed(const struct kc_journal *j)
{
	uint64_t tail = atomic_load_explicit(&j->tail, memory_order_acquire);

	return tail & KC__SEALED ? j->end : tail;
}

struct kc_slot *kc_journal_at(const struct kc_journal *j, uint64_t index)
{
	struct kc_slot *slot = kc__slot_at(j, index);
	struct kc__segment *e = kc__segment_of(j, index / KC_SEGMENT_SLOTS);

	if (slot && !e->resident)
		keep_pages((struct kc_journal *)j, index / KC_SEGMENT_SLOTS);
	return slot;
}

void kc_journal_touched(struct kc_journal *j, const struct kc_slot *slot)
{
	kc_journal_at(j, slot->index);
}

int kc_journal_on_disk(const struct kc_journal *j, uint64_t index)
{
	const struct kc__segment *e = kc__segment_of(j, index / KC_SEGMENT_SLOTS);

	return kc__slot_at(j, index) && e->place < KC__IN_MEMORY;
}

void kc_journal_memory_counted(struct kc_journal *j)
{
	for (uint32_t i = 0; i < KC_MEMORY_SEGMENTS_MAX; i++) {
		atomic_store(&j->header->memory[i].launches, 0);
		atomic_store(&j->header->memory[i].transfers, 0);
	}
}

/* How many slots at the beginning of a segment are stored; of a freed segment, all. */
static uint32_t stored_slots(struct kc_journal *j, uint64_t segment)
{
	struct kc_slot *slots = kc_journal_at(j, segment * KC_SEGMENT_SLOTS);
	struct kc__segment *e = kc__segment_of(j, segment);

	if (!slots)
		return KC_SEGMENT_SLOTS;
	while (e->stored < KC_SEGMENT_SLOTS &&
	       atomic_load_explicit(&slots[e->stored].state, memory_order_acquire) == KC_SLOT_STORED)
		e->stored++;
	return e->stored;
}

/* Frees a segment if all of its slots are stored. 1: it is free. */
static int try_free(struct kc_journal *j, uint64_t segment)
{
	if (stored_slots(j, segment) < KC_SEGMENT_SLOTS)
		return 0;
	if (kc__slot_at(j, segment * KC_SEGMENT_SLOTS))
		kc__segment_free(j, segment);
	return 1;
}

void kc_journal_retire(struct kc_journal *j)
{
	uint64_t segment = kc_journal_first(j) / KC_SEGMENT_SLOTS, tail = kc_journal_claimed(j);
	uint64_t current = tail / KC_SEGMENT_SLOTS, first;

	while (segment < current && try_free(j, segment))
		segment++;
	first = segment * KC_SEGMENT_SLOTS + stored_slots(j, segment);
	atomic_store_explicit(&j->first, first < tail ? first : tail, memory_order_relaxed);
	pthread_mutex_lock(&j->lock);
	j->first_segment = segment;
	pthread_mutex_unlock(&j->lock);
	for (uint32_t i = 0; i < RETIRE_AHEAD && segment + 1 < current; i++) {
		if (j->hand <= segment || j->hand >= current)
			j->hand = segment + 1;
		try_free(j, j->hand++);
	}
}
