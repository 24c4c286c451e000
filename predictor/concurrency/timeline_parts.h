/* The timeline's own state, which its files share. */
#ifndef KC_TIMELINE_PARTS_H
#define KC_TIMELINE_PARTS_H

#include "ring.h"
#include "timeline.h"

/* With rings of 1,024 a timeline stays below 5.25 MiB and carries 128 kernels in flight beside a new one. The last
 * stream stands for all those that do not fit. */
#define KC__STREAMS KC__HEADS_MAX
#define KC__OVERFLOW_STREAM (KC__STREAMS - 1)
/* Padding between rings, so that the same slots of all rings do not share a cache set. */
#define KC__RING_OFFSET 2u

/* CUDA_DEVICE_MAX_CONNECTIONS is 1 to 32; there are as many for each priority. */
#define KC__QUEUES 32u
#define KC__PRIORITY_LEVELS 8u

/* The operation that went into a hardware queue last. */
struct kc__queue {
	uint32_t stream;
	int64_t ready_ns; /* without the shift of that stream */
};

/* A copy that an engine has accepted; when there are more, the two oldest are merged. */
#define KC__ENGINE_COPIES 16u
#define KC__ENGINES 2u /* a device has one, or one for each direction */

struct kc__copy {
	uint32_t stream, ticket;
	int64_t from_ns; /* without the shift of that stream */
};

struct kc__copy_engine {
	uint32_t count;
	struct kc__copy copies[KC__ENGINE_COPIES]; /* in the order of their calls */
};

/* What a launch touches of it lies close together: the caches that it meets are empty. */
struct kc_timeline {
	uint32_t before; /* identity of the last launch */
	uint32_t busy_count;
	int untouched;        /* no stream has been busy since the device was idle */
	uint32_t queue_count; /* for each priority level */
	int64_t launch_overhead_ns;
	int64_t launch_gap_ns;
	struct kc__device_limits limits;
	uint64_t unused; /* to the end of the cache line */
	struct kc__timeline_stream streams[KC__STREAMS];
	struct kc__in_flight in_flight; /* heads of the busy streams, in the order of `busy` */
	uint8_t busy[KC__STREAMS];      /* streams with work that has not ended */
	uint32_t next_queue[KC__PRIORITY_LEVELS];
	struct kc__queue queues[KC__PRIORITY_LEVELS][KC__QUEUES];
	uint32_t engine_count;
	struct kc__copy_engine engines[KC__ENGINES];
	struct kc__interval rings[KC__STREAMS][KC__RING + KC__RING_OFFSET];
};

#define KC__CACHE_LINE_BYTES 64
_Static_assert(offsetof(struct kc_timeline, streams) == KC__CACHE_LINE_BYTES &&
		   sizeof(struct kc__timeline_stream) == KC__CACHE_LINE_BYTES &&
		   sizeof(struct kc__head) == KC__CACHE_LINE_BYTES &&
		   offsetof(struct kc__in_flight, heads) % KC__CACHE_LINE_BYTES == 0 &&
		   offsetof(struct kc__in_flight, spans) % KC__CACHE_LINE_BYTES == 0,
	       "streams and heads are a cache line each");
_Static_assert(sizeof(struct kc_timeline) <= 21u << 18, "a timeline fits into 5.25 MiB");

/* timeline_copies.c: of one engine */
/* Drops copies that have ended by now_ns. */
void kc__copies_expire(const struct kc_timeline *tl, struct kc__copy_engine *engine, int64_t now_ns);
/* The first moment from t on at which no copy is running. */
int64_t kc__copies_free_ns(const struct kc_timeline *tl, const struct kc__copy_engine *engine, int64_t t);
/* index: of its stream. */
void kc__copies_add(struct kc_timeline *tl, struct kc__copy_engine *engine, uint32_t index,
		    const struct kc_placement *out);
void kc__copies_remove(struct kc__copy_engine *engine, uint32_t stream, uint32_t ticket);

#endif
