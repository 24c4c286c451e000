/*
 * Which measured kernels of one device ran at the same time.
 *
 *   kc_span      a measured kernel, and where to record whether it overlapped
 *   kc_spans     those that a kernel still to be measured may overlap, by start
 *   kc_awaited   the launches of one stream that are still to be measured, and the
 *                time before which none of them can have started: the call of the
 *                first, or the last measured end of the stream; less where launches
 *                of the stream may run beside each other
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
/* "unknown", "none", "behind", "overtaken". */
const char *kc_overlap_name(uint32_t overlap);

struct kc_span {
	int64_t start_ns, end_ns;
	int64_t since_ns;    /* when it was added, by the caller's clock */
	uint64_t order;      /* position of its launch call among all */
	uint8_t *overlap;    /* enum kc_overlap of the launch's record */
	void *owner;         /* for the caller's use */
	struct kc_load load; /* that it puts on the device; zeros: not known */
	struct kc_load met;  /* load of the kernels that it overlapped */
	uint32_t stream;     /* the caller's number for it; 0: not told */
	uint8_t doubtful;    /* it may have overlapped one that was dropped */
	uint8_t in_stream;   /* it overlapped one of its own stream */
	uint8_t opaque;      /* what it puts on the device is not known: KC_OVERLAP_UNKNOWN is what ran beside it */
	uint8_t beside_opaque;
};

struct kc_spans {
	struct kc_span *at; /* by start */
	uint32_t count, capacity;
	uint32_t gone; /* room in front of the first: the earliest are the first to leave */
	int64_t longest_ns;
	int64_t let_go_ns; /* latest end of those that were dropped */
};

/* How a launch stands to those before it in its stream. */
enum kc_order_in_stream {
	KC_IN_ORDER = 0, /* it begins when they have ended */
	/* It begins no earlier than they began: programmatic dependent launch, CUDA programming guide. */
	KC_BESIDE_PREVIOUS,
	/* It begins when those before the graph launch have ended. Of the graph's own kernels no order is known. */
	KC_BESIDE_IN_GRAPH,
};

struct kc_awaited {
	uint32_t count;
	uint32_t beside;         /* of them not KC_IN_ORDER */
	int64_t bound_ns;        /* of those in order */
	int64_t beside_bound_ns; /* of the others, while there are any */
	uint32_t graph;          /* the graph launch of the last one measured; 0: it was not of a graph */
};

static inline void kc_awaited_add(struct kc_awaited *a, int64_t launched_ns, enum kc_order_in_stream order)
{
	if (!a->count++ && launched_ns > a->bound_ns)
		a->bound_ns = launched_ns;
	if (order != KC_IN_ORDER && !a->beside++)
		a->beside_bound_ns = launched_ns;
}

/* start_ns, end_ns: measured; 0: they will never be known. graph: number of the graph launch, 0: not of a graph. */
static inline void kc_awaited_resolve(struct kc_awaited *a, int64_t start_ns, int64_t end_ns,
				      enum kc_order_in_stream order, uint32_t graph)
{
	int64_t from_ns = graph ? a->bound_ns : start_ns;

	a->count -= a->count != 0;
	a->beside -= order != KC_IN_ORDER && a->beside;
	if (!end_ns)
		return;
	/* What is awaited begins no earlier than this one did or, in a graph launch, than what came before had ended.
	 */
	if ((!graph || graph != a->graph) && from_ns > a->beside_bound_ns)
		a->beside_bound_ns = from_ns;
	a->graph = graph;
	if (end_ns > a->bound_ns)
		a->bound_ns = end_ns;
}

/* Nothing that is awaited has begun before. */
static inline int64_t kc_awaited_bound_ns(const struct kc_awaited *a)
{
	return a->beside && a->beside_bound_ns < a->bound_ns ? a->beside_bound_ns : a->bound_ns;
}

#define KC_SPANS_MAX 32768u

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
