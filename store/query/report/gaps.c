#include "gaps.h"
#include "predictor/math/order.h"

#include <string.h>

const char *kc_gap_cause_name(enum kc_gap_cause cause)
{
	static const char *const names[KC_GAP_CAUSES] = {
	    [KC_GAP_HOST] = "host_late",           [KC_GAP_SYNC] = "synchronisation", [KC_GAP_COPY] = "copy",
	    [KC_GAP_NOTHING] = "nothing_launched", [KC_GAP_STREAM] = "other_stream",  [KC_GAP_LAUNCH] = "launch",
	    [KC_GAP_UNKNOWN] = "unknown",
	};

	return names[cause];
}

/* How long the place waited between these two, in waits that came back until then; -1: in none. */
static int64_t waited(const struct kc_gaps *gaps, uint32_t place, int64_t from_ns, int64_t to_ns)
{
	size_t low = KC_FIRST(i, gaps->wait_count, gaps->waits[i].time_ns > to_ns);
	int64_t sum_ns = 0, until_ns = to_ns; /* what is later has been added */

	for (; low > 0 && gaps->waits[low - 1].time_ns > from_ns; low--) {
		const struct kc_host_wait *wait = gaps->waits + low - 1;
		int64_t end_ns = wait->time_ns < until_ns ? wait->time_ns : until_ns;
		int64_t start_ns = wait->began_ns > from_ns ? wait->began_ns : from_ns;

		if (wait->place != place || start_ns >= end_ns)
			continue;
		sum_ns += end_ns - start_ns;
		until_ns = start_ns;
	}
	return sum_ns ? sum_ns : -1;
}

static enum kc_gap_cause cause_of(const struct kc_gap *gap, int is_first)
{
	const struct kc_interval *before = &gap->before, *after = &gap->after;
	int64_t waited_ns = gap->waited_ns < 0 ? 0 : gap->waited_ns;

	if (gap->late_ns < 0)
		return KC_GAP_UNKNOWN;
	if (gap->late_ns >= gap->end_ns - gap->start_ns - gap->late_ns) {
		if (is_first)
			return KC_GAP_NOTHING;
		if (waited_ns >= gap->late_ns - waited_ns)
			return KC_GAP_SYNC;
		return before->of_host && before->place == after->place ? KC_GAP_COPY : KC_GAP_HOST;
	}
	if (before->stream != after->stream && before->stream && after->stream)
		return KC_GAP_STREAM;
	return after->of_host ? KC_GAP_COPY : KC_GAP_LAUNCH;
}

/* What ended it was launched before it began, or in it, or, by a clock that is a little off, after it. */
static void part(const struct kc_gaps *gaps, struct kc_gap *gap)
{
	int64_t launched_ns = gap->after.launched_ns;

	gap->late_ns = gap->waited_ns = -1;
	if (launched_ns == KC_LAUNCH_UNKNOWN)
		return;
	if (launched_ns > gap->end_ns)
		launched_ns = gap->end_ns;
	gap->late_ns = launched_ns > gap->start_ns ? launched_ns - gap->start_ns : 0;
	gap->waited_ns = waited(gaps, gap->after.place, gap->start_ns, launched_ns);
}

static int is_longer(const struct kc_gap *a, const struct kc_gap *b)
{
	int64_t ns = a->end_ns - a->start_ns, other_ns = b->end_ns - b->start_ns;

	if (ns != other_ns)
		return ns > other_ns;
	return a->clock != b->clock ? a->clock < b->clock : a->start_ns < b->start_ns;
}

static void keep(struct kc_gaps *gaps, const struct kc_gap *gap)
{
	size_t at = gaps->kept;

	if (gaps->kept == KC_GAPS_KEPT && !is_longer(gap, gaps->longest + KC_GAPS_KEPT - 1))
		return;
	if (gaps->kept == KC_GAPS_KEPT)
		at--;
	else
		gaps->kept++;
	for (; at > 0 && is_longer(gap, gaps->longest + at - 1); at--)
		gaps->longest[at] = gaps->longest[at - 1];
	gaps->longest[at] = *gap;
}

void kc_gaps_add(struct kc_gaps *gaps, const struct kc_interval *before, const struct kc_interval *after, int is_first)
{
	struct kc_gap gap = {.start_ns = before->end_ns,
			     .end_ns = after->start_ns,
			     .before = *before,
			     .after = *after,
			     .clock = gaps->clock};
	int64_t sum;

	part(gaps, &gap);
	gap.cause = cause_of(&gap, is_first);
	if (__builtin_add_overflow(gaps->ns[gap.cause], gap.end_ns - gap.start_ns, &sum))
		return;
	gaps->ns[gap.cause] = sum;
	gaps->count[gap.cause]++;
	keep(gaps, &gap);
}
