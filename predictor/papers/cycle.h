/*
 * The cycle model: bounds on a kernel's solo time.
 *
 *   kc_cycle_machine   SMs, cores, pipeline depth, clock
 *   kc_cycle_thread    computation and memory cycles of one thread
 *   kc_cycle_bounds    the time with perfect latency hiding (MAX of the two),
 *                      and with none (SUM)
 *
 * Source: Kothapalli, Mukherjee, Rehman, Patidar, Narayanan, Srinathan, "A
 * performance prediction model for the CUDA GPGPU platform" (HiPC 2009):
 * C(K) = NB · Nw · Nt · CT / (D · Nc), time = C / clock, with NB the blocks of
 * one SM, rounded up, and Nt = 32 threads of a warp.
 */
#ifndef KC_CYCLE_H
#define KC_CYCLE_H

#include "predictor/code/cost.h"
#include "predictor/device/device.h"

#include <stdint.h>

/* Cycles of one thread's addition, as printed for a GPU with D = 4 and 8 cores per SM. */
#define KC_CYCLE_ADD 4.0

#define KC_CYCLE_DEPTH 4.0 /* D: cycles of an addition, so that a core begins one in every cycle */

struct kc_cycle_machine {
	uint32_t sm_count;
	uint32_t cores_per_sm; /* Nc */
	double depth;          /* D */
	double clock_hz;
};

struct kc_cycle_thread {
	double compute_cycles; /* Ncomp */
	double memory_cycles;  /* Nmem */
};

struct kc_cycle_bounds {
	double max_ns, sum_ns;
};

/* In ns. blocks: > 0; threads_per_block: rounded up to warps. */
struct kc_cycle_bounds kc_cycle_ns(const struct kc_cycle_machine *machine, const struct kc_cycle_thread *thread,
				   uint64_t blocks, uint32_t threads_per_block);

struct kc_cycle_machine kc_cycle_machine_of(const struct kc_device *device);

/* The two parts of CT from a kernel's counts. Ncomp adds up the instructions by their throughput on the device. Nmem:
 * global memory serves the sectors of a request one after the other at the device's peak bandwidth (coalescing saves
 * sectors; nothing hits a cache); shared memory serves a request in as many passes as its worst bank has words to give
 * (QRQW). */
struct kc_cycle_thread kc_cycle_thread_of(const struct kc_device *device, const struct kc_counts *counts);

#endif
