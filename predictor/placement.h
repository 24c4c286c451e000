/*
 * When a kernel may start beside others on one device's time axis, and how
 * long it then takes.
 *
 *   kc__site    the SMs of the device
 *   kc__rival   another kernel on the axis: in flight, or waiting for room
 *               ahead of the new one
 *   kc__tail    what the new one leaves to those that come after it
 *
 * Left-over is head-of-line blocking: the new kernel places no block before
 * every rival has placed its last one, and then only into what is free.
 * Nothing here knows of streams; timeline.c finds the rivals.
 */
#ifndef KC_PLACEMENT_H
#define KC_PLACEMENT_H

#include "timeline.h"

#define KC__RIVALS_MAX KC_RESIDENTS_MAX

struct kc__site {
	struct kc_footprint sm;
	uint32_t sm_count;
};

struct kc__rival {
	int64_t start_ns;
	int64_t placed_ns; /* its last wave starts: all its blocks have an SM */
	int64_t end_ns;
	struct kc_resident resident; /* its last wave */
	int priority;                /* CUDA's: lower runs first */
	int waits;                   /* starts later only for want of room */
};

struct kc__tail {
	int64_t wave_ns; /* length of its last wave */
	struct kc_even last;
};

/*
 * ready_ns: everything but room on the SMs allows it to start. solo_ns ≥ 0.
 * Fills all of out but the ticket. `out` and `tail` depend on nothing but the
 * arguments.
 */
void kc__place(const struct kc__site *site, const struct kc__rival *rivals, unsigned count, int priority,
	       int64_t ready_ns, const struct kc_work *work, int64_t solo_ns, struct kc_placement *out,
	       struct kc__tail *tail);

#endif
