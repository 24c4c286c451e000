#include "formula.h"

#include <errno.h>
#include <string.h>

/* Limit on the rounds in which dependence on memory contents spreads along loops. What is missed is found during
 * evaluation. */
#define SPREAD_ROUNDS 8u

struct layout {
	struct kc__formula_reader *r;
	struct kc_formula *f;
	uint32_t *entry_of; /* value → the loop before which it is computed */
	uint32_t entry_count, entry_capacity;
};

/* 1: `outer` contains `inner` or is the same; KC_NO_LOOP contains all loops. */
static int is_around(const struct kc_cfg *cfg, uint32_t outer, uint32_t inner)
{
	while (inner != outer && inner != KC_NO_LOOP)
		inner = cfg->loops[inner].parent;
	return inner == outer;
}

/* --- variables of a loop that are another one, extended */

/* 1: the value is `from`, extended as `like` extends it; of constants, only one of them is there. */
static int is_extended(const struct kc_formula *f, const struct kc_value *like, uint32_t value, uint32_t from)
{
	const struct kc_value *v = &f->values[value], *u = &f->values[from];

	if (v->op == KC_OP_CONSTANT && u->op == KC_OP_CONSTANT)
		return v->constant == kc__read(u->constant, like->source_bits, like->is_signed);
	return v->op == KC_OP_EXTEND && v->source[0] == from && v->bits == like->bits &&
	       v->source_bits == like->source_bits && v->is_signed == like->is_signed;
}

/* Where `for (int i = …; i < size; i += …)` compares i with 64 bits, nvcc carries both i and i extended. The latter
 * has no step of its own. next_of: by value, the variable of which it is the next value. */
static void follow_extension(struct kc_formula *f, uint32_t phi, const uint32_t *next_of)
{
	struct kc_value *v = &f->values[phi];
	uint32_t count = f->cfg.blocks[v->block].in_count;
	const struct kc_value *like = &f->values[f->phi_sources[v->phi + count - 1]];
	uint32_t other = like->op == KC_OP_EXTEND ? next_of[like->source[0]] : KC_NO_VALUE;

	if (other == KC_NO_VALUE || other == phi || f->values[other].block != v->block ||
	    f->values[other].op != KC_OP_PHI)
		return;
	for (uint32_t n = 0; n < count; n++)
		if (!is_extended(f, like, f->phi_sources[v->phi + n], f->phi_sources[f->values[other].phi + n]))
			return;
	v->op = KC_OP_EXTEND;
	v->bits = like->bits;
	v->source_bits = like->source_bits;
	v->is_signed = like->is_signed;
	v->source[0] = other;
	v->count = 1;
}

static int follow_extensions(struct layout *p)
{
	struct kc_formula *f = p->f;
	uint32_t *next_of = kc_arena_array(p->r->arena, (size_t)f->value_count + 1, sizeof(*next_of));

	if (!next_of)
		return -ENOMEM;
	memset(next_of, 0xff, ((size_t)f->value_count + 1) * sizeof(*next_of));
	for (uint32_t i = 0; i < f->value_count; i++)
		if (kc__is_header_phi(f, &f->values[i]))
			next_of[f->phi_sources[f->values[i].phi + f->cfg.blocks[f->values[i].block].in_count - 1]] = i;
	for (uint32_t i = 0; i < f->value_count; i++)
		if (kc__is_header_phi(f, &f->values[i]))
			follow_extension(f, i, next_of);
	return 0;
}

/* --- live values */

static void mark_live(struct kc_formula *f, uint32_t value, uint32_t *stack, uint32_t *depth)
{
	if (value == KC_NO_VALUE || f->values[value].live)
		return;
	f->values[value].live = 1;
	stack[(*depth)++] = value;
}

static int find_live(struct layout *p)
{
	struct kc_formula *f = p->f;
	uint32_t *stack = kc_arena_array(p->r->arena, f->value_count, sizeof(*stack)), depth = 0;

	if (!stack)
		return -ENOMEM;
	for (uint32_t b = 0; b < f->cfg.block_count; b++)
		mark_live(f, f->block_plans[b].condition, stack, &depth);
	for (uint32_t e = 0; e < f->event_count; e++) {
		mark_live(f, f->events[e].guard, stack, &depth);
		mark_live(f, f->events[e].address, stack, &depth);
		mark_live(f, f->events[e].size, stack, &depth);
	}
	while (depth) {
		uint32_t count;
		const uint32_t *from = kc__sources(f, &f->values[stack[--depth]], &count);

		for (uint32_t n = 0; n < count; n++)
			mark_live(f, from[n], stack, &depth);
	}
	return 0;
}

/* --- where values are computed */

static uint8_t special_level(int64_t special)
{
	switch (special) {
	case KC_PTX_CTAID_Z:
		return 1;
	case KC_PTX_CTAID_Y:
		return 2;
	case KC_PTX_CTAID_X:
		return 3;
	case KC_PTX_TID_Z:
		return 4;
	case KC_PTX_TID_Y:
		return 5;
	case KC_PTX_TID_X:
	case KC_PTX_LANEID:
		return 6;
	default:
		return 0;
	}
}

static void find_level(struct layout *p, uint32_t value)
{
	struct kc_formula *f = p->f;
	struct kc_value *v = &f->values[value];
	uint32_t loop = f->cfg.blocks[v->block].loop;
	uint8_t level = v->op == KC_OP_PHI ? KC_LEVEL_FLOW : v->op == KC_OP_SPECIAL ? special_level(v->constant) : 0;

	p->entry_of[value] = KC_NO_LOOP;
	for (uint32_t n = 0; v->op != KC_OP_PHI && n < v->count; n++)
		if (level < f->values[v->source[n]].level)
			level = f->values[v->source[n]].level;
	v->level = level;
	v->loop = level == KC_LEVEL_FLOW ? loop : KC_NO_LOOP;
	while (v->op != KC_OP_PHI && v->loop != KC_NO_LOOP) {
		for (uint32_t n = 0; n < v->count; n++)
			if (is_around(&f->cfg, v->loop, f->values[v->source[n]].loop))
				return;
		p->entry_of[value] = v->loop;
		v->loop = f->cfg.loops[v->loop].parent;
	}
}

/* A value as it is seen from `loop`: outside of its own loop, its exit value. */
static uint32_t seen_from(struct layout *p, uint32_t value, uint32_t loop)
{
	struct kc_formula *f = p->f;

	while (value != KC_NO_VALUE && !is_around(&f->cfg, f->values[value].loop, loop)) {
		uint32_t from = f->values[value].loop;

		if (f->values[value].exit_value == KC_NO_VALUE) {
			struct kc_value left = {.op = KC_OP_EXIT_VALUE,
						.bits = f->values[value].bits,
						.level = KC_LEVEL_FLOW,
						.live = 1,
						.count = 1,
						.source = {value},
						.loop = f->cfg.loops[from].parent};
			uint32_t added;

			p->r->block = f->cfg.loops[from].header;
			added = kc__value(p->r, left);
			if (added == KC_NO_VALUE)
				return added;
			f->values[value].exit_value = added;
		}
		value = f->values[value].exit_value;
	}
	return value;
}

/* The loop from which a phi sees its n-th source. */
static uint32_t taken_in(const struct kc_formula *f, const struct kc_value *v, uint32_t n)
{
	const struct kc_block *block = &f->cfg.blocks[v->block];
	uint32_t from = f->cfg.edges[f->cfg.in_edges[block->in + n]].from;

	return kc__is_header_phi(f, v) && from < v->block ? f->cfg.loops[block->loop].parent : block->loop;
}

static int see_from(struct layout *p, uint32_t *value, uint32_t loop)
{
	if (*value == KC_NO_VALUE)
		return 0;
	*value = seen_from(p, *value, loop);
	return *value == KC_NO_VALUE ? -ENOMEM : 0;
}

static int leave_loops(struct layout *p)
{
	struct kc_formula *f = p->f;
	uint32_t count = f->value_count;
	int rc = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t sources;

		if (!f->values[i].live || f->values[i].level != KC_LEVEL_FLOW)
			continue;
		kc__sources(f, &f->values[i], &sources);
		for (uint32_t n = 0; n < sources && !rc; n++) {
			uint32_t loop =
			    f->values[i].op == KC_OP_PHI ? taken_in(f, &f->values[i], n) : f->values[i].loop;
			uint32_t from = kc__sources(f, &f->values[i], &sources)[n];

			rc = see_from(p, &from, loop);
			/* Not kept in a variable: a new value may have moved them all. */
			kc__sources(f, &f->values[i], &sources)[n] = from;
		}
	}
	for (uint32_t b = 0; b < f->cfg.block_count && !rc; b++) {
		struct kc_block_plan *plan = &f->block_plans[b];
		uint32_t loop = f->cfg.blocks[b].loop;

		rc = see_from(p, &plan->condition, loop);
		for (uint32_t e = plan->event; e < plan->event + plan->event_count && !rc; e++) {
			rc = see_from(p, &f->events[e].guard, loop);
			rc = rc ? rc : see_from(p, &f->events[e].address, loop);
			rc = rc ? rc : see_from(p, &f->events[e].size, loop);
		}
	}
	return rc;
}

/* --- loop-carried variables */

/* Extends entry_of to new values; none of them is computed before a loop unless that is set afterwards. */
static int cover_values(struct layout *p)
{
	int rc = 0;

	for (; p->entry_count < p->f->value_count && !rc; p->entry_count++) {
		rc = kc_arena_grow(p->r->arena, &p->entry_of, &p->entry_capacity, p->entry_count, sizeof(*p->entry_of));
		if (!rc)
			p->entry_of[p->entry_count] = KC_NO_LOOP;
	}
	return rc;
}

static int depends_on_memory(const struct layout *p, uint32_t value)
{
	const struct kc_formula *f = p->f;
	struct kc_value *v = &f->values[value];
	uint32_t count, known = 0;
	const uint32_t *from = kc__sources(f, v, &count);

	if (v->op == KC_OP_UNKNOWN)
		return 1;
	for (uint32_t n = 0; n < count; n++) {
		int memory = f->values[from[n]].memory;

		if (v->op != KC_OP_PHI ? memory : kc__is_header_phi(f, v) && memory && taken_in(f, v, n) == v->loop)
			return 1;
		known += !memory;
	}
	return count && !known;
}

static void spread_memory(struct layout *p)
{
	int changed = 1;

	for (unsigned round = 0; changed && round < SPREAD_ROUNDS; round++) {
		changed = 0;
		for (uint32_t i = 0; i < p->f->value_count; i++) {
			struct kc_value *v = &p->f->values[i];

			if (!v->live || v->memory || !depends_on_memory(p, i))
				continue;
			v->memory = 1;
			changed = 1;
		}
	}
}

/* 1: of its sources, those are known without which it is not. */
static int may_be_known(const struct kc_formula *f, struct kc_value *v, const uint8_t *known)
{
	uint32_t count;
	const uint32_t *from = kc__sources(f, v, &count);

	if (v->op == KC_OP_UNKNOWN)
		return 0;
	if (v->op == KC_OP_SELECT)
		return known[from[0]] && (known[from[1]] || known[from[2]]);
	for (uint32_t n = 0; n < count; n++)
		if (known[from[n]] == (v->op == KC_OP_PHI))
			return v->op == KC_OP_PHI;
	return v->op != KC_OP_PHI || !count;
}

/* Marks as memory what depends on it, and what is not known whatever way a thread takes: as a variable that is set in
 * some iterations, to what was loaded, and in none before. */
static int find_memory(struct layout *p)
{
	struct kc_formula *f = p->f;
	uint8_t *known = kc_arena_array(p->r->arena, (size_t)f->value_count + 1, 1);
	int changed = 1;

	if (!known)
		return -ENOMEM;
	spread_memory(p);
	for (unsigned round = 0; changed; round++) {
		if (round == SPREAD_ROUNDS)
			return 0;
		changed = 0;
		for (uint32_t i = 0; i < f->value_count; i++) {
			if (known[i] || !may_be_known(f, &f->values[i], known))
				continue;
			known[i] = 1;
			changed = 1;
		}
	}
	for (uint32_t i = 0; i < f->value_count; i++)
		f->values[i].memory |= f->values[i].live && !known[i];
	return 0;
}

static int is_invariant(const struct layout *p, uint32_t loop, uint32_t value)
{
	return !is_around(&p->f->cfg, loop, p->f->values[value].loop);
}

static uint32_t add_step(struct layout *p, uint32_t loop, uint32_t sum, uint32_t value, int negative, uint8_t bits)
{
	struct kc_formula *f = p->f;
	struct kc_value v = {.op = (uint8_t)(negative ? KC_OP_SUB : KC_OP_ADD),
			     .bits = bits,
			     .source_bits = bits,
			     .is_signed = 1,
			     .count = 2,
			     .source = {sum, value}};
	uint32_t count = f->value_count, added;

	if (sum == KC_NO_VALUE && !negative)
		return value;
	if (sum == KC_NO_VALUE)
		v.source[0] = kc__constant(p->r, 0, bits);
	if (v.source[0] == KC_NO_VALUE)
		return KC_NO_VALUE;
	v.level = f->values[v.source[0]].level;
	if (v.level < f->values[v.source[1]].level)
		v.level = f->values[v.source[1]].level;
	v.live = 1;
	v.loop = f->cfg.loops[loop].parent;
	p->r->block = f->cfg.loops[loop].header;
	added = kc__value(p->r, v);
	if (added == KC_NO_VALUE || cover_values(p))
		return KC_NO_VALUE;
	f->values[added].live = 1;
	for (; count < f->value_count; count++) {
		f->values[count].live = 1;
		if (f->values[count].level == KC_LEVEL_FLOW)
			p->entry_of[count] = loop;
	}
	return added;
}

/* Follows additions from the variable's next value back to the variable. *step: their sum; KC_NO_VALUE if they do not
 * lead there. */
static int find_step(struct layout *p, uint32_t loop, uint32_t phi, uint32_t value, uint32_t *step)
{
	struct kc_formula *f = p->f;
	uint8_t bits = f->values[value].bits;
	uint32_t sum = KC_NO_VALUE;

	*step = KC_NO_VALUE;
	while (value != phi) {
		const struct kc_value *v = &f->values[value];
		int negative = v->op == KC_OP_SUB;
		uint32_t next = v->source[0], by = v->source[1];

		if ((v->op != KC_OP_ADD && v->op != KC_OP_SUB) || v->bits != bits)
			return 0;
		if (!is_invariant(p, loop, by)) {
			if (negative || !is_invariant(p, loop, next))
				return 0;
			next = v->source[1];
			by = v->source[0];
		}
		sum = add_step(p, loop, sum, by, negative, bits);
		if (sum == KC_NO_VALUE)
			return -ENOMEM;
		value = next;
	}
	*step = sum == KC_NO_VALUE ? kc__constant(p->r, 0, bits) : sum;
	if (*step == KC_NO_VALUE)
		return -ENOMEM;
	f->values[*step].live = 1;
	return cover_values(p);
}

static int carry(struct layout *p, uint32_t phi, struct kc_carried *carried)
{
	struct kc_formula *f = p->f;
	uint32_t loop = f->values[phi].loop, back = KC_NO_VALUE, step;
	int several = 0, rc;

	*carried = (struct kc_carried){.phi = phi, .step = KC_NO_VALUE, .memory = f->values[phi].memory};
	for (uint32_t n = 0; n < f->cfg.blocks[f->values[phi].block].in_count; n++) {
		uint32_t value = f->phi_sources[f->values[phi].phi + n];

		if (taken_in(f, &f->values[phi], n) != loop)
			continue;
		several |= back != KC_NO_VALUE && back != value;
		back = value;
	}
	if (back == KC_NO_VALUE || several)
		return 0;
	rc = find_step(p, loop, phi, back, &step);
	if (rc)
		return rc;
	carried->step = step;
	if (step != KC_NO_VALUE && back != phi)
		f->values[phi].bits = f->values[back].bits;
	return 0;
}

static int find_carried(struct layout *p)
{
	struct kc_formula *f = p->f;
	uint32_t count = 0, phis = f->value_count;
	int rc = 0;

	f->loop_plans = kc_arena_array(p->r->arena, (size_t)f->cfg.loop_count + 1, sizeof(*f->loop_plans));
	if (!f->loop_plans)
		return -ENOMEM;
	for (uint32_t i = 0; i < phis; i++)
		if (f->values[i].live && kc__is_header_phi(f, &f->values[i]))
			f->loop_plans[f->values[i].loop].carried_count++;
	for (uint32_t l = 0; l < f->cfg.loop_count; l++) {
		f->loop_plans[l].carried = count;
		count += f->loop_plans[l].carried_count;
		f->loop_plans[l].carried_count = 0;
	}
	f->carried_count = count;
	f->carried = kc_arena_array(p->r->arena, (size_t)count + 1, sizeof(*f->carried));
	if (!f->carried)
		return -ENOMEM;
	for (uint32_t i = 0; i < phis && !rc; i++) {
		struct kc_loop_plan *loop_plan;
		struct kc_carried *carried;

		if (!f->values[i].live || !kc__is_header_phi(f, &f->values[i]))
			continue;
		loop_plan = &f->loop_plans[f->values[i].loop];
		carried = &f->carried[loop_plan->carried + loop_plan->carried_count++];
		rc = carry(p, i, carried);
		loop_plan->stepwise |= carried->step == KC_NO_VALUE && !carried->memory;
	}
	return rc;
}

/* --- order */

static uint32_t bucket_of(const struct layout *p, uint32_t value)
{
	const struct kc_formula *f = p->f;
	const struct kc_value *v = &f->values[value];
	uint32_t loops = KC_LEVEL_FLOW + 2 * f->cfg.block_count;

	if (v->level < KC_LEVEL_FLOW)
		return v->level;
	if (v->op == KC_OP_EXIT_VALUE)
		return loops + 2 * f->cfg.blocks[v->block].loop + 1;
	if (v->op == KC_OP_PHI)
		return KC_LEVEL_FLOW + 2 * v->block;
	if (p->entry_of[value] != KC_NO_LOOP)
		return loops + 2 * p->entry_of[value];
	return KC_LEVEL_FLOW + 2 * v->block + 1;
}

static int list(struct layout *p)
{
	struct kc_formula *f = p->f;
	uint32_t blocks = f->cfg.block_count, loops = f->cfg.loop_count;
	uint32_t bucket_count = KC_LEVEL_FLOW + 2 * blocks + 2 * loops;
	uint32_t *start = kc_arena_array(p->r->arena, (size_t)bucket_count + 2, sizeof(*start));

	f->order = kc_arena_array(p->r->arena, (size_t)f->value_count + 1, sizeof(*f->order));
	if (!start || !f->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->value_count; i++)
		if (f->values[i].live && !kc__is_header_phi(f, &f->values[i]))
			start[bucket_of(p, i) + 2]++;
	for (uint32_t n = 2; n < bucket_count + 2; n++)
		start[n] += start[n - 1];
	for (uint32_t i = 0; i < f->value_count; i++)
		if (f->values[i].live && !kc__is_header_phi(f, &f->values[i]))
			f->order[start[bucket_of(p, i) + 1]++] = i;
	memcpy(f->level, start, sizeof(f->level));
	for (uint32_t b = 0; b < blocks; b++) {
		const uint32_t *at = start + KC_LEVEL_FLOW + 2 * (size_t)b;

		f->block_plans[b].phi = at[0];
		f->block_plans[b].phi_count = at[1] - at[0];
		f->block_plans[b].value = at[1];
		f->block_plans[b].value_count = at[2] - at[1];
	}
	for (uint32_t l = 0; l < loops; l++) {
		const uint32_t *at = start + KC_LEVEL_FLOW + 2 * (size_t)blocks + 2 * (size_t)l;

		f->loop_plans[l].entry = at[0];
		f->loop_plans[l].entry_count = at[1] - at[0];
		f->loop_plans[l].exit_value = at[1];
		f->loop_plans[l].exit_value_count = at[2] - at[1];
	}
	f->order_count = start[bucket_count];
	return 0;
}

#define WAIT_SOURCES_MAX 16u /* values that a condition is computed from; one of more is not looked through */

/* Spin loops compute little of what they wait for: mbarrier.try_wait, selp, setp. */
static int only_waits(const struct kc_formula *f, uint32_t condition)
{
	uint32_t stack[WAIT_SOURCES_MAX], depth = 0, seen = 0;
	int waits = 0;

	stack[depth++] = condition;
	while (depth) {
		const struct kc_value *v = &f->values[stack[--depth]];

		if (v->op == KC_OP_UNKNOWN && v->constant != KC_UNKNOWN_WAIT)
			return 0;
		waits |= v->op == KC_OP_UNKNOWN;
		seen += v->count;
		if (v->op == KC_OP_PHI || seen > WAIT_SOURCES_MAX)
			return 0;
		for (uint32_t n = 0; n < v->count; n++)
			stack[depth++] = v->source[n];
	}
	return waits;
}

static int is_of_atomic(const struct kc_value *v)
{
	return v->op == KC_OP_UNKNOWN && v->constant == KC_UNKNOWN_ATOMIC;
}

/* while (atomicCAS(…) != expected), while (atomicExch(…)): one number is compared with what an atomic returns. */
static int tries_again(const struct kc_formula *f, uint32_t condition)
{
	const struct kc_value *v = &f->values[condition];

	if (v->op != KC_OP_COMPARE || (v->compare != KC_PTX_EQ && v->compare != KC_PTX_NE))
		return 0;
	return is_of_atomic(&f->values[v->source[0]]) || is_of_atomic(&f->values[v->source[1]]);
}

static void mark_waits(struct kc_formula *f)
{
	for (uint32_t b = 0; b < f->cfg.block_count; b++) {
		struct kc_block_plan *plan = &f->block_plans[b];

		if (f->cfg.blocks[b].ends == KC_END_BRANCH && plan->condition != KC_NO_VALUE)
			plan->waits = only_waits(f, plan->condition)    ? KC_WAITS_FOR_DATA
				      : tries_again(f, plan->condition) ? KC_WAITS_TO_WIN
									: KC_WAITS_NOT;
	}
}

int kc__lay_out_values(struct kc__formula_reader *r)
{
	struct layout p = {.r = r, .f = r->f};
	int rc = follow_extensions(&p);

	rc = rc ? rc : find_live(&p);
	p.entry_count = p.entry_capacity = r->f->value_count;
	p.entry_of = kc_arena_array(r->arena, r->f->value_count, sizeof(*p.entry_of));
	if (rc || !p.entry_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->f->value_count; i++)
		find_level(&p, i);
	mark_waits(r->f);
	rc = leave_loops(&p);
	rc = rc ? rc : find_memory(&p);
	if (!rc && kc__take_as_ordinary(r->f))
		rc = find_memory(&p);
	rc = rc ? rc : cover_values(&p);
	rc = rc ? rc : find_carried(&p);
	rc = rc ? rc : kc__merge_events(r->f, r->arena);
	return rc ? rc : list(&p);
}
