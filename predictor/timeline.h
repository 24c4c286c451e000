/*
 * Where a launch falls on a device's time axis under the left-over policy.
 *
 * One struct kc_timeline per device holds, per stream, the predicted
 * intervals of what was put into it and has not ended. Streams are dense small
 * numbers chosen by the caller. Fixed size (kc_timeline_size()), nothing is
 * allocated afterwards, nothing locks: the caller serialises calls on one
 * device. Finished intervals leave as time passes. What queues behind the head
 * of a stream costs nothing to carry.
 */
#ifndef KC_TIMELINE_H
#define KC_TIMELINE_H

#include "forecast.h"

#include <stddef.h>
#include <stdint.h>

enum kc_stream_kind {
	KC_STREAM_BLOCKING = 0,    /* cuStreamCreate(CU_STREAM_DEFAULT) and the per-thread default stream */
	KC_STREAM_NONBLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
	KC_STREAM_LEGACY = 2,      /* the legacy default stream */
};

struct kc_placement {
	int64_t start_ns, end_ns;  /* predicted; end - start is the predicted duration */
	float slowdown;            /* end - start over solo; waiting is not slowdown */
	float slowdown_waves;      /* Equation 5.1 */
	uint32_t concurrency_case; /* enum kc_case, leftover.h */
	uint32_t ticket;           /* names this interval in later calls; 0: not carried */
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
/* A copy, memset or host function that occupies the stream for duration_ns. */
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
