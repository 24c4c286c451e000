/*
 * The gaps in which nothing ran on a GPU, from measured kernels and copies: why,
 * as far as launch calls, starts, ends and waits of the host tell, and the longest.
 *
 *   kc_interval    one measured kernel or copy
 *   kc_gap         what ended last before it, and what ended it
 *   kc_gaps        the sums of all by cause, and the longest
 *
 * A gap has the cause that makes the larger part of it: until what ended it was
 * launched, the host was late; from then on, it waited for something else. The
 * host was late for having waited, where that is the larger part of its being late.
 */
#ifndef KC_GAPS_H
#define KC_GAPS_H

#include <stddef.h>
#include <stdint.h>

#define KC_LAUNCH_UNKNOWN INT64_MIN

/* Starts and ends lie within these bounds, so that differences of two do not overflow. */
#define KC_INTERVAL_LAST_NS ((INT64_C(1) << 62) - 1)
#define KC_INTERVAL_FIRST_NS (-KC_INTERVAL_LAST_NS)

#define KC_GAPS_KEPT 100u

struct kc_interval {
	int64_t start_ns, end_ns; /* end_ns >= start_ns */
	int64_t launched_ns;      /* time of the launch call; KC_LAUNCH_UNKNOWN */
	uint32_t stream;          /* number from 1; 0: not known */
	uint32_t device : 28;     /* number from 1 */
	uint32_t is_copy : 1;     /* or a memset */
	uint32_t of_host : 1;     /* copies from or to memory of the host */
	uint32_t is_graph : 1;    /* measured as one */
	uint32_t communicates : 1;
	uint32_t place; /* of the process on the device, number from 1; 0: not known */
	int64_t row;    /* whatever the caller knows it by */
};

/* The host has waited for work, and came back. */
struct kc_host_wait {
	int64_t began_ns, time_ns;
	uint32_t place;
};

enum kc_gap_cause {
	KC_GAP_HOST,    /* the host launched it late, for no reason that is known */
	KC_GAP_SYNC,    /* late, as it waited for the GPU */
	KC_GAP_COPY,    /* late, after a copy that it could have waited for; or the host had yet to bring its data */
	KC_GAP_NOTHING, /* the process had not launched anything before */
	KC_GAP_STREAM,  /* launched in time; work of another stream had run before */
	KC_GAP_LAUNCH,  /* launched in time; the launch was on its way */
	KC_GAP_UNKNOWN, /* it is not known when it was launched */
	KC_GAP_CAUSES,
};

/* Word in JSON and CSV: "host_late". */
const char *kc_gap_cause_name(enum kc_gap_cause cause);

struct kc_gap {
	int64_t start_ns, end_ns;
	int64_t late_ns;   /* of it, before the launch call; -1: not known */
	int64_t waited_ns; /* of that, while the host waited for the GPU; -1: it did not, or that is not known */
	enum kc_gap_cause cause;
	struct kc_interval before, after;
	int64_t clock; /* as the caller numbers them */
};

/* Starts as zeros. */
struct kc_gaps {
	uint64_t count[KC_GAP_CAUSES];
	int64_t ns[KC_GAP_CAUSES];
	struct kc_gap longest[KC_GAPS_KEPT]; /* longest first; of equal ones the earlier */
	size_t kept;
	/* For the intervals that are added next: */
	int64_t clock;
	const struct kc_host_wait *waits; /* by the time at which they came back */
	size_t wait_count;
};

/* Between two intervals of a device. is_first: nothing of the second one's place has run before. */
void kc_gaps_add(struct kc_gaps *gaps, const struct kc_interval *before, const struct kc_interval *after, int is_first);

#endif
