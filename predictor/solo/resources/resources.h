/*
 * The time of a launch from its demand on each resource of the GPU: the one function that
 * the engine's first prediction, `kerncast predict` and `kerncast explain` ask.
 *
 *   kc_resource         what a launch needs, and has to wait for
 *   kc_resource_times   how long each of them would take if it were the only one, and
 *                       all of them together
 *
 * A resource takes its demand over what the SMs that the launch can use deliver. Resources
 * work side by side, though never perfectly so: T = floor + (Σ T_r^p)^(1/p), which lies
 * between the longest of them and their sum. Load and store units, shared memory and L1
 * are one of them, the way to memory: the units, or both memories one after the other,
 * whichever takes longer. The latency of a thread's chain of dependent instructions is one
 * of them, as often as waves follow each other: it is what limits launches of few blocks.
 *
 * No function here allocates, locks or reads a clock.
 */
#ifndef KC_RESOURCES_H
#define KC_RESOURCES_H

#include "predictor/code/counts.h"
#include "predictor/solo/work.h"

/* X(constant, key in JSON, name). */
#define KC_RESOURCES(X)                                                                                                \
	X(ISSUE, "issue", "issue slots")                                                                               \
	X(FP16, "fp16", "FP16 units")                                                                                  \
	X(FP32, "fp32", "FP32 units")                                                                                  \
	X(FP64, "fp64", "FP64 units")                                                                                  \
	X(INTEGER, "integer", "integer units")                                                                         \
	X(SPECIAL, "special", "special functions, conversions")                                                        \
	X(TENSOR, "tensor", "tensor cores")                                                                            \
	X(LOAD_STORE, "load_store", "load and store units")                                                            \
	X(SHARED, "shared", "shared memory")                                                                           \
	X(L1, "l1", "L1 cache")                                                                                        \
	X(CONSTANT, "constant", "constant memory")                                                                     \
	X(L2, "l2", "L2 cache")                                                                                        \
	X(DRAM, "dram", "device memory")                                                                               \
	X(ATOMICS, "atomics", "atomics")                                                                               \
	X(BLOCKS, "blocks", "starting blocks")                                                                         \
	X(LATENCY, "latency", "latency")

enum kc_resource {
#define X(constant, key, name) KC_RESOURCE_##constant,
	KC_RESOURCES(X)
#undef X
	    KC_RESOURCE_COUNT,
};
const char *kc_resource_name(uint32_t resource); /* for people */
const char *kc_resource_key(uint32_t resource);

struct kc_resource_times {
	double ns[KC_RESOURCE_COUNT];
	double floor_ns; /* the shortest time a kernel can take */
	double total_ns; /* of all, with the floor */
	uint32_t limit;  /* the resource that takes longest */
};

/* work: of the launch, from kc_work_init(). 0; -ENODATA: the counts come to no work, or the device's clock or number of
 * SMs is not known; times are then those of an empty kernel. */
int kc_resource_times(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts,
		      struct kc_resource_times *times);

/* Half width of the 90 % interval in log time, before anything was measured. times: of these counts. */
float kc_resource_half_width(const struct kc_counts *counts, const struct kc_resource_times *times);

/* No launch of these counts is faster: the longest that one resource needs for what must at least be done, at the peak
 * that documents tell, after the shortest time of an empty kernel. *by: that resource; KC_RESOURCE_COUNT: an empty
 * kernel takes longer. 0: the counts are not exact. */
double kc_resource_bound_ns(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts,
			    uint32_t *by);

/* That, or an empty kernel, if it takes longer: what comes to no work takes as long as one. Also where a part of the
 * launch was evaluated for all of it, and nothing is assumed. */
double kc_resource_least_ns(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts);

/* Where the interval of an estimate begins that is a factor of `width` wide to each side. */
double kc_resource_low_ns(double estimate_ns, double width, double least_ns);

/* Of a device: as measured (`kerncast calibrate`), or else by its compute capability. */
double kc_resource_floor_ns(const struct kc_device *device);

#endif
