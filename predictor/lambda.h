/*
 * What forecast.c and lambda.c share: the belief before anything was measured.
 */
#ifndef KC_LAMBDA_H
#define KC_LAMBDA_H

/* λ = 1: the nominal cost per thread as it stands. The log times per thread of
 * the recorded applications spread by about 2 around it. */
#define KC__PRIOR_LOG_LAMBDA 0.0f
#define KC__PRIOR_HALF_WIDTH 3.3f /* 90 %: 1.645 * 2 */

/* A month: longer than any kernel; keeps sums of times far from overflow. */
#define KC__LONGEST_NS 2.6e15

#endif
