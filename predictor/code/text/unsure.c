#include "unsure.h"

#include "predictor/code/formula/formula_read.h"

#include <errno.h>
#include <stdio.h>

#define WHY_DEPTH 64u

static const char *reason_text(int64_t reason)
{
	switch (reason) {
	case KC_UNKNOWN_GLOBAL_LOAD:
		return "a value loaded from global memory";
	case KC_UNKNOWN_SHARED_LOAD:
		return "a value loaded from shared memory";
	case KC_UNKNOWN_LOCAL_LOAD:
		return "a value loaded from local memory";
	case KC_UNKNOWN_CONST_LOAD:
		return "a value loaded from constant memory";
	case KC_UNKNOWN_ATOMIC:
		return "the result of an atomic operation";
	case KC_UNKNOWN_OTHER_THREADS:
		return "values of other threads";
	case KC_UNKNOWN_FLOAT:
		return "floating-point arithmetic";
	case KC_UNKNOWN_CALL:
		return "the result of a call";
	case KC_UNKNOWN_SPECIAL:
		return "a special register whose value is known only on the device";
	case KC_UNKNOWN_UNSET:
		return "a register that may be uninitialized";
	case KC_UNKNOWN_BOX:
		return "a tensor map, which is in memory";
	case KC_UNKNOWN_WAIT:
		return "whether a barrier in shared memory (mbarrier) is complete";
	default:
		return "an instruction whose result is not evaluated";
	}
}

/* Limit on the rounds in which values that may be unknown spread along loops. */
#define SPREAD_ROUNDS 32u

/* A register that was not set on some path is not counted: compilers leave those unset whose value does not matter. */
int kc__unsure_find(struct kc_unsure *u, struct kc_arena *arena)
{
	const struct kc_formula *f = u->f;
	int changed = 1;

	u->values = kc_arena_array(arena, (size_t)f->value_count + 1, 1);
	if (!u->values)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->value_count; i++)
		u->values[i] = f->values[i].memory ||
			       (f->values[i].op == KC_OP_UNKNOWN && f->values[i].constant != KC_UNKNOWN_UNSET);
	for (unsigned round = 0; changed && round < SPREAD_ROUNDS; round++) {
		changed = 0;
		for (uint32_t i = 0; i < f->value_count; i++) {
			uint32_t count, unsure = u->values[i];
			const uint32_t *from = kc__sources(f, &f->values[i], &count);

			for (uint32_t n = 0; n < count && !unsure; n++)
				unsure = u->values[from[n]];
			changed |= unsure != u->values[i];
			u->values[i] = (uint8_t)unsure;
		}
	}
	return 0;
}

/* Follows sources that are unsure to the first unknown value, and names its reason. */
static const char *why(const struct kc_unsure *u, uint32_t value)
{
	const struct kc_formula *f = u->f;

	for (unsigned depth = 0; depth < WHY_DEPTH; depth++) {
		struct kc_value *v = &f->values[value];
		uint32_t count, next = KC_NO_VALUE;
		const uint32_t *from = kc__sources(f, v, &count);

		if (v->op == KC_OP_UNKNOWN)
			return reason_text(v->constant);
		for (uint32_t n = 0; n < count; n++)
			if (u->values[from[n]] && from[n] != value &&
			    (next == KC_NO_VALUE || f->values[next].op == KC_OP_PHI))
				next = from[n];
		if (next == KC_NO_VALUE)
			break;
		value = next;
	}
	return reason_text(KC_UNKNOWN_GLOBAL_LOAD);
}

static int add_unknown(struct kc_unsure *u, uint32_t offset, const char *what, const char *because, const char *assumed)
{
	struct kc_cost_story *story = u->story;
	char text[160];
	int length, rc = kc_arena_grow(&story->arena, &story->unknown, &u->unknown_capacity, story->unknown_count,
				       sizeof(*story->unknown));

	if (rc)
		return rc;
	length = snprintf(text, sizeof(text), "%s: depends on %s", what, because);
	story->unknown[story->unknown_count] = (struct kc_cost_unknown){
	    .offset = offset, .what = kc_arena_text(&story->arena, text, (size_t)length), .assumed = assumed};
	return story->unknown[story->unknown_count++].what ? 0 : -ENOMEM;
}

static int leaves_loop(const struct kc_formula *f, uint32_t block)
{
	const struct kc_block *b = &f->cfg.blocks[block];

	return b->loop != KC_NO_LOOP && b->ends == KC_END_BRANCH &&
	       (f->leaves[b->out] != 0) != (f->leaves[b->out + 1] != 0);
}

static const char *address_text(const struct kc_event *event)
{
	switch (event->kind) {
	case KC_EVENT_GLOBAL:
		return "address in global memory";
	case KC_EVENT_ATOMIC:
		return "bank conflicts and repetitions of an atomic in shared memory";
	default:
		return "address in shared memory";
	}
}

static const char *assumption_text(const struct kc_event *event)
{
	switch (event->kind) {
	case KC_EVENT_GLOBAL:
		return "no two lanes touch the same sector";
	case KC_EVENT_ATOMIC:
		return "no two lanes access the same word or bank";
	default:
		return "no bank conflicts";
	}
}

/* How many bytes an event moves, if that is not known. */
static int tell_size(struct kc_unsure *u, const struct kc_event *event)
{
	static const char bytes[] = "number of bytes that a copy moves";

	if (u->values[event->size])
		return add_unknown(u, event->offset, bytes, why(u, event->size),
				   event->bytes ? "as many as it can read" : "none");
	if (event->expected)
		return add_unknown(u, event->offset, bytes, reason_text(KC_UNKNOWN_BOX),
				   "all that the barrier expects; nothing lies outside of the tensor");
	return 0;
}

int kc__unsure_tell(struct kc_unsure *u, uint32_t block)
{
	const struct kc_formula *f = u->f;
	const struct kc_block_plan *plan = &f->block_plans[block];
	char what[64];
	int rc = 0;

	if (plan->condition != KC_NO_VALUE && u->values[plan->condition]) {
		if (leaves_loop(f, block)) {
			snprintf(what, sizeof(what), "trip count n%u", f->cfg.blocks[block].loop);
			rc = add_unknown(u, plan->last_offset, what, why(u, plan->condition),
					 plan->waits
					     ? "1 iteration; what is repeated while threads wait is not counted"
					     : "as many as what it halves or goes through tells, else 16; or those "
					       "after which another condition ends the loop");
		} else {
			snprintf(what, sizeof(what), "branch u%u", plan->condition);
			rc = add_unknown(u, plan->last_offset, what, why(u, plan->condition),
					 "half of the threads take each side");
		}
	}
	for (uint32_t i = plan->event; i < plan->event + plan->event_count && !rc; i++) {
		const struct kc_event *event = &f->events[i];

		if (event->guard != KC_NO_VALUE && u->values[event->guard])
			rc = add_unknown(u, event->offset, "whether an instruction is executed", why(u, event->guard),
					 "half of the executions");
		if (!rc && event->size != KC_NO_VALUE && (i == plan->event || event[-1].size != event->size))
			rc = tell_size(u, event);
		if (!rc && event->kind != KC_EVENT_COUNT && u->values[event->address])
			rc = add_unknown(u, event->offset, address_text(event), why(u, event->address),
					 assumption_text(event));
		if (!rc && event->retried)
			rc = add_unknown(u, event->offset, "repetitions of an atomic in shared memory",
					 "when other warps change the word", "none but for lanes of the same warp");
	}
	return rc;
}
