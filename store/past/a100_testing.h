/* For tests of what is learned: the GPU that it is learned on. */
#ifndef KC_A100_TESTING_H
#define KC_A100_TESTING_H

#include "predictor/device/device.h"

static const struct kc_device a100 = {.name = "NVIDIA A100",
				      .cc_major = 8,
				      .sm_count = 108,
				      .cores_per_sm = 64,
				      .warp_size = 32,
				      .clock_khz = 1410000,
				      .memory_bytes_per_s = 1555000000000,
				      .max_threads_per_block = 1024,
				      .max_threads_per_sm = 2048,
				      .max_blocks_per_sm = 32,
				      .registers_per_sm = 65536,
				      .registers_per_block = 65536,
				      .shared_per_sm_bytes = 167936,
				      .shared_per_block_bytes = 49152};

#endif
