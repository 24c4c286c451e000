/*
 * The BSP model of a kernel's solo time.
 *
 *   kc_bsp_kernel    what one thread does: cycles of computation, accesses to
 *                    each memory
 *   kc_bsp_machine   clock and cores of the whole GPU
 *
 * Source: Amarís, Cordeiro, Goldman, de Camargo, "A simple BSP-based model to
 * predict execution time in GPU applications" (HiPC 2015), Equations 3 to 5.
 * The equation has neither waves nor a launch term: solo/work.h and solo/curve.h.
 */
#ifndef KC_BSP_H
#define KC_BSP_H

#include "predictor/code/cost.h"
#include "predictor/device/device.h"

/* Cycles of one access. Source: section IV, "typical values". */
#define KC_BSP_SHARED_CYCLES 5.0   /* gSM */
#define KC_BSP_L1_CYCLES 5.0       /* gL1 */
#define KC_BSP_L2_CYCLES 250.0     /* gL2 */
#define KC_BSP_GLOBAL_CYCLES 500.0 /* gGM */

struct kc_bsp_machine {
	double clock_hz; /* R */
	double cores;    /* P */
};

/* t, and per thread: Comp, ld0, st0, ld1, st1, L1, L2. Hits are counted in the global loads as well. */
struct kc_bsp_kernel {
	double threads;
	double compute_cycles;
	double shared_loads, shared_stores;
	double global_loads, global_stores;
	double l1_hits, l2_hits;
};

/* Comp + CommGM + CommSM, cycles of one thread. Equations 4 and 5. */
double kc_bsp_thread_cycles(const struct kc_bsp_kernel *kernel);

/* Equation 3, in ns. lambda: > 0, 1 before anything was measured. */
double kc_bsp_ns(const struct kc_bsp_machine *machine, const struct kc_bsp_kernel *kernel, double lambda);

struct kc_bsp_machine kc_bsp_machine_of(const struct kc_device *device);

/* The model's parameters from a kernel's counts. Cycles of an instruction follow from the device's throughput; local
 * memory hits L1, and no other access is known to hit a cache. */
struct kc_bsp_kernel kc_bsp_kernel_of(const struct kc_device *device, const struct kc_counts *counts);

#endif
