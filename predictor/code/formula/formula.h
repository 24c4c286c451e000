/*
 * A kernel reduced to what its counts depend on.
 *
 *   kc_value    one result, in static single assignment: what control flow and
 *               addresses are computed from. The rest of the kernel is only
 *               counted
 *   kc_event    an instruction whose count needs more than how often its block
 *               runs: a memory access, or one with a guard
 *   kc_stage    a block: the values computed in it, its events, what else it
 *               counts, and the condition by which it is left
 *   kc_cycle    a loop: what is computed on entry, how its variables go on, what
 *               of it is used behind it
 *
 * A value that depends on no loop and no path is computed once for the launch,
 * the grid coordinate, or the warp: its level says which. One that does not
 * depend on a loop it stands in is computed where that loop is entered.
 */
#ifndef KC_FORMULA_H
#define KC_FORMULA_H

#include "cfg.h"
#include "predictor/code/cost.h"

#define KC_NO_VALUE UINT32_MAX
#define KC_SOURCES_MAX 3u

enum kc_op {
	KC_OP_CONSTANT,
	KC_OP_PARAM,         /* source[0]: index; constant: offset in it */
	KC_OP_PARAM_ADDRESS, /* the same: where it is */
	KC_OP_SPECIAL,       /* constant: enum kc_ptx_special */
	KC_OP_SHARED,        /* constant: address in shared memory */
	KC_OP_POINTER,       /* constant: a number of its own: a variable's address in global memory */
	KC_OP_UNKNOWN,       /* constant: enum kc_unknown_reason */
	KC_OP_PHI,
	KC_OP_LEFT, /* source[0] as it was when the thread left the loop */
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
	KC_OP_EXTEND,  /* from source_bits to bits */
	KC_OP_COMPARE, /* compare: LT, LE, EQ or NE */
	KC_OP_SELECT,  /* source[0] ? source[1] : source[2] */
	KC_OP_POPC,
	KC_OP_CLZ,
	KC_OP_LOP3, /* constant: its table */
};

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
	KC_UNKNOWN_INSTRUCTION,
};

/* Counters of the sums that a launch is: grid z, y, x; warps of a block along z, y, x; then loops by depth. */
#define KC_AXES 6u
#define KC_BLOCK_AXES 3u
#define KC_SUMS_MAX (KC_AXES + KC_LOOP_DEPTH_MAX)
#define KC_LEVEL_FLOW (KC_AXES + 1u) /* 0: for the launch; 1 + axis */

struct kc_value {
	uint8_t op, bits;    /* 1: a predicate */
	uint8_t source_bits; /* of what it reads, where that differs */
	uint8_t is_signed;   /* how it reads them */
	uint8_t compare;
	uint8_t level;
	uint8_t is_pointer; /* of a parameter: only addresses depend on it */
	uint8_t memory;     /* depends on memory contents */
	uint8_t live;
	uint8_t eager;    /* at a launch, computed wherever it changes */
	uint8_t surveyed; /* at a launch, computed once at least (outline.c) */
	uint8_t count;
	uint32_t source[KC_SOURCES_MAX];
	uint32_t phi; /* first of its sources among phi_sources: one for each edge into the block */
	int64_t constant;
	uint32_t block;
	uint32_t loop; /* in which it is computed anew each time */
	uint32_t left; /* its KC_OP_LEFT, once one is needed */
	uint32_t slot; /* where it is kept when evaluated: bytes */
	uint32_t offset;
};

enum kc_event_kind {
	KC_EVENT_COUNT,
	KC_EVENT_GLOBAL,
	KC_EVENT_SHARED,
	KC_EVENT_ATOMIC, /* on shared memory: counted as it is issued, however its lanes meet */
};

struct kc_event {
	uint8_t kind;
	uint8_t guard_negated;
	uint8_t bytes;             /* of a lane */
	uint8_t lanes;             /* that address memory: 32, fewer for ldmatrix */
	uint8_t counter, counter2; /* the second: KC_COUNTER_COUNT where there is none */
	float issues;              /* instructions: 0 for an instruction's second event */
	float times;               /* accesses like this one, as they are merged in `digest` */
	float amount, amount2;
	uint32_t guard;   /* value */
	uint32_t address; /* value */
	uint32_t size;    /* value: of the bytes of a lane, how many it moves; amount2 is per byte. KC_NO_VALUE: all */
	uint32_t offset;
};

struct kc_amount {
	uint32_t counter;
	float amount;
};

struct kc_stage {
	uint32_t phi, phi_count;       /* in order */
	uint32_t value, value_count;   /* in order */
	uint32_t event, event_count;   /* in events */
	uint32_t digest, digest_count; /* in digest */
	uint32_t amount, amount_count; /* in amounts */
	float issues;                  /* unguarded instructions */
	uint32_t condition;            /* value: of the branch, or the switch's index */
	uint8_t condition_negated;
	uint32_t offset, last_offset; /* of its first and last instruction */
};

struct kc_cycle {
	uint32_t entry, entry_count; /* in order: computed where it is entered */
	uint32_t left, left_count;   /* in order: KC_OP_LEFT values */
	uint32_t carried, carried_count;
	uint8_t stepwise; /* a variable does not go on by a constant step: iterations are run one by one */
};

/* A variable of a loop. */
struct kc_carried {
	uint32_t phi;
	uint32_t step;  /* value; KC_NO_VALUE: not by a constant step */
	uint32_t slot;  /* where its value at the entry is kept: bytes */
	uint8_t memory; /* it depends on memory contents: not known after the first iteration */
};

struct kc_formula {
	struct kc_cfg cfg;
	struct kc_value *values;
	uint32_t value_count;
	uint32_t *phi_sources;
	uint32_t phi_source_count;
	uint32_t *order;
	uint32_t order_count, carried_count;
	uint32_t level[KC_LEVEL_FLOW + 1]; /* where each level's values start in order; the last: their end */
	struct kc_stage *stages;
	struct kc_event *events;
	uint32_t event_count;
	struct kc_event *digest; /* events, but that those which meet memory alike are one */
	uint32_t digest_count;
	struct kc_amount *amounts;
	struct kc_cycle *cycles;
	struct kc_carried *carried;
	uint8_t *leaves; /* by edge: how many loops it leaves */
	uint32_t slot_bytes;
	uint64_t static_shared_bytes;
};

/* What a value is computed from: *count values. Of a phi, one for each edge into its block. */
static inline uint32_t *kc__sources(const struct kc_formula *f, struct kc_value *v, uint32_t *count)
{
	*count = v->op == KC_OP_PHI ? f->cfg.blocks[v->block].in_count : v->count;
	return v->op == KC_OP_PHI ? f->phi_sources + v->phi : v->source;
}

/* A variable of a loop, where the loop begins. */
static inline int kc__is_header_phi(const struct kc_formula *f, const struct kc_value *v)
{
	uint32_t loop = f->cfg.blocks[v->block].loop;

	return v->op == KC_OP_PHI && loop != KC_NO_LOOP && f->cfg.loops[loop].header == v->block;
}

/* The operation on single numbers. Results are kept extended by their sign, predicates as 0 and 1. Division by 0: 0. */
int64_t kc__compute(const struct kc_value *value, int64_t a, int64_t b, int64_t c);

/* The lowest `bits` of a number, as they are kept; and as an unsigned or signed number is read. */
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

/* --- slice.c, ssa.c with translate.c, reason.c and count.c, place.c: reading, in this order */

/* What is needed while a kernel is read. */
struct kc__reader {
	struct kc_arena *arena;
	const struct kc_ptx_module *module;
	const struct kc_ptx_function *kernel;
	struct kc_formula *f;
	uint32_t value_capacity, event_capacity, amount_capacity, amount_count;
	uint32_t constants[256];         /* those met last, by their hash */
	uint32_t *set_from, *set_at;     /* by register: points at which it is set are set_at[set_from[n]] and on */
	uint8_t *needed;                 /* by register: something depends on it */
	uint8_t *crosses;                /* by register: read in another block than where it is set */
	uint32_t *current;               /* register → value */
	uint32_t block;                  /* being read */
	float counted[KC_COUNTER_COUNT]; /* in the block being read, without guard */
};

/* Appends, unless it is a constant or one of its sources. KC_NO_VALUE: no memory. */
uint32_t kc__value(struct kc__reader *r, struct kc_value value);
uint32_t kc__constant(struct kc__reader *r, int64_t constant, uint8_t bits);

/* The value of a register, or of an address, at the point being read. */
uint32_t kc__register_value(struct kc__reader *r, const struct kc_point *point, uint32_t number);
uint32_t kc__address_value(struct kc__reader *r, const struct kc_point *point, const struct kc_ptx_operand *address);

/* Why nothing is known of what the instruction computes: past arithmetic that is not followed, what that is done on. */
enum kc_unknown_reason kc__why_not_followed(const struct kc__reader *r, const struct kc_point *point);

/* Sets reader->current for what the instruction writes; adds what it counts. */
int kc__translate(struct kc__reader *r, const struct kc_point *point);
int kc__count(struct kc__reader *r, struct kc_stage *stage, const struct kc_point *point);
int kc__keep_counted(struct kc__reader *r, struct kc_stage *stage);

int kc__slice(struct kc__reader *r);
int kc__name_values(struct kc__reader *r);
int kc__place_values(struct kc__reader *r);
/* digest.c: for place.c, once it is known how loops go on. */
int kc__digest(struct kc_formula *f, struct kc_arena *arena);

#endif
