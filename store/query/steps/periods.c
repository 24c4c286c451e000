#include "periods.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST_CALLS 3u /* that recur, so that there are two distances */
#define FEWEST_VOTES 1u /* for a period */
#define SHORTEST 4u     /* period, in calls */
#define REGULAR                                                                                                        \
	0.45             /* share of the distances that are near their median; of what is done twice in an outer       \
			  * repeat, half are */
#define BURST 4.0        /* distance between bursts over those in them */
#define PAUSES 0.3       /* share of a repeat in which a call of bursts is not made */
#define MOST_ANCHORS 64u /* of a period; the most regular */
#define FEW_ANCHORS 8u   /* likewise */
#define AGREE 0.6        /* share of the anchors that make a repeat: more than a pass without gradients has */

KC_ORDER(by_number, uint32_t, KC_BY(*x, *y))

void kc_sort_numbers(uint32_t *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), by_number);
}

KC_ORDER(by_offset, int64_t, KC_BY(*x, *y))

static uint32_t apart(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* The next call of a vote from place i of its number's calls on; the number of these: there is none. */
static uint32_t next_of(const uint32_t *at, uint32_t n, uint32_t quiet, uint32_t i)
{
	while (i && i < n && at[i] - at[i - 1] < quiet)
		i++;
	return i;
}

/* The distances between the calls that count, sorted. */
static uint32_t gaps_of(const struct kc_calls *calls, uint32_t id, uint32_t quiet, uint32_t *gaps)
{
	const uint32_t *at = calls->places + calls->first[id];
	uint32_t n = kc_calls_of(calls, id), found = 0;

	for (uint32_t i = 0, next; i < n; i = next) {
		next = next_of(at, n, quiet, i + 1);
		if (next < n)
			gaps[found++] = at[next] - at[i];
	}
	kc_sort_numbers(gaps, found);
	return found;
}

/* Half the usual distance between bursts: of the longest distances, which together are PAUSES of the whole, the
 * shortest. 0: that is not far from the median, and there are no bursts. */
static uint32_t quiet_of(const uint32_t *gaps, uint32_t count)
{
	uint64_t all = 0, longest = 0;
	uint32_t i = count;

	for (uint32_t k = 0; k < count; k++)
		all += gaps[k];
	while (i && (double)longest < PAUSES * (double)all)
		longest += gaps[--i];
	return count && gaps[i] >= BURST * gaps[count / 2] ? gaps[i] / 2 : 0;
}

/* 1: it votes. */
static int vote_by(uint32_t id, uint32_t quiet, const uint32_t *gaps, uint32_t count, struct kc_vote *out)
{
	if (count + 1 < FEWEST_CALLS)
		return 0;
	*out = (struct kc_vote){.id = id, .quiet = quiet, .gap = gaps[count / 2], .count = count + 1};
	for (uint32_t i = 0; i < count; i++)
		out->regular += apart(gaps[i], out->gap) <= kc_period_tolerance(out->gap);
	return out->gap >= SHORTEST && out->regular >= REGULAR * count;
}

/* Returns how many votes the call has. gaps: room for its distances. */
static size_t votes_of(const struct kc_calls *calls, uint32_t id, uint32_t *gaps, struct kc_vote *out)
{
	uint32_t count = gaps_of(calls, id, 0, gaps), quiet = quiet_of(gaps, count);
	size_t votes = vote_by(id, 0, gaps, count, out) != 0;

	if (quiet) {
		count = gaps_of(calls, id, quiet, gaps);
		votes += vote_by(id, quiet, gaps, count, out + votes) != 0;
	}
	return votes;
}

KC_ORDER(longest_first, struct kc_vote, KC_DOWN(gap) ?: KC_UP(id) ?: KC_UP(quiet))

/* Distances that are not near the median; as if there were more where bursts vote, whose beginnings move. */
static uint32_t irregular(const struct kc_vote *vote)
{
	return vote->count - 1 - vote->regular + (vote->quiet ? vote->count / 4 + 1 : 0);
}

KC_ORDER(most_regular_first, struct kc_vote,
	 KC_BY(irregular(x), irregular(y)) ?: KC_DOWN(regular) ?: KC_UP(id) ?: KC_UP(quiet))

/* How many of the sorted votes are of anchors: those that are about as regular as the first, which leaves out what is
 * done in other passes, too; and where these are few, those that are less regular, all that are as regular as the
 * last of these. */
static size_t anchors_of(const struct kc_vote *votes, size_t count)
{
	uint32_t least = irregular(&votes[0]), most = 0;
	size_t anchors = 0;

	for (; anchors < count && anchors < MOST_ANCHORS; anchors++) {
		uint32_t off = irregular(&votes[anchors]), of = votes[anchors].count;

		if (off > least + of / 10 + 1 && off > most && (anchors >= FEW_ANCHORS || off > 2 * least + 2 + of / 4))
			break;
		most = off;
	}
	return anchors;
}

/* Votes for one period are neighbours when sorted. */
static void group(struct kc_vote *votes, size_t count, struct kc_periods *out)
{
	for (size_t i = 0, after; i < count; i = after) {
		uint32_t reach = 2 * kc_period_tolerance(votes[i].gap);

		for (after = i + 1; after < count && votes[i].gap - votes[after].gap <= reach;)
			after++;
		if (after - i < FEWEST_VOTES)
			continue;
		out->at[out->count] = (struct kc_period){votes[i + (after - i) / 2].gap, votes + i, after - i};
		qsort(votes + i, after - i, sizeof(*votes), most_regular_first);
		out->count++;
	}
}

int kc_periods_find(const struct kc_calls *calls, struct kc_periods *out)
{
	uint32_t most = 0, *gaps;
	size_t votes = 0;

	for (uint32_t id = 0; id < calls->ids; id++)
		most = kc_calls_of(calls, id) > most ? kc_calls_of(calls, id) : most;
	*out = (struct kc_periods){.votes = calloc(2 * (size_t)calls->ids + 1, sizeof(*out->votes)),
				   .at = calloc(2 * (size_t)calls->ids + 1, sizeof(*out->at))};
	gaps = calloc((size_t)most + 1, sizeof(*gaps));
	if (!gaps || !out->votes || !out->at) {
		free(gaps);
		kc_periods_free(out);
		return -ENOMEM;
	}
	for (uint32_t id = 0; id < calls->ids; id++)
		votes += votes_of(calls, id, gaps, &out->votes[votes]);
	free(gaps);
	qsort(out->votes, votes, sizeof(*out->votes), longest_first);
	group(out->votes, votes, out);
	return 0;
}

void kc_periods_free(struct kc_periods *periods)
{
	free(periods->votes);
	free(periods->at);
	*periods = (struct kc_periods){0};
}

/* --- where repeats are */

struct told {            /* by a call of an anchor */
	int64_t origin;  /* of its repeat */
	uint32_t anchor; /* place in the period's votes */
};

KC_ORDER(by_origin, struct told, KC_UP(origin) ?: KC_UP(anchor))

/* The median distance of the anchor's calls from the first anchor's last call before each. Calls before that are left
 * out. 0: there is none. */
static int offset_of(const struct kc_calls *calls, const struct kc_vote *first, const struct kc_vote *anchor,
		     int64_t *offsets, int64_t *out)
{
	const uint32_t *of = calls->places + calls->first[first->id], *at = calls->places + calls->first[anchor->id];
	uint32_t firsts = kc_calls_of(calls, first->id), n = kc_calls_of(calls, anchor->id);
	size_t found = 0;
	int64_t last = -1;

	for (uint32_t i = 0, next = 0; i < n; i = next_of(at, n, anchor->quiet, i + 1)) {
		while (next < firsts && of[next] <= at[i]) {
			last = of[next];
			next = next_of(of, firsts, first->quiet, next + 1);
		}
		if (last >= 0)
			offsets[found++] = (int64_t)at[i] - last;
	}
	if (!found)
		return 0;
	qsort(offsets, found, sizeof(*offsets), by_offset);
	*out = offsets[found / 2];
	return 1;
}

static size_t tell(const struct kc_calls *calls, const struct kc_period *period, size_t anchors, int64_t *offsets,
		   struct told *told)
{
	size_t count = 0;

	for (size_t a = 0; a < anchors; a++) {
		const struct kc_vote *vote = &period->vote[a];
		const uint32_t *at = calls->places + calls->first[vote->id];
		uint32_t n = kc_calls_of(calls, vote->id);
		int64_t offset;

		if (!offset_of(calls, &period->vote[0], vote, offsets, &offset))
			continue;
		for (uint32_t i = 0; i < n; i = next_of(at, n, vote->quiet, i + 1))
			told[count++] = (struct told){(int64_t)at[i] - offset, (uint32_t)a};
	}
	qsort(told, count, sizeof(*told), by_origin);
	return count;
}

/* The repeat that begins with told[i]: how many anchors are in it, and its origin: by the first anchor, if it is there,
 * else in the middle. */
static size_t agreeing(const struct told *told, size_t i, size_t count, int64_t reach, int64_t *origin)
{
	uint64_t seen = 0;
	size_t after = i;

	*origin = -1;
	for (; after < count && told[after].origin - told[i].origin <= reach; after++) {
		seen |= UINT64_C(1) << told[after].anchor;
		if (!told[after].anchor && *origin < 0)
			*origin = told[after].origin;
	}
	if (*origin < 0)
		*origin = told[i + (after - i) / 2].origin;
	return (size_t)__builtin_popcountll(seen);
}

static void gather(const struct told *told, size_t count, const struct kc_period *period, size_t anchors,
		   struct kc_origins *out)
{
	int64_t reach = period->calls / 5 > 4 ? period->calls / 5 : 4;
	int64_t origin;

	if (reach > period->calls / 2)
		reach = period->calls / 2;
	for (size_t i = 0; i < count;) {
		if ((double)agreeing(told, i, count, reach, &origin) < AGREE * (double)anchors) {
			i++;
			continue;
		}
		if (!out->count || origin > out->at[out->count - 1])
			out->at[out->count++] = origin;
		while (i < count && told[i].origin < origin + period->calls / 2)
			i++;
	}
}

int kc_origins_find(const struct kc_calls *calls, const struct kc_period *period, struct kc_origins *out)
{
	size_t anchors = anchors_of(period->vote, period->votes), most = 0, calls_of = 0;
	struct told *told;
	int64_t *offsets;

	for (size_t a = 0; a < anchors; a++) {
		size_t n = period->vote[a].count;

		calls_of += n;
		most = n > most ? n : most;
	}
	*out = (struct kc_origins){.at = calloc(calls_of + 1, sizeof(*out->at))};
	told = calloc(calls_of + 1, sizeof(*told));
	offsets = calloc(most + 1, sizeof(*offsets));
	if (!out->at || !told || !offsets) {
		free(out->at);
		out->at = NULL;
		free(told);
		free(offsets);
		return -ENOMEM;
	}
	gather(told, tell(calls, period, anchors, offsets, told), period, anchors, out);
	free(told);
	free(offsets);
	return 0;
}
