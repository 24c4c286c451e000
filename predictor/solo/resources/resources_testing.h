/* A small GPU and launches on it, for the tests of this folder. */
#ifndef KC_RESOURCES_TESTING_H
#define KC_RESOURCES_TESTING_H

#include "resources.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(counter, value) [KC_COUNT_OF_##counter] = (value)

/* 1 GHz, so that a cycle is a nanosecond; 8.6: 128 lanes for FP32, 2 for FP64, 64 for integers, 16 for special
 * functions, conversions and accesses (programming guide, white paper). */
static const struct kc_device device = {
    .cc_major = 8,
    .cc_minor = 6,
    .sm_count = 10,
    .cores_per_sm = 128,
    .clock_khz = 1000000,
    .memory_bytes_per_s = 100000000000,
    .max_threads_per_block = 1024,
    .max_threads_per_sm = 1536,
    .max_blocks_per_sm = 16,
    .registers_per_sm = 65536,
    .registers_per_block = 65536,
    .shared_per_sm_bytes = 102400,
    .shared_per_block_bytes = 49152,
    .warp_size = 32,
};

static inline struct kc_work work_of(const struct kc_device *on, uint32_t blocks, uint32_t threads)
{
	struct kc_resources resources = {0};
	struct kc_shape shape = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, on, &resources, &shape, 0), 0);
	return work;
}

/* A million threads load and store 4 bytes, next to each other: 8 MB, 92 of 100 GB/s. */
static inline struct kc_counts copies(void)
{
	return (struct kc_counts){.of = {COUNT(LD_GLOBAL, 1), COUNT(ST_GLOBAL, 1), COUNT(BYTES_LOADED, 4),
					 COUNT(BYTES_STORED, 4), COUNT(SECTORS, 0.25)}};
}

#endif
