#include "leftover.h"

#include "predictor/concurrency/rooms.h"

#include <errno.h>
#include <string.h>

/* Stands for 1 / 0: even what is used up allows as many blocks as an SM has
 * slots, and all that an SM has still makes a whole number of 32 bits. */
#define UNLIMITED 1000.0f

const char *kc_case_name(uint32_t concurrency_case)
{
	static const char *const names[] = {"alone", "A", "B", "C"};

	return concurrency_case < sizeof(names) / sizeof(names[0]) ? names[concurrency_case] : "unknown";
}

int kc_spreading_by_name(const char *name)
{
	if (!strcmp(name, "spread"))
		return KC_SPREAD;
	if (!strcmp(name, "packed"))
		return KC_PACKED;
	return -EINVAL;
}

uint64_t kc_waves(uint64_t blocks, uint64_t slots)
{
	return blocks / slots + (blocks % slots != 0);
}

struct kc_even kc_spread_evenly(uint32_t blocks, uint32_t sm_count)
{
	return (struct kc_even){.base = blocks / sm_count, .extra = blocks % sm_count};
}

/* Blocks of the last wave; all that fit where it is full. */
static uint32_t last_wave(const struct kc_grid *grid, uint32_t sm_count)
{
	uint64_t slots = kc_whole_clusters(grid, (uint64_t)grid->active * sm_count);
	uint64_t rest = grid->blocks % slots;

	return (uint32_t)(rest ? rest : slots);
}

static void find_waves(struct kc_grid *grid, const struct kc_device *device)
{
	grid->waves = kc_waves(grid->blocks, kc_whole_clusters(grid, (uint64_t)grid->active * device->sm_count));
	grid->last = kc_spread_evenly(last_wave(grid, device->sm_count), device->sm_count);
}

void kc_grid_init(struct kc_grid *grid, const struct kc_device *device, uint64_t blocks, uint32_t active,
		  const struct kc_footprint *block)
{
	*grid = (struct kc_grid){.blocks = blocks, .active = active, .cluster = 1, .block = *block};
	for (int r = 0; r < KC_SM_RESOURCES; r++)
		grid->inverse[r] = block->of[r] > 0 ? 1.0f / (float)block->of[r] : UNLIMITED;
	if (active && device->sm_count && blocks)
		find_waves(grid, device);
}

int kc_grid_cluster(struct kc_grid *grid, const struct kc_device *device, uint32_t cluster)
{
	if (cluster > (uint64_t)grid->active * device->sm_count)
		return -ERANGE;
	grid->cluster = cluster;
	find_waves(grid, device);
	return 0;
}

/* Algorithm 2: blocks of `next` that fit on one SM beside so many of the other. */
static uint32_t fitting_beside(const struct kc_device *device, const struct kc_grid *other, uint32_t blocks,
			       const struct kc_grid *next)
{
	struct kc_footprint sm = kc_sm_limits(device);

	return kc__fitting(kc__amounts_of(&sm) - kc__amounts_of(&other->block) * (float)blocks, next);
}

/* First over all SMs: some of them hold one block more. */
static uint32_t spread_slots(const struct kc_device *device, const struct kc_grid *first, const struct kc_grid *second)
{
	struct kc_even last = first->last;

	return last.extra * fitting_beside(device, first, last.base + 1, second) +
	       (device->sm_count - last.extra) * fitting_beside(device, first, last.base, second);
}

/* First on the fewest SMs: full ones, one with the rest, free ones. */
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

/* Algorithm 1. slots: what the first one's last wave leaves. */
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
