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

#define KC__RIVALS_MAX 128u

#define KC__LOAD_UNITS 255u

struct kc__site {
	struct kc_footprint sm;
	uint32_t sm_count;
	uint32_t grids_max; /* kernels that may be on the SMs at once */
	struct kc_timing timing;
};

struct kc__rival {
	int64_t start_ns;
	int64_t placed_ns; /* its last wave starts: all its blocks have an SM */
	int64_t end_ns;
	int64_t busy_until_ns;       /* end of all that follows in its stream */
	struct kc_resident resident; /* its last wave */
	uint8_t load[KC_LOAD_TERMS]; /* in 1 / KC__LOAD_UNITS of the device */
	uint8_t waits;               /* starts later only for want of room */
	uint8_t drains;              /* its last blocks make room one by one */
	uint8_t fixed;               /* its end already allows for what comes later */
	uint8_t uneven;              /* its blocks went where room was left, not to all SMs alike */
	int priority;                /* CUDA's: lower runs first */
};

struct kc__tail {
	int64_t wave_ns; /* from its last block's start to its end */
	struct kc_even last;
	int drains, uneven;
};

/*
 * ready_ns: everything but room on the SMs allows it to start. solo_ns ≥ 0.
 * load: what the new kernel puts on the device. Fills all of out but the
 * ticket and the context; the ends of rivals it slows down move.
 */
void kc__place(const struct kc__site *site, struct kc__rival *rivals, unsigned count, int priority, int64_t ready_ns,
	       const struct kc_work *work, int64_t solo_ns, const struct kc_load *load, struct kc_placement *out,
	       struct kc__tail *tail);

/* From the start of its last block to its end, for a kernel of this duration. */
void kc__tail_of(struct kc__tail *tail, const struct kc__site *site, const struct kc_work *work, int64_t duration_ns);

#endif
