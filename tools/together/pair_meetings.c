#include "pair_meetings.h"

#include "store/database/schema.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MOST 4096u /* launches after one that are looked at */

#define MOST KC_PAIR_KERNELS_MAX

struct interval {
	int64_t start_ns, end_ns;
	uint32_t device, place;
	unsigned kernel; /* of the search; its count: none of these */
};

/* The pair of two kernels, whichever is first in it; pair_count: there is none. */
struct table {
	unsigned pair[MOST + 1][MOST + 1];
};

struct meeting {
	unsigned pair; /* of the search */
	double gain;   /* INFINITY: not known */
};

KC_ORDER(by_start, struct interval, KC_UP(device) ?: KC_UP(start_ns) ?: KC_UP(place))

KC_ORDER(by_end, struct interval, KC_UP(device) ?: KC_UP(end_ns))

KC_ORDER(by_pair_and_gain, struct meeting, KC_UP(pair) ?: KC_UP(gain))

static unsigned kernel_at(const struct kc_pair_search *s, const struct kc_measured_launch *launch)
{
	return kc_pair_kernel_at(s, kc_measured_shape(&s->names, launch->shape)->kernel);
}

/* Every measured launch whose GPU is known, whatever the filter says: what ran beside others ran there. */
static size_t list_intervals(const struct kc_pair_search *s, struct interval *out)
{
	const struct kc_measured_run *run = &s->side.runs[0];
	const struct kc_measured_launch *launches = run->launches.at;
	const struct kc_measured_moment *moments = run->moments.at;
	size_t n = 0;

	for (size_t i = 0; i < run->launches.count; i++) {
		int64_t end_ns = kc_plus_ns(moments[i].start_ns, launches[i].ns);

		if (end_ns > moments[i].start_ns && moments[i].device)
			out[n++] = (struct interval){
			    .start_ns = moments[i].start_ns,
			    .end_ns = end_ns,
			    .device = moments[i].device,
			    .place = (uint32_t)i,
			    .kernel = kernel_at(s, &launches[i]),
			};
	}
	return n;
}

/* How many from `first` on meet one another, each at least one of those before it. */
static size_t meeting_from(const struct interval *at, size_t n, size_t first)
{
	int64_t end_ns = at[first].end_ns;
	size_t next = first + 1;

	for (; next < n && at[next].device == at[first].device && at[next].start_ns < end_ns; next++)
		if (at[next].end_ns > end_ns)
			end_ns = at[next].end_ns;
	return next - first;
}

static void fill(const struct kc_pair_search *s, struct table *table)
{
	for (unsigned i = 0; i <= MOST; i++)
		for (unsigned k = 0; k <= MOST; k++)
			table->pair[i][k] = s->pair_count;
	for (unsigned i = 0; i < s->pair_count; i++) {
		unsigned first = s->pairs[i].first, second = s->pairs[i].second;

		table->pair[first][second] = table->pair[second][first] = i;
	}
}

/* Of the device, or one before it, and over when the other one begins. */
static int is_over(const struct interval *one, const struct interval *other)
{
	return one->device < other->device || (one->device == other->device && one->end_ns <= other->start_ns);
}

/* What begins meets all that run. at: by their starts; ends: the same by their ends. */
static void count_meetings(struct kc_pair_search *s, const struct table *table, const struct interval *at,
			   const struct interval *ends, size_t n)
{
	uint64_t running[MOST + 1] = {0};
	size_t over = 0;

	for (size_t i = 0; i < n; i++) {
		const unsigned *pairs = table->pair[at[i].kernel];

		for (; is_over(&ends[over], &at[i]); over++)
			running[ends[over].kernel]--;
		for (unsigned kernel = 0; kernel < s->count; kernel++)
			if (pairs[kernel] < s->pair_count)
				s->pairs[pairs[kernel]].measured += running[kernel];
		running[at[i].kernel]++;
	}
}

/* Of their times alone. */
static double gain_of(const struct interval *two, const double *solo_ns)
{
	double first = solo_ns[two[0].place], second = solo_ns[two[1].place];
	int64_t end_ns = two[0].end_ns > two[1].end_ns ? two[0].end_ns : two[1].end_ns;

	if (!(first > 0) || !(second > 0))
		return INFINITY;
	return 1 - (double)kc_minus_ns(end_ns, two[0].start_ns) / (first + second);
}

static int meet(unsigned pair, const struct interval *two, const double *solo_ns, struct kc__list *meetings)
{
	struct meeting *meeting = kc__list_add(meetings, sizeof(*meeting));

	if (!meeting)
		return -ENOMEM;
	*meeting = (struct meeting){pair, gain_of(two, solo_ns)};
	return 0;
}

/* Of meetings of one pair, those whose gain is known first. */
static void tell_pair(struct kc_pair *pair, const struct meeting *at, size_t count)
{
	size_t known = 0;

	while (known < count && isfinite(at[known].gain))
		known++;
	pair->by_themselves = count;
	pair->measured_gain = known ? at[known / 2].gain : NAN;
}

static void tell(struct kc_pair_search *s, struct kc__list *meetings)
{
	const struct meeting *at = meetings->at;

	if (meetings->count)
		qsort(meetings->at, meetings->count, sizeof(*at), by_pair_and_gain);
	for (size_t first = 0, end; first < meetings->count; first = end) {
		for (end = first; end < meetings->count && at[end].pair == at[first].pair; end++)
			;
		tell_pair(&s->pairs[at[first].pair], at + first, end - first);
	}
}

/* Of meetings that no other kernel was at, what they gained. 0 or -ENOMEM. */
static int find_gains(struct kc_pair_search *s, const struct table *table, const struct interval *at, size_t n,
		      const double *solo_ns)
{
	struct kc__list meetings = {0};
	int rc = 0;

	for (size_t first = 0, met; rc == 0 && first < n; first += met) {
		unsigned pair = s->pair_count;

		met = meeting_from(at, n, first);
		if (met == 2)
			pair = table->pair[at[first].kernel][at[first + 1].kernel];
		if (pair < s->pair_count)
			rc = meet(pair, &at[first], solo_ns, &meetings);
	}
	if (rc == 0)
		tell(s, &meetings);
	free(meetings.at);
	return rc;
}

int kc_pair_meetings(struct kc_pair_search *s, const double *solo_ns)
{
	size_t most = s->side.runs[0].launches.count + 1, n;
	struct interval *at = calloc(2 * most, sizeof(*at)), *ends;
	struct table table;
	int rc;

	if (!at)
		return -ENOMEM;
	ends = at + most;
	n = list_intervals(s, at);
	memcpy(ends, at, n * sizeof(*ends));
	qsort(at, n, sizeof(*at), by_start);
	qsort(ends, n, sizeof(*ends), by_end);
	fill(s, &table);
	count_meetings(s, &table, at, ends, n);
	rc = find_gains(s, &table, at, n, solo_ns);
	free(at);
	return rc;
}
