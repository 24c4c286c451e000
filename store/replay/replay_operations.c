#include "replay_internal.h"

#include <errno.h>
#include <stdlib.h>

/* What becomes known */

static int64_t measured_ns(const struct kc__op *op)
{
	return op->end_ns - op->start_ns;
}

/* Where the formula was ready only after the launch, what it teaches goes to the variant with its arguments. Those of
 * the first launch of a shape are known; later ones may have had others, where any matter. */
static struct kc_engine_variant *variant_of(const struct kc__op *op)
{
	struct kc__replay_shape *shape = op->of;

	return &(shape->successor && (!shape->first_alone || shape->first == op) ? shape->successor : shape)->engine;
}

void kc__replay_decided(const struct kc_span *span, void *arg)
{
	struct kc__op *op = span->owner;
	struct kc__replay_state *r = arg;

	/* What it met may have been left out of the recording, or not measured (kc__windows_unclear()); beside which
	 * launches graphs ran that were measured as one, the recording says. */
	if (((r->chosen || (r->graphs_whole && !r->as_recorded)) && op->overlap != KC_OVERLAP_NONE) ||
	    (r->as_recorded && op->overlap == KC_OVERLAP_UNKNOWN))
		op->met = KC_OVERLAP_UNKNOWN;
	if (op->of->unpredictable == KC_PREDICTED)
		kc_engine_decided(kc__knowledge_engine(r->knowledge), variant_of(op), &op->kept, op->met, &span->met,
				  measured_ns(op));
	kc_engine_event(kc__knowledge_engine(r->knowledge));
}

static int learn_measured(struct kc__replay_state *r, struct kc__op *op)
{
	int64_t ns = measured_ns(op);

	kc_engine_measured(kc__knowledge_engine(r->knowledge), variant_of(op), &op->kept, ns);
	kc_engine_event(kc__knowledge_engine(r->knowledge));
	return ns > 0 && r->observer ? r->observer->measured(r->observer->arg, op->of->launched, ns) : 0;
}

static int measured_launch(struct kc__replay_state *r, struct kc__op *op)
{
	struct kc__used_device *device = op->at->device;
	struct kc_span span = {
	    .start_ns = op->start_ns,
	    .end_ns = op->end_ns,
	    .since_ns = r->now_ns,
	    .order = (uint64_t)(op - r->ops.at),
	    .overlap = &op->met,
	    .owner = op,
	};
	int rc;

	if (op->of->unpredictable == KC_PREDICTED) {
		rc = learn_measured(r, op);
		if (rc)
			return rc;
		span.load = kc_engine_load(variant_of(op), op->kept.solo_ns);
	}
	kc_awaited_resolve(&op->at->awaited, op->start_ns, op->end_ns, op->beside, 0);
	rc = kc_spans_add(&device->spans, &span);
	if (rc != -ENOBUFS)
		return rc;
	kc_spans_drop(&device->spans, &span);
	if (!r->as_recorded) /* else an event says when */
		kc__replay_decided(&span, r);
	return 0;
}

int kc__replay_measured(struct kc__replay_state *r, struct kc__op *op)
{
	struct kc__used_device *device = op->at->device;

	if (op->ticket) {
		kc_timeline_measured(device->timeline, op->at->lane, op->ticket, op->start_ns, op->end_ns);
		if (device->plain)
			kc_timeline_measured(device->plain, op->at->lane, op->plain_ticket, op->start_ns, op->end_ns);
	}
	if (op->kind == KC__OP_LAUNCH)
		return measured_launch(r, op);
	if (op->kind == KC__OP_STREAM_CALL) /* of a graph that was measured as one nothing is learned */
		return 0;
	kc_engine_copy_measured(&device->on->engine, op->transfer_kind, op->bytes, measured_ns(op));
	return 0;
}

/* Predicting */

int kc__never_awaited(const struct kc__op *op)
{
	return op->unmeasured == KC_CALL_FAILED || op->unmeasured == KC_MEASURE_OFF || op->unmeasured == KC_NO_CUPTI ||
	       op->unmeasured == KC_PROFILER_BUSY || op->unmeasured == KC_NO_CORRELATION ||
	       op->unmeasured == KC_AFTER_EXIT || op->unmeasured == KC_KNOWN_WELL || op->unmeasured == KC_IN_GRAPH;
}

void kc__replay_keep_said(const struct kc__recorded_op *recorded, struct kc_engine_launch *kept)
{
	if (recorded->said.solo_ns <= 0)
		return;
	kept->solo_ns = recorded->said.solo_ns;
	kept->slowdown = (float)((double)recorded->said.span_ns / (double)recorded->said.solo_ns);
	kept->solo_low_ns = recorded->said.low_ns;
	kept->solo_high_ns = recorded->said.high_ns;
}

static void cancel(const struct kc__op *op)
{
	kc_timeline_cancel(op->at->device->timeline, op->at->lane, op->ticket);
	if (op->at->device->plain)
		kc_timeline_cancel(op->at->device->plain, op->at->lane, op->plain_ticket);
}

static int failed_at_once(const struct kc__op *op)
{
	return op->unmeasured == KC_CALL_FAILED && !op->cancelled;
}

void kc__replay_plainly(struct kc__op *op, int64_t now_ns, int64_t ns, struct kc_placement *out)
{
	struct kc_timeline *plain = op->at->device->plain;

	if (!plain)
		return;
	kc_timeline_occupy(plain, op->at->lane, now_ns, ns, out);
	op->plain_ticket = out->ticket;
}

static void predict(struct kc__replay_state *r, struct kc__op *op, struct kc__replay_prediction *prediction)
{
	struct kc__used_device *device = op->at->device;
	const struct kc_engine_stage stage = {device->timeline, &device->history,
					      r->as_recorded ? device->answers : NULL};
	int64_t now_ns = r->as_recorded ? kc__recorded_of(&r->ops, op)->predicted_at_ns : op->issued_ns;
	struct kc_prediction_request prospect;

	kc_engine_ask(kc__knowledge_engine(r->knowledge), &op->of->engine, stage.answers, &prospect);
	if (op->unmeasured == KC_KNOWN_WELL)
		prospect.outstanding = NULL;
	kc_engine_predict(&prospect, &stage, op->at->lane, now_ns, &prediction->by_engine, &op->kept);
	kc__replay_plainly(op, now_ns, prediction->by_engine.solo_ns, &prediction->plain);
	op->ticket = prediction->by_engine.placement.ticket;
	prediction->novelty = prospect.novelty;
	prediction->kept = op->kept;
	if (failed_at_once(op))
		cancel(op);
	if (r->as_recorded)
		kc__replay_keep_said(kc__recorded_of(&r->ops, op), &op->kept);
}

const char *kc__replay_given(const struct kc__replay_state *r, int64_t arguments)
{
	return r->arguments.at[kc_ids_find(&r->arguments.ids, arguments)];
}

static int was_kept(const struct kc__replay_state *r, const struct kc__replay_shape *shape, const struct kc__op *op)
{
	return shape->code && !shape->code->formula && !op->not_kept && !kc__replay_given(r, op->arguments) &&
	       kc__recorded_of(&r->ops, op)->said.solo_ns > 0;
}

void kc__replay_note_kept(const struct kc__replay_state *r, struct kc__replay_shape *shape, const struct kc__op *op)
{
	if (shape->kept_row || !was_kept(r, shape, op))
		return;
	shape->kept_row = op->shape;
	shape->next_kept = shape->code->kept;
	shape->code->kept = shape;
}

void kc__replay_note_early(const struct kc__replay_state *r, struct kc__replay_shape *shape, const struct kc__op *op)
{
	kc__replay_note_kept(r, shape, op);
	if (shape->first || !was_kept(r, shape, op))
		return;
	shape->first = op;
	shape->next_early = shape->code->early;
	shape->code->early = shape;
}

struct kc__replay_shape *kc__replay_shape_of(struct kc__replay_state *r, const struct kc__op *op)
{
	const char *arguments = kc__replay_given(r, op->arguments);
	const struct kc_counts *counts =
	    r->as_recorded ? kc__counted_work_find(&r->work, op->shape, op->arguments) : NULL;
	struct kc__replay_shape *shape = arguments ? NULL : kc__knowledge_shape(r->knowledge, op->shape, NULL, NULL);

	if (shape && shape->code &&
	    (kc_ids_find(&r->read, kc__read_key(shape->kernel, shape->device)) ||
	     kc_ids_find(&r->read, kc__read_key(shape->kernel, 0))))
		shape->code->formula = 1;
	if (arguments)
		return kc__knowledge_shape(r->knowledge, op->shape, arguments, counts);
	if (shape && shape->code && shape->code->formula && counts) /* no argument matters to its work */
		return kc__knowledge_shape(r->knowledge, op->shape, "", counts);
	return shape;
}

void kc__replay_await(struct kc__op *op)
{
	if (kc__never_awaited(op))
		return;
	/* A recording does not say which launches may run beside the one before in their stream: those that did. */
	op->beside = op->start_ns < op->at->end_ns ? KC_BESIDE_PREVIOUS : KC_IN_ORDER;
	if (op->end_ns > op->at->end_ns)
		op->at->end_ns = op->end_ns;
	kc_awaited_add(&op->at->awaited, op->issued_ns, op->beside);
}

static int replay_launch(struct kc__replay_state *r, struct kc__op *op)
{
	struct kc__replay_prediction prediction = {.unpredictable = KC_NO_ATTRIBUTES};

	op->of = kc__replay_shape_of(r, op);
	if (op->of && r->as_recorded)
		kc__replay_note_early(r, op->of, op);
	op->at = op->of ? kc__used_devices_stream(&r->used, op, op->of->device) : NULL;
	if (op->at)
		prediction.unpredictable = op->of->unpredictable;
	if (prediction.unpredictable == KC_PREDICTED)
		predict(r, op, &prediction);
	if (op->at)
		kc__replay_await(op);
	return r->observer ? r->observer->predicted(r->observer->arg, op, &prediction) : 0;
}

static int replay_transfer(struct kc__replay_state *r, struct kc__op *op)
{
	struct kc_placement placement;
	enum kc_copy_route route;
	int64_t ns;

	op->at = kc__used_devices_stream(&r->used, op, op->device);
	if (!op->at)
		return 0;
	route = kc_transfer_route(op->transfer_kind);
	ns = kc_engine_copy_ns(&op->at->device->on->engine, op->transfer_kind, route, op->bytes);
	kc_timeline_copy(op->at->device->timeline, op->at->lane, op->issued_ns, route, ns, &placement);
	op->ticket = placement.ticket;
	kc__replay_plainly(op, op->issued_ns, ns, &placement);
	if (failed_at_once(op))
		cancel(op);
	return 0;
}

static void device_idle(struct kc__replay_state *r, const struct kc__op *op)
{
	for (uint32_t i = 0; i < r->used.count; i++) {
		struct kc__used_device *device = &r->used.at[i];

		if (device->row == op->device) {
			kc_timeline_device_idle(device->timeline, op->issued_ns);
			if (device->plain)
				kc_timeline_device_idle(device->plain, op->issued_ns);
		}
	}
}

static void call_on(struct kc_timeline *tl, const struct kc__op *op)
{
	struct kc_placement placement;
	uint32_t lane = op->at->lane;

	switch (op->call) {
	case KC_CALL_STREAM_IDLE:
		kc_timeline_stream_idle(tl, lane, op->issued_ns);
		break;
	case KC_CALL_OCCUPY:
		kc_timeline_occupy(tl, lane, op->issued_ns, op->ns, &placement);
		break;
	case KC_CALL_WAIT:
		kc_timeline_wait(tl, lane, op->ns);
		break;
	case KC_CALL_DESTROY:
		kc_timeline_stream_gone(tl, lane);
		break;
	default:
		break;
	}
}

static int replay_stream_call(struct kc__replay_state *r, struct kc__op *op)
{
	if (op->call == KC_CALL_CANCEL) {
		const struct kc__op *cancelled = kc__recorded_of(&r->ops, op)->cancels;

		if (cancelled && cancelled->ticket)
			cancel(cancelled);
		return 0;
	}
	if (!op->stream) {
		device_idle(r, op);
		return 0;
	}
	op->at = kc__used_devices_stream(&r->used, op, op->device);
	if (op->at) {
		call_on(op->at->device->timeline, op);
		if (op->at->device->plain)
			call_on(op->at->device->plain, op);
	}
	return 0;
}

int kc__replay_op(struct kc__replay_state *r, struct kc__op *op)
{
	switch (op->kind) {
	case KC__OP_LAUNCH:
		return replay_launch(r, op);
	case KC__OP_TRANSFER:
		return replay_transfer(r, op);
	default:
		return replay_stream_call(r, op);
	}
}

/* Parts of processes */

int kc__replay_load_rest(struct kc__replay_state *r, int64_t process)
{
	int rc = kc__arguments_load(&r->loader, process, &r->ops, &r->work, &r->arguments);

	if (rc == 0)
		rc = kc__shortfall_load(&r->loader, process, &r->chosen, &r->incomplete, &r->graphs_whole);
	return rc == 0 && r->ops.count > UINT32_MAX ? -EFBIG : rc;
}

int kc__replay_end(struct kc__replay_state *r, int rc)
{
	kc__used_devices_leave(&r->used);
	return rc ? rc : kc__knowledge_error(r->knowledge);
}

void kc__replay_use(struct kc__replay_state *r, struct kc__replay_knowledge *knowledge)
{
	r->knowledge = r->used.knowledge = knowledge;
}

struct kc__replay_state *kc__replay_new(struct kc_store *s, const struct kc__replay_observer *observer)
{
	struct kc__replay_state *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->loader.store = s;
	r->observer = observer;
	r->used.loader = &r->loader;
	return r;
}

void kc__replay_free(struct kc__replay_state *r)
{
	if (!r)
		return;
	kc__used_devices_free(&r->used);
	kc__loader_close(&r->loader);
	kc__argument_texts_free(&r->arguments);
	kc__counted_work_free(&r->work);
	kc_ids_free(&r->read);
	free(r->pending.at);
	kc__ops_free(&r->ops);
	free(r);
}

struct shape_arguments {   /* of the launches of a shape */
	int64_t arguments; /* 0: none so far */
	int differs;
};

static int find_common_arguments(const struct kc__ops *ops, struct kc_ids *shapes, struct shape_arguments *common)
{
	for (size_t i = 0; i < ops->count; i++) {
		const struct kc__op *op = &ops->at[i];
		uint32_t shape;

		if (op->kind != KC__OP_LAUNCH || !op->shape || !op->arguments)
			continue;
		shape = kc_ids_number(shapes, op->shape);
		if (!shape)
			return -ENOMEM;
		common[shape].differs |= common[shape].arguments && common[shape].arguments != op->arguments;
		common[shape].arguments = op->arguments;
	}
	return 0;
}

/* The first launches of a kernel were recorded without arguments, because its code had not been read. Where all later
 * launches of the shape had the same arguments, these are taken to have had them, too. */
static int complete_arguments(struct kc__ops *ops)
{
	struct shape_arguments *common = calloc(ops->count + 1, sizeof(*common));
	struct kc_ids shapes = {0};
	int rc = common ? find_common_arguments(ops, &shapes, common) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < ops->count; i++) {
		struct kc__op *op = &ops->at[i];
		const struct shape_arguments *of;

		if (op->kind != KC__OP_LAUNCH || op->arguments)
			continue;
		of = &common[kc_ids_find(&shapes, op->shape)];
		if (!of->differs)
			op->arguments = of->arguments;
	}
	kc_ids_free(&shapes);
	free(common);
	return rc;
}

/* These operations are only learned from, so arguments that became known later may be used, too. */
static int teach(struct kc__replay_state *r, const struct kc__part *part)
{
	int rc = kc__ops_load(&r->loader, part, 0, &r->ops);

	if (rc == 0)
		rc = complete_arguments(&r->ops);
	if (rc == 0)
		rc = kc__replay_load_rest(r, part->process);
	if (rc || !r->ops.count)
		return rc;
	kc__used_devices_begin(&r->used, part->first_sequence > 0);
	rc = kc__replay_by_delay(r, &(const struct kc_replay_delay){0});
	return kc__replay_end(r, rc);
}

int kc__replay_parts(struct kc_store *s, const struct kc__part *parts, size_t count, struct kc__replay_knowledge **out)
{
	struct kc__replay_state *r = kc__replay_new(s, NULL);
	struct kc__replay_knowledge *knowledge = kc__knowledge_new(s, NULL, NULL);
	int rc = r && knowledge ? 0 : -ENOMEM;

	*out = NULL;
	if (rc == 0)
		kc__replay_use(r, knowledge);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = teach(r, &parts[i]);
	if (rc == 0)
		rc = kc__within(s);
	kc__replay_free(r);
	if (rc) {
		kc__knowledge_free(knowledge);
		return rc;
	}
	kc__knowledge_leave(knowledge);
	*out = knowledge;
	return 0;
}
