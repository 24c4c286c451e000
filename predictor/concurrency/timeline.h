/*
 * Where a launch falls on a device's time axis under the left-over policy.
 *
 * A kc_timeline holds, for each stream of one device, the predicted intervals of
 * what was put into it and has not ended. Streams are small consecutive numbers
 * chosen by the caller. Its size is fixed (kc_timeline_size()); nothing is
 * allocated afterwards and nothing locks: the caller serialises calls on one
 * device. What queues behind the head of a stream costs nothing to carry. A launch
 * is placed beside the heads of the other streams, range of equal SMs by range,
 * wave by wave; the cost does not depend on the size of any grid.
 */
#ifndef KC_TIMELINE_H
#define KC_TIMELINE_H

#include "contention.h"
#include "duration_estimate.h"
#include "placement.h"
#include "predictor/device/copy.h"
#include "ring.h"

#include <stddef.h>
#include <stdint.h>

enum kc_stream_kind {
	KC_STREAM_BLOCKING = 0,    /* cuStreamCreate(CU_STREAM_DEFAULT) and the per-thread default stream */
	KC_STREAM_NONBLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
	KC_STREAM_LEGACY = 2,      /* the legacy default stream */
};

/* The placement of a demand's last launch that found nothing else in flight. A further launch of the same demand, after
 * a launch of the same shape as that one came after, gets the same placement at another time, so that it need not be
 * worked out again. The owner sets it to zeros, which means that nothing is known, once something is learned that the
 * demand's times come from. */
struct kc_repeated {
	int known;
	uint32_t before;                    /* identity of the launch that they follow */
	uint64_t waves;                     /* kc__last_wave.waves */
	struct kc_duration_estimate direct; /* which the durations below rest on */
	struct kc_placement placement;      /* of a launch that starts at 0 */
	struct kc__interval interval;       /* the same */
};

/* What a launch asks the device for. */
struct kc_demand {
	const struct kc_work *work;
	int64_t solo_ns;
	struct kc_load load;                    /* kc_load_of(); 0: it does not slow other kernels */
	const struct kc_contention *contention; /* of the launch shape; NULL: slowdown by room alone */
	struct kc_duration_estimate direct;     /* of launches like this one; share 0: none */
	uint32_t identity;                      /* of the launch shape, for those that follow it */
	struct kc_repeated *repeated;           /* of demands that are equal but for `direct`; NULL: not kept */
};

struct kc_timeline;

size_t kc_timeline_size(void);
void kc_timeline_init(struct kc_timeline *tl, const struct kc_device *device);

/* A stream is created, or its number is used again. priority: CUDA's, lower runs first. Streams past the capacity share
 * one entry. */
void kc_timeline_stream(struct kc_timeline *tl, uint32_t stream, enum kc_stream_kind kind, int priority);
void kc_timeline_stream_gone(struct kc_timeline *tl, uint32_t stream);

/* Has the processor fetch what the next launch in the stream will read: several lines at a time, where each would be
 * waited for. Any thread may call this at any time. */
void kc_timeline_expect(const struct kc_timeline *tl, uint32_t stream);

/* now_ns: host time of the call, any monotonic clock, the same in all calls. */
void kc_timeline_kernel(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, const struct kc_work *work,
			int64_t solo_ns, struct kc_placement *out);
/* The same with everything that is known of the launch. */
void kc_timeline_launch(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, const struct kc_demand *demand,
			struct kc_placement *out);
/* A copy or memset: it occupies the stream for duration_ns. Where it crosses the link to the host, it also occupies the
 * copy engine of its direction, which serves one copy at a time. Kernels run beside it. */
void kc_timeline_copy(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, enum kc_copy_route route,
		      int64_t duration_ns, struct kc_placement *out);
/* A host function, or anything else that occupies only the stream. */
void kc_timeline_occupy(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, int64_t duration_ns,
			struct kc_placement *out);
/* The call failed: its interval is removed. */
void kc_timeline_cancel(struct kc_timeline *tl, uint32_t stream, uint32_t ticket);

/* Predicted end of everything in the stream (now_ns where it is empty): what an event recorded now waits for. */
int64_t kc_timeline_tail(struct kc_timeline *tl, uint32_t stream, int64_t now_ns);
/* Whatever is put into the stream from now on starts at ready_ns or later. */
void kc_timeline_wait(struct kc_timeline *tl, uint32_t stream, int64_t ready_ns);

/* The host has synchronised: the stream, or the device, is known to be empty. 0: that was known before, and nothing has
 * changed; a later now_ns would change nothing either. */
int kc_timeline_stream_idle(struct kc_timeline *tl, uint32_t stream, int64_t now_ns);
int kc_timeline_device_idle(struct kc_timeline *tl, int64_t now_ns);

/* Operations of the stream that were launched after the newest one whose measured times have arrived. */
uint32_t kc_timeline_awaited(const struct kc_timeline *tl, uint32_t stream);

/* Measured times of an interval: shifts what is still queued behind it, but no prediction already handed out. */
void kc_timeline_measured(struct kc_timeline *tl, uint32_t stream, uint32_t ticket, int64_t start_ns, int64_t end_ns);

#endif
