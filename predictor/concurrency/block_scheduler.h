/*
 * When a kernel may start beside others on one device's time axis, and how
 * long it then takes.
 *
 *   kc__site    the SMs of the device
 *   kc__rival   another kernel on the axis: in flight, or waiting for room
 *               ahead of the new one
 *   kc__floor   all of them, and what those that were on the SMs at the last
 *               look hold there: the next look takes up from it
 *   kc__tail    what the new one leaves to those that come after it
 *
 * Left-over is head-of-line blocking: the new kernel places no block before
 * every rival has placed its last one, and then only into what is free.
 * Nothing here knows of streams; timeline.c finds the rivals.
 */
#ifndef KC_BLOCK_SCHEDULER_H
#define KC_BLOCK_SCHEDULER_H

#include "placement.h"
#include "predictor/solo/work.h"
#include "rooms.h"

#define KC__RIVALS_MAX 130u

#define KC__LOAD_UNITS 255u

struct kc__device_limits {
	struct kc_footprint sm;
	uint32_t sm_count;
	uint32_t grids_max; /* kernels that may be on the SMs at once */
};

struct kc__rival {
	int64_t start_ns;
	int64_t placed_ns;           /* its last wave starts: all its blocks have an SM */
	int64_t end_ns;              /* INT64_MIN: there is no kernel */
	int64_t busy_until_ns;       /* end of all that follows in its stream */
	int64_t from_ns, until_ns;   /* it heads its stream */
	const struct kc__hold *hold; /* in its last wave */
	int32_t priority;            /* CUDA's: lower runs first */
	uint8_t load[KC_LOAD_TERMS]; /* in 1 / KC__LOAD_UNITS of the device */
	uint8_t flags;
	kc__amounts most; /* kc__hold_most() */
};
#define KC__WAITS 1u /* starts later only for want of room */
#define KC__HOLDS 2u /* is in the floor's rooms */

struct kc__floor {
	struct kc__rooms rooms;
	uint32_t next; /* rank after the last odd block placed without a look at the rooms */
	unsigned count;
	struct kc__rival rivals[KC__RIVALS_MAX];
};

struct kc__tail {
	int64_t wave_ns;       /* from its last block's start to its end */
	uint64_t waves;        /* that it runs in */
	struct kc__hold *hold; /* the caller's, to be filled */
};

/* Nobody there. */
void kc__floor_init(struct kc__floor *floor, const struct kc__device_limits *site);
/* One more, in the last place; it has no kernel yet. */
void kc__floor_add(struct kc__floor *floor);
/* Before a rival changes: its kernel leaves the rooms, and the place is empty. */
void kc__floor_vacate(struct kc__floor *floor, unsigned place);
/* The last one takes the place. */
void kc__floor_remove(struct kc__floor *floor, unsigned place);

/*
 * ready_ns: everything but room on the SMs allows it to start. solo_ns ≥ 0.
 * Fills all of out but the ticket and the context, and all of tail.
 */
void kc__place(const struct kc__device_limits *site, struct kc__floor *floor, int priority, int64_t ready_ns,
	       const struct kc_work *work, int64_t solo_ns, struct kc_placement *out, struct kc__tail *tail);

/* It takes so long after all: fills wave_ns. */
void kc__tail_lasts(struct kc__tail *tail, int64_t duration_ns);

#endif
