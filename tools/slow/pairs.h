/*
 * What launches of a kernel lost to something else each: another kernel that ran beside it, a process that is slower.
 */
#ifndef KC_SLOW_PAIRS_H
#define KC_SLOW_PAIRS_H

#include "store/common/ids/intern.h"
#include "store/query/rows.h"

#include <stddef.h>
#include <stdint.h>

struct kc_slow_pair {
	uint32_t kernel, other;
	uint64_t launches;
	double lost_ns;
};

/* Starts as zeros. */
struct kc_slow_pairs {
	struct kc__list list; /* struct kc_slow_pair */
	struct kc_intern ids;
};

/* Counts a launch. 0 or -ENOMEM. */
int kc_slow_pair_add(struct kc_slow_pairs *pairs, uint32_t kernel, uint32_t other, double lost_ns);
/* By kernel, then most time lost first. None may be added afterwards. */
void kc_slow_pairs_sort(struct kc_slow_pairs *pairs);
/* Those of a kernel, once they are sorted; how many is put into *count. */
const struct kc_slow_pair *kc_slow_pairs_of(const struct kc_slow_pairs *pairs, uint32_t kernel, size_t *count);
void kc_slow_pairs_free(struct kc_slow_pairs *pairs);

#endif
