/*
 * Steps of a process that nothing annotates: from its launches and copies alone.
 *
 *   kc_repeat        one period: where each repeat begins and ends, and what speaks
 *                    for its being a step
 *   kc_found_steps   the longest period, the next shorter one within it, and what
 *                    may be said of them
 *
 * Layers repeat, too. A repeat is a step where the host shows that it begins anew: it
 * copies data to the GPU in each; or it waits longest at the same place of each, and
 * they are 200 or more, or hold repeats, or nothing else was launched. Without that, it is
 * one where it holds repeats itself, is long, and nothing else was launched in the whole
 * recording; a pass through layers has at least a beginning of its own. Where repeats of
 * both periods are marked, as in gradient accumulation, neither is called the step.
 *
 * What a call is, is told with its launch shape; and without it, as sizes may differ from
 * step to step, which counts if the repeats are more alike then, and not longer.
 *
 * In time O(n log n) and some 30 bytes for each call.
 */
#ifndef KC_FOUND_STEPS_H
#define KC_FOUND_STEPS_H

#include "call_sequence.h"

#include <stdint.h>

enum kc_step_start {
	KC_START_GAP,     /* after the longest wait of the host in each repeat */
	KC_START_COPY,    /* with the first copy from the host */
	KC_START_ASSUMED, /* the length is known, and the start is not: it is that of the recording */
};

struct kc_call_span {
	uint32_t first, after; /* indices of calls */
};

struct kc_repeat {
	struct kc_call_span *at; /* rising; they do not overlap */
	uint32_t count;          /* 0: no such period */
	uint32_t launches;       /* in each; the median */
	uint32_t regular;        /* how many have exactly as many */
	enum kc_step_start start;
};

enum kc_steps_verdict {
	KC_STEPS_NONE,   /* nothing repeats, or not over most of the recording */
	KC_STEPS_REPEAT, /* something does, and it may be layers */
	KC_STEPS_FOUND,  /* the longest period's repeats are steps */
	KC_STEPS_NESTED, /* there are two periods, and either may be that of the steps */
};

struct kc_found_steps {
	enum kc_steps_verdict verdict;
	struct kc_repeat outer, inner;
	double alike; /* share of the calls of an outer repeat that are in the one before, too */
};

/* What a process called. Numbers are from 0, in the order in which they are first met. */
struct kc_recording {
	const struct kc_call *at;
	const uint32_t *shape; /* of the kernel, launch shape and stream; of the kind of copy and stream */
	const uint32_t *name;  /* likewise, whatever the launch shape */
	uint32_t count, shapes, names;
};

/* 0 or -ENOMEM. Free it with kc_found_steps_free(). */
int kc_found_steps_find(const struct kc_recording *recording, struct kc_found_steps *out);
void kc_found_steps_free(struct kc_found_steps *steps);

#endif
