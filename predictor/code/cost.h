/*
 * What a kernel does, as a function of how it is launched.
 *
 *   kc_cost          the cost formula of one kernel: built once from its PTX and
 *                    never changed; any thread may evaluate it
 *   kc_cost_story    the formula as text for people: loops, trip counts, algebra,
 *                    what is unknown and what is assumed instead
 *
 * A count is exact where control flow and addresses depend only on parameters,
 * thread and block indices and loop counters, also where these go through
 * floating-point arithmetic whose result PTX defines to the last bit, or a
 * thread's own memory: structs and small arrays on its stack whose address is not
 * given away, and structs of up to 64 elements among the parameters that are loaded
 * from at an index. Memory of its own that was never written counts as 0. An index
 * is assumed to lie within. Where they depend on memory contents, the formula says so (`unknown`) and assumes that half
 * of the threads take a branch, that a loop runs as long as what it goes through tells (evaluate/trips.c), or else
 * KC_COST_ASSUMED_TRIPS iterations, or to the end that it counts to if it has one (a search, whose last lane ends it),
 * or one where it waits for a barrier in shared memory (mbarrier) or tries an atomic again, and that the lanes of a
 * warp address different sectors of global memory and different banks of shared memory, so that neither loads nor
 * atomics there are repeated.
 *
 * A value that is read from one lane whose number is constant (shfl.idx) is followed; of elect, the first lane of its
 * mask is elected.
 *
 * An asynchronous copy (cp.async) counts the bytes that it reads: src-size; none
 * if src-size is 0 or the source is ignored; cp-size if src-size is not known.
 * A bulk copy (cp.async.bulk) moves as many bytes as its operand tells. The size of
 * a tensor's box (cp.async.bulk.tensor) is in its tensor map, which is in memory:
 * what is read counts as the bytes that the kernel's barriers expect
 * (mbarrier.expect_tx), which is assumed to lie within the tensor, as what lies
 * outside arrives as zeros that were not read. Where they expect something else
 * as well (formula/counting.h), and where a box is written, no bytes are counted.
 */
#ifndef KC_COST_H
#define KC_COST_H

#include "counts.h"
#include "predictor/code/ptx/ptx.h"

#include <stdint.h>

struct kc_cost;

/*
 * Builds the cost formula of a kernel. memory_bytes limits the memory that the
 * formula keeps. Returns 0; -ENOTSUP if the code cannot be counted at all, for
 * instance because a loop has two entries; or -ENOMEM. On failure *refusal says
 * why.
 */
int kc_cost_read(struct kc_cost **cost, const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
		 size_t memory_bytes, struct kc_refusal *refusal);
/* The same with at most memory_bytes for the formula, of formula_bytes at most, and what is needed while it is built.
 * It keeps no memory for its evaluation, which takes twice formula_bytes at most: it is for kc_cost_evaluate_in(). */
int kc_cost_read_within(struct kc_cost **cost, const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
			size_t formula_bytes, size_t memory_bytes, struct kc_refusal *refusal);
void kc_cost_free(struct kc_cost *cost);

/* Returns how many parameters the counts depend on, and sets *needs to them. */
uint32_t kc_cost_needs(const struct kc_cost *cost, const struct kc_cost_need **needs);
/* Memory that the formula keeps. */
size_t kc_cost_bytes(const struct kc_cost *cost);
/* Memory that an evaluation needs beside the stack; 0: none. */
size_t kc_cost_scratch_bytes(const struct kc_cost *cost);
uint32_t kc_cost_static_shared_bytes(const struct kc_cost *cost);

/* Evaluates the formula for one launch. Allocates nothing. Returns 0; -EINVAL if a
 * dimension is 0 or a block has more than 1,024 threads; or -EAGAIN if the effort
 * is spent, or if another thread is evaluating the same kernel and the kernel is
 * too large to be evaluated on the stack. */
int kc_cost_evaluate(const struct kc_cost *cost, const struct kc_cost_launch *launch, uint32_t effort,
		     struct kc_counts *counts);

/* The same in memory of the caller's, of kc_cost_scratch_bytes() and aligned for any type, which only this evaluation
 * uses. -EAGAIN also if it is NULL and needed. */
int kc_cost_evaluate_in(const struct kc_cost *cost, const struct kc_cost_launch *launch, uint32_t effort, void *scratch,
			struct kc_counts *counts);

/* Loops are in the order of the text, outer ones before inner ones. Formulas are ASCII text over parameters by position
 * (p0, p1, …), tid.x, ctaid.x, ntid.x, nctaid.x, … and the counters of outer loops (k0, k1, …). */
struct kc_cost_loop {
	uint32_t depth;    /* number of loops around it */
	uint32_t parent;   /* index of the next outer loop; its own if depth is 0 */
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
	/* Per thread; "0" if the kernel has none. What is counted per warp is divided among 32 active lanes. */
	const char *formula[KC_COUNTER_COUNT];
	struct kc_cost_unknown *unknown;
	uint32_t unknown_count;
};
/* Returns 0, and the story is to be freed; or -ENOMEM. */
int kc_cost_tell(const struct kc_cost *cost, struct kc_cost_story *story);
void kc_cost_story_free(struct kc_cost_story *story);
/* The formulas of all counters that are not 0, on one line: "fma = 2*p1; ld_global = p1". Cut where size ends; empty
 * where that would take long, as the formula is larger than 32 KiB, or where there is no memory. */
void kc_cost_write(const struct kc_cost *cost, char *text, size_t size);

#endif
