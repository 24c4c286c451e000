/*
 * When a kernel may start beside others under the left-over policy, and how long
 * it then takes.
 *
 *   kc__device_limits   what the device's SMs hold
 *   kc__head            a kernel at the head of its stream: running, or waiting
 *                       for room ahead of the new one
 *   kc__span            for how long it is at the head
 *   kc__in_flight       all of them, and the room that some of them leave on the
 *                       SMs, which is brought up to date where it is needed
 *   kc__last_wave       what a launch leaves to those that come after it
 *
 * Left-over is head-of-line blocking: the new kernel places no block before every
 * kernel ahead of it has placed its last one, and then only into what is free.
 * Nothing here knows of streams; timeline.c finds their heads.
 *
 * A launch meets caches that the driver has emptied, so its time is that of the lines
 * it touches. Spans are looked at for all streams at each launch: four fit in a line.
 * A head is one line, and only those of streams with a kernel at their head are read.
 */
#ifndef KC_BLOCK_SCHEDULER_H
#define KC_BLOCK_SCHEDULER_H

#include "placement.h"
#include "predictor/solo/work.h"
#include "sm_room.h"

#define KC__HEADS_MAX 130u

#define KC__LOAD_UNITS 255u

struct kc__device_limits {
	struct kc_footprint sm;
	uint32_t sm_count;
	uint32_t grids_max; /* kernels that may be resident at once */
};

struct kc__span {
	int64_t from_ns, until_ns; /* INT64_MAX, INT64_MIN: not known */
};
#define KC__FOR_GOOD INT64_MAX /* until_ns: the work of its stream has ended at from_ns */

struct kc__head {
	int64_t start_ns;
	int64_t placed_ns; /* start of its last wave: from then on every block has an SM */
	int64_t end_ns;
	int64_t busy_until_ns;          /* end of everything queued in its stream */
	struct kc__sm_blocks sm_blocks; /* blocks of its last wave */
	int32_t priority;               /* CUDA's: lower runs first */
	uint8_t load[KC_LOAD_TERMS];    /* in 1 / KC__LOAD_UNITS of the device */
	uint8_t flags;
	uint64_t unused; /* to the end of the cache line */
};
#define KC__WAITS_FOR_ROOM 1u /* it starts late for want of room on the SMs alone */
#define KC__IN_ROOM 2u        /* its blocks are subtracted from kc__in_flight.room */
#define KC__RESIDENT 4u       /* it shares the SMs with the kernel that is being placed: all its blocks are on them */

#define KC__PLACE_WORDS ((KC__HEADS_MAX + 63u) / 64u)

struct kc__in_flight {
	unsigned count;
	uint32_t next;                     /* rank after the last odd block that was placed without consulting `room` */
	uint64_t kernels[KC__PLACE_WORDS]; /* a bit for each head that is a kernel; the others are not filled in */
	/* While a launch is placed; too large for the stack of the thread that makes it: */
	unsigned residents, running_count;
	struct kc__head *resident; /* one of the residents */
	int64_t first_end_ns;      /* of the residents */
	uint8_t running[136]; /* the bits of `kernels` in ascending order; KC__HEADS_MAX, to the end of a cache line */
	struct kc__head heads[KC__HEADS_MAX];
	struct kc__span spans[KC__HEADS_MAX];
	struct kc__offer offer; /* room that the residents leave */
	struct kc__sm_room room;
};

struct kc__last_wave {
	int64_t wave_ns;                 /* duration of one wave: from the start of its last block to its end */
	uint64_t waves;                  /* waves that it runs in */
	struct kc__sm_blocks *sm_blocks; /* filled in; memory of the caller */
};

/* No kernel is in flight. */
void kc__in_flight_init(struct kc__in_flight *in_flight, const struct kc__device_limits *limits);
static inline int kc__is_kernel(const struct kc__in_flight *in_flight, unsigned place)
{
	return in_flight->kernels[place / 64] >> place % 64 & 1;
}

/* Adds a head of which nothing is known at the end. */
static inline void kc__in_flight_add(struct kc__in_flight *in_flight)
{
	in_flight->spans[in_flight->count++] = (struct kc__span){INT64_MAX, INT64_MIN};
}

/* There is a kernel at the head, which was vacated before. Returns it, to be filled in. */
static inline struct kc__head *kc__in_flight_fill(struct kc__in_flight *in_flight, unsigned place)
{
	in_flight->kernels[place / 64] |= UINT64_C(1) << place % 64;
	return &in_flight->heads[place];
}

/* Takes the kernel of a head from the SMs. */
void kc__in_flight_release(struct kc__in_flight *in_flight, struct kc__head *head);

/* Forgets the head. Call before it changes. */
static inline void kc__in_flight_vacate(struct kc__in_flight *in_flight, unsigned place)
{
	in_flight->spans[place] = (struct kc__span){INT64_MAX, INT64_MIN};
	if (!kc__is_kernel(in_flight, place))
		return;
	if (__builtin_expect(in_flight->heads[place].flags & KC__IN_ROOM, 0))
		kc__in_flight_release(in_flight, &in_flight->heads[place]);
	in_flight->kernels[place / 64] &= ~(UINT64_C(1) << place % 64);
}

/* Removes a head; the last one takes its place. */
void kc__in_flight_remove(struct kc__in_flight *in_flight, unsigned place);

/* ready_ns: when everything but room on the SMs allows it to start. solo_ns ≥ 0.
 * Fills all of *out but the ticket and the context, and all of *last_wave but wave_ns. */
void kc__place(const struct kc__device_limits *limits, struct kc__in_flight *in_flight, int priority, int64_t ready_ns,
	       const struct kc_work *work, int64_t solo_ns, struct kc_placement *out, struct kc__last_wave *last_wave);

/* Sets wave_ns for a launch that takes duration_ns. */
static inline void kc__last_wave_of(struct kc__last_wave *last_wave, int64_t duration_ns)
{
	last_wave->wave_ns = last_wave->waves > 1 ? duration_ns / (int64_t)last_wave->waves : duration_ns;
}

#endif
