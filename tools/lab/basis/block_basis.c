#include "block_basis.h"

#include "predictor/math/dense.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>

#define RIDGE_ENOUGH 1e-9 /* share of the mean square of the vectors, with more points than components */
#define RIDGE_FEW 1e-3    /* with as many points as components, or fewer */
#define RATE_BEYOND 10.0

static void add_row(double *square, const double *row, uint32_t columns)
{
	double length = 0;

	for (uint32_t i = 0; i < columns; i++)
		length += row[i] * row[i];
	for (uint32_t i = 0; length > 0 && i < columns; i++)
		for (uint32_t j = 0; j < columns; j++)
			square[i * columns + j] += row[i] * row[j] / length;
}

/* hidden: group whose rows are left out; UINT32_MAX: none. */
static int train_without(struct kc_basis *basis, const double *rows, const uint32_t *groups, uint32_t count,
			 uint32_t columns, uint32_t hidden)
{
	double square[KC_BASIS_COLUMNS * KC_BASIS_COLUMNS] = {0}, vectors[KC_BASIS_COLUMNS * KC_BASIS_COLUMNS];
	uint32_t used = 0;

	if (!columns || columns > KC_BASIS_COLUMNS)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		if (groups && groups[i] == hidden)
			continue;
		add_row(square, rows + (size_t)i * columns, columns);
		used++;
	}
	if (!used)
		return -EINVAL;
	kc__eigen(square, columns, basis->values, vectors);
	basis->columns = columns;
	basis->components = used < columns ? used : columns;
	for (uint32_t k = 0; k < columns; k++) {
		basis->values[k] = sqrt(fmax(basis->values[k], 0));
		for (uint32_t i = 0; i < columns; i++)
			basis->vectors[k][i] = vectors[i * columns + k];
	}
	return 0;
}

int kc_basis_train(struct kc_basis *basis, const double *rows, uint32_t count, uint32_t columns)
{
	return train_without(basis, rows, NULL, count, columns, UINT32_MAX);
}

int kc_basis_fit(const struct kc_basis *basis, uint32_t k, const uint32_t *timed, const double *rates,
		 uint32_t timed_count, double *out)
{
	double x[KC_BASIS_COLUMNS * KC_BASIS_COLUMNS], work[KC_BASIS_COLUMNS * KC_BASIS_COLUMNS];
	double coefficients[KC_BASIS_COLUMNS], low = INFINITY, high = 0, ridge;

	if (!k || k > basis->components || !timed_count || timed_count > basis->columns)
		return -EINVAL;
	for (uint32_t i = 0; i < timed_count; i++) {
		for (uint32_t j = 0; j < k; j++)
			x[i * k + j] = basis->vectors[j][timed[i]];
		low = fmin(low, rates[i]);
		high = fmax(high, rates[i]);
	}
	ridge = (timed_count > k ? RIDGE_ENOUGH : RIDGE_FEW) * timed_count / basis->columns;
	if (kc__ridge(x, rates, timed_count, k, ridge, coefficients, work))
		return -EINVAL;
	for (uint32_t i = 0; i < basis->columns; i++) {
		out[i] = 0;
		for (uint32_t j = 0; j < k; j++)
			out[i] += coefficients[j] * basis->vectors[j][i];
		out[i] = fmin(fmax(out[i], low / RATE_BEYOND), high * RATE_BEYOND);
	}
	return 0;
}

struct error {
	double sum;
	uint32_t count;
};

/* Adds the errors of times at the columns not timed. */
static void add_error(struct error *error, const struct kc_basis *basis, uint32_t k, const double *row,
		      const uint32_t *timed, uint32_t timed_count)
{
	double rates[KC_BASIS_COLUMNS], out[KC_BASIS_COLUMNS];
	int known[KC_BASIS_COLUMNS] = {0};

	for (uint32_t i = 0; i < timed_count; i++) {
		rates[i] = row[timed[i]];
		known[timed[i]] = 1;
	}
	if (kc_basis_fit(basis, k, timed, rates, timed_count, out))
		return;
	for (uint32_t i = 0; i < basis->columns; i++) {
		if (known[i])
			continue;
		error->sum += fabs(row[i] / out[i] - 1);
		error->count++;
	}
}

uint32_t kc_basis_choose(const double *rows, const uint32_t *groups, uint32_t count, uint32_t columns,
			 const uint32_t *timed, uint32_t timed_count, double *error)
{
	struct error errors[KC_BASIS_COLUMNS + 1] = {{0, 0}};
	uint32_t most = timed_count / 2 > 1 ? timed_count / 2 : 1, best = 1;
	struct kc_basis basis;

	for (uint32_t i = 0; i < count && most <= KC_BASIS_COLUMNS; i++) {
		int first = 1;

		for (uint32_t j = 0; j < i; j++)
			first = first && groups[j] != groups[i];
		if (!first || train_without(&basis, rows, groups, count, columns, groups[i]))
			continue;
		for (uint32_t j = i; j < count; j++)
			for (uint32_t k = 1; groups[j] == groups[i] && k <= most && k <= basis.components; k++)
				add_error(&errors[k], &basis, k, rows + (size_t)j * columns, timed, timed_count);
	}
	for (uint32_t k = 2; k <= most && k <= KC_BASIS_COLUMNS; k++)
		if (errors[k].count && errors[k].count == errors[1].count && errors[k].sum < errors[best].sum)
			best = k;
	*error = errors[best].count ? errors[best].sum / errors[best].count : NAN;
	return best;
}
