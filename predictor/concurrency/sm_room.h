/*
 * Which SM holds which blocks, and the hardware's choice among SMs.
 *
 *   kc__sm_blocks   the blocks of one kernel's last wave, by SM
 *   kc__sm_room     what is free on each SM beside all of them
 *   kc__offer       how many blocks of a further kernel fit where
 *
 * SMs are numbered by rank: the order in which the hardware takes them where all
 * else is equal. Only the differences between neighbours are kept, so the cost
 * grows with the kernels, not with SMs or blocks.
 *
 * The next block goes to the SM that could take the most further blocks of its
 * kernel; ties go by rank. Source: Gilman et al., "Demystifying the Placement
 * Policies of the NVIDIA GPU Thread Block Scheduler" (2021).
 */
#ifndef KC_SM_ROOM_H
#define KC_SM_ROOM_H

#include "predictor/device/grid.h"

#include <stdint.h>

#define KC__SMS_MAX 256u /* further SMs are ignored */

/* Ranges of SMs that a kernel's blocks lie in, at most. Where room is more fragmented, some of it is not offered
 * (kc__offer_simplify). */
#define KC__STEPS_MAX 6u
#define KC__SHARED_UNIT_BYTES 128u

struct kc__step {
	uint8_t last;   /* rank of the last SM of the step, which begins after the one before */
	uint8_t blocks; /* on each of its SMs */
};

struct kc__sm_blocks {               /* packed: a queue holds thousands */
	uint32_t warps : 7;          /* of one block; 0: no kernel */
	uint32_t register_units : 9; /* of KC_REGISTER_UNIT */
	uint32_t shared_units : 12;  /* of KC__SHARED_UNIT_BYTES */
	uint32_t count : 4;          /* of steps */
	struct kc__step steps[KC__STEPS_MAX];
};

struct kc__sm_room {
	uint32_t sm_count;
	uint64_t
	    marks[KC__SMS_MAX / 64]; /* a bit for each rank above 0 whose room differs from that of the rank before */
	kc__amounts change[KC__SMS_MAX]; /* room of this rank minus that of the rank before; first the room of rank 0 */
};

struct kc__sm_range {
	uint16_t end; /* rank after its last SM */
	uint16_t fit; /* blocks that fit on each of its SMs */
};

struct kc__offer {
	uint32_t slots;       /* on all SMs together */
	uint32_t least, most; /* on one SM */
	uint32_t roomiest;    /* rank of the first SM that takes the most */
	uint32_t count;
	struct kc__sm_range parts[KC__SMS_MAX];
};

/* All SMs are empty. */
void kc__sm_room_init(struct kc__sm_room *room, const struct kc_footprint *sm, uint32_t sm_count);

/* A kernel's blocks are added to the SMs, or removed. */
void kc__sm_room_take(struct kc__sm_room *room, const struct kc__sm_blocks *sm_blocks);
void kc__sm_room_release(struct kc__sm_room *room, const struct kc__sm_blocks *sm_blocks);

/* The room left for this kernel. Returns offer->slots. */
uint32_t kc__sm_room_offer(const struct kc__sm_room *room, const struct kc_grid *grid, struct kc__offer *offer);
/* The same beside one other kernel; NULL: beside none. sm_count ≤ KC__SMS_MAX. */
uint32_t kc__sm_room_beside(const struct kc_footprint *sm, uint32_t sm_count, const struct kc__sm_blocks *other,
			    const struct kc_grid *grid, struct kc__offer *offer);

/* A kernel with such blocks, none of them placed. */
void kc__sm_blocks_init(struct kc__sm_blocks *sm_blocks, const struct kc_footprint *block);
/* Spreads its blocks over SMs that all have room; the odd ones go to the ranks from `start` on. */
void kc__sm_blocks_evenly(struct kc__sm_blocks *sm_blocks, const struct kc_even *even, uint32_t sm_count,
			  uint32_t start);
/* What it takes of the SM where it has the most blocks. */
kc__amounts kc__sm_blocks_largest(const struct kc__sm_blocks *sm_blocks);
/* Places so many blocks, ≤ offer->slots, by the most-room rule. -ENOSPC: that takes more than KC__STEPS_MAX steps. */
int kc__sm_blocks_most_room(struct kc__sm_blocks *sm_blocks, const struct kc__offer *offer, uint32_t blocks);
/* Places equally many on each SM, odd ones from the roomiest SM on. -ENOSPC: some SM has no room for them. */
int kc__sm_blocks_round_robin(struct kc__sm_blocks *sm_blocks, const struct kc__offer *offer, uint32_t blocks);

/* Reduces the offer until any number of its slots can be placed in KC__STEPS_MAX steps; it never becomes empty. */
void kc__offer_simplify(struct kc__offer *offer);

#endif
