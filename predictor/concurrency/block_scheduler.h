/*
 * When a kernel may start beside others on one device's time axis, and how
 * long it then takes.
 *
 *   kc__site    the SMs of the device
 *   kc__head   another kernel on the axis: in flight, or waiting for room
 *               ahead of the new one
 *   kc__in_flight   all of them, and what those that were on the SMs at the last
 *               look hold there: the next look takes up from it
 *   kc__last_wave    what the new one leaves to those that come after it
 *
 * Left-over is head-of-line blocking: the new kernel places no block before
 * every rival has placed its last one, and then only into what is free.
 * Nothing here knows of streams; timeline.c finds the rivals.
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
	uint32_t grids_max; /* kernels that may be on the SMs at once */
};

struct kc__head {
	int64_t start_ns;
	int64_t placed_ns;                     /* its last wave starts: all its blocks have an SM */
	int64_t end_ns;                        /* INT64_MIN: there is no kernel */
	int64_t busy_until_ns;                 /* end of all that follows in its stream */
	int64_t from_ns, until_ns;             /* it heads its stream */
	const struct kc__sm_blocks *sm_blocks; /* in its last wave */
	int32_t priority;                      /* CUDA's: lower runs first */
	uint8_t load[KC_LOAD_TERMS];           /* in 1 / KC__LOAD_UNITS of the device */
	uint8_t flags;
	kc__amounts most; /* kc__sm_blocks_largest() */
};
#define KC__WAITS_FOR_ROOM 1u /* starts later only for want of room */
#define KC__RESIDENT 2u       /* is in the floor's rooms */

struct kc__in_flight {
	struct kc__sm_room room;
	uint32_t next; /* rank after the last odd block placed without a look at the rooms */
	unsigned count;
	struct kc__head heads[KC__HEADS_MAX];
};

struct kc__last_wave {
	int64_t wave_ns;                 /* from its last block's start to its end */
	uint64_t waves;                  /* that it runs in */
	struct kc__sm_blocks *sm_blocks; /* the caller's, to be filled */
};

/* Nobody there. */
void kc__in_flight_init(struct kc__in_flight *in_flight, const struct kc__device_limits *limits);
/* One more, in the last place; it has no kernel yet. */
void kc__in_flight_add(struct kc__in_flight *in_flight);
/* Before a rival changes: its kernel leaves the rooms, and the place is empty. */
void kc__in_flight_vacate(struct kc__in_flight *in_flight, unsigned place);
/* The last one takes the place. */
void kc__in_flight_remove(struct kc__in_flight *in_flight, unsigned place);

/*
 * ready_ns: everything but room on the SMs allows it to start. solo_ns ≥ 0.
 * Fills all of out but the ticket and the context, and all of tail.
 */
void kc__place(const struct kc__device_limits *limits, struct kc__in_flight *in_flight, int priority, int64_t ready_ns,
	       const struct kc_work *work, int64_t solo_ns, struct kc_placement *out, struct kc__last_wave *last_wave);

/* It takes so long after all: fills wave_ns. */
void kc__last_wave_of(struct kc__last_wave *last_wave, int64_t duration_ns);

#endif
