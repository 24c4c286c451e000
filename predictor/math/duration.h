/*
 * Durations in nanoseconds: the longest one, conversion from floating point, the later of two times.
 */
#ifndef KC_DURATION_H
#define KC_DURATION_H

#include <stdint.h>

#define KC__NS_PER_S 1e9

/* A month: longer than any kernel; keeps sums of times far from overflow. */
#define KC__LONGEST_NS 2.6e15

static inline int64_t kc__whole_ns(double ns)
{
	return ns < KC__LONGEST_NS ? (int64_t)ns : (int64_t)KC__LONGEST_NS;
}

/* The same, rounded up. */
static inline int64_t kc__whole_ns_above(double ns)
{
	int64_t whole = kc__whole_ns(ns);

	return whole + (ns < KC__LONGEST_NS && (double)whole < ns);
}

static inline int64_t kc__later_ns(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

#endif
