#include "placement.h"

#include "rooms.h"

#include <string.h>

/* The kernels it shares the SMs with at its start. The last one may stand for
 * several: all that are more than fit one by one, spread evenly. */
struct company {
	struct kc_resident residents[KC_RESIDENTS_MAX];
	int64_t ends_ns[KC_RESIDENTS_MAX];
	unsigned count, pooled;
	int uneven;                    /* some are: counts per SM do not tell where their blocks are */
	uint32_t least;                /* blocks of the new kernel that fit on the SM with the least room */
	int64_t pool[KC_SM_RESOURCES]; /* what those take on all SMs together */
};

/* Kernels that end one after another while one waits for room, or is short of
 * it: after so many, the rest is taken as one. Keeps the cost bounded. */
#define TURNS 8u
#define TURNS_POOLED 2u

static int64_t max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* First end of a wave at or after t: blocks of a higher priority go first there. */
static int64_t wave_boundary_ns(const struct kc__rival *rival, int64_t t)
{
	int64_t wave = max_i64(rival->end_ns - rival->placed_ns, 1);

	return rival->start_ns + (t - rival->start_ns + wave - 1) / wave * wave;
}

static int in_queue(const struct kc__rival *rival, int64_t t)
{
	return rival->end_ns > t && (rival->start_ns <= t || rival->waits);
}

/* Until when this rival keeps the new kernel from placing a block. */
static int64_t blocked_until_ns(const struct kc__rival *rival, int priority, int64_t t)
{
	int64_t boundary;

	if (!in_queue(rival, t))
		return t;
	if (priority >= rival->priority)
		return max_i64(rival->placed_ns, t);
	if (rival->start_ns > t)
		return t;
	boundary = wave_boundary_ns(rival, t);
	return boundary < rival->placed_ns ? boundary : max_i64(rival->placed_ns, t);
}

static void pool(struct company *company, const struct kc_resident *resident, uint32_t sm_count, int64_t end_ns)
{
	const unsigned last = KC_RESIDENTS_MAX - 1;
	int64_t blocks = (int64_t)resident->count.base * sm_count + resident->count.extra;

	for (int r = 0; r < KC_SM_RESOURCES; r++)
		company->pool[r] += blocks * resident->block.of[r];
	company->ends_ns[last] = company->pooled++ ? max_i64(company->ends_ns[last], end_ns) : end_ns;
}

static void close_pool(struct company *company, uint32_t sm_count)
{
	struct kc_resident *all = &company->residents[KC_RESIDENTS_MAX - 1];

	for (int r = 0; r < KC_SM_RESOURCES; r++)
		all->block.of[r] = (int32_t)((company->pool[r] + sm_count - 1) / sm_count);
	all->count = (struct kc_even){.base = 1};
	company->count = KC_RESIDENTS_MAX;
}

/* A rival that has blocks left to place beside us is one we outrank: its blocks make room. */
static void find_company(struct company *company, const struct kc__site *site, const struct kc__rival *rivals,
			 unsigned count, int64_t t)
{
	company->count = company->pooled = 0;
	company->uneven = 0;
	memset(company->pool, 0, sizeof(company->pool));
	for (unsigned i = 0; i < count; i++) {
		const struct kc__rival *rival = &rivals[i];

		if (rival->start_ns > t || rival->end_ns <= t || rival->placed_ns > t || rival->drains)
			continue;
		if (company->count == KC_RESIDENTS_MAX - 1) {
			pool(company, &rival->resident, site->sm_count, rival->end_ns);
			continue;
		}
		company->uneven |= rival->uneven;
		company->residents[company->count] = rival->resident;
		company->ends_ns[company->count++] = rival->end_ns;
	}
	if (company->pooled)
		close_pool(company, site->sm_count);
}

static int64_t first_end_ns(const struct company *company)
{
	int64_t first = company->ends_ns[0];

	for (unsigned i = 1; i < company->count; i++)
		first = company->ends_ns[i] < first ? company->ends_ns[i] : first;
	return first;
}

static int64_t last_end_ns(const struct company *company)
{
	int64_t last = company->ends_ns[0];

	for (unsigned i = 1; i < company->count; i++)
		last = max_i64(last, company->ends_ns[i]);
	return last;
}

static void leave(struct company *company, int64_t t)
{
	for (unsigned i = 0; i < company->count;) {
		if (company->ends_ns[i] > t) {
			i++;
			continue;
		}
		company->count--;
		company->ends_ns[i] = company->ends_ns[company->count];
		company->residents[i] = company->residents[company->count];
	}
}

/* The residents' blocks placed once more, in order, each where the most room is. */
static uint32_t slots_in_rooms(const struct kc__site *site, const struct company *company, const struct kc_grid *grid)
{
	struct kc__rooms rooms;

	kc__rooms_init(&rooms, &site->sm, site->sm_count);
	for (unsigned i = 0; i < company->count; i++) {
		const struct kc_resident *resident = &company->residents[i];

		kc__rooms_place(&rooms, &resident->block,
				resident->count.base * site->sm_count + resident->count.extra);
	}
	return kc__rooms_slots(&rooms, &grid->block);
}

static uint32_t slots_beside(const struct kc__site *site, struct company *company, const struct kc_grid *grid)
{
	if (company->uneven) {
		company->least = 0;
		return slots_in_rooms(site, company, grid);
	}
	return kc_leftover_slots_least(&site->sm, site->sm_count, company->residents, company->count, grid,
				       &company->least);
}

struct start {
	int64_t ns;
	uint32_t slots; /* blocks it can place at once then */
	int waited_for; /* the kernel waited for: enum kc_case, ALONE where it did not wait */
};

/* Kernels on the SMs at t. As many as the device can hold: when the first of them ends; else t. */
static int64_t grid_free_ns(const struct kc__site *site, const struct kc__rival *rivals, unsigned count, int64_t t)
{
	int64_t first = INT64_MAX;
	unsigned running = 0;

	if (count < site->grids_max)
		return t;
	for (unsigned i = 0; i < count; i++) {
		if (rivals[i].start_ns > t || rivals[i].end_ns <= t)
			continue;
		running++;
		first = rivals[i].end_ns < first ? rivals[i].end_ns : first;
	}
	return running < site->grids_max ? t : first;
}

/* Every turn passes the placing or the end of a rival, or a wave of one that is outranked. */
static struct start find_start(const struct kc__site *site, const struct kc__rival *rivals, unsigned count,
			       int priority, int64_t ready_ns, const struct kc_grid *grid, struct company *company)
{
	struct start start = {.ns = ready_ns, .waited_for = KC_CASE_ALONE};

	for (unsigned turn = 0;; turn++) {
		int64_t t = start.ns;

		for (unsigned i = 0; i < count; i++)
			t = blocked_until_ns(&rivals[i], priority, t);
		if (t > start.ns) {
			start.ns = t;
			start.waited_for = KC_CASE_B;
			continue;
		}
		start.ns = grid_free_ns(site, rivals, count, t);
		if (start.ns > t) {
			start.waited_for = KC_CASE_C;
			continue;
		}
		find_company(company, site, rivals, count, t);
		if (!company->count)
			break;
		start.slots = slots_beside(site, company, grid);
		if (start.slots)
			break;
		start.ns = turn < TURNS ? first_end_ns(company) : last_end_ns(company);
		start.waited_for = KC_CASE_C;
	}
	return start;
}

/* Equation 5.1 while the company stays; what its members leave is taken up at
 * once, ahead of anything launched later. Times from the start: differences
 * stay exact whatever the clock reads. */
static double shared_ns(const struct kc__site *site, struct company *company, const struct start *start,
			const struct kc_grid *grid, double solo_ns)
{
	double t = 0, left = solo_ns;
	uint32_t slots = start->slots;
	unsigned turns = company->pooled ? TURNS_POOLED : TURNS;

	for (unsigned turn = 0;; turn++) {
		double slowdown = (double)kc_waves(grid->blocks, slots) / (double)grid->waves;
		int64_t end_ns;
		double stop;
		uint32_t freed;

		if (!company->count || slowdown <= 1 || turn == turns)
			return t + left * slowdown;
		end_ns = first_end_ns(company);
		stop = (double)(end_ns - start->ns);
		if (t + left * slowdown <= stop)
			return t + left * slowdown;
		left -= (stop - t) / slowdown;
		t = stop;
		leave(company, end_ns);
		freed = slots_beside(site, company, grid);
		slots = freed > slots ? freed : slots; /* what it has placed stays */
	}
}

static int beside_draining(const struct kc__rival *rivals, unsigned count, int64_t t)
{
	for (unsigned i = 0; i < count; i++)
		if (rivals[i].drains && rivals[i].start_ns <= t && rivals[i].end_ns > t)
			return 1;
	return 0;
}

static uint32_t case_of(const struct start *start, const struct company *company, const struct kc__rival *rivals,
			unsigned count)
{
	if (company->count || (start->waited_for == KC_CASE_B && beside_draining(rivals, count, start->ns)))
		return start->waited_for == KC_CASE_B ? KC_CASE_B : KC_CASE_A;
	return (uint32_t)start->waited_for;
}

void kc__tail_of(struct kc__tail *tail, const struct kc__site *site, const struct kc_work *work, int64_t duration_ns)
{
	const struct kc_grid *grid = &work->grid;

	tail->last = grid->last;
	tail->drains = site->timing.tail > 0 && work->waves >= 1;
	tail->uneven = 0;
	if (tail->drains)
		tail->wave_ns = (int64_t)(site->timing.tail * (double)duration_ns / work->waves);
	else
		tail->wave_ns = grid->waves > 1 ? duration_ns / (int64_t)grid->waves : duration_ns;
}

static void place_alone(const struct kc__site *site, const struct kc_work *work, int64_t start_ns, int64_t solo_ns,
			struct kc_placement *out, struct kc__tail *tail)
{
	out->start_ns = start_ns;
	out->end_ns = start_ns + solo_ns;
	out->slowdown = 1;
	out->slowdown_waves = 1;
	kc__tail_of(tail, site, work, solo_ns);
}

static void place_shared(const struct kc__site *site, struct company *company, const struct start *start,
			 const struct kc_work *work, int64_t solo_ns, struct kc_placement *out, struct kc__tail *tail)
{
	const struct kc_grid *grid = &work->grid;
	uint64_t waves = kc_waves(grid->blocks, start->slots);
	uint32_t least = company->least;
	double ns = shared_ns(site, company, start, grid, (double)solo_ns);

	out->start_ns = start->ns;
	out->end_ns = start->ns + (int64_t)ns;
	out->slowdown = solo_ns ? (float)(ns / (double)solo_ns) : 1;
	out->slowdown_waves = (float)((double)waves / (double)grid->waves);
	kc__tail_of(tail, site, work, (int64_t)ns);
	if (tail->drains)
		return;
	tail->wave_ns = (int64_t)(ns / (double)waves);
	tail->last = kc_spread_evenly((uint32_t)(grid->blocks - (waves - 1) * start->slots), site->sm_count);
	tail->uneven = tail->last.base + (tail->last.extra > 0) > least;
}

static int overlaps(const struct kc__rival *rival, int64_t start_ns)
{
	return rival->start_ns <= start_ns && rival->end_ns > start_ns;
}

/*
 * Beyond room: from the start of the new kernel on, it and those it finds there
 * slow each other in proportion to their loads. Each rival's rest first, then
 * how much less the new one does meanwhile.
 */
static double lost_to_company_ns(const struct kc__site *site, struct kc__rival *rivals, unsigned count,
				 int64_t start_ns, int64_t end_ns, float load)
{
	double lost_ns = 0;

	for (unsigned i = 0; i < count; i++) {
		struct kc__rival *rival = &rivals[i];
		double sensitivity = site->timing.sensitivity, shared_ns;

		if (!overlaps(rival, start_ns))
			continue;
		shared_ns = (double)((rival->end_ns < end_ns ? rival->end_ns : end_ns) - start_ns);
		if (!rival->fixed)
			rival->end_ns += (int64_t)(sensitivity * load * shared_ns);
		lost_ns += sensitivity * rival->load[KC_LOAD_ISSUE] / KC__LOAD_UNITS * shared_ns;
	}
	return lost_ns;
}

/* What the rivals, and all that follows in their streams, put on the device while it runs. */
static void expect_load(struct kc_load *load, const struct kc__rival *rivals, unsigned count,
			const struct kc_placement *out)
{
	float issue = 0, memory = 0, l2 = 0;
	float scale = out->end_ns > out->start_ns ? 1 / (float)(out->end_ns - out->start_ns) : 0;

	scale *= 1.0f / KC__LOAD_UNITS;
	for (unsigned i = 0; i < count; i++) {
		const struct kc__rival *rival = &rivals[i];
		int64_t from = max_i64(rival->start_ns, out->start_ns);
		int64_t to = rival->busy_until_ns < out->end_ns ? rival->busy_until_ns : out->end_ns;
		float share = to > from ? (float)(to - from) * scale : 0;

		issue += share * rival->load[KC_LOAD_ISSUE];
		memory += share * rival->load[KC_LOAD_MEMORY];
		l2 += share * rival->load[KC_LOAD_L2];
	}
	*load = (struct kc_load){{[KC_LOAD_ISSUE] = issue, [KC_LOAD_MEMORY] = memory, [KC_LOAD_L2] = l2}};
}

void kc__place(const struct kc__site *site, struct kc__rival *rivals, unsigned count, int priority, int64_t ready_ns,
	       const struct kc_work *work, int64_t solo_ns, const struct kc_load *load, struct kc_placement *out,
	       struct kc__tail *tail)
{
	const struct kc_grid *grid = &work->grid;
	struct start start = {.ns = ready_ns, .waited_for = KC_CASE_ALONE};
	struct company company;

	company.count = 0;
	if (count && grid->waves)
		start = find_start(site, rivals, count, priority, ready_ns, grid, &company);
	out->concurrency_case = case_of(&start, &company, rivals, count);
	if (company.count)
		place_shared(site, &company, &start, work, solo_ns, out, tail);
	else
		place_alone(site, work, start.ns, solo_ns, out, tail);
	expect_load(&out->meeting.load, rivals, count, out);
	out->meeting.room = out->slowdown;
	if (site->timing.sensitivity > 0 && count) {
		double lost_ns =
		    lost_to_company_ns(site, rivals, count, out->start_ns, out->end_ns, load->of[KC_LOAD_ISSUE]);

		out->end_ns += (int64_t)lost_ns;
		out->slowdown += solo_ns ? (float)(lost_ns / (double)solo_ns) : 0;
	}
}
