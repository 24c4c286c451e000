#include "repeat.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_REPEATS 256u /* that are looked at for marks, spread over all */
#define STEADY 0.7        /* share of the repeats */

/* Of one call in one repeat: the longest waits before calls of this number. */
struct wait {
	uint32_t id; /* kc_calls.name */
	int64_t longest_ns, next_ns;
};

KC_ORDER(by_id, struct wait, KC_UP(id) ?: KC_UP(longest_ns))

KC_ORDER(by_ns, int64_t, KC_BY(*x, *y))

/* A wait for a result is none of the host's own, as where layers choose their experts, unless new data follows. */
static int64_t wait_before(const struct kc_calls *calls, uint32_t i)
{
	if (!i || (calls->at[i - 1].kind == KC_CALL_TO_HOST && calls->at[i].kind != KC_CALL_FROM_HOST))
		return 0;
	return calls->at[i].ns - calls->at[i - 1].ns;
}

/* Of the calls [first, after), one element for each number. places: by number, the place in `out` and 1. */
static size_t waits_of(const struct kc_calls *calls, int64_t first, int64_t after, uint32_t *places, struct wait *out)
{
	size_t count = 0;

	for (int64_t i = first; i < after; i++) {
		uint32_t id = calls->name[i];
		int64_t ns = wait_before(calls, (uint32_t)i);
		struct wait *w;

		if (!places[id]) {
			places[id] = (uint32_t)++count;
			out[count - 1] = (struct wait){id, -1, -1};
		}
		w = &out[places[id] - 1];
		if (ns > w->longest_ns) {
			w->next_ns = w->longest_ns;
			w->longest_ns = ns;
		} else if (ns > w->next_ns) {
			w->next_ns = ns;
		}
	}
	for (size_t i = 0; i < count; i++)
		places[out[i].id] = 0;
	return count;
}

/* Repeats are looked at from origin to origin, where the next one follows. */
static int is_whole(const struct kc_calls *calls, const struct kc_origins *origins, size_t k, uint32_t period)
{
	return k + 1 < origins->count && origins->at[k] >= 0 && origins->at[k + 1] <= (int64_t)calls->count &&
	       origins->at[k + 1] - origins->at[k] <= (int64_t)period + period / 4 + 2;
}

static int64_t median_ns(int64_t *ns, size_t count)
{
	qsort(ns, count, sizeof(*ns), by_ns);
	return ns[count / 2];
}

/* Sorted by id: of the numbers in most repeats, the one with the longest wait. */
static void judge(const struct wait *waits, size_t count, size_t repeats, int64_t *scratch, struct kc_mark *out)
{
	int64_t second = 0;

	for (size_t i = 0, after; i < count; i = after) {
		size_t n = 0, missing;
		int64_t longest, next;

		for (after = i; after < count && waits[after].id == waits[i].id; after++)
			n++;
		missing = repeats - n;
		if (n <= missing)
			continue;
		/* Where the call is missing, there is no wait: the median over all repeats. */
		longest = waits[i + repeats / 2 - missing].longest_ns;
		for (size_t k = 0; k < n; k++)
			scratch[k] = waits[i + k].next_ns;
		next = median_ns(scratch, n);
		if (longest > out->wait_ns) {
			second = out->wait_ns > next ? out->wait_ns : next;
			out->wait_ns = longest;
			out->name = waits[i].id;
		} else if (longest > second) {
			second = longest;
		}
	}
	if (out->wait_ns > 0)
		out->times = (double)out->wait_ns / (double)(second > 0 ? second : 1);
}

static int64_t longest_wait_of(const struct kc_calls *calls, int64_t first, int64_t after, uint32_t id)
{
	int64_t best = -1, ns = -1;

	for (int64_t i = first; i < after; i++) {
		if (calls->name[i] == id && wait_before(calls, (uint32_t)i) > ns) {
			ns = wait_before(calls, (uint32_t)i);
			best = i;
		}
	}
	return best;
}

/* The copy from the host that the most calls without one precede; -1: there is none. */
static int64_t leading_copy(const struct kc_calls *calls, int64_t first, int64_t after)
{
	int64_t last = -1, best = -1, most = -1;
	int64_t period = after - first;

	for (int64_t i = first; i < after; i++)
		if (calls->at[i].kind == KC_CALL_FROM_HOST)
			last = i;
	if (last < 0)
		return -1;
	last -= period; /* that of the repeat before stands for it */
	for (int64_t i = first; i < after; i++) {
		if (calls->at[i].kind != KC_CALL_FROM_HOST)
			continue;
		if (i - last > most) {
			most = i - last;
			best = i;
		}
		last = i;
	}
	return best;
}

/* How many of the sorted offsets are near their median, on the circle of the period. */
static size_t near_median(const int64_t *offsets, size_t count, uint32_t period)
{
	int64_t median = offsets[count / 2], reach = kc_period_tolerance(period) / 2 + 1;
	size_t near = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t off = offsets[i] > median ? offsets[i] - median : median - offsets[i];

		near += off <= reach || (int64_t)period - off <= reach;
	}
	return near;
}

struct looked {
	const struct kc_calls *calls;
	const struct kc_origins *origins;
	size_t *repeat; /* places of origins */
	size_t count;
	int64_t *offsets; /* room for as many */
};

static void place(const struct looked *l, uint32_t period, struct kc_mark *out)
{
	size_t found = 0, copying = 0;

	for (size_t k = 0; k < l->count; k++) {
		const int64_t *origin = &l->origins->at[l->repeat[k]];
		int64_t at = longest_wait_of(l->calls, origin[0], origin[1], out->name);

		if (at >= 0)
			l->offsets[found++] = at - origin[0];
	}
	if (found)
		out->offset = median_ns(l->offsets, found);
	if (!found || (double)near_median(l->offsets, found, period) < STEADY * (double)l->count)
		out->times = 0;
	for (size_t k = 0; k < l->count; k++) {
		const int64_t *origin = &l->origins->at[l->repeat[k]];
		int64_t at = leading_copy(l->calls, origin[0], origin[1]);

		if (at >= 0)
			l->offsets[copying++] = at - origin[0];
	}
	out->copying = (double)copying / (double)l->count;
	if (!copying)
		return;
	out->copy_offset = median_ns(l->offsets, copying);
	out->copy_is_steady = (double)near_median(l->offsets, copying, period) >= STEADY * (double)l->count;
}

static int look(const struct looked *l, size_t calls_of, uint32_t period, struct kc_mark *out)
{
	struct wait *waits = calloc(calls_of + 1, sizeof(*waits));
	uint32_t *places = calloc((size_t)l->calls->names + 1, sizeof(*places));
	int64_t *scratch = calloc(l->count + 1, sizeof(*scratch));
	size_t count = 0;

	if (waits && places && scratch) {
		for (size_t k = 0; k < l->count; k++) {
			const int64_t *origin = &l->origins->at[l->repeat[k]];

			count += waits_of(l->calls, origin[0], origin[1], places, waits + count);
		}
		qsort(waits, count, sizeof(*waits), by_id);
		judge(waits, count, l->count, scratch, out);
		place(l, period, out);
	}
	free(scratch);
	free(places);
	free(waits);
	return waits && places && scratch ? 0 : -ENOMEM;
}

int kc_mark_find(const struct kc_calls *calls, const struct kc_origins *origins, uint32_t period, struct kc_mark *out)
{
	size_t every = origins->count / MOST_REPEATS + 1, calls_of = 0;
	struct looked l = {calls, origins, calloc(MOST_REPEATS + 1, sizeof(*l.repeat)), 0,
			   calloc(MOST_REPEATS + 1, sizeof(*l.offsets))};
	int rc = l.repeat && l.offsets ? 0 : -ENOMEM;

	*out = (struct kc_mark){0};
	for (size_t k = 0; rc == 0 && k < origins->count; k += every) {
		if (!is_whole(calls, origins, k, period))
			continue;
		l.repeat[l.count++] = k;
		calls_of += (size_t)(origins->at[k + 1] - origins->at[k]);
	}
	if (rc == 0 && l.count)
		rc = look(&l, calls_of, period, out);
	free(l.repeat);
	free(l.offsets);
	return rc;
}
