#include "models.h"

#include <errno.h>
#include <math.h>

static void set_boathull(const struct kc_device *device, const struct kc_counts *counts, struct kc_model_times *times)
{
	struct kc_boathull_machine machine = kc_boathull_machine_of(device);
	struct kc_boathull_kernel kernel = kc_boathull_kernel_of(counts);
	struct kc_boathull_work work;
	struct kc_boathull_time time;

	times->boathull_class = kernel.class;
	times->boathull_low_ns = times->boathull_high_ns = NAN;
	if (kc_boathull_work(kernel.class, &kernel.size, &work) < 0 || !(machine.coalesced_gbps > 0))
		return;
	time = kc_boathull_ns(&machine, &work, kernel.complexity, kernel.use);
	times->boathull_low_ns = time.low_ns;
	times->boathull_high_ns = time.high_ns;
}

int kc_model_times(const struct kc_device *device, uint64_t blocks, uint32_t threads_per_block,
		   const struct kc_counts *counts, double lambda, struct kc_model_times *times)
{
	struct kc_bsp_machine bsp = kc_bsp_machine_of(device);
	struct kc_bsp_kernel kernel = kc_bsp_kernel_of(device, counts);
	struct kc_cycle_machine cycle = kc_cycle_machine_of(device);
	struct kc_cycle_thread thread = kc_cycle_thread_of(device, counts);
	struct kc_cycle_bounds bounds;
	struct kc_roofline roofline;

	if (!blocks || !threads_per_block || !device->sm_count || !device->cores_per_sm || !device->clock_khz ||
	    !(lambda > 0))
		return -EINVAL;
	bounds = kc_cycle_ns(&cycle, &thread, blocks, threads_per_block);
	roofline = kc_roofline_ns(device, counts);
	*times = (struct kc_model_times){
	    .bsp_ns = kc_bsp_ns(&bsp, &kernel, lambda),
	    .cycle_max_ns = bounds.max_ns,
	    .cycle_sum_ns = bounds.sum_ns,
	    .roofline_low_ns = roofline.low_ns,
	    .roofline_high_ns = roofline.high_ns,
	};
	set_boathull(device, counts, times);
	return 0;
}
