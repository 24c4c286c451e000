#include "disk.h"
#include "journal_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Segments that are kept in memory when the disk is full: 28 MiB. */
#define MEMORY_SEGMENTS_MAX 32u
/* Of this many slots in a row, at least one begins in each page of 4 KiB, the smallest size of pages. */
#define SLOTS_PER_TOUCH (4096u / KC_SLOT_BYTES)

static off_t offset_of(uint32_t place)
{
	return (off_t)KC_HEADER_BYTES + (off_t)place * KC_SEGMENT_BYTES;
}

int kc__journal_reopen(const struct kc_journal *j)
{
	return kc__disk_reopen(j->path, j->device, j->inode);
}

/* Opens the file. -1: it cannot be opened, and in_memory_why says why. */
static int open_file(struct kc_journal *j)
{
	int fd = kc__journal_reopen(j);

	if (fd < 0)
		atomic_store(&j->in_memory_why, fd);
	return fd;
}

static struct kc_slot *take_spare(struct kc_journal *j, uint32_t *place)
{
	struct kc_slot *slots;
	int fd;

	if (j->mapped_spares > 0) {
		struct kc__spare *spare = &j->mapped[--j->mapped_spares];

		*place = spare->place;
		slots = spare->slots;
	} else {
		if (j->unmapped_spares == 0)
			return NULL;
		fd = open_file(j);
		if (fd < 0)
			return NULL;
		*place = j->unmapped[j->unmapped_spares - 1];
		slots = kc__disk_map(fd, offset_of(*place), KC_SEGMENT_BYTES);
		close(fd);
		if (!slots)
			return NULL;
		j->unmapped_spares--;
	}
	memset(slots, 0, KC_SEGMENT_BYTES);
	return slots;
}

static struct kc_slot *extend_file(struct kc_journal *j, uint32_t *place)
{
	struct kc_slot *slots = NULL;
	int fd, rc;

	if (j->no_file || j->places == j->segments_max)
		return NULL;
	fd = open_file(j);
	if (fd < 0)
		return NULL;
	rc = kc__disk_allocate(fd, offset_of(j->places), KC_SEGMENT_BYTES);
	if (rc == 0 && !(slots = kc__disk_map(fd, offset_of(j->places), KC_SEGMENT_BYTES)))
		rc = -ENOMEM;
	close(fd);
	if (slots)
		*place = j->places++;
	else
		atomic_store(&j->in_memory_why, rc);
	return slots;
}

static struct kc_slot *take_memory(struct kc_journal *j, uint32_t *place)
{
	struct kc_slot *slots;

	if (atomic_load(&j->memory_segments) >= MEMORY_SEGMENTS_MAX)
		return NULL;
	slots = kc__disk_map(-1, 0, KC_SEGMENT_BYTES);
	if (slots) {
		*place = KC__IN_MEMORY;
		atomic_fetch_add(&j->memory_segments, 1);
	}
	return slots;
}

int kc__segment_make(struct kc_journal *j)
{
	struct kc__segment *e = kc__segment_of(j, j->made);
	struct kc_slot *slots = NULL;
	uint32_t place = 0;

	if (!j->closed && j->segments < j->segments_max && j->made - j->first_segment <= j->entry_mask) {
		slots = take_spare(j, &place);
		if (!slots)
			slots = extend_file(j, &place);
		if (!slots)
			slots = take_memory(j, &place);
	}
	if (!slots) {
		atomic_store(&j->full, 1);
		return -ENOSPC;
	}
	e->slots = slots;
	e->place = place;
	e->resident = 0;
	e->stored = 0;
	atomic_store_explicit(&e->number, j->made + 1, memory_order_release);
	j->made++;
	j->segments++;
	atomic_store_explicit(&j->limit, j->made * KC_SEGMENT_SLOTS - KC__CLAIM_MARGIN_SLOTS, memory_order_release);
	atomic_store(&j->full, 0);
	return 0;
}

void kc__segment_free(struct kc_journal *j, uint64_t segment)
{
	struct kc__segment *e = kc__segment_of(j, segment);

	pthread_mutex_lock(&j->lock);
	atomic_store_explicit(&e->number, 0, memory_order_release);
	if (e->place == KC__IN_MEMORY) {
		munmap(e->slots, KC_SEGMENT_BYTES);
		atomic_fetch_sub(&j->memory_segments, 1);
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
	struct kc_slot *slots = kc__segment_of(j, segment)->slots;

	if (madvise(slots, KC_SEGMENT_BYTES, MADV_POPULATE_WRITE) == 0)
		return;
	/* Other threads may be writing there: a write that changes nothing. */
	for (uint32_t i = 0; i < KC_SEGMENT_SLOTS; i += SLOTS_PER_TOUCH)
		atomic_fetch_or_explicit(&slots[i].state, 0, memory_order_relaxed);
}

int kc__segment_drop(struct kc_journal *j, uint64_t segment)
{
	struct kc__segment *e = kc__segment_of(j, segment);

	if (atomic_load_explicit(&e->number, memory_order_acquire) != segment + 1 || e->place == KC__IN_MEMORY)
		return 0;
	madvise(e->slots, KC_SEGMENT_BYTES, MADV_DONTNEED);
	return 1;
}
