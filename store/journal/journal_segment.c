#include "disk.h"
#include "journal_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Of this many slots in a row, at least one begins in each page of 4 KiB, the smallest size of pages. */
#define SLOTS_PER_TOUCH (4096u / KC_SLOT_BYTES)

static off_t offset_of(uint32_t place)
{
	return (off_t)KC_HEADER_BYTES + (off_t)place * KC_SEGMENT_BYTES;
}

static struct kc_slot *take_mapped(struct kc_journal *j, uint32_t *place)
{
	const struct kc__spare *spare;

	if (!j->mapped_spares)
		return NULL;
	spare = &j->mapped[--j->mapped_spares];
	*place = spare->place;
	return spare->slots;
}

/* A place of the file that is to be mapped. */
struct placing {
	struct kc_journal *j;
	void *slots;
	uint32_t place;
};

static int map_spare(struct placing *p)
{
	struct kc_journal *j = p->j;
	int rc;

	p->place = j->unmapped[j->unmapped_spares - 1];
	rc = kc__disk_map(j->fd, offset_of(p->place), KC_SEGMENT_BYTES, &p->slots);
	if (rc == 0)
		j->unmapped_spares--;
	return rc;
}

static int extend_file(struct placing *p)
{
	struct kc_journal *j = p->j;
	int rc = kc__disk_allocate(j->fd, offset_of(j->places), KC_SEGMENT_BYTES);

	if (rc == 0)
		rc = kc__disk_map(j->fd, offset_of(j->places), KC_SEGMENT_BYTES, &p->slots);
	if (rc == 0)
		p->place = j->places++;
	return rc;
}

static void map_place(void *arg)
{
	struct placing *p = arg;
	int rc = p->j->unmapped_spares ? map_spare(p) : extend_file(p);

	if (rc)
		atomic_store(&p->j->in_memory_why, rc);
}

static struct kc_slot *take_from_file(struct kc_journal *j, uint32_t *place)
{
	struct placing p = {.j = j};

	if (j->fd < 0 || (!j->unmapped_spares && j->places == j->segments_max))
		return NULL;
	if (kc__journal_do(j, map_place, &p))
		return NULL;
	*place = p.place;
	return p.slots;
}

/* The header tells recovery what is missing in the file. */
static struct kc_slot *take_memory(struct kc_journal *j, uint64_t segment, uint32_t *place)
{
	struct kc_memory_segment *m = j->header->memory, *end = m + KC_MEMORY_SEGMENTS_MAX;
	void *slots;

	while (m < end && m->number)
		m++;
	if (m == end || kc__disk_map(-1, 0, KC_SEGMENT_BYTES, &slots))
		return NULL;
	atomic_store(&m->launches, 0);
	atomic_store(&m->transfers, 0);
	atomic_store(&m->number, segment + 1);
	*place = KC__IN_MEMORY + (uint32_t)(m - j->header->memory);
	atomic_fetch_add(&j->memory_segments, 1);
	return slots;
}

/* From the file, if it has room. */
static struct kc_slot *take_place(struct kc_journal *j, uint64_t segment, uint32_t *place)
{
	bool is_new = !j->mapped_spares && !j->unmapped_spares;
	struct kc_slot *slots = take_mapped(j, place);

	if (!slots)
		slots = take_from_file(j, place);
	if (slots && !is_new)
		memset(slots, 0, KC_SEGMENT_BYTES);
	return slots ? slots : take_memory(j, segment, place);
}

static void enter(struct kc_journal *j, uint64_t segment, struct kc_slot *slots, uint32_t place)
{
	struct kc__segment *e = kc__segment_of(j, segment);

	e->slots = slots;
	e->place = place;
	e->resident = 0;
	e->stored = 0;
	atomic_store_explicit(&e->populated, false, memory_order_relaxed);
	atomic_store_explicit(&e->number, segment + 1, memory_order_release);
}

static void set_limit(struct kc_journal *j)
{
	atomic_store_explicit(&j->limit, j->made * KC_SEGMENT_SLOTS - KC__CLAIM_MARGIN_SLOTS, memory_order_release);
}

int kc__segment_make(struct kc_journal *j)
{
	struct kc_slot *slots = NULL;
	uint32_t place = 0;

	if (!j->closed && j->segments + j->owed < j->segments_max && j->made - j->first_segment <= j->entry_mask)
		slots = take_place(j, j->made, &place);
	if (!slots) {
		atomic_store(&j->full, 1);
		return -ENOSPC;
	}
	enter(j, j->made, slots, place);
	j->made++;
	j->segments++;
	set_limit(j);
	atomic_store(&j->full, 0);
	return 0;
}

bool kc__segments_suffice(const struct kc_journal *j, uint64_t slots)
{
	uint64_t bound = j->made + j->segments_max - j->segments - j->owed;
	uint64_t directory = j->first_segment + j->entry_mask - KC__AHEAD_SEGMENTS_MAX - 1;

	return atomic_load(&j->tail) + slots + KC__CLAIM_MARGIN_SLOTS <=
	       (bound < directory ? bound : directory) * KC_SEGMENT_SLOTS;
}

void kc__segments_skip(struct kc_journal *j, uint64_t first, uint64_t end)
{
	uint64_t made = j->made, segment = (first + KC_SEGMENT_SLOTS - 1) / KC_SEGMENT_SLOTS;

	end /= KC_SEGMENT_SLOTS;
	if (segment >= end)
		return;
	if (j->made < end)
		j->made = end;
	for (; segment < end; segment++) {
		struct kc__segment *e = kc__segment_of(j, segment);

		j->owed++;
		if (segment >= made)
			continue;
		atomic_store_explicit(&e->number, 0, memory_order_release);
		enter(j, j->made, e->slots, e->place);
		if (e->place >= KC__IN_MEMORY)
			atomic_store(&j->header->memory[e->place - KC__IN_MEMORY].number, j->made + 1);
		j->made++;
	}
	set_limit(j);
}

int kc__segment_make_owed(struct kc_journal *j, uint64_t segment)
{
	struct kc_slot *slots = NULL;
	uint32_t place = 0;

	pthread_mutex_lock(&j->lock);
	j->owed--;
	slots = take_place(j, segment, &place);
	if (slots) {
		enter(j, segment, slots, place);
		j->segments++;
	}
	pthread_mutex_unlock(&j->lock);
	if (!slots)
		return -ENOSPC;
	kc__segment_populate(j, segment);
	return 0;
}

void kc__segment_free(struct kc_journal *j, uint64_t segment)
{
	struct kc__segment *e = kc__segment_of(j, segment);

	pthread_mutex_lock(&j->lock);
	atomic_store_explicit(&e->number, 0, memory_order_release);
	if (e->place >= KC__IN_MEMORY) {
		munmap(e->slots, KC_SEGMENT_BYTES);
		atomic_fetch_sub(&j->memory_segments, 1);
		atomic_store(&j->header->memory[e->place - KC__IN_MEMORY].number, 0);
	} else if (j->mapped_spares < KC__MAPPED_SPARES_MAX) {
		j->mapped[j->mapped_spares++] = (struct kc__spare){e->slots, e->place};
	} else {
		munmap(e->slots, KC_SEGMENT_BYTES);
		j->unmapped[j->unmapped_spares++] = e->place;
	}
	j->segments--;
	atomic_store(&j->full, 0);
	pthread_mutex_unlock(&j->lock);
}

void kc__segment_populate(struct kc_journal *j, uint64_t segment)
{
	struct kc__segment *e = kc__segment_of(j, segment);

	/* Other threads may be writing there: a write that changes nothing. */
	if (madvise(e->slots, KC_SEGMENT_BYTES, MADV_POPULATE_WRITE))
		for (uint32_t i = 0; i < KC_SEGMENT_SLOTS; i += SLOTS_PER_TOUCH)
			atomic_fetch_or_explicit(&e->slots[i].state, 0, memory_order_relaxed);
	atomic_store_explicit(&e->populated, true, memory_order_relaxed);
}

__attribute__((cold)) void kc__slots_populate(struct kc_journal *j, uint64_t index)
{
	struct kc__segment *e = kc__segment_of(j, index / KC_SEGMENT_SLOTS);
	size_t from = index % KC_SEGMENT_SLOTS * KC_SLOT_BYTES, page = from & ~((size_t)sysconf(_SC_PAGESIZE) - 1);
	int saved_errno = errno;

	if (atomic_load_explicit(&e->populated, memory_order_relaxed))
		return;
	madvise((char *)e->slots + page, from - page + KC__SLOTS_PER_POPULATE * KC_SLOT_BYTES, MADV_POPULATE_WRITE);
	errno = saved_errno;
}

int kc__segment_drop(struct kc_journal *j, uint64_t segment)
{
	struct kc__segment *e = kc__segment_of(j, segment);

	if (atomic_load_explicit(&e->number, memory_order_acquire) != segment + 1 || e->place >= KC__IN_MEMORY)
		return 0;
	madvise(e->slots, KC_SEGMENT_BYTES, MADV_DONTNEED);
	return 1;
}
