/* Where a launch is predicted to run on the device's time axis. */
#ifndef KC_PLACEMENT_H
#define KC_PLACEMENT_H

#include "contention.h"
#include "predictor/papers/leftover.h"

#include <stdint.h>

struct kc_placement {
	int64_t start_ns, end_ns;              /* predicted; end - start is the predicted duration */
	float slowdown;                        /* end - start over solo; waiting is not slowdown */
	float slowdown_waves;                  /* Equation 5.1 */
	uint32_t concurrency_case;             /* enum kc_case, leftover.h */
	uint32_t ticket;                       /* names this interval in later calls; 0: it is not carried */
	struct kc_expected_contention meeting; /* for kc_contention_learn() once it is measured */
	float contended; /* kc_contention_slowdown() of the meeting; 0: nothing is learned of the contention from it */
};

#endif
