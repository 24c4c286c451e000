/*
 * The live journal: what the files of this folder share.
 *
 *   kc_journal   the next index to be claimed, the directory of segments, and
 *                spares: segments of the file that are free for use
 *   kc__segment  an entry of that directory: where the slots of one segment are
 *
 * Launching threads read the first two cache lines and the directory's entries.
 * The lock guards making and freeing segments. The rest belongs to the worker.
 */
#ifndef KC_JOURNAL_INTERNAL_H
#define KC_JOURNAL_INTERNAL_H

#include "journal.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* Several threads may pass the check of the limit at the same instant and then all
 * claim slots, so the limit is this far before the end of the last segment. Half of
 * the margin is for the parts of one entry (KC__PARTS_MAX), the rest for threads,
 * each of which claims one slot. */
#define KC__CLAIM_MARGIN_SLOTS 2048u
#define KC__PARTS_MAX (KC__CLAIM_MARGIN_SLOTS / 2)
/* The worker keeps the pages of this many segments in our memory: those that it looked at last. */
#define KC__RESIDENT_SEGMENTS 8u
/* A thread that makes a segment because none is ready keeps the pages of this many segments before it in our memory,
 * and leaves those of earlier ones to the page cache. */
#define KC__WRITTEN_SEGMENTS 2u
/* Where the worker has not faulted a segment's pages in, the launch that takes the first of this many slots faults in
 * the 15 or 16 pages of all of them: so few launches take longer, and none as long as for a whole segment. A divisor of
 * KC_SEGMENT_SLOTS. */
#define KC__SLOTS_PER_POPULATE 256u
/* Segments prepared ahead of the claims, at most. */
#define KC__AHEAD_SEGMENTS_MAX 4u
/* Retired segments that stay mapped. Measured on ext4 for 768 KiB: clearing one takes
 * 9 us, mapping and populating it again 300 us, punching a hole 700 us. */
#define KC__MAPPED_SPARES_MAX 2u
/* Places from here on are not in the file: they are the numbers of kc_journal_header.memory. */
#define KC__IN_MEMORY (UINT32_MAX - KC_MEMORY_SEGMENTS_MAX + 1)
/* Set in the tail when the journal is sealed. No segment has such a number, so a
 * concurrent claim either precedes the seal or finds no slot. */
#define KC__SEALED (UINT64_C(1) << 63)

struct kc__segment {             /* in the directory at its number modulo the directory's size */
	_Atomic uint64_t number; /* + 1; 0: none */
	struct kc_slot *slots;
	uint32_t place;         /* in the file; KC__IN_MEMORY or more: not in the file */
	uint16_t stored;        /* worker: all slots before this one are stored */
	uint8_t resident;       /* worker: 1: in the ring of resident segments */
	_Atomic bool populated; /* the worker has faulted all pages in */
};

struct kc__spare {             /* a segment of the file that is free for use */
	struct kc_slot *slots; /* NULL: not mapped */
	uint32_t place;
};

struct kc_journal {
	_Alignas(64) _Atomic uint64_t tail; /* next index to be claimed, or KC__SEALED and more */
	/* Read by launching threads, written when a segment is made. */
	_Alignas(64) _Atomic uint64_t limit; /* the segments of all indexes below this exist */
	struct kc__segment *entries;
	uint64_t entry_mask;
	struct kc_journal_header *header;
	_Atomic uint32_t full;            /* 1: no segment can be made until one is retired */
	_Atomic uint32_t memory_segments; /* in use */
	bool header_in_memory, no_file;
	_Atomic bool gone;         /* the file is not where it was made */
	_Atomic int in_memory_why; /* negative errno: why the file could not grow */
	/* Guarded by the lock, which the worker takes, and a launching thread that found
	 * no segment ready or claims room; it is held for no longer than making one segment takes. */
	_Alignas(64) pthread_mutex_t lock;
	uint64_t made; /* number of the next segment to be made */
	uint64_t
	    owed; /* segments below that one that room was claimed in, and that the worker makes when it fills it */
	uint64_t first_segment;
	uint32_t segments, segments_max; /* in use */
	uint32_t places;                 /* segments the file has */
	uint32_t mapped_spares, unmapped_spares;
	struct kc__spare mapped[KC__MAPPED_SPARES_MAX];
	uint32_t *unmapped; /* places */
	bool closed;
	/* Of the worker. */
	_Alignas(64) _Atomic uint64_t first;      /* all slots before this one are stored */
	uint64_t hand;                            /* next segment to be examined behind a slot that is not stored yet */
	uint64_t swept;                           /* segments before this one are full */
	uint64_t resident[KC__RESIDENT_SEGMENTS]; /* a ring of numbers, each + 1 */
	uint32_t resident_next;
	uint64_t end;       /* tail when the journal was sealed */
	uint64_t rate_tail; /* tail at rate_ns */
	int64_t rate_ns;
	double slots_per_ns;
	struct robust_list_head list_head; /* of the thread that holds the header's word */
	struct robust_list list_entry;
	uint32_t holder;      /* that thread; 0: there is none */
	size_t mapping_bytes; /* of this struct with its tables */
	/* Of the threads that may use descriptors; NULL: all may. */
	int (*files_do)(void (*work)(void *arg), void *arg);
	int fd; /* of the file; -1: there is none */
	dev_t device;
	ino_t inode;
	char path[1200];
};

/* Does work that uses the descriptor. 0; -errno: it was not done. */
static inline int kc__journal_do(const struct kc_journal *j, void (*work)(void *arg), void *arg)
{
	if (j->files_do)
		return j->files_do(work, arg);
	work(arg);
	return 0;
}

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
/* Makes the next segment. The caller holds the lock. 0 or -ENOSPC. */
int kc__segment_make(struct kc_journal *j);
/* Whether `slots` more, and the segments that are owed, are within the bound. The caller holds the lock. */
bool kc__segments_suffice(const struct kc_journal *j, uint64_t slots);
/* The slots from `first` to before `end` have been claimed as room: segments that lie in it as a whole are owed, and
 * those of them that were made are used for what comes after it. The caller holds the lock. */
void kc__segments_skip(struct kc_journal *j, uint64_t first, uint64_t end);
/* Worker. Makes a segment that is owed, unless it is there. 0 or -ENOSPC. */
int kc__segment_make_owed(struct kc_journal *j, uint64_t segment);
/* Worker. Makes a segment available again. */
void kc__segment_free(struct kc_journal *j, uint64_t segment);
/* Worker. Faults the pages of a segment in, so that launching threads need not. They
 * may be using it already. */
void kc__segment_populate(struct kc_journal *j, uint64_t segment);
/* A launching thread that has claimed this slot, without the lock. Faults in the pages of it and of the slots behind
 * it, KC__SLOTS_PER_POPULATE in all, unless the worker has; where that fails, each launch faults its own page in. */
void kc__slots_populate(struct kc_journal *j, uint64_t index);
/* Gives up our mapping of the pages of a segment; the page cache keeps them. 1: done;
 * 0: the segment is retired, or not in the file. For the worker, or with the lock held. */
int kc__segment_drop(struct kc_journal *j, uint64_t segment);
/* journal_holder.c */
/* After the header has moved: the thread that holds the word holds the new one. */
void kc__journal_hold_on(struct kc_journal *j);

#endif
