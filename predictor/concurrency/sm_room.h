/*
 * Blocks on SMs, exactly: which SM holds what, and the hardware's choice among
 * them.
 *
 *   kc__sm_blocks      what a kernel holds of the SMs: its block, and how many of
 *                 them lie on which SMs
 *   kc__sm_room     what is free on each SM, beside all that hold some
 *   kc__offer     how many blocks of one kernel fit where
 *
 * SMs go by rank, the order in which the hardware takes them where all else is
 * equal. What changes from one to the next is all that is kept, so the cost is
 * in kernels, not in SMs or blocks.
 *
 * The next block goes to the SM that could take the most further blocks of its
 * kernel; ties go by rank. Source: Gilman et al., "Demystifying the Placement
 * Policies of the NVIDIA GPU Thread Block Scheduler" (2021).
 */
#ifndef KC_SM_ROOM_H
#define KC_SM_ROOM_H

#include "predictor/device/grid.h"

#include <stdint.h>

#define KC__SMS_MAX 256u /* SMs past these are not looked at */

/* A kernel's blocks lie in at most so many steps: where the room is more
 * ragged, some of it is not offered (kc__offer_simplify). */
#define KC__STEPS_MAX 6u
#define KC__SHARED_UNIT_BYTES 128u

struct kc__step {
	uint8_t last;   /* up to this rank, from the step before on, */
	uint8_t blocks; /* each SM holds so many */
};

struct kc__sm_blocks {               /* a kernel's queue holds thousands: packed */
	uint32_t warps : 7;          /* of a block; 0: no kernel, holds nothing */
	uint32_t register_units : 9; /* of KC_REGISTER_UNIT */
	uint32_t shared_units : 12;  /* of KC__SHARED_UNIT_BYTES */
	uint32_t count : 4;          /* of steps */
	struct kc__step steps[KC__STEPS_MAX];
};

struct kc__sm_room {
	uint32_t sm_count;
	uint64_t marks[KC__SMS_MAX / 64]; /* ranks that have a change, the first apart */
	kc__amounts change[KC__SMS_MAX];  /* of what is free, from the rank before to this one */
};

struct kc__sm_range {
	uint16_t end; /* the rank after its last */
	uint16_t fit; /* on each of its SMs */
};

struct kc__offer {
	uint32_t slots;       /* on all SMs together */
	uint32_t least, most; /* on one SM */
	uint32_t roomiest;    /* rank of the first SM with the most */
	uint32_t count;
	struct kc__sm_range parts[KC__SMS_MAX];
};

/* Nothing is taken. */
void kc__sm_room_init(struct kc__sm_room *room, const struct kc_footprint *sm, uint32_t sm_count);

/* A kernel's blocks come onto the SMs, or leave them. */
void kc__sm_room_take(struct kc__sm_room *room, const struct kc__sm_blocks *sm_blocks);
void kc__sm_room_release(struct kc__sm_room *room, const struct kc__sm_blocks *sm_blocks);

/* What the SMs have left for this kernel. Returns offer->slots. */
uint32_t kc__sm_room_offer(const struct kc__sm_room *room, const struct kc_grid *grid, struct kc__offer *offer);

/* The block of a kernel, nowhere yet. */
void kc__sm_blocks_init(struct kc__sm_blocks *sm_blocks, const struct kc_footprint *block);
/* Its blocks on SMs that have room for them everywhere: odd ones from this rank on. */
void kc__sm_blocks_evenly(struct kc__sm_blocks *sm_blocks, const struct kc_even *even, uint32_t sm_count,
			  uint32_t start);
/* What it takes of the SM where it has most. */
kc__amounts kc__sm_blocks_largest(const struct kc__sm_blocks *sm_blocks);
/* Blocks, ≤ offer->slots, where the most room is. -ENOSPC: in more steps than there are. */
int kc__sm_blocks_most_room(struct kc__sm_blocks *sm_blocks, const struct kc__offer *offer, uint32_t blocks);
/* As many on each SM, odd ones from the first SM with the most room on. -ENOSPC: that does not fit. */
int kc__sm_blocks_round_robin(struct kc__sm_blocks *sm_blocks, const struct kc__offer *offer, uint32_t blocks);

/* Offers less, so that any number of the slots can be held; never nothing. */
void kc__offer_simplify(struct kc__offer *offer);

#endif
