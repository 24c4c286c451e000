/*
 * Which measured kernels of one device ran at the same time.
 *
 *   kc_span    a measured kernel, and where it is to be said what it met
 *   kc_spans   those that a kernel still to be measured may meet, by start
 *
 *   kc_awaited the launches of one stream that are still to be measured, and
 *              the time before which none of them can have started: the call of
 *              the first, or the last measured end of the stream
 *
 * A span is added when it is known, and decided when nothing that could have
 * met it can still become known. One that has to be let go earlier is decided as
 * unknown, and so is what is added later and may have met it. The live worker,
 * the import of traces and the replay hold theirs in the same way.
 */
#ifndef KC_OVERLAP_H
#define KC_OVERLAP_H

#include "contention.h"

#include <stdint.h>

enum kc_overlap {
	KC_OVERLAP_UNKNOWN = 0,
	KC_OVERLAP_NONE = 1,
	KC_OVERLAP_BEHIND = 2,    /* met a kernel launched before it */
	KC_OVERLAP_OVERTAKEN = 3, /* met only kernels launched after it */
};

struct kc_span {
	int64_t start_ns, end_ns;
	int64_t since_ns;    /* when it was added; the caller's clock */
	uint64_t order;      /* of the launch calls */
	uint8_t *overlap;    /* enum kc_overlap, in the launch's record */
	void *owner;         /* the caller's */
	struct kc_load load; /* what it puts on the device; zeros: not known */
	struct kc_load met;  /* what those it met put there meanwhile */
	uint8_t doubtful;    /* it may have met one that was let go; set when it is added */
};

struct kc_spans {
	struct kc_span *at; /* by start */
	uint32_t count, capacity;
	int64_t longest_ns;
	int64_t let_go_ns; /* latest end of those that were let go before they were decided */
};

struct kc_awaited {
	uint32_t count;
	int64_t bound_ns;
};

static inline void kc_awaited_add(struct kc_awaited *a, int64_t launched_ns)
{
	if (!a->count++ && launched_ns > a->bound_ns)
		a->bound_ns = launched_ns;
}

/* end_ns: measured, 0 where it will never be known. */
static inline void kc_awaited_resolve(struct kc_awaited *a, int64_t end_ns)
{
	a->count -= a->count != 0;
	if (end_ns > a->bound_ns)
		a->bound_ns = end_ns;
}

#define KC_SPANS_MAX 65536u

/* 0; -ENOBUFS: KC_SPANS_MAX are held; -ENOMEM. */
int kc_spans_add(struct kc_spans *spans, const struct kc_span *span);

/* Instead of adding it: what is added from now on may have met it. */
void kc_spans_let_go(struct kc_spans *spans, const struct kc_span *span);

/* Hands over, and forgets, every span that ended by watermark_ns: it is known what
 * it met. Those added before since_ns are let go, with KC_OVERLAP_UNKNOWN unless
 * they met one launched before, which nothing can change any more. */
void kc_spans_decide(struct kc_spans *spans, int64_t watermark_ns, int64_t since_ns,
		     void (*decided)(const struct kc_span *span, void *arg), void *arg);

/* Takes the span of this owner out, as it was decided elsewhere. 1; 0: there is none. */
int kc_spans_take(struct kc_spans *spans, const void *owner, struct kc_span *out);

void kc_spans_free(struct kc_spans *spans);

#endif
