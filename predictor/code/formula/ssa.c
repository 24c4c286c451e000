#include "counting.h"
#include "local_cells.h"

#include <errno.h>
#include <string.h>

/* Limit on the size of dominance frontiers; compiled code needs a few steps per block. */
#define FRONTIER_MAX (1u << 22)

struct join {            /* a phi */
	uint32_t number; /* register */
	uint32_t value;
	uint32_t next; /* of the same block */
};

struct undo {
	uint32_t number, value;
};

struct ssa_builder {
	struct kc__formula_reader *r;
	uint32_t *frontier_start, *frontier; /* by block */
	uint32_t *first_join;                /* by block */
	struct join *joins;
	uint32_t join_count, join_capacity;
	uint32_t *in_place; /* edge → which of its target's in_edges it is */
	struct undo *undo;
	uint32_t undo_count, undo_capacity;
	uint32_t unset;
};

/* Cooper, Harvey and Kennedy, Figure 5. fill: 0 only counts, 1 fills the lists. */
static int walk_frontiers(struct ssa_builder *n, int fill)
{
	const struct kc_cfg *cfg = &n->r->f->cfg;
	uint32_t total = 0;

	for (uint32_t b = 0; b < cfg->block_count; b++) {
		const struct kc_block *block = &cfg->blocks[b];

		if (block->in_count < 2 && !(block->in_count && !b))
			continue;
		for (uint32_t i = 0; i < block->in_count; i++) {
			uint32_t at = cfg->edges[cfg->in_edges[block->in + i]].from;
			uint32_t stop = b ? block->dominator : KC_NO_BLOCK;

			while (at != stop) {
				if (++total > FRONTIER_MAX)
					return -ENOTSUP;
				if (fill)
					n->frontier[n->frontier_start[at + 1]++] = b;
				else
					n->frontier_start[at + 2]++;
				if (!at)
					break;
				at = cfg->blocks[at].dominator;
			}
		}
	}
	return 0;
}

static int find_frontiers(struct ssa_builder *n)
{
	const struct kc_cfg *cfg = &n->r->f->cfg;
	int rc;

	n->frontier_start = kc_arena_array(n->r->arena, (size_t)cfg->block_count + 2, sizeof(*n->frontier_start));
	if (!n->frontier_start)
		return -ENOMEM;
	rc = walk_frontiers(n, 0);
	if (rc)
		return rc;
	for (uint32_t b = 2; b < cfg->block_count + 2; b++)
		n->frontier_start[b] += n->frontier_start[b - 1];
	n->frontier =
	    kc_arena_array(n->r->arena, (size_t)n->frontier_start[cfg->block_count + 1] + 1, sizeof(*n->frontier));
	return n->frontier ? walk_frontiers(n, 1) : -ENOMEM;
}

/* Bits of a register: as declared in the kernel; 64 for those of an inlined function. */
static uint8_t bits_held(const struct kc__formula_reader *r, uint32_t number)
{
	uint32_t bytes = number < r->kernel->register_count ? kc_ptx_type_bytes(r->kernel->register_types[number]) : 0;

	return bytes == 4 ? 32 : 64;
}

static int add_join(struct ssa_builder *n, uint32_t block, uint32_t number)
{
	struct kc_formula *f = n->r->f;
	const struct kc_block *b = &f->cfg.blocks[block];
	struct kc_value phi = {.op = KC_OP_PHI, .bits = bits_held(n->r, number), .phi = f->phi_source_count};
	int rc = kc_arena_grow(n->r->arena, &n->joins, &n->join_capacity, n->join_count, sizeof(*n->joins));

	if (rc || b->in_count > UINT32_MAX - f->phi_source_count)
		return -ENOMEM;
	n->r->block = block;
	f->phi_source_count += b->in_count;
	n->joins[n->join_count].number = number;
	n->joins[n->join_count].value = kc__value(n->r, phi);
	n->joins[n->join_count].next = n->first_join[block];
	if (n->joins[n->join_count].value == KC_NO_VALUE)
		return -ENOMEM;
	n->first_join[block] = n->join_count++;
	return 0;
}

/* For each register that is read in other blocks: the blocks in which it is set. */
struct settings {
	uint32_t *first; /* by register */
	struct setting {
		uint32_t block, next;
	} * all;
	uint32_t count, capacity;
};

static int find_settings(struct ssa_builder *n, struct settings *s)
{
	const struct kc_cfg *cfg = &n->r->f->cfg;
	uint32_t registers[KC__REGISTERS_MAX];
	int rc = 0;

	s->first = kc_arena_array(n->r->arena, (size_t)cfg->register_count + 1, sizeof(*s->first));
	if (!s->first)
		return -ENOMEM;
	memset(s->first, 0xff, ((size_t)cfg->register_count + 1) * sizeof(*s->first));
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		for (uint32_t p = cfg->blocks[b].first; p < cfg->blocks[b].end; p++) {
			uint32_t count = kc__writes(cfg, &cfg->points[p], registers);

			for (uint32_t i = 0; i < count && !rc; i++) {
				uint32_t number = registers[i];
				uint32_t first = s->first[number];

				if (!n->r->needed[number] || !n->r->crosses[number] ||
				    (first != UINT32_MAX && s->all[first].block == b))
					continue;
				rc = kc_arena_grow(n->r->arena, &s->all, &s->capacity, s->count, sizeof(*s->all));
				if (rc)
					return rc;
				s->all[s->count] = (struct setting){b, first};
				s->first[number] = s->count++;
			}
		}
	}
	return rc;
}

static int join_register(struct ssa_builder *n, const struct settings *s, uint32_t number, uint32_t *stack,
			 uint32_t *joined_for, uint32_t *stacked_for)
{
	uint32_t depth = 0;
	int rc = 0;

	for (uint32_t at = s->first[number]; at != UINT32_MAX; at = s->all[at].next) {
		stack[depth++] = s->all[at].block;
		stacked_for[s->all[at].block] = number;
	}
	while (depth && !rc) {
		uint32_t from = stack[--depth];

		for (uint32_t i = n->frontier_start[from]; i < n->frontier_start[from + 1] && !rc; i++) {
			uint32_t to = n->frontier[i];

			if (joined_for[to] == number)
				continue;
			joined_for[to] = number;
			rc = add_join(n, to, number);
			if (stacked_for[to] != number)
				stack[depth++] = to;
			stacked_for[to] = number;
		}
	}
	return rc;
}

static int place_joins(struct ssa_builder *n)
{
	const struct kc_cfg *cfg = &n->r->f->cfg;
	struct settings s = {0};
	uint32_t *stack = kc_arena_array(n->r->arena, (size_t)cfg->block_count * 3, sizeof(*stack));
	int rc = find_settings(n, &s);

	n->first_join = kc_arena_array(n->r->arena, cfg->block_count, sizeof(*n->first_join));
	if (rc || !stack || !n->first_join)
		return -ENOMEM;
	memset(n->first_join, 0xff, cfg->block_count * sizeof(*n->first_join));
	memset(stack + cfg->block_count, 0xff, cfg->block_count * 2 * sizeof(*stack));
	for (uint32_t number = 0; number < cfg->register_count && !rc; number++)
		if (s.first[number] != UINT32_MAX)
			rc = join_register(n, &s, number, stack, stack + cfg->block_count,
					   stack + 2 * (size_t)cfg->block_count);
	return rc;
}

static int save_for_undo(struct ssa_builder *n, uint32_t number)
{
	int rc = kc_arena_grow(n->r->arena, &n->undo, &n->undo_capacity, n->undo_count, sizeof(*n->undo));

	if (!rc)
		n->undo[n->undo_count++] = (struct undo){number, n->r->current[number]};
	return rc;
}

static int set_condition(struct ssa_builder *n, struct kc_block_plan *plan, const struct kc_block *block)
{
	struct kc__formula_reader *r = n->r;
	const struct kc_cfg_point *last = &r->f->cfg.points[block->end - 1];
	const struct kc_ptx_instruction *i = last->instruction;
	uint32_t registers = r->f->cfg.calls[last->call].registers;

	plan->condition = KC_NO_VALUE;
	if (block->ends == KC_END_BRANCH) {
		plan->condition = kc__register_value(r, last, registers + i->guard);
		plan->condition_negated = i->guard_negated;
		plan->together = kc__goes_together(r, registers + i->guard);
	} else if (block->ends == KC_END_SWITCH) {
		plan->condition = i->operand_count && i->operands[0].kind == KC_PTX_REGISTER
				      ? kc__register_value(r, last, registers + i->operands[0].number)
				      : n->unset;
		plan->together = i->operand_count && i->operands[0].kind == KC_PTX_REGISTER &&
				 kc__goes_together(r, registers + i->operands[0].number);
	} else {
		return 0;
	}
	return plan->condition == KC_NO_VALUE ? -ENOMEM : 0;
}

/* Sets the block's current values as sources of the phis in its successors. */
static void fill_phi_sources(struct ssa_builder *n, const struct kc_block *block)
{
	struct kc_formula *f = n->r->f;

	for (uint32_t e = block->out; e < block->out + block->out_count; e++) {
		uint32_t to = f->cfg.edges[e].to;

		if (to == KC_NO_BLOCK)
			continue;
		for (uint32_t j = n->first_join[to]; j != UINT32_MAX; j = n->joins[j].next) {
			uint32_t value = n->r->current[n->joins[j].number];

			f->phi_sources[f->values[n->joins[j].value].phi + n->in_place[e]] =
			    value == KC_NO_VALUE ? n->unset : value;
		}
	}
}

static int rename_block(struct ssa_builder *n, uint32_t b)
{
	struct kc__formula_reader *r = n->r;
	const struct kc_block *block = &r->f->cfg.blocks[b];
	struct kc_block_plan *plan = &r->f->block_plans[b];
	uint32_t registers[KC__REGISTERS_MAX];
	int rc = 0;

	r->block = b;
	plan->event = r->f->event_count;
	plan->offset = r->f->cfg.points[block->first].instruction->offset;
	plan->last_offset = r->f->cfg.points[block->end - 1].instruction->offset;
	for (uint32_t j = n->first_join[b]; j != UINT32_MAX && !rc; j = n->joins[j].next) {
		rc = save_for_undo(n, n->joins[j].number);
		r->current[n->joins[j].number] = n->joins[j].value;
	}
	for (uint32_t p = block->first; p < block->end && !rc; p++) {
		const struct kc_cfg_point *point = &r->f->cfg.points[p];
		uint32_t count = kc__writes(&r->f->cfg, point, registers);

		rc = kc__count(r, plan, point);
		for (uint32_t i = 0; i < count && !rc; i++)
			if (r->needed[registers[i]])
				rc = save_for_undo(n, registers[i]);
		if (!rc)
			rc = kc__translate(r, point);
	}
	rc = rc ? rc : kc__add_counted(r, plan);
	rc = rc ? rc : set_condition(n, plan, block);
	if (!rc)
		fill_phi_sources(n, block);
	return rc;
}

/* Visits blocks in preorder of the dominator tree. What a block set is undone when its subtree is left. */
static int walk_tree(struct ssa_builder *n)
{
	const struct kc_cfg *cfg = &n->r->f->cfg;
	uint32_t *by_tree = kc_arena_array(n->r->arena, (size_t)cfg->block_count * 2, sizeof(*by_tree));
	uint32_t *undo_from = by_tree ? by_tree + cfg->block_count : NULL;
	uint32_t above = KC_NO_BLOCK;
	int rc = 0;

	if (!by_tree)
		return -ENOMEM;
	for (uint32_t b = 0; b < cfg->block_count; b++)
		by_tree[cfg->blocks[b].tree] = b;
	for (uint32_t t = 0; t < cfg->block_count && !rc; t++) {
		uint32_t b = by_tree[t];

		while (b && above != cfg->blocks[b].dominator) {
			while (n->undo_count > undo_from[above]) {
				const struct undo *undo = &n->undo[--n->undo_count];

				n->r->current[undo->number] = undo->value;
			}
			above = cfg->blocks[above].dominator;
		}
		undo_from[b] = n->undo_count;
		rc = rename_block(n, b);
		above = b;
	}
	return rc;
}

/* No result may depend on memory that was never written: that it holds 0 is as good as any other choice. */
static int start_with_zeros(struct kc__formula_reader *r)
{
	const struct kc_cells *cells = r->f->cfg.cells;

	for (uint32_t n = 0; cells && n < cells->local_count; n++) {
		const struct kc_local *local = &cells->locals[n];

		for (uint32_t c = 0; c < local->cell_count; c++) {
			uint32_t bits = 8 * (local->starts[c + 1] - local->starts[c]),
				 number = local->first_register + c;

			if (!r->needed[number])
				continue;
			r->current[number] = kc__constant(r, 0, bits == 32 ? 32 : 64);
			if (r->current[number] == KC_NO_VALUE)
				return -ENOMEM;
		}
	}
	return 0;
}

int kc__build_ssa(struct kc__formula_reader *r)
{
	struct ssa_builder n = {.r = r};
	struct kc_formula *f = r->f;
	const struct kc_cfg *cfg = &f->cfg;
	int rc;

	memset(r->constants, 0xff, sizeof(r->constants));
	r->current = kc_arena_array(r->arena, (size_t)cfg->register_count + 1, sizeof(*r->current));
	f->block_plans = kc_arena_array(r->arena, cfg->block_count, sizeof(*f->block_plans));
	n.in_place = kc_arena_array(r->arena, (size_t)cfg->edge_count + 1, sizeof(*n.in_place));
	r->in_shared = kc_arena_array(r->arena, (size_t)cfg->point_count + 1, sizeof(*r->in_shared));
	if (!r->current || !f->block_plans || !n.in_place || !r->in_shared)
		return -ENOMEM;
	memset(r->current, 0xff, ((size_t)cfg->register_count + 1) * sizeof(*r->current));
	for (uint32_t b = 0; b < cfg->block_count; b++)
		for (uint32_t i = 0; i < cfg->blocks[b].in_count; i++)
			n.in_place[cfg->in_edges[cfg->blocks[b].in + i]] = i;
	r->block = 0;
	n.unset = kc__value(r, (struct kc_value){.op = KC_OP_UNKNOWN, .bits = 64, .constant = KC_UNKNOWN_UNSET});
	if (n.unset == KC_NO_VALUE)
		return -ENOMEM;
	rc = start_with_zeros(r);
	rc = rc ? rc : find_frontiers(&n);
	rc = rc ? rc : place_joins(&n);
	if (rc)
		return rc;
	f->phi_sources = kc_arena_array(r->arena, (size_t)f->phi_source_count + 1, sizeof(*f->phi_sources));
	if (!f->phi_sources)
		return -ENOMEM;
	return walk_tree(&n);
}
