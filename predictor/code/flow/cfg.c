#include "cfg.h"

#include <errno.h>
#include <string.h>

struct builder {
	struct kc_cfg *cfg;
	struct kc_arena *arena;
	uint32_t *block_of; /* point → block, in the order of the text */
};

static int always(const struct kc_ptx_instruction *instruction)
{
	return instruction->guard == KC_PTX_NO_REGISTER;
}

static int ends_block(const struct kc_cfg_point *point)
{
	switch (point->instruction->opcode) {
	case KC_PTX_BRA:
	case KC_PTX_BRX:
	case KC_PTX_RET:
	case KC_PTX_EXIT:
	case KC_PTX_TRAP:
		return 1;
	case KC_PTX_CALL: /* an inlined call with a guard */
		return point->target != KC_NO_POINT && !always(point->instruction);
	default:
		return 0;
	}
}

static uint32_t switch_target(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t i)
{
	return cfg->calls[point->call].points_of[point->instruction->targets[i]];
}

static uint32_t mark_leaders(struct builder *b, uint8_t *leads)
{
	const struct kc_cfg *cfg = b->cfg;
	uint32_t count = 0;

	leads[0] = 1;
	for (uint32_t p = 0; p < cfg->point_count; p++) {
		const struct kc_cfg_point *point = &cfg->points[p];

		if (!ends_block(point))
			continue;
		leads[p + 1] = 1;
		if (point->target != KC_NO_POINT)
			leads[point->target] = 1;
		if (point->instruction->opcode == KC_PTX_BRX)
			for (uint32_t i = 0; i < point->instruction->target_count; i++)
				leads[switch_target(cfg, point, i)] = 1;
	}
	for (uint32_t p = 0; p < cfg->point_count; p++) {
		count += leads[p];
		b->block_of[p] = count - 1;
	}
	b->block_of[cfg->point_count] = KC_NO_BLOCK;
	return count;
}

static uint32_t edges_out(const struct kc_cfg_point *last)
{
	const struct kc_ptx_instruction *instruction = last->instruction;

	if (!ends_block(last))
		return 1;
	if (instruction->opcode == KC_PTX_BRX)
		return instruction->target_count;
	return always(instruction) && instruction->opcode != KC_PTX_BRA && last->target == KC_NO_POINT ? 0
	       : always(instruction)                                                                   ? 1
												       : 2;
}

static uint8_t how_it_ends(const struct kc_cfg_point *last, uint32_t edges)
{
	if (ends_block(last) && last->instruction->opcode == KC_PTX_BRX)
		return KC_END_SWITCH;
	return edges == 0 ? KC_END_RETURNS : edges == 1 ? KC_END_FALLS : KC_END_BRANCH;
}

static void add_edges(struct builder *b, uint32_t number)
{
	struct kc_cfg *cfg = b->cfg;
	struct kc_block *block = &cfg->blocks[number];
	const struct kc_cfg_point *last = &cfg->points[block->end - 1];
	struct kc_edge *edges = &cfg->edges[cfg->edge_count];
	uint32_t after = b->block_of[block->end];
	uint32_t target = last->target == KC_NO_POINT ? KC_NO_BLOCK : b->block_of[last->target];
	int is_call = last->instruction->opcode == KC_PTX_CALL;

	block->out = cfg->edge_count;
	block->out_count = edges_out(last);
	block->ends = how_it_ends(last, block->out_count);
	for (uint32_t i = 0; i < block->out_count; i++)
		edges[i].from = number;
	if (block->ends == KC_END_FALLS) {
		edges[0].to = ends_block(last) ? target : after;
	} else if (block->ends == KC_END_BRANCH) {
		edges[0].to = is_call ? after : target;
		edges[1].to = is_call ? target : after;
	} else if (block->ends == KC_END_SWITCH) {
		for (uint32_t i = 0; i < block->out_count; i++)
			edges[i].to = b->block_of[switch_target(cfg, last, i)];
	}
	cfg->edge_count += block->out_count;
}

static int cut_blocks(struct builder *b)
{
	struct kc_cfg *cfg = b->cfg;
	uint8_t *leads = kc_arena_array(b->arena, (size_t)cfg->point_count + 1, 1);
	uint64_t edge_count = 0;

	if (!leads)
		return -ENOMEM;
	cfg->block_count = mark_leaders(b, leads);
	cfg->blocks = kc_arena_array(b->arena, cfg->block_count, sizeof(*cfg->blocks));
	if (!cfg->blocks)
		return -ENOMEM;
	for (uint32_t p = 0; p < cfg->point_count; p++) {
		struct kc_block *block = &cfg->blocks[b->block_of[p]];

		if (leads[p])
			block->first = p;
		block->end = p + 1;
	}
	for (uint32_t i = 0; i < cfg->block_count; i++)
		edge_count += edges_out(&cfg->points[cfg->blocks[i].end - 1]);
	cfg->edges = kc_arena_array(b->arena, edge_count + 1, sizeof(*cfg->edges));
	if (!cfg->edges || edge_count >= KC_NO_BLOCK)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->block_count; i++)
		add_edges(b, i);
	return 0;
}

/* Fills `order` from its end with the reachable blocks in reverse postorder, and returns the index of the first. A
 * block's last edge is walked first, which keeps the order of the text where there is a choice. */
static uint32_t walk_postorder(const struct kc_cfg *cfg, uint32_t *order, uint32_t *stack, uint32_t *next)
{
	uint32_t depth = 1, start = cfg->block_count;

	memset(next, 0xff, cfg->block_count * sizeof(*next));
	stack[0] = 0;
	next[0] = cfg->blocks[0].out_count;
	while (depth) {
		uint32_t at = stack[depth - 1];
		uint32_t to;

		if (!next[at]) {
			order[--start] = at;
			depth--;
			continue;
		}
		to = cfg->edges[cfg->blocks[at].out + --next[at]].to;
		if (to != KC_NO_BLOCK && next[to] == UINT32_MAX) {
			next[to] = cfg->blocks[to].out_count;
			stack[depth++] = to;
		}
	}
	return start;
}

/* Renumbers blocks and edges in reverse postorder and drops unreachable ones. */
static int sort_blocks(struct builder *b)
{
	struct kc_cfg *cfg = b->cfg;
	uint32_t count = cfg->block_count, edge_count = 0, start;
	uint32_t *order = kc_arena_array(b->arena, (size_t)count * 3, sizeof(*order));
	uint32_t *number = order ? order + count : NULL;
	struct kc_block *blocks = kc_arena_array(b->arena, count, sizeof(*blocks));
	struct kc_edge *edges = kc_arena_array(b->arena, (size_t)cfg->edge_count + 1, sizeof(*edges));

	if (!order || !blocks || !edges)
		return -ENOMEM;
	start = walk_postorder(cfg, order, order + count, order + 2 * (size_t)count);
	for (uint32_t i = start; i < count; i++)
		number[order[i]] = i - start;
	for (uint32_t i = start; i < count; i++) {
		struct kc_block *block = &blocks[i - start];

		*block = cfg->blocks[order[i]];
		for (uint32_t e = 0; e < block->out_count; e++) {
			uint32_t to = cfg->edges[block->out + e].to;

			edges[edge_count + e] = (struct kc_edge){i - start, to == KC_NO_BLOCK ? to : number[to]};
		}
		block->out = edge_count;
		edge_count += block->out_count;
	}
	cfg->blocks = blocks;
	cfg->block_count = count - start;
	cfg->edges = edges;
	cfg->edge_count = edge_count;
	return 0;
}

static int add_in_edges(struct builder *b)
{
	struct kc_cfg *cfg = b->cfg;
	uint32_t at = 0;

	cfg->in_edges = kc_arena_array(b->arena, (size_t)cfg->edge_count + 1, sizeof(*cfg->in_edges));
	if (!cfg->in_edges)
		return -ENOMEM;
	for (uint32_t e = 0; e < cfg->edge_count; e++)
		if (cfg->edges[e].to != KC_NO_BLOCK)
			cfg->blocks[cfg->edges[e].to].in_count++;
	for (uint32_t i = 0; i < cfg->block_count; i++) {
		cfg->blocks[i].in = at;
		at += cfg->blocks[i].in_count;
		cfg->blocks[i].in_count = 0;
	}
	for (uint32_t e = 0; e < cfg->edge_count; e++) {
		struct kc_block *to = cfg->edges[e].to == KC_NO_BLOCK ? NULL : &cfg->blocks[cfg->edges[e].to];

		if (to)
			cfg->in_edges[to->in + to->in_count++] = e;
	}
	return 0;
}

/* Limit on the steps of finding dominators; compiled code needs a few per block. */
#define DOMINATOR_STEPS_MAX (1u << 26)

static uint32_t common_dominator(const struct kc_block *blocks, uint32_t a, uint32_t b, uint32_t *steps)
{
	for (; a != b && *steps; --*steps) {
		if (a > b)
			a = blocks[a].dominator;
		else
			b = blocks[b].dominator;
	}
	return a;
}

/* Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001. More rounds than the
 * nesting depth of loops are needed only if a loop has two entries, which is refused later. */
static int find_dominators(struct kc_cfg *cfg)
{
	struct kc_block *blocks = cfg->blocks;
	uint32_t steps = DOMINATOR_STEPS_MAX;
	int changed = 1;

	for (uint32_t i = 1; i < cfg->block_count; i++)
		blocks[i].dominator = KC_NO_BLOCK;
	for (unsigned round = 0; changed && round < KC_LOOP_DEPTH_MAX + 2; round++) {
		changed = 0;
		for (uint32_t i = 1; i < cfg->block_count; i++) {
			uint32_t above = KC_NO_BLOCK;

			for (uint32_t e = 0; e < blocks[i].in_count; e++) {
				uint32_t from = cfg->edges[cfg->in_edges[blocks[i].in + e]].from;

				if (from && blocks[from].dominator == KC_NO_BLOCK)
					continue;
				above = above == KC_NO_BLOCK ? from : common_dominator(blocks, above, from, &steps);
			}
			changed |= blocks[i].dominator != above;
			blocks[i].dominator = above;
		}
	}
	return steps ? 0 : -ENOTSUP;
}

static void number_tree(struct kc_cfg *cfg)
{
	struct kc_block *blocks = cfg->blocks;

	for (uint32_t i = 0; i < cfg->block_count; i++)
		blocks[i].below = 1;
	for (uint32_t i = cfg->block_count; --i;)
		blocks[blocks[i].dominator].below += blocks[i].below;
	/* The subtree of a block comes after those of its earlier siblings. Meanwhile `tree` of the dominator is the
	 * number of its next child. */
	blocks[0].tree = 1;
	for (uint32_t i = 1; i < cfg->block_count; i++) {
		struct kc_block *above = &blocks[blocks[i].dominator];

		blocks[i].tree = above->tree + 1;
		above->tree += blocks[i].below;
	}
	for (uint32_t i = 0; i < cfg->block_count; i++)
		blocks[i].tree -= blocks[i].below;
}

int kc_cfg_read(struct kc_cfg *cfg, struct kc_arena *arena, const struct kc_ptx_module *module,
		const struct kc_ptx_function *kernel, struct kc_refusal *refusal)
{
	struct builder b = {.cfg = cfg, .arena = arena};
	int rc;

	*cfg = (struct kc_cfg){0};
	rc = kc__inline_calls(cfg, arena, module, kernel);
	if (rc)
		return rc;
	b.block_of = kc_arena_array(arena, (size_t)cfg->point_count + 1, sizeof(*b.block_of));
	if (!b.block_of)
		return -ENOMEM;
	if (!cfg->point_count)
		return 0;
	rc = cut_blocks(&b);
	rc = rc ? rc : sort_blocks(&b);
	rc = rc ? rc : add_in_edges(&b);
	if (rc)
		return rc;
	rc = find_dominators(cfg);
	if (rc) {
		kc__refuse(refusal, kernel->offset, "control flow too large");
		return rc;
	}
	number_tree(cfg);
	return kc__find_loops(cfg, arena, refusal);
}
