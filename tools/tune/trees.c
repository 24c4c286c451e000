#include "trees.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Trees are stored in full: the children of node i are 2i + 1 and 2i + 2. */
struct node {
	int32_t column; /* < 0: a leaf */
	float value;    /* of a leaf; else the largest value that goes left */
};

struct kc_trees {
	uint32_t count, depth, size; /* size: nodes of a tree */
	double base;
	double share; /* weight of a tree in the sum */
	struct node *nodes;
};

struct fitting {
	const struct kc_trees_options *options;
	uint32_t rows, columns;
	uint8_t *bins;   /* column after column */
	float *cuts;     /* columns · KC_TREES_BINS: the largest value of each bin */
	double *rest;    /* residuals */
	uint32_t *drawn; /* rows of the tree, in the order of its leaves */
	uint32_t *order; /* columns, shuffled for a split */
	uint64_t state;
};

/* xorshift64*: Marsaglia 2003, Vigna 2016 */
static uint64_t draw(struct fitting *f)
{
	f->state ^= f->state >> 12;
	f->state ^= f->state << 25;
	f->state ^= f->state >> 27;
	return f->state * UINT64_C(0x2545F4914F6CDD1D) >> 32;
}

static void shuffle_first(struct fitting *f, uint32_t *of, uint32_t count, uint32_t wanted)
{
	for (uint32_t i = 0; i < wanted; i++) {
		uint32_t j = i + (uint32_t)(draw(f) * (count - i) >> 32), swapped = of[i];

		of[i] = of[j];
		of[j] = swapped;
	}
}

/* --- bins */

KC_ORDER(ascending, float, KC_BY(*x, *y))

/* Halfway, so that unseen values go to the nearer side. */
static float between(float below, float above)
{
	float middle = below + (above - below) / 2;

	return middle < above ? middle : below;
}

static void cut(struct fitting *f, const double *x, uint32_t column, float *sorted)
{
	float *cuts = f->cuts + (size_t)column * KC_TREES_BINS;
	uint32_t n = 0, distinct = 1;

	for (uint32_t r = 0; r < f->rows; r++)
		sorted[r] = (float)x[(size_t)r * f->columns + column];
	qsort(sorted, f->rows, sizeof(*sorted), ascending);
	for (uint32_t r = 1; r < f->rows; r++)
		distinct += sorted[r] > sorted[r - 1];
	for (uint32_t r = 0; r < f->rows && n < KC_TREES_BINS - 1; r++) {
		int ends = r + 1 < f->rows && sorted[r + 1] > sorted[r];
		uint32_t due = (uint32_t)((uint64_t)(n + 1) * f->rows / KC_TREES_BINS);

		if (ends && (distinct <= KC_TREES_BINS || r + 1 >= due))
			cuts[n++] = between(sorted[r], sorted[r + 1]);
	}
	for (; n < KC_TREES_BINS; n++)
		cuts[n] = INFINITY;
}

static void sort_in(struct fitting *f, const double *x, uint32_t column)
{
	const float *cuts = f->cuts + (size_t)column * KC_TREES_BINS;

	for (uint32_t r = 0; r < f->rows; r++) {
		float value = (float)x[(size_t)r * f->columns + column];
		uint8_t bin = 0;

		while (value > cuts[bin])
			bin++;
		f->bins[(size_t)column * f->rows + r] = bin;
	}
}

/* --- one tree */

struct split {
	double gain;
	uint32_t column;
	uint8_t bin; /* the last that goes left */
};

static void try_column(const struct fitting *f, const uint32_t *rows, uint32_t count, double total, uint32_t column,
		       struct split *best)
{
	const uint8_t *bins = f->bins + (size_t)column * f->rows;
	double sums[KC_TREES_BINS] = {0}, left = 0;
	uint32_t counts[KC_TREES_BINS] = {0}, below = 0;

	for (uint32_t i = 0; i < count; i++) {
		sums[bins[rows[i]]] += f->rest[rows[i]];
		counts[bins[rows[i]]]++;
	}
	for (uint8_t bin = 0; bin + 1U < KC_TREES_BINS && below < count; bin++) {
		double gain;

		left += sums[bin];
		below += counts[bin];
		if (!counts[bin] || below < f->options->least_leaf || count - below < f->options->least_leaf)
			continue;
		gain = left * left / below + (total - left) * (total - left) / (count - below);
		if (gain > best->gain)
			*best = (struct split){gain, column, bin};
	}
}

/* Moves the rows that go left to the front; returns their number. */
static uint32_t part(const struct fitting *f, uint32_t *rows, uint32_t count, const struct split *split)
{
	const uint8_t *bins = f->bins + (size_t)split->column * f->rows;
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = rows[i];

		if (bins[row] > split->bin)
			continue;
		rows[i] = rows[left];
		rows[left++] = row;
	}
	return left;
}

static void grow(struct fitting *f, struct node *tree, uint32_t at, uint32_t depth, uint32_t *rows, uint32_t count)
{
	uint32_t wanted = (uint32_t)fmax(f->options->columns * f->columns, f->options->least_columns), left;
	struct split best;
	double total = 0;

	for (uint32_t i = 0; i < count; i++)
		total += f->rest[rows[i]];
	tree[at] = (struct node){-1, (float)(count ? total / count : 0)};
	if (!depth || count < 2 * f->options->least_leaf || count < 2)
		return;
	/* Splits must gain more than rounding does. */
	best = (struct split){total * total / count + 1e-12, 0, 0};
	wanted = wanted < f->columns ? wanted : f->columns;
	shuffle_first(f, f->order, f->columns, wanted);
	for (uint32_t c = 0; c < wanted; c++)
		try_column(f, rows, count, total, f->order[c], &best);
	if (best.gain <= total * total / count + 1e-12)
		return;
	left = part(f, rows, count, &best);
	tree[at] = (struct node){(int32_t)best.column, f->cuts[(size_t)best.column * KC_TREES_BINS + best.bin]};
	grow(f, tree, 2 * at + 1, depth - 1, rows, left);
	grow(f, tree, 2 * at + 2, depth - 1, rows + left, count - left);
}

static double ask(const struct node *tree, const double *row)
{
	uint32_t at = 0;

	while (tree[at].column >= 0)
		at = 2 * at + ((float)row[tree[at].column] > tree[at].value ? 2 : 1);
	return (double)tree[at].value;
}

static void fit_bag(struct fitting *f, struct node *trees, const struct kc_trees *out, const double *x, const double *y)
{
	uint32_t wanted = (uint32_t)ceil(f->options->rows * f->rows);

	wanted = wanted < f->rows ? wanted : f->rows;
	for (uint32_t r = 0; r < f->rows; r++)
		f->rest[r] = y[r] - out->base;
	for (uint32_t t = 0; t < f->options->trees; t++) {
		struct node *tree = trees + (size_t)t * out->size;

		shuffle_first(f, f->drawn, f->rows, wanted);
		grow(f, tree, 0, f->options->depth, f->drawn, wanted);
		for (uint32_t r = 0; r < f->rows; r++)
			f->rest[r] -= f->options->rate * ask(tree, x + (size_t)r * f->columns);
	}
}

/* --- all of them */

static void release(struct fitting *f)
{
	free(f->bins);
	free(f->cuts);
	free(f->rest);
	free(f->drawn);
	free(f->order);
}

static int prepare(struct fitting *f, const double *x)
{
	float *sorted = malloc(f->rows * sizeof(*sorted));

	f->bins = malloc((size_t)f->rows * f->columns);
	f->cuts = malloc((size_t)f->columns * KC_TREES_BINS * sizeof(*f->cuts));
	f->rest = malloc(f->rows * sizeof(*f->rest));
	f->drawn = malloc(f->rows * sizeof(*f->drawn));
	f->order = malloc(f->columns * sizeof(*f->order));
	if (!sorted || !f->bins || !f->cuts || !f->rest || !f->drawn || !f->order) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t r = 0; r < f->rows; r++)
		f->drawn[r] = r;
	for (uint32_t c = 0; c < f->columns; c++) {
		f->order[c] = c;
		cut(f, x, c, sorted);
		sort_in(f, x, c);
	}
	free(sorted);
	return 0;
}

static struct kc_trees *new_trees(const struct kc_trees_options *options, const double *y, uint32_t rows)
{
	struct kc_trees *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->count = options->trees * options->bags;
	out->depth = options->depth;
	out->size = (2U << options->depth) - 1;
	out->share = options->rate / options->bags;
	for (uint32_t r = 0; r < rows; r++)
		out->base += y[r] / rows;
	out->nodes = malloc((size_t)out->count * out->size * sizeof(*out->nodes));
	if (out->nodes)
		return out;
	free(out);
	return NULL;
}

int kc_trees_fit(struct kc_trees **out, const struct kc_trees_options *options, const double *x, const double *y,
		 uint32_t rows, uint32_t columns)
{
	struct fitting f = {.options = options, .rows = rows, .columns = columns, .state = options->seed | 1};
	int rc;

	if (!rows || !columns || !options->trees || !options->bags || options->depth > KC_TREES_DEPTH)
		return -EINVAL;
	*out = new_trees(options, y, rows);
	rc = *out ? prepare(&f, x) : -ENOMEM;
	for (uint32_t bag = 0; !rc && bag < options->bags; bag++)
		fit_bag(&f, (*out)->nodes + (size_t)bag * options->trees * (*out)->size, *out, x, y);
	release(&f);
	if (rc) {
		kc_trees_free(*out);
		*out = NULL;
	}
	return rc;
}

double kc_trees_predict(const struct kc_trees *trees, const double *row)
{
	double sum = 0;

	for (uint32_t t = 0; t < trees->count; t++)
		sum += ask(trees->nodes + (size_t)t * trees->size, row);
	return trees->base + trees->share * sum;
}

void kc_trees_free(struct kc_trees *trees)
{
	if (!trees)
		return;
	free(trees->nodes);
	free(trees);
}
