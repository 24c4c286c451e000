#include "tuning.h"
#include "gauss.h"
#include "trees.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen on the recorded spaces of the RTX 2080 Ti and A4000 (tuning_trace_test.c). */
static const struct kc_trees_options residual_trees = {
    .trees = 400,
    .depth = 6,
    .bags = 3,
    .least_leaf = 1,
    .least_columns = 10,
    .rate = 0.03,
    .rows = 0.7,
    .columns = 0.6,
};
static const struct kc_gauss_options residual_gauss = {.steps = 40, .scale_rows = 600};
/* Less effort, as it is repeated for each fold. */
static const struct kc_gauss_options fold_gauss = {.steps = 25, .scale_rows = 200};
#define GAUSS_ROWS 2000u /* at most: time grows with their third power, to seconds at this many */
#define FOLDS 5u         /* of the cross-validation */
#define MIXES 20         /* shares of the Gaussian process that are tried: 0 to 1 in so many steps */
#define LINE_RIDGE 0.01
#define LINE_NOISE 1e-4 /* variance: 1 % of the time */

/* --- the space */

struct line { /* log time over a donor's prediction, relative to its mean over the timed configurations */
	double at_mean, slope, mean, weight;
};

struct model {
	const struct kc_space *space;
	const struct kc_tuning_donors *donors;
	struct kc__columns own;
	uint32_t columns, few; /* few: the first of them, without products, which the Gaussian process gets */
	double middle;         /* log time where there are no donors */
	struct line lines[KC_TUNING_DONORS];
	struct kc_trees *trees;
	struct kc_gauss *gauss;
	double gauss_share;
};

static double donor_log_ns(const struct model *m, uint32_t donor, uint32_t row)
{
	return m->donors->log_ns[(size_t)row * m->donors->count + donor];
}

static double on_line(const struct model *m, uint32_t row)
{
	double sum = 0;

	for (uint32_t i = 0; i < m->donors->count; i++) {
		const struct line *line = &m->lines[i];

		sum += line->weight * (line->at_mean + line->slope * (donor_log_ns(m, i, row) - line->mean));
	}
	return m->donors->count ? sum : m->middle;
}

/* The space's own columns, the donors' predictions, products. */
static void fill(const struct model *m, uint32_t row, double *out)
{
	uint32_t n = m->own.plain;

	kc__describe(m->space, &m->own, row, out, out + m->few);
	if (!m->donors->count)
		return;
	out[n++] = on_line(m, row);
	for (uint32_t i = 0; i < m->donors->count && m->donors->count > 1; i++)
		out[n++] = donor_log_ns(m, i, row);
}

/* Weighted by the inverse square of the residual variance. */
static void fit_line(struct model *m, uint32_t donor, const uint32_t *timed, const double *y, uint32_t count)
{
	struct line *line = &m->lines[donor];
	double xx = LINE_RIDGE, xy = 0, left = 0;

	line->mean = 0;
	for (uint32_t i = 0; i < count; i++)
		line->mean += donor_log_ns(m, donor, timed[i]) / count;
	for (uint32_t i = 0; i < count; i++) {
		double x = donor_log_ns(m, donor, timed[i]) - line->mean;

		xx += x * x;
		xy += x * y[i];
	}
	line->at_mean = m->middle;
	line->slope = xy / xx;
	for (uint32_t i = 0; i < count; i++) {
		double off = y[i] - line->at_mean - line->slope * (donor_log_ns(m, donor, timed[i]) - line->mean);

		left += off * off / count;
	}
	line->weight = 1 / ((left + LINE_NOISE) * (left + LINE_NOISE));
}

static void fit_lines(struct model *m, const uint32_t *timed, const double *y, uint32_t count)
{
	double weights = 0;

	m->middle = 0;
	for (uint32_t i = 0; i < count; i++)
		m->middle += y[i] / count;
	for (uint32_t i = 0; i < m->donors->count; i++) {
		fit_line(m, i, timed, y, count);
		weights += m->lines[i].weight;
	}
	for (uint32_t i = 0; i < m->donors->count; i++)
		m->lines[i].weight /= weights;
}

/* --- the residual */

struct rest { /* of the timed ones */
	uint32_t count;
	double *x, *few; /* all columns; those of the Gaussian process */
	double *y;
	double *by_trees, *by_gauss; /* predictions of the fold that was left out */
};

static void free_rest(struct rest *rest)
{
	free(rest->x);
	free(rest->few);
	free(rest->y);
	free(rest->by_trees);
	free(rest->by_gauss);
}

static int allocate_rest(const struct model *m, uint32_t count, struct rest *rest)
{
	*rest = (struct rest){
	    .count = count,
	    .x = malloc((size_t)count * m->columns * sizeof(double)),
	    .few = malloc((size_t)count * m->few * sizeof(double)),
	    .y = malloc(count * sizeof(double)),
	    .by_trees = malloc(count * sizeof(double)),
	    .by_gauss = malloc(count * sizeof(double)),
	};
	return rest->x && rest->few && rest->y && rest->by_trees && rest->by_gauss ? 0 : -ENOMEM;
}

static int new_rest(const struct model *m, const uint32_t *timed, const double *y, uint32_t count, struct rest *rest)
{
	int rc = allocate_rest(m, count, rest);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < count; i++) {
		fill(m, timed[i], rest->x + (size_t)i * m->columns);
		memcpy(rest->few + (size_t)i * m->few, rest->x + (size_t)i * m->columns, m->few * sizeof(double));
		rest->y[i] = y[i] - on_line(m, timed[i]);
	}
	return 0;
}

static int fit_gauss(const struct model *m, const struct kc_gauss_options *options, const double *x, const double *y,
		     uint32_t count, struct kc_gauss **out)
{
	return kc_gauss_fit(out, options, x, y, count < GAUSS_ROWS ? count : GAUSS_ROWS, m->few);
}

/* Copies all but one fold into `kept`. */
static void keep_others(const struct model *m, const struct rest *rest, uint32_t fold, struct rest *kept)
{
	kept->count = 0;
	for (uint32_t i = 0; i < rest->count; i++) {
		if (i % FOLDS == fold)
			continue;
		memcpy(kept->x + (size_t)kept->count * m->columns, rest->x + (size_t)i * m->columns,
		       m->columns * sizeof(double));
		memcpy(kept->few + (size_t)kept->count * m->few, rest->few + (size_t)i * m->few,
		       m->few * sizeof(double));
		kept->y[kept->count++] = rest->y[i];
	}
}

static int fit_without(const struct model *m, const struct kc_trees_options *options, struct rest *rest, uint32_t fold,
		       struct rest *kept)
{
	struct kc_trees *trees = NULL;
	struct kc_gauss *gauss = NULL;
	int rc;

	keep_others(m, rest, fold, kept);
	rc = kc_trees_fit(&trees, options, kept->x, kept->y, kept->count, m->columns);
	if (!rc)
		rc = fit_gauss(m, &fold_gauss, kept->few, kept->y, kept->count, &gauss);
	for (uint32_t i = fold; !rc && i < rest->count; i += FOLDS) {
		rest->by_trees[i] = kc_trees_predict(trees, rest->x + (size_t)i * m->columns);
		rc = kc_gauss_predict(gauss, rest->few + (size_t)i * m->few, 1, &rest->by_gauss[i]);
	}
	kc_trees_free(trees);
	kc_gauss_free(gauss);
	return rc;
}

static int leave_out(const struct model *m, const struct kc_trees_options *options, struct rest *rest)
{
	struct kc_trees_options one_bag = *options;
	struct rest kept;
	int rc = allocate_rest(m, rest->count, &kept);

	one_bag.bags = 1;
	for (uint32_t fold = 0; !rc && fold < FOLDS; fold++)
		rc = fit_without(m, &one_bag, rest, fold, &kept);
	free_rest(&kept);
	return rc;
}

/* The share with the smallest mean relative error. */
static double best_share(const struct rest *rest)
{
	double best = 0, least = INFINITY;

	for (int step = 0; step <= MIXES; step++) {
		double share = (double)step / MIXES, error = 0;

		for (uint32_t i = 0; i < rest->count; i++)
			error += fabs(expm1(share * rest->by_gauss[i] + (1 - share) * rest->by_trees[i] - rest->y[i]));
		if (error < least) {
			least = error;
			best = share;
		}
	}
	return best;
}

/* With too few to leave a fold out, or no positive definite covariance: trees alone. */
static int fit_mix(struct model *m, const struct kc_trees_options *options, struct rest *rest)
{
	int rc;

	if (rest->count < FOLDS)
		return 0;
	rc = leave_out(m, options, rest);
	if (!rc)
		rc = fit_gauss(m, &residual_gauss, rest->few, rest->y, rest->count, &m->gauss);
	if (!rc)
		m->gauss_share = best_share(rest);
	return rc == -EDOM ? 0 : rc;
}

static int fit_rest(struct model *m, const uint32_t *timed, const double *y, uint32_t count, uint64_t seed)
{
	struct kc_trees_options options = residual_trees;
	struct rest rest;
	int rc = new_rest(m, timed, y, count, &rest);

	options.seed = seed;
	if (!rc)
		rc = kc_trees_fit(&m->trees, &options, rest.x, rest.y, count, m->columns);
	if (!rc)
		rc = fit_mix(m, &options, &rest);
	free_rest(&rest);
	return rc;
}

static int answer(const struct model *m, const uint32_t *asked, uint32_t count, double *out)
{
	double *row = malloc(m->columns * sizeof(*row)), by_gauss = 0;
	int rc = row ? 0 : -ENOMEM;

	for (uint32_t i = 0; !rc && i < count; i++) {
		fill(m, asked[i], row);
		if (m->gauss_share > 0)
			rc = kc_gauss_predict(m->gauss, row, 1, &by_gauss);
		out[i] = exp(on_line(m, asked[i]) + m->gauss_share * by_gauss +
			     (1 - m->gauss_share) * kc_trees_predict(m->trees, row));
	}
	free(row);
	return rc;
}

/* Timed configurations are often in some order; folds must be a fair sample. */
static void shuffle(uint32_t *rows, double *y, uint32_t count, uint64_t seed)
{
	uint64_t state = seed;

	for (uint32_t i = 0; i + 1 < count; i++) {
		uint32_t j, row = rows[i];
		double value = y[i];

		/* MMIX: Knuth 1997, section 3.3.4, table 1 */
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		j = i + (uint32_t)((state >> 32) * (count - i) >> 32);
		rows[i] = rows[j];
		y[i] = y[j];
		rows[j] = row;
		y[j] = value;
	}
}

int kc_tuning_predict(const struct kc_space *space, const uint32_t *timed, const double *ns, uint32_t timed_count,
		      const struct kc_tuning_donors *donors, uint64_t seed, const uint32_t *asked, uint32_t asked_count,
		      double *out)
{
	struct model m = {.space = space, .donors = donors};
	uint32_t *rows;
	double *y;
	int rc;

	if (!timed_count || !space->parameters || space->parameters > KC_SPACE_PARAMETERS)
		return -EINVAL;
	m.own = kc__columns_of(space);
	m.few = m.own.plain + (donors->count > 1 ? donors->count + 1 : donors->count);
	m.columns = m.few + m.own.products;
	if (!m.columns)
		return -EINVAL;
	rows = malloc(timed_count * sizeof(*rows));
	y = malloc(timed_count * sizeof(*y));
	rc = rows && y ? 0 : -ENOMEM;
	for (uint32_t i = 0; !rc && i < timed_count; i++) {
		rows[i] = timed[i];
		y[i] = log(ns[i]);
	}
	if (!rc) {
		shuffle(rows, y, timed_count, seed);
		fit_lines(&m, rows, y, timed_count);
		rc = fit_rest(&m, rows, y, timed_count, seed);
	}
	if (!rc)
		rc = answer(&m, asked, asked_count, out);
	kc_trees_free(m.trees);
	kc_gauss_free(m.gauss);
	free(rows);
	free(y);
	return rc;
}
