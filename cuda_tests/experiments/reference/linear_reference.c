#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void reference_transpose(long n, const float *in, float *out)
{
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			out[j * n + i] = in[i * n + j];
}

#define COLUMNS 256 /* of a row of the product at a time: b is read along its rows */

void reference_matmul(long n, const float *a, const float *b, float *c)
{
	double sums[COLUMNS];

	for (long i = 0; i < n; i++) {
		for (long from = 0; from < n; from += COLUMNS) {
			long width = n - from < COLUMNS ? n - from : COLUMNS;

			memset(sums, 0, sizeof(sums));
			for (long k = 0; k < n; k++)
				for (long j = 0; j < width; j++)
					sums[j] += (double)a[i * n + k] * b[k * n + from + j];
			for (long j = 0; j < width; j++)
				c[i * n + from + j] = (float)sums[j];
		}
	}
}

void reference_lu(long n, float *a)
{
	for (long k = 0; k < n; k++) {
		for (long i = k + 1; i < n; i++) {
			a[i * n + k] /= a[k * n + k];
			for (long j = k + 1; j < n; j++)
				a[i * n + j] -= a[i * n + k] * a[k * n + j];
		}
	}
}

/* Row times vector, columns from to before. */
static double dot(const float *row, const double *v, long from, long before)
{
	double sum = 0;

	for (long j = from; j < before; j++)
		sum += row[j] * v[j];
	return sum;
}

/* -1 to 1 */
static void randoms(long n, double *r)
{
	for (long i = 0; i < n; i++)
		r[i] = reference_scramble((uint32_t)i + 1) * 0x1p-31 - 1;
}

static double relative(double deviation, double largest)
{
	return largest > 0 ? deviation / largest : deviation;
}

double reference_product_error(long n, const float *a, const float *b, const float *c)
{
	double *r = reference_memory(2 * (size_t)n * sizeof(*r)), *br = r + n, deviation = 0, largest = 0;

	randoms(n, r);
	for (long i = 0; i < n; i++)
		br[i] = dot(b + i * n, r, 0, n);
	for (long i = 0; i < n; i++) {
		double wanted = dot(a + i * n, br, 0, n);

		deviation = fmax(deviation, fabs(dot(c + i * n, r, 0, n) - wanted));
		largest = fmax(largest, fabs(wanted));
	}
	free(r);
	return relative(deviation, largest);
}

double reference_lu_error(long n, const float *lu, const float *a)
{
	double *r = reference_memory(2 * (size_t)n * sizeof(*r)), *ur = r + n, deviation = 0, largest = 0;

	randoms(n, r);
	for (long i = 0; i < n; i++)
		ur[i] = dot(lu + i * n, r, i, n);
	for (long i = 0; i < n; i++) {
		double wanted = dot(a + i * n, r, 0, n);

		deviation = fmax(deviation, fabs(dot(lu + i * n, ur, 0, i) + ur[i] - wanted));
		largest = fmax(largest, fabs(wanted));
	}
	free(r);
	return relative(deviation, largest);
}
