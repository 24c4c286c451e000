#include "time_use.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>

struct track {
	struct kc_time_use sum; /* of what was added before */
	struct kc_time_use now;
	int open; /* now has intervals */
	int64_t first_ns;
	int64_t busy_until_ns, kernels_until_ns, compute_until_ns, communication_until_ns; /* last ends */
	const struct kc_interval *last;                                                    /* to end */
};

KC_ORDER(by_start, struct kc_interval, KC_UP(start_ns) ?: KC_UP(launched_ns))

static void sort(struct kc_interval *at, size_t count)
{
	size_t i = 1;

	while (i < count && by_start(&at[i - 1], &at[i]) <= 0)
		i++;
	if (i < count)
		qsort(at, count, sizeof(*at), by_start);
}

static void add_gap(struct kc_time_use *use, int64_t start_ns, const struct kc_interval *next)
{
	int64_t ns = next->start_ns - start_ns, launched_ns = next->launched_ns;
	int64_t until_ns = launched_ns < start_ns         ? start_ns
			   : launched_ns > next->start_ns ? next->start_ns
							  : launched_ns;

	use->idle_ns += ns;
	if (launched_ns == KC_LAUNCH_UNKNOWN) {
		use->idle_unknown_ns += ns;
	} else {
		use->idle_launch_bound_ns += until_ns - start_ns;
		use->idle_launched_ns += next->start_ns - until_ns;
	}
}

/* The part of the interval after *until_ns, which becomes its end. */
static int64_t beyond(int64_t *until_ns, const struct kc_interval *interval)
{
	int64_t from_ns = interval->start_ns > *until_ns ? interval->start_ns : *until_ns;

	if (interval->end_ns <= from_ns)
		return 0;
	*until_ns = interval->end_ns;
	return interval->end_ns - from_ns;
}

/* In the order of their starts. What ended last before the gap that the interval ends; NULL: it ends none. */
static const struct kc_interval *track_add(struct track *track, const struct kc_interval *interval)
{
	const struct kc_interval *before = NULL;

	if (!track->open) {
		track->open = 1;
		track->now = (struct kc_time_use){0};
		track->first_ns = track->busy_until_ns = interval->start_ns;
		track->kernels_until_ns = track->compute_until_ns = track->communication_until_ns = interval->start_ns;
		track->last = interval;
	}
	if (interval->start_ns > track->busy_until_ns) {
		add_gap(&track->now, track->busy_until_ns, interval);
		track->busy_until_ns = interval->start_ns;
		before = track->last;
	}
	if (before || interval->end_ns > track->busy_until_ns)
		track->last = interval;
	track->now.busy_ns += beyond(&track->busy_until_ns, interval);
	if (interval->is_copy) {
		track->now.copies++;
		return before;
	}
	track->now.kernels++;
	track->now.kernels_ns += beyond(&track->kernels_until_ns, interval);
	if (interval->communicates)
		track->now.communication_ns += beyond(&track->communication_until_ns, interval);
	else
		track->now.compute_ns += beyond(&track->compute_until_ns, interval);
	return before;
}

/* A sum that would overflow, of damaged times, stays as it is: every other one is part of the span. */
static void track_close(struct track *track)
{
	struct kc_time_use *sum = &track->sum, *now = &track->now;
	int64_t span_ns;

	if (!track->open)
		return;
	track->open = 0;
	now->span_ns = track->busy_until_ns - track->first_ns;
	now->copies_only_ns = now->busy_ns - now->kernels_ns;
	now->exposed_ns = now->kernels_ns - now->compute_ns;
	now->hidden_ns = now->communication_ns - now->exposed_ns;
	if (__builtin_add_overflow(sum->span_ns, now->span_ns, &span_ns))
		return;
	sum->kernels += now->kernels;
	sum->copies += now->copies;
	sum->span_ns = span_ns;
	sum->busy_ns += now->busy_ns;
	sum->kernels_ns += now->kernels_ns;
	sum->compute_ns += now->compute_ns;
	sum->communication_ns += now->communication_ns;
	sum->hidden_ns += now->hidden_ns;
	sum->exposed_ns += now->exposed_ns;
	sum->copies_only_ns += now->copies_only_ns;
	sum->idle_ns += now->idle_ns;
	sum->idle_launch_bound_ns += now->idle_launch_bound_ns;
	sum->idle_launched_ns += now->idle_launched_ns;
	sum->idle_unknown_ns += now->idle_unknown_ns;
}

static struct track *track_of(const struct kc__list *tracks, uint32_t number)
{
	return number && number <= tracks->count ? (struct track *)tracks->at + number - 1 : NULL;
}

static int make_room(struct kc__list *tracks, uint32_t number)
{
	while (tracks->count < number) {
		if (!kc__list_add(tracks, sizeof(struct track)))
			return -ENOMEM;
	}
	return 0;
}

static int make_all_room(struct kc_time_sums *sums, const struct kc_interval *at, size_t count)
{
	uint32_t devices = 0, streams = 0, places = 0;

	for (size_t i = 0; i < count; i++) {
		devices = at[i].device > devices ? at[i].device : devices;
		streams = at[i].stream > streams ? at[i].stream : streams;
		places = at[i].place > places ? at[i].place : places;
	}
	return make_room(&sums->devices, devices) || make_room(&sums->streams, streams) ||
		       make_room(&sums->places, places)
		   ? -ENOMEM
		   : 0;
}

static void add_one(struct kc_time_sums *sums, const struct kc_interval *interval)
{
	struct track *stream = track_of(&sums->streams, interval->stream),
		     *place = track_of(&sums->places, interval->place);
	const struct kc_interval *before = track_add(track_of(&sums->devices, interval->device), interval);

	if (before)
		kc_gaps_add(&sums->gaps, before, interval, place && !place->open);
	if (stream)
		track_add(stream, interval);
	if (place)
		track_add(place, interval);
}

int kc_time_sums_add(struct kc_time_sums *sums, struct kc_interval *at, size_t count)
{
	struct kc__list *const all[] = {&sums->devices, &sums->streams, &sums->places};

	if (make_all_room(sums, at, count))
		return -ENOMEM;
	sort(at, count);
	for (size_t i = 0; i < count; i++)
		add_one(sums, at + i);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (size_t k = 0; k < all[i]->count; k++)
			track_close((struct track *)all[i]->at + k);
	return 0;
}

static struct kc_time_use use_of(const struct kc__list *tracks, uint32_t number)
{
	const struct track *track = track_of(tracks, number);

	return track ? track->sum : (struct kc_time_use){0};
}

struct kc_time_use kc_time_use_of_device(const struct kc_time_sums *sums, uint32_t number)
{
	return use_of(&sums->devices, number);
}

struct kc_time_use kc_time_use_of_stream(const struct kc_time_sums *sums, uint32_t number)
{
	return use_of(&sums->streams, number);
}

struct kc_time_use kc_time_use_of_place(const struct kc_time_sums *sums, uint32_t number)
{
	return use_of(&sums->places, number);
}

void kc_time_sums_free(struct kc_time_sums *sums)
{
	free(sums->devices.at);
	free(sums->streams.at);
	free(sums->places.at);
	*sums = (struct kc_time_sums){0};
}
