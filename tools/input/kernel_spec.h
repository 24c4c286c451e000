/*
 * A kernel as one writes it on the command line:
 *
 *	blocks=110,threads=256,regs=16,smem=1024,time=1.5ms
 *
 * blocks and threads are required. Registers per thread, bytes of shared memory
 * per block, blocks per cluster (cluster=2) and the solo time are optional. Times
 * have a unit: ns, us, ms or s.
 */
#ifndef KC_KERNEL_SPEC_H
#define KC_KERNEL_SPEC_H

#include "predictor/solo/forecast.h"

#include <stddef.h>
#include <stdint.h>

struct kc_kernel_spec {
	const char *text; /* as given */
	uint32_t blocks, threads, registers, shared_bytes, cluster_blocks;
	int64_t time_ns; /* 0: not given */
};

/* A time above 0 with its unit, "1.5ms". 0 or -EINVAL. */
int kc_time_ns(const char *text, int64_t *out);

/* 0, or -EINVAL with a sentence in why. Keeps text. */
int kc_kernel_spec(const char *text, struct kc_kernel_spec *out, char *why, size_t why_size);

/* The kernel on a device. 0, or -ERANGE: it cannot run there, and why says what is too much. */
int kc_kernel_spec_work(const struct kc_kernel_spec *spec, const struct kc_device *device, struct kc_work *work,
			char *why, size_t why_size);

/* The same for any launch. */
int kc_shape_work(const struct kc_resources *resources, const struct kc_shape *shape, const struct kc_device *device,
		  struct kc_work *work, char *why, size_t why_size);

#endif
