#include "block_scheduler.h"

#include "predictor/math/duration.h"

#include <string.h>

/* Residents that may end one after another while a kernel waits for room or runs with less than it could use. Beyond
 * that many the rest is treated as one, which bounds the cost. */
#define STEPS_MAX 16u

/* End of the first wave at or after t: there, blocks of a higher priority go first. */
static int64_t wave_boundary_ns(const struct kc__head *head, int64_t t)
{
	int64_t wave = kc__later_ns(head->end_ns - head->placed_ns, 1);

	return head->start_ns + (t - head->start_ns + wave - 1) / wave * wave;
}

/* Until when a queued kernel of lower priority keeps the new one from placing a block. */
static int64_t outranked_until_ns(const struct kc__head *head, int64_t t)
{
	int64_t boundary;

	if (head->start_ns > t)
		return t;
	boundary = wave_boundary_ns(head, t);
	return boundary < head->placed_ns ? boundary : head->placed_ns;
}

/* Of the kernels at the heads of streams, in the order of their places. */
static struct kc__head *running(struct kc__in_flight *in_flight, unsigned i)
{
	return &in_flight->heads[in_flight->running[i]];
}

static void find_running(struct kc__in_flight *in_flight)
{
	unsigned count = 0;

	for (unsigned word = 0; word * 64 < in_flight->count; word++)
		for (uint64_t left = in_flight->kernels[word]; left; left &= left - 1)
			in_flight->running[count++] = (uint8_t)(word * 64 + (unsigned)__builtin_ctzll(left));
	in_flight->running_count = count;
}

/* Whether it shares the SMs at t is noted. */
static void note_resident(struct kc__in_flight *in_flight, struct kc__head *head, unsigned resident)
{
	int64_t end_ns = resident ? head->end_ns : INT64_MAX;

	head->flags = (uint8_t)((head->flags & ~KC__RESIDENT) | resident * KC__RESIDENT);
	in_flight->residents += resident;
	in_flight->resident = resident ? head : in_flight->resident;
	in_flight->first_end_ns = end_ns < in_flight->first_end_ns ? end_ns : in_flight->first_end_ns;
}

static void begin_residents(struct kc__in_flight *in_flight)
{
	in_flight->residents = 0;
	in_flight->first_end_ns = INT64_MAX;
}

/* Until when kernels ahead keep it from placing a block, and who is resident at t: all in one look at their heads. A
 * queued kernel lets nothing pass before its last block is placed, unless its priority is lower: then its blocks make
 * room. Times have no pattern that a branch predictor could learn, so no branch depends on them. */
static int64_t blocked_until_ns(struct kc__in_flight *in_flight, int priority, int64_t t)
{
	int64_t until = t;

	begin_residents(in_flight);
	for (unsigned i = 0; i < in_flight->running_count; i++) {
		struct kc__head *head = running(in_flight, i);
		unsigned started = head->start_ns <= t, runs = head->end_ns > t;
		unsigned queued = started | (head->flags & KC__WAITS_FOR_ROOM);
		int64_t placed = head->placed_ns;

		note_resident(in_flight, head, started & (placed <= t) & runs);
		if (__builtin_expect(priority < head->priority, 0))
			placed = outranked_until_ns(head, t);
		placed = (queued & runs) ? placed : t;
		until = placed > until ? placed : until;
	}
	return until;
}

/* When another kernel may become resident: t, or the first end where the device has as many as it can hold. */
static int64_t grid_free_ns(const struct kc__device_limits *limits, struct kc__in_flight *in_flight, int64_t t)
{
	int64_t first = INT64_MAX;
	unsigned count = 0;

	if (in_flight->running_count < limits->grids_max)
		return t;
	for (unsigned i = 0; i < in_flight->running_count; i++) {
		const struct kc__head *head = running(in_flight, i);

		if (head->start_ns > t || head->end_ns <= t)
			continue;
		count++;
		first = head->end_ns < first ? head->end_ns : first;
	}
	return count < limits->grids_max ? t : first;
}

static void take_into_room_or_out(struct kc__in_flight *in_flight, struct kc__head *head)
{
	if (head->flags & KC__IN_ROOM)
		kc__sm_room_release(&in_flight->room, &head->sm_blocks);
	else
		kc__sm_room_take(&in_flight->room, &head->sm_blocks);
	head->flags ^= KC__IN_ROOM;
}

/* With more residents than these, all on the same SM, hardly any room would be left: not worth the check. */
#define FEW_RESIDENTS 16u

static uint32_t most_on_one_sm(const struct kc_even *even)
{
	return even->base + (even->extra > 0);
}

/* Whether its last wave fits even if every resident had its largest number of blocks on the same SM. */
static int fits_wherever_they_are(const struct kc__device_limits *limits, struct kc__in_flight *in_flight,
				  const struct kc_grid *grid)
{
	kc__amounts free = kc__amounts_of(&limits->sm);

	if (in_flight->residents > FEW_RESIDENTS)
		return 0;
	for (unsigned i = 0; i < in_flight->running_count; i++)
		if (running(in_flight, i)->flags & KC__RESIDENT)
			free -= kc__sm_blocks_largest(&running(in_flight, i)->sm_blocks);
	return kc__blocks_fitting(free, grid) >= most_on_one_sm(&grid->last);
}

static __attribute__((noinline)) uint32_t offer_beside_many(struct kc__in_flight *in_flight, const struct kc_grid *grid)
{
	for (unsigned i = 0; i < in_flight->running_count; i++) {
		struct kc__head *head = running(in_flight, i);

		if (!(head->flags & KC__RESIDENT) != !(head->flags & KC__IN_ROOM))
			take_into_room_or_out(in_flight, head);
	}
	return kc__sm_room_offer(&in_flight->room, grid, &in_flight->offer);
}

/* Slots that the residents leave, in whole clusters. Beside one of them, as mostly, `room` need not be known. */
static __attribute__((hot)) uint32_t find_offer(const struct kc__device_limits *limits, struct kc__in_flight *in_flight,
						const struct kc_grid *grid)
{
	uint32_t slots;

	if (in_flight->residents == 1)
		slots = kc__sm_room_beside(&limits->sm, in_flight->room.sm_count, &in_flight->resident->sm_blocks, grid,
					   &in_flight->offer);
	else
		slots = offer_beside_many(in_flight, grid);
	return (uint32_t)kc_whole_clusters(grid, slots);
}

/* Sets the slots that it starts with, and returns whether all of it fits wherever the residents are. */
static int find_slots(const struct kc__device_limits *limits, struct kc__in_flight *in_flight,
		      const struct kc_grid *grid, uint32_t *slots)
{
	int fits = grid->waves == 1 && fits_wherever_they_are(limits, in_flight, grid);

	*slots = fits ? (uint32_t)grid->blocks : find_offer(limits, in_flight, grid);
	return fits;
}

void kc__in_flight_init(struct kc__in_flight *in_flight, const struct kc__device_limits *limits)
{
	kc__sm_room_init(&in_flight->room, &limits->sm, limits->sm_count);
	in_flight->next = 0;
	in_flight->count = 0;
	memset(in_flight->kernels, 0, sizeof(in_flight->kernels));
}

void kc__in_flight_release(struct kc__in_flight *in_flight, struct kc__head *head)
{
	take_into_room_or_out(in_flight, head);
}

__attribute__((hot)) void kc__in_flight_remove(struct kc__in_flight *in_flight, unsigned place)
{
	unsigned last = --in_flight->count;

	kc__in_flight_vacate(in_flight, place);
	if (place == last)
		return;
	in_flight->spans[place] = in_flight->spans[last];
	if (kc__is_kernel(in_flight, last))
		*kc__in_flight_fill(in_flight, place) = in_flight->heads[last];
	in_flight->kernels[last / 64] &= ~(UINT64_C(1) << last % 64);
}

static int64_t last_end_ns(struct kc__in_flight *in_flight)
{
	int64_t last = INT64_MIN;

	for (unsigned i = 0; i < in_flight->running_count; i++) {
		const struct kc__head *head = running(in_flight, i);

		last = (head->flags & KC__RESIDENT) && head->end_ns > last ? head->end_ns : last;
	}
	return last;
}

static void let_ended_go(struct kc__in_flight *in_flight, int64_t t)
{
	begin_residents(in_flight);
	for (unsigned i = 0; i < in_flight->running_count; i++) {
		struct kc__head *head = running(in_flight, i);

		note_resident(in_flight, head, (head->flags & KC__RESIDENT) && head->end_ns > t);
	}
}

struct start {
	int64_t ns;
	uint32_t slots; /* blocks that it can place at once then */
	int waited_for; /* enum kc_case of the kernel waited for; KC_CASE_ALONE: it did not wait */
};

/* Each step passes the last placed block or the end of a kernel, or a wave of one with a lower priority. */
static struct start find_start(const struct kc__device_limits *limits, struct kc__in_flight *in_flight, int priority,
			       int64_t ready_ns, const struct kc_grid *grid, int *fits_anywhere)
{
	struct start start = {.ns = ready_ns, .waited_for = KC_CASE_ALONE};

	for (unsigned step = 0;; step++) {
		int64_t t = blocked_until_ns(in_flight, priority, start.ns);

		if (t > start.ns) {
			start.ns = t;
			start.waited_for = KC_CASE_B;
			continue;
		}
		start.ns = grid_free_ns(limits, in_flight, t);
		if (start.ns > t) {
			start.waited_for = KC_CASE_C;
			continue;
		}
		if (!in_flight->residents)
			break;
		*fits_anywhere = find_slots(limits, in_flight, grid, &start.slots);
		if (start.slots)
			break;
		start.ns = step < STEPS_MAX ? in_flight->first_end_ns : last_end_ns(in_flight);
		start.waited_for = KC_CASE_C;
	}
	return start;
}

static uint32_t slots_alone(const struct kc__device_limits *limits, const struct kc_grid *grid)
{
	uint32_t sms = limits->sm_count < KC__SMS_MAX ? limits->sm_count : KC__SMS_MAX;

	return (uint32_t)kc_whole_clusters(grid, sms * kc__blocks_fitting(kc__amounts_of(&limits->sm), grid));
}

/* Equation 5.1 while the residents stay. What they free is used at once, ahead of anything launched later. Times count
 * from the start, so that differences stay exact whatever the clock reads. */
static double duration_beside_ns(const struct kc__device_limits *limits, struct kc__in_flight *in_flight,
				 const struct start *start, const struct kc_grid *grid, double solo_ns)
{
	double t = 0, left = solo_ns;
	uint32_t slots = start->slots;

	for (unsigned step = 0;; step++) {
		double slowdown = (double)kc_waves(grid->blocks, slots) / (double)grid->waves;
		int64_t end_ns;
		double stop;
		uint32_t freed;

		if (!in_flight->residents || slowdown <= 1 || step == STEPS_MAX)
			return t + left * slowdown;
		end_ns = in_flight->first_end_ns;
		stop = (double)(end_ns - start->ns);
		if (t + left * slowdown <= stop)
			return t + left * slowdown;
		left -= (stop - t) / slowdown;
		t = stop;
		let_ended_go(in_flight, end_ns);
		freed = in_flight->residents ? find_offer(limits, in_flight, grid) : slots_alone(limits, grid);
		slots = freed > slots ? freed : slots; /* blocks already placed stay */
	}
}

static uint32_t case_of(const struct start *start, unsigned beside)
{
	if (beside)
		return start->waited_for == KC_CASE_B ? KC_CASE_B : KC_CASE_A;
	return (uint32_t)start->waited_for;
}

/* Alone, or wherever the others are. The odd blocks of its last wave go to the SMs from `first` on. */
static void place_unhindered(const struct kc__device_limits *limits, const struct kc_work *work, uint32_t first,
			     int64_t start_ns, int64_t solo_ns, struct kc_placement *out,
			     struct kc__last_wave *last_wave)
{
	out->start_ns = start_ns;
	out->end_ns = start_ns + solo_ns;
	out->slowdown = 1;
	out->slowdown_waves = 1;
	last_wave->waves = work->grid.waves;
	kc__sm_blocks_evenly(last_wave->sm_blocks, &work->grid.last, limits->sm_count, first);
}

/* Rank of the SM that its odd blocks begin with, so that those of kernels beside each other spread. */
static uint32_t take_next(struct kc__in_flight *in_flight, const struct kc_grid *grid)
{
	uint32_t first = in_flight->next;

	in_flight->next = (first + grid->last.extra) % in_flight->room.sm_count;
	return first;
}

static uint64_t waves_at(const struct start *start, const struct kc_grid *grid, uint32_t *last)
{
	uint64_t waves = kc_waves(grid->blocks, start->slots);

	*last = (uint32_t)(grid->blocks - (waves - 1) * start->slots);
	return waves;
}

/* Places its last wave where the residents leave room, giving up slots if that takes too many steps. Returns its waves.
 */
static uint64_t place_last_wave(struct kc__offer *offer, struct start *start, const struct kc_grid *grid,
				struct kc__sm_blocks *sm_blocks)
{
	uint32_t last, whole;
	uint64_t waves = waves_at(start, grid, &last);

	if (!kc__sm_blocks_round_robin(sm_blocks, offer, last) || !kc__sm_blocks_most_room(sm_blocks, offer, last))
		return waves;
	kc__offer_simplify(offer);
	whole = (uint32_t)kc_whole_clusters(grid, offer->slots);
	start->slots = whole ? whole : offer->slots;
	waves = waves_at(start, grid, &last);
	kc__sm_blocks_most_room(sm_blocks, offer, last);
	return waves;
}

static void place_beside_others(const struct kc__device_limits *limits, struct kc__in_flight *in_flight,
				struct start *start, const struct kc_work *work, int64_t solo_ns,
				struct kc_placement *out, struct kc__last_wave *last_wave)
{
	const struct kc_grid *grid = &work->grid;
	double ns;

	last_wave->waves = place_last_wave(&in_flight->offer, start, grid, last_wave->sm_blocks);
	ns = duration_beside_ns(limits, in_flight, start, grid, (double)solo_ns);
	out->start_ns = start->ns;
	out->end_ns = start->ns + (int64_t)ns;
	out->slowdown = solo_ns ? (float)(ns / (double)solo_ns) : 1;
	out->slowdown_waves = (float)((double)last_wave->waves / (double)grid->waves);
}

/* Load that the kernels in flight, and all that follows in their streams, put on the device while it runs. */
static void expect_load(struct kc_load *load, struct kc__in_flight *in_flight, const struct kc_placement *out)
{
	float issue = 0, memory = 0, l2 = 0;
	float scale = out->end_ns > out->start_ns ? 1 / (float)(out->end_ns - out->start_ns) : 0;

	scale *= 1.0f / KC__LOAD_UNITS;
	for (unsigned i = 0; i < in_flight->running_count; i++) {
		const struct kc__head *head = running(in_flight, i);
		int64_t from = kc__later_ns(head->start_ns, out->start_ns);
		int64_t to = head->busy_until_ns < out->end_ns ? head->busy_until_ns : out->end_ns;
		float share = to > from ? (float)(to - from) * scale : 0;

		issue += share * head->load[KC_LOAD_ISSUE];
		memory += share * head->load[KC_LOAD_MEMORY];
		l2 += share * head->load[KC_LOAD_L2];
	}
	*load = (struct kc_load){{[KC_LOAD_ISSUE] = issue, [KC_LOAD_MEMORY] = memory, [KC_LOAD_L2] = l2}};
}

__attribute__((hot)) void kc__place(const struct kc__device_limits *limits, struct kc__in_flight *in_flight,
				    int priority, int64_t ready_ns, const struct kc_work *work, int64_t solo_ns,
				    struct kc_placement *out, struct kc__last_wave *last_wave)
{
	const struct kc_grid *grid = &work->grid;
	struct start start = {.ns = ready_ns, .waited_for = KC_CASE_ALONE};
	int fits_anywhere = 0;

	find_running(in_flight);
	in_flight->residents = 0;
	if (in_flight->running_count && grid->waves)
		start = find_start(limits, in_flight, priority, ready_ns, grid, &fits_anywhere);
	out->concurrency_case = case_of(&start, in_flight->residents);
	kc__sm_blocks_init(last_wave->sm_blocks, &grid->block);
	if (in_flight->residents && !fits_anywhere)
		place_beside_others(limits, in_flight, &start, work, solo_ns, out, last_wave);
	else
		place_unhindered(limits, work, fits_anywhere ? take_next(in_flight, grid) : 0, start.ns, solo_ns, out,
				 last_wave);
	expect_load(&out->meeting.load, in_flight, out);
	out->meeting.room = out->slowdown;
}
