#include "leftover.h"

#include <errno.h>
#include <string.h>

int kc_spreading_by_name(const char *name)
{
	if (!strcmp(name, "spread"))
		return KC_SPREAD;
	if (!strcmp(name, "packed"))
		return KC_PACKED;
	return -EINVAL;
}

/* Algorithm 2: blocks of `next` that fit on one SM beside so many blocks of the other kernel. */
static uint32_t fitting_beside(const struct kc_device *device, const struct kc_grid *other, uint32_t blocks,
			       const struct kc_grid *next)
{
	struct kc_footprint sm = kc_sm_limits(device);

	return kc__blocks_fitting(kc__amounts_of(&sm) - kc__amounts_of(&other->block) * (float)blocks, next);
}

/* The first kernel on all SMs: some of them hold one block more. */
static uint32_t spread_slots(const struct kc_device *device, const struct kc_grid *first, const struct kc_grid *second)
{
	struct kc_even last = first->last;

	return last.extra * fitting_beside(device, first, last.base + 1, second) +
	       (device->sm_count - last.extra) * fitting_beside(device, first, last.base, second);
}

/* The first kernel on the fewest SMs: some are full, one holds the rest, the others are free. */
static uint32_t packed_slots(const struct kc_device *device, const struct kc_grid *first, const struct kc_grid *second)
{
	uint32_t blocks = first->last.base * device->sm_count + first->last.extra;
	uint32_t full = blocks / first->active, rest = blocks % first->active;
	uint32_t slots = full * fitting_beside(device, first, first->active, second);

	if (rest)
		slots += fitting_beside(device, first, rest, second);
	return slots + (device->sm_count - full - (rest != 0)) * second->active;
}

static uint32_t slots_beside(const struct kc_device *device, const struct kc_grid *first, const struct kc_grid *second,
			     enum kc_spreading spreading)
{
	return spreading == KC_PACKED ? packed_slots(device, first, second) : spread_slots(device, first, second);
}

/* Algorithm 1. slots: what the last wave of the first kernel leaves. */
static enum kc_case pair_case(const struct kc_device *device, const struct kc_grid *first, double first_ns,
			      uint32_t slots)
{
	if (first_ns > 0 && first_ns <= device->launch_overhead_ns)
		return KC_CASE_C;
	if (!slots)
		return KC_CASE_C;
	return first->waves == 1 ? KC_CASE_A : KC_CASE_B;
}

int kc_leftover_pair(struct kc_leftover *out, const struct kc_device *device, const struct kc_grid *first,
		     double first_ns, const struct kc_grid *second, enum kc_spreading spreading)
{
	if (!first->waves || !second->waves)
		return -EINVAL;
	*out = (struct kc_leftover){.waves = second->waves, .waves_limited = second->waves, .slowdown = 1};
	out->slots = (uint32_t)kc_whole_clusters(second, slots_beside(device, first, second, spreading));
	out->concurrency_case = pair_case(device, first, first_ns, out->slots);
	if (out->concurrency_case == KC_CASE_C)
		return 0;
	out->waves_limited = kc_waves(second->blocks, out->slots);
	out->slowdown = (double)out->waves_limited / (double)out->waves;
	return 0;
}
