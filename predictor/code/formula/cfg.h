/*
 * A kernel's control flow: blocks, edges, loops.
 *
 *   kc_point    an instruction in its place; the bodies of called functions
 *               stand where they are called
 *   kc_block    points that run one after the other; numbered in reverse
 *               postorder, so a block comes after its dominator, and after all
 *               that lead to it but along a back edge
 *   kc_edge     from a block to the next; KC_NO_BLOCK: the thread ends
 *   kc_loop     a natural loop: its header, its members, the loop around it
 *
 * A loop's members are its blocks and the headers of the loops right within
 * it, ascending: the order in which one iteration runs them. The kernel's own
 * members are those outside any loop.
 */
#ifndef KC_CFG_H
#define KC_CFG_H

#include "predictor/code/ptx/ptx.h"

#include <stdint.h>

#define KC_NO_BLOCK UINT32_MAX
#define KC_NO_LOOP UINT32_MAX
#define KC_NO_POINT UINT32_MAX

/* Deeper nests are refused: loops are walked recursively. */
#define KC_LOOP_DEPTH_MAX 8u

struct kc_point {
	const struct kc_ptx_instruction *instruction;
	uint32_t call;   /* whose instruction it is; 0: the kernel's own */
	uint32_t target; /* of a branch: a point; of an opened call, or its return: the point after it */
};

/* A function, where it is called. Its registers, its variables, then its parameters are numbered from `registers` on;
 * what is passed and returned stays where the caller has it (kc_cfg_place). */
struct kc_call {
	const struct kc_ptx_function *function;
	const struct kc_ptx_instruction *site; /* NULL: the kernel */
	uint32_t parent;
	uint32_t registers;
	const uint32_t *places; /* its instructions' points, and the one after the last */
};

struct kc_edge {
	uint32_t from, to;
};

enum kc_block_end {
	KC_END_FALLS,   /* one edge */
	KC_END_BRANCH,  /* two: where the last point's guard holds, where not */
	KC_END_SWITCH,  /* one for each value of an index, from 0 on */
	KC_END_RETURNS, /* none */
};

struct kc_block {
	uint32_t first, end; /* points */
	uint32_t out, out_count;
	uint32_t in, in_count; /* indices into in_edges */
	uint32_t dominator;    /* itself: block 0 */
	uint32_t tree, below;  /* its place in a walk of the dominator tree, and how many blocks it dominates */
	uint32_t loop;         /* innermost */
	uint8_t ends;
};

struct kc_loop {
	uint32_t header, parent, depth;
	uint32_t height; /* of the nest within it */
	uint32_t member, member_count;
};

struct kc_cfg {
	struct kc_point *points;
	uint32_t point_count;
	struct kc_call *calls;
	uint32_t call_count;
	uint32_t register_count;
	struct kc_block *blocks;
	uint32_t block_count;
	struct kc_edge *edges; /* those of a block stand together */
	uint32_t edge_count;
	uint32_t *in_edges;
	struct kc_loop *loops; /* an outer one before its inner ones */
	uint32_t loop_count;
	uint32_t *members;
	uint32_t root_member, root_member_count;
};

/* Lives in the arena. 0; -ENOTSUP: a loop with two entries, loops nested too deep, an indirect branch or call,
 * *refusal says which; -ENOMEM. */
int kc_cfg_read(struct kc_cfg *cfg, struct kc_arena *arena, const struct kc_ptx_module *module,
		const struct kc_ptx_function *kernel, struct kc_refusal *refusal);

/* 1: `loop`, or one within it, holds the block. */
int kc_cfg_holds(const struct kc_cfg *cfg, uint32_t loop, uint32_t block);
int kc_cfg_dominates(const struct kc_cfg *cfg, uint32_t above, uint32_t block);

/* The number, among the kernel's registers, of what a parameter-space operand of a function names: one of
 * its own variables or, by_param, one of its parameters. KC_NO_REGISTER: nothing that is followed, or the kernel's own
 * parameter. */
#define KC_NO_REGISTER UINT32_MAX
uint32_t kc_cfg_place(const struct kc_cfg *cfg, uint32_t call, uint32_t number, int by_param);

/* The parts of kc_cfg_read. */
int kc__open_calls(struct kc_cfg *cfg, struct kc_arena *arena, const struct kc_ptx_module *module,
		   const struct kc_ptx_function *kernel);
int kc__find_loops(struct kc_cfg *cfg, struct kc_arena *arena, struct kc_refusal *refusal);

#endif
