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
static const struct kc_trees_options lender_trees = {
    .trees = 200,
    .depth = 6,
    .bags = 1,
    .least_leaf = 2,
    .least_columns = 8,
    .rate = 0.15,
    .rows = 0.6,
    .columns = 1,
    .seed = 1,
};
static const struct kc_gauss_options residual_gauss = {.steps = 40, .scale_rows = 600};
static const struct kc_gauss_options fold_gauss = {.steps = 25, .scale_rows = 200};
#define GAUSS_ROWS 2000u /* at most; its time grows with their third power, to seconds at this many */
#define FOLDS 5u         /* both are fitted without each fifth of the timed ones, to see how they meet it */
#define MIXES 20         /* shares of the Gaussian process that are tried: 0 to 1 in so many steps */
#define LINE_RIDGE 0.01
#define LINE_NOISE 1e-4 /* variance: 1 % of the time */

/* --- lenders */

/* Configurations of a lender by the parameters that the space has as well: a hash table. */
struct index {
	uint32_t *slots; /* row + 1; 0: free */
	uint32_t mask;
};

static uint64_t hash_of(const double *key, uint32_t count)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

	for (uint32_t i = 0; i < count; i++) {
		uint64_t bits;

		memcpy(&bits, &key[i], sizeof(bits));
		hash = (hash ^ bits) * UINT64_C(1099511628211);
		hash ^= hash >> 29;
	}
	return hash;
}

/* One lender beside the space. */
struct loan {
	const struct kc_space *space;
	const struct kc_space_times *lender;
	uint32_t own[KC_SPACE_PARAMETERS], its[KC_SPACE_PARAMETERS], common; /* parameters that both have */
	uint32_t extra[KC_SPACE_PARAMETERS], extra_count;                    /* that vary in the lender alone */
	double fixed[KC_SPACE_PARAMETERS];                                   /* values of those */
	struct kc_trees *trees;
	struct index index;
};

static int varies(const struct kc_space *space, uint32_t p)
{
	for (uint32_t r = 1; r < space->count; r++)
		if (space->values[(size_t)r * space->parameters + p] != space->values[p])
			return 1;
	return 0;
}

static void pair_parameters(struct loan *loan)
{
	const struct kc_space *its = &loan->lender->space;

	for (uint32_t p = 0; p < its->parameters; p++) {
		int32_t own = loan->lender->same_as[p];

		if (own >= 0 && (uint32_t)own < loan->space->parameters) {
			loan->own[loan->common] = (uint32_t)own;
			loan->its[loan->common++] = p;
		} else if (varies(its, p)) {
			loan->extra[loan->extra_count++] = p;
		}
	}
}

static void key_of_lender(const struct loan *loan, uint32_t row, double *key)
{
	const double *values = loan->lender->space.values + (size_t)row * loan->lender->space.parameters;

	for (uint32_t i = 0; i < loan->common; i++)
		key[i] = values[loan->its[i]];
	for (uint32_t i = 0; i < loan->extra_count; i++)
		key[loan->common + i] = values[loan->extra[i]];
}

static void key_of_space(const struct loan *loan, uint32_t row, double *key)
{
	const double *values = loan->space->values + (size_t)row * loan->space->parameters;

	for (uint32_t i = 0; i < loan->common; i++)
		key[i] = values[loan->own[i]];
	for (uint32_t i = 0; i < loan->extra_count; i++)
		key[loan->common + i] = loan->fixed[i];
}

/* Row of the lender with this key, -1: none. */
static int64_t find(const struct loan *loan, const double *key)
{
	uint32_t columns = loan->common + loan->extra_count;
	double other[2 * KC_SPACE_PARAMETERS];

	for (uint32_t slot = (uint32_t)hash_of(key, columns) & loan->index.mask; loan->index.slots[slot];
	     slot = (slot + 1) & loan->index.mask) {
		key_of_lender(loan, loan->index.slots[slot] - 1, other);
		if (!memcmp(key, other, columns * sizeof(*key)))
			return (int64_t)loan->index.slots[slot] - 1;
	}
	return -1;
}

static int make_index(struct loan *loan)
{
	uint32_t columns = loan->common + loan->extra_count;
	double key[2 * KC_SPACE_PARAMETERS];

	loan->index.mask = 1;
	while (loan->index.mask < 2 * loan->lender->space.count)
		loan->index.mask *= 2;
	loan->index.slots = calloc(loan->index.mask, sizeof(*loan->index.slots));
	if (!loan->index.slots)
		return -ENOMEM;
	loan->index.mask--;
	for (uint32_t r = 0; r < loan->lender->space.count; r++) {
		uint32_t slot;

		key_of_lender(loan, r, key);
		slot = (uint32_t)hash_of(key, columns) & loan->index.mask;
		while (loan->index.slots[slot])
			slot = (slot + 1) & loan->index.mask;
		loan->index.slots[slot] = r + 1;
	}
	return 0;
}

static int fit_lender(struct loan *loan)
{
	uint32_t columns = loan->common + loan->extra_count, rows = loan->lender->space.count;
	double *x = malloc((size_t)rows * columns * sizeof(*x) + 1), *y = malloc(rows * sizeof(*y) + 1);
	int rc = x && y ? 0 : -ENOMEM;

	for (uint32_t r = 0; !rc && r < rows; r++) {
		key_of_lender(loan, r, x + (size_t)r * columns);
		y[r] = log(loan->lender->ns[r]);
	}
	if (!rc)
		rc = kc_trees_fit(&loan->trees, &lender_trees, x, y, rows, columns);
	free(x);
	free(y);
	return rc;
}

/* Log ns of one configuration of the space. */
static double say(const struct loan *loan, uint32_t row)
{
	double key[2 * KC_SPACE_PARAMETERS];
	int64_t found;

	key_of_space(loan, row, key);
	found = find(loan, key);
	return found >= 0 ? log(loan->lender->ns[found]) : kc_trees_predict(loan->trees, key);
}

/* How far from a straight line over what the lender says the timed ones lie. */
static double misfit(const struct loan *loan, const uint32_t *timed, const double *ns, uint32_t count)
{
	double x = 0, y = 0, xx = 0, xy = 0, yy = 0;

	for (uint32_t i = 0; i < count; i++) {
		double a = say(loan, timed[i]), b = log(ns[i]);

		x += a / count;
		y += b / count;
		xx += a * a / count;
		xy += a * b / count;
		yy += b * b / count;
	}
	xx -= x * x;
	return yy - y * y - (xx > 0 ? (xy - x * y) * (xy - x * y) / xx : 0);
}

/* Each value of each parameter that only the lender has, one parameter after the other. */
static void fix_extra(struct loan *loan, const uint32_t *timed, const double *ns, uint32_t count)
{
	const struct kc_space *its = &loan->lender->space;

	for (uint32_t i = 0; i < loan->extra_count; i++)
		loan->fixed[i] = its->values[loan->extra[i]];
	for (uint32_t i = 0; i < loan->extra_count; i++) {
		double least = misfit(loan, timed, ns, count), best = loan->fixed[i], tried[KC_TREES_BINS];
		uint32_t n = 0;

		tried[n++] = best;
		for (uint32_t r = 0; r < its->count && n < KC_TREES_BINS; r++) {
			double value = its->values[(size_t)r * its->parameters + loan->extra[i]], off;
			uint32_t seen = 0;

			while (seen < n && tried[seen] != value)
				seen++;
			if (seen < n)
				continue;
			tried[n++] = loan->fixed[i] = value;
			off = misfit(loan, timed, ns, count);
			best = off < least ? value : best;
			least = fmin(off, least);
		}
		loan->fixed[i] = best;
	}
}

/* Whatever the values of parameters that only it has. */
static int knows_all(const struct loan *loan)
{
	double key[2 * KC_SPACE_PARAMETERS];

	for (uint32_t r = 0; r < loan->space->count; r++) {
		key_of_space(loan, r, key);
		if (find(loan, key) < 0)
			return 0;
	}
	return !loan->extra_count;
}

static int borrow_from(const struct kc_space *space, const struct kc_space_times *lender, const uint32_t *timed,
		       const double *ns, uint32_t timed_count, uint32_t column, struct kc_tuning_lenders *out)
{
	struct loan loan = {.space = space, .lender = lender};
	int rc;

	pair_parameters(&loan);
	if (!loan.common || !lender->space.count)
		return -EINVAL;
	rc = make_index(&loan);
	if (!rc && !knows_all(&loan))
		rc = fit_lender(&loan);
	if (!rc) {
		fix_extra(&loan, timed, ns, timed_count);
		for (uint32_t r = 0; r < space->count; r++)
			out->log_ns[(size_t)r * out->count + column] = say(&loan, r);
	}
	kc_trees_free(loan.trees);
	free(loan.index.slots);
	return rc;
}

int kc_tuning_borrow(const struct kc_space *space, const uint32_t *timed, const double *ns, uint32_t timed_count,
		     const struct kc_space_times *lenders, uint32_t lender_count, struct kc_tuning_lenders *out)
{
	int rc = 0;

	*out = (struct kc_tuning_lenders){.count = lender_count, .rows = space->count};
	if (!timed_count || space->parameters > KC_SPACE_PARAMETERS || lender_count > KC_TUNING_LENDERS)
		return -EINVAL;
	out->log_ns = malloc((size_t)space->count * lender_count * sizeof(*out->log_ns) + 1);
	if (!out->log_ns)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < lender_count; i++)
		rc = lenders[i].space.parameters > KC_SPACE_PARAMETERS
			 ? -EINVAL
			 : borrow_from(space, &lenders[i], timed, ns, timed_count, i, out);
	if (rc)
		kc_tuning_lenders_free(out);
	return rc;
}

void kc_tuning_lenders_free(struct kc_tuning_lenders *lenders)
{
	free(lenders->log_ns);
	*lenders = (struct kc_tuning_lenders){0};
}

/* --- the space */

struct line { /* log time over what one lender says, counted from its mean over the timed ones */
	double at_mean, slope, mean, weight;
};

struct model {
	const struct kc_space *space;
	const struct kc_tuning_lenders *lenders;
	struct kc__columns own;
	uint32_t columns, few; /* few: those first ones that the Gaussian process is given, without products */
	double middle;         /* log time where there are no lenders */
	struct line lines[KC_TUNING_LENDERS];
	struct kc_trees *trees;
	struct kc_gauss *gauss;
	double gauss_share;
};

static double lender_says(const struct model *m, uint32_t lender, uint32_t row)
{
	return m->lenders->log_ns[(size_t)row * m->lenders->count + lender];
}

static double on_line(const struct model *m, uint32_t row)
{
	double sum = 0;

	for (uint32_t i = 0; i < m->lenders->count; i++) {
		const struct line *line = &m->lines[i];

		sum += line->weight * (line->at_mean + line->slope * (lender_says(m, i, row) - line->mean));
	}
	return m->lenders->count ? sum : m->middle;
}

/* The space's own columns, what is lent, products. */
static void fill(const struct model *m, uint32_t row, double *out)
{
	uint32_t n = m->own.plain;

	kc__describe(m->space, &m->own, row, out, out + m->few);
	if (!m->lenders->count)
		return;
	out[n++] = on_line(m, row);
	for (uint32_t i = 0; i < m->lenders->count && m->lenders->count > 1; i++)
		out[n++] = lender_says(m, i, row);
}

/* Its weight: the inverse square of the variance that it leaves. */
static void fit_line(struct model *m, uint32_t lender, const uint32_t *timed, const double *y, uint32_t count)
{
	struct line *line = &m->lines[lender];
	double xx = LINE_RIDGE, xy = 0, left = 0;

	line->mean = 0;
	for (uint32_t i = 0; i < count; i++)
		line->mean += lender_says(m, lender, timed[i]) / count;
	for (uint32_t i = 0; i < count; i++) {
		double x = lender_says(m, lender, timed[i]) - line->mean;

		xx += x * x;
		xy += x * y[i];
	}
	line->at_mean = m->middle;
	line->slope = xy / xx;
	for (uint32_t i = 0; i < count; i++) {
		double off = y[i] - line->at_mean - line->slope * (lender_says(m, lender, timed[i]) - line->mean);

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
	for (uint32_t i = 0; i < m->lenders->count; i++) {
		fit_line(m, i, timed, y, count);
		weights += m->lines[i].weight;
	}
	for (uint32_t i = 0; i < m->lenders->count; i++)
		m->lines[i].weight /= weights;
}

/* --- what the line leaves */

struct rest { /* of the timed ones */
	uint32_t count;
	double *x, *few; /* all columns; the Gaussian process' */
	double *y;
	double *by_trees, *by_gauss; /* each left out of the fit */
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

/* Into `kept`, all but each fifth. */
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

/* The share at which times are met best, by mean relative error. */
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

/* Too few to leave some out, or no Gaussian process fits: trees alone. */
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

/* What is timed often comes in an order: the first ones, and every fifth, are to be a fair sample. */
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
		      const struct kc_tuning_lenders *lenders, uint64_t seed, const uint32_t *asked,
		      uint32_t asked_count, double *out)
{
	struct model m = {.space = space, .lenders = lenders};
	uint32_t *rows;
	double *y;
	int rc;

	if (!timed_count || !space->parameters || space->parameters > KC_SPACE_PARAMETERS)
		return -EINVAL;
	m.own = kc__columns_of(space);
	m.few = m.own.plain + (lenders->count > 1 ? lenders->count + 1 : lenders->count);
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
