/* Counts blocks by whole divisions, to check what the models compute by reciprocals. */
#ifndef KC_OCCUPANCY_TESTING_H
#define KC_OCCUPANCY_TESTING_H

#include "occupancy.h"

/* Blocks of `need` that fit into `free`; 0 where one resource is used up. */
static inline uint32_t blocks_fitting(const struct kc_footprint *free, const struct kc_footprint *need)
{
	int32_t blocks = INT32_MAX;

	for (int r = 0; r < KC_SM_RESOURCES; r++) {
		if (need->of[r] > 0 && free->of[r] / need->of[r] < blocks)
			blocks = free->of[r] / need->of[r];
	}
	return blocks > 0 ? (uint32_t)blocks : 0;
}

#endif
