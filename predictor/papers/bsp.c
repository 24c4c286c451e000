#include "bsp.h"

#include "predictor/math/duration.h"
#include "predictor/device/throughput.h"

double kc_bsp_thread_cycles(const struct kc_bsp_kernel *k)
{
	double shared = (k->shared_loads + k->shared_stores) * KC_BSP_SHARED_CYCLES;
	double missing = k->global_loads + k->global_stores - k->l1_hits - k->l2_hits;
	double global = missing * KC_BSP_GLOBAL_CYCLES + k->l1_hits * KC_BSP_L1_CYCLES + k->l2_hits * KC_BSP_L2_CYCLES;

	return k->compute_cycles + global + shared;
}

double kc_bsp_ns(const struct kc_bsp_machine *machine, const struct kc_bsp_kernel *kernel, double lambda)
{
	return kernel->threads * kc_bsp_thread_cycles(kernel) / (machine->clock_hz * machine->cores * lambda) *
	       KC__NS_PER_S;
}

struct kc_bsp_machine kc_bsp_machine_of(const struct kc_device *device)
{
	return (struct kc_bsp_machine){
	    .clock_hz = device->clock_khz * 1e3,
	    .cores = (double)device->sm_count * device->cores_per_sm,
	};
}

struct kc_bsp_kernel kc_bsp_kernel_of(const struct kc_device *device, const struct kc_counts *counts)
{
	const double *n = counts->of;
	double local = n[KC_COUNT_OF_LD_LOCAL] + n[KC_COUNT_OF_ST_LOCAL];

	return (struct kc_bsp_kernel){
	    .threads = counts->threads,
	    .compute_cycles = kc_throughput_cycles(device, counts),
	    .shared_loads = n[KC_COUNT_OF_LD_SHARED] + n[KC_COUNT_OF_ATOMICS_SHARED],
	    .shared_stores = n[KC_COUNT_OF_ST_SHARED],
	    .global_loads = n[KC_COUNT_OF_LD_GLOBAL] + local + n[KC_COUNT_OF_ATOMICS] - n[KC_COUNT_OF_ATOMICS_SHARED],
	    .global_stores = n[KC_COUNT_OF_ST_GLOBAL],
	    .l1_hits = local,
	};
}
