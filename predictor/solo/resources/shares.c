#include "shares.h"

#include "predictor/device/units.h"

#include <errno.h>
#include <math.h>

#define PARTITIONS 4.0 /* of an SM; a warp stays in one */

/* More loads than this for each byte that differs are loads of what was there before. */
#define REUSED 1.1

/* Where all that a kernel asks for takes so small a part of its time, even from device memory, it loses nothing with
 * the caches. A load from there takes 466 to 558 cycles (resources.c). */
#define NEXT_TO_NOTHING 0.02
#define DEVICE_MEMORY_CYCLES 600.0

/* L1 and shared memory together. Source: CUDA C++ programming guide, "Unified data cache" of each compute capability;
 * before 7.0 global memory goes past L1. */
static double unified_bytes(const struct kc_device *device)
{
	static const struct {
		uint32_t major, minor;
		double kib;
	} rows[] = {{7, 0, 128}, {7, 5, 96},  {8, 0, 192}, {8, 6, 128},
		    {8, 7, 192}, {8, 9, 128}, {9, 0, 256}, {12, 0, 128}};
	double kib = 0;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].major < device->cc_major ||
		    (rows[i].major == device->cc_major && rows[i].minor <= device->cc_minor))
			kib = rows[i].kib;
	return kib * 1024;
}

double kc_l1_bytes(const struct kc_device *device, double shared_bytes)
{
	return fmax(unified_bytes(device) - shared_bytes, 0);
}

double kc_resident_blocks(const struct kc_device *device, const struct kc_work *work)
{
	return fmin(work->blocks_per_sm, ceil((double)work->blocks / device->sm_count));
}

/* What its own blocks leave of L1 on an SM. */
static double own_l1_bytes(const struct kc_device *device, const struct kc_work *work)
{
	return kc_l1_bytes(device, work->shared_bytes * kc_resident_blocks(device, work));
}

/* Bytes of the launch that its threads ask for. */
struct asked {
	double loaded, stored;
};

static struct asked asked_of(const struct kc_counts *counts)
{
	return (struct asked){counts->threads * counts->of[KC_COUNT_OF_BYTES_LOADED],
			      counts->threads * counts->of[KC_COUNT_OF_BYTES_STORED]};
}

static struct kc_held held(double bytes, double room, int is_reused)
{
	if (!is_reused)
		return (struct kc_held){bytes, KC_REUSE_NONE};
	return (struct kc_held){bytes, bytes <= room ? KC_REUSE_HELD : KC_REUSE_UNKNOWN};
}

/* Where it is not known which bytes are the same, all may be, and all that is asked for may differ. */
static void hold_by_counts(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts,
			   struct kc_shares *shares)
{
	struct asked asked = asked_of(counts);
	double resident = kc_resident_blocks(device, work), blocks = (double)work->blocks;
	double by_block = counts->block_loaded_bytes > 0 ? counts->block_loaded_bytes : asked.loaded;
	double stored =
	    counts->distinct_stored_bytes > 0 ? fmin(counts->distinct_stored_bytes, asked.stored) : asked.stored;
	double loaded = counts->distinct_loaded_bytes > 0 ? counts->distinct_loaded_bytes : asked.loaded;
	int is_told_of_blocks = counts->block_loaded_bytes > 0, is_told = counts->distinct_loaded_bytes > 0;

	if (!(asked.loaded > 0))
		is_told_of_blocks = is_told = 1;
	shares->l1 = held(resident * (by_block + stored) / blocks, own_l1_bytes(device, work),
			  !is_told_of_blocks || asked.loaded > REUSED * by_block);
	shares->l1.bytes = (by_block + stored) / blocks;
	shares->l2 = held(loaded + stored, device->l2_bytes, !is_told || by_block > REUSED * loaded);
}

/* A block comes back to a byte after its whole footprint: a cache that this does not fit into has lost it by then. The
 * counts, of which a copy is made for it, then tell what differs: what the next level is asked for. */
static struct kc_counts hold_by_footprint(const struct kc_device *device, const struct kc_work *work,
					  const struct kc_counts *counts, double footprint_bytes,
					  struct kc_shares *shares)
{
	struct kc_counts told = *counts;
	struct asked asked = asked_of(counts);
	double all = asked.loaded + asked.stored, of_loads = all > 0 ? asked.loaded / all : 0;
	double resident = kc_resident_blocks(device, work), blocks = (double)work->blocks;
	double at_once = footprint_bytes * fmin(blocks, resident * device->sm_count);
	int is_reused = all > REUSED * footprint_bytes * blocks;

	shares->l1 = held(resident * footprint_bytes, own_l1_bytes(device, work), is_reused);
	shares->l1.bytes = footprint_bytes;
	shares->l2 = held(at_once, device->l2_bytes, is_reused);
	told.block_loaded_bytes = shares->l1.reuse == KC_REUSE_HELD ? of_loads * footprint_bytes * blocks : 0;
	told.distinct_loaded_bytes = told.distinct_stored_bytes = 0;
	if (shares->l2.reuse == KC_REUSE_HELD) {
		told.distinct_loaded_bytes = of_loads * footprint_bytes * blocks;
		told.distinct_stored_bytes = (1 - of_loads) * footprint_bytes * blocks;
	}
	if (shares->l1.reuse == KC_REUSE_UNKNOWN)
		shares->l1.reuse = KC_REUSE_NONE;
	if (shares->l2.reuse == KC_REUSE_UNKNOWN)
		shares->l2.reuse = KC_REUSE_NONE;
	return told;
}

static int asks_for_next_to_nothing(const struct kc_device *device, const struct kc_work *work,
				    const struct kc_counts *counts, double solo_ns)
{
	struct asked asked = asked_of(counts);
	double bandwidth_ns = (asked.loaded + asked.stored) / kc_device_bandwidth(device) * 1e9;
	double latency_ns =
	    counts->of[KC_COUNT_OF_LD_GLOBAL] * ceil(work->waves) * DEVICE_MEMORY_CYCLES * 1e6 / device->clock_khz;

	return bandwidth_ns + latency_ns < NEXT_TO_NOTHING * solo_ns;
}

/* Part of an SM on which the launch has warps, for which kc_resource_times() has the units alone. */
static double partitions_of(const struct kc_device *device, const struct kc_work *work)
{
	double warps = ceil((double)work->threads_per_block / KC_WARP_LANES);

	return fmin(kc_resident_blocks(device, work) * warps / PARTITIONS, 1);
}

/* SMs that would be busy all the time, as kc_resource_times() has them. */
static double busy_sms(const struct kc_device *device, const struct kc_work *work)
{
	return (double)work->blocks / ceil((double)work->blocks / device->sm_count);
}

static double of_what_it_delivers(const struct kc_device *device, const struct kc_work *work, uint32_t resource)
{
	switch (resource) {
	case KC_RESOURCE_LATENCY:
		return 0;
	case KC_RESOURCE_L2:
		return busy_sms(device, work) / device->sm_count;
	case KC_RESOURCE_SHARED:
	case KC_RESOURCE_L1:
	case KC_RESOURCE_CONSTANT:
	case KC_RESOURCE_DRAM:
	case KC_RESOURCE_ATOMICS:
	case KC_RESOURCE_BLOCKS:
		return 1;
	default:
		return partitions_of(device, work);
	}
}

int kc_shares_of(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts,
		 double footprint_bytes, double solo_ns, struct kc_shares *shares)
{
	struct kc_counts told = *counts;
	struct kc_resource_times times;

	*shares = (struct kc_shares){0};
	if (!kc_counts_are_known(counts) || !(solo_ns > 0) || !device->sm_count)
		return -ENODATA;
	if (footprint_bytes >= 0)
		told = hold_by_footprint(device, work, counts, footprint_bytes, shares);
	else
		hold_by_counts(device, work, counts, shares);
	if (kc_resource_times(device, work, &told, &times) < 0)
		return -ENODATA;
	if (asks_for_next_to_nothing(device, work, counts, solo_ns))
		shares->l1.reuse = shares->l2.reuse = KC_REUSE_NONE;
	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++)
		shares->of[r] = fmin(times.ns[r] * of_what_it_delivers(device, work, r) / solo_ns, 1);
	return 0;
}

uint32_t kc_shares_most(const struct kc_shares *shares)
{
	uint32_t most = 0;

	for (uint32_t r = 1; r < KC_RESOURCE_COUNT; r++)
		if (shares->of[r] > shares->of[most])
			most = r;
	return most;
}

struct kc_shares kc_shares_joined(const struct kc_shares *shares)
{
	struct kc_shares joined = *shares;
	double *shared = &joined.of[KC_RESOURCE_SHARED], *l1 = &joined.of[KC_RESOURCE_L1], sum = fmin(*shared + *l1, 1);
	int is_l1 = *l1 > *shared;

	*shared = is_l1 ? 0 : sum;
	*l1 = is_l1 ? sum : 0;
	return joined;
}
