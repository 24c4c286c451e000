/*
 * When a kernel may start beside others under the left-over policy, and how long
 * it then takes.
 *
 *   kc__device_limits   what the device's SMs hold
 *   kc__head            a kernel at the head of its stream: running, or waiting
 *                       for room ahead of the new one
 *   kc__in_flight       all of them, and the room that the resident ones leave on
 *                       the SMs as of the last launch; the next launch updates it
 *   kc__last_wave       what a launch leaves to those that come after it
 *
 * Left-over is head-of-line blocking: the new kernel places no block before every
 * kernel ahead of it has placed its last one, and then only into what is free.
 * Nothing here knows of streams; timeline.c finds their heads.
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

struct kc__head {
	int64_t start_ns;
	int64_t placed_ns;                     /* start of its last wave: from then on every block has an SM */
	int64_t end_ns;                        /* INT64_MIN: the stream has no kernel at its head */
	int64_t busy_until_ns;                 /* end of everything queued in its stream */
	int64_t from_ns, until_ns;             /* while it is at the head of its stream */
	const struct kc__sm_blocks *sm_blocks; /* blocks of its last wave */
	int32_t priority;                      /* CUDA's: lower runs first */
	uint8_t load[KC_LOAD_TERMS];           /* in 1 / KC__LOAD_UNITS of the device */
	uint8_t flags;
	kc__amounts most; /* kc__sm_blocks_largest() */
};
#define KC__WAITS_FOR_ROOM 1u /* it starts late for want of room on the SMs alone */
#define KC__RESIDENT 2u       /* its blocks are subtracted from kc__in_flight.room */

/* Kernels that a new one shares the SMs with: those that have placed all their blocks. */
struct kc__residents {
	unsigned count;
	unsigned changed_count; /* since the last launch */
	int fits_anywhere;      /* one wave of the new kernel fits wherever their blocks are */
	uint8_t heads[KC__HEADS_MAX], changes[KC__HEADS_MAX];
	struct kc__offer offer; /* room that they leave to the new kernel */
};

struct kc__in_flight {
	struct kc__sm_room room;
	uint32_t next; /* rank after the last odd block that was placed without consulting `room` */
	unsigned count;
	struct kc__head heads[KC__HEADS_MAX];
	struct kc__residents
	    residents; /* while a launch is placed: too large for the stack of the thread that makes it */
};

struct kc__last_wave {
	int64_t wave_ns;                 /* duration of one wave: from the start of its last block to its end */
	uint64_t waves;                  /* waves that it runs in */
	struct kc__sm_blocks *sm_blocks; /* filled in; memory of the caller */
};

/* No kernel is in flight. */
void kc__in_flight_init(struct kc__in_flight *in_flight, const struct kc__device_limits *limits);
/* Adds an empty head at the end. */
void kc__in_flight_add(struct kc__in_flight *in_flight);
/* Removes the kernel of a head from the SMs and empties the head. Call before the head changes. */
void kc__in_flight_vacate(struct kc__in_flight *in_flight, unsigned place);
/* Removes a head; the last one takes its place. */
void kc__in_flight_remove(struct kc__in_flight *in_flight, unsigned place);

/* ready_ns: when everything but room on the SMs allows it to start. solo_ns ≥ 0.
 * Fills all of *out but the ticket and the context, and all of *last_wave. */
void kc__place(const struct kc__device_limits *limits, struct kc__in_flight *in_flight, int priority, int64_t ready_ns,
	       const struct kc_work *work, int64_t solo_ns, struct kc_placement *out, struct kc__last_wave *last_wave);

/* Sets wave_ns for a launch that takes duration_ns. */
void kc__last_wave_of(struct kc__last_wave *last_wave, int64_t duration_ns);

#endif
