#include "experiment.h"

#include "predictor/math/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAPER                                                                                                          \
	"Quintanilla Cruz, \"Analyzing and Estimating the Performance of Concurrent Kernels Execution in GPUs\", 2017"
#define EQUATION "wave model"
#define OURS "kerncast"

/* Errors in section 6.3: of synthetic pairs, and of applications. */
#define SYNTHETIC_ERROR 0.0349
#define APPLICATIONS_ERROR 0.106

#define PAIRS 50u
#define SMALL_ROUNDS 10u
#define FULL_ROUNDS 30u
#define ROUNDS_MOST FULL_ROUNDS

/* Slowdown of the second kernel of a pair beside the first, in one meeting. */
struct meeting {
	double actual, waves, ours; /* measured; by the wave model, eq. 5.1; predicted by kerncast before it ran */
};

struct errors {
	double waves, first, all;
	uint32_t pairs, meetings;
};

static int is_whole(const struct meeting *m)
{
	return isfinite(m->actual) && isfinite(m->waves) && isfinite(m->ours) && m->actual > 0;
}

/* The wave model predicts the same at every meeting, so it is compared with the median of the measured slowdowns. */
static void add_pair(const struct meeting *meetings, uint32_t rounds, uint32_t number, struct kc_finding *finding,
		     struct errors *errors)
{
	double actual[ROUNDS_MOST];
	const struct meeting *last = NULL;
	struct kc_point *point;
	uint32_t count = 0;
	double median;

	for (uint32_t r = 0; r < rounds; r++) {
		if (!is_whole(&meetings[r]))
			continue;
		last = &meetings[r];
		errors->first += count ? 0 : kc_error_of(last->ours, last->actual);
		errors->all += kc_error_of(last->ours, last->actual);
		errors->meetings++;
		actual[count++] = last->actual;
	}
	if (!count)
		return;
	median = kc_median(actual, count);
	errors->waves += kc_error_of(last->waves, median);
	errors->pairs++;
	point = kc_finding_point(finding, EQUATION);
	point->x = number;
	point->measured = median;
	point->predicted = last->waves;
	point = kc_finding_point(finding, OURS ", last meeting");
	point->x = number;
	point->measured = last->actual;
	point->predicted = last->ours;
}

static void claim(struct kc_finding *finding, const struct errors *errors, const char *source, const char *paper,
		  double limit)
{
	double pairs = errors->pairs, meetings = errors->meetings;
	struct kc_claim *c;

	c = kc_finding_claim(finding, "slowdown by the wave model (eq. 5.1): mean error", source, paper);
	kc_claim_at_most(c, errors->waves / pairs, limit, errors->pairs);
	c = kc_finding_claim(finding, "slowdown by kerncast, first meeting of a pair: mean error", source, paper);
	kc_claim_at_most(c, errors->first / pairs, limit, errors->pairs);
	c = kc_finding_claim(finding, "slowdown by kerncast, all meetings: mean error", source, paper);
	kc_claim_at_most(c, errors->all / meetings, limit, errors->meetings);
}

/* --- synthetic pairs */

static uint32_t plan_pairs(enum kc_plan plan, struct kc_step steps[static KC_STEPS])
{
	steps[0] = (struct kc_step){
	    .program = "pairs", .repeat = plan == KC_PLAN_FULL ? FULL_ROUNDS : SMALL_ROUNDS, .more = "--scale"};
	return 1;
}

/* S1, S2 ... S100 alone, as many rounds as asked for; then S1 and S2 together, S3 and S4 ... */
static void meet_synthetic(const struct kc_observed *observed, uint32_t pair, struct meeting *meetings)
{
	uint32_t rounds = observed->step->repeat, second = 2 * pair + 1;
	double alone[ROUNDS_MOST], solo;
	uint32_t count = 0;

	for (uint32_t r = 0; r < rounds; r++) {
		double ns = observed->launches[r * 2 * PAIRS + second].measured_ns;

		if (ns > 0)
			alone[count++] = ns;
	}
	solo = kc_median(alone, count);
	for (uint32_t r = 0; r < rounds; r++) {
		const struct kc_observed_launch *l = &observed->launches[(rounds + r) * 2 * PAIRS + second];

		meetings[r] = (struct meeting){l->measured_ns / solo, l->slowdown_waves, l->slowdown};
	}
}

static void judge_pairs(const struct kc_observations *evidence, struct kc_finding *finding)
{
	const struct kc_observed *observed = evidence->step_count ? &evidence->steps[0] : NULL;
	struct meeting meetings[ROUNDS_MOST];
	struct errors errors = {.pairs = 0};
	uint32_t rounds = observed ? observed->step->repeat : 0;

	if (observed && observed->launch_count == 4 * PAIRS * rounds) {
		for (uint32_t pair = 0; pair < PAIRS; pair++) {
			meet_synthetic(observed, pair, meetings);
			add_pair(meetings, rounds, pair + 1, finding, &errors);
		}
	}
	claim(finding, &errors, "section 6.3, Table 6.3", "3.49 %", SYNTHETIC_ERROR);
	snprintf(finding->note, sizeof(finding->note),
		 "For the second kernel of each pair, %u meetings; blocks and shared memory scaled from the K40 to "
		 "this device.",
		 rounds);
}

/* --- applications beside the particle filter */

static const char *const applications[] = {"knn", "pathfinder", "hotspot", "hotspot_3d", "bfs", "srad", "lud"};
#define APPLICATIONS (sizeof(applications) / sizeof(*applications))

static uint32_t plan_real_pairs(enum kc_plan plan, struct kc_step steps[static KC_STEPS])
{
	for (uint32_t i = 0; i < APPLICATIONS; i++)
		steps[i] = (struct kc_step){.program = "real_pairs",
					    .algorithm = applications[i],
					    .repeat = plan == KC_PLAN_FULL ? FULL_ROUNDS : SMALL_ROUNDS};
	return APPLICATIONS;
}

/* The launches of a step: rounds of the algorithm and the filter alone, of both with the filter second, of both with
 * the filter first. */
struct company {
	const struct kc_observed *observed;
	uint32_t rounds, each, own; /* launches of a round; of them the algorithm's */
	double *alone;              /* median of each launch of a round */
};

static int open_company(const struct kc_observed *observed, struct company *company)
{
	uint32_t rounds = observed->step->repeat;
	double values[ROUNDS_MOST];

	*company = (struct company){.observed = observed, .rounds = rounds, .each = kc_observed_round(observed) / 3};
	if (!company->each || observed->launch_count != 3 * rounds * company->each)
		return -1;
	while (company->own < company->each && !strstr(observed->launches[company->own].kernel, "particle"))
		company->own++;
	company->alone = malloc(company->each * sizeof(*company->alone));
	for (uint32_t k = 0; company->alone && k < company->each; k++) {
		uint32_t count = 0;

		for (uint32_t r = 0; r < rounds; r++)
			if (observed->launches[r * company->each + k].measured_ns > 0)
				values[count++] = observed->launches[r * company->each + k].measured_ns;
		company->alone[k] = kc_median(values, count);
	}
	return company->alone ? 0 : -1;
}

/* Over all kernels of the application launched second. */
static struct meeting meet_application(const struct company *company, uint32_t round, int filter_first)
{
	uint32_t filter = company->each - company->own, begin = filter_first ? filter : company->own;
	const struct kc_observed_launch *launches =
	    &company->observed->launches[(company->rounds * (1 + (uint32_t)filter_first) + round) * company->each];
	double alone = 0, actual = 0, waves = 0, ours = 0;

	for (uint32_t k = begin; k < company->each; k++) {
		double solo = company->alone[filter_first ? k - filter : k];

		alone += solo;
		actual += launches[k].measured_ns;
		waves += launches[k].slowdown_waves * solo;
		ours += launches[k].slowdown * solo;
	}
	return (struct meeting){actual / alone, waves / alone, ours / alone};
}

static void judge_real_pairs(const struct kc_observations *evidence, struct kc_finding *finding)
{
	struct meeting meetings[ROUNDS_MOST];
	struct errors errors = {.pairs = 0};
	struct company company;

	for (uint32_t i = 0; i < evidence->step_count; i++) {
		if (open_company(&evidence->steps[i], &company) < 0)
			continue;
		for (uint32_t filter_first = 0; filter_first < 2; filter_first++) {
			for (uint32_t r = 0; r < company.rounds; r++)
				meetings[r] = meet_application(&company, r, (int)filter_first);
			add_pair(meetings, company.rounds, 2 * i + 1 + filter_first, finding, &errors);
		}
		free(company.alone);
	}
	claim(finding, &errors, "section 6.3, Table 6.5", "10.6 %", APPLICATIONS_ERROR);
	snprintf(finding->note, sizeof(finding->note),
		 "For all kernels of the application launched second, weighted by their solo times: knn, pathfinder, "
		 "hotspot, "
		 "hotspot_3d, bfs, srad, lud, each with the particle filter second, then first.");
}

const struct kc_experiment kc_experiment_pairs = {
    .name = "pairs",
    .title = "concurrency: 50 synthetic pairs of kernels",
    .paper = PAPER,
    .figure = KC_FIGURE_SLOWDOWN,
    .plan = plan_pairs,
    .judge = judge_pairs,
};

const struct kc_experiment kc_experiment_real_pairs = {
    .name = "real_pairs",
    .title = "concurrency: seven applications beside a particle filter, both orders",
    .paper = PAPER,
    .figure = KC_FIGURE_SLOWDOWN,
    .plan = plan_real_pairs,
    .judge = judge_real_pairs,
};
