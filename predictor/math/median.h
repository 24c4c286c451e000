/* Sorting numbers, and their median and other quantiles. None of them is NaN. */
#ifndef KC_MEDIAN_H
#define KC_MEDIAN_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static inline int kc__ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static inline void kc_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), kc__ascending);
}

#define KC__SELECT_ROUNDS 64 /* far more than values in any usual order need */

/* Puts that value at `place`, in 0 to count - 1, which would stand there if all were sorted, and only lesser or equal
 * ones before it, only greater or equal ones after it: Hoare's FIND (CACM 4, 1961), in a time that is bounded. */
static inline void kc_select(double *values, size_t count, size_t place)
{
	ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, at = (ptrdiff_t)place;

	for (int round = 0; low < high; round++) {
		ptrdiff_t i = low, j = high;
		double pivot = values[at];

		if (round == KC__SELECT_ROUNDS) {
			kc_sort(values + low, (size_t)(high - low) + 1);
			return;
		}
		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (pivot < values[j])
				j--;
			if (i <= j) {
				double kept = values[i];

				values[i++] = values[j];
				values[j--] = kept;
			}
		}
		if (j < at)
			low = i;
		if (at < i)
			high = j;
	}
}

/* The share `at` of the values, 0 to 1, is below what is returned, between two of them where it falls there. count > 0.
 * Moves them. */
static inline double kc_quantile(double *values, size_t count, double at)
{
	double place = at * (double)(count - 1), next = INFINITY;
	size_t low = (size_t)place;

	kc_select(values, count, low);
	if (place <= (double)low)
		return values[low];
	for (size_t i = low + 1; i < count; i++)
		next = values[i] < next ? values[i] : next;
	return values[low] + (place - (double)low) * (next - values[low]);
}

/* The mean of the two in the middle, if there are two; NAN if there are no values. Sorts them. */
static inline double kc_median(double *values, size_t count)
{
	if (count == 0)
		return NAN;
	kc_sort(values, count);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#endif
