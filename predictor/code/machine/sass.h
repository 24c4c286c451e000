/*
 * Instructions of machine code by class, for kernels without PTX.
 *
 *   kc_sass   instructions of one kernel by class, each counted once
 *
 * `reach` says what that means for a thread. Trip counts of loops are not
 * determined.
 *
 * An instruction has 16 bytes from compute capability 7.0 on; the lowest nine
 * bits are the operation, the next three the form of its operands. Numbers
 * and fields: Mesa's public encoder for these GPUs (src/nouveau/compiler/nak),
 * and PTX of known content assembled with ptxas 13.0 for sm_75 to sm_120.
 */
#ifndef KC_SASS_H
#define KC_SASS_H

#include "predictor/code/container/bytes.h"

/* X(constant, name in output) */
#define KC_SASS_CLASSES(X)                                                                                             \
	X(UNKNOWN, "unknown") /* not in the table */                                                                   \
	X(FMA, "fma")         /* FFMA, DFMA, HFMA2, except those that only move */                                     \
	X(ADD, "add")         /* FADD, DADD, HADD2; comparisons of 64 and 16 bits, min, max */                         \
	X(MUL, "mul")                                                                                                  \
	X(INT, "int")         /* integer, logic, shifts, predicates; FSETP, FMNMX, F2FP, I2FP */                       \
	X(MOVE, "move")       /* MOV, and multiply-adds whose product is 0 */                                          \
	X(SPECIAL, "special") /* MUFU */                                                                               \
	X(CONVERT, "convert")                                                                                          \
	X(DOUBLE, "double")       /* those of fma, add and mul in 64 bits, counted there as well */                    \
	X(HALF, "half")           /* those of fma, add and mul in 16 bits, two at a time, counted there as well */     \
	X(TENSOR, "tensor")       /* HMMA, IMMA, HGMMA, UTCHMMA, … */                                                \
	X(CONTROL, "control")     /* branches, calls, returns, exits, their convergence barriers */                    \
	X(LD_GLOBAL, "ld_global") /* LDG, LDGSTS */                                                                    \
	X(ST_GLOBAL, "st_global")                                                                                      \
	X(LD_SHARED, "ld_shared") /* LDS, LDSM */                                                                      \
	X(ST_SHARED, "st_shared") /* STS, LDGSTS */                                                                    \
	X(LD_LOCAL, "ld_local")                                                                                        \
	X(ST_LOCAL, "st_local")                                                                                        \
	X(LD_GENERIC, "ld_generic") /* LD: global, shared or local, by the address */                                  \
	X(ST_GENERIC, "st_generic")                                                                                    \
	X(LD_CONSTANT, "ld_constant")                                                                                  \
	X(ATOMICS, "atomics")               /* ATOM, ATOMG, ATOMS, RED */                                              \
	X(ATOMICS_SHARED, "atomics_shared") /* of those: ATOMS */                                                      \
	X(BARRIERS, "barriers")             /* BAR */                                                                  \
	X(SHUFFLE, "shuffle")               /* between the lanes of a warp: SHFL, VOTE, MATCH, REDUX */                \
	X(UNIFORM, "uniform")               /* once per warp, on the uniform datapath */                               \
	X(OTHER, "other")                   /* special registers, fences, cache control, NOP */

enum kc_sass_class {
#define X(constant, name) KC_SASS_##constant,
	KC_SASS_CLASSES(X)
#undef X
	    KC_SASS_CLASS_COUNT,
};
const char *kc_sass_class_name(uint32_t class_number);

enum kc_sass_reach {
	KC_SASS_STATIC,  /* loops, calls or unknown instructions: nothing is known about a thread */
	KC_SASS_AT_MOST, /* every instruction at most once per thread */
	KC_SASS_EXACT,   /* every instruction once per thread: no branch, nothing predicated */
};

struct kc_sass {
	uint8_t known; /* 0: instructions of this architecture are not known, and all else is 0 */
	uint8_t reach;
	uint8_t has_loop, has_call;
	uint8_t calls_away;    /* calls code outside of its section, which is not counted */
	uint32_t instructions; /* without the padding at the end */
	uint32_t of[KC_SASS_CLASS_COUNT];
	uint32_t wide_loads, wide_shared_loads; /* of KC_SASS_WIDE_BYTES or more: LDG, LD, LDGSTS; LDS */
};
#define KC_SASS_WIDE_BYTES 16u

/* sm: 90 for sm_90. Code that does not consist of whole instructions is not known. */
void kc__sass_count(struct kc_sass *sass, const struct kc_bytes *code, uint32_t sm);

/* The same for code that is read part by part, apart from reach, loops and padding: adds one instruction, at `index` of
 * the `count` of its section. For an architecture that kc__sass_knows(). */
#define KC__SASS_BYTES 16u
int kc__sass_knows(uint32_t sm);
void kc__sass_add(struct kc_sass *sass, const uint8_t bytes[KC__SASS_BYTES], uint32_t index, uint32_t count,
		  uint32_t sm);

#endif
