/*
 * What the files of the solo forecast share: the belief before anything was
 * measured, and how waves become time.
 */
#ifndef KC_LAMBDA_H
#define KC_LAMBDA_H

#include <math.h>
#include <stdint.h>

/* λ = 1: the nominal cost per thread as it stands. The log times per thread of
 * the recorded applications spread by about 2 around it. */
#define KC__PRIOR_LOG_LAMBDA 0.0f
#define KC__PRIOR_HALF_WIDTH 3.3f /* 90 %: 1.645 * 2 */

/* Of a launch whose work is known from its code: log times over the roofline's upper range spread by 1.3 on the
 * recorded BSP measurements. */
#define KC__COUNTED_HALF_WIDTH 2.2f

/* A month: longer than any kernel; keeps sums of times far from overflow. */
#define KC__LONGEST_NS 2.6e15

static inline int64_t kc__whole_ns(double ns)
{
	return ns < KC__LONGEST_NS ? (int64_t)ns : (int64_t)KC__LONGEST_NS;
}

/* Share of a started wave that counts as a whole one: 0 to 0.35 fitted the recorded GPUs. */
#define KC__WAVE_SHARE 0.35

/* Time relative to blocks / slots waves that need not be whole. */
static inline double kc__quantised(double waves)
{
	return KC__WAVE_SHARE * ceil(waves) + (1 - KC__WAVE_SHARE) * waves;
}

#endif
