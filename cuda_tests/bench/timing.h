/* Processor time and medians, for programs that measure how long something takes. */
#ifndef KC_TIMING_H
#define KC_TIMING_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Of the calling thread. */
static inline int64_t spent_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts them. */
static inline int64_t median_ns(int64_t *ns, size_t count)
{
	qsort(ns, count, sizeof(ns[0]), by_value);
	return ns[count / 2];
}

#endif
