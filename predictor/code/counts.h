/*
 * What a cost formula (cost.h) is evaluated for, and its value.
 *
 *   kc_cost_launch   grid, block, dynamic shared memory, arguments
 *   kc_counts        the formula's value for one launch: averages per thread
 *   kc_cost_need     a parameter that the value depends on
 */
#ifndef KC_COUNTS_H
#define KC_COUNTS_H

#include <stdint.h>

/* X(constant, name in output). Each is an average per thread over the launch. */
#define KC_COST_COUNTERS(X)                                                                                            \
	X(FMA, "fma")             /* fused multiply-adds, floating point */                                            \
	X(ADD, "add")             /* floating-point additions; of 64 and 16 bits also comparisons, min, max */         \
	X(MUL, "mul")             /* floating-point multiplications */                                                 \
	X(INT, "int")             /* integer and logic operations, comparisons, min, max, selections of any type */    \
	X(DIVMOD, "divmod")       /* integer division and remainder; one of 64 bits counts as four */                  \
	X(SPECIAL, "special")     /* what the special function unit approximates, also in divisions and roots */       \
	X(CONVERT, "convert")     /* conversions between types, apart from those that other units execute */           \
	X(DOUBLE, "double")       /* those of fma, add and mul in 64 bits, counted there as well */                    \
	X(HALF, "half")           /* those of fma, add and mul in 16 bits, counted there as well */                    \
	X(TENSOR, "tensor")       /* multiply-adds on tensor cores, divided among the threads */                       \
	X(CONTROL, "control")     /* branches, calls, returns */                                                       \
	X(LD_GLOBAL, "ld_global") /* load instructions; a vector load is one */                                        \
	X(ST_GLOBAL, "st_global")                                                                                      \
	X(LD_SHARED, "ld_shared")                                                                                      \
	X(ST_SHARED, "st_shared")                                                                                      \
	X(LD_LOCAL, "ld_local")                                                                                        \
	X(ST_LOCAL, "st_local")                                                                                        \
	X(ATOMICS, "atomics")               /* atom and red; of a warp, where one lane does it for all */              \
	X(ATOMICS_SHARED, "atomics_shared") /* those of atomics on shared memory */                                    \
	X(BARRIERS, "barriers")                                                                                        \
	X(BYTES_LOADED, "bytes_loaded") /* from global memory, as requested by the threads */                          \
	X(BYTES_STORED, "bytes_stored")                                                                                \
	X(REQUESTS, "requests")               /* global loads, stores and atomics of warps, divided by threads */      \
	X(SECTORS, "sectors")                 /* of 32 bytes that those touch, divided by threads */                   \
	X(SHARED_REQUESTS, "shared_requests") /* shared loads and stores of warps, divided by threads */               \
	X(SHARED_PASSES, "shared_passes")     /* in which the 32 banks serve those, divided by threads */

enum kc_cost_counter {
#define X(constant, name) KC_COUNT_OF_##constant,
	KC_COST_COUNTERS(X)
#undef X
	    KC_COUNTER_COUNT,
};
const char *kc_cost_counter_name(uint32_t counter);

/* What was unknown, and something assumed of it: bits. */
enum kc_assumed {
	KC_ASSUMED_UNTOLD = 1, /* earlier versions did not tell what, */
	KC_ASSUMED_BRANCH = 2,
	KC_ASSUMED_ADDRESS = 4,      /* or how much was accessed there */
	KC_ASSUMED_UNTOLD_TRIPS = 8, /* nor how much depends on trip counts */
	/* How long a loop is: that it comes to the end that it counts to, of the memory that it goes through, or of
	 * what it halves. */
	KC_ASSUMED_LENGTH = 16,
	KC_ASSUMED_TRIPS = 32,
	KC_ASSUMED_TURNS = 64, /* that no other warp comes between an atomic that is a loop, and has it repeated */
};

struct kc_counts {
	double of[KC_COUNTER_COUNT];
	/* For comparison, averages per thread as well. 0: not known, as with KC_COST_EFFORT_LAUNCH. */
	double least_sectors; /* if the lanes of each request had adjacent addresses, aligned to a sector */
	double
	    scattered_sectors; /* those of SECTORS that adjacent addresses from the same first byte would not touch */
	double least_passes;   /* without bank conflicts: 1 per request for 4 bytes per lane, 2 for 8, 4 for 16 */
	double threads;        /* of the launch */
	double active_share; /* of a warp's lanes, on average over the instructions it executes: 1 without divergence */
	double unsure_share; /* of those instructions, which it depends on an unknown branch or trip count to execute */
	double longest_warp; /* instructions of the warp that executes most of them, over the mean of all warps: 1 where
				all execute as many. 0: not known */
	/* Of what a warp executes, instructions that wait for each other, block by block (formula/chain.c), on average
	 * over the warps: cycles of arithmetic, loads from global memory, from memory of the SM, and from global memory
	 * that all threads of the launch go through alike and L1 keeps. 0: not known. */
	double chain_cycles, chain_far, chain_near, chain_common;
	double longest_cycles, longest_far, longest_near,
	    longest_common; /* the same of the warp that waits longest. All 0: not known */
	/* Averages per thread: of atomics on shared memory those on floating-point numbers, where all threads of a
	 * block change one word; and of conversions those from and to types of 64 bits. */
	double contended, wide_conversions;
	/* Averages per thread: words of its own memory that it loads and stores at an index which the lanes of a warp
	 * do not have in common, so that they access a sector each. */
	double scattered_local;
	double lines; /* of L1, 128 bytes, that the requests of global memory touch, divided by threads */
	/* Of constant memory at addresses in registers, divided by threads: one for the lanes of a warp that certainly
	 * address the same, else one for each. */
	double constant_requests;
	/* Of the launch, where a byte or word that is accessed more than once counts once: estimated from the steps of
	 * the addresses, also where the counts are exact; all that is accessed, where addresses are not known. 0: none,
	 * or not known. */
	double distinct_loaded_bytes; /* of global memory, in whole sectors */
	double distinct_stored_bytes;
	double distinct_atomics;    /* words of global memory that atomics change */
	double block_loaded_bytes;  /* of global memory, each block for itself, in whole sectors */
	uint8_t exact;              /* nothing was assumed, nothing sampled */
	uint8_t sampled;            /* only a part of the launch was evaluated, to stay within the effort */
	uint8_t assumed;            /* enum kc_assumed: control flow or an address was unknown */
	uint8_t accesses_local;     /* the code accesses a thread's own memory, whether or not that is executed */
	uint8_t other_architecture; /* of PTX that the device's code was not compiled from: never exact */
};

/* Nothing was assumed in them, and they are of the code for this device. */
int kc_counts_are_known(const struct kc_counts *counts);

/* SECTORS / REQUESTS: 4 for 32 adjacent floats. 0 if there are no requests. */
double kc_counts_sectors_per_request(const struct kc_counts *counts);
/* The minimum of that, with whole sectors for each request. 0 if there are no requests. */
double kc_counts_least_sectors_per_request(const struct kc_counts *counts);
/* SHARED_PASSES divided by their minimum, or by SHARED_REQUESTS if that is not known: 1 without conflicts. 0 if there
 * are no requests. */
double kc_counts_bank_conflict_degree(const struct kc_counts *counts);

#define KC_COST_ASSUMED_TRIPS 16.0

struct kc_cost_argument {
	uint64_t value; /* the parameter's first eight bytes, little endian */
	uint8_t known;
	const void *bytes; /* all bytes of a struct; NULL: only `value` is known */
	uint32_t length;
};

/* Memory that a launch was given: all that can be reached from a pointer among its parameters. */
struct kc_cost_buffer {
	uint32_t param, offset_bytes; /* where the pointer is; offset: in the parameter */
	uint64_t first, bytes;        /* address; bytes > 0 */
	uint8_t is_large;             /* what it holds may be loaded more than once: L2 does not keep it */
};

struct kc_cost_launch {
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	const struct kc_cost_argument *arguments; /* in the order of the parameters */
	uint32_t argument_count;                  /* the arguments of further parameters are not known */
	const struct kc_cost_buffer *buffers;
	uint32_t buffer_count;
};

/* A parameter that the counts depend on: cached counts are valid for arguments that are equal in these bits. */
struct kc_cost_need {
	uint32_t param;        /* index */
	uint32_t offset_bytes; /* in the parameter block */
	uint32_t bytes;
	uint64_t mask; /* bits that matter: all; of an address, those that say where in a sector it lies */
};

/*
 * The effort of an evaluation is counted in steps: one operation on the lanes of
 * a warp, 15 to 30 ns. More than KC_COST_EFFORT_LAUNCH is exceeded by what it takes
 * to finish by sampling: by 16 times as much and 100,000 steps, 4 million at most.
 * What has not come to an end by then, such as a loop that lanes never leave,
 * returns -EAGAIN.
 *
 * KC_COST_EFFORT_LAUNCH takes about 10 µs at most. Only control flow is evaluated
 * throughout the launch. The sectors and passes of an access are found once, for
 * a warp in the middle of the launch, averaged over the alignments that its
 * address takes. Of a row of 50 or more blocks, up to one in fifty, where
 * control flow changes and at the end, counts as the other blocks do.
 * The result is within 2 % of the exact counts where nothing depends on memory
 * contents (cuda_tests/explain/launch_test.c). Launches that need more steps
 * return -EAGAIN once the effort is spent: nests whose bounds depend on each
 * other, loops that lanes leave one by one, reductions over a block, large bodies
 * at the edges of small grids. Evaluate those on another thread with
 * KC_COST_EFFORT_EXACT: tens of µs, rarely milliseconds, 1.5 s at most.
 *
 * KC_COST_EFFORT_INTEGERS is the same with floating-point arithmetic taken as not
 * known, for launches that need more steps by that; -EAGAIN also if there is none.
 */
#define KC_COST_EFFORT_LAUNCH 250u
#define KC_COST_EFFORT_INTEGERS (KC_COST_EFFORT_LAUNCH - 1)
#define KC_COST_EFFORT_EXACT 50000000u /* beyond it the rest is sampled */

#endif
