#include "cycle.h"

#include "predictor/device/units.h"
#include "predictor/math/duration.h"
#include "predictor/device/throughput.h"

#include <math.h>

static double cycles_to_ns(const struct kc_cycle_machine *machine, double blocks_per_sm, double warps, double cycles)
{
	double busy = blocks_per_sm * warps * KC_WARP_LANES * cycles / (machine->depth * machine->cores_per_sm);

	return busy / machine->clock_hz * KC__NS_PER_S;
}

struct kc_cycle_bounds kc_cycle_ns(const struct kc_cycle_machine *machine, const struct kc_cycle_thread *thread,
				   uint64_t blocks, uint32_t threads_per_block)
{
	double blocks_per_sm = ceil((double)blocks / machine->sm_count);
	double warps = ceil((double)threads_per_block / KC_WARP_LANES);
	double longer = fmax(thread->compute_cycles, thread->memory_cycles);

	return (struct kc_cycle_bounds){
	    .max_ns = cycles_to_ns(machine, blocks_per_sm, warps, longer),
	    .sum_ns = cycles_to_ns(machine, blocks_per_sm, warps, thread->compute_cycles + thread->memory_cycles),
	};
}

struct kc_cycle_machine kc_cycle_machine_of(const struct kc_device *device)
{
	return (struct kc_cycle_machine){
	    .sm_count = device->sm_count,
	    .cores_per_sm = device->cores_per_sm,
	    .depth = KC_CYCLE_DEPTH,
	    .clock_hz = device->clock_khz * 1e3,
	};
}

struct kc_cycle_thread kc_cycle_thread_of(const struct kc_device *device, const struct kc_counts *counts)
{
	const double *n = counts->of;
	double per_sm_cycle = KC_CYCLE_DEPTH * device->cores_per_sm; /* thread cycles that an SM completes per cycle */
	double bytes_per_sm_cycle = kc_device_bandwidth(device) / device->sm_count / (device->clock_khz * 1e3);
	double global = bytes_per_sm_cycle > 0 ? n[KC_COUNT_OF_SECTORS] * KC_SECTOR_BYTES / bytes_per_sm_cycle : 0;

	return (struct kc_cycle_thread){
	    .compute_cycles = KC_CYCLE_ADD * kc_throughput_cycles(device, counts),
	    .memory_cycles = per_sm_cycle * (global + n[KC_COUNT_OF_SHARED_PASSES]),
	};
}
