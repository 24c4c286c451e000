/*
 * --measure=adaptive: launches that are known well are measured in windows.
 *
 * CUPTI measures every launch or none. While much of what is launched is not known well, it measures all. Once nearly
 * all of it is known well, it rests, and is switched on for a window now and then, in which a change is found: all
 * launches, or those of one kernel, take longer than predicted, or shorter. A launch is known well while the measured
 * durations of launches like it lie in their intervals; where that does not come about, for so long as more measuring
 * may help.
 *
 *   learning --nearly all is known well--> draining --what was launched before is measured--> resting
 *      ^                                      ^                                                  |
 *      '---much is new or has changed--- window <---what is new, or in any case after a while----'
 *
 * Launching threads keep to a window's share themselves: many launches may be made until the worker looks again.
 *
 * From draining on, launches are recorded as KC_KNOWN_WELL and not as measured, and predicted as ever. So no kernel
 * that is to be measured runs while CUPTI is switched: it would get a wrong end
 * (github.com/pytorch/kineto/pull/1105).
 */
#ifndef KC_SHIM_WINDOWS_H
#define KC_SHIM_WINDOWS_H

#include "shim/shim.h"
#include "window.h"

void kc__windows_begin(void);
struct kc__join;
void kc__windows_step(int64_t now_ns, const struct kc__join *join); /* worker */
/* Worker: a slot that is not to be measured is done with. A record may come for it all the same. */
void kc__windows_passed(const struct kc_slot *slot);
/* Worker: a record without a launch is of one that was not to be measured. */
bool kc__windows_explain(bool is_kernel);
/* An entry of what was learned takes a slot of the journal. */
void kc__windows_put(void);
/* Worker: a launch of a variant has been measured, and its interval was this. */
void kc__windows_measured(struct kc__variant *variant, const struct kc_launch *launch, int64_t low_ns, int64_t high_ns);
/* Worker: whether a kernel that overlapped no measured one may have overlapped one that was not. */
bool kc__windows_unclear(const struct kc_launch *launch);

static inline bool kc__windows_knows_well(const struct kc__variant *variant)
{
	return atomic_load_explicit(&variant->known_well, memory_order_relaxed);
}

/* Launch path: a launch of what is known well is made in a window that has a share. */
void kc__windows_take_share(struct kc_launch *launch);

/* Launch path, before a prediction: a launch that will not be measured is not awaited either. */
static inline void kc__windows_meet(struct kc__variant *variant, struct kc_launch *launch,
				    struct kc_prediction_request *request)
{
	bool known_well;

	if (!kc__shim.adaptive)
		return;
	known_well = kc__windows_knows_well(variant);
	if (known_well && launch->unmeasured == KC_MEASURED &&
	    atomic_load_explicit(&kc__shim.window.shares, memory_order_relaxed))
		kc__windows_take_share(launch);
	request->outstanding = launch->unmeasured == KC_KNOWN_WELL ? NULL : &variant->engine.outstanding;
	if (known_well)
		return;
	atomic_fetch_add_explicit(&kc__shim.not_known_well, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&kc__shim.not_known_well_ns, (uint64_t)request->solo.ns, memory_order_relaxed);
}

#endif
