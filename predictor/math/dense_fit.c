/* What commands alone fit with: regression and eigenvectors. */
#include "dense.h"

#include <math.h>
#include <string.h>

#define SWEEPS_MAX 60 /* Jacobi's method converges quadratically: a dozen suffice */

int kc__ridge(const double *x, const double *y, uint32_t rows, uint32_t columns, double ridge, double *coefficients,
	      double *work)
{
	int rc;

	for (uint32_t i = 0; i < columns; i++) {
		for (uint32_t j = 0; j <= i; j++) {
			double sum = i == j ? ridge : 0;

			for (uint32_t r = 0; r < rows; r++)
				sum += x[(size_t)r * columns + i] * x[(size_t)r * columns + j];
			work[(size_t)i * columns + j] = sum;
		}
		coefficients[i] = 0;
		for (uint32_t r = 0; r < rows; r++)
			coefficients[i] += x[(size_t)r * columns + i] * y[r];
	}
	rc = kc__cholesky(work, columns);
	if (rc)
		return rc;
	kc__solve_lower(work, columns, coefficients);
	kc__solve_upper(work, columns, coefficients);
	return 0;
}

/* Rotates rows and columns p and q so that a[p][q] becomes 0. */
static void rotate(double *a, double *vectors, uint32_t n, uint32_t p, uint32_t q)
{
	double apq = a[(size_t)p * n + q], half = (a[(size_t)q * n + q] - a[(size_t)p * n + p]) / (2 * apq);
	double t = copysign(1, half) / (fabs(half) + sqrt(half * half + 1));
	double c = 1 / sqrt(t * t + 1), s = t * c;

	for (uint32_t k = 0; k < n; k++) {
		double kp = a[(size_t)k * n + p], kq = a[(size_t)k * n + q];

		a[(size_t)k * n + p] = c * kp - s * kq;
		a[(size_t)k * n + q] = s * kp + c * kq;
	}
	for (uint32_t k = 0; k < n; k++) {
		double pk = a[(size_t)p * n + k], qk = a[(size_t)q * n + k];
		double vp = vectors[(size_t)k * n + p], vq = vectors[(size_t)k * n + q];

		a[(size_t)p * n + k] = c * pk - s * qk;
		a[(size_t)q * n + k] = s * pk + c * qk;
		vectors[(size_t)k * n + p] = c * vp - s * vq;
		vectors[(size_t)k * n + q] = s * vp + c * vq;
	}
}

static int sweep(double *a, double *vectors, uint32_t n)
{
	int turned = 0;

	for (uint32_t p = 0; p < n; p++) {
		for (uint32_t q = p + 1; q < n; q++) {
			double limit = 1e-15 * sqrt(fabs(a[(size_t)p * n + p] * a[(size_t)q * n + q]));

			if (fabs(a[(size_t)p * n + q]) <= fmax(limit, 1e-300))
				continue;
			rotate(a, vectors, n, p, q);
			turned = 1;
		}
	}
	return turned;
}

static void swap_columns(double *values, double *vectors, uint32_t n, uint32_t i, uint32_t j)
{
	double value = values[i];

	values[i] = values[j];
	values[j] = value;
	for (uint32_t k = 0; k < n; k++) {
		double v = vectors[(size_t)k * n + i];

		vectors[(size_t)k * n + i] = vectors[(size_t)k * n + j];
		vectors[(size_t)k * n + j] = v;
	}
}

void kc__eigen(double *a, uint32_t n, double *values, double *vectors)
{
	memset(vectors, 0, (size_t)n * n * sizeof(*vectors));
	for (uint32_t i = 0; i < n; i++)
		vectors[(size_t)i * n + i] = 1;
	for (int i = 0; i < SWEEPS_MAX && sweep(a, vectors, n); i++)
		;
	for (uint32_t i = 0; i < n; i++)
		values[i] = a[(size_t)i * n + i];
	for (uint32_t i = 0; i < n; i++) {
		uint32_t most = i;

		for (uint32_t j = i + 1; j < n; j++)
			most = values[j] > values[most] ? j : most;
		swap_columns(values, vectors, n, i, most);
	}
}
