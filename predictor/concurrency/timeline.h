/*
 * Where a launch falls on a device's time axis under the left-over policy.
 *
 * One struct kc_timeline per device holds, per stream, the predicted
 * intervals of what was put into it and has not ended. Streams are dense small
 * numbers chosen by the caller. Fixed size (kc_timeline_size()), nothing is
 * allocated afterwards, nothing locks: the caller serialises calls on one
 * device. Finished intervals leave as time passes. What queues behind the head
 * of a stream costs nothing to carry. A launch is placed from the last event on:
 * beside what then heads the other streams, group of equal SMs by group, wave by
 * wave; its cost does not depend on any grid's size.
 */
#ifndef KC_TIMELINE_H
#define KC_TIMELINE_H

#include "contention.h"
#include "duration_estimate.h"
#include "placement.h"
#include "predictor/device/copy.h"

#include <stddef.h>
#include <stdint.h>

enum kc_stream_kind {
	KC_STREAM_BLOCKING = 0,    /* cuStreamCreate(CU_STREAM_DEFAULT) and the per-thread default stream */
	KC_STREAM_NONBLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
	KC_STREAM_LEGACY = 2,      /* the legacy default stream */
};

/* What a launch asks the device for. */
struct kc_demand {
	const struct kc_work *work;
	int64_t solo_ns;
	struct kc_load load;                    /* kc_load_of(); where it is 0, other kernels do not feel this one */
	const struct kc_contention *contention; /* NULL: slowdown by room alone */
	struct kc_duration_estimate direct;     /* what is known of the duration itself; share 0: nothing */
	uint32_t identity;                      /* any number that tells this launch shape from others */
};

struct kc_timeline;

size_t kc_timeline_size(void);
void kc_timeline_init(struct kc_timeline *tl, const struct kc_device *device);

/* A stream begins to exist (or begins again). priority: CUDA's, lower runs
 * first. Streams past the table's capacity are carried as one. */
void kc_timeline_stream(struct kc_timeline *tl, uint32_t stream, enum kc_stream_kind kind, int priority);
void kc_timeline_stream_gone(struct kc_timeline *tl, uint32_t stream);

/* now_ns: host time of the call, any monotonic clock, the same in all calls. */
void kc_timeline_kernel(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, const struct kc_work *work,
			int64_t solo_ns, struct kc_placement *out);
/* The same with all that is known. */
void kc_timeline_launch(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, const struct kc_demand *demand,
			struct kc_placement *out);
/* A copy or memset: it occupies the stream for duration_ns, and where it crosses the link to the host the copy engine
 * of its direction, which copies take in turns; kernels run beside it. */
void kc_timeline_copy(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, enum kc_copy_route route,
		      int64_t duration_ns, struct kc_placement *out);
/* A host function, or whatever else occupies the stream alone. */
void kc_timeline_occupy(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, int64_t duration_ns,
			struct kc_placement *out);
/* The call failed after all: its interval never was. */
void kc_timeline_cancel(struct kc_timeline *tl, uint32_t stream, uint32_t ticket);

/* Predicted end of all that is in the stream (now_ns where it is empty): what
 * an event recorded now will wait for. */
int64_t kc_timeline_tail(struct kc_timeline *tl, uint32_t stream, int64_t now_ns);
/* Whatever is put into the stream from now on starts at ready_ns or later. */
void kc_timeline_wait(struct kc_timeline *tl, uint32_t stream, int64_t ready_ns);

/* The host has synchronised: the stream (or the device) is known empty. */
void kc_timeline_stream_idle(struct kc_timeline *tl, uint32_t stream, int64_t now_ns);
void kc_timeline_device_idle(struct kc_timeline *tl, int64_t now_ns);

/* Measured times of an interval: corrects the drift of what is still queued.
 * Predictions already handed out are not touched. */
void kc_timeline_measured(struct kc_timeline *tl, uint32_t stream, uint32_t ticket, int64_t start_ns, int64_t end_ns);

#endif
