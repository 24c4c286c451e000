/*
 * One period in a sequence of calls, in full: the host's marks, which say where a
 * repeat begins, the repeats from start to end, and how alike they are.
 *
 *   kc_mark        what the host does at one place of each repeat
 *   kc_repeat_is   how the repeats are, for the verdict
 */
#ifndef KC_REPEAT_H
#define KC_REPEAT_H

#include "found_steps.h"
#include "periods.h"

struct kc_mark {
	uint32_t name;       /* of the call after the longest wait, in most repeats */
	double times;        /* that wait over the longest wait elsewhere in a repeat; medians. 0: there is none */
	int64_t wait_ns;     /* median */
	int64_t offset;      /* of that call from the origin; calls, the median */
	double copying;      /* share of the repeats that copy from the host */
	int64_t copy_offset; /* of the first such copy, likewise */
	int copy_is_steady;  /* it is at this place in most */
};

/* 0 or -ENOMEM. calls: the period. */
int kc_mark_find(const struct kc_calls *calls, const struct kc_origins *origins, uint32_t period, struct kc_mark *out);

struct kc_repeat_is {
	double cover; /* share of the calls that are in repeats */
	double even;  /* share of the repeats that have nearly as many calls as is usual, and that another follows */
	double alike; /* of a repeat's calls, those in the one before, too; the mean */
	double composite; /* share of the calls in repeats that are made at least three times in their repeat */
	double foreign;   /* share of the calls that are in no repeat, and whose like is in none */
};

/* Spans by the origins and the mark. 0 or -ENOMEM; out->at is to be freed. */
int kc_repeat_make(const struct kc_calls *calls, const struct kc_origins *origins, uint32_t period,
		   const struct kc_mark *mark, struct kc_repeat *out);
int kc_repeat_describe(const struct kc_calls *calls, const struct kc_repeat *repeat, struct kc_repeat_is *out);

#endif
