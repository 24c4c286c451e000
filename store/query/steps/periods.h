/*
 * How often a sequence of calls repeats: by votes of calls that recur.
 *
 * A call that is made once in each repeat recurs after about as many other calls
 * each time. That distance is its vote for a period, in calls. One that is made
 * several times in a part of the repeat, as the kernels of layers are, votes twice:
 * for the shorter period within, and by the first of each burst for the longer one.
 *
 *   kc_periods   the periods with several votes, longest first
 *   kc_origins   where repeats of one period are: the calls that voted, its
 *                anchors, keep their distances from each other, so that each tells
 *                where its repeat is; a place that most of them agree on is one.
 *                Calls that are missing or more than usual move it little.
 */
#ifndef KC_PERIODS_H
#define KC_PERIODS_H

#include "call_sequence.h"

struct kc_vote {
	uint32_t id;
	uint32_t quiet;   /* calls; of its calls, those count that come as long after the one before, or later */
	uint32_t gap;     /* calls; the median of the distances between these */
	uint32_t count;   /* of these */
	uint32_t regular; /* distances that are near the median */
};

struct kc_period {
	uint32_t calls;             /* the median of the votes */
	const struct kc_vote *vote; /* most regular first */
	size_t votes;
};

struct kc_periods {
	struct kc_vote *votes;
	struct kc_period *at;
	size_t count;
};

struct kc_origins {
	int64_t *at; /* index of a call, or where it would be; rising */
	size_t count;
};

/* How far from `calls` a distance may be and still be the same period. */
static inline uint32_t kc_period_tolerance(uint32_t calls)
{
	return calls / 10 > 2 ? calls / 10 : 2;
}

/* Rising. */
void kc_sort_numbers(uint32_t *numbers, size_t count);

/* 0 or -ENOMEM. */
int kc_periods_find(const struct kc_calls *calls, struct kc_periods *out);
void kc_periods_free(struct kc_periods *periods);

/* 0 or -ENOMEM. Free out->at. */
int kc_origins_find(const struct kc_calls *calls, const struct kc_period *period, struct kc_origins *out);

#endif
