/*
 * Two kernels on two streams of one device, launched at the same time: how long both take
 * together, and what that depends on.
 *
 *   kc_neighbour      one of them: its work, its time alone, its share of each resource
 *   kc_together       from the start of the first to the end of both, as a range, and why
 *
 * Where the second one's blocks find room beside the first one's, both share the SMs from
 * the start, and it takes at least
 *	T = max(T_a, T_b, the largest over the resources r of U_a,r T_a + U_b,r T_b)
 * with the shares U of shares.h; at most it takes as long as if sharing a resource slowed
 * both down alike. What both have in L1 or L2 must fit there: beyond that they are slower
 * together than one after the other, by factors. Where the first one's grid has more blocks
 * than the device holds, the left-over policy lets the second one begin in its last wave
 * only, and that is all that can overlap, whatever both need, if it is little of their time.
 *
 * Without the shares of both, and where one may lose what it has in a cache, no time is
 * told: it is one after the other that is sure.
 */
#ifndef KC_TOGETHER_H
#define KC_TOGETHER_H

#include "predictor/solo/resources/shares.h"

/* X(constant, key) */
#define KC_TOGETHER_WHYS(X)                                                                                            \
	X(APART, "apart")     /* they need different resources, or little of the same one */                           \
	X(SAME, "same")       /* both need `resource` */                                                               \
	X(TAIL, "tail")       /* the first one fills the device until its last wave */                                 \
	X(NO_ROOM, "no_room") /* the same, and its only wave ends at once */                                           \
	X(L1, "l1")           /* what both have in L1 is more than it holds */                                         \
	X(L2, "l2")                                                                                                    \
	X(UNKNOWN, "unknown") /* what one of them needs is not known */

enum kc_together_why {
#define X(constant, key) KC_TOGETHER_##constant,
	KC_TOGETHER_WHYS(X)
#undef X
	    KC_TOGETHER_WHY_COUNT,
};
const char *kc_together_why_key(uint32_t why);

struct kc_neighbour {
	const struct kc_work *work;
	double solo_ns;                 /* > 0 */
	const struct kc_shares *shares; /* NULL: not known */
};

struct kc_together {
	double serial_ns;           /* one after the other */
	double ns, low_ns, high_ns; /* NAN: not known */
	uint8_t is_slower;          /* than one after the other; by how much is not known */
	enum kc_together_why why;
	/* The resource that both need most, with its shares of their times; where they need different ones, that of
	 * each. */
	uint32_t resource[2];
	double share[2];
	double held_bytes[2], cache_bytes; /* where a cache is why */
	uint8_t is_unknown[2];             /* what this one needs */
};

/* first: launched just before second. 0; -EINVAL: one of the two cannot run, or has no time. */
int kc_together(const struct kc_device *device, const struct kc_neighbour *first, const struct kc_neighbour *second,
		struct kc_together *out);

/* From where on the second of two kernels finds room until the end of the first one, of more blocks than the device
 * holds at once, whose time alone that is. */
double kc_tail_ns(const struct kc_device *device, const struct kc_work *work, double solo_ns);

#endif
