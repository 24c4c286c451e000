/*
 * A kernel reduced to what its counts depend on.
 *
 *   kc_value       one result, in static single assignment (SSA): what control
 *                  flow and addresses are computed from. The rest of the kernel
 *                  is only counted
 *   kc_event       an instruction whose count needs more than how often its block
 *                  runs: a memory access, or one with a guard
 *   kc_block_plan  of a block: the values computed in it, its events, what else it
 *                  counts, and the condition by which it is left
 *   kc_loop_plan   of a loop: what is computed before it, its variables, and which
 *                  of its values are used after it
 *
 * A value that depends on no loop and no branch is computed once per launch, grid
 * coordinate or warp: its level says which. One that does not depend on a loop
 * around it is computed before that loop.
 */
#ifndef KC_FORMULA_H
#define KC_FORMULA_H

#include "predictor/code/flow/cfg.h"
#include "predictor/code/counts.h"
#include "predictor/code/ptx/ptx.h"

#define KC_NO_VALUE UINT32_MAX
#define KC_SOURCES_MAX 3u

enum kc_op {
	KC_OP_CONSTANT,
	KC_OP_PARAM,         /* source[0]: index; constant: offset in it */
	KC_OP_PARAM_ADDRESS, /* source[0], constant: as above; its address */
	KC_OP_SPECIAL,       /* constant: enum kc_ptx_special */
	KC_OP_SHARED,        /* constant: address in shared memory */
	KC_OP_POINTER,       /* constant: offset in a variable in global memory, whose address is not known;
				source[0]: number of the variable, source[1]: its bytes */
	KC_OP_UNKNOWN,       /* constant: enum kc_unknown_reason */
	KC_OP_PHI,
	KC_OP_EXIT_VALUE, /* source[0] as it was when the thread left its loop */
	KC_OP_ADD,
	KC_OP_SUB,
	KC_OP_MUL,
	KC_OP_MUL_HIGH,
	KC_OP_DIV,
	KC_OP_REM,
	KC_OP_MIN,
	KC_OP_MAX,
	KC_OP_AND,
	KC_OP_OR,
	KC_OP_XOR,
	KC_OP_NOT,
	KC_OP_SHL,
	KC_OP_SHR,
	KC_OP_ABS,
	KC_OP_EXTEND,        /* from source_bits to bits */
	KC_OP_COMPARE,       /* compare: LT, LE, EQ or NE */
	KC_OP_COMPARE_FLOAT, /* of 32 or 64 bits; compare: any; constant: 1 if subnormal numbers count as 0 */
	KC_OP_SELECT,        /* source[0] ? source[1] : source[2] */
	KC_OP_POPC,
	KC_OP_CLZ,
	KC_OP_LOP3,      /* constant: its truth table */
	KC_OP_BROADCAST, /* constant: the lane whose value all lanes take */
	/* Of floats of 32 or 64 bits, kept as their bits. constant: KC_FLOAT_FLUSHES, and how to round to an integer: 1
	 * to the nearest, 2 towards 0, 3 down, 4 up. */
	KC_OP_FLOAT_ADD,
	KC_OP_FLOAT_SUB,
	KC_OP_FLOAT_MUL,
	KC_OP_FLOAT_DIV,
	KC_OP_FLOAT_FMA,
	KC_OP_FLOAT_MIN,
	KC_OP_FLOAT_MAX,
	KC_OP_FLOAT_SQRT,
	KC_OP_FLOAT_ROUND,        /* to an integer */
	KC_OP_FLOAT_CONVERT,      /* from source_bits to bits */
	KC_OP_FLOAT_TO_INTEGER,   /* is_signed: of the result */
	KC_OP_FLOAT_FROM_INTEGER, /* is_signed: of the source */
};

#define KC_FLOAT_FLUSHES 8 /* subnormal floats of 32 bits count as 0 */

enum kc_unknown_reason {
	KC_UNKNOWN_GLOBAL_LOAD,
	KC_UNKNOWN_SHARED_LOAD,
	KC_UNKNOWN_LOCAL_LOAD,
	KC_UNKNOWN_CONST_LOAD,
	KC_UNKNOWN_ATOMIC,
	KC_UNKNOWN_OTHER_THREADS, /* shuffles, votes */
	KC_UNKNOWN_FLOAT,
	KC_UNKNOWN_CALL,
	KC_UNKNOWN_SPECIAL,
	KC_UNKNOWN_UNSET,
	KC_UNKNOWN_WAIT, /* mbarrier.try_wait */
	KC_UNKNOWN_BOX,  /* of a tensor map */
	KC_UNKNOWN_INSTRUCTION,
};

/* The sums that a launch is, outermost first: grid z, y, x; warps of a block along z, y, x; then loops by depth. */
#define KC_AXES 6u
#define KC_BLOCK_AXES 3u
#define KC_SUMS_MAX (KC_AXES + KC_LOOP_DEPTH_MAX)
#define KC_LEVEL_FLOW (KC_AXES + 1u) /* level of what depends on control flow; 0: once per launch; 1 + axis */

struct kc_value {
	uint8_t op, bits;    /* 1: a predicate */
	uint8_t source_bits; /* of its sources, where that differs */
	uint8_t is_signed;   /* how it reads its sources */
	uint8_t compare;
	uint8_t level;
	uint8_t is_pointer; /* a parameter that only addresses depend on */
	uint8_t memory;     /* depends on memory contents */
	uint8_t live;
	uint8_t eager;    /* at a launch, evaluated wherever it changes */
	uint8_t surveyed; /* at a launch, evaluated once in the survey (survey.c) */
	uint8_t count;
	uint32_t source[KC_SOURCES_MAX];
	uint32_t phi; /* index in phi_sources of its first source: one for each edge into the block */
	int64_t constant;
	uint32_t block;
	uint32_t loop;       /* innermost one in which it is computed in each iteration */
	uint32_t exit_value; /* its KC_OP_EXIT_VALUE; KC_NO_VALUE: none is needed yet */
	uint32_t slot;       /* where it is kept when evaluated: offset in bytes */
	uint32_t offset;
};

/* What events and amounts add to apart from counters, per thread: see struct kc_counts. KC_COUNTER_COUNT: nothing. */
enum {
	KC_ALSO_CONTENDED = KC_COUNTER_COUNT + 1,
	KC_ALSO_WIDE_CONVERSIONS,
	KC_ALSO_SCATTERED_LOCAL,
	KC_ALSO_CONSTANT,
	KC_AMOUNT_COUNT,
};

enum kc_event_kind {
	KC_EVENT_COUNT,
	KC_EVENT_GLOBAL,
	KC_EVENT_SHARED,
	KC_EVENT_ATOMIC, /* on shared memory: counted once per instruction, whatever its addresses */
};

/* How a value may differ between the lanes of a warp, and between warps (divergence.c): bits. */
enum kc_alike {
	KC_ALIKE_X = 1,         /* by arithmetic, from one thread to the next along x */
	KC_ALIKE_APART = 2,     /* by memory contents or other threads: each lane by itself */
	KC_ALIKE_Y = 4,         /* by arithmetic along y or z */
	KC_ALIKE_ROWS = 8,      /* and far: rows of a matrix */
	KC_ALIKE_PITCH = 0xf0,  /* log2 of the distance from one lane to the next; the highest: far, or not known */
	KC_ALIKE_LANES = 0xff,  /* all of these: between lanes */
	KC_ALIKE_BLOCK = 0x100, /* between blocks, or between warps by their number */
};
#define KC_ALIKE_PITCH_AT 4u

struct kc_event {
	uint8_t kind;
	uint8_t alike; /* enum kc_alike, of the address */
	uint8_t guard_negated;
	uint8_t bytes;             /* per lane */
	uint8_t lanes;             /* that address memory: all of the warp, fewer for ldmatrix */
	uint8_t counter, counter2; /* or KC_ALSO_…; counter2: KC_COUNTER_COUNT where there is none */
	uint8_t expected;          /* the size is what a barrier expects of tensors' boxes, whatever lies outside */
	uint8_t per_warp;          /* amounts count once per warp, not per lane */
	uint8_t retried;           /* amounts count once for each try, until each lane of a warp has been first */
	float issues;              /* instructions: 0 for an instruction's second event */
	float times;               /* accesses that were merged into this one (merge_events.c) */
	float amount, amount2;     /* per active lane */
	uint32_t guard;            /* value */
	uint32_t address;          /* value */
	uint32_t size; /* value: how many of its bytes a lane moves; amount2 is per byte. KC_NO_VALUE: all */
	uint32_t offset;
};

struct kc_amount {
	uint32_t counter;
	float amount;
};

/* Instructions that wait for each other: cycles of arithmetic, loads from global memory, from memory of the SM, and
 * from global memory that all threads of the launch go through alike. */
struct kc_chain {
	float cycles, far, near, common;
};
/* To tell which of two chains is longer: a load from L2, one from L1 or shared memory (solo/resources/resources.c). */
#define KC_FAR_CYCLES 262.0f
#define KC_NEAR_CYCLES 30.0f
static inline float kc__length(const struct kc_chain *chain)
{
	return chain->cycles + KC_FAR_CYCLES * (chain->far + chain->common) + KC_NEAR_CYCLES * chain->near;
}

/* For what a thread stays in a loop. */
enum kc_waits {
	KC_WAITS_NOT,
	KC_WAITS_FOR_DATA, /* the condition is unknown only in whether a barrier in memory is complete */
	KC_WAITS_TO_WIN,   /* until its atomic operation finds what it expects, or a lock free */
};

struct kc_block_plan {
	uint32_t phi, phi_count;                   /* in order */
	uint32_t value, value_count;               /* in order */
	uint32_t event, event_count;               /* in events */
	uint32_t launch_event, launch_event_count; /* in launch_events */
	uint32_t amount, amount_count;             /* in amounts */
	float issues;                              /* unguarded instructions */
	struct kc_chain chain;                     /* the longest (chain.c) */
	uint32_t condition;                        /* value: predicate of the branch, or index of the switch */
	uint8_t condition_negated;
	uint8_t together;             /* lanes take the same way out, known or not */
	uint8_t waits;                /* enum kc_waits */
	uint32_t offset, last_offset; /* of its first and last instruction */
};

struct kc_loop_plan {
	uint32_t entry, entry_count;           /* in order: computed before the loop */
	uint32_t exit_value, exit_value_count; /* in order: KC_OP_EXIT_VALUE values */
	uint32_t carried, carried_count;       /* in carried: its variables */
	uint8_t stepwise; /* a variable has no constant step: iterations are evaluated one by one */
};

/* A loop-carried variable. */
struct kc_carried {
	uint32_t phi;
	uint32_t step;  /* value that is added in each iteration; KC_NO_VALUE: there is none */
	uint32_t slot;  /* where its value at the entry is kept: offset in bytes */
	uint8_t memory; /* depends on memory contents: not known after the first iteration */
};

struct kc_formula {
	struct kc_cfg cfg;
	struct kc_value *values;
	uint32_t value_count;
	uint32_t *phi_sources;
	uint32_t phi_source_count;
	uint32_t *order;
	uint32_t order_count, carried_count;
	uint32_t level[KC_LEVEL_FLOW + 1]; /* index in order of each level's first value; the last: end of them all */
	struct kc_block_plan *block_plans;
	struct kc_event *events;
	uint32_t event_count;
	struct kc_event *launch_events; /* for evaluation at a launch: those with the same access pattern merged */
	uint32_t launch_event_count;
	struct kc_amount *amounts;
	struct kc_loop_plan *loop_plans;
	struct kc_carried *carried;
	uint8_t *leaves; /* by edge: how many loops it leaves */
	uint32_t slot_bytes;
	uint64_t static_shared_bytes;
	uint8_t accesses_local; /* instructions that are counted access a thread's own memory */
};

/* What a value is computed from: *count values. Of a phi, one for each edge into its block. */
static inline uint32_t *kc__sources(const struct kc_formula *f, struct kc_value *v, uint32_t *count)
{
	*count = v->op == KC_OP_PHI ? f->cfg.blocks[v->block].in_count : v->count;
	return v->op == KC_OP_PHI ? f->phi_sources + v->phi : v->source;
}

/* 1: a loop-carried variable, in the header of its loop. */
static inline int kc__is_header_phi(const struct kc_formula *f, const struct kc_value *v)
{
	uint32_t loop = f->cfg.blocks[v->block].loop;

	return v->op == KC_OP_PHI && loop != KC_NO_LOOP && f->cfg.loops[loop].header == v->block;
}

/* The operation on single numbers. Results are kept sign-extended, predicates as 0 and 1. Division by 0 gives 0. */
int64_t kc__compute(const struct kc_value *value, int64_t a, int64_t b, int64_t c);
/* The number that the bits of a float (32) or a double (64) stand for; flushes: 0 for a subnormal float. */
double kc__float_of(int64_t value, uint32_t bits, int flushes);
int64_t kc__float_bits_of(double number, uint32_t bits, int flushes);

/* The lowest `bits` of a number: kc__wrap as they are kept, sign-extended; kc__read as a signed or unsigned number. */
static inline int64_t kc__wrap(int64_t value, uint32_t bits)
{
	return bits == 32   ? (int32_t)value
	       : bits == 64 ? value
	       : bits == 16 ? (int16_t)value
	       : bits == 8  ? (int8_t)value
			    : value & 1;
}

static inline int64_t kc__read(int64_t value, uint32_t bits, int is_signed)
{
	if (is_signed)
		return kc__wrap(value, bits);
	return bits == 64 ? value : value & (int64_t)(((uint64_t)1 << bits) - 1);
}

/* --- reading, in this order: slice.c; ssa.c with values.c, translate.c, reason.c, count.c and count_copies.c;
 * formula_layout.c */

/* What is needed while a kernel is read. */
struct kc__formula_reader {
	struct kc_arena *arena;
	const struct kc_ptx_module *module;
	const struct kc_ptx_function *kernel;
	struct kc_formula *f;
	uint32_t value_capacity, event_capacity, amount_capacity, amount_count;
	uint32_t constants[256]; /* values of recent constants, by hash */
	uint32_t *set_from,
	    *set_at;           /* register n is set at the points set_at[set_from[n]] to set_at[set_from[n + 1] - 1] */
	uint8_t expects_bytes; /* bulk copies from global memory are counted by the bytes that barriers expect */
	uint8_t *needed;       /* by register: control flow or an address depends on it */
	uint8_t *crosses;      /* by register: read in another block than where it is set */
	uint8_t *contracted;   /* by point: enum kc__contracted */
	uint8_t *in_shared;    /* by point: it addresses shared memory by a generic address */
	uint16_t *lanes;       /* by register: how it may differ between lanes and warps (divergence.c) */
	uint32_t *reads;       /* by register: how many operands it is, apart from guards */
	uint32_t *current;     /* register → value */
	uint32_t block;        /* being read */
	float counted[KC_AMOUNT_COUNT]; /* in the block being read, by instructions without a guard */
};

/* Returns the number of a value: a new one, unless it simplifies to a constant or a known one. KC_NO_VALUE: no memory.
 */
uint32_t kc__value(struct kc__formula_reader *r, struct kc_value value);
uint32_t kc__constant(struct kc__formula_reader *r, int64_t constant, uint8_t bits);

/* Value of a register, or of an address, at the point being read. */
uint32_t kc__register_value(struct kc__formula_reader *r, const struct kc_cfg_point *point, uint32_t number);
uint32_t kc__address_value(struct kc__formula_reader *r, const struct kc_cfg_point *point,
			   const struct kc_ptx_operand *address);

/* Why the result of the instruction is unknown. For arithmetic that does not become a value: where its operands come
 * from. */
enum kc_unknown_reason kc__why_unknown(const struct kc__formula_reader *r, const struct kc_cfg_point *point);

/* kc__translate: sets reader->current for what the instruction writes. kc__count: adds what it counts to the plan, or
 * to reader->counted, which kc__add_counted adds at the end of the block. 0, -ENOMEM. */
int kc__translate(struct kc__formula_reader *r, const struct kc_cfg_point *point);
int kc__count(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point);
int kc__add_counted(struct kc__formula_reader *r, struct kc_block_plan *plan);

int kc__slice(struct kc__formula_reader *r);
int kc__build_ssa(struct kc__formula_reader *r);

/* known_bits.c. kc__make_sums: what is written as a bitwise or of values without a common bit becomes their sum. After
 * ssa.c. kc__aligned_log2: log2 of a power of two that the value is a multiple of, whatever is launched. */
#define KC_ALIGNED_LOG2_MAX 63u
void kc__make_sums(struct kc_formula *f);
uint32_t kc__aligned_log2(const struct kc_formula *f, uint32_t value);

int kc__lay_out_values(struct kc__formula_reader *r);
/* translate_compare.c: numbers from memory are taken to be less than what CUDA's sines, cosines and tangents take
 * another way for. 1: comparisons have become constants, and what depends on memory is to be found anew. */
int kc__take_as_ordinary(struct kc_formula *f);
/* merge_events.c: fills launch_events. Called by formula_layout.c once the loops' variables are known. */
int kc__merge_events(struct kc_formula *f, struct kc_arena *arena);
/* The value that an address is, apart from constants that are added to it: *offset. */
uint32_t kc__address_base(const struct kc_formula *f, uint32_t address, int64_t *offset);

#endif
