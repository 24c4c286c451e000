#include "evaluate.h"
#include "memory.h"

#include <math.h>

/* What the lanes of a warp read or write in one access. */
struct moved {
	uint32_t mask;             /* lanes that access at least one byte */
	uint8_t uneven, unknown;   /* some access less than event->bytes; for some it is not known how many */
	uint64_t bytes;            /* of all lanes */
	uint8_t of[KC_WARP_LANES]; /* of each lane, if uneven */
};

/* A bulk copy has any number of bytes; if it is not known, 0. */
static uint32_t bytes_of(const struct kc_event *event, const struct kc_lanes *size, uint32_t lane)
{
	int64_t bytes = kc__lane(size, lane);

	if (!(size->known >> lane & 1))
		return event->bytes;
	if (bytes <= 0)
		return 0;
	if (event->kind == KC_EVENT_COUNT)
		return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	return bytes < event->bytes ? (uint32_t)bytes : event->bytes;
}

static void find_moved(struct kc_evaluation *e, const struct kc_event *event, uint32_t mask, struct moved *moved)
{
	const struct kc_lanes *size = kc__slot(e, event->size);
	uint32_t changing = (size->affine_in | size->unknown_in) & e->windows.recorded;

	moved->mask = mask & ~size->known;
	moved->unknown = moved->mask != 0;
	for (uint32_t left = mask; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left), bytes = bytes_of(event, size, lane);

		moved->mask |= (uint32_t)(bytes > 0) << lane;
		moved->bytes += bytes;
		moved->of[lane] = (uint8_t)bytes;
		moved->uneven |= bytes > 0 && bytes < event->bytes;
	}
	/* Sums in which the size changes are taken term by term. */
	for (; changing; changing &= changing - 1)
		kc__limit_flow(&e->windows, (uint32_t)__builtin_ctz(changing), 1, 0);
}

/* 1: of no lane the address is known, but how it differs between them. */
static int is_near(const struct kc_event *event, const struct kc_lanes *address, uint32_t mask)
{
	return event->kind == KC_EVENT_GLOBAL && !(mask & address->known) && !(event->alike & KC_ALIKE_APART);
}

static double near_sectors(const struct kc_evaluation *e, const struct kc_event *event, uint32_t mask)
{
	double lanes = kc__count_of(mask), in_row = fmin(lanes, e->launch->block[0]);

	return kc__near_sectors(event->alike, in_row, lanes / in_row, event->bytes);
}

static void add_sectors(struct kc_evaluation *e, const struct kc_event *event, const struct moved *moved, double weight)
{
	const struct kc_lanes *address = kc__slot(e, event->address);
	uint32_t bytes = (uint32_t)moved->bytes;
	double *of = e->tally->of, sectors;

	if (moved->uneven)
		sectors = kc__uneven_sectors(address, moved->mask, moved->of);
	else if (is_near(event, address, moved->mask))
		sectors = near_sectors(e, event, moved->mask);
	else
		sectors = kc__sectors(address, moved->mask, event->bytes);
	of[KC_COUNT_OF_SECTORS] += weight * sectors;
	of[KC_TALLY_LINES] += weight * kc__lines(address, moved->mask, event->bytes);
	of[KC_TALLY_LEAST_SECTORS] += weight * kc__least_sectors(bytes);
	of[KC_TALLY_SCATTERED_SECTORS] +=
	    weight * kc__scattered_sectors(address, moved->mask, bytes, (uint32_t)sectors);
	kc__limit_pattern(&e->windows, address, event->bytes, KC_SECTOR_BYTES);
}

/* ldmatrix is given rows of matrices, and distributes them. */
static uint32_t passes_of(const struct kc_event *event, const struct kc_lanes *address, uint32_t mask)
{
	int to_lanes = event->counter == KC_COUNT_OF_LD_SHARED && event->lanes == KC_WARP_LANES;

	return kc__passes(address, mask, event->bytes, to_lanes);
}

static void add_passes(struct kc_evaluation *e, const struct kc_event *event, uint32_t mask, double weight)
{
	const struct kc_lanes *address = kc__slot(e, event->address);
	uint32_t passes = passes_of(event, address, mask), least = kc__least_passes(mask, event->bytes);
	double *of = e->tally->of;

	of[KC_COUNT_OF_SHARED_PASSES] += weight * passes;
	of[KC_TALLY_LEAST_PASSES] += weight * (least < passes ? least : passes);
	kc__limit_pattern(&e->windows, address, event->bytes, KC_BANK_BYTES);
}

/* The greatest divisor of a sector that divides the differences between all alignments of the address. */
static uint32_t granule(const struct kc_lanes *address, uint32_t bytes)
{
	uint64_t common = KC_SECTOR_BYTES;

	for (uint32_t left = address->affine_in; left; left &= left - 1)
		common = kc__common_divisor(common, (uint64_t)address->step[__builtin_ctz(left)] % KC_SECTOR_BYTES);
	return (uint32_t)(address->unknown_in ? kc__common_divisor(common, bytes) : common);
}

/* Sectors or passes of an access by those lanes, on average over the alignments that its address takes in the launch.
 */
static const struct kc_pattern *pattern_of(struct kc_evaluation *e, const struct kc_event *event, uint32_t mask)
{
	struct kc_pattern *pattern = &e->patterns[event - e->f->launch_events];
	const struct kc_lanes *address = kc__slot(e, event->address);

	if (pattern->mask == mask && !e->f->values[event->address].eager)
		return pattern;
	e->sampled = 1;
	pattern->mask = mask;
	if (is_near(event, address, mask))
		pattern->amount = (float)near_sectors(e, event, mask);
	else if (event->kind == KC_EVENT_GLOBAL)
		pattern->amount = (float)kc__mean_sectors(address, mask, event->bytes, granule(address, event->bytes));
	else
		pattern->amount = (float)passes_of(event, address, mask);
	pattern->lines = event->kind == KC_EVENT_GLOBAL ? (float)kc__lines(address, mask, event->bytes) : 0;
	e->steps++;
	return pattern;
}

/* At a launch: adds what the survey found. */
static void add_pattern_amount(struct kc_evaluation *e, const struct kc_event *event, const struct moved *moved,
			       double weight)
{
	const struct kc_lanes *address = kc__slot(e, event->address);
	double amount, lines;

	if (moved->uneven) {
		amount = kc__uneven_sectors(address, moved->mask, moved->of);
		lines = kc__lines(address, moved->mask, event->bytes);
		e->sampled = 1;
	} else {
		const struct kc_pattern *pattern = pattern_of(e, event, moved->mask);

		amount = pattern->amount;
		lines = pattern->lines;
	}
	e->tally->of[KC_TALLY_LINES] += weight * lines;
	e->tally->of[event->kind == KC_EVENT_GLOBAL ? KC_COUNT_OF_SECTORS : KC_COUNT_OF_SHARED_PASSES] +=
	    weight * amount;
}

static void add_access(struct kc_evaluation *e, const struct kc_event *event, struct moved *moved, double weight)
{
	if (event->lanes < KC_WARP_LANES) {
		moved->mask &= (1u << event->lanes) - 1;
		moved->bytes = (uint64_t)kc__count_of(moved->mask) * event->bytes;
	}
	if (!moved->mask)
		return;
	weight *= event->times;
	e->steps++;
	if (moved->mask & ~kc__slot(e, event->address)->known)
		e->assumed |= KC_ASSUMED_ADDRESS;
	if (event->kind == KC_EVENT_ATOMIC)
		return;
	e->tally->of[event->kind == KC_EVENT_GLOBAL ? KC_COUNT_OF_REQUESTS : KC_COUNT_OF_SHARED_REQUESTS] += weight;
	if (e->at_launch)
		add_pattern_amount(e, event, moved, weight);
	else if (event->kind == KC_EVENT_GLOBAL)
		add_sectors(e, event, moved, weight);
	else
		add_passes(e, event, moved->mask, weight);
}

/* An event whose lanes may access different numbers of bytes, or none. */
static void run_sized(struct kc_evaluation *e, const struct kc_event *event, uint32_t mask, double threads,
		      double weight)
{
	double *of = e->tally->of, lane = threads / kc__count_of(mask), amount2;
	struct moved moved = {.bytes = 0};

	find_moved(e, event, mask, &moved);
	if (moved.unknown | event->expected)
		e->assumed |= KC_ASSUMED_ADDRESS;
	amount2 = event->amount2 * lane * (double)moved.bytes;
	of[event->counter] += event->amount * lane * kc__count_of(moved.mask);
	of[event->counter2] += amount2;
	if (event->kind != KC_EVENT_COUNT)
		add_access(e, event, &moved, weight);
	else if (event->counter2 == KC_COUNT_OF_SECTORS)
		of[KC_TALLY_LEAST_SECTORS] += amount2;
}

/* How often the event's amounts count; of n lanes that try again until each has been first: n (n + 1) / 2 times. */
static double times_of(const struct kc_event *event, uint32_t mask, double threads, double weight)
{
	if (event->retried)
		return threads * (kc__count_of(mask) + 1) / 2;
	return event->per_warp ? weight : threads;
}

void kc__run_event(struct kc_evaluation *e, const struct kc_event *event, uint32_t mask, double weight, double executed)
{
	double *of = e->tally->of, threads = kc__count_of(mask) * weight, times;

	if (event->guard != KC_NO_VALUE) {
		const struct kc_lanes *guard = kc__slot(e, event->guard);
		uint32_t unsure = mask & ~guard->known;
		uint32_t sure = mask & guard->known & kc__lanes_where(guard, event->guard_negated);

		if (unsure)
			e->assumed |= KC_ASSUMED_BRANCH;
		threads = (kc__count_of(sure) + kc__count_of(unsure) / 2.0) * weight;
		weight = sure ? weight : weight / 2;
		executed = sure ? executed : executed / 2;
		mask = sure | unsure;
	}
	if (!mask)
		return;
	of[KC_TALLY_ACTIVE_LANES] += event->issues * threads;
	kc__add_slots(e, event->issues, executed);
	if (event->size != KC_NO_VALUE) {
		run_sized(e, event, mask, threads, weight);
		return;
	}
	times = times_of(event, mask, threads, weight);
	of[event->counter] += event->amount * times;
	if (event->counter2 != KC_COUNTER_COUNT)
		of[event->counter2] += event->amount2 * times;
	if (event->kind != KC_EVENT_COUNT) {
		struct moved moved;

		moved.mask = mask;
		moved.uneven = 0;
		moved.bytes = (uint64_t)kc__count_of(mask) * event->bytes;
		add_access(e, event, &moved, weight);
	}
}
