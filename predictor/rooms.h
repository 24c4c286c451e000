/*
 * Blocks on SMs, exactly: groups of SMs that hold the same, and the hardware's
 * choice among them.
 *
 *   kc__room    SMs with the same free resources
 *   kc__rooms   a device, as a few such groups
 *
 * The next block goes to the SM that could take the most further blocks of its
 * kernel; ties go in a fixed order, the SMs' rank. Source: Gilman et al.,
 * "Demystifying the Placement Policies of the NVIDIA GPU Thread Block
 * Scheduler" (2021).
 */
#ifndef KC_ROOMS_H
#define KC_ROOMS_H

#include "leftover.h"

#include <stdint.h>

#define KC__SM_WORDS 4u /* SMs past 64 times as many are not looked at */
#define KC__ROOMS_MAX 40u

struct kc__room {
	uint64_t members[KC__SM_WORDS]; /* by rank */
	uint32_t size;
	struct kc_footprint free;
};

struct kc__rooms {
	struct kc__room rooms[KC__ROOMS_MAX];
	uint32_t count;
};

void kc__rooms_init(struct kc__rooms *rooms, const struct kc_footprint *sm, uint32_t sm_count);

/* Blocks of `need` that fit on all SMs together. */
uint32_t kc__rooms_slots(const struct kc__rooms *rooms, const struct kc_footprint *need);

/* Places up to `blocks`; at a cost that depends on the groups alone. Returns how many fit. */
uint32_t kc__rooms_place(struct kc__rooms *rooms, const struct kc_footprint *need, uint32_t blocks);

/* One more resource user on one SM, placed by hand. -ENOSPC: it does not fit. */
int kc__rooms_occupy(struct kc__rooms *rooms, uint32_t rank, const struct kc_footprint *need);

/* What the SM of this rank has left. */
struct kc_footprint kc__rooms_free(const struct kc__rooms *rooms, uint32_t rank);

#endif
