/* Sorting numbers, and their median. None of them is NaN. */
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

/* The mean of the two in the middle, if there are two; NAN if there are no values. Sorts them. */
static inline double kc_median(double *values, size_t count)
{
	if (count == 0)
		return NAN;
	kc_sort(values, count);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#endif
