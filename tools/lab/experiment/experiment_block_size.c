#include "experiment.h"

#include "tools/lab/basis/block_basis.h"
#include "predictor/solo/block_sizes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 5u
#define BENCHMARKS 8u
#define SIZES 12u
#define REFERENCE 4u /* speed-ups are against 192 threads per block, which are timed */
#define ERROR_MOST 0.10
#define SHARE_LEAST 0.90
#define PERCENT 100

static const uint32_t sizes[SIZES] = {32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024};
/* Indices of the block sizes given as timed: every other one, and both ends. The others only serve for comparison. */
static const uint32_t timed[] = {0, 2, 4, 6, 8, 11};
#define TIMED (sizeof(timed) / sizeof(*timed))

static const struct {
	const char *algorithm;
	uint32_t small, full;
} benchmarks[BENCHMARKS] = {
    {"matmul_tiled_coalesced", 512, 2048},
    {"transpose", 1024, 4096},
    {"bfs", 1u << 18, 1u << 20},
    {"lud", 512, 2048},
    {"hotspot", 1024, 2048},
    {"nw", 1024, 4096},
    {"pathfinder", 1u << 17, 1u << 20},
    {"srad", 1024, 2048},
};

static uint32_t plan(enum kc_plan plan, struct kc_step steps[static KC_STEPS])
{
	uint32_t count = 0;

	for (uint32_t b = 0; b < BENCHMARKS; b++)
		for (uint32_t c = 0; c < SIZES; c++)
			steps[count++] =
			    (struct kc_step){.program = "block_size",
					     .algorithm = benchmarks[b].algorithm,
					     .size = plan == KC_PLAN_FULL ? benchmarks[b].full : benchmarks[b].small,
					     .block = sizes[c],
					     .repeat = ROUNDS};
	return count;
}

/* Benchmarks of which every block size was measured. */
struct curves {
	uint32_t count;
	const char *names[BENCHMARKS];
	struct kc_block_time times[BENCHMARKS][SIZES];
};

/* Of a round, the launch that takes longest shows the effect of the block size. */
static struct kc_block_time time_of(const struct kc_observations *evidence, const struct kc_observed *observed)
{
	struct kc_block_time time = {.ns = kc_observed_round_ns(observed)};
	const struct kc_observed_launch *longest = observed->launches;
	struct kc_shape shape = {.dynamic_shared_bytes = 0};
	struct kc_work work;

	for (uint32_t k = 1; k < kc_observed_round(observed); k++)
		if (observed->launches[k].measured_ns > longest->measured_ns)
			longest = &observed->launches[k];
	if (!(time.ns > 0))
		return time;
	memcpy(shape.grid, longest->grid, sizeof(shape.grid));
	memcpy(shape.block, longest->block, sizeof(shape.block));
	memcpy(time.size.block, longest->block, sizeof(time.size.block));
	shape.dynamic_shared_bytes = longest->dynamic_shared_bytes;
	if (kc_work_init(&work, &evidence->device, &longest->resources, &shape, 0) == 0)
		time.size.blocks_per_sm = work.blocks_per_sm;
	return time;
}

static int load_curve(const struct kc_observations *evidence, const char *algorithm, struct kc_block_time *times)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < evidence->step_count; i++) {
		const struct kc_observed *observed = &evidence->steps[i];

		for (uint32_t c = 0; c < SIZES; c++) {
			if (strcmp(observed->step->algorithm, algorithm) != 0 || observed->step->block != sizes[c])
				continue;
			times[c] = time_of(evidence, observed);
			found += times[c].ns > 0;
		}
	}
	return found == SIZES;
}

/* Rates (time at the reference / time), one row per benchmark, without the benchmark left_out (count: with all). */
struct rows {
	double at[BENCHMARKS * SIZES];
	uint32_t groups[BENCHMARKS], count;
};

static struct rows rows_without(const struct curves *curves, uint32_t left_out)
{
	struct rows rows = {.count = 0};

	for (uint32_t b = 0; b < curves->count; b++) {
		if (b == left_out)
			continue;
		for (uint32_t c = 0; c < SIZES; c++)
			rows.at[rows.count * SIZES + c] = curves->times[b][REFERENCE].ns / curves->times[b][c].ns;
		rows.groups[rows.count++] = b;
	}
	return rows;
}

/* Sums over the sizes that were not timed. */
struct errors {
	double basis, terms, interpolation, worst;
	uint32_t count;
	char where[64];
};

/* The paper's prediction: a basis of the other benchmarks, with the number of functions that predicts those best. 0
 * or -EINVAL. */
static int by_basis(const struct curves *curves, uint32_t b, double *out_ns)
{
	struct rows rows = rows_without(curves, b);
	double rates[TIMED], out[SIZES], error;
	struct kc_basis basis;
	uint32_t k = kc_basis_choose(rows.at, rows.groups, rows.count, SIZES, timed, TIMED, &error);
	int rc = kc_basis_train(&basis, rows.at, rows.count, SIZES);

	for (uint32_t i = 0; i < TIMED; i++)
		rates[i] = curves->times[b][REFERENCE].ns / curves->times[b][timed[i]].ns;
	if (rc == 0)
		rc = kc_basis_fit(&basis, k, timed, rates, TIMED, out);
	for (uint32_t c = 0; rc == 0 && c < SIZES; c++)
		out_ns[c] = curves->times[b][REFERENCE].ns / out[c];
	return rc;
}

/* kerncast's prediction: from the kernel's own timed sizes and terms of the hardware, without other kernels. */
static double by_terms(const struct curves *curves, uint32_t b, uint32_t c)
{
	struct kc_block_time known[TIMED];
	struct kc_block_curve own = {known, TIMED};

	for (uint32_t i = 0; i < TIMED; i++)
		known[i] = curves->times[b][timed[i]];
	return kc_blocks_predict(&own, NULL, 0, &curves->times[b][c].size);
}

/* Interpolates log time over log threads between timed neighbours. */
static double by_neighbours(const struct curves *curves, uint32_t b, uint32_t c)
{
	uint32_t i = 0, low, high;
	double share;

	while (timed[i + 1] < c)
		i++;
	low = timed[i];
	high = timed[i + 1];
	share = log((double)sizes[c] / sizes[low]) / log((double)sizes[high] / sizes[low]);
	return exp((1 - share) * log(curves->times[b][low].ns) + share * log(curves->times[b][high].ns));
}

static int is_timed(uint32_t c)
{
	for (uint32_t i = 0; i < TIMED; i++)
		if (timed[i] == c)
			return 1;
	return 0;
}

static void predict_one(const struct curves *curves, uint32_t b, struct kc_finding *finding, struct errors *errors)
{
	double basis_ns[SIZES];

	if (by_basis(curves, b, basis_ns) < 0)
		return;
	for (uint32_t c = 0; c < SIZES; c++) {
		struct kc_point *point = kc_finding_point(finding, curves->names[b]);
		double ns = curves->times[b][c].ns, error = kc_error_of(basis_ns[c], ns);

		point->x = sizes[c];
		point->measured = ns;
		point->known = is_timed(c);
		if (point->known)
			continue;
		point->predicted = basis_ns[c];
		errors->basis += error;
		errors->terms += kc_error_of(by_terms(curves, b, c), ns);
		errors->interpolation += kc_error_of(by_neighbours(curves, b, c), ns);
		errors->count++;
		if (error >= errors->worst) {
			errors->worst = error;
			snprintf(errors->where, sizeof(errors->where), "%s at %u", curves->names[b], sizes[c]);
		}
	}
}

/* Figure 1: how much of the data the first k functions hold, as a share of the sum of squares. */
static double share_of(const struct curves *curves, uint32_t k)
{
	struct rows rows = rows_without(curves, curves->count);
	struct kc_basis basis;
	double first = 0, all = 0;

	if (kc_basis_train(&basis, rows.at, rows.count, SIZES) < 0)
		return NAN;
	for (uint32_t i = 0; i < basis.components; i++) {
		all += basis.values[i] * basis.values[i];
		first += i < k ? basis.values[i] * basis.values[i] : 0;
	}
	return first / all;
}

static void claim(const struct curves *curves, const struct errors *errors, struct kc_finding *finding)
{
	double basis = errors->count ? errors->basis / errors->count : NAN;
	double terms = errors->count ? errors->terms / errors->count : NAN;
	double interpolation = errors->count ? errors->interpolation / errors->count : NAN;
	struct kc_claim *c;
	double share;

	c = kc_finding_claim(finding, "basis: mean error at block sizes not timed", "Figure 2, which prints none",
			     "here: 10 %");
	kc_claim_at_most(c, basis, ERROR_MOST, errors->count);
	if (errors->count)
		snprintf(c->why, sizeof(c->why), "worst %.3g %%: %s", PERCENT * errors->worst, errors->where);
	c = kc_finding_claim(finding, "terms of the hardware, no other kernel",
			     "kerncast's, predictor/solo/block_sizes.h", "here: 10 %");
	kc_claim_at_most(c, terms, ERROR_MOST, errors->count);
	c = kc_finding_claim(finding, "basis better than interpolation", "Results", "basis better");
	if (errors->count) {
		kc_claim_at_most(c, basis, interpolation, errors->count);
		snprintf(c->here, sizeof(c->here), "%.3g %%, %.3g %%", PERCENT * basis, PERCENT * interpolation);
		snprintf(c->why, sizeof(c->why), "the basis, and interpolation between timed sizes");
	}
	if (curves->count < 2)
		return;
	c = kc_finding_claim(finding, "share of the data in the first 2 functions",
			     "Figure 1: much of the data; the share is kerncast's", "first 7; here: 90 %");
	share = share_of(curves, 2);
	if (isnan(share))
		return;
	c->points = curves->count;
	c->value = share;
	c->verdict = share >= SHARE_LEAST ? KC_HOLDS : KC_FAILS;
	snprintf(c->here, sizeof(c->here), "%.4g %%", PERCENT * share);
}

static void judge(const struct kc_observations *evidence, struct kc_finding *finding)
{
	struct curves curves = {.count = 0};
	struct errors errors = {.count = 0};

	for (uint32_t b = 0; b < BENCHMARKS; b++)
		if (load_curve(evidence, benchmarks[b].algorithm, curves.times[curves.count]))
			curves.names[curves.count++] = benchmarks[b].algorithm;
	for (uint32_t b = 0; curves.count > 2 && b < curves.count; b++)
		predict_one(&curves, b, finding, &errors);
	snprintf(finding->note, sizeof(finding->note),
		 "Timed: 32, 96, 192, 320, 512, 1,024 threads. Each benchmark from a basis of the others, k by leaving "
		 "each of those out.");
	claim(&curves, &errors, finding);
}

const struct kc_experiment kc_experiment_block_size = {
    .name = "block_size",
    .title = "basis over block sizes: T(C) of eight benchmarks",
    .paper = "Kanchiraju, Panigrahi, Srinivasan, Baruah, poster on a K20",
    .figure = KC_FIGURE_CURVES,
    .plan = plan,
    .judge = judge,
};
