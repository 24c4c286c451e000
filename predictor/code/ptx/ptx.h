/*
 * PTX text, parsed.
 *
 *   kc_ptx_module       version, target, variables, functions
 *   kc_ptx_function     a kernel (.entry) or device function: parameters,
 *                       registers, instructions in the order of the text
 *   kc_ptx_instruction  opcode, its modifiers, guard, operands
 *   kc_ptx_operand      register, number, special register, address, label
 *
 * Registers are numbered from 0 within their function. Labels are instruction
 * indices; a label at the end is the number of instructions. The parser does not
 * decide what an opcode does. An opcode that it does not know is KC_PTX_OTHER and
 * keeps its spelling.
 *
 * Source: PTX ISA 9.0. Everything lives in the module's arena.
 */
#ifndef KC_PTX_H
#define KC_PTX_H

#include "predictor/code/container/arena.h"
#include "predictor/code/container/refusal.h"

#include <stdint.h>

/* X(constant, spelling of the first word) */
#define KC_PTX_OPCODES(X)                                                                                              \
	X(ABS, "abs")                                                                                                  \
	X(ADD, "add")                                                                                                  \
	X(ADDC, "addc")                                                                                                \
	X(AND, "and")                                                                                                  \
	X(ATOM, "atom")                                                                                                \
	X(BAR, "bar")                                                                                                  \
	X(BARRIER, "barrier")                                                                                          \
	X(BFE, "bfe")                                                                                                  \
	X(BFI, "bfi")                                                                                                  \
	X(BFIND, "bfind")                                                                                              \
	X(BRA, "bra")                                                                                                  \
	X(BREV, "brev")                                                                                                \
	X(BRX, "brx")                                                                                                  \
	X(CALL, "call")                                                                                                \
	X(CLZ, "clz")                                                                                                  \
	X(CNOT, "cnot")                                                                                                \
	X(COPYSIGN, "copysign")                                                                                        \
	X(COS, "cos")                                                                                                  \
	X(CP, "cp")                                                                                                    \
	X(CVT, "cvt")                                                                                                  \
	X(CVTA, "cvta")                                                                                                \
	X(DIV, "div")                                                                                                  \
	X(DP2A, "dp2a")                                                                                                \
	X(DP4A, "dp4a")                                                                                                \
	X(ELECT, "elect")                                                                                              \
	X(EX2, "ex2")                                                                                                  \
	X(EXIT, "exit")                                                                                                \
	X(FENCE, "fence")                                                                                              \
	X(FMA, "fma")                                                                                                  \
	X(FNS, "fns")                                                                                                  \
	X(ISSPACEP, "isspacep")                                                                                        \
	X(LD, "ld")                                                                                                    \
	X(LDMATRIX, "ldmatrix")                                                                                        \
	X(LDU, "ldu")                                                                                                  \
	X(LG2, "lg2")                                                                                                  \
	X(LOP3, "lop3")                                                                                                \
	X(MAD, "mad")                                                                                                  \
	X(MADC, "madc")                                                                                                \
	X(MATCH, "match")                                                                                              \
	X(MAX, "max")                                                                                                  \
	X(MEMBAR, "membar")                                                                                            \
	X(MIN, "min")                                                                                                  \
	X(MMA, "mma")                                                                                                  \
	X(MOV, "mov")                                                                                                  \
	X(MUL, "mul")                                                                                                  \
	X(MUL24, "mul24")                                                                                              \
	X(MAD24, "mad24")                                                                                              \
	X(NANOSLEEP, "nanosleep")                                                                                      \
	X(NEG, "neg")                                                                                                  \
	X(NOT, "not")                                                                                                  \
	X(OR, "or")                                                                                                    \
	X(POPC, "popc")                                                                                                \
	X(PREFETCH, "prefetch")                                                                                        \
	X(PRMT, "prmt")                                                                                                \
	X(RCP, "rcp")                                                                                                  \
	X(RED, "red")                                                                                                  \
	X(REDUX, "redux")                                                                                              \
	X(REM, "rem")                                                                                                  \
	X(RET, "ret")                                                                                                  \
	X(RSQRT, "rsqrt")                                                                                              \
	X(SAD, "sad")                                                                                                  \
	X(SELP, "selp")                                                                                                \
	X(SET, "set")                                                                                                  \
	X(SETP, "setp")                                                                                                \
	X(SHF, "shf")                                                                                                  \
	X(SHFL, "shfl")                                                                                                \
	X(SHL, "shl")                                                                                                  \
	X(SHR, "shr")                                                                                                  \
	X(SIN, "sin")                                                                                                  \
	X(SLCT, "slct")                                                                                                \
	X(SQRT, "sqrt")                                                                                                \
	X(ST, "st")                                                                                                    \
	X(STMATRIX, "stmatrix")                                                                                        \
	X(SUB, "sub")                                                                                                  \
	X(SUBC, "subc")                                                                                                \
	X(SULD, "suld")                                                                                                \
	X(SUST, "sust")                                                                                                \
	X(TANH, "tanh")                                                                                                \
	X(TESTP, "testp")                                                                                              \
	X(TEX, "tex")                                                                                                  \
	X(TLD4, "tld4")                                                                                                \
	X(TRAP, "trap")                                                                                                \
	X(VOTE, "vote")                                                                                                \
	X(VSHR, "vshr")                                                                                                \
	X(WGMMA, "wgmma")                                                                                              \
	X(WMMA, "wmma")                                                                                                \
	X(XOR, "xor")                                                                                                  \
	X(ACTIVEMASK, "activemask")

enum kc_ptx_opcode {
	KC_PTX_OTHER,
#define X(constant, spelling) KC_PTX_##constant,
	KC_PTX_OPCODES(X)
#undef X
	    KC_PTX_OPCODE_COUNT,
};

enum kc_ptx_type {
	KC_PTX_NO_TYPE,
	KC_PTX_PRED,
	KC_PTX_B8,
	KC_PTX_B16,
	KC_PTX_B32,
	KC_PTX_B64,
	KC_PTX_B128,
	KC_PTX_U8,
	KC_PTX_U16,
	KC_PTX_U32,
	KC_PTX_U64,
	KC_PTX_S8,
	KC_PTX_S16,
	KC_PTX_S32,
	KC_PTX_S64,
	KC_PTX_F16,
	KC_PTX_F16X2,
	KC_PTX_BF16,
	KC_PTX_BF16X2,
	KC_PTX_TF32,
	KC_PTX_F32,
	KC_PTX_F32X2,
	KC_PTX_F64,
	KC_PTX_OTHER_TYPE, /* e4m3, opaque handles, …; 0 bytes */
};
uint32_t kc_ptx_type_bytes(uint32_t type); /* pred: 1 */
int kc_ptx_type_is_float(uint32_t type);
int kc_ptx_type_is_signed(uint32_t type); /* s8 to s64 */

enum kc_ptx_space {
	KC_PTX_GENERIC, /* none named */
	KC_PTX_GLOBAL,
	KC_PTX_SHARED,
	KC_PTX_LOCAL,
	KC_PTX_CONST,
	KC_PTX_PARAM,
};

enum kc_ptx_compare {
	KC_PTX_NO_COMPARE,
	KC_PTX_EQ,
	KC_PTX_NE,
	KC_PTX_LT,
	KC_PTX_LE,
	KC_PTX_GT,
	KC_PTX_GE,
	KC_PTX_LO,
	KC_PTX_LS,
	KC_PTX_HI,
	KC_PTX_HS, /* unsigned */
	KC_PTX_EQU,
	KC_PTX_NEU,
	KC_PTX_LTU,
	KC_PTX_LEU,
	KC_PTX_GTU,
	KC_PTX_GEU,
	KC_PTX_NUM,
	KC_PTX_NAN,
};

enum kc_ptx_special {
	KC_PTX_SPECIAL_OTHER, /* %clock64, …: not known before the launch */
	KC_PTX_TID_X,
	KC_PTX_TID_Y,
	KC_PTX_TID_Z,
	KC_PTX_NTID_X,
	KC_PTX_NTID_Y,
	KC_PTX_NTID_Z,
	KC_PTX_CTAID_X,
	KC_PTX_CTAID_Y,
	KC_PTX_CTAID_Z,
	KC_PTX_NCTAID_X,
	KC_PTX_NCTAID_Y,
	KC_PTX_NCTAID_Z,
	KC_PTX_LANEID,
	KC_PTX_WARPID,
	KC_PTX_NWARPID,
	KC_PTX_WARP_SIZE,
	KC_PTX_LANEMASK_EQ,
	KC_PTX_LANEMASK_LE,
	KC_PTX_LANEMASK_LT,
	KC_PTX_LANEMASK_GE,
	KC_PTX_LANEMASK_GT,
};

enum kc_ptx_operand_kind {
	KC_PTX_OPERAND_NONE, /* "_" */
	KC_PTX_REGISTER,     /* .number */
	KC_PTX_INTEGER,      /* .value */
	KC_PTX_FLOAT,        /* .value: the bits of a float or double */
	KC_PTX_SPECIAL,      /* .number: enum kc_ptx_special */
	KC_PTX_SYMBOL,       /* a variable's address, or a parameter's, by .base, + .value */
	KC_PTX_ADDRESS,      /* [base + value]: base is register .number, or symbol, or parameter, by .base */
	KC_PTX_VECTOR,       /* {a, b, …}: .count operands at .elements */
	KC_PTX_NAME,         /* a function's or label list's name, .text */
};

enum kc_ptx_base { KC_PTX_BASE_NUMBER, KC_PTX_BASE_REGISTER, KC_PTX_BASE_SYMBOL, KC_PTX_BASE_PARAM };

struct kc_ptx_operand {
	uint8_t kind, base;
	uint8_t negated; /* !%p */
	uint8_t count;
	uint32_t number;
	int64_t value;
	const struct kc_ptx_operand *elements;
	const char *text;
};

#define KC_PTX_OPERANDS_MAX 8u
#define KC_PTX_NO_REGISTER UINT32_MAX

/* Modifiers that change what an instruction counts or computes; all others are in its spelling only. */
enum kc_ptx_flag {
	KC_PTX_WIDE = 1 << 0,
	KC_PTX_HIGH = 1 << 1,
	KC_PTX_BOOL_AND = 1 << 2, /* setp.lt.and */
	KC_PTX_BOOL_OR = 1 << 3,
	KC_PTX_BOOL_XOR = 1 << 4,
	KC_PTX_BULK = 1 << 5,  /* cp.async.bulk, cp.reduce.async.bulk */
	KC_PTX_WAITS = 1 << 6, /* bar.sync, barrier.sync, bar.red, barrier.cluster.wait */
	KC_PTX_SATURATES = 1 << 7,
	KC_PTX_FLUSHES = 1 << 8, /* .ftz: subnormal numbers count as 0 */
};

struct kc_ptx_instruction {
	uint16_t opcode;
	uint8_t type;  /* the first one written: of the result, except for set, setp, cvt */
	uint8_t type2; /* the second: cvt's source; 0: none */
	uint8_t compare;
	uint8_t space;
	uint8_t vector; /* elements per access: 1, 2, 4, 8 */
	uint8_t guard_negated;
	uint8_t operand_count;
	uint8_t results; /* how many of the first operands are written */
	uint32_t flags;
	uint32_t guard;          /* register; KC_PTX_NO_REGISTER: always */
	uint32_t target;         /* bra: instruction index; otherwise 0 */
	const uint32_t *targets; /* brx.idx: instruction indices */
	uint32_t target_count;
	uint32_t offset;      /* in the text */
	const char *spelling; /* all of it, dots included: "ld.global.nc.v4.f32" */
	struct kc_ptx_operand *operands;
};

struct kc_ptx_variable {
	const char *name;
	uint8_t space; /* shared, global, const, local */
	uint8_t type;
	uint32_t align_bytes;
	uint64_t bytes; /* 0: its size is given at launch (.extern .shared) */
};

struct kc_ptx_param {
	const char *name;
	uint8_t type;
	uint8_t is_array; /* .b8 name[bytes]: a struct */
	uint32_t align_bytes;
	uint32_t offset_bytes, bytes; /* in the parameter block, as the driver lays it out */
};

struct kc_ptx_function {
	const char *name;
	uint8_t is_entry, has_body;
	uint32_t offset; /* in the text */
	struct kc_ptx_param *params;
	uint32_t param_count;
	uint8_t *register_types; /* enum kc_ptx_type, by register */
	uint32_t register_count;
	struct kc_ptx_instruction *instructions;
	uint32_t instruction_count;
	struct kc_ptx_variable *locals; /* its variables, call parameters and returned values included */
	uint32_t local_count;
	uint64_t static_shared_bytes;
	uint32_t max_threads[3];   /* .maxntid, .reqntid; 0: not given */
	uint8_t is_shape_required; /* .reqntid, or a cluster's blocks, which grids are multiples of */
};

struct kc_ptx_module {
	struct kc_arena arena;
	uint32_t version_major, version_minor;
	uint32_t target; /* 90 of sm_90a */
	struct kc_ptx_variable *variables;
	uint32_t variable_count;
	struct kc_ptx_function *functions;
	uint32_t function_count;
};

#define KC_PTX_LOCAL_SYMBOL (1u << 31) /* in .number: the function's own variable, else the module's */
const struct kc_ptx_variable *kc_ptx_symbol(const struct kc_ptx_module *module, const struct kc_ptx_function *function,
					    uint32_t number);

/*
 * Parses PTX text, which need not end in a NUL. memory_bytes limits the memory of
 * the module. Returns 0; -EBADMSG, and *refusal says where and why; or -ENOMEM. On
 * failure nothing is kept.
 */
int kc_ptx_parse(struct kc_ptx_module *module, const char *text, size_t length, size_t memory_bytes,
		 struct kc_refusal *refusal);
void kc_ptx_free(struct kc_ptx_module *module);

/* Finds kernels' names without parsing, many times as fast: each that kc_ptx_parse would find, and perhaps words of
 * comments and strings. *at, 0 at first, is where to go on. 1: *name has *name_length bytes of the text; 0: no more. */
int kc_ptx_next_entry(const char *text, size_t length, size_t *at, const char **name, size_t *name_length);

/* The function of that name that has a body; NULL: there is none. */
const struct kc_ptx_function *kc_ptx_find(const struct kc_ptx_module *module, const char *name);

#endif
