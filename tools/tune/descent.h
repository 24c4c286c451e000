/*
 * Minimises a smooth function by its gradient: limited memory BFGS (Nocedal and
 * Wright 2006, Algorithms 7.4, 7.5 and 3.1), halving steps until they gain enough.
 */
#ifndef KC_DESCENT_H
#define KC_DESCENT_H

#include <stdint.h>

/* The value at a point, INFINITY where it has none; slopes: the gradient, written where the value is finite. */
typedef double kc__slopes(void *context, const double *at, double *slopes);

/* at: n values, the starting point; becomes the best point found. 0; -ENOMEM; -EDOM: no value at the start. */
int kc__descend(kc__slopes *function, void *context, double *at, uint32_t n, uint32_t steps);

#endif
