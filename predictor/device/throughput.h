/*
 * How fast an SM executes each class of instruction.
 *
 *   kc_throughput   results per clock cycle and SM, by compute capability
 *
 * A class that has fewer lanes than the SM has cores costs a thread more than
 * one cycle of its core: cores / results per clock. That is how the BSP and the
 * cycle model weigh the counters of struct kc_counts.
 */
#ifndef KC_THROUGHPUT_H
#define KC_THROUGHPUT_H

#include "predictor/code/counts.h"
#include "device.h"

#include <stdint.h>

/*
 * Results per clock cycle and SM. Source: CUDA C++ programming guide, table
 * "Throughput of native arithmetic instructions"; tensor: multiply-adds of 16-bit
 * values, the architectures' white papers, 0 where there are no tensor cores; the
 * way to memory: throughput.c.
 */
struct kc_throughput {
	uint32_t cc_major, cc_minor;
	double fp16, fp32, fp64;
	double special; /* reciprocal, square roots, logarithm, exponential, sine, cosine */
	double integer; /* additions and logic */
	double convert; /* between types of up to 32 bits */
	double tensor;
	double load_store;         /* lanes of a memory access */
	double shared_passes;      /* 128 bytes of shared memory each */
	double l1_bytes, l2_bytes; /* L2's: share of one SM, where all use it */
};

/* Instructions of an integer division or remainder. Source: CUDA C++ programming
 * guide, "Arithmetic instructions": up to 20. */
#define KC_THROUGHPUT_DIVISION_INSTRUCTIONS 20.0

/* The row of a compute capability: for one not listed, the newest row that is not newer; for one older than all, the
 * first row. */
const struct kc_throughput *kc_throughput(uint32_t cc_major, uint32_t cc_minor);

/* Cycles for which a thread keeps one core busy, without memory accesses. */
double kc_throughput_cycles(const struct kc_device *device, const struct kc_counts *counts);

/* Cycles that an SM's busiest kind of unit needs for one thread's instructions, where all kinds work at the same time.
 */
double kc_throughput_bound(const struct kc_device *device, const struct kc_counts *counts);

#endif
