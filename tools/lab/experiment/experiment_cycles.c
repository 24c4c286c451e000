#include "experiment.h"

#include "predictor/papers/cycle.h"

#include <math.h>
#include <string.h>

#define BLOCK 256u
#define LIST_BLOCK 512u
#define ROUNDS 5u
#define WARP 32.0

static uint32_t plan(enum kc_plan plan, struct kc_step steps[static KC_STEPS])
{
	static const struct {
		const char *algorithm;
		uint32_t block, small, sizes[5];
	} all[] = {
	    {"matmul_tiled_coalesced", BLOCK, 3, {512, 1024, 2048, 4096, 256}},
	    {"list_ranking", LIST_BLOCK, 3, {1u << 18, 1u << 20, 1u << 22, 1u << 19, 1u << 21}},
	    {"histogram", BLOCK, 3, {1u << 20, 1u << 22, 1u << 24, 1u << 26, 1u << 27}},
	};
	uint32_t count = 0;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (uint32_t k = 0; k < (plan == KC_PLAN_FULL ? 5 : all[i].small); k++)
			steps[count++] = (struct kc_step){.program = "cycles",
							  .algorithm = all[i].algorithm,
							  .size = all[i].sizes[k],
							  .block = all[i].block,
							  .repeat = ROUNDS};
	return count;
}

/*
 * List ranking by hand, as what a thread does depends on the list. A walk begins
 * every log2 n nodes, and the longest keeps a warp busy: 4 log2 n nodes with high
 * probability (Kothapalli et al., "Analyzing the Local Ranking Kernel"). What goes
 * to memory is log2 n nodes per thread: of each the successor, on the shorter lists
 * its weight, and two stores; a remainder tells whether the next sublist begins.
 */
#define WALK_LONGEST 4.0 /* over the mean */
#define WALK_LOADS 1.0
#define WALK_STORES 2.0
#define ADD_LOADS 3.0 /* owner, offset, the owner's rank: only that one is scattered */
#define SECTOR_LANES 8.0
#define LIST_LEVELS 32u /* each list is half as long as the one before at most, and lengths have 32 bits */

static struct kc_counts scattered(double threads, double loads, double stores, double divisions, double sectors)
{
	struct kc_counts counts = {.threads = threads, .active_share = 1, .assumed = 1};

	counts.of[KC_COUNT_OF_LD_GLOBAL] = loads;
	counts.of[KC_COUNT_OF_ST_GLOBAL] = stores;
	counts.of[KC_COUNT_OF_DIVMOD] = divisions;
	counts.of[KC_COUNT_OF_INT] = loads + stores;
	counts.of[KC_COUNT_OF_REQUESTS] = (loads + stores) / WARP;
	counts.of[KC_COUNT_OF_SECTORS] = sectors;
	return counts;
}

/* level: 0 is the list that was given. */
static struct kc_counts count_list(const struct kc_observed_launch *launch, double nodes, uint32_t level)
{
	double threads = (double)launch->grid[0] * launch->block[0];
	double length = floor(log2(nodes)), longest = WALK_LONGEST * length, loads = WALK_LOADS + (level > 0);

	if (strstr(launch->kernel, "list_walk"))
		return scattered(threads, longest * loads, longest * WALK_STORES, longest,
				 length * (loads + WALK_STORES));
	if (strstr(launch->kernel, "list_add"))
		return scattered(threads, ADD_LOADS, 1, 0, 1 + ADD_LOADS / SECTOR_LANES);
	return scattered(1, 2 * nodes, nodes, 0, 3 * nodes); /* list_last: one thread, the whole of the last list */
}

/* Sublists as the program makes them, of log2 n nodes; that of the head is left out, since its place is unknown
 * here. */
static double shorter(double nodes)
{
	return ceil(nodes / (nodes > 3 ? floor(log2(nodes)) : 2));
}

struct bounded {
	double measured_ns, low_ns, high_ns;
};

static void add_bounds(const struct kc_observations *evidence, const struct kc_observed *observed, uint32_t k,
		       const struct kc_counts *counts, struct bounded *sum)
{
	const struct kc_cycle_machine machine = kc_cycle_machine_of(&evidence->device);
	const struct kc_cycle_thread thread = kc_cycle_thread_of(&evidence->device, counts);
	const struct kc_observed_launch *l = &observed->launches[k];
	struct kc_cycle_bounds bounds = kc_cycle_ns(&machine, &thread, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
						    l->block[0] * l->block[1] * l->block[2]);

	sum->measured_ns += kc_observed_median_ns(observed, k);
	sum->low_ns += bounds.max_ns;
	sum->high_ns += bounds.sum_ns;
}

/* All kernels of a round: walks down the lists, the last one, additions back up. */
static struct bounded bound_list(const struct kc_observations *evidence, const struct kc_observed *observed)
{
	uint32_t each = kc_observed_round(observed), levels = each / 2;
	struct bounded sum = {0};
	double nodes[LIST_LEVELS];

	if (!each || levels >= LIST_LEVELS)
		return (struct bounded){NAN, NAN, NAN};
	nodes[0] = observed->step->size;
	for (uint32_t i = 1; i <= levels; i++)
		nodes[i] = shorter(nodes[i - 1]);
	for (uint32_t k = 0; k < each; k++) {
		uint32_t level = k <= levels ? k : each - 1 - k;
		struct kc_counts counts = count_list(&observed->launches[k], nodes[level], level);

		add_bounds(evidence, observed, k, &counts, &sum);
	}
	return sum;
}

static struct bounded bound_one(const struct kc_observations *evidence, const struct kc_program_code *code,
				const struct kc_observed *observed)
{
	uint64_t n = observed->step->size;
	struct bounded sum = {0};
	struct kc_counts counts;

	if (!kc_observed_round(observed) || kc_program_counts(code, &observed->launches[0], &n, 1, &counts) < 0)
		return (struct bounded){NAN, NAN, NAN};
	add_bounds(evidence, observed, 0, &counts, &sum);
	return sum;
}

static void judge(const struct kc_observations *evidence, struct kc_finding *finding)
{
	struct kc_program_code *code = kc_program_code_read(evidence, "cycles");

	snprintf(finding->note, sizeof(finding->note),
		 "Counts from the programs' code; of list ranking, which depends on the list, by hand.");
	kc_program_code_tell(code, evidence, "cycles", finding);
	for (uint32_t i = 0; i < evidence->step_count; i++) {
		const struct kc_observed *observed = &evidence->steps[i];
		int is_list = strcmp(observed->step->algorithm, "list_ranking") == 0;
		struct bounded bounds = is_list ? bound_list(evidence, observed) : bound_one(evidence, code, observed);
		struct kc_point *point = kc_finding_point(finding, observed->step->algorithm);

		point->x = observed->step->size;
		point->measured = bounds.measured_ns;
		point->low = bounds.low_ns;
		point->high = bounds.high_ns;
	}
	kc_program_code_free(code);
	kc_claim_within(kc_finding_claim(finding, "the time lies between MAX (latency hidden) and SUM (not hidden)",
					 "\"How to obtain CT(K)\"", "bounds"),
			finding);
}

const struct kc_experiment kc_experiment_cycles = {
    .name = "cycles",
    .title = "cycle model: matrix multiplication, list ranking, histogram within MAX and SUM",
    .paper = "Kothapalli, Mukherjee, Rehman, Patidar, Narayanan, Srinathan, HiPC 2009",
    .figure = KC_FIGURE_BOUNDS,
    .plan = plan,
    .judge = judge,
};
