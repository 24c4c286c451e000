#include "grid.h"

#include <errno.h>

/* Stands for 1 / 0: an exhausted resource of which nothing is needed still allows as many blocks as an SM has slots,
 * and the quotient fits 32 bits. */
#define UNLIMITED 1000.0f

struct kc_even kc_spread_evenly(uint32_t blocks, uint32_t sm_count)
{
	return (struct kc_even){.base = blocks / sm_count, .extra = blocks % sm_count};
}

/* Blocks of the last wave; a full last wave counts all slots. */
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
