/*
 * What a kernel does, as a function of how it is launched.
 *
 *   kc_cost          the cost formula of one kernel: read once from its PTX,
 *                    then only read; any thread may evaluate it
 *   kc_cost_launch   grid, block, dynamic shared memory, arguments
 *   kc_counts        the value for one launch: averages per thread
 *   kc_cost_story    the formula in words for people: loops, trip counts,
 *                    algebra, what is unknown and what was assumed instead
 *
 * A count is exact where control flow and addresses depend on parameters,
 * thread and block indices and loop counters alone. Where they depend on
 * memory contents, the formula says so (`unknown`) and assumes: a branch is
 * taken half of the time, a loop goes round KC_COST_ASSUMED_TRIPS times, the
 * lanes of a warp address different sectors, and words in different banks of
 * shared memory: neither a load nor an atomic there is repeated.
 *
 * An asynchronous copy (cp.async) counts what it reads: src-size bytes, none
 * where that is 0 or the source is ignored; all of cp-size where src-size is
 * not known. A row in bulk whose size is not known counts no bytes.
 */
#ifndef KC_COST_H
#define KC_COST_H

#include "predictor/code/ptx/ptx.h"

#include <stdint.h>

/* X(constant, name in output). Averages per thread over the launch. */
#define KC_COST_COUNTERS(X)                                                                                            \
	X(FMA, "fma")             /* fused multiply-adds, floating point */                                            \
	X(ADD, "add")             /* floating-point additions, comparisons, min, max */                                \
	X(MUL, "mul")             /* floating-point multiplications */                                                 \
	X(INT, "int")             /* integer and logic operations, moves of predicates */                              \
	X(DIVMOD, "divmod")       /* integer division and remainder, floating-point division */                        \
	X(SPECIAL, "special")     /* sin, cos, ex2, lg2, rcp, rsqrt, sqrt, tanh */                                     \
	X(CONVERT, "convert")     /* conversions between types */                                                      \
	X(DOUBLE, "double")       /* of fma, add, mul: in 64 bits; counted there as well */                            \
	X(HALF, "half")           /* of fma, add, mul: in 16 bits */                                                   \
	X(TENSOR, "tensor")       /* multiply-adds on tensor cores, a thread's share */                                \
	X(CONTROL, "control")     /* branches, calls, returns */                                                       \
	X(LD_GLOBAL, "ld_global") /* load instructions; a vector load is one */                                        \
	X(ST_GLOBAL, "st_global")                                                                                      \
	X(LD_SHARED, "ld_shared")                                                                                      \
	X(ST_SHARED, "st_shared")                                                                                      \
	X(LD_LOCAL, "ld_local")                                                                                        \
	X(ST_LOCAL, "st_local")                                                                                        \
	X(ATOMICS, "atomics")               /* atom and red, global and shared */                                      \
	X(ATOMICS_SHARED, "atomics_shared") /* those on shared memory */                                               \
	X(BARRIERS, "barriers")                                                                                        \
	X(BYTES_LOADED, "bytes_loaded") /* from global memory, as the threads ask for them */                          \
	X(BYTES_STORED, "bytes_stored")                                                                                \
	X(REQUESTS, "requests")               /* warp-wide global loads, stores and atomics, over threads */           \
	X(SECTORS, "sectors")                 /* of 32 bytes that those touch, over threads */                         \
	X(SHARED_REQUESTS, "shared_requests") /* warp-wide shared loads and stores, over threads */                    \
	X(SHARED_PASSES, "shared_passes")     /* in which the 32 banks serve those, over threads */

enum kc_cost_counter {
#define X(constant, name) KC_COUNT_OF_##constant,
	KC_COST_COUNTERS(X)
#undef X
	    KC_COUNTER_COUNT,
};
const char *kc_cost_counter_name(uint32_t counter);

struct kc_counts {
	double of[KC_COUNTER_COUNT];
	/* For comparison, averages per thread too; 0: not known, as with KC_COST_EFFORT_LAUNCH. */
	double least_sectors;     /* if the lanes of each request had neighbouring addresses, aligned to a sector */
	double scattered_sectors; /* of SECTORS, beyond those that neighbours touch from the same first byte */
	double least_passes;      /* without bank conflicts: of 8 bytes a lane a warp takes 2, of 16 bytes 4 */
	double threads;           /* of the launch */
	double active_share;      /* of a warp's lanes, where it executes instructions: 1 without divergence */
	uint8_t exact;            /* nothing was assumed, nothing sampled */
	uint8_t sampled;          /* not all was looked at, to keep to the effort */
	uint8_t assumed;          /* something unknown was in the way */
};

/* SECTORS / REQUESTS: 4 for 32 neighbouring floats; 0 without requests. */
double kc_counts_sectors_per_request(const struct kc_counts *counts);
/* The least they could be: rounded up to whole sectors for each request; 0 without requests. */
double kc_counts_least_sectors_per_request(const struct kc_counts *counts);
/* SHARED_PASSES over the least they could be, or over the requests where that is not known: 1 without conflicts; 0
 * without requests. */
double kc_counts_bank_conflict_degree(const struct kc_counts *counts);

#define KC_COST_ASSUMED_TRIPS 16.0

struct kc_cost_argument {
	uint64_t value; /* the parameter's bytes, little endian, the first eight */
	uint8_t known;
	const void *bytes; /* all of it, of a struct; NULL: value is all that is known */
	uint32_t length;
};

struct kc_cost_launch {
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	const struct kc_cost_argument *arguments; /* by parameter */
	uint32_t argument_count;                  /* those missing are not known */
};

/* Parameters that the counts depend on, for whoever caches them by value. */
struct kc_cost_need {
	uint32_t param;        /* index */
	uint32_t offset_bytes; /* in the parameter block */
	uint32_t bytes;
	uint64_t mask; /* bits that matter: all; or, of an address, those within a sector row */
};

struct kc_cost;

/*
 * Steps of evaluation: an operation on the lanes of a warp, or what takes as
 * long, 15 to 30 ns.
 *
 * Up to KC_COST_EFFORT_LAUNCH, within about 5 µs, control flow alone is
 * followed. The sectors and passes of an access are found once, for a warp in
 * the middle of the launch, over the alignments that its address takes; the
 * fiftieth part of a row of 50 or more blocks, where control flow changes and at
 * the end, counts as the other blocks.
 * Where nothing depends on memory contents that stays within 2 % of the exact
 * counts (cuda_tests/explain/launch_test.c). What takes more steps is -EAGAIN,
 * after as many: nests whose bounds depend on each other, lanes that leave a
 * loop one by one, reductions over a block, large bodies at the edges of small
 * grids. Those are for KC_COST_EFFORT_EXACT, in tens of µs, rarely milliseconds,
 * on another thread.
 */
#define KC_COST_EFFORT_LAUNCH 250u
#define KC_COST_EFFORT_EXACT 50000000u /* as exact as it goes */

/*
 * Reads a kernel's formula. memory_bytes bounds what it may take for good.
 * 0; -ENOTSUP: this code cannot be counted at all, *refusal says why (an
 * indirect branch, a recursive call); -ENOMEM.
 */
int kc_cost_read(struct kc_cost **cost, const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
		 size_t memory_bytes, struct kc_refusal *refusal);
void kc_cost_free(struct kc_cost *cost);

uint32_t kc_cost_needs(const struct kc_cost *cost, const struct kc_cost_need **needs);
/* What it takes for good. */
size_t kc_cost_bytes(const struct kc_cost *cost);
uint32_t kc_cost_static_shared_bytes(const struct kc_cost *cost);

/* The formula's value. Allocates nothing. 0; -EINVAL: a dimension is 0, or a
 * block has more than 1,024 threads; -EAGAIN: it takes more than the effort
 * allows; or, of a large kernel, another thread evaluates it now. */
int kc_cost_evaluate(const struct kc_cost *cost, const struct kc_cost_launch *launch, uint32_t effort,
		     struct kc_counts *counts);

/* Loops, outermost first, in the order of the text. Text is ASCII algebra over p0, p1, … (parameters by
 * position), tid.x, ctaid.x, ntid.x, nctaid.x, … and the counters of outer loops (k0, k1, …). */
struct kc_cost_loop {
	uint32_t depth;    /* 0: not within another */
	uint32_t parent;   /* index; its own where depth is 0 */
	uint32_t offset;   /* of its first instruction, in the PTX */
	uint8_t known;     /* 0: the trip count depends on memory contents */
	const char *trips; /* "p3 / 4" */
};

struct kc_cost_unknown {
	uint32_t offset;
	const char *what;    /* "trip count of the loop at …: depends on a value loaded from global memory" */
	const char *assumed; /* "16 iterations" */
};

struct kc_cost_story {
	struct kc_arena arena;
	struct kc_cost_loop *loops;
	uint32_t loop_count;
	/* Per thread; "0" where the kernel has none. Of what warps count, a thread's share where all lanes take part.
	 */
	const char *formula[KC_COUNTER_COUNT];
	struct kc_cost_unknown *unknown;
	uint32_t unknown_count;
};
int kc_cost_tell(const struct kc_cost *cost, struct kc_cost_story *story);
void kc_cost_story_free(struct kc_cost_story *story);

#endif
