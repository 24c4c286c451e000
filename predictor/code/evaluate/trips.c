#include "evaluate.h"

#include <math.h>

/*
 * How many iterations a loop is assumed to run whose end depends on memory contents.
 *
 * It ends where what it goes through ends. An access whose address is known in the first iteration goes on to
 * the end of the memory that it lies in, or to where the next thread's begins, if those lie apart: rows of lists
 * that are as long as they may be. One whose first address comes from memory, as the rows of a sparse matrix do,
 * goes through its part of what all threads go through together. A binary search halves what it searches.
 */

#define TRIPS_MOST 1e9   /* a window of more is none */
#define CHAIN_MAX 32u    /* values that are looked through at a time */
#define SHIFT_MOST 32    /* of addresses' steps */
#define ACCESSES_MAX 16u /* of a loop that are looked at */

/* A set of values that are looked through. */
struct chain {
	uint32_t all[CHAIN_MAX];
	uint32_t count;
	uint8_t is_full;
};

static void add(struct chain *chain, uint32_t value)
{
	for (uint32_t n = 0; n < chain->count; n++)
		if (chain->all[n] == value)
			return;
	if (chain->count == CHAIN_MAX)
		chain->is_full = 1;
	else
		chain->all[chain->count++] = value;
}

static int holds(const struct chain *chain, uint32_t value)
{
	for (uint32_t n = 0; n < chain->count; n++)
		if (chain->all[n] == value)
			return 1;
	return 0;
}

static int is_variable_of(const struct kc_formula *f, uint32_t value, uint32_t loop)
{
	return kc__is_header_phi(f, &f->values[value]) && f->cfg.blocks[f->values[value].block].loop == loop;
}

/* --- loops that halve a range */

static int is_constant(const struct kc_formula *f, uint32_t value, int64_t constant)
{
	return f->values[value].op == KC_OP_CONSTANT && f->values[value].constant == constant;
}

static int is_half(const struct kc_formula *f, const struct kc_value *v)
{
	return (v->op == KC_OP_SHR && is_constant(f, v->source[1], 1)) ||
	       (v->op == KC_OP_DIV && is_constant(f, v->source[1], 2));
}

static int is_sum(const struct kc_value *v)
{
	return v->op == KC_OP_ADD || v->op == KC_OP_SUB || v->op == KC_OP_EXTEND || v->op == KC_OP_SHR;
}

/* The loop's variables of which a value is half: *chain. 0: it is half of something else as well. */
static int halved_variables(const struct kc_formula *f, uint32_t loop, uint32_t half, struct chain *chain)
{
	struct chain seen = {.count = 0};

	chain->count = chain->is_full = 0;
	add(&seen, f->values[half].source[0]);
	for (uint32_t n = 0; n < seen.count; n++) {
		const struct kc_value *v = &f->values[seen.all[n]];

		if (is_variable_of(f, seen.all[n], loop)) {
			add(chain, seen.all[n]);
		} else if (is_sum(v)) {
			for (uint32_t i = 0; i < v->count; i++)
				add(&seen, v->source[i]);
		} else if (v->op != KC_OP_CONSTANT) {
			return 0;
		}
	}
	return !seen.is_full && chain->count >= 1 && chain->count <= 2;
}

/* 1: the variable's next value is made of the half and of these variables alone, and of the half at least once if all
 * of them together are to become less. *has_half: it is. */
static int becomes_half(const struct kc_formula *f, uint32_t loop, uint32_t variable, uint32_t half,
			const struct chain *variables, int *has_half)
{
	const struct kc_value *phi = &f->values[variable];
	const struct kc_block *header = &f->cfg.blocks[phi->block];
	struct chain seen = {.count = 0};

	for (uint32_t n = 0; n < header->in_count; n++)
		if (f->cfg.edges[f->cfg.in_edges[header->in + n]].from >= phi->block)
			add(&seen, f->phi_sources[phi->phi + n]);
	for (uint32_t n = 0; n < seen.count; n++) {
		struct kc_value v = f->values[seen.all[n]];
		uint32_t count, first = v.op == KC_OP_SELECT;
		const uint32_t *from = kc__sources(f, &v, &count);

		*has_half |= seen.all[n] == half;
		if (seen.all[n] == half || holds(variables, seen.all[n]) || v.op == KC_OP_CONSTANT)
			continue;
		if (!is_sum(&v) && v.op != KC_OP_SELECT && (v.op != KC_OP_PHI || is_variable_of(f, seen.all[n], loop)))
			return 0;
		for (uint32_t i = first; i < count; i++)
			add(&seen, from[i]);
	}
	return !seen.is_full;
}

static int halves(const struct kc_formula *f, uint32_t loop, uint32_t half, struct chain *variables)
{
	int has_half = 0;

	if (!is_half(f, &f->values[half]) || !halved_variables(f, loop, half, variables))
		return 0;
	for (uint32_t n = 0; n < variables->count; n++)
		if (!becomes_half(f, loop, variables->all[n], half, variables, &has_half))
			return 0;
	return has_half;
}

/* Looks through the values that are computed in each iteration of the loop, but not of one within. */
static void find_halved(struct kc_evaluation *e, uint32_t loop)
{
	const struct kc_formula *f = e->f;
	const struct kc_loop *l = &f->cfg.loops[loop];
	struct chain variables;

	for (uint32_t m = l->member; m < l->member + l->member_count; m++) {
		const struct kc_block_plan *plan = &f->block_plans[f->cfg.members[m]];

		for (uint32_t i = plan->value; i < plan->value + plan->value_count; i++) {
			if (!halves(f, loop, f->order[i], &variables))
				continue;
			e->guesses[loop].halved[0] = variables.all[0];
			e->guesses[loop].halved[1] = variables.all[variables.count - 1];
			return;
		}
	}
}

static const struct kc_carried *carried_of(const struct kc_formula *f, uint32_t loop, uint32_t phi)
{
	const struct kc_loop_plan *plan = &f->loop_plans[loop];

	for (uint32_t i = plan->carried; i < plan->carried + plan->carried_count; i++)
		if (f->carried[i].phi == phi)
			return &f->carried[i];
	return NULL;
}

/* As long as the longest that one of the lanes halves, down to nothing. 0: it is not known. */
static double halvings(const struct kc_evaluation *e, uint32_t loop, uint32_t lanes)
{
	const uint32_t *halved = e->guesses[loop].halved;
	const struct kc_carried *from = carried_of(e->f, loop, halved[0]), *to = carried_of(e->f, loop, halved[1]);
	const struct kc_lanes *first, *last;
	double longest = 0;

	if (!from || !to)
		return 0;
	first = kc__entry_slot(e, from);
	last = kc__entry_slot(e, to);
	for (uint32_t left = lanes & first->known & last->known; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);
		double range = (double)kc__lane(first, lane);

		if (from != to)
			range = fabs(range - (double)kc__lane(last, lane));
		longest = fmax(longest, range);
	}
	return longest >= 1 ? floor(log2(longest)) + 1 : 0;
}

/* --- loops that go through memory */

/* 1: the value is one number for all lanes. */
static int is_number(const struct kc_evaluation *e, uint32_t value, int64_t *number)
{
	const struct kc_value *v = &e->f->values[value];
	const struct kc_lanes *lanes = kc__slot(e, value);

	*number = v->constant;
	if (v->op == KC_OP_CONSTANT)
		return 1;
	if ((e->at_launch && !v->surveyed) || !lanes->uniform || !(lanes->known & 1))
		return 0;
	*number = lanes->v[0];
	return 1;
}

/* By how much a value changes from one iteration to the next. *looks: how many values may still be looked at. 0: it is
 * not known. */
static int step_in(const struct kc_evaluation *e, uint32_t value, uint32_t loop, uint32_t *looks, int64_t *step)
{
	const struct kc_formula *f = e->f;
	const struct kc_value *v = &f->values[value];
	const struct kc_carried *carried;
	int64_t steps[2] = {0, 0}, by;

	*step = 0;
	if (!kc__is_computed_in(f, value, loop))
		return 1;
	if (is_variable_of(f, value, loop)) {
		carried = carried_of(f, loop, value);
		return carried && carried->step != KC_NO_VALUE && is_number(e, carried->step, step);
	}
	if (!v->count || v->count > 2 || v->op == KC_OP_PHI || !*looks)
		return 0;
	--*looks;
	for (uint32_t n = 0; n < v->count; n++)
		if (!step_in(e, v->source[n], loop, looks, &steps[n]))
			return 0;
	if (!steps[0] && !steps[1])
		return 1;
	if (v->op == KC_OP_EXTEND || v->op == KC_OP_ADD)
		return !__builtin_add_overflow(steps[0], steps[1], step);
	if (v->op == KC_OP_SUB)
		return !__builtin_sub_overflow(steps[0], steps[1], step);
	if ((v->op != KC_OP_MUL && v->op != KC_OP_SHL) || steps[1] || !is_number(e, v->source[1], &by))
		return 0;
	if (v->op == KC_OP_SHL) {
		if (by < 0 || by > SHIFT_MOST)
			return 0;
		by = (int64_t)1 << by;
	}
	return !__builtin_mul_overflow(steps[0], by, step);
}

/* Where addresses of other threads and blocks, or of loops around, lie further apart than this loop's, the next one's
 * begins. 0: they overlap. INFINITY: none do. */
static double apart(const struct kc_evaluation *e, const struct kc_lanes *address, uint32_t c, int64_t step)
{
	int64_t steps[KC_SUMS_MAX + 2];
	double terms[KC_SUMS_MAX + 2], nearest = INFINITY, width = fabs((double)step);
	uint32_t count = 0;

	if (!address->uniform && !address->plane)
		return 0;
	if (address->plane) {
		steps[count] = address->column_step;
		terms[count++] = 1u << address->row_log2;
		steps[count] = address->row_step;
		terms[count++] = (double)(KC_WARP_LANES >> address->row_log2);
	}
	for (uint32_t left = address->affine_in & ~(1u << c); left; left &= left - 1) {
		uint32_t other = (uint32_t)__builtin_ctz(left);

		steps[count] = address->step[other];
		terms[count++] = other < KC_AXES ? kc__axis_terms(e, other) : 2;
	}
	for (uint32_t n = 0; n < count; n++) {
		double far = fabs((double)steps[n]);

		if (!steps[n] || terms[n] <= 1)
			continue;
		if (far > width)
			nearest = fmin(nearest, far);
		else if (far * terms[n] > width)
			return 0;
	}
	return nearest;
}

static double to_the_end(const struct kc_evaluation *e, const struct kc_lanes *address, int64_t step, uint32_t c,
			 double first, double bytes)
{
	double at = (double)kc__lane(address, 0), far = apart(e, address, c, step);
	double left = bytes > 0 ? (step > 0 ? first + bytes - at : at - first) : INFINITY;

	if (far == 0 || left < 0)
		return 0;
	left = fmin(left, far) / fabs((double)step);
	return isfinite(left) ? left : 0;
}

static double through_its_part(const struct kc_evaluation *e, const struct kc_event *event, double bytes)
{
	const uint32_t *grid = e->launch->grid, *block = e->launch->block;
	double readers = (double)grid[0] * grid[1] * grid[2];

	if (event->alike)
		readers *= (double)block[0] * block[1] * block[2];
	return bytes / (event->bytes * readers);
}

/* 0: the access does not tell. */
static double trips_by_access(const struct kc_evaluation *e, const struct kc_event *event, uint32_t loop)
{
	int64_t offset, step;
	uint32_t base = kc__address_base(e->f, event->address, &offset), c = KC_AXES + e->f->cfg.loops[loop].depth,
		 looks = CHAIN_MAX;
	const struct kc_lanes *address = kc__slot(e, base);
	double first, bytes;

	if ((e->at_launch && !e->f->values[base].surveyed) || !step_in(e, base, loop, &looks, &step) || !step)
		return 0;
	bytes = kc__buffer_bytes(e, base, &first);
	if (address->known == KC_ALL_LANES)
		return to_the_end(e, address, step, c, first, bytes);
	return bytes > 0 && event->bytes ? through_its_part(e, event, bytes) : 0;
}

/* Of the loop's accesses and those in loops within, the one that tells of the fewest iterations. *looks: at how many
 * may still be looked. */
static double trips_by_memory(const struct kc_evaluation *e, uint32_t loop, uint32_t within, uint32_t *looks)
{
	const struct kc_formula *f = e->f;
	const struct kc_loop *l = &f->cfg.loops[within];
	double least = 0;

	for (uint32_t m = l->member; m < l->member + l->member_count; m++) {
		uint32_t b = f->cfg.members[m], inner = f->cfg.blocks[b].loop;
		const struct kc_block_plan *plan = &f->block_plans[b];
		double trips = inner != within ? trips_by_memory(e, loop, inner, looks) : 0;

		for (uint32_t n = 0; inner == within && n < plan->launch_event_count && *looks; n++) {
			const struct kc_event *event = &f->launch_events[plan->launch_event + n];
			double told;

			if (event->kind != KC_EVENT_GLOBAL)
				continue;
			--*looks;
			told = trips_by_access(e, event, loop);
			trips = told >= 1 && (!trips || told < trips) ? told : trips;
		}
		least = trips && (!least || trips < least) ? trips : least;
	}
	return least;
}

/* --- loops whose end is not known */

/* 1: a branch in it depends on memory contents: a way out of it, or one that decides on its variables. */
static int is_unsure(const struct kc_formula *f, uint32_t loop)
{
	const struct kc_loop *l = &f->cfg.loops[loop];

	for (uint32_t m = l->member; m < l->member + l->member_count; m++) {
		const struct kc_block *block = &f->cfg.blocks[f->cfg.members[m]];
		const struct kc_block_plan *plan = &f->block_plans[f->cfg.members[m]];

		if (block->loop == loop && block->ends == KC_END_BRANCH && !plan->waits &&
		    f->values[plan->condition].memory)
			return 1;
	}
	return 0;
}

int kc__has_unsure_loops(const struct kc_formula *f)
{
	for (uint32_t loop = 0; loop < f->cfg.loop_count; loop++)
		if (is_unsure(f, loop))
			return 1;
	return 0;
}

void kc__lay_out_guesses(struct kc_evaluation *e)
{
	for (uint32_t loop = 0; loop < e->f->cfg.loop_count; loop++)
		e->guesses[loop] = (struct kc_guess){.halved = {KC_NO_VALUE, KC_NO_VALUE}};
}

void kc__find_guesses(struct kc_evaluation *e)
{
	for (uint32_t loop = 0; loop < e->f->cfg.loop_count; loop++) {
		uint32_t looks = ACCESSES_MAX;

		if (!is_unsure(e->f, loop))
			continue;
		find_halved(e, loop);
		e->guesses[loop].trips = trips_by_memory(e, loop, loop, &looks);
	}
}

double kc__assumed_trips(const struct kc_evaluation *e, uint32_t loop, uint32_t lanes)
{
	const struct kc_guess *guess = &e->guesses[loop];
	double trips = guess->halved[0] == KC_NO_VALUE ? guess->trips : halvings(e, loop, lanes);

	return trips >= 1 ? fmin(trips, TRIPS_MOST) : 0;
}
