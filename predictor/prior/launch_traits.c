#include "launch_traits.h"

#include <math.h>

#define WORD_BYTES 4.0
#define GIGA 1e9

static float log_of(double x)
{
	return (float)log(fmax(x, 1));
}

double kc_prior_speed(const struct kc_device *device)
{
	double clock_ghz = device->clock_khz / 1e6;
	double bandwidth = (double)device->memory_bytes_per_s / GIGA;

	return sqrt(fmax(bandwidth, 1) * fmax(device->sm_count, 1) * fmax(clock_ghz, 1e-3));
}

void kc_launch_traits(float traits[KC_TRAITS], const struct kc_device *device, const struct kc_work *work,
		      const struct kc_shape *shape, const struct kc_name_traits *name)
{
	double speed = kc_prior_speed(device), threads = (double)work->blocks * work->threads_per_block;
	double bytes_per_ns = fmax((double)device->memory_bytes_per_s / GIGA, 1);
	uint32_t warp = device->warp_size ? device->warp_size : 32;

	traits[KC_TRAIT_WAVES] = (float)log(fmax(work->waves, 1e-6));
	traits[KC_TRAIT_BLOCKS] = log_of((double)work->blocks);
	traits[KC_TRAIT_THREADS] = log_of(threads);
	traits[KC_TRAIT_BLOCK_THREADS] = (float)work->threads_per_block;
	traits[KC_TRAIT_REGISTERS] = (float)work->registers;
	traits[KC_TRAIT_SHARED] = (float)log1p(work->shared_bytes);
	traits[KC_TRAIT_WARPS] = (float)work->blocks_per_sm * (float)((work->threads_per_block + warp - 1) / warp);
	traits[KC_TRAIT_GRID_X] = log_of(shape->grid[0]);
	traits[KC_TRAIT_GRID_Y] = log_of(shape->grid[1]);
	traits[KC_TRAIT_GRID_Z] = log_of(shape->grid[2]);
	traits[KC_TRAIT_BLOCK_X] = log_of(shape->block[0]);
	traits[KC_TRAIT_BLOCK_Y] = log_of(shape->block[1]);
	traits[KC_TRAIT_NOMINAL] = (float)log(fmax(work->unit_ns * speed, 1e-6));
	traits[KC_TRAIT_TRAFFIC] = (float)log(fmax(threads * WORD_BYTES / bytes_per_ns * speed, 1e-6));
	traits[KC_TRAIT_TILE] = name->log_tile;
	traits[KC_TRAIT_DEPTH] = name->log_depth;
	traits[KC_TRAIT_OUTPUT] = name->log_tile > 0 ? name->log_tile + traits[KC_TRAIT_BLOCKS] : 0;
	traits[KC_TRAIT_NAME_WORDS] = (float)name->count;
}
