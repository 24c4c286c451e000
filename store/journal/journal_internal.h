/*
 * The live journal, as its files share it.
 *
 *   kc_journal   tail, limit -> kc__segment of a segment's number -> its slots
 *                spares: segments of the file that are free for use
 *
 * Launching threads read the first two cache lines and the directory's entries;
 * the lock guards the making and freeing of segments; the rest is the worker's.
 */
#ifndef KC_JOURNAL_INTERNAL_H
#define KC_JOURNAL_INTERNAL_H

#include "journal.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* Threads may pass the limit check at the same instant and all claim: the limit
 * stays this many slots short of the last segment's end. Half of it is for the
 * parts of one entry (KC__PARTS_MAX), the rest for threads. */
#define KC__CLAIM_MARGIN_SLOTS 2048u
#define KC__PARTS_MAX (KC__CLAIM_MARGIN_SLOTS / 2)
/* Segments behind the claims that are kept resident; of others the disk's page
 * cache has the pages, not we. 14 MiB. */
#define KC__RESIDENT_SEGMENTS 16u
/* Retired segments that stay mapped: cleaning one is a memset (9 us for 768 KiB
 * measured on ext4; mapping and populating it again 300 us, a punched hole 700 us). */
#define KC__MAPPED_SPARES_MAX 8u
#define KC__IN_MEMORY UINT32_MAX
/* Set in the tail when the journal is sealed: no segment has such a number, so a
 * claim that is under way either precedes the seal or finds no slot. */
#define KC__SEALED (UINT64_C(1) << 63)

struct kc__segment {             /* where the segment of a number is, at number modulo the directory's size */
	_Atomic uint64_t number; /* + 1; 0: none */
	struct kc_slot *slots;
	uint32_t place;    /* in the file; KC__IN_MEMORY: in none */
	uint16_t resident; /* worker: 1: counted in the ring of resident segments, or ahead of it */
	uint16_t stored;   /* worker: all slots before this one are */
};

struct kc__spare {             /* a segment of the file that is free for use */
	struct kc_slot *slots; /* NULL: not mapped */
	uint32_t place;
};

struct kc_journal {
	_Alignas(64) _Atomic uint64_t tail; /* next index to be claimed, or KC__SEALED and more */
	/* Read by launching threads, written when a segment is made. */
	_Alignas(64) _Atomic uint64_t limit; /* claims below this find their segment made */
	struct kc__segment *entries;
	uint64_t entry_mask;
	struct kc_journal_header *header;
	_Atomic uint32_t full;            /* no segment can be made until one is retired */
	_Atomic uint32_t memory_segments; /* in use */
	bool header_in_memory, no_file;
	_Atomic int in_memory_why; /* negative errno of what stopped the file from growing */
	/* Under the lock. Taken by the worker, and by a launching thread that found
	 * no segment ready; never across anything but the making of one segment. */
	_Alignas(64) pthread_mutex_t lock;
	uint64_t made; /* number of the next segment to be made */
	uint64_t first_segment;
	uint32_t segments, segments_max; /* in use */
	uint32_t places;                 /* segments the file has */
	uint32_t mapped_spares, unmapped_spares;
	struct kc__spare mapped[KC__MAPPED_SPARES_MAX];
	uint32_t *unmapped; /* places */
	bool closed;
	/* Worker. */
	_Alignas(64) _Atomic uint64_t first;      /* all before it are stored */
	uint64_t hand;                            /* next segment to be looked at behind a stuck one */
	uint64_t swept;                           /* segments before this one are behind the claims */
	uint64_t resident[KC__RESIDENT_SEGMENTS]; /* numbers + 1, a ring */
	uint32_t resident_next;
	uint64_t end;       /* tail when the journal was sealed */
	uint64_t rate_tail; /* tail at rate_ns */
	int64_t rate_ns;
	double slots_per_ns;
	size_t mapping_bytes; /* of this struct with its tables */
	dev_t device;
	ino_t inode;
	char path[1200];
};

static inline struct kc__segment *kc__segment_of(const struct kc_journal *j, uint64_t segment)
{
	return &j->entries[segment & j->entry_mask];
}

static inline struct kc_slot *kc__slot_at(const struct kc_journal *j, uint64_t index)
{
	uint64_t segment = index / KC_SEGMENT_SLOTS;
	struct kc__segment *e = kc__segment_of(j, segment);

	if (__builtin_expect(atomic_load_explicit(&e->number, memory_order_acquire) != segment + 1, 0))
		return NULL;
	return &e->slots[index % KC_SEGMENT_SLOTS];
}

/* journal_segment.c */
/* Makes the next segment. lock held. 0 or -ENOSPC. */
int kc__segment_make(struct kc_journal *j);
/* Frees a segment for use again. Worker. */
void kc__segment_free(struct kc_journal *j, uint64_t segment);
/* Makes the pages of a segment present, so that launching threads need not; they
 * may be using it already. Worker. */
void kc__segment_populate(struct kc_journal *j, uint64_t segment);
/* Lets go of the pages of a segment in the file; the page cache keeps them. 1: they
 * are gone; 0: retired, or in memory. Worker, or lock held. */
int kc__segment_drop(struct kc_journal *j, uint64_t segment);
/* Opens the file again: the application may close any descriptor, so none is kept. */
int kc__journal_reopen(const struct kc_journal *j);

#endif
