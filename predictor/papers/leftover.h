/*
 * What the left-over policy leaves to a kernel that comes second.
 *
 *   kc_leftover   the answer for a pair of kernels (kc_grid): case, waves, slowdown
 *
 * Source: Quintanilla Cruz, "Analyzing and Estimating the Performance of
 * Concurrent Kernels Execution in GPUs" (2017): Algorithms 1 and 2, Equations
 * 4.1, 5.1, 5.2. Where the text and its tables disagree, the reading here is
 * the one that reproduces the tables: Algorithm 2 is applied to the blocks
 * that are really on an SM, not to as many as it could hold.
 */
#ifndef KC_LEFTOVER_H
#define KC_LEFTOVER_H

#include "predictor/device/grid.h"

#include <stdint.h>

/* Chapter 4. */
enum kc_case {
	KC_CASE_ALONE = 0, /* nothing else in flight */
	KC_CASE_A = 1,     /* together from the start */
	KC_CASE_B = 2,     /* starts in the other's last wave */
	KC_CASE_C = 3,     /* one after the other: slowdown 1, later start */
};
/* "alone", "A", "B", "C". */
static inline const char *kc_case_name(uint32_t concurrency_case)
{
	static const char *const names[] = {"alone", "A", "B", "C"};

	return concurrency_case < sizeof(names) / sizeof(names[0]) ? names[concurrency_case] : "unknown";
}

enum kc_spreading {
	KC_SPREAD = 0, /* over all SMs round-robin: what the hardware does */
	KC_PACKED = 1, /* on the fewest SMs: nFree and nOccupied of Equation 5.2 */
};
/* "spread" or "packed"; -EINVAL for another name. */
int kc_spreading_by_name(const char *name);

struct kc_leftover {
	enum kc_case concurrency_case;
	uint64_t waves;         /* of the second alone */
	uint64_t waves_limited; /* Equation 5.2; waves in case C */
	uint32_t slots;         /* blocks of the second that can run at once beside the first */
	double slowdown;        /* Equation 5.1; 1 in case C */
};

/*
 * Algorithm 1 and Equation 5.1: first was launched just before second.
 * first_ns: its execution time, 0 where it is not known. -EINVAL where one of
 * the two cannot run.
 */
int kc_leftover_pair(struct kc_leftover *out, const struct kc_device *device, const struct kc_grid *first,
		     double first_ns, const struct kc_grid *second, enum kc_spreading spreading);

#endif
