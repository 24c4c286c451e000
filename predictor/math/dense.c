#include "dense.h"

#include <errno.h>
#include <math.h>
#include <string.h>

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
