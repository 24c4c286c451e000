#include "dense.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SWEEPS_MAX 60 /* Jacobi's method converges quadratically: a dozen suffice */

/* Two neighbours of an array, which need not be aligned to more than one. */
typedef double pair __attribute__((vector_size(2 * sizeof(double)), aligned(sizeof(double)), may_alias));

/* Eight sums in parallel, two in a register: with one alone, each addition would wait for the last. */
double kc__dot(const double *a, const double *b, uint32_t n)
{
	pair s01 = {0, 0}, s23 = s01, s45 = s01, s67 = s01;
	const double *end = a + n;

	for (; end - a >= 8; a += 8, b += 8) {
		const pair *left = (const pair *)a, *right = (const pair *)b;

		s01 += left[0] * right[0];
		s23 += left[1] * right[1];
		s45 += left[2] * right[2];
		s67 += left[3] * right[3];
	}
	for (; a < end; a++, b++)
		s01[0] += *a * *b;
	return ((s01[0] + s01[1]) + (s23[0] + s23[1])) + ((s45[0] + s45[1]) + (s67[0] + s67[1]));
}

int kc__cholesky(double *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		double *row = a + (size_t)i * n;

		for (uint32_t j = 0; j <= i; j++) {
			const double *above = a + (size_t)j * n;
			double sum = row[j] - kc__dot(row, above, j);

			if (i != j)
				row[j] = sum / above[j];
			else if (sum > 0)
				row[j] = sqrt(sum);
			else
				return -EDOM;
		}
	}
	return 0;
}

void kc__solve_lower(const double *l, uint32_t n, double *b)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < i; j++)
			b[i] -= l[(size_t)i * n + j] * b[j];
		b[i] /= l[(size_t)i * n + i];
	}
}

void kc__solve_upper(const double *l, uint32_t n, double *b)
{
	for (uint32_t i = n; i-- > 0;) {
		b[i] /= l[(size_t)i * n + i];
		for (uint32_t j = 0; j < i; j++)
			b[j] -= l[(size_t)i * n + j] * b[i];
	}
}

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
