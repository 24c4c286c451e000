#include "block_scheduler.h"

#include "predictor/math/duration.h"

/* The kernels it shares the SMs with: those that have all their blocks there. */
struct company {
	unsigned count;
	unsigned changed; /* since the last look */
	int roomy;        /* the new one fits wherever they are */
	uint8_t members[KC__RIVALS_MAX], changes[KC__RIVALS_MAX];
	struct kc__offer offer; /* what they leave to the new one */
};

/* Kernels that end one after another while one waits for room, or is short of
 * it: after so many, the rest is taken as one. Keeps the cost bounded. */
#define TURNS 16u

/* First end of a wave at or after t: blocks of a higher priority go first there. */
static int64_t wave_boundary_ns(const struct kc__rival *rival, int64_t t)
{
	int64_t wave = kc__later_ns(rival->end_ns - rival->placed_ns, 1);

	return rival->start_ns + (t - rival->start_ns + wave - 1) / wave * wave;
}

/* Until when an outranked rival that is in the queue keeps the new kernel from placing a block. */
static int64_t outranked_until_ns(const struct kc__rival *rival, int64_t t)
{
	int64_t boundary;

	if (rival->start_ns > t)
		return t;
	boundary = wave_boundary_ns(rival, t);
	return boundary < rival->placed_ns ? boundary : rival->placed_ns;
}

/* A rival in the queue lets nothing pass before its last block is placed, unless it is outranked: then its blocks
 * make room. Conditions on times have no pattern: no branch depends on them. */
static int64_t blocked_until_ns(const struct kc__floor *floor, int priority, int64_t t)
{
	int64_t until = t;

	for (unsigned i = 0; i < floor->count; i++) {
		const struct kc__rival *rival = &floor->rivals[i];
		unsigned queued = (rival->start_ns <= t) | (rival->flags & KC__WAITS);
		int64_t placed = rival->placed_ns;

		if (__builtin_expect(priority < rival->priority, 0))
			placed = outranked_until_ns(rival, t);
		placed = (queued & (rival->end_ns > t)) ? placed : t;
		until = placed > until ? placed : until;
	}
	return until;
}

static void look(struct company *company, const struct kc__floor *floor, int64_t t)
{
	unsigned count = 0, changed = 0;

	for (unsigned i = 0; i < floor->count; i++) {
		const struct kc__rival *rival = &floor->rivals[i];
		unsigned holds = (rival->start_ns <= t) & (rival->placed_ns <= t) & (rival->end_ns > t);

		company->members[count] = (uint8_t)i;
		count += holds;
		company->changes[changed] = (uint8_t)i;
		changed += holds != !!(rival->flags & KC__HOLDS);
	}
	company->count = count;
	company->changed = changed;
}

/* Kernels on the SMs at t. As many as the device can hold: when the first of them ends; else t. */
static int64_t grid_free_ns(const struct kc__device_limits *site, const struct kc__floor *floor, int64_t t)
{
	int64_t first = INT64_MAX;
	unsigned running = 0;

	if (floor->count < site->grids_max)
		return t;
	for (unsigned i = 0; i < floor->count; i++) {
		const struct kc__rival *rival = &floor->rivals[i];

		if (rival->start_ns > t || rival->end_ns <= t)
			continue;
		running++;
		first = rival->end_ns < first ? rival->end_ns : first;
	}
	return running < site->grids_max ? t : first;
}

static void turn_over(struct kc__floor *floor, unsigned place)
{
	struct kc__rival *rival = &floor->rivals[place];

	if (rival->flags & KC__HOLDS)
		kc__rooms_leave(&floor->rooms, rival->hold);
	else
		kc__rooms_enter(&floor->rooms, rival->hold);
	rival->flags ^= KC__HOLDS;
}

/* So many may all be on the same SMs, and leave room for one more, to be worth the trial. */
#define FEW 16u

/* One wave fits even if all of them had their most blocks on the same SM: no need to look where they are. */
static int is_roomy(const struct kc__device_limits *site, const struct kc__floor *floor, const struct company *company,
		    const struct kc_grid *grid)
{
	kc__amounts free = kc__amounts_of(&site->sm);

	if (grid->waves > 1 || company->count > FEW)
		return 0;
	for (unsigned i = 0; i < company->count; i++)
		free -= floor->rivals[company->members[i]].most;
	return kc__fitting(free, grid) >= grid->last.base + (grid->last.extra > 0);
}

static void bring_up_to_date(struct kc__floor *floor, const struct company *company)
{
	for (unsigned i = 0; i < company->changed; i++)
		turn_over(floor, company->changes[i]);
}

void kc__floor_init(struct kc__floor *floor, const struct kc__device_limits *site)
{
	kc__rooms_init(&floor->rooms, &site->sm, site->sm_count);
	floor->next = 0;
	floor->count = 0;
}

static void set_empty(struct kc__rival *rival)
{
	*rival = (struct kc__rival){.end_ns = INT64_MIN, .from_ns = INT64_MAX, .until_ns = INT64_MIN};
}

void kc__floor_add(struct kc__floor *floor)
{
	set_empty(&floor->rivals[floor->count++]);
}

void kc__floor_vacate(struct kc__floor *floor, unsigned place)
{
	if (floor->rivals[place].flags & KC__HOLDS)
		turn_over(floor, place);
	set_empty(&floor->rivals[place]);
}

void kc__floor_remove(struct kc__floor *floor, unsigned place)
{
	if (floor->rivals[place].flags & KC__HOLDS)
		turn_over(floor, place);
	if (place != --floor->count)
		floor->rivals[place] = floor->rivals[floor->count];
}

static int64_t first_end_ns(const struct kc__floor *floor)
{
	int64_t first = INT64_MAX;

	for (unsigned i = 0; i < floor->count; i++) {
		const struct kc__rival *rival = &floor->rivals[i];

		first = (rival->flags & KC__HOLDS) && rival->end_ns < first ? rival->end_ns : first;
	}
	return first;
}

static int64_t last_end_ns(const struct kc__floor *floor)
{
	int64_t last = INT64_MIN;

	for (unsigned i = 0; i < floor->count; i++) {
		const struct kc__rival *rival = &floor->rivals[i];

		last = (rival->flags & KC__HOLDS) && rival->end_ns > last ? rival->end_ns : last;
	}
	return last;
}

static void leave(struct company *company, struct kc__floor *floor, int64_t t)
{
	for (unsigned i = 0; i < floor->count; i++) {
		if (!(floor->rivals[i].flags & KC__HOLDS) || floor->rivals[i].end_ns > t)
			continue;
		turn_over(floor, i);
		company->count--;
	}
}

struct start {
	int64_t ns;
	uint32_t slots; /* blocks it can place at once then */
	int waited_for; /* the kernel waited for: enum kc_case, ALONE where it did not wait */
};

/* Every turn passes the placing or the end of a rival, or a wave of one that is outranked. */
static struct start find_start(const struct kc__device_limits *site, struct kc__floor *floor, int priority,
			       int64_t ready_ns, const struct kc_grid *grid, struct company *company)
{
	struct start start = {.ns = ready_ns, .waited_for = KC_CASE_ALONE};

	for (unsigned turn = 0;; turn++) {
		int64_t t = blocked_until_ns(floor, priority, start.ns);

		if (t > start.ns) {
			start.ns = t;
			start.waited_for = KC_CASE_B;
			continue;
		}
		start.ns = grid_free_ns(site, floor, t);
		if (start.ns > t) {
			start.waited_for = KC_CASE_C;
			continue;
		}
		look(company, floor, t);
		if (!company->count)
			break;
		company->roomy = is_roomy(site, floor, company, grid);
		if (company->roomy) {
			start.slots = (uint32_t)grid->blocks;
			break;
		}
		bring_up_to_date(floor, company);
		start.slots = (uint32_t)kc_whole_clusters(grid, kc__rooms_offer(&floor->rooms, grid, &company->offer));
		if (start.slots)
			break;
		start.ns = turn < TURNS ? first_end_ns(floor) : last_end_ns(floor);
		start.waited_for = KC_CASE_C;
	}
	return start;
}

/* Equation 5.1 while the company stays; what its members leave is taken up at
 * once, ahead of anything launched later. Times from the start: differences
 * stay exact whatever the clock reads. */
static double shared_ns(struct company *company, struct kc__floor *floor, const struct start *start,
			const struct kc_grid *grid, double solo_ns)
{
	double t = 0, left = solo_ns;
	uint32_t slots = start->slots;

	for (unsigned turn = 0;; turn++) {
		double slowdown = (double)kc_waves(grid->blocks, slots) / (double)grid->waves;
		int64_t end_ns;
		double stop;
		uint32_t freed;

		if (!company->count || slowdown <= 1 || turn == TURNS)
			return t + left * slowdown;
		end_ns = first_end_ns(floor);
		stop = (double)(end_ns - start->ns);
		if (t + left * slowdown <= stop)
			return t + left * slowdown;
		left -= (stop - t) / slowdown;
		t = stop;
		leave(company, floor, end_ns);
		freed = (uint32_t)kc_whole_clusters(grid, kc__rooms_offer(&floor->rooms, grid, &company->offer));
		slots = freed > slots ? freed : slots; /* what it has placed stays */
	}
}

static uint32_t case_of(const struct start *start, unsigned beside)
{
	if (beside)
		return start->waited_for == KC_CASE_B ? KC_CASE_B : KC_CASE_A;
	return (uint32_t)start->waited_for;
}

void kc__tail_lasts(struct kc__tail *tail, int64_t duration_ns)
{
	tail->wave_ns = tail->waves > 1 ? duration_ns / (int64_t)tail->waves : duration_ns;
}

static void place_alone(const struct kc__device_limits *site, const struct kc_work *work, int64_t start_ns,
			int64_t solo_ns, struct kc_placement *out, struct kc__tail *tail)
{
	out->start_ns = start_ns;
	out->end_ns = start_ns + solo_ns;
	out->slowdown = 1;
	out->slowdown_waves = 1;
	tail->waves = work->grid.waves;
	kc__hold_evenly(tail->hold, &work->grid.last, site->sm_count, 0);
}

static uint64_t waves_at(const struct start *start, const struct kc_grid *grid, uint32_t *last)
{
	uint64_t waves = kc_waves(grid->blocks, start->slots);

	*last = (uint32_t)(grid->blocks - (waves - 1) * start->slots);
	return waves;
}

/* Its last wave, where its company leaves room. Some of the slots may have to be given up for it. Returns its waves. */
static uint64_t find_places(struct company *company, struct start *start, const struct kc_grid *grid,
			    struct kc__hold *hold)
{
	uint32_t last, whole;
	uint64_t waves = waves_at(start, grid, &last);

	if (!kc__hold_round(hold, &company->offer, last) || !kc__hold_most_room(hold, &company->offer, last))
		return waves;
	kc__offer_simplify(&company->offer);
	whole = (uint32_t)kc_whole_clusters(grid, company->offer.slots);
	start->slots = whole ? whole : company->offer.slots;
	waves = waves_at(start, grid, &last);
	kc__hold_most_room(hold, &company->offer, last);
	return waves;
}

static uint64_t find_any_places(struct kc__floor *floor, const struct kc_grid *grid, struct kc__hold *hold)
{
	uint32_t sm_count = floor->rooms.sm_count;

	kc__hold_evenly(hold, &grid->last, sm_count, floor->next);
	floor->next = (floor->next + grid->last.extra) % sm_count;
	return 1;
}

static void place_shared(struct company *company, struct kc__floor *floor, struct start *start,
			 const struct kc_work *work, int64_t solo_ns, struct kc_placement *out, struct kc__tail *tail)
{
	const struct kc_grid *grid = &work->grid;
	double ns;

	tail->waves =
	    company->roomy ? find_any_places(floor, grid, tail->hold) : find_places(company, start, grid, tail->hold);
	ns = shared_ns(company, floor, start, grid, (double)solo_ns);
	out->start_ns = start->ns;
	out->end_ns = start->ns + (int64_t)ns;
	out->slowdown = solo_ns ? (float)(ns / (double)solo_ns) : 1;
	out->slowdown_waves = (float)((double)tail->waves / (double)grid->waves);
}

/* What the rivals, and all that follows in their streams, put on the device while it runs. */
static void expect_load(struct kc_load *load, const struct kc__floor *floor, const struct kc_placement *out)
{
	float issue = 0, memory = 0, l2 = 0;
	float scale = out->end_ns > out->start_ns ? 1 / (float)(out->end_ns - out->start_ns) : 0;

	scale *= 1.0f / KC__LOAD_UNITS;
	for (unsigned i = 0; i < floor->count; i++) {
		const struct kc__rival *rival = &floor->rivals[i];
		int64_t from = kc__later_ns(rival->start_ns, out->start_ns);
		int64_t to = rival->busy_until_ns < out->end_ns ? rival->busy_until_ns : out->end_ns;
		float share = to > from ? (float)(to - from) * scale : 0;

		issue += share * rival->load[KC_LOAD_ISSUE];
		memory += share * rival->load[KC_LOAD_MEMORY];
		l2 += share * rival->load[KC_LOAD_L2];
	}
	*load = (struct kc_load){{[KC_LOAD_ISSUE] = issue, [KC_LOAD_MEMORY] = memory, [KC_LOAD_L2] = l2}};
}

void kc__place(const struct kc__device_limits *site, struct kc__floor *floor, int priority, int64_t ready_ns,
	       const struct kc_work *work, int64_t solo_ns, struct kc_placement *out, struct kc__tail *tail)
{
	const struct kc_grid *grid = &work->grid;
	struct start start = {.ns = ready_ns, .waited_for = KC_CASE_ALONE};
	struct company company;

	company.count = 0;
	if (floor->count && grid->waves)
		start = find_start(site, floor, priority, ready_ns, grid, &company);
	out->concurrency_case = case_of(&start, company.count);
	kc__hold_init(tail->hold, &grid->block);
	if (company.count)
		place_shared(&company, floor, &start, work, solo_ns, out, tail);
	else
		place_alone(site, work, start.ns, solo_ns, out, tail);
	kc__tail_lasts(tail, out->end_ns - out->start_ns);
	expect_load(&out->meeting.load, floor, out);
	out->meeting.room = out->slowdown;
}
