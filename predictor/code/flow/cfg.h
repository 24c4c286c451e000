/*
 * A kernel's control flow: blocks, edges, loops.
 *
 *   kc_cfg_point  an instruction of the kernel or of a function that was inlined
 *                 into it
 *   kc_call       a function inlined at one of its calls
 *   kc_block      a basic block. Blocks are numbered in reverse postorder: after
 *                 their dominators, and after their predecessors except along
 *                 back edges
 *   kc_edge       from a block to the next; KC_NO_BLOCK: the thread ends
 *   kc_loop       a natural loop: its header, its members, the loop around it
 *
 * A loop's members are its blocks and the headers of the loops directly within
 * it, ascending: the order in which one iteration runs them. The kernel's own
 * members are those outside of all loops.
 */
#ifndef KC_CFG_H
#define KC_CFG_H

#include "predictor/code/ptx/ptx.h"

#include <stdint.h>

#define KC_NO_BLOCK UINT32_MAX
#define KC_NO_LOOP UINT32_MAX
#define KC_NO_POINT UINT32_MAX

/* Deeper nests are refused: loops are walked recursively. */
#define KC_LOOP_DEPTH_MAX 12u

struct kc_cfg_point {
	const struct kc_ptx_instruction *instruction;
	uint32_t call;   /* the call whose function it belongs to; 0: the kernel */
	uint32_t target; /* point that a branch goes to; of an inlined call or its return, the point after the call */
};

/* Registers of the function, then its variables, then its parameters are numbered from `registers` on. A parameter that
 * the caller passes in a register shares the caller's number (kc_cfg_param_register). */
struct kc_call {
	const struct kc_ptx_function *function;
	const struct kc_ptx_instruction *site; /* NULL: the kernel */
	uint32_t parent;
	uint32_t registers;
	const uint32_t *points_of; /* instruction → point; one more for the end */
};

struct kc_edge {
	uint32_t from, to;
};

enum kc_block_end {
	KC_END_FALLS,   /* one edge */
	KC_END_BRANCH,  /* two: taken where the last point's guard holds, and where it does not */
	KC_END_SWITCH,  /* one for each value of an index, from 0 on */
	KC_END_RETURNS, /* none */
};

struct kc_block {
	uint32_t first, end; /* points */
	uint32_t out, out_count;
	uint32_t in, in_count; /* indices into in_edges */
	uint32_t dominator;    /* immediate; of block 0, itself */
	uint32_t tree, below;  /* preorder number in the dominator tree; blocks that it dominates, itself included */
	uint32_t loop;         /* innermost */
	uint8_t ends;
};

struct kc_loop {
	uint32_t header, parent, depth;
	uint32_t height; /* nesting depth of the loops within it */
	uint32_t member, member_count;
};

struct kc_cells;

struct kc_cfg {
	struct kc_cfg_point *points;
	uint32_t point_count;
	struct kc_call *calls;
	uint32_t call_count;
	uint32_t register_count;
	struct kc_block *blocks;
	uint32_t block_count;
	struct kc_edge *edges; /* grouped by block */
	uint32_t edge_count;
	uint32_t *in_edges;
	struct kc_loop *loops; /* an outer one before its inner ones */
	uint32_t loop_count;
	uint32_t *members;
	uint32_t root_member, root_member_count;
	struct kc_cells *cells; /* local_cells.h; NULL: not looked for yet, or none */
};

/* Builds the control-flow graph in the arena. Returns 0; -ENOTSUP for a loop with two entries, loops nested too deeply
 * or control flow too large, and *refusal says which; or -ENOMEM. */
int kc_cfg_read(struct kc_cfg *cfg, struct kc_arena *arena, const struct kc_ptx_module *module,
		const struct kc_ptx_function *kernel, struct kc_refusal *refusal);

/* 1: the block is in `loop`, or in a loop within it. */
int kc_cfg_holds(const struct kc_cfg *cfg, uint32_t loop, uint32_t block);
static inline int kc_cfg_dominates(const struct kc_cfg *cfg, uint32_t above, uint32_t block)
{
	return cfg->blocks[block].tree - cfg->blocks[above].tree < cfg->blocks[above].below;
}

/* The register that stands for a parameter-space operand of a function: one of its variables or, by_param, one of its
 * parameters. KC_NO_REGISTER: a parameter of the kernel itself, or none that becomes a value. */
#define KC_NO_REGISTER UINT32_MAX
uint32_t kc_cfg_param_register(const struct kc_cfg *cfg, uint32_t call, uint32_t number, int by_param);

/* The parts of kc_cfg_read. */
int kc__inline_calls(struct kc_cfg *cfg, struct kc_arena *arena, const struct kc_ptx_module *module,
		     const struct kc_ptx_function *kernel);
int kc__find_loops(struct kc_cfg *cfg, struct kc_arena *arena, struct kc_refusal *refusal);

#endif
