#include "beside.h"

#include "store/database/schema.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>

#define STEPS_MOST 4096u
#define KERNELS_MOST 64u /* of which the longest are named */

struct kc_slow_interval {
	int64_t start_ns, end_ns;
	int64_t latest_end_ns; /* of it and all before it on its device */
	uint32_t device, place;
};

struct meeting {
	uint32_t kernel;
	int64_t ns;
};

static const struct kc_measured_launch *launch_at(const struct kc_slow_intervals *intervals, uint32_t place)
{
	return (const struct kc_measured_launch *)intervals->run->launches.at + place;
}

KC_ORDER(by_start, struct kc_slow_interval, KC_UP(device) ?: KC_UP(start_ns) ?: KC_UP(place))

static struct kc_slow_interval interval_of(const struct kc_slow_intervals *intervals, uint32_t place)
{
	const struct kc_measured_moment *moment = (const struct kc_measured_moment *)intervals->run->moments.at + place;

	return (struct kc_slow_interval){
	    .start_ns = moment->start_ns,
	    .end_ns = kc_plus_ns(moment->start_ns, launch_at(intervals, place)->ns),
	    .device = moment->device,
	    .place = place,
	};
}

int kc_slow_intervals(const struct kc_measured_names *names, const struct kc_measured_run *run,
		      struct kc_slow_intervals *out)
{
	*out = (struct kc_slow_intervals){.names = names, .run = run};
	out->at = calloc(run->launches.count + 1, sizeof(*out->at));
	if (!out->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->launches.count; i++)
		if (launch_at(out, i)->ns > 0)
			out->at[out->count++] = interval_of(out, i);
	qsort(out->at, out->count, sizeof(*out->at), by_start);
	for (size_t i = 0; i < out->count; i++) {
		struct kc_slow_interval *interval = out->at + i;
		int is_first = i == 0 || interval[-1].device != interval->device;

		if (i == 0 || interval->start_ns < out->earliest_ns)
			out->earliest_ns = interval->start_ns;
		interval->latest_end_ns = interval->end_ns;
		if (!is_first && interval[-1].latest_end_ns > interval->latest_end_ns)
			interval->latest_end_ns = interval[-1].latest_end_ns;
	}
	return 0;
}

void kc_slow_intervals_free(struct kc_slow_intervals *intervals)
{
	free(intervals->at);
	*intervals = (struct kc_slow_intervals){0};
}

/* --- all that overlapped */

/* The launches of a device from `first` on that meet one another, each at least one of those before it. */
static size_t end_of_group(const struct kc_slow_intervals *intervals, size_t first)
{
	size_t end = first + 1;

	while (end < intervals->count && intervals->at[end].device == intervals->at[first].device &&
	       intervals->at[end].start_ns < intervals->at[end - 1].latest_end_ns)
		end++;
	return end;
}

void kc_slow_find_overlapped(const struct kc_slow_intervals *intervals, const double *longer_ns,
			     struct kc_slow_overlapped *out)
{
	const struct kc_measured_moment *moments = intervals->run->moments.at;

	*out = (struct kc_slow_overlapped){0};
	for (size_t first = 0, end; first < intervals->count; first = end) {
		double alone_ns = 0;
		int matches = 1;

		end = end_of_group(intervals, first);
		for (size_t i = first; i < end; i++) {
			uint32_t place = intervals->at[i].place;

			matches = matches && moments[place].matches;
			alone_ns += (double)launch_at(intervals, place)->ns - longer_ns[place];
		}
		if (end - first == 1 || !matches)
			continue;
		out->launches += end - first;
		out->alone_ns += alone_ns;
		out->together_ns +=
		    (double)kc_minus_ns(intervals->at[end - 1].latest_end_ns, intervals->at[first].start_ns);
	}
}

/* --- one launch */

struct meetings {
	const struct kc_slow_intervals *intervals;
	const struct kc_slow_interval *of;
	struct meeting at[KERNELS_MOST];
	uint32_t count;
	int64_t total_ns;
};

static void meet(struct meetings *m, const struct kc_slow_interval *other)
{
	int64_t start = other->start_ns > m->of->start_ns ? other->start_ns : m->of->start_ns;
	int64_t end = other->end_ns < m->of->end_ns ? other->end_ns : m->of->end_ns;
	uint32_t shape = launch_at(m->intervals, other->place)->shape, i = 0;
	uint32_t kernel = kc_measured_shape(m->intervals->names, shape)->kernel;

	if (start >= end)
		return;
	m->total_ns = kc_plus_ns(m->total_ns, end - start);
	while (i < m->count && m->at[i].kernel != kernel)
		i++;
	if (i == KERNELS_MOST)
		return;
	if (i == m->count)
		m->at[m->count++] = (struct meeting){.kernel = kernel};
	m->at[i].ns = kc_plus_ns(m->at[i].ns, end - start);
}

KC_ORDER(longest_first, struct meeting, KC_DOWN(ns) ?: KC_UP(kernel))

void kc_slow_find_beside(const struct kc_slow_intervals *intervals, uint32_t place, struct kc_slow_beside *out)
{
	const struct kc_slow_interval of = interval_of(intervals, place);
	const struct kc_slow_interval *found =
	    bsearch(&of, intervals->at, intervals->count, sizeof(*intervals->at), by_start);
	struct meetings m = {.intervals = intervals, .of = &of};

	*out = (struct kc_slow_beside){0};
	if (!found)
		return;
	for (size_t i = (size_t)(found - intervals->at), steps = 0; i > 0 && steps < STEPS_MOST; i--, steps++) {
		const struct kc_slow_interval *other = intervals->at + i - 1;

		if (other->device != of.device || other->latest_end_ns <= of.start_ns)
			break;
		meet(&m, other);
	}
	for (size_t i = (size_t)(found - intervals->at) + 1, steps = 0; i < intervals->count && steps < STEPS_MOST;
	     i++, steps++) {
		if (intervals->at[i].device != of.device || intervals->at[i].start_ns >= of.end_ns)
			break;
		meet(&m, intervals->at + i);
	}
	qsort(m.at, m.count, sizeof(*m.at), longest_first);
	out->total_ns = m.total_ns;
	for (; out->count < m.count && out->count < KC_SLOW_BESIDE_MOST; out->count++) {
		out->kernels[out->count] = m.at[out->count].kernel;
		out->ns[out->count] = m.at[out->count].ns;
	}
}
