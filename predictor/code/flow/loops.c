#include "cfg.h"

#include <errno.h>

struct finder {
	struct kc_cfg *cfg;
	uint32_t *loop_of_header; /* block → loop, or KC_NO_LOOP */
	uint32_t *stack;
	int too_deep;
};

static int is_back_edge(const struct kc_edge *edge)
{
	return edge->to != KC_NO_BLOCK && edge->to <= edge->from;
}

static int refuse(struct kc_refusal *refusal, const struct kc_cfg *cfg, uint32_t block, const char *why)
{
	kc__refuse(refusal, cfg->points[cfg->blocks[block].first].instruction->offset, "%s", why);
	return -ENOTSUP;
}

/* Loops are numbered by header, ascending: outer ones before inner ones. */
static int find_headers(struct finder *f, struct kc_arena *arena, struct kc_refusal *refusal)
{
	struct kc_cfg *cfg = f->cfg;
	uint32_t count = 0;

	for (uint32_t i = 0; i < cfg->block_count; i++)
		f->loop_of_header[i] = KC_NO_LOOP;
	for (uint32_t e = 0; e < cfg->edge_count; e++) {
		const struct kc_edge *edge = &cfg->edges[e];

		if (!is_back_edge(edge))
			continue;
		if (!kc_cfg_dominates(cfg, edge->to, edge->from))
			return refuse(refusal, cfg, edge->to, "a loop with two entries");
		f->loop_of_header[edge->to] = 0;
	}
	for (uint32_t i = 0; i < cfg->block_count; i++)
		if (f->loop_of_header[i] != KC_NO_LOOP)
			f->loop_of_header[i] = count++;
	cfg->loop_count = count;
	cfg->loops = kc_arena_array(arena, count, sizeof(*cfg->loops));
	if (!cfg->loops)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->block_count; i++)
		if (f->loop_of_header[i] != KC_NO_LOOP)
			cfg->loops[f->loop_of_header[i]] = (struct kc_loop){.header = i, .parent = KC_NO_LOOP};
	return 0;
}

/* The outermost loop found so far that holds the block. */
static uint32_t outermost(const struct kc_cfg *cfg, uint32_t loop)
{
	while (cfg->loops[loop].parent != KC_NO_LOOP)
		loop = cfg->loops[loop].parent;
	return loop;
}

/* Adds a block, or the inner loop that it is in, to the loop and to the blocks to continue from. */
static void take_in(struct finder *f, uint32_t loop, uint32_t block, uint32_t *depth)
{
	struct kc_cfg *cfg = f->cfg;
	uint32_t inner;

	if (cfg->blocks[block].loop == KC_NO_LOOP) {
		cfg->blocks[block].loop = loop;
		f->stack[(*depth)++] = block;
		return;
	}
	inner = outermost(cfg, cfg->blocks[block].loop);
	if (inner == loop)
		return;
	cfg->loops[inner].parent = loop;
	if (cfg->loops[loop].height <= cfg->loops[inner].height)
		cfg->loops[loop].height = cfg->loops[inner].height + 1;
	f->too_deep |= cfg->loops[loop].height >= KC_LOOP_DEPTH_MAX;
	f->stack[(*depth)++] = cfg->loops[inner].header;
}

/* Walks from the loop's back edges back to its header. Inner loops were found before. */
static void collect(struct finder *f, uint32_t loop)
{
	const struct kc_cfg *cfg = f->cfg;
	uint32_t header = cfg->loops[loop].header, depth = 0;
	const struct kc_block *b = &cfg->blocks[header];

	cfg->blocks[header].loop = loop;
	for (uint32_t i = 0; i < b->in_count; i++) {
		const struct kc_edge *edge = &cfg->edges[cfg->in_edges[b->in + i]];

		if (is_back_edge(edge) && edge->from != header)
			take_in(f, loop, edge->from, &depth);
	}
	while (depth) {
		b = &cfg->blocks[f->stack[--depth]];
		for (uint32_t i = 0; i < b->in_count; i++)
			take_in(f, loop, cfg->edges[cfg->in_edges[b->in + i]].from, &depth);
	}
}

static uint32_t parent_of(const struct kc_cfg *cfg, uint32_t block)
{
	uint32_t loop = cfg->blocks[block].loop;

	return loop != KC_NO_LOOP && cfg->loops[loop].header == block ? cfg->loops[loop].parent : loop;
}

static int list_members(struct kc_cfg *cfg, struct kc_arena *arena)
{
	uint32_t at = 0;

	/* Each block is a member of its loop, and each header also of the next outer loop. */
	cfg->members = kc_arena_array(arena, (size_t)cfg->block_count + cfg->loop_count, sizeof(*cfg->members));
	if (!cfg->members)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->block_count; i++) {
		if (cfg->blocks[i].loop != KC_NO_LOOP)
			cfg->loops[cfg->blocks[i].loop].member_count++;
		if (parent_of(cfg, i) == KC_NO_LOOP)
			cfg->root_member_count++;
		else if (parent_of(cfg, i) != cfg->blocks[i].loop)
			cfg->loops[parent_of(cfg, i)].member_count++;
	}
	for (uint32_t i = 0; i < cfg->loop_count; i++) {
		cfg->loops[i].member = at;
		at += cfg->loops[i].member_count;
		cfg->loops[i].member_count = 0;
	}
	cfg->root_member = at;
	cfg->root_member_count = 0;
	for (uint32_t i = 0; i < cfg->block_count; i++) {
		struct kc_loop *own = cfg->blocks[i].loop == KC_NO_LOOP ? NULL : &cfg->loops[cfg->blocks[i].loop];
		uint32_t parent = parent_of(cfg, i);

		if (own)
			cfg->members[own->member + own->member_count++] = i;
		if (parent == KC_NO_LOOP)
			cfg->members[cfg->root_member + cfg->root_member_count++] = i;
		else if (&cfg->loops[parent] != own)
			cfg->members[cfg->loops[parent].member + cfg->loops[parent].member_count++] = i;
	}
	return 0;
}

int kc__find_loops(struct kc_cfg *cfg, struct kc_arena *arena, struct kc_refusal *refusal)
{
	struct finder f = {.cfg = cfg};
	int rc;

	f.loop_of_header = kc_arena_array(arena, cfg->block_count, sizeof(*f.loop_of_header));
	f.stack = kc_arena_array(arena, (size_t)cfg->block_count + cfg->loop_count, sizeof(*f.stack));
	if (!f.loop_of_header || !f.stack)
		return -ENOMEM;
	rc = find_headers(&f, arena, refusal);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < cfg->block_count; i++)
		cfg->blocks[i].loop = KC_NO_LOOP;
	for (uint32_t i = cfg->loop_count; i-- && !f.too_deep;)
		collect(&f, i);
	if (f.too_deep)
		return refuse(refusal, cfg, 0, "loops nested too deeply");
	for (uint32_t i = 0; i < cfg->loop_count; i++) {
		struct kc_loop *loop = &cfg->loops[i];

		loop->depth = loop->parent == KC_NO_LOOP ? 0 : cfg->loops[loop->parent].depth + 1;
	}
	return list_members(cfg, arena);
}

int kc_cfg_holds(const struct kc_cfg *cfg, uint32_t loop, uint32_t block)
{
	for (uint32_t at = cfg->blocks[block].loop; at != KC_NO_LOOP; at = cfg->loops[at].parent)
		if (at == loop)
			return 1;
	return 0;
}
