/*
 * The intervals of one stream, oldest first, in a ring. Tickets number them: those from
 * first to next - 1 are predicted not to have ended. Older ones stay readable until they
 * are overwritten, as measurements come late.
 *
 * Stored times leave out the stream's shift, so that correcting a whole queue by what was
 * measured at its head is one addition.
 */
#ifndef KC_RING_H
#define KC_RING_H

#include "block_scheduler.h"

#include <stddef.h>

#define KC__RING 1024u /* power of two */

struct kc__interval {
	int64_t start_ns, end_ns;       /* stored; ends never decrease */
	float wave_ns;                  /* kc__last_wave.wave_ns */
	struct kc__sm_blocks sm_blocks; /* blocks of its last wave */
	uint8_t load[KC_LOAD_TERMS];    /* in 1 / KC__LOAD_UNITS of the device */
	uint8_t flags;                  /* KC__WAITS_FOR_ROOM … */
};

struct kc__timeline_stream {
	int64_t tail_ns;   /* stored end of the newest interval */
	int64_t shift_ns;  /* added to every stored time */
	int64_t ready_ns;  /* from events waited for: nothing further starts before */
	int64_t origin_ns; /* earliest start of the chain: its launch, or what it waited for */
	uint32_t first, next;
	uint32_t chain;    /* ticket of the first interval since which the stream has had no pause */
	uint32_t measured; /* ticket: all before it were measured or skipped, or the stream was known to be empty */
	uint32_t reported; /* ticket: the measurement of the one before it has arrived, or never will */
	uint32_t cursor;   /* where the last search ended; neighbours search close by */
	int32_t priority;
	uint8_t kind;  /* enum kc_stream_kind */
	uint8_t busy;  /* index in the timeline's list plus 1; 0: not in it */
	uint8_t queue; /* hardware queue, while busy */
	uint8_t level; /* priority level of that queue */
};

/* A stored time as a real one, and back. A replay of a damaged recording may move a stream by any amount: then these
 * wrap around. */
static inline int64_t kc__real_ns(const struct kc__timeline_stream *s, int64_t stored_ns)
{
	return (int64_t)((uint64_t)stored_ns + (uint64_t)s->shift_ns);
}

static inline int64_t kc__stored_ns(const struct kc__timeline_stream *s, int64_t real_ns)
{
	return (int64_t)((uint64_t)real_ns - (uint64_t)s->shift_ns);
}

/* Predicted end of everything in the stream. */
static inline int64_t kc__stream_tail_ns(const struct kc__timeline_stream *s)
{
	return kc__real_ns(s, s->tail_ns);
}

static inline const struct kc__interval *kc__ring_slot(const struct kc__interval *ring, uint32_t ticket)
{
	return &ring[ticket & (KC__RING - 1)];
}

/* In a full ring the two oldest become one. */
void kc__ring_merge_oldest(struct kc__timeline_stream *s, struct kc__interval *ring);

/* Where to write the next interval, with real times. */
static inline struct kc__interval *kc__ring_next(struct kc__timeline_stream *s, struct kc__interval *ring)
{
	if (__builtin_expect(s->next - s->first == KC__RING, 0))
		kc__ring_merge_oldest(s, ring);
	return &ring[s->next & (KC__RING - 1)];
}

/* Appends what was written there. behind: it starts when the stream's own work ends. Returns the ticket. */
static inline uint32_t kc__ring_append(struct kc__timeline_stream *s, struct kc__interval *ring, int behind)
{
	struct kc__interval *interval = &ring[s->next & (KC__RING - 1)];

	__builtin_prefetch(kc__ring_slot(ring, s->next + 2), 1);
	if (!behind) {
		s->chain = s->next;
		s->origin_ns = interval->start_ns;
	}
	interval->start_ns = kc__stored_ns(s, interval->start_ns);
	interval->end_ns = kc__stored_ns(s, interval->end_ns);
	s->tail_ns = interval->end_ns;
	return s->next++;
}

/* Ticket of the first interval whose stored end is after stored_ns; there must be one. */
uint32_t kc__ring_search(const struct kc__timeline_stream *s, const struct kc__interval *ring, int64_t stored_ns);

/* The same, quicker where it is the newest, the one found last or its successor, as nearly always. */
static inline uint32_t kc__ring_near(const struct kc__timeline_stream *s, const struct kc__interval *ring,
				     int64_t stored_ns)
{
	uint32_t near = s->cursor, live = s->next - s->first;

	if (live == 1 || kc__ring_slot(ring, s->next - 1)->start_ns <= stored_ns)
		return s->next - 1;
	if (near - s->first < live && kc__ring_slot(ring, near)->end_ns <= stored_ns)
		near++;
	else if (near != s->first && near - s->first < live && kc__ring_slot(ring, near - 1)->end_ns > stored_ns)
		near = s->next;
	return near - s->first < live && kc__ring_slot(ring, near)->end_ns > stored_ns
		   ? near
		   : kc__ring_search(s, ring, stored_ns);
}

/* The first interval that ends after t, with stored times, or NULL; its ticket becomes the cursor. */
static inline const struct kc__interval *kc__ring_find(struct kc__timeline_stream *s, const struct kc__interval *ring,
						       int64_t t)
{
	if (s->first == s->next || kc__stream_tail_ns(s) <= t)
		return NULL;
	s->cursor = kc__ring_near(s, ring, kc__stored_ns(s, t));
	return kc__ring_slot(ring, s->cursor);
}

/* Drops intervals that have ended by now_ns, of which there is one. */
void kc__ring_drop_ended(struct kc__timeline_stream *s, const struct kc__interval *ring, int64_t now_ns);

/* Drops intervals that have ended by now_ns. */
static inline void kc__ring_expire(struct kc__timeline_stream *s, const struct kc__interval *ring, int64_t now_ns)
{
	__builtin_prefetch(kc__ring_slot(ring, s->first + 2));
	if (s->first != s->next && kc__real_ns(s, kc__ring_slot(ring, s->first)->end_ns) <= now_ns)
		kc__ring_drop_ended(s, ring, now_ns);
}

/* Removes an interval's blocks and its time. Unknown tickets have no effect. */
void kc__ring_cancel(struct kc__timeline_stream *s, struct kc__interval *ring, uint32_t ticket);

/* An interval was measured to end at end_ns: shifts what is queued behind it, some of which may turn out not to have
 * ended yet. Ignored unless it is the newest one measured. */
void kc__ring_ended(struct kc__timeline_stream *s, const struct kc__interval *ring, uint32_t ticket, int64_t end_ns,
		    int64_t gap_ns);

/* 1 and a copy with real times; 0: no longer readable. */
int kc__ring_look(const struct kc__timeline_stream *s, const struct kc__interval *ring, uint32_t ticket,
		  struct kc__interval *found);

/* kc__ring_clear() would change nothing. */
static inline int kc__ring_is_clear(const struct kc__timeline_stream *s, int64_t now_ns)
{
	return s->first == s->next && s->measured == s->next && s->ready_ns == 0 && kc__stream_tail_ns(s) <= now_ns;
}

/* Everything in the stream has ended by now_ns. */
void kc__ring_clear(struct kc__timeline_stream *s, int64_t now_ns);

#endif
