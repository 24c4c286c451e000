/*
 * Which measured kernels of one device ran at the same time.
 *
 *   kc_span      a measured kernel, and where to record whether it overlapped
 *   kc_spans     those that a kernel still to be measured may overlap, by start
 *   kc_awaited   the launches of one stream that are still to be measured, and the
 *                time before which none of them can have started: the call of the
 *                first, or the last measured end of the stream
 *
 * A span is added once measured, and decided when no kernel that could have
 * overlapped it can still become known. One that has to be dropped earlier is
 * recorded as unknown, and so is one added later that may have overlapped it. The
 * live worker, the import of traces and the replay all use these functions.
 */
#ifndef KC_OVERLAP_H
#define KC_OVERLAP_H

#include "contention.h"

#include <stdint.h>

enum kc_overlap {
	KC_OVERLAP_UNKNOWN = 0,
	KC_OVERLAP_NONE = 1,
	KC_OVERLAP_BEHIND = 2,    /* overlapped a kernel launched before it */
	KC_OVERLAP_OVERTAKEN = 3, /* overlapped only kernels launched after it */
};

struct kc_span {
	int64_t start_ns, end_ns;
	int64_t since_ns;    /* when it was added, by the caller's clock */
	uint64_t order;      /* position of its launch call among all */
	uint8_t *overlap;    /* enum kc_overlap of the launch's record */
	void *owner;         /* for the caller's use */
	struct kc_load load; /* that it puts on the device; zeros: not known */
	struct kc_load met;  /* load of the kernels that it overlapped */
	uint8_t doubtful;    /* it may have overlapped one that was dropped */
};

struct kc_spans {
	struct kc_span *at; /* by start */
	uint32_t count, capacity;
	int64_t longest_ns;
	int64_t let_go_ns; /* latest end of those that were dropped */
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

/* end_ns: measured; 0: it will never be known. */
static inline void kc_awaited_resolve(struct kc_awaited *a, int64_t end_ns)
{
	a->count -= a->count != 0;
	if (end_ns > a->bound_ns)
		a->bound_ns = end_ns;
}

#define KC_SPANS_MAX 65536u

/* 0; -ENOBUFS: KC_SPANS_MAX are held; -ENOMEM. */
int kc_spans_add(struct kc_spans *spans, const struct kc_span *span);

/* Drops a span without adding it: those added from now on may have overlapped it. */
void kc_spans_drop(struct kc_spans *spans, const struct kc_span *span);

/* Passes every span that ended by watermark_ns to `decided` and removes it: its overlap is known. Spans added before
 * since_ns are dropped: KC_OVERLAP_UNKNOWN unless they overlapped an earlier launch, which nothing can change any more.
 */
void kc_spans_decide(struct kc_spans *spans, int64_t watermark_ns, int64_t since_ns,
		     void (*decided)(const struct kc_span *span, void *arg), void *arg);

/* Takes the span of this owner out, as it was decided elsewhere. 1; 0: there is none. */
int kc_spans_take(struct kc_spans *spans, const void *owner, struct kc_span *out);

void kc_spans_free(struct kc_spans *spans);

#endif
