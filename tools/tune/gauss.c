#include "gauss.h"
#include "predictor/math/dense.h"
#include "predictor/math/median.h"
#include "predictor/math/order.h"
#include "descent.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMOOTH, MATERN, EXPONENTIAL, PARTS };

/* Where the search for scales starts; the prior is centred there. */
static const struct {
	double amplitude, length;
} starts[PARTS] = {[SMOOTH] = {1, 3}, [MATERN] = {0.1, 1}, [EXPONENTIAL] = {0.1, 3}};
#define START_SHARE 1.0
#define START_NOISE 0.01
#define PRIOR_PRECISION 0.5 /* of logarithms: a factor of 4 is one standard deviation */

struct measure {
	double middle, spread;
};

/* The distinct values of a column: correlations are computed for these only. */
struct column {
	struct measure measure;
	double *values; /* ascending */
	uint32_t count;
	uint32_t *of; /* row → which of them */
};

struct kc_gauss {
	uint32_t rows, columns;
	struct column *column;
	struct measure of_y;
	double *y;
	double *scales;
	double *weights; /* K⁻¹·y */
};

/* --- scales */

uint32_t kc__gauss_scales(uint32_t columns)
{
	return PARTS * (1 + 2 * columns) + 1;
}

struct part { /* of logarithmic scales */
	const double *amplitude, *shares, *lengths;
};

static struct part part_of(const double *scales, uint32_t columns, int which)
{
	const double *at = scales + (size_t)which * (1 + 2 * columns);

	return (struct part){at, at + 1, at + 1 + columns};
}

static void start(double *scales, uint32_t columns)
{
	for (int p = 0; p < PARTS; p++) {
		*scales++ = log(starts[p].amplitude);
		for (uint32_t c = 0; c < columns; c++)
			*scales++ = log(START_SHARE);
		for (uint32_t c = 0; c < columns; c++)
			*scales++ = log(starts[p].length);
	}
	*scales = log(START_NOISE);
}

/* --- correlation */

/* Equations 4.9, 4.17 and 4.18. */
static double correlation(int part, double apart)
{
	switch (part) {
	case SMOOTH:
		return exp(-apart * apart / 2);
	case MATERN:
		return (1 + sqrt(3) * apart) * exp(-sqrt(3) * apart);
	default:
		return exp(-apart);
	}
}

/* Derivative with respect to the logarithm of the length. */
static double correlation_slope(int part, double apart, double alike)
{
	switch (part) {
	case SMOOTH:
		return apart * apart * alike;
	case MATERN:
		return 3 * apart * apart * exp(-sqrt(3) * apart);
	default:
		return apart * alike;
	}
}

/* For every two values of a column: its factor of the product, and derivatives of that factor's logarithm with respect
 * to the logarithms of share and length. */
struct table {
	double *factor, *by_share, *by_length; /* the last two may be NULL */
};

static void fill_table(const struct column *column, int part, double log_share, double log_length, struct table *table)
{
	double share = exp(log_share), length = exp(log_length);

	for (uint32_t i = 0; i < column->count; i++) {
		for (uint32_t j = 0; j <= i; j++) {
			size_t at = (size_t)i * column->count + j, mirrored = (size_t)j * column->count + i;
			double apart = (column->values[i] - column->values[j]) / length,
			       alike = correlation(part, apart);

			table->factor[at] = table->factor[mirrored] = (1 + share * alike) / (1 + share);
			if (!table->by_share)
				continue;
			table->by_share[at] = table->by_share[mirrored] =
			    share * (alike - 1) / ((1 + share) * (1 + share * alike));
			table->by_length[at] = table->by_length[mirrored] =
			    share * correlation_slope(part, apart, alike) / (1 + share * alike);
		}
	}
}

static size_t table_size(const struct kc_gauss *g)
{
	size_t most = 0;

	for (uint32_t c = 0; c < g->columns; c++)
		most = g->column[c].count > most ? g->column[c].count : most;
	return most * most;
}

/* One part of K, its lower triangle. Does not use table->by_share. */
static void fill_part(const struct kc_gauss *g, int which, const double *scales, struct table *table, double *out)
{
	struct part part = part_of(scales, g->columns, which);
	double amplitude = exp(*part.amplitude);

	for (size_t i = 0; i < (size_t)g->rows * g->rows; i++)
		out[i] = amplitude;
	for (uint32_t c = 0; c < g->columns; c++) {
		const struct column *column = &g->column[c];

		fill_table(column, which, part.shares[c], part.lengths[c], table);
		for (uint32_t i = 0; i < g->rows; i++) {
			const double *factors = table->factor + (size_t)column->of[i] * column->count;
			double *row = out + (size_t)i * g->rows;

			for (uint32_t j = 0; j <= i; j++)
				row[j] *= factors[column->of[j]];
		}
	}
}

/* --- likelihood and gradient */

struct workspace {
	double *parts[PARTS], *k, *inverse, *spare, *weights;
	struct table table;
};

static void free_workspace(struct workspace *w)
{
	for (int p = 0; p < PARTS; p++)
		free(w->parts[p]);
	free(w->k);
	free(w->inverse);
	free(w->spare);
	free(w->weights);
	free(w->table.factor);
	free(w->table.by_share);
	free(w->table.by_length);
}

static int new_workspace(const struct kc_gauss *g, struct workspace *w)
{
	size_t square = (size_t)g->rows * g->rows * sizeof(double), table = table_size(g) * sizeof(double);

	*w = (struct workspace){
	    .parts = {malloc(square), malloc(square), malloc(square)},
	    .k = malloc(square),
	    .inverse = malloc(square),
	    .spare = malloc(square),
	    .weights = malloc(g->rows * sizeof(double)),
	    .table = {malloc(table), malloc(table), malloc(table)},
	};
	if (w->parts[SMOOTH] && w->parts[MATERN] && w->parts[EXPONENTIAL] && w->k && w->inverse && w->spare &&
	    w->weights && w->table.factor && w->table.by_share && w->table.by_length)
		return 0;
	free_workspace(w);
	return -ENOMEM;
}

/* Column c of L⁻¹, from the diagonal down. */
static void invert_column(const double *l, uint32_t n, uint32_t c, double *out)
{
	out[c] = 1 / l[(size_t)c * n + c];
	for (uint32_t i = c + 1; i < n; i++)
		out[i] = -kc__dot(l + (size_t)i * n + c, out + c, i - c) / l[(size_t)i * n + i];
}

/* The lower triangle of K⁻¹ from L. spare: L⁻¹, transposed. */
static void invert(const double *l, uint32_t n, double *spare, double *out)
{
	for (uint32_t c = 0; c < n; c++)
		invert_column(l, n, c, spare + (size_t)c * n);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j <= i; j++)
			out[(size_t)i * n + j] = kc__dot(spare + (size_t)i * n + i, spare + (size_t)j * n + i, n - i);
}

static void solve(const struct kc_gauss *g, const double *l, double *weights)
{
	memcpy(weights, g->y, g->rows * sizeof(*weights));
	kc__solve_lower(l, g->rows, weights);
	kc__solve_upper(l, g->rows, weights);
}

static void slopes_of_part(const struct kc_gauss *g, int which, const double *scales, struct workspace *w,
			   double *slopes)
{
	struct part part = part_of(scales, g->columns, which);
	double *pull = w->parts[which];

	slopes[0] = 0;
	for (uint32_t i = 0; i < g->rows; i++) {
		for (uint32_t j = 0; j <= i; j++) {
			size_t at = (size_t)i * g->rows + j;

			pull[at] *= (w->inverse[at] - w->weights[i] * w->weights[j]) / (i == j ? 2 : 1);
			slopes[0] += pull[at];
		}
	}
	for (uint32_t c = 0; c < g->columns; c++) {
		const struct column *column = &g->column[c];
		double by_share = 0, by_length = 0;

		fill_table(column, which, part.shares[c], part.lengths[c], &w->table);
		for (uint32_t i = 0; i < g->rows; i++) {
			size_t line = (size_t)column->of[i] * column->count;

			for (uint32_t j = 0; j <= i; j++) {
				double one = pull[(size_t)i * g->rows + j];

				by_share += one * w->table.by_share[line + column->of[j]];
				by_length += one * w->table.by_length[line + column->of[j]];
			}
		}
		slopes[1 + c] = by_share;
		slopes[1 + g->columns + c] = by_length;
	}
}

/* K with noise into w->k, then its Cholesky factor. */
static int factorise(const struct kc_gauss *g, const double *scales, struct workspace *w)
{
	struct table bare = {.factor = w->table.factor};
	uint32_t n = g->rows;

	for (int p = 0; p < PARTS; p++)
		fill_part(g, p, scales, &bare, w->parts[p]);
	for (size_t i = 0; i < (size_t)n * n; i++)
		w->k[i] = w->parts[SMOOTH][i] + w->parts[MATERN][i] + w->parts[EXPONENTIAL][i];
	for (uint32_t i = 0; i < n; i++)
		w->k[(size_t)i * n + i] += exp(scales[kc__gauss_scales(g->columns) - 1]);
	return kc__cholesky(w->k, n);
}

static int neg_log_likelihood_in(const struct kc_gauss *g, const double *scales, struct workspace *w,
				 double *neg_log_likelihood, double *slopes)
{
	uint32_t last = kc__gauss_scales(g->columns) - 1, n = g->rows;
	double trace = 0;

	if (factorise(g, scales, w))
		return -EDOM;
	solve(g, w->k, w->weights);
	*neg_log_likelihood = kc__dot(g->y, w->weights, n) / 2;
	for (uint32_t i = 0; i < n; i++)
		*neg_log_likelihood += log(w->k[(size_t)i * n + i]);
	invert(w->k, n, w->spare, w->inverse);
	for (uint32_t i = 0; i < n; i++)
		trace += w->inverse[(size_t)i * n + i] - w->weights[i] * w->weights[i];
	slopes[last] = exp(scales[last]) * trace / 2;
	for (int p = 0; p < PARTS; p++)
		slopes_of_part(g, p, scales, w, slopes + (size_t)p * (1 + 2 * g->columns));
	return 0;
}

int kc__gauss_neg_log_likelihood(const struct kc_gauss *gauss, const double *scales, double *neg_log_likelihood,
				 double *slopes)
{
	struct workspace w;
	int rc = new_workspace(gauss, &w);

	if (rc)
		return rc;
	rc = neg_log_likelihood_in(gauss, scales, &w, neg_log_likelihood, slopes);
	free_workspace(&w);
	return rc;
}

/* --- the search for scales */

struct search {
	const struct kc_gauss *gauss;
	struct workspace w;
	double *start;
};

static double objective(void *context, const double *scales, double *slopes)
{
	struct search *search = context;
	double neg_log_likelihood;

	if (neg_log_likelihood_in(search->gauss, scales, &search->w, &neg_log_likelihood, slopes))
		return INFINITY;
	for (uint32_t i = 0; i < kc__gauss_scales(search->gauss->columns); i++) {
		double off = scales[i] - search->start[i];

		neg_log_likelihood += PRIOR_PRECISION * off * off / 2;
		slopes[i] += PRIOR_PRECISION * off;
	}
	return isfinite(neg_log_likelihood) ? neg_log_likelihood : INFINITY;
}

static int find_scales(const struct kc_gauss *g, uint32_t steps, double *scales)
{
	uint32_t count = kc__gauss_scales(g->columns);
	struct search search = {.gauss = g};
	int rc = new_workspace(g, &search.w);

	if (rc)
		return rc;
	start(scales, g->columns);
	search.start = malloc(count * sizeof(*search.start));
	rc = search.start ? 0 : -ENOMEM;
	if (!rc) {
		memcpy(search.start, scales, count * sizeof(*scales));
		rc = kc__descend(objective, &search, scales, count, steps);
	}
	free(search.start);
	free_workspace(&search.w);
	return rc;
}

/* --- rows */

static uint32_t place_of(const struct column *column, double value)
{
	return (uint32_t)KC_FIRST(i, column->count - 1, column->values[i] >= value);
}

static double scaled(const struct measure *measure, double value)
{
	return (value - measure->middle) / measure->spread;
}

static int set_column(struct column *column, const double *x, uint32_t rows, uint32_t stride)
{
	column->values = malloc(rows * sizeof(*column->values));
	column->of = malloc(rows * sizeof(*column->of));
	if (!column->values || !column->of)
		return -ENOMEM;
	for (uint32_t r = 0; r < rows; r++)
		column->values[r] = scaled(&column->measure, x[(size_t)r * stride]);
	kc_sort(column->values, rows);
	column->count = 1;
	for (uint32_t r = 1; r < rows; r++)
		if (column->values[r] > column->values[column->count - 1])
			column->values[column->count++] = column->values[r];
	for (uint32_t r = 0; r < rows; r++)
		column->of[r] = place_of(column, scaled(&column->measure, x[(size_t)r * stride]));
	return 0;
}

/* Mean and standard deviation; 1 where all values are equal. */
static struct measure measure(const double *values, uint32_t count, uint32_t stride)
{
	struct measure m = {0, 1};
	double squares = 0, low = values[0], high = values[0];

	for (uint32_t i = 0; i < count; i++) {
		double value = values[(size_t)i * stride];

		low = fmin(low, value);
		high = fmax(high, value);
		m.middle += value / count;
	}
	if (low == high) /* rounding of the mean would make them differ */
		return (struct measure){low, 1};
	for (uint32_t i = 0; i < count; i++) {
		double off = values[(size_t)i * stride] - m.middle;

		squares += off * off / count;
	}
	m.spread = squares > 0 ? sqrt(squares) : 1;
	return m;
}

/* measures: of the columns, then of y. */
static int new_gauss(struct kc_gauss **out, const struct measure *measures, const double *x, const double *y,
		     uint32_t rows, uint32_t columns)
{
	struct kc_gauss *g = calloc(1, sizeof(*g));
	int rc = 0;

	*out = g;
	if (!g)
		return -ENOMEM;
	*g = (struct kc_gauss){.rows = rows, .columns = columns, .of_y = measures[columns]};
	g->column = calloc(columns, sizeof(*g->column));
	g->y = malloc(rows * sizeof(*g->y));
	g->scales = malloc(kc__gauss_scales(columns) * sizeof(*g->scales));
	if (!g->column || !g->y || !g->scales)
		return -ENOMEM;
	for (uint32_t r = 0; r < rows; r++)
		g->y[r] = scaled(&g->of_y, y[r]);
	for (uint32_t c = 0; !rc && c < columns; c++) {
		g->column[c].measure = measures[c];
		rc = set_column(&g->column[c], x + c, rows, columns);
	}
	return rc;
}

/* Computes what a prediction needs, from the scales. */
static int finish(struct kc_gauss *g)
{
	struct workspace w;
	int rc = new_workspace(g, &w);

	if (rc)
		return rc;
	rc = factorise(g, g->scales, &w);
	if (!rc) {
		solve(g, w.k, w.weights);
		g->weights = w.weights;
		w.weights = NULL;
	}
	free_workspace(&w);
	return rc;
}

static int return_or_free(struct kc_gauss **out, int rc)
{
	if (rc) {
		kc_gauss_free(*out);
		*out = NULL;
	}
	return rc;
}

int kc__gauss_with(struct kc_gauss **out, const double *scales, const double *x, const double *y, uint32_t rows,
		   uint32_t columns)
{
	struct measure *as_they_are = malloc((columns + 1) * sizeof(*as_they_are));
	int rc = as_they_are ? 0 : -ENOMEM;

	*out = NULL;
	for (uint32_t c = 0; !rc && c <= columns; c++)
		as_they_are[c] = (struct measure){0, 1};
	if (!rc)
		rc = new_gauss(out, as_they_are, x, y, rows, columns);
	free(as_they_are);
	if (!rc) {
		memcpy((*out)->scales, scales, kc__gauss_scales(columns) * sizeof(*scales));
		rc = finish(*out);
	}
	return return_or_free(out, rc);
}

static int scales_from_first(const struct kc_gauss_options *options, const struct measure *measures, const double *x,
			     const double *y, uint32_t rows, uint32_t columns, double *scales)
{
	struct kc_gauss *first;
	int rc;

	rc = new_gauss(&first, measures, x, y, rows < options->scale_rows ? rows : options->scale_rows, columns);
	if (!rc)
		rc = find_scales(first, options->steps, scales);
	kc_gauss_free(first);
	return rc;
}

int kc_gauss_fit(struct kc_gauss **out, const struct kc_gauss_options *options, const double *x, const double *y,
		 uint32_t rows, uint32_t columns)
{
	struct measure *measures;
	int rc;

	*out = NULL;
	if (!rows || !columns || !options->scale_rows)
		return -EINVAL;
	measures = malloc((columns + 1) * sizeof(*measures));
	if (!measures)
		return -ENOMEM;
	for (uint32_t c = 0; c < columns; c++)
		measures[c] = measure(x + c, rows, columns);
	measures[columns] = measure(y, rows, 1);
	rc = new_gauss(out, measures, x, y, rows, columns);
	if (!rc)
		rc = scales_from_first(options, measures, x, y, rows, columns, (*out)->scales);
	if (!rc)
		rc = finish(*out);
	free(measures);
	return return_or_free(out, rc);
}

/* --- prediction */

static void alike_to(const struct kc_gauss *g, int which, const double *row, double *factors, double *out)
{
	struct part part = part_of(g->scales, g->columns, which);

	for (uint32_t r = 0; r < g->rows; r++)
		out[r] = exp(*part.amplitude);
	for (uint32_t c = 0; c < g->columns; c++) {
		const struct column *column = &g->column[c];
		double value = scaled(&column->measure, row[c]), share = exp(part.shares[c]);

		for (uint32_t i = 0; i < column->count; i++)
			factors[i] =
			    (1 + share * correlation(which, fabs(value - column->values[i]) / exp(part.lengths[c]))) /
			    (1 + share);
		for (uint32_t r = 0; r < g->rows; r++)
			out[r] *= factors[column->of[r]];
	}
}

int kc_gauss_predict(const struct kc_gauss *gauss, const double *x, uint32_t rows, double *out)
{
	double *alike = malloc(gauss->rows * sizeof(*alike)), *factors = malloc(gauss->rows * sizeof(*factors));
	int rc = alike && factors ? 0 : -ENOMEM;

	for (uint32_t r = 0; !rc && r < rows; r++) {
		double sum = 0;

		for (int p = 0; p < PARTS; p++) {
			alike_to(gauss, p, x + (size_t)r * gauss->columns, factors, alike);
			sum += kc__dot(alike, gauss->weights, gauss->rows);
		}
		out[r] = gauss->of_y.middle + gauss->of_y.spread * sum;
	}
	free(alike);
	free(factors);
	return rc;
}

void kc_gauss_free(struct kc_gauss *gauss)
{
	if (!gauss)
		return;
	for (uint32_t c = 0; gauss->column && c < gauss->columns; c++) {
		free(gauss->column[c].values);
		free(gauss->column[c].of);
	}
	free(gauss->column);
	free(gauss->y);
	free(gauss->scales);
	free(gauss->weights);
	free(gauss);
}
