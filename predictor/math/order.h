/*
 * Orders for qsort() and bsearch(), of which only the keys need to be said:
 *
 *	KC_ORDER(by_start, struct interval, KC_UP(device) ?: KC_DOWN(start_ns) ?: strcmp(x->name, y->name))
 *
 * By device, then the latest first, then by name. A key is an int below, at or above 0, made of x and y
 * (or of a and b, which point to them).
 *
 *	size_t at = KC_FIRST(i, count, !(sorted[i].start_ns < start_ns));
 *
 * The first of these from which on it is so.
 */
#ifndef KC_ORDER_H
#define KC_ORDER_H

#include <stddef.h>

#define KC_BY(a, b) (((a) > (b)) - ((a) < (b)))
#define KC_UP(member) KC_BY(x->member, y->member)
#define KC_DOWN(member) KC_BY(y->member, x->member)

/* Of an array of `type`. */
#define KC_ORDER(name, type, keys)                                                                                     \
	static int name(const void *a, const void *b)                                                                  \
	{                                                                                                              \
		const type *x = a, *y = b;                                                                             \
                                                                                                                       \
		return keys;                                                                                           \
	}

/* Of an array of pointers to `type`. */
#define KC_ORDER_OF_POINTERS(name, type, keys)                                                                         \
	static int name(const void *a, const void *b)                                                                  \
	{                                                                                                              \
		const type *x = *(const type *const *)a, *y = *(const type *const *)b;                                 \
                                                                                                                       \
		return keys;                                                                                           \
	}

/* The least `i` below count for which the condition holds, which then holds for all after it; count: for none. */
#define KC_FIRST(i, count, condition)                                                                                  \
	({                                                                                                             \
		size_t low_ = 0, high_ = (count);                                                                      \
                                                                                                                       \
		while (low_ < high_) {                                                                                 \
			size_t i = low_ + (high_ - low_) / 2;                                                          \
                                                                                                                       \
			if (condition)                                                                                 \
				high_ = i;                                                                             \
			else                                                                                           \
				low_ = i + 1;                                                                          \
		}                                                                                                      \
		low_;                                                                                                  \
	})

#endif
