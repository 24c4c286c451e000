/*
 * How much of the GPU a kernel takes while it runs alone, so that it can be said what is
 * left for another one beside it.
 *
 *   kc_held     what a kernel has in a cache, and whether it comes back to it
 *   kc_shares   its share of each resource, and what it has in L1 and L2
 *
 * A share is the time that a resource would take for the kernel if it were the only one
 * (resources.h), at the rate that it delivers at most, divided by the kernel's own time.
 * Units, shared memory, L1 and the start of blocks are those of an SM on which the kernel
 * has blocks, L2, device memory and atomics those of the whole device.
 *
 * What a kernel has in a cache is known where its bytes are counted once (kc_counts),
 * or where a footprint is given: bytes of global memory that a block goes through before it
 * comes back to one of them. What does not fit into a cache by then is not held there.
 */
#ifndef KC_SHARES_H
#define KC_SHARES_H

#include "resources.h"

enum kc_reuse {
	KC_REUSE_NONE,   /* it takes nothing from the cache that it had put there, or that is gone by then */
	KC_REUSE_HELD,   /* all of it fits */
	KC_REUSE_UNKNOWN /* it is more than the cache holds, but may come back to some of it in time */
};

struct kc_held {
	double bytes;
	enum kc_reuse reuse;
};

struct kc_shares {
	double of[KC_RESOURCE_COUNT]; /* 0 to 1; of latency 0 */
	struct kc_held l1;            /* bytes of one block */
	struct kc_held l2;
};

#define KC_FOOTPRINT_UNKNOWN (-1.0)

/* footprint_bytes: of a block, or KC_FOOTPRINT_UNKNOWN. solo_ns: of the launch, measured or predicted, > 0.
 * 0; -ENODATA: the kernel's demand is not known, as something was assumed of its counts. */
int kc_shares_of(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts,
		 double footprint_bytes, double solo_ns, struct kc_shares *shares);

/* The largest of the shares. */
uint32_t kc_shares_most(const struct kc_shares *shares);
/* The same with shared memory and L1 as the one memory that they are (resources.h): their sum, by the name of what is
 * needed more of, and 0 by the other's. */
struct kc_shares kc_shares_joined(const struct kc_shares *shares);

/* Blocks of a launch on the SM that has most of them. */
double kc_resident_blocks(const struct kc_device *device, const struct kc_work *work);

/* What an SM's L1 has for these bytes of shared memory; 0: global memory goes past it. */
double kc_l1_bytes(const struct kc_device *device, double shared_bytes);

#endif
