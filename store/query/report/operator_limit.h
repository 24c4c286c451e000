/*
 * How long a launch would take at least whose operator tells its floating-point
 * operations: at the peak of the units that execute them, or of the memory.
 *
 * Which units those are is told by the type of the numbers and by what the kernel
 * is called, of library kernels whose names say it: tensor cores for numbers of 16
 * bits and for TF32, FP32 units for others of 32 bits. It is not known where the
 * name does not tell, where the algorithm needs fewer operations than are counted
 * (Winograd, FFT, a causal mask), and on GPUs whose tensor cores are slower on some
 * boards than the compute capability tells.
 */
#ifndef KC_OPERATOR_LIMIT_H
#define KC_OPERATOR_LIMIT_H

#include "predictor/device/device.h"

#include <stdint.h>

enum kc_operator_units {
	KC_UNITS_UNKNOWN,
	KC_UNITS_FP32,
	KC_UNITS_TENSOR, /* numbers of 16 bits */
	KC_UNITS_TF32,   /* tensor cores, numbers of 32 bits rounded to 19 */
};

/* type: of the numbers, as PyTorch calls it; kernel: a readable name. */
enum kc_operator_units kc_operator_units(const char *type, const char *kernel);

/* flop: > 0; bytes: that are read and written at least, NAN where that is not known: what L2 can keep of it from
 * before, and for later, needs no time. Returns nanoseconds, NAN where it is not known; *resource: enum kc_resource. */
double kc_operator_limit_ns(const struct kc_device *device, enum kc_operator_units units, double flop, double bytes,
			    uint32_t *resource);

#endif
