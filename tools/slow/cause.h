/* Why launches take longer than they should. */
#ifndef KC_SLOW_CAUSE_H
#define KC_SLOW_CAUSE_H

#include <stdint.h>

enum kc_slow_cause {
	KC_SLOW_SIZE,        /* a launch shape that its kernel did not have before */
	KC_SLOW_FIRST,       /* first launch of the kernel in its process */
	KC_SLOW_OVERLAP,     /* other kernels ran at the same time */
	KC_SLOW_UNEXPLAINED, /* none of these */
	KC_SLOW_DRIFT,       /* slower than in other parts of this run */
	KC_SLOW_SLOWER,      /* the launch shape is slower than in earlier runs (compare.h) */
	KC_SLOW_PROCESS,     /* slower throughout, or from some launch on, than in other processes of this run */
	KC_SLOW_CAUSES,
};

struct kc_slow_sum {
	uint64_t launches;
	double ns;
};

/* "new_size", "slower_than_before", "drift", "first_launch", "overlap", "unexplained", "slower_process" */
const char *kc_slow_cause_name(enum kc_slow_cause cause);

static inline void kc_slow_sum_add(struct kc_slow_sum *sum, double ns)
{
	sum->launches++;
	sum->ns += ns;
}

#endif
