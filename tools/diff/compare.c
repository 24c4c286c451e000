#include "compare.h"
#include "by_process.h"
#include "replaced.h"
#include "totals.h"

#include "predictor/math/median.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MOST_NS 1000.0

struct comparing {
	const struct kc_measured_names *names;
	const struct kc_diff_limits *limits;
	double families; /* of comparisons that share the false discoveries */
	struct kc_diff_units units;
	struct kc_diff *out; /* its kernels are by number until they are sorted */
};

static const struct kc_diff_item *items_of(const struct kc_diff_units *units, int side)
{
	return units->items[side].at;
}

/* --- estimates */

static int estimate_shape(struct comparing *c, size_t first, size_t last, struct kc_diff_kernel *kernel)
{
	struct kc_diff_shape shape = {.shape = c->units.at[first].shape};
	int rc = kc_diff_estimate(&c->units, first, last, c->out->old_runs, &shape.estimate);

	if (rc == 0 && shape.estimate.enough) {
		c->out->shapes[c->out->shape_count++] = shape;
		kernel->shapes++;
	}
	return rc;
}

/* What became of the launches that ran alone, and of those that did not. */
static void note_company(const struct kc_diff_units *units, size_t first, size_t last, struct kc_diff_kernel *kernel)
{
	for (size_t u = first; u < last; u++) {
		const struct kc_diff_unit *unit = units->at + u;
		struct kc_diff_by_company *of = kernel->company + kc_diff_unit_company(units, unit);

		for (uint32_t i = unit->first_cell; i < unit->first_cell + unit->cells; i++) {
			const struct kc_diff_cell *cell = units->cells + i;
			double n = cell->launches[KC_OLD] > 0 ? cell->launches[KC_NEW] : 0;

			of->launches += n;
			if (n > 0)
				of->log_change +=
				    (cell->log[KC_NEW] - cell->log[KC_OLD] - of->log_change) * n / of->launches;
		}
		for (int side = 0; side < KC_SIDES; side++)
			for (uint32_t i = unit->first[side]; i < unit->first[side] + unit->count[side]; i++)
				of->squares += pow(items_of(units, side)[units->order[side][i]].log -
						       units->cells[units->cell_of[side][i]].log[side],
						   2);
		of->df += (double)unit->count[KC_OLD] + unit->count[KC_NEW] - 2.0 * unit->cells;
	}
}

int kc_diff_only_overlapped(const struct kc_diff_kernel *kernel, const struct kc_diff_limits *limits)
{
	const struct kc_diff_by_company *alone = kernel->company + KC_COMPANY_NONE,
					*beside = kernel->company + KC_COMPANY_SOME;
	double limit = log1p(limits->over), error = sqrt(2 * alone->squares / alone->df / alone->launches);

	return kernel->what == KC_DIFF_SLOWER && alone->df > 1 && alone->log_change < limit / 2 &&
	       alone->log_change + 2 * error < limit && beside->log_change > limit;
}

static int estimate_kernel(struct comparing *c, size_t first, size_t last)
{
	struct kc_diff_kernel *kernel = c->out->kernels + c->units.at[first].kernel;
	int rc = kc_diff_estimate(&c->units, first, last, c->out->old_runs, &kernel->estimate);

	note_company(&c->units, first, last, kernel);
	kernel->first_shape = (uint32_t)c->out->shape_count;
	for (size_t from = first, to; rc == 0 && from < last; from = to) {
		for (to = from + 1; to < last && c->units.at[to].shape == c->units.at[from].shape;)
			to++;
		rc = estimate_shape(c, from, to, kernel);
	}
	return rc;
}

static int estimate_all(struct comparing *c)
{
	const struct kc_diff_units *units = &c->units;
	int rc = 0;

	c->out->shapes = calloc(c->names->shapes.count + 1, sizeof(*c->out->shapes));
	if (!c->out->shapes)
		return -ENOMEM;
	for (size_t first = 0, last; rc == 0 && first < units->count; first = last) {
		for (last = first + 1; last < units->count && units->at[last].kernel == units->at[first].kernel;)
			last++;
		rc = estimate_kernel(c, first, last);
	}
	return rc;
}

static double greatest_common(double a, double b)
{
	while (b >= 1) {
		double rest = fmod(a, b);

		a = b;
		b = rest;
	}
	return a;
}

/* The side whose clock ticks more coarsely decides. Coarser than a microsecond, multiples are a coincidence. */
static double tick_of(const struct kc_diff_units *units)
{
	double most = 1;

	for (int side = 0; side < KC_SIDES; side++) {
		double tick = 0;

		for (size_t i = 0; i < units->items[side].count && tick != 1; i++)
			if (items_of(units, side)[i].count == 1)
				tick = greatest_common(items_of(units, side)[i].ns, tick);
		most = fmax(most, fmin(tick, TICK_MOST_NS));
	}
	return most;
}

static int pool(struct comparing *c)
{
	double *between = calloc(c->out->count + 1, sizeof(*between)), lag = 0, n = 0;
	size_t met = 0;

	if (!between)
		return -ENOMEM;
	for (size_t i = 0; i < c->out->count; i++) {
		const struct kc_diff_estimate *e = &c->out->kernels[i].estimate;

		if (!e->enough)
			continue;
		if (e->lag_of > 0) {
			lag += e->lag / e->lag_of + 1 / e->batches;
			n++;
		}
		if (isfinite(e->between))
			between[met++] = e->between;
	}
	c->out->pooled = (struct kc_diff_pooled){.autocorrelation = n > 0 ? fmax(lag / n, 0) : 0,
						 .between = kc_median(between, met),
						 .old_runs = c->out->old_runs,
						 .tick_ns = tick_of(&c->units)};
	c->out->between = sqrt(c->out->pooled.between);
	free(between);
	return 0;
}

/* --- decisions */

/* Share of OLD's duration that a change is larger than. Changes of one tick are none. */
static double limit_of(const struct comparing *c, const struct kc_diff_estimate *e)
{
	return fmax(c->limits->over, fmax(c->limits->floor_ns, c->out->pooled.tick_ns) / e->ns[KC_OLD]) + 1e-6;
}

/* The same of the logarithm, for a change in this direction. */
static double margin_of(const struct comparing *c, const struct kc_diff_estimate *e)
{
	double share = limit_of(c, e);

	if (e->log_change >= 0)
		return log1p(share);
	return share < 1 ? -log1p(-share) : INFINITY;
}

/* As it is shown, and with the same sign. */
static int is_past(const struct comparing *c, const struct kc_diff_estimate *e)
{
	double longer = e->ns[KC_NEW] - e->ns[KC_OLD];

	return longer * e->log_change > 0 && fabs(longer) > limit_of(c, e) * e->ns[KC_OLD];
}

static void finish_kernel(struct comparing *c, struct kc_diff_kernel *kernel)
{
	struct kc_diff_shape *shapes = c->out->shapes + kernel->first_shape;
	double p[2] = {1, 1}, *sorted;

	kernel->p = kernel->q = 1;
	kernel->detectable = NAN;
	if (!kernel->estimate.enough)
		return;
	c->out->compared++;
	kc_diff_finish(&kernel->estimate, &c->out->pooled);
	p[0] = kc_diff_p(&kernel->estimate, margin_of(c, &kernel->estimate));
	for (uint32_t i = 0; i < kernel->shapes; i++) {
		kc_diff_finish(&shapes[i].estimate, &c->out->pooled);
		shapes[i].p = kc_diff_p(&shapes[i].estimate, margin_of(c, &shapes[i].estimate));
	}
	sorted = kernel->shapes > 1 ? calloc(kernel->shapes, sizeof(*sorted)) : NULL;
	for (uint32_t i = 0; sorted && i < kernel->shapes; i++)
		sorted[i] = shapes[i].p;
	if (sorted)
		kc_sort(sorted, kernel->shapes);
	for (uint32_t i = 0; sorted && i < kernel->shapes; i++)
		p[1] = fmin(p[1], sorted[i] * kernel->shapes / (i + 1));
	kernel->p = sorted ? fmin(2 * fmin(p[0], p[1]), 1) : p[0];
	free(sorted);
}

KC_ORDER_OF_POINTERS(by_p, struct kc_diff_kernel, KC_UP(p))

/* Benjamini and Hochberg (1995) */
static int adjust(struct comparing *c)
{
	struct kc_diff_kernel **order = calloc(c->out->count + 1, sizeof(struct kc_diff_kernel *));
	size_t n = 0;
	double least = 1;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < c->out->count; i++)
		if (c->out->kernels[i].estimate.enough)
			order[n++] = c->out->kernels + i;
	qsort(order, n, sizeof(*order), by_p);
	for (size_t i = n; i-- > 0;) {
		least = fmin(least, order[i]->p * c->families * (double)n / (double)(i + 1));
		order[i]->q = least;
	}
	free(order);
	return 0;
}

static enum kc_diff_what direction(const struct kc_diff_estimate *e)
{
	return e->log_change > 0 ? KC_DIFF_SLOWER : KC_DIFF_FASTER;
}

static void show(const struct comparing *c, struct kc_diff_kernel *kernel, const struct kc_diff_estimate *e)
{
	double more = e->launches[KC_NEW] / c->out->of[KC_NEW], launches = kernel->shown_launches + more;

	for (int side = 0; side < KC_SIDES; side++)
		kernel->shown_ns[side] =
		    (kernel->shown_ns[side] * kernel->shown_launches + e->ns[side] * more) / launches;
	kernel->shown_launches = launches;
	kernel->lost_ns = launches * (kernel->shown_ns[KC_NEW] - kernel->shown_ns[KC_OLD]);
}

/* The launch shapes that changed. Returns how many. */
static uint32_t decide_shapes(struct comparing *c, struct kc_diff_kernel *kernel)
{
	uint32_t changed = 0;

	for (uint32_t i = 0; i < kernel->shapes; i++) {
		struct kc_diff_shape *shape = c->out->shapes + kernel->first_shape + i;

		if (shape->p * kernel->shapes <= KC_DIFF_FALSE && is_past(c, &shape->estimate)) {
			shape->what = direction(&shape->estimate);
			changed++;
		}
	}
	return changed;
}

static void decide(struct comparing *c, struct kc_diff_kernel *kernel)
{
	struct kc_diff_estimate *e = &kernel->estimate;
	double p = KC_DIFF_FALSE / c->families / (double)c->out->compared / (kernel->shapes > 1 ? 2 : 1);
	int is_whole = is_past(c, e) && kc_diff_p(e, margin_of(c, e)) <= KC_DIFF_FALSE;
	uint32_t changed;

	kernel->detectable = expm1(kc_diff_detectable(e, log1p(limit_of(c, e)), p));
	changed = kernel->q <= KC_DIFF_FALSE ? decide_shapes(c, kernel) : 0;
	if (is_whole || changed == 0)
		show(c, kernel, e);
	else
		for (uint32_t i = 0; i < kernel->shapes; i++)
			if (c->out->shapes[kernel->first_shape + i].what != KC_DIFF_SAME)
				show(c, kernel, &c->out->shapes[kernel->first_shape + i].estimate);
	if (kernel->q <= KC_DIFF_FALSE && (is_whole || changed))
		kernel->what = kernel->lost_ns > 0 ? KC_DIFF_SLOWER : KC_DIFF_FASTER;
}

static void sum_up(struct kc_diff *out)
{
	struct kc_diff_sums *sums = &out->sums;

	sums->difference = out->total_ns[KC_NEW] - out->total_ns[KC_OLD];
	for (size_t i = 0; i < out->count; i++) {
		const struct kc_diff_kernel *kernel = out->kernels + i;

		if (kernel->what == KC_DIFF_SLOWER)
			sums->slower += kernel->lost_ns;
		if (kernel->what == KC_DIFF_FASTER)
			sums->faster += kernel->lost_ns;
		if (kernel->what == KC_DIFF_NEW)
			sums->new += kernel->mix_ns;
		else if (kernel->what == KC_DIFF_GONE)
			sums->gone += kernel->mix_ns;
		else
			sums->mix += kernel->mix_ns;
		sums->company += kernel->company_ns;
	}
	sums->rest =
	    sums->difference - sums->slower - sums->faster - sums->new - sums->gone - sums->mix - sums->company;
}

static int is_reported(const struct kc_diff_kernel *kernel)
{
	return kernel->what == KC_DIFF_SLOWER || kernel->what == KC_DIFF_FASTER;
}

static double value_of(const struct kc_diff_kernel *kernel, enum kc_sort by)
{
	if (by == KC_SORT_COUNT)
		return fmax(kernel->launches[KC_OLD], kernel->launches[KC_NEW]);
	if (by != KC_SORT_TIME && is_reported(kernel))
		return kernel->lost_ns;
	return fmax(kernel->total_ns[KC_OLD], kernel->total_ns[KC_NEW]);
}

static int by_order(const void *a, const void *b, void *by)
{
	const struct kc_diff_kernel *x = a, *y = b;
	double of_x = value_of(x, *(const enum kc_sort *)by), of_y = value_of(y, *(const enum kc_sort *)by);

	if (is_reported(x) != is_reported(y))
		return is_reported(y) - is_reported(x);
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

void kc_diff_sort(struct kc_diff *diff, enum kc_sort by)
{
	if (diff->count)
		qsort_r(diff->kernels, diff->count, sizeof(*diff->kernels), by_order, &by);
}

/* Kernels that only runs which are not compared have launched, are left out. */
static void sort_kernels(struct kc_diff *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->count; i++)
		if (out->kernels[i].total_ns[KC_OLD] > 0 || out->kernels[i].total_ns[KC_NEW] > 0)
			out->kernels[kept++] = out->kernels[i];
	out->count = kept;
	kc_diff_sort(out, KC_SORT_LOST);
}

/* What is known of kernels before any change is looked for. */
static int note_sides(struct comparing *c)
{
	uint8_t *sides = calloc(c->out->count + 1, 1);

	if (!sides)
		return -ENOMEM;
	for (uint32_t shape = 0; shape < c->names->shapes.count; shape++)
		sides[kc_measured_shape(c->names, shape)->kernel] |= c->units.sides_of[shape];
	for (size_t i = 0; i < c->out->count; i++) {
		struct kc_diff_kernel *kernel = c->out->kernels + i;

		if (sides[i] == 1 << KC_NEW)
			kernel->what = KC_DIFF_NEW;
		else if (sides[i] == 1 << KC_OLD)
			kernel->what = KC_DIFF_GONE;
		else
			kernel->what = kernel->estimate.enough ? KC_DIFF_SAME : KC_DIFF_FEW;
	}
	free(sides);
	return 0;
}

/* Everything about the kernels but which of them changed. */
static int measure(struct comparing *c, const struct kc_diff_input inputs[KC_SIDES])
{
	int rc = kc_diff_units_make(c->names, inputs, &c->units);

	*c->out = (struct kc_diff){.old_runs = inputs[KC_OLD].baseline ? 1 : (uint32_t)inputs[KC_OLD].count};
	for (int side = 0; side < KC_SIDES; side++)
		c->out->of[side] = inputs[side].steps > 0 ? inputs[side].steps : fmax((double)inputs[side].count, 1);
	c->out->kernels = calloc(c->names->kernels.count + 1, sizeof(*c->out->kernels));
	c->out->count = c->names->kernels.count;
	if (!c->out->kernels)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < c->out->count; i++)
		c->out->kernels[i] = (struct kc_diff_kernel){
		    .kernel = i,
		    .whole = i,
		    .replaced = KC_DIFF_NOWHERE,
		    .is_collective = kc_diff_is_collective(kc_measured_kernel(c->names, i)->name)};
	if (rc == 0)
		rc = kc_diff_add_up(c->names, &c->units, c->out);
	if (rc == 0)
		rc = estimate_all(c);
	if (rc == 0)
		rc = pool(c);
	return rc == 0 ? note_sides(c) : rc;
}

static int judge(struct comparing *c)
{
	int rc;

	for (size_t i = 0; i < c->out->count; i++)
		finish_kernel(c, c->out->kernels + i);
	rc = adjust(c);
	for (size_t i = 0; rc == 0 && i < c->out->count; i++)
		if (c->out->kernels[i].estimate.enough)
			decide(c, c->out->kernels + i);
	return rc;
}

/* --- kernels on one process */

/* Which kernels are shown by their parts: those of which one changed and the whole did not, or another part is far from
 * any change. divided: by kernel, zeros. */
static void divide(const struct comparing *parts, const struct kc_diff_by_process *by_process,
		   const struct kc_diff *whole, uint8_t *divided)
{
	enum { CHANGED = 1, STAYED = 2 };
	const struct kc_diff *of = parts->out;

	for (uint32_t i = by_process->first; i < of->count; i++) {
		const struct kc_diff_kernel *part = of->kernels + i;

		if (is_reported(part))
			divided[part->whole] |= CHANGED;
		else if (part->estimate.enough &&
			 fabs(part->estimate.log_change) < margin_of(parts, &part->estimate) / 2)
			divided[part->whole] |= STAYED;
	}
	for (uint32_t i = 0; i < by_process->first; i++)
		divided[i] = divided[i] == (CHANGED | STAYED) ||
			     (divided[i] == CHANGED && whole->kernels[i].what == KC_DIFF_SAME);
}

/* Puts parts in the place of kernels. */
static int take_parts(struct comparing *parts, const struct kc_diff_by_process *by_process, struct kc_diff *out)
{
	const struct kc_diff *of = parts->out;
	const uint32_t first = by_process->first;
	uint8_t *divided = calloc(first + 1, 1);
	struct kc_diff_kernel *kernels = reallocarray(out->kernels, of->count + 1, sizeof(*kernels));
	struct kc_diff_shape *shapes =
	    reallocarray(out->shapes, out->shape_count + of->shape_count + 1, sizeof(*shapes));

	out->kernels = kernels ? kernels : out->kernels;
	out->shapes = shapes ? shapes : out->shapes;
	out->parts = calloc(of->count - first + 1, sizeof(*out->parts));
	out->divided = calloc(first + 1, sizeof(*out->divided));
	if (!divided || !kernels || !shapes || !out->parts || !out->divided) {
		free(divided);
		return -ENOMEM;
	}
	divide(parts, by_process, out, divided);
	out->part_count = of->count - first;
	memcpy(out->parts, of->kernels + first, out->part_count * sizeof(*kernels));
	memcpy(shapes + out->shape_count, of->shapes, of->shape_count * sizeof(*shapes));
	for (size_t i = 0; i < out->part_count; i++)
		out->parts[i].first_shape += (uint32_t)out->shape_count;
	memcpy(kernels + first, out->parts, out->part_count * sizeof(*kernels));
	out->count = out->compared = 0;
	for (uint32_t i = 0; i < of->count; i++) {
		if (divided[kernels[i].whole] != (i >= first)) {
			if (i < first)
				out->divided[out->divided_count++] = kernels[i];
			continue;
		}
		out->compared += kernels[i].estimate.enough != 0;
		kernels[out->count++] = kernels[i];
	}
	out->shape_count += of->shape_count;
	free(divided);
	return 0;
}

static int compare_parts(const struct comparing *whole, const struct kc_diff_by_process *by_process)
{
	struct kc_diff of_parts = {0};
	struct comparing parts = {
	    .names = whole->names, .limits = whole->limits, .families = whole->families, .out = &of_parts};
	int rc = measure(&parts, by_process->inputs);

	kc_diff_units_free(&parts.units);
	for (uint32_t i = 0; rc == 0 && i < of_parts.count; i++) {
		const struct kc_diff_part part = kc_diff_part_of(by_process, i);
		struct kc_diff_kernel *kernel = of_parts.kernels + i;

		kernel->whole = part.kernel;
		kernel->process = part.process;
		kernel->is_collective = whole->out->kernels[part.kernel].is_collective;
		if (i < by_process->first || kernel->is_collective)
			kernel->estimate.enough = 0;
	}
	if (rc == 0)
		rc = judge(&parts);
	if (rc == 0)
		rc = take_parts(&parts, by_process, whole->out);
	whole->out->on_processes = of_parts.compared;
	kc_diff_free(&of_parts);
	return rc;
}

int kc_diff_compare(struct kc_measured_names *names, const struct kc_diff_input inputs[KC_SIDES],
		    const struct kc_diff_limits *limits, struct kc_diff *out)
{
	struct comparing c = {.names = names, .limits = limits, .families = 1, .out = out};
	struct kc_diff_by_process by_process = {0};
	int rc = measure(&c, inputs);

	if (rc == 0 && !inputs[KC_OLD].baseline)
		rc = kc_diff_by_process(names, inputs, &by_process);
	if (by_process.parts.count)
		c.families = 2;
	if (rc == 0)
		rc = judge(&c);
	if (rc == 0 && !inputs[KC_OLD].baseline)
		rc = kc_diff_replaced(names, &c.units, out);
	kc_diff_units_free(&c.units);
	if (rc == 0 && by_process.parts.count)
		rc = compare_parts(&c, &by_process);
	if (rc == 0) {
		sum_up(out);
		sort_kernels(out);
	}
	kc_diff_by_process_free(&by_process);
	return rc;
}

void kc_diff_free(struct kc_diff *diff)
{
	free(diff->kernels);
	free(diff->parts);
	free(diff->divided);
	free(diff->shapes);
	*diff = (struct kc_diff){0};
}
