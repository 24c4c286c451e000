/*
 * Which launches are asked for. While none are (--after, --for, --while, --signal) recording is paused: the hooks count
 * launches and pass them on, the timeline is not told of them, and CUPTI measures nothing. Of those made meanwhile,
 * --kernel and --every choose: the others are predicted, put on the timeline, measured and learned from as ever, so
 * that what is said of the chosen ones is as true as without a choice; they are not stored.
 */
#ifndef KC_SHIM_SELECTION_H
#define KC_SHIM_SELECTION_H

#include "shim/shim.h"

#define KC__NEVER UINT32_MAX

/* Before the worker begins; start_lock held. Returns the stage to begin with. */
enum kc__stage kc__selection_begin(void);
void kc__selection_forget(void); /* fork child */

/* Worker: pauses and resumes. awaiting: recorded launches are still to be measured. */
void kc__selection_step(int64_t now_ns, bool awaiting);
/* Worker: the slot is final, and not stored. */
void kc__selection_leaves_out(struct kc_slot *slot);
/* Worker: a record without a launch is of one that was not asked for. */
bool kc__selection_explains(bool is_kernel);

/* Of a kernel met for the first time: kc__kernel.every. tables_lock held. */
uint32_t kc__selection_every(const char *name);

/* Launch path */

/* A launch of so many kernels was made while paused, for which so many records may come all the same. The next launch
 * may be recorded. */
void kc__passed_over(uint64_t kernels, uint64_t records);
/* At stage KC__COUNTED: whether such a launch is still recorded. If not, it has been counted. */
bool kc__selection_takes(uint64_t kernels, uint64_t records);
/* So many records will come of a launch that has no slot, and is counted elsewhere. */
void kc__selection_expects(uint64_t records);
/* Whether this launch of a kernel of which not every one is asked for is not, which is counted then. */
bool kc__selection_skips(struct kc__kernel *kernel);

#endif
