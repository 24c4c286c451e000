/* Streams, events, executable graphs, and what is told of them to the timeline. */
#ifndef KC_SHIM_TABLES_STREAMS_H
#define KC_SHIM_TABLES_STREAMS_H

#include "shim/shim.h"

/* The device's lock is held. The host time of what the timeline is told next, which was now_ns before the lock: no two
 * are the same, and their order is the timeline's. (No clock is read under the lock: the application may have put its
 * own in place of the C library's.) */
static inline int64_t kc__in_order(struct kc__device *device, int64_t now_ns)
{
	int64_t at_ns = now_ns > device->seen_ns ? now_ns : device->seen_ns + 1;

	__atomic_store_n(&device->seen_ns, at_ns, __ATOMIC_RELAXED); /* gpu_state.c looks without the lock */
	return at_ns;
}

/* streams.c */
/* NULL: not known, as its device is not, or as the table is full. */
struct kc__stream *kc__stream_of(CUstream stream, bool per_thread);
/* The same; *device: where it is, NULL: not known. */
struct kc__stream *kc__stream_on(CUstream stream, bool per_thread, struct kc__device **device);
void kc__stream_created(CUstream stream);
void kc__stream_destroyed(CUstream stream);
/* NULL: it is gone, and nothing in it is awaited any more. */
struct kc__stream *kc__stream_by_id(uint32_t id);
/* The lane that a stream has or had; -1: KC__STREAM_PLACES streams were made since. The device's lock is held. */
int kc__stream_lane(uint32_t id);
/* Worker: frees the entries of streams that are gone, and of the default streams of threads that have ended, for other
 * streams. looked_at: the join has looked at all slots before this index. */
void kc__streams_give_back(uint64_t looked_at, int64_t now_ns);
/* Notes what the timeline has been told of a stream, or of the device (stream NULL). The device's lock is
 * held: such notes stand in the journal in the order in which the timeline saw them. */
void kc__put_stream_call(const struct kc__device *device, const struct kc__stream *stream,
			 enum kc_stream_call_kind kind, int64_t time_ns, int64_t ns);
struct kc__graph *kc__graph_of(CUgraphExec exec, bool make);
void kc__graph_let_go(struct kc__graph *graph); /* it is destroyed */

/* events.c */
int kc__events_init(void);
struct kc__event *kc__event_of(CUevent event, bool make); /* NULL: not known, or there is no room */
void kc__event_destroyed(CUevent event);                  /* before the call: its handle may be another's next */
void kc__events_happened(void);                           /* nobody waits for any of them any more */

#endif
