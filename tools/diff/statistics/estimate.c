#include "estimate.h"
#include "student.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define BATCHES 16u
#define SHRINK 8.0          /* launches that a unit's own variance is worth less than its group's */
#define VARIANCE_LEAST 1e-4 /* of a launch's logarithm, in weights */
#define ERROR_LEAST 0.003   /* of log_change */
#define POOLED_BATCHES 20.0 /* that the pooled autocorrelation is worth */
#define POOLED_RUNS 4.0     /* that the pooled variance between runs is worth */
#define CORRELATION_MOST 0.9

struct weighing {
	const struct kc_diff_units *units;
	size_t first, last; /* units */
	uint32_t first_cell, cells;
	double *weights; /* of cells, from first_cell; their sum is 1 */
};

static const struct kc_diff_item *item_at(const struct kc_diff_units *units, int side, uint32_t place)
{
	return (const struct kc_diff_item *)units->items[side].at + units->order[side][place];
}

/* Sum of squares within the unit's cells, and its degrees of freedom. */
static double squares(const struct kc_diff_units *units, const struct kc_diff_unit *unit, double *freedom)
{
	double sum = 0;

	*freedom = -2.0 * unit->cells;
	for (int side = 0; side < KC_SIDES; side++) {
		for (uint32_t i = unit->first[side]; i < unit->first[side] + unit->count[side]; i++) {
			double off = item_at(units, side, i)->log - units->cells[units->cell_of[side][i]].log[side];

			sum += off * off;
		}
		*freedom += unit->count[side];
	}
	*freedom = fmax(*freedom, 0);
	return sum;
}

static void weigh(struct weighing *w, double *scatter)
{
	double all = 0, freedom = 0, variance, total = 0, n;

	for (size_t u = w->first; u < w->last; u++) {
		all += squares(w->units, w->units->at + u, &n);
		freedom += n;
	}
	*scatter = freedom > 0 ? all / freedom : NAN;
	variance = freedom > 0 ? *scatter : VARIANCE_LEAST;
	for (size_t u = w->first; u < w->last; u++) {
		const struct kc_diff_unit *unit = w->units->at + u;
		double of_unit = squares(w->units, unit, &n);
		double inverse = 1 / ((of_unit + SHRINK * variance) / (n + SHRINK) + VARIANCE_LEAST);

		for (uint32_t i = 0; i < unit->cells; i++) {
			const struct kc_diff_cell *cell = w->units->cells + unit->first_cell + i;
			double sum = cell->launches[KC_OLD] + cell->launches[KC_NEW];
			double weight = sum > 0 ? cell->launches[KC_OLD] * cell->launches[KC_NEW] / sum * inverse : 0;

			w->weights[unit->first_cell + i - w->first_cell] = weight;
			total += weight;
		}
	}
	for (uint32_t i = 0; i < w->cells && total > 0; i++)
		w->weights[i] /= total;
}

static void mean_durations(const struct weighing *w, struct kc_diff_estimate *out)
{
	double ns[KC_SIDES] = {0}, launches = 0;

	for (uint32_t i = 0; i < w->cells; i++) {
		const struct kc_diff_cell *cell = w->units->cells + w->first_cell + i;

		if (w->weights[i] <= 0)
			continue;
		launches += cell->launches[KC_NEW];
		for (int side = 0; side < KC_SIDES; side++) {
			ns[side] += cell->launches[KC_NEW] * cell->ns[side];
			out->launches[side] += cell->launches[side];
		}
		out->log_change += w->weights[i] * (cell->log[KC_NEW] - cell->log[KC_OLD]);
		out->cells++;
	}
	for (int side = 0; side < KC_SIDES; side++)
		out->ns[side] = launches > 0 ? ns[side] / launches : NAN;
}

/* --- batches of cells that follow one another */

struct timed {
	double at, weight, off;
};

KC_ORDER(by_time, struct timed, KC_UP(at))

static int batch(const struct weighing *w, struct kc_diff_estimate *out)
{
	struct timed *cells = calloc((size_t)w->cells + 1, sizeof(*cells));
	double sums[BATCHES] = {0}, weights[BATCHES] = {0}, passed = 0, squared = 0, share = 0;

	if (!cells)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->cells; i++) {
		const struct kc_diff_cell *cell = w->units->cells + w->first_cell + i;

		cells[i] =
		    (struct timed){cell->at, w->weights[i], cell->log[KC_NEW] - cell->log[KC_OLD] - out->log_change};
	}
	qsort(cells, w->cells, sizeof(*cells), by_time);
	for (uint32_t i = 0; i < w->cells; i++) {
		unsigned number = (unsigned)(BATCHES * (passed + cells[i].weight / 2));

		number = number < BATCHES ? number : BATCHES - 1;
		passed += cells[i].weight;
		sums[number] += cells[i].weight * cells[i].off;
		weights[number] += cells[i].weight;
	}
	for (unsigned i = 0; i < BATCHES; i++) {
		squared += sums[i] * sums[i];
		share += weights[i] * weights[i];
		if (i > 0)
			out->lag += sums[i - 1] * sums[i];
	}
	free(cells);
	out->lag_of = squared;
	out->batches = 1 / share;
	out->df = fmax(out->batches - 1, 1);
	out->variance = share < 1 ? squared / (1 - share) : INFINITY;
	return 0;
}

/* How far each OLD run lies from what all of them are in the same cells. */
static double between_runs(const struct weighing *w, uint32_t runs)
{
	double sums[KC_DIFF_OLD_MOST] = {0}, weights[KC_DIFF_OLD_MOST] = {0}, squared = 0;
	uint32_t met = 0;

	for (size_t u = w->first; u < w->last; u++) {
		const struct kc_diff_unit *unit = w->units->at + u;

		for (uint32_t i = unit->first[KC_OLD]; i < unit->first[KC_OLD] + unit->count[KC_OLD]; i++) {
			const struct kc_diff_item *item = item_at(w->units, KC_OLD, i);
			uint32_t number = w->units->cell_of[KC_OLD][i];
			const struct kc_diff_cell *cell = w->units->cells + number;
			double weight = w->weights[number - w->first_cell] / cell->launches[KC_OLD];

			sums[item->run] += weight * (item->log - cell->log[KC_OLD]);
			weights[item->run] += weight;
		}
	}
	for (uint32_t i = 0; i < runs; i++)
		if (weights[i] > 0) {
			squared += sums[i] / weights[i] * (sums[i] / weights[i]);
			met++;
		}
	return met > 1 ? squared / (met - 1) : NAN;
}

int kc_diff_estimate(const struct kc_diff_units *units, size_t first, size_t last, uint32_t old_runs,
		     struct kc_diff_estimate *out)
{
	const struct kc_diff_unit *end = units->at + last - 1;
	struct weighing w = {.units = units, .first = first, .last = last, .first_cell = units->at[first].first_cell};
	int rc = 0;

	*out = (struct kc_diff_estimate){.between = NAN};
	w.cells = end->first_cell + end->cells - w.first_cell;
	w.weights = calloc((size_t)w.cells + 1, sizeof(*w.weights));
	if (!w.weights)
		return -ENOMEM;
	weigh(&w, &out->scatter);
	mean_durations(&w, out);
	out->enough = out->cells >= KC_DIFF_CELLS && out->launches[KC_OLD] >= KC_DIFF_LAUNCHES &&
		      out->launches[KC_NEW] >= KC_DIFF_LAUNCHES;
	if (out->enough)
		rc = batch(&w, out);
	if (rc == 0 && out->enough && old_runs > 1)
		out->between = between_runs(&w, old_runs);
	free(w.weights);
	return rc;
}

/* A mean of rounded times lies up to a tick off where all are rounded alike: less so, the more they scatter (the first
 * term of the Fourier series of the rounding error of a normal distribution). Two ticks next to one another may come
 * from no scatter at all, so their variance, a quarter, does not count. */
static double coarseness(const struct kc_diff_estimate *e, double tick_ns)
{
	double tick = tick_ns / e->ns[KC_OLD];
	double scatter = isfinite(e->scatter) ? e->scatter / (tick * tick) - 0.25 : 0;

	return tick * exp(-2 * M_PI * M_PI * fmax(scatter, 0));
}

void kc_diff_finish(struct kc_diff_estimate *e, const struct kc_diff_pooled *pooled)
{
	double own = e->lag_of > 0 ? e->lag / e->lag_of + 1 / e->batches : 0;
	double correlation =
	    (e->batches * own + POOLED_BATCHES * pooled->autocorrelation) / (e->batches + POOLED_BATCHES);
	double variance, between, k = pooled->old_runs;

	correlation = fmin(fmax(correlation, 0), CORRELATION_MOST);
	variance = e->variance * (1 + correlation) / (1 - correlation);
	variance = fmax(variance, ERROR_LEAST * ERROR_LEAST);
	e->coarse = coarseness(e, pooled->tick_ns);
	e->error_df = e->df;
	if (k > 1 && isfinite(pooled->between)) {
		between = isfinite(e->between)
			      ? ((k - 1) * e->between + POOLED_RUNS * pooled->between) / (k - 1 + POOLED_RUNS)
			      : pooled->between;
		between *= 1 + 1 / k;
		/* Welch and Satterthwaite */
		e->error_df = (variance + between) * (variance + between) /
			      (variance * variance / e->df + between * between / (k - 1 + POOLED_RUNS));
		variance += between;
	}
	e->error = sqrt(variance);
}

double kc_diff_p(const struct kc_diff_estimate *e, double margin)
{
	double change = fabs(e->log_change), null = margin / 2 + e->coarse;

	if (!e->enough || !(change > margin))
		return 1;
	return kc_student_tail((change - null) / e->error, e->error_df) +
	       kc_student_tail((change + null) / e->error, e->error_df);
}

double kc_diff_detectable(const struct kc_diff_estimate *e, double margin, double p)
{
	return fmax(margin / 2 + e->coarse + kc_student_point(p / 2, e->error_df) * e->error, margin);
}
