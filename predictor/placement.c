#include "placement.h"

/* The kernels it shares the SMs with at its start. */
struct company {
	struct kc_resident residents[KC__RIVALS_MAX];
	int64_t ends_ns[KC__RIVALS_MAX];
	unsigned count;
};

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

/* A rival that has blocks left to place beside us is one we outrank: its blocks make room. */
static void find_company(struct company *company, const struct kc__rival *rivals, unsigned count, int64_t t)
{
	company->count = 0;
	for (unsigned i = 0; i < count; i++) {
		if (rivals[i].start_ns > t || rivals[i].end_ns <= t || rivals[i].placed_ns > t)
			continue;
		company->residents[company->count] = rivals[i].resident;
		company->ends_ns[company->count++] = rivals[i].end_ns;
	}
}

static int64_t first_end_ns(const struct company *company)
{
	int64_t first = company->ends_ns[0];

	for (unsigned i = 1; i < company->count; i++)
		first = company->ends_ns[i] < first ? company->ends_ns[i] : first;
	return first;
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

static uint32_t slots_beside(const struct kc__site *site, const struct company *company, const struct kc_grid *grid)
{
	return kc_leftover_slots(&site->sm, site->sm_count, company->residents, company->count, grid);
}

struct start {
	int64_t ns;
	uint32_t slots; /* blocks it can place at once then */
	int waited_for; /* the kernel waited for: enum kc_case, ALONE where it did not wait */
};

/* Every turn passes the placing or the end of a rival, or a wave of one that is outranked. */
static struct start find_start(const struct kc__site *site, const struct kc__rival *rivals, unsigned count,
			       int priority, int64_t ready_ns, const struct kc_grid *grid, struct company *company)
{
	struct start start = {.ns = ready_ns, .waited_for = KC_CASE_ALONE};

	for (;;) {
		int64_t t = start.ns;

		for (unsigned i = 0; i < count; i++)
			t = blocked_until_ns(&rivals[i], priority, t);
		if (t > start.ns) {
			start.ns = t;
			start.waited_for = KC_CASE_B;
			continue;
		}
		find_company(company, rivals, count, t);
		if (!company->count)
			break;
		start.slots = slots_beside(site, company, grid);
		if (start.slots)
			break;
		start.ns = first_end_ns(company);
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

	for (;;) {
		double slowdown = (double)kc_waves(grid->blocks, slots) / (double)grid->waves;
		int64_t end_ns;
		double stop;
		uint32_t freed;

		if (!company->count || slowdown <= 1)
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

static uint32_t case_of(const struct start *start, const struct company *company)
{
	if (company->count)
		return start->waited_for == KC_CASE_B ? KC_CASE_B : KC_CASE_A;
	return (uint32_t)start->waited_for;
}

static void place_alone(const struct kc_grid *grid, int64_t start_ns, int64_t solo_ns, struct kc_placement *out,
			struct kc__tail *tail)
{
	out->start_ns = start_ns;
	out->end_ns = start_ns + solo_ns;
	out->slowdown = 1;
	out->slowdown_waves = 1;
	tail->wave_ns = grid->waves > 1 ? solo_ns / (int64_t)grid->waves : solo_ns;
	tail->last = grid->last;
}

static void place_shared(const struct kc__site *site, struct company *company, const struct start *start,
			 const struct kc_grid *grid, int64_t solo_ns, struct kc_placement *out, struct kc__tail *tail)
{
	uint64_t waves = kc_waves(grid->blocks, start->slots);
	double ns = shared_ns(site, company, start, grid, (double)solo_ns);

	out->start_ns = start->ns;
	out->end_ns = start->ns + (int64_t)ns;
	out->slowdown = solo_ns ? (float)(ns / (double)solo_ns) : 1;
	out->slowdown_waves = (float)((double)waves / (double)grid->waves);
	tail->wave_ns = (int64_t)(ns / (double)waves);
	tail->last = kc_spread_evenly((uint32_t)(grid->blocks - (waves - 1) * start->slots), site->sm_count);
}

void kc__place(const struct kc__site *site, const struct kc__rival *rivals, unsigned count, int priority,
	       int64_t ready_ns, const struct kc_work *work, int64_t solo_ns, struct kc_placement *out,
	       struct kc__tail *tail)
{
	const struct kc_grid *grid = &work->grid;
	struct company company = {.count = 0};
	struct start start = {.ns = ready_ns, .waited_for = KC_CASE_ALONE};

	if (count && grid->waves)
		start = find_start(site, rivals, count, priority, ready_ns, grid, &company);
	out->concurrency_case = case_of(&start, &company);
	if (company.count)
		place_shared(site, &company, &start, grid, solo_ns, out, tail);
	else
		place_alone(grid, start.ns, solo_ns, out, tail);
}
