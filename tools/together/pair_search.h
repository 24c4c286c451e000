/*
 * The kernels of a run that took most time, two at a time: what they would gain on two
 * streams, and how they were measured to run together.
 *
 *   kc_pair_kernel   a kernel, as the launch shape and arguments that took most of its time
 *   kc_pair          two of them, or one beside itself; in the order that is better, as far as
 *                    that is known
 *   kc_pair_search   the run, its kernels, their pairs
 *
 * What a kernel needs is known where its code told its work (table `work`). Its time alone is
 * the median of the launches that ran alone, of the same shape and arguments; of all of these,
 * if none did.
 */
#ifndef KC_PAIR_SEARCH_H
#define KC_PAIR_SEARCH_H

#include "launch_groups.h"

#include "predictor/concurrency/together.h"
#include "store/query/report/launch_demand.h"
#include "tools/diff/side.h"

#define KC_PAIR_KERNELS_MAX 26u /* as many as letters */

struct kc_pair_kernel {
	struct kc_group_kernel of;
	uint32_t beside; /* bits: of the kernels that were launched on one of its GPUs, too */
	int is_placed;   /* the GPU is known, and how the launch lies on it */
	int is_known;    /* shares are filled in */
	struct kc_launch_demand demand;
	struct kc_shares shares;
};

struct kc_pair {
	unsigned first, second; /* of the kernels */
	struct kc_together together;
	uint64_t measured;      /* how often a launch of one was measured to run at the same time as one of the other */
	uint64_t by_themselves; /* of these, beside no other kernel */
	double measured_gain;   /* median of these, of their times alone; NAN: of none of them are both known */
};

/* Starts as zeros. */
struct kc_pair_search {
	struct kc_side side;
	struct kc_measured_names names;
	struct kc_pair_kernel kernels[KC_PAIR_KERNELS_MAX];
	unsigned count;
	struct kc_pair pairs[KC_PAIR_KERNELS_MAX * (KC_PAIR_KERNELS_MAX + 1) / 2];
	unsigned pair_count;    /* of kernels that a GPU has both run, the largest gain that is sure first */
	uint64_t other_kernels; /* that were not asked for, with the share of the time that they took */
	double other_share;
};

struct kc_pair_asked {
	const char *run; /* NULL: the latest */
	const struct kc_filter_choice *filter;
	const struct kc_device *device; /* the GPU, where the database does not tell it; NULL: not known either */
	unsigned most;                  /* kernels, at most KC_PAIR_KERNELS_MAX */
};

/* search->side must be open. What is wrong is reported on stderr. An exit status. */
int kc_pair_search(struct kc_pair_search *search, const struct kc_pair_asked *asked);
void kc_pair_search_free(struct kc_pair_search *search);

/* Of a kernel's number, its place in search->kernels; search->count: it is none of them. */
unsigned kc_pair_kernel_at(const struct kc_pair_search *search, uint32_t kernel);
struct kc_neighbour kc_pair_neighbour(const struct kc_pair_kernel *kernel);

#endif
