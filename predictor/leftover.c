#include "leftover.h"

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
	uint64_t slots = (uint64_t)grid->active * sm_count;
	uint64_t rest = grid->blocks % slots;

	return (uint32_t)(rest ? rest : slots);
}

void kc_grid_init(struct kc_grid *grid, const struct kc_device *device, uint64_t blocks, uint32_t active,
		  const struct kc_footprint *block)
{
	*grid = (struct kc_grid){.blocks = blocks, .active = active, .block = *block};
	for (int r = 0; r < KC_SM_RESOURCES; r++)
		grid->inverse[r] = block->of[r] > 0 ? 1.0f / (float)block->of[r] : UNLIMITED;
	if (!active || !device->sm_count || !blocks)
		return;
	grid->waves = kc_waves(blocks, (uint64_t)active * device->sm_count);
	grid->last = kc_spread_evenly(last_wave(grid, device->sm_count), device->sm_count);
}

static void take(struct kc_footprint *from, const struct kc_footprint *block, int32_t blocks)
{
	for (int r = 0; r < KC_SM_RESOURCES; r++)
		from->of[r] -= block->of[r] * blocks;
}

/*
 * Quotients by reciprocal, without a division. Half a unit added keeps whole
 * quotients from falling below; it is exact while free < 2^21, and an SM has
 * at most 233,472 of anything.
 */
static uint32_t fitting(const struct kc_footprint *free, const struct kc_grid *next)
{
	int32_t blocks = (int32_t)next->active;

	for (int r = 0; r < KC_SM_RESOURCES; r++) {
		int32_t left = free->of[r] > 0 ? free->of[r] : 0;
		int32_t fit = (int32_t)(((float)left + 0.5f) * next->inverse[r]);

		blocks = fit < blocks ? fit : blocks;
	}
	return (uint32_t)blocks;
}

/* A place among the SMs where one resident's odd blocks end and the next one's begin. */
struct cut {
	uint32_t position;
	const struct kc_footprint *ends, *begins; /* NULL: none */
};

static void insert_cut(struct cut *cuts, unsigned count, struct cut cut)
{
	while (count && cuts[count - 1].position > cut.position) {
		cuts[count] = cuts[count - 1];
		count--;
	}
	cuts[count] = cut;
}

/*
 * The odd blocks follow one another round and round the SMs. Returns the cuts
 * in order of position; `free` becomes what is free just before SM 0.
 */
static unsigned find_cuts(struct cut *cuts, struct kc_footprint *free, uint32_t sm_count,
			  const struct kc_resident *residents, unsigned count)
{
	const struct kc_footprint *before = NULL;
	uint32_t position = 0;
	unsigned cut_count = 0;

	for (unsigned j = 0; j < count; j++) {
		const struct kc_resident *resident = &residents[j];

		take(free, &resident->block, (int32_t)resident->count.base);
		if (!resident->count.extra)
			continue;
		insert_cut(cuts, cut_count++, (struct cut){position, before, &resident->block});
		before = &resident->block;
		position += resident->count.extra;
		if (position >= sm_count) {
			position -= sm_count;
			take(free, before, 1);
		}
	}
	insert_cut(cuts, cut_count++, (struct cut){position, before, NULL});
	return cut_count;
}

uint32_t kc_leftover_slots_least(const struct kc_footprint *sm, uint32_t sm_count, const struct kc_resident *residents,
				 unsigned count, const struct kc_grid *next, uint32_t *least)
{
	struct cut cuts[KC_RESIDENTS_MAX + 1];
	struct kc_footprint free = *sm;
	unsigned cut_count = find_cuts(cuts, &free, sm_count, residents, count);
	uint32_t slots = 0, at = 0, fit;

	*least = next->active;
	for (unsigned i = 0; i < cut_count; i++) {
		if (cuts[i].position > at) {
			fit = fitting(&free, next);
			slots += (cuts[i].position - at) * fit;
			*least = fit < *least ? fit : *least;
		}
		at = cuts[i].position;
		if (cuts[i].ends)
			take(&free, cuts[i].ends, -1);
		if (cuts[i].begins)
			take(&free, cuts[i].begins, 1);
	}
	if (at < sm_count) {
		fit = fitting(&free, next);
		slots += (sm_count - at) * fit;
		*least = fit < *least ? fit : *least;
	}
	return slots;
}

uint32_t kc_leftover_slots(const struct kc_footprint *sm, uint32_t sm_count, const struct kc_resident *residents,
			   unsigned count, const struct kc_grid *next)
{
	uint32_t least;

	return kc_leftover_slots_least(sm, sm_count, residents, count, next, &least);
}

/* First on the fewest SMs: full ones, one with the rest, free ones. */
static uint32_t packed_slots(const struct kc_footprint *sm, uint32_t sm_count, const struct kc_grid *first,
			     const struct kc_grid *second)
{
	uint32_t blocks = first->last.base * sm_count + first->last.extra;
	uint32_t full = blocks / first->active, rest = blocks % first->active;
	struct kc_footprint beside_full = *sm, beside_rest = *sm;
	uint32_t slots;

	take(&beside_full, &first->block, (int32_t)first->active);
	take(&beside_rest, &first->block, (int32_t)rest);
	slots = full * fitting(&beside_full, second);
	if (rest)
		slots += fitting(&beside_rest, second);
	return slots + (sm_count - full - (rest != 0)) * second->active;
}

static uint32_t slots_beside(const struct kc_device *device, const struct kc_grid *first, const struct kc_grid *second,
			     enum kc_spreading spreading)
{
	struct kc_footprint sm = kc_sm_limits(device);
	struct kc_resident resident = {first->block, first->last};

	if (spreading == KC_PACKED)
		return packed_slots(&sm, device->sm_count, first, second);
	return kc_leftover_slots(&sm, device->sm_count, &resident, 1, second);
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
	out->slots = slots_beside(device, first, second, spreading);
	out->concurrency_case = pair_case(device, first, first_ns, out->slots);
	if (out->concurrency_case == KC_CASE_C)
		return 0;
	out->waves_limited = kc_waves(second->blocks, out->slots);
	out->slowdown = (double)out->waves_limited / (double)out->waves;
	return 0;
}
