#include "basis.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points of one kernel, device and block are adjacent, sizes ascending. */
static size_t series_end(const struct kc_sweeps *sweeps, size_t from)
{
	const struct kc_sweep_point *points = sweeps->points;
	size_t to = from + 1;

	while (to < sweeps->point_count && points[to].kernel == points[from].kernel &&
	       points[to].device == points[from].device &&
	       !memcmp(points[to].block, points[from].block, sizeof(points[to].block)))
		to++;
	return to;
}

/* launches: behind the result. */
static double time_at(const struct kc_sweeps *sweeps, size_t from, size_t to, double size, uint64_t *launches)
{
	size_t above = from, first, count;
	double sizes[2], times[2];
	int exact;

	while (above < to && sweeps->points[above].size < size)
		above++;
	/* that size itself; or the two around it, or the two at the end */
	exact = above < to && !(sweeps->points[above].size > size);
	first = above > from && !exact ? above - 1 : above;
	first = to - first >= 2 || to - from < 2 || exact ? first : to - 2;
	count = exact || to - first < 2 ? 1 : 2;
	*launches = 0;
	for (size_t i = 0; i < count; i++) {
		sizes[i] = sweeps->points[first + i].size;
		times[i] = sweeps->points[first + i].ns;
		*launches += sweeps->points[first + i].launches;
	}
	return kc_size_between(sizes, times, (uint32_t)count, size);
}

/* The first point of this kernel and device, or where it would be. */
static size_t first_point(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device)
{
	const struct kc_sweep_point *p = sweeps->points;

	return KC_FIRST(i, sweeps->point_count,
			p[i].kernel > kernel || (p[i].kernel == kernel && p[i].device >= device));
}

void kc_basis_curve_at(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device, double size,
		       struct kc_basis_curve *out)
{
	out->count = 0;
	out->launches = 0;
	for (size_t from = first_point(sweeps, kernel, device), to;
	     from < sweeps->point_count && out->count < KC_BASIS_COLUMNS; from = to) {
		const struct kc_sweep_point *point = &sweeps->points[from];
		uint64_t launches;
		double ns;

		to = series_end(sweeps, from);
		if (point->kernel != kernel || point->device != device)
			break;
		ns = time_at(sweeps, from, to, size, &launches);
		if (!(ns > 0))
			continue;
		out->launches += launches;
		out->registers[out->count] = point->registers;
		out->shared_bytes[out->count] = point->shared_bytes;
		out->times[out->count].ns = ns;
		out->times[out->count].size.blocks_per_sm = point->blocks_per_sm;
		memcpy(out->times[out->count].size.block, point->block, sizeof(point->block));
		out->count++;
	}
}

/* --- the matrix */

static uint32_t threads_of(const uint32_t block[3])
{
	return block[0] * block[1] * block[2];
}

KC_ORDER(ascending, uint32_t, KC_BY(*x, *y))

static int find_columns(const struct kc_sweeps *sweeps, struct kc_basis_rows *out)
{
	uint32_t kept = 0;

	out->threads = malloc((sweeps->point_count + 1) * sizeof(*out->threads));
	if (!out->threads)
		return -ENOMEM;
	for (size_t i = 0; i < sweeps->point_count; i++)
		out->threads[i] = threads_of(sweeps->points[i].block);
	qsort(out->threads, sweeps->point_count, sizeof(*out->threads), ascending);
	for (size_t i = 0; i < sweeps->point_count; i++)
		if (!kept || out->threads[kept - 1] != out->threads[i])
			out->threads[kept++] = out->threads[i];
	out->columns = kept;
	return 0;
}

static uint32_t column_of(const struct kc_basis_rows *rows, uint32_t threads)
{
	const uint32_t *found = bsearch(&threads, rows->threads, rows->columns, sizeof(threads), ascending);

	return found ? (uint32_t)(found - rows->threads) : rows->columns;
}

/* Of several blocks with equally many threads, the first. */
static void add_row(struct kc_basis_rows *out, const struct kc_sweeps *sweeps, const struct kc_sweep_point *problem)
{
	double *row = out->rates + (size_t)out->count * out->columns;
	struct kc_basis_curve curve;

	kc_basis_curve_at(sweeps, problem->kernel, problem->device, problem->size, &curve);
	for (uint32_t c = 0; c < out->columns; c++)
		row[c] = NAN;
	for (uint32_t i = curve.count; i-- > 0;)
		row[column_of(out, threads_of(curve.times[i].size.block))] = 1 / curve.times[i].ns;
	out->groups[out->count] = problem->kernel;
	out->count += curve.count > 1;
}

/* The longest series of a kernel on a device gives the problems. */
static size_t longest_series(const struct kc_sweeps *sweeps, size_t from, size_t *longest_end, size_t *device_end)
{
	const struct kc_sweep_point *first = &sweeps->points[from];
	size_t longest = from, to;

	*longest_end = from;
	for (; from < sweeps->point_count && sweeps->points[from].kernel == first->kernel &&
	       sweeps->points[from].device == first->device;
	     from = to) {
		to = series_end(sweeps, from);
		if (to - from > *longest_end - longest) {
			longest = from;
			*longest_end = to;
		}
	}
	*device_end = from;
	return longest;
}

int kc_basis_rows_make(const struct kc_sweeps *sweeps, struct kc_basis_rows *out)
{
	size_t capacity = 0, next;

	*out = (struct kc_basis_rows){0};
	if (find_columns(sweeps, out))
		return -ENOMEM;
	for (size_t i = 0, end; i < sweeps->point_count; i = next) {
		size_t longest = longest_series(sweeps, i, &end, &next);

		capacity += end - longest;
	}
	out->rates = malloc((capacity * out->columns + 1) * sizeof(*out->rates));
	out->groups = malloc((capacity + 1) * sizeof(*out->groups));
	if (!out->rates || !out->groups) {
		kc_basis_rows_free(out);
		return -ENOMEM;
	}
	for (size_t i = 0, end; i < sweeps->point_count; i = next)
		for (size_t p = longest_series(sweeps, i, &end, &next); p < end; p++)
			add_row(out, sweeps, &sweeps->points[p]);
	return 0;
}

void kc_basis_rows_free(struct kc_basis_rows *rows)
{
	free(rows->rates);
	free(rows->groups);
	free(rows->threads);
	*rows = (struct kc_basis_rows){0};
}

/* --- without gaps */

static double row_gaps(const struct kc_basis_rows *rows, uint32_t row)
{
	uint32_t gaps = 0;

	for (uint32_t c = 0; c < rows->columns; c++)
		gaps += isnan(rows->rates[(size_t)row * rows->columns + c]);
	return (double)gaps / rows->columns;
}

static double column_gaps(const struct kc_basis_rows *rows, uint32_t column)
{
	uint32_t gaps = 0;

	for (uint32_t r = 0; r < rows->count; r++)
		gaps += isnan(rows->rates[(size_t)r * rows->columns + column]);
	return (double)gaps / rows->count;
}

static void drop_column(struct kc_basis_rows *rows, uint32_t column)
{
	double *to = rows->rates;

	for (uint32_t r = 0; r < rows->count; r++)
		for (uint32_t c = 0; c < rows->columns; c++)
			if (c != column)
				*to++ = rows->rates[(size_t)r * rows->columns + c];
	memmove(rows->threads + column, rows->threads + column + 1,
		(rows->columns - column - 1) * sizeof(*rows->threads));
	rows->columns--;
}

static void drop_rows(struct kc_basis_rows *rows, double gaps)
{
	uint32_t kept = 0;

	for (uint32_t r = 0; r < rows->count; r++) {
		if (row_gaps(rows, r) >= gaps)
			continue;
		memmove(rows->rates + (size_t)kept * rows->columns, rows->rates + (size_t)r * rows->columns,
			rows->columns * sizeof(*rows->rates));
		rows->groups[kept++] = rows->groups[r];
	}
	rows->count = kept;
}

void kc_basis_rows_complete(struct kc_basis_rows *rows)
{
	while (rows->count && rows->columns) {
		uint32_t worst_column = 0;
		double of_rows = 0, of_columns = -1;

		for (uint32_t r = 0; r < rows->count; r++)
			of_rows = fmax(of_rows, row_gaps(rows, r));
		for (uint32_t c = 0; c < rows->columns; c++) {
			double gaps = column_gaps(rows, c);

			if (gaps > of_columns) {
				of_columns = gaps;
				worst_column = c;
			}
		}
		if (of_rows <= 0 && rows->columns <= KC_BASIS_COLUMNS)
			return;
		if (of_columns >= of_rows)
			drop_column(rows, worst_column);
		else
			drop_rows(rows, of_rows);
	}
}

static int has_all(const struct kc_basis_rows *rows, uint32_t row, const uint32_t *at, uint32_t columns)
{
	int all = 1;

	for (uint32_t c = 0; c < columns; c++)
		all = all && !isnan(rows->rates[(size_t)row * rows->columns + at[c]]);
	return all;
}

int kc_basis_rows_select(const struct kc_basis_rows *rows, const uint32_t *threads, uint32_t columns,
			 uint32_t without_kernel, struct kc_basis_rows *out)
{
	uint32_t at[KC_BASIS_COLUMNS];

	*out = (struct kc_basis_rows){.columns = columns};
	for (uint32_t c = 0; c < columns; c++) {
		at[c] = column_of(rows, threads[c]);
		if (at[c] == rows->columns)
			return 0;
	}
	out->rates = malloc(((size_t)rows->count * columns + 1) * sizeof(*out->rates));
	out->groups = malloc((rows->count + 1) * sizeof(*out->groups));
	out->threads = malloc((columns + 1) * sizeof(*out->threads));
	if (!out->rates || !out->groups || !out->threads) {
		kc_basis_rows_free(out);
		return -ENOMEM;
	}
	memcpy(out->threads, threads, columns * sizeof(*threads));
	for (uint32_t r = 0; r < rows->count; r++) {
		if (rows->groups[r] == without_kernel || !has_all(rows, r, at, columns))
			continue;
		for (uint32_t c = 0; c < columns; c++)
			out->rates[(size_t)out->count * columns + c] = rows->rates[(size_t)r * rows->columns + at[c]];
		out->groups[out->count++] = rows->groups[r];
	}
	return 0;
}
