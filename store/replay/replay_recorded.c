#include "replay_internal.h"

#include <errno.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
	const struct kc__due *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void add_due(struct kc__recorded *recorded, uint64_t number, enum kc__due_kind kind, size_t index)
{
	if (number)
		recorded->due[recorded->due_count++] = (struct kc__due){number, (uint32_t)index, kind};
}

static int list_events(struct kc__recorded *recorded, const struct kc__ops *ops)
{
	recorded->due = malloc((2 * ops->count + recorded->events.count + 1) * sizeof(*recorded->due));
	if (!recorded->due)
		return -ENOMEM;
	for (size_t i = 0; i < ops->count; i++) {
		add_due(recorded, ops->at[i].measured_event, KC__DUE_MEASURED, i);
		add_due(recorded, ops->at[i].decided_event, KC__DUE_DECIDED, i);
	}
	for (size_t i = 0; i < recorded->events.count; i++)
		add_due(recorded, recorded->events.at[i].number, KC__DUE_EVENT, i);
	qsort(recorded->due, recorded->due_count, sizeof(*recorded->due), by_number);
	return 0;
}

/* When the timeline saw it: of several threads, one may have come later and still have the earlier place in the
 * journal. */
static int64_t seen_ns(const struct kc__op *op)
{
	return op->kind == KC__OP_LAUNCH ? op->predicted_at_ns : op->issued_ns;
}

static int list_ops(struct kc__recorded *recorded, const struct kc__ops *ops)
{
	recorded->order = malloc((ops->count + 1) * sizeof(*recorded->order));
	if (!recorded->order)
		return -ENOMEM;
	for (size_t i = 0; i < ops->count; i++) {
		size_t at = i;

		for (; at && seen_ns(&ops->at[recorded->order[at - 1]]) > seen_ns(&ops->at[i]); at--)
			recorded->order[at] = recorded->order[at - 1];
		recorded->order[at] = (uint32_t)i;
	}
	return 0;
}

int kc__recorded_load(struct kc__recorded *recorded, struct kc__loader *loader, int64_t process, struct kc__ops *ops)
{
	int rc = 0;

	recorded->on = 0;
	for (size_t i = 0; i < ops->count && !recorded->on; i++)
		recorded->on = ops->at[i].measured_event != 0;
	if (!recorded->on)
		return 0;
	rc = kc__stream_calls_load(loader, process, ops);
	if (rc == 0)
		rc = kc__events_load(loader, process, &recorded->events);
	if (rc == 0)
		rc = kc__past_parts_load(loader, process, &recorded->parts);
	if (rc == 0)
		rc = kc__work_load(loader, process, &recorded->work);
	recorded->due_count = recorded->next = 0;
	if (rc == 0)
		rc = list_events(recorded, ops);
	if (rc == 0)
		rc = list_ops(recorded, ops);
	return rc;
}

void kc__recorded_leave(struct kc__recorded *recorded)
{
	kc__events_free(&recorded->events);
	kc__past_parts_free(&recorded->parts);
	kc__work_free(&recorded->work);
	free(recorded->due);
	free(recorded->order);
	recorded->due = NULL;
	recorded->order = NULL;
}

const struct kc__due *kc__recorded_next(struct kc__recorded *recorded, uint64_t known)
{
	if (recorded->next == recorded->due_count || recorded->due[recorded->next].number > known)
		return NULL;
	return &recorded->due[recorded->next++];
}

/* Launches made before the code was read */

void kc__early_note(struct kc__replay_shape *shape, const struct kc__op *op)
{
	if (shape->first || shape->code->formula)
		return;
	shape->first = op;
	shape->next_early = shape->code->early;
	shape->code->early = shape;
}

/* The work of a launch made before: that of the first set of arguments met with the launch shape. */
static const struct kc__counted *first_counted(const struct kc__recorded *recorded, int64_t shape)
{
	for (size_t i = 0; i < recorded->work.count; i++)
		if (recorded->work.at[i].shape == shape)
			return &recorded->work.at[i];
	return NULL;
}

int kc__formula_ready(const struct kc__recorded *recorded, struct kc__subject *subject,
		      struct kc__replay_kernel *kernel, const char *(*text)(void *arg, int64_t arguments), void *arg)
{
	kernel->formula = 1;
	for (struct kc__replay_shape *shape = kernel->early; shape; shape = shape->next_early) {
		const struct kc__counted *counted = first_counted(recorded, shape->first->shape);
		const char *given = counted ? text(arg, counted->arguments) : NULL;

		if (!counted)
			continue;
		shape->successor =
		    kc__subject_shape(subject, shape->first->shape, given ? given : "", &counted->counts);
		if (!shape->successor)
			return kc__subject_error(subject) ? kc__subject_error(subject) : -ENOMEM;
		if (!shape->successor->engine.learned.lambda.count)
			kc_engine_succeed(&shape->successor->engine, &shape->engine);
	}
	return 0;
}

void kc__early_learn(const struct kc__recorded *recorded, struct kc__subject *subject, struct kc__replay_shape *shape)
{
	const struct kc__counted *counted = shape->first ? first_counted(recorded, shape->first->shape) : NULL;
	struct kc_work work = shape->engine.work;
	struct kc_curve_point size;

	if (!counted || !shape->code->formula || shape->early_ns <= 0 ||
	    kc_work_count(&work, &shape->on->info, &counted->counts, &size))
		return;
	kc_engine_learn_size(kc__subject_engine(subject), shape->engine.key, &work, &size, shape->early_ns);
	shape->early_ns = 0;
}
