#include "replay_recorded.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum due_kind { DUE_MEASURED, DUE_DECIDED, DUE_EVENT };
struct kc__due_event {
	uint64_t number;
	uint32_t index; /* of the operation, or of the event that belongs to none */
	enum due_kind kind;
};

#define DIGIT_BITS 11u /* of a number, which has 20 to 30 bits where there are millions of events */
#define DIGITS (1u << DIGIT_BITS)

static size_t digit_of(const struct kc__due_event *due, unsigned shift)
{
	return due->number >> shift & (DIGITS - 1);
}

static void sort_by_digit(const struct kc__due_event *from, size_t count, unsigned shift, struct kc__due_event *to)
{
	size_t places[DIGITS + 1] = {0};

	for (size_t i = 0; i < count; i++)
		places[digit_of(&from[i], shift) + 1]++;
	for (size_t digit = 1; digit < DIGITS; digit++)
		places[digit] += places[digit - 1];
	for (size_t i = 0; i < count; i++)
		to[places[digit_of(&from[i], shift)]++] = from[i];
}

/* Digit by digit, the last first (Knuth, TAOCP 5.2.5, algorithm R): comparing would take longer. Those of one number
 * stay in their order. 0 or -ENOMEM. */
static int sort_by_number(struct kc__recorded *recorded)
{
	struct kc__due_event *sorted = malloc((recorded->due_count + 1) * sizeof(*sorted)), *from;
	uint64_t most = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < recorded->due_count; i++)
		most = recorded->due[i].number > most ? recorded->due[i].number : most;
	for (unsigned shift = 0; shift < 64 && most >> shift; shift += DIGIT_BITS) {
		sort_by_digit(recorded->due, recorded->due_count, shift, sorted);
		from = recorded->due;
		recorded->due = sorted;
		sorted = from;
	}
	free(sorted);
	return 0;
}

static void add_due(struct kc__recorded *recorded, uint64_t number, enum due_kind kind, size_t index)
{
	if (number)
		recorded->due[recorded->due_count++] = (struct kc__due_event){number, (uint32_t)index, kind};
}

static int list_events(struct kc__recorded *recorded, const struct kc__ops *ops)
{
	recorded->due = malloc((2 * ops->count + recorded->events.count + 1) * sizeof(*recorded->due));
	if (!recorded->due)
		return -ENOMEM;
	for (size_t i = 0; i < ops->count; i++) {
		const struct kc__recorded_op *op = kc__recorded_of(ops, &ops->at[i]);

		add_due(recorded, op->measured_event, DUE_MEASURED, i);
		add_due(recorded, op->decided_event, DUE_DECIDED, i);
	}
	for (size_t i = 0; i < recorded->events.count; i++)
		add_due(recorded, recorded->events.at[i].number, DUE_EVENT, i);
	return sort_by_number(recorded);
}

/* What is known counts the events of all devices: it orders operations of one device as the times do at which its
 * timeline saw them, and those of several devices as their times may not. Of several threads, one may have come later
 * and still have the earlier place in the journal. */
struct place {
	uint64_t known;
	int64_t seen_ns;
	uint32_t op;
};

KC_ORDER(by_place, struct place, KC_UP(known) ?: KC_UP(seen_ns) ?: KC_UP(op))

static struct place place_of(const struct kc__ops *ops, uint32_t i)
{
	const struct kc__op *op = &ops->at[i];
	const struct kc__recorded_op *as = kc__recorded_of(ops, op);

	return (struct place){as->known, op->kind == KC__OP_LAUNCH ? as->predicted_at_ns : op->issued_ns, i};
}

static int sort_ops(const struct kc__recorded *recorded, const struct kc__ops *ops)
{
	struct place *places = malloc((recorded->order_count + 1) * sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < recorded->order_count; i++)
		places[i] = place_of(ops, recorded->order[i]);
	qsort(places, recorded->order_count, sizeof(*places), by_place);
	for (size_t i = 0; i < recorded->order_count; i++)
		recorded->order[i] = places[i].op;
	free(places);
	return 0;
}

static int list_ops(struct kc__recorded *recorded, const struct kc__ops *ops)
{
	struct place last = {0}, place;
	int in_order = 1; /* as those of one thread are */

	recorded->order = malloc((ops->count + 1) * sizeof(*recorded->order));
	if (!recorded->order)
		return -ENOMEM;
	for (size_t i = 0; i < ops->count; i++) {
		if (ops->at[i].in_graph)
			continue;
		place = place_of(ops, (uint32_t)i);
		in_order &= !recorded->order_count || by_place(&last, &place) < 0;
		recorded->order[recorded->order_count++] = place.op;
		last = place;
	}
	return in_order ? 0 : sort_ops(recorded, ops);
}

KC_ORDER_OF_POINTERS(by_sequence, struct kc__op, KC_UP(sequence))

static size_t list_failed(struct kc__ops *ops, struct kc__op **failed)
{
	size_t count = 0;

	for (size_t i = 0; i < ops->count; i++)
		if (ops->at[i].unmeasured == KC_CALL_FAILED || ops->at[i].call == KC_CALL_GRAPH_LAUNCH)
			failed[count++] = &ops->at[i];
	qsort(failed, count, sizeof(*failed), by_sequence);
	return count;
}

/* Which operation each cancellation is about. */
static int find_cancelled(struct kc__ops *ops)
{
	struct kc__op **failed = malloc((ops->count + 1) * sizeof(*failed));
	size_t count;

	if (!failed)
		return -ENOMEM;
	count = list_failed(ops, failed);
	for (size_t i = 0; count && i < ops->count; i++) {
		struct kc__op key = {.sequence = (uint64_t)ops->at[i].ns}, *at = &key, **found;

		if (ops->at[i].kind != KC__OP_STREAM_CALL || ops->at[i].call != KC_CALL_CANCEL)
			continue;
		found = bsearch(&at, failed, count, sizeof(*failed), by_sequence);
		if (!found)
			continue;
		kc__recorded_of(ops, &ops->at[i])->cancels = *found;
		(*found)->cancelled = 1;
	}
	free(failed);
	return 0;
}

int kc__recorded_load(struct kc__recorded *recorded, struct kc__replay_state *r, int64_t process)
{
	int rc = 0;

	for (size_t i = 0; i < r->ops.count && !r->as_recorded; i++)
		r->as_recorded = kc__recorded_of(&r->ops, &r->ops.at[i])->measured_event != 0;
	if (!r->as_recorded && r->ops.count)
		rc = kc__graphs_measured(&r->loader, process, &r->as_recorded);
	if (rc || !r->as_recorded)
		return rc;
	rc = kc__stream_calls_load(&r->loader, process, &r->ops);
	if (rc == 0)
		rc = find_cancelled(&r->ops);
	if (rc == 0)
		rc = kc__recorded_graphs_find(&recorded->graphs, &r->ops);
	if (rc == 0)
		rc = kc__events_load(&r->loader, process, &recorded->events);
	if (rc == 0)
		rc = kc__began_with_load(&r->loader, process, &recorded->began_with, &recorded->had_past);
	if (rc == 0)
		rc = kc__counted_work_load(&r->loader, process, &r->work);
	if (rc == 0)
		rc = list_events(recorded, &r->ops);
	if (rc == 0)
		rc = list_ops(recorded, &r->ops);
	return rc;
}

void kc__recorded_leave(struct kc__recorded *recorded, struct kc__replay_state *r)
{
	kc__events_free(&recorded->events);
	kc__counted_work_free(&r->work);
	kc_ids_clear(&r->read);
	r->as_recorded = 0;
	free(recorded->due);
	free(recorded->order);
	kc__recorded_graphs_free(&recorded->graphs);
	*recorded = (struct kc__recorded){0};
}

/* The next event, if it is among the first `known` ones; else NULL. */
static const struct kc__due_event *next_due(struct kc__recorded *recorded, uint64_t known)
{
	if (recorded->next == recorded->due_count || recorded->due[recorded->next].number > known)
		return NULL;
	return &recorded->due[recorded->next++];
}

/* Launches that were made before the kernel's code had been read */

/* The work of such a launch is taken to be that of the first arguments recorded with its launch shape. */
static const struct kc__counted_launch *first_counted(const struct kc__counted_work *work, int64_t shape)
{
	for (size_t i = 0; i < work->count; i++)
		if (work->at[i].shape == shape)
			return &work->at[i];
	return NULL;
}

/* A kernel's formula is ready: from here on, earlier launches, and those of graphs that were predicted earlier, teach
 * the variants with their arguments. 0 or -errno. */
static int formula_ready(struct kc__replay_state *r, struct kc__replay_kernel *kernel)
{
	kernel->formula = 1;
	for (struct kc__replay_shape *shape = kernel->kept; shape; shape = shape->next_kept) {
		const struct kc__counted_launch *counted = first_counted(&r->work, shape->kept_row);
		const char *given = counted ? kc__replay_given(r, counted->arguments) : NULL;

		if (!counted)
			continue;
		shape->successor =
		    kc__knowledge_shape(r->knowledge, shape->kept_row, given ? given : "", &counted->counts);
		shape->first_alone = given != NULL;
		if (!shape->successor)
			return kc__knowledge_error(r->knowledge) ? kc__knowledge_error(r->knowledge) : -ENOMEM;
	}
	for (struct kc__replay_shape *shape = kernel->early; shape; shape = shape->next_early)
		if (shape->successor && shape->unpredictable == KC_PREDICTED &&
		    shape->successor->unpredictable == KC_PREDICTED)
			kc_engine_succeed(&shape->successor->engine, &shape->engine);
	return 0;
}

static void learn_early(struct kc__replay_state *r, struct kc__replay_shape *shape)
{
	const struct kc__counted_launch *counted = shape->first ? first_counted(&r->work, shape->kept_row) : NULL;

	if (counted && shape->code->formula && shape->unpredictable == KC_PREDICTED &&
	    kc_engine_early_count(&shape->early, &shape->engine, &counted->counts))
		kc_engine_early_teach(kc__knowledge_engine(r->knowledge), &shape->engine, &shape->early);
}

/* Events, and the operations between them */

static void decided_event(struct kc__replay_state *r, struct kc__op *op)
{
	struct kc_span span = {.owner = op};

	if (!op->of)
		return;
	op->met = op->overlap;
	if (op->met == KC_OVERLAP_NONE && op->of->first == op) {
		op->of->early.measured_ns = op->end_ns - op->start_ns;
		learn_early(r, op->of);
	}
	if (op->at)
		kc_spans_take(&op->at->device->spans, op, &span);
	kc__replay_decided(&span, r);
}

static int other_event(struct kc__replay_state *r, const struct kc__recorded_event *event)
{
	struct kc__replay_kernel *kernel = NULL;
	int rc = 0;

	for (size_t i = 0; i < r->ops.count && !kernel; i++) {
		const struct kc__replay_shape *shape = r->ops.at[i].of;

		if (shape && shape->code && shape->kernel == event->kernel &&
		    (!event->device || shape->device == event->device))
			kernel = shape->code;
	}
	if (!kernel) /* a graph's, read before it was launched */
		return event->kind != KC_EVENT_FORMULA || !event->kernel ||
			       kc_ids_number(&r->read, kc__read_key(event->kernel, event->device))
			   ? 0
			   : -ENOMEM;
	if (event->kind == KC_EVENT_FORMULA)
		rc = formula_ready(r, kernel);
	for (struct kc__replay_shape *s = kernel->early; s && event->kind == KC_EVENT_SIZE; s = s->next_early)
		learn_early(r, s);
	return rc;
}

static int take_in(struct kc__recorded *recorded, struct kc__replay_state *r, const struct kc__due_event *due)
{
	struct kc__op *op = &r->ops.at[due->index];

	kc_engine_set_known(kc__knowledge_engine(r->knowledge), due->number - 1);
	if (due->kind == DUE_EVENT)
		return other_event(r, &recorded->events.at[due->index]);
	if (!op->at)
		return 0;
	if (due->kind == DUE_MEASURED)
		return kc__replay_measured(r, op);
	decided_event(r, op);
	return 0;
}

static int replay_op(struct kc__recorded *recorded, struct kc__replay_state *r, struct kc__op *op)
{
	switch (op->call) {
	case KC_CALL_GRAPH:
		return kc__recorded_graph(&recorded->graphs, r, op);
	case KC_CALL_GRAPH_LAUNCH:
		return kc__recorded_graph_launch(&recorded->graphs, r, op);
	default:
		return kc__replay_op(r, op);
	}
}

int kc__recorded_replay(struct kc__recorded *recorded, struct kc__replay_state *r)
{
	const struct kc__due_event *due;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < recorded->order_count; i++) {
		struct kc__op *op = &r->ops.at[recorded->order[i]];
		uint64_t known = kc__recorded_of(&r->ops, op)->known;

		while (rc == 0 && (due = next_due(recorded, known)))
			rc = take_in(recorded, r, due);
		kc_engine_set_known(kc__knowledge_engine(r->knowledge), known);
		if (rc == 0)
			rc = replay_op(recorded, r, op);
	}
	while (rc == 0 && (due = next_due(recorded, UINT64_MAX)))
		rc = take_in(recorded, r, due);
	return rc;
}
