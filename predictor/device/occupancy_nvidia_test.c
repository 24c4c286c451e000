/*
 * kc_occupancy against NVIDIA's own calculator, cuda_occupancy.h of the
 * toolkit: a million random kernels over every architecture both know.
 */
#include "occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>

#define KERNELS_PER_DEVICE 60000u

static const uint8_t capabilities[][2] = {{3, 0}, {3, 2}, {3, 5},  {3, 7},  {5, 0},  {5, 2},  {5, 3},  {6, 0},
					  {6, 1}, {6, 2}, {7, 0},  {7, 2},  {7, 5},  {8, 0},  {8, 6},  {8, 7},
					  {8, 9}, {9, 0}, {10, 0}, {10, 1}, {10, 3}, {11, 0}, {12, 0}, {12, 1}};

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* xorshift64*: Vigna 2014. */
static uint32_t random_below(uint32_t bound)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)((random_state * 2685821657736338717u >> 32) % bound);
}

static cudaOccDeviceProp properties_of(const struct kc_device *d)
{
	return (cudaOccDeviceProp){
	    .computeMajor = (int)d->cc_major,
	    .computeMinor = (int)d->cc_minor,
	    .maxThreadsPerBlock = (int)d->max_threads_per_block,
	    .maxThreadsPerMultiprocessor = (int)d->max_threads_per_sm,
	    .regsPerBlock = (int)d->registers_per_block,
	    .regsPerMultiprocessor = (int)d->registers_per_sm,
	    .warpSize = (int)d->warp_size,
	    .sharedMemPerBlock = d->shared_per_block_bytes,
	    .sharedMemPerMultiprocessor = d->shared_per_sm_bytes,
	    .numSms = (int)d->sm_count,
	    .sharedMemPerBlockOptin = d->shared_per_block_optin_bytes,
	    .reservedSharedMemPerBlock = d->shared_reserved_per_block_bytes,
	};
}

static uint32_t theirs(const struct kc_device *d, const struct kc_block_need *need)
{
	cudaOccDeviceProp properties = properties_of(d);
	uint32_t half = need->shared_bytes / 2;
	cudaOccFuncAttributes attributes = {
	    .maxThreadsPerBlock = INT_MAX,
	    .numRegs = (int)need->registers,
	    .sharedSizeBytes = need->shared_bytes - half,
	    .partitionedGCConfig = PARTITIONED_GC_OFF,
	    .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
	    .maxDynamicSharedSizeBytes = half,
	    .numBlockBarriers = 1,
	};
	cudaOccDeviceState device_state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
	cudaOccResult result = {.activeBlocksPerMultiprocessor = -1};

	assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &device_state,
								 (int)need->threads, half),
			 CUDA_OCC_SUCCESS);
	return (uint32_t)result.activeBlocksPerMultiprocessor;
}

static struct kc_block_need random_need(void)
{
	/* Half of them small, so that every limit decides often enough. */
	uint32_t registers = random_below(2) ? random_below(64) : random_below(270);
	uint32_t shared = random_below(3) ? random_below(12 * 1024) : random_below(240 * 1024);

	return (struct kc_block_need){1 + random_below(1056), registers, random_below(4) ? shared : 0};
}

static void agrees_on_every_architecture(void **state)
{
	uint32_t compared = 0, cannot_run = 0;

	(void)state;
	for (unsigned c = 0; c < sizeof(capabilities) / sizeof(capabilities[0]); c++) {
		struct kc_device device = {
		    .sm_count = 1, .cc_major = capabilities[c][0], .cc_minor = capabilities[c][1]};

		kc_device_complete(&device);
		for (unsigned i = 0; i < KERNELS_PER_DEVICE; i++, compared++) {
			struct kc_block_need need = random_need();
			uint32_t ours = kc_occupancy(&device, &need), expected = theirs(&device, &need);

			cannot_run += !expected;
			if (ours == expected)
				continue;
			print_error("cc %u.%u: %u threads, %u registers, %u bytes: %u, NVIDIA has %u\n",
				    device.cc_major, device.cc_minor, need.threads, need.registers, need.shared_bytes,
				    ours, expected);
			fail();
		}
	}
	print_message("%u kernels, %u of them cannot run\n", compared, cannot_run);
	assert_true(compared >= 1000000 && cannot_run < compared / 2);
}
#else
static void agrees_on_every_architecture(void **state)
{
	(void)state;
	print_message("skipped: no cuda_occupancy.h, the CUDA toolkit is not installed\n");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_on_every_architecture)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
