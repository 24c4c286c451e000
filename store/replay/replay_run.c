#include "replay_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HELD_NS 2000000000ll /* let go without waiting any longer, as live */

struct replay {
	struct kc__loader loader;
	const struct kc_replay_options *options;
	struct kc__subject *subject;
	struct kc__figures *figures;
	struct kc_replay *out;
	struct kc__ops ops;         /* of the process */
	struct kc__texts arguments; /* likewise */
	struct kc__sites sites;
	struct kc__pending pending;
	struct kc__recorded recorded;
	int64_t now_ns;
};

/* What becomes known */

static int64_t measured_ns(const struct kc__op *op)
{
	return op->end_ns - op->start_ns;
}

/* What a launch is told by now. */
static struct kc_engine_variant *variant_of(const struct kc__op *op)
{
	return &(op->of->successor ? op->of->successor : op->of)->engine;
}

static void decided(const struct kc_span *span, void *arg)
{
	struct kc__op *op = span->owner;
	struct replay *r = arg;

	if (op->of->unpredictable == KC_PREDICTED)
		kc_engine_decided(kc__subject_engine(r->subject), variant_of(op), &op->kept, op->met, &span->met,
				  measured_ns(op));
}

/* Nothing still awaited on this device can have started before. */
static int64_t watermark_ns(const struct kc__replay_site *site, int64_t now_ns)
{
	int64_t least = now_ns;

	for (uint32_t i = 0; i < site->stream_count; i++) {
		const struct kc_awaited *a = &site->streams[i]->awaited;

		if (a->count && a->bound_ns < least)
			least = a->bound_ns;
	}
	return least;
}

static int learn_measured(struct replay *r, struct kc__op *op)
{
	kc_engine_measured(kc__subject_engine(r->subject), variant_of(op), &op->kept, measured_ns(op));
	return measured_ns(op) > 0 ? kc__past_add(&op->of->launched->past, measured_ns(op)) : 0;
}

static int measured_launch(struct replay *r, struct kc__op *op)
{
	struct kc__replay_site *site = op->at->site;
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
	kc_awaited_resolve(&op->at->awaited, op->end_ns);
	rc = kc_spans_add(&site->spans, &span);
	if (rc != -ENOBUFS)
		return rc;
	kc_spans_let_go(&site->spans, &span);
	decided(&span, r);
	return 0;
}

static int measured(struct replay *r, struct kc__op *op)
{
	struct kc__replay_site *site = op->at->site;

	if (op->ticket) {
		kc_timeline_measured(site->timeline, op->at->lane, op->ticket, op->start_ns, op->end_ns);
		kc_timeline_measured(site->plain, op->at->lane, op->plain_ticket, op->start_ns, op->end_ns);
	}
	if (op->kind == KC__OP_LAUNCH)
		return measured_launch(r, op);
	kc_engine_copy_measured(&site->on->engine, op->transfer_kind, op->bytes, measured_ns(op));
	return 0;
}

/* All that became known before now. */
static int reveal(struct replay *r, int64_t now_ns)
{
	int rc = 0;

	r->now_ns = now_ns;
	while (rc == 0 && r->pending.count && r->pending.at[0].known_ns < now_ns)
		rc = measured(r, &r->ops.at[kc__pending_pop(&r->pending)]);
	for (uint32_t i = 0; i < r->sites.count; i++) {
		struct kc__replay_site *site = &r->sites.at[i];

		if (site->spans.count)
			kc_spans_decide(&site->spans, watermark_ns(site, now_ns), now_ns - HELD_NS, decided, r);
	}
	return rc;
}

/* The process is over: everything is known. */
static int reveal_all(struct replay *r)
{
	int rc = 0;

	r->now_ns = INT64_MAX;
	while (rc == 0 && r->pending.count)
		rc = measured(r, &r->ops.at[kc__pending_pop(&r->pending)]);
	for (uint32_t i = 0; i < r->sites.count; i++)
		kc_spans_decide(&r->sites.at[i].spans, INT64_MAX, INT64_MIN, decided, r);
	return rc;
}

/* Predicting */

/* 1: it was clear at the call that no measurement would come. */
static int never_awaited(const struct kc__op *op)
{
	return op->unmeasured == KC_CALL_FAILED || op->unmeasured == KC_MEASURE_OFF || op->unmeasured == KC_NO_CUPTI ||
	       op->unmeasured == KC_PROFILER_BUSY || op->unmeasured == KC_NO_CORRELATION ||
	       op->unmeasured == KC_AFTER_EXIT;
}

/* What each model alone would have said. */
static void note_models(struct kc_replay_launch *l, const struct kc__replay_shape *shape, const struct kc_prediction *p,
			float slowdown)
{
	const struct kc_candidates *c = &p->candidates;

	for (uint32_t i = 0; i < KC_CANDIDATES; i++) {
		float factor = i == KC_CANDIDATE_CONTEXT ? 1 : slowdown;

		if (c->present & 1u << i)
			l->said_ns[i] = (int64_t)(expf(c->log_ns[i]) * factor + 0.5f);
	}
	kc__past_look(&shape->launched->past, l);
}

static void note_prediction(struct kc_replay_launch *l, const struct kc__op *op, const struct kc_prediction *p)
{
	l->solo_ns = p->solo_ns;
	l->solo_low_ns = p->solo_low_ns;
	l->solo_high_ns = p->solo_high_ns;
	l->low_ns = op->kept.low_ns;
	l->high_ns = op->kept.high_ns;
	l->model = p->model;
	l->start_ns = p->placement.start_ns;
	l->end_ns = p->placement.end_ns;
	l->slowdown = (double)p->placement.slowdown;
	l->slowdown_waves = (double)p->placement.slowdown_waves;
	l->concurrency_case = p->placement.concurrency_case;
}

/* What the run learned from a launch depended on what it had predicted itself. */
static void keep_what_was_said(struct kc__op *op)
{
	if (op->said.solo_ns <= 0)
		return;
	op->kept.solo_ns = op->said.solo_ns;
	op->kept.slowdown = (float)((double)op->said.span_ns / (double)op->said.solo_ns);
	kc_engine_interval(op->said.low_ns, op->said.high_ns, op->kept.slowdown, &op->kept);
}

static void predict(struct replay *r, struct kc__op *op, struct kc_replay_launch *l, struct kc_placement *plain)
{
	struct kc__replay_site *site = op->at->site;
	const struct kc_engine_stage stage = {site->timeline, &site->history, r->recorded.on ? site->answers : NULL};
	int64_t now_ns = r->recorded.on ? op->predicted_at_ns : op->issued_ns;
	struct kc_prospect prospect;
	struct kc_prediction p;

	kc_engine_ask(kc__subject_engine(r->subject), &op->of->engine, stage.answers, &prospect);
	kc_engine_predict(&prospect, &stage, op->at->lane, now_ns, &p, &op->kept);
	kc_timeline_occupy(site->plain, op->at->lane, now_ns, p.solo_ns, plain);
	if (op->unmeasured == KC_CALL_FAILED) {
		kc_timeline_cancel(site->timeline, op->at->lane, p.placement.ticket);
		kc_timeline_cancel(site->plain, op->at->lane, plain->ticket);
	}
	op->ticket = p.placement.ticket;
	op->plain_ticket = plain->ticket;
	l->novelty = prospect.novelty;
	note_prediction(l, op, &p);
	note_models(l, op->of, &p, op->kept.contended);
	if (r->recorded.on)
		keep_what_was_said(op);
}

static void count(struct replay *r, const struct kc_replay_launch *l)
{
	r->out->launches++;
	r->out->predicted += !l->unpredictable;
	r->out->measured += l->measured_end_ns != 0;
	r->out->excluded += l->excluded != 0;
	if (l->unpredictable)
		r->out->unpredictable[l->unpredictable]++;
}

static const char *given(const struct replay *r, const struct kc__op *op)
{
	return r->arguments.at[kc_ids_find(&r->arguments.ids, op->arguments)];
}

static void count_assumed(struct kc_replay *out, const struct kc__replay_device *device)
{
	out->assumed_device++;
	if (!device->called[0])
		out->assumed_nameless++;
	else if (!out->unknown_name[0])
		snprintf(out->unknown_name, sizeof(out->unknown_name), "%s", device->called);
}

/* The launch shape with its arguments; of a run that is replayed as it was recorded, with the work that was counted. */
static struct kc__replay_shape *shape_of(struct replay *r, struct kc__op *op)
{
	const char *arguments = given(r, op);
	const struct kc_counts *counts =
	    r->recorded.on ? kc__work_find(&r->recorded.work, op->shape, op->arguments) : NULL;
	struct kc__replay_shape *shape = arguments ? NULL : kc__subject_shape(r->subject, op->shape, NULL, NULL);

	if (arguments)
		return kc__subject_shape(r->subject, op->shape, arguments, counts);
	if (shape && shape->code && shape->code->formula && counts) /* no argument matters to its work */
		return kc__subject_shape(r->subject, op->shape, "", counts);
	if (shape && shape->code && r->recorded.on)
		kc__early_note(shape, op);
	return shape;
}

static int replay_launch(struct replay *r, struct kc__op *op)
{
	struct kc_replay_launch l = {
	    .process = op->process,
	    .sequence = op->sequence,
	    .shape = op->shape,
	    .stream = op->stream,
	    .launched_ns = op->issued_ns,
	    .measured_start_ns = op->start_ns,
	    .measured_end_ns = op->end_ns,
	    .overlap = op->overlap,
	    .unpredictable = KC_NO_ATTRIBUTES,
	};
	struct kc_placement plain = {0};
	int rc = 0;

	op->of = shape_of(r, op);
	op->at = op->of ? kc__sites_stream(&r->sites, op, op->of->device) : NULL;
	if (op->of) {
		l.kernel = op->of->kernel;
		l.excluded = op->of->code && op->of->code->excluded;
		l.unpredictable = op->at ? op->of->unpredictable : KC_NO_ATTRIBUTES;
		if (op->at && op->of->on && op->of->on->assumed && !op->of->on->impossible)
			count_assumed(r->out, op->of->on);
	}
	/* A duration of 0 is shorter than the profiler's clock can tell: no error is relative to it. */
	l.excluded |= op->end_ns && (op->end_ns == op->start_ns || op->end_ns - op->start_ns < r->options->at_least_ns);
	if (!l.unpredictable)
		predict(r, op, &l, &plain);
	if (op->at && !never_awaited(op))
		kc_awaited_add(&op->at->awaited, op->issued_ns);
	count(r, &l);
	if (r->figures)
		rc = kc__figures_add(r->figures, &l, op->of ? op->of->device : 0, &plain);
	if (rc == 0 && r->options->launch)
		rc = r->options->launch(&l, r->options->arg);
	return rc;
}

static int replay_transfer(struct replay *r, struct kc__op *op)
{
	struct kc_placement placement;
	enum kc_copy_route route;
	int64_t ns;

	op->at = kc__sites_stream(&r->sites, op, op->device);
	if (!op->at || op->unmeasured == KC_CALL_FAILED)
		return 0;
	route = kc_transfer_route(op->transfer_kind);
	ns = kc_engine_copy_ns(&op->at->site->on->engine, op->transfer_kind, route, op->bytes);
	kc_timeline_copy(op->at->site->timeline, op->at->lane, op->issued_ns, route, ns, &placement);
	op->ticket = placement.ticket;
	kc_timeline_occupy(op->at->site->plain, op->at->lane, op->issued_ns, ns, &placement);
	op->plain_ticket = placement.ticket;
	return 0;
}

static void device_idle(struct replay *r, const struct kc__op *op)
{
	for (uint32_t i = 0; i < r->sites.count; i++) {
		struct kc__replay_site *site = &r->sites.at[i];

		if (site->device == op->device) {
			kc_timeline_device_idle(site->timeline, op->issued_ns);
			kc_timeline_device_idle(site->plain, op->issued_ns);
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

static int replay_stream_call(struct replay *r, struct kc__op *op)
{
	if (!op->stream) {
		device_idle(r, op);
		return 0;
	}
	op->at = kc__sites_stream(&r->sites, op, op->device);
	if (op->at) {
		call_on(op->at->site->timeline, op);
		call_on(op->at->site->plain, op);
	}
	return 0;
}

static int replay_op(struct replay *r, struct kc__op *op)
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

/* As it was recorded: what was known is what had come by then */

static void decided_event(struct replay *r, struct kc__op *op)
{
	struct kc_span span = {.owner = op};

	if (!op->of)
		return;
	op->met = op->overlap;
	if (op->met == KC_OVERLAP_NONE && op->of->first == op) {
		op->of->early_ns = measured_ns(op);
		kc__early_learn(&r->recorded, r->subject, op->of);
	}
	if (op->at)
		kc_spans_take(&op->at->site->spans, op, &span);
	decided(&span, r);
}

static const char *text_of(void *arg, int64_t arguments)
{
	const struct replay *r = arg;

	return r->arguments.at[kc_ids_find(&r->arguments.ids, arguments)];
}

static int other_event(struct replay *r, const struct kc__recorded_event *event)
{
	struct kc__replay_kernel *kernel = NULL;
	int rc = 0;

	for (size_t i = 0; i < r->ops.count && !kernel; i++) {
		const struct kc__replay_shape *shape = r->ops.at[i].of;

		kernel = shape && shape->code && shape->kernel == event->kernel ? shape->code : NULL;
	}
	if (!kernel)
		return 0;
	if (event->kind == KC_EVENT_FORMULA)
		rc = kc__formula_ready(&r->recorded, r->subject, kernel, text_of, r);
	for (struct kc__replay_shape *s = kernel->early; s && event->kind == KC_EVENT_SIZE; s = s->next_early)
		kc__early_learn(&r->recorded, r->subject, s);
	return rc;
}

static int take_in(struct replay *r, const struct kc__due *due)
{
	struct kc__op *op = &r->ops.at[due->index];

	if (due->kind == KC__DUE_EVENT)
		return other_event(r, &r->recorded.events.at[due->index]);
	if (!op->at)
		return 0;
	if (due->kind == KC__DUE_MEASURED)
		return measured(r, op);
	decided_event(r, op);
	return 0;
}

static int replay_recorded(struct replay *r)
{
	const struct kc__due *due;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->ops.count; i++) {
		struct kc__op *op = &r->ops.at[r->recorded.order[i]];

		while (rc == 0 && (due = kc__recorded_next(&r->recorded, op->known)))
			rc = take_in(r, due);
		if (rc == 0)
			rc = replay_op(r, op);
	}
	while (rc == 0 && (due = kc__recorded_next(&r->recorded, UINT64_MAX)))
		rc = take_in(r, due);
	return rc;
}

static int replay_ops(struct replay *r)
{
	int rc = kc__delays_set(&r->ops, &r->options->delay);

	for (uint32_t i = 0; rc == 0 && i < r->ops.count; i++) {
		struct kc__op *op = &r->ops.at[i];

		rc = reveal(r, op->issued_ns);
		if (rc == 0)
			rc = replay_op(r, op);
		if (rc == 0 && op->at && op->end_ns && !never_awaited(op))
			rc = kc__pending_push(&r->pending, op->known_ns, i);
	}
	return rc ? rc : reveal_all(r);
}

/* Processes */

static double processor_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A process that began before others had ended cannot have known what they taught. */
static int must_forget(int64_t *latest_unix_ns, const struct kc_replay_options *options, sqlite3_stmt *row)
{
	int64_t began_unix_ns = sqlite3_column_int64(row, 1), ended_unix_ns = sqlite3_column_int64(row, 2);
	int forget = began_unix_ns < *latest_unix_ns;

	if (options->fresh || sqlite3_column_int(row, 3))
		return options->fresh;
	if (sqlite3_column_type(row, 2) == SQLITE_NULL) /* killed, or still running: nobody knows when it ended */
		ended_unix_ns = INT64_MAX;
	if (forget || ended_unix_ns > *latest_unix_ns)
		*latest_unix_ns = ended_unix_ns;
	return forget;
}

struct walk {
	struct replay *replay;
	int64_t latest_unix_ns; /* until which the processes so far lived */
};

struct given {             /* to launches of a shape */
	int64_t arguments; /* 0: none so far */
	int differs;
};

static int find_given(const struct kc__ops *ops, struct kc_ids *shapes, struct given *given)
{
	for (size_t i = 0; i < ops->count; i++) {
		const struct kc__op *op = &ops->at[i];
		uint32_t shape = op->shape && op->arguments ? kc_ids_number(shapes, op->shape) : 0;

		if (!op->shape || !op->arguments)
			continue;
		if (!shape)
			return -ENOMEM;
		given[shape].differs |= given[shape].arguments && given[shape].arguments != op->arguments;
		given[shape].arguments = op->arguments;
	}
	return 0;
}

/* The first launches of a kernel have no arguments: its code had not been read. Where all
 * later ones of the shape had the same, they are taken to have had them, too. */
static int complete_arguments(struct kc__ops *ops)
{
	struct given *given = calloc(ops->count + 1, sizeof(*given));
	struct kc_ids shapes = {0};
	int rc = given ? find_given(ops, &shapes, given) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < ops->count; i++) {
		struct kc__op *op = &ops->at[i];
		const struct given *of = &given[kc_ids_find(&shapes, op->shape)];

		if (!op->arguments && !of->differs)
			op->arguments = of->arguments;
	}
	kc_ids_free(&shapes);
	free(given);
	return rc;
}

static int load_part(struct replay *r, const struct kc__part *part)
{
	int rc = kc__ops_load(&r->loader, part, &r->ops);

	r->recorded.on = 0;
	if (rc == 0 && !r->figures)
		rc = complete_arguments(&r->ops);
	if (rc == 0 && r->options->as_recorded)
		rc = kc__recorded_load(&r->recorded, &r->loader, part->process, &r->ops);
	if (rc == 0)
		rc = kc__arguments_load(&r->loader, part->process, &r->ops, &r->recorded.work, &r->arguments);
	if (rc == 0 && r->ops.count > UINT32_MAX)
		rc = -EFBIG;
	return rc;
}

/* forget: what processes before this one taught is not known to it. */
static int replay_loaded(struct replay *r, const struct kc__part *part, int forget)
{
	int rc;

	if (r->figures)
		kc__figures_begin(r->figures, forget, r->ops.at[0].issued_ns);
	kc__sites_begin(&r->sites, part->first_sequence > 0);
	r->sites.answering = r->recorded.on;
	rc = r->recorded.on ? kc__sites_recorded(&r->sites, part->process) : 0;
	if (rc == 0)
		rc = r->recorded.on ? replay_recorded(r) : replay_ops(r);
	if (rc == 0)
		rc = kc__subject_error(r->subject);
	if (r->figures)
		kc__figures_close(r->figures);
	kc__sites_leave(&r->sites);
	return rc;
}

/* It begins with what it had loaded, whatever other processes of the database have taught since. */
static int replay_with_own_past(struct replay *r, const struct kc__part *part)
{
	struct kc__subject *shared = r->subject;
	struct kc_past *past = NULL;
	char why[128];
	int rc;

	r->subject = r->sites.subject = kc__subject_new(r->loader.store, r->options, why, sizeof(why));
	rc = r->subject ? kc__past_of(r->loader.store, &r->recorded.parts, &past) : -ENOMEM;
	if (rc == 0) {
		kc__subject_recall(r->subject, past);
		rc = replay_loaded(r, part, 1);
	}
	r->out->as_recorded += r->ops.count;
	kc__subject_free(r->subject);
	kc_past_free(past);
	r->subject = r->sites.subject = shared;
	return rc;
}

static int replay_part(struct replay *r, const struct kc__part *part, int forget)
{
	int rc = load_part(r, part);

	if (rc == 0 && r->ops.count && r->recorded.on) {
		rc = replay_with_own_past(r, part);
	} else if (rc == 0 && r->ops.count) {
		if (forget)
			kc__subject_forget(r->subject);
		rc = replay_loaded(r, part, forget);
	}
	kc__recorded_leave(&r->recorded);
	return rc;
}

static int replay_process(sqlite3_stmt *row, void *arg)
{
	struct walk *walk = arg;
	struct kc__part whole = {sqlite3_column_int64(row, 0), 0, KC_SEQUENCE_MASK};

	return replay_part(walk->replay, &whole, must_forget(&walk->latest_unix_ns, walk->replay->options, row));
}

static int replay_all(struct replay *r)
{
	struct walk walk = {.replay = r};
	double began_s = processor_seconds();
	int rc = kc__select(r->loader.store, &r->options->selection,
			    "SELECT id, started_unix_ns, started_unix_ns + (ended_ns - started_ns), source NOT NULL"
			    " FROM process WHERE run BETWEEN ?1 AND ?2"
			    " ORDER BY source NOT NULL, CASE WHEN source IS NULL THEN started_unix_ns END, id",
			    replay_process, &walk);

	r->out->seconds = processor_seconds() - began_s;
	return rc ? rc : kc__figures_finish(r->figures, r->loader.store, r->out);
}

static void free_state(struct replay *r)
{
	kc__sites_leave(&r->sites);
	kc__sites_free(&r->sites);
	kc__loader_close(&r->loader);
	kc__texts_free(&r->arguments);
	free(r->pending.at);
	free(r->ops.at);
	kc__figures_free(r->figures);
	kc__subject_free(r->subject);
	free(r);
}

int kc__replay_parts(struct kc_store *s, const struct kc_replay_options *options, const struct kc__part *parts,
		     size_t count, struct kc__subject **subject)
{
	struct replay *r = calloc(1, sizeof(*r));
	struct kc_replay counts = {0};
	char why[1];
	int rc = 0;

	*subject = NULL;
	if (!r)
		return -ENOMEM;
	r->loader.store = s;
	r->options = options;
	r->out = &counts;
	r->subject = kc__subject_new(s, options, why, sizeof(why));
	r->sites = (struct kc__sites){.loader = &r->loader, .subject = r->subject};
	if (!r->subject)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = replay_part(r, &parts[i], 0);
	if (rc == 0) {
		*subject = r->subject;
		kc__subject_leave(*subject);
		r->subject = NULL;
	}
	free_state(r);
	return rc;
}

void kc_replay_free(struct kc_replay *replay)
{
	if (!replay)
		return;
	kc_report_free(replay->report);
	free(replay);
}

int kc_replay_knows_devices(struct kc_store *s, const struct kc_selection *selection, char *names, size_t size)
{
	struct kc_device_row *devices = NULL;
	size_t count = 0, used = 0;
	int rc = kc__query_devices_of(s, selection, &devices, &count);

	names[0] = '\0';
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (!kc__device_is_known(&devices[i].device))
			count = 0;
		else if (used < size)
			used += (size_t)snprintf(names + used, size - used, "%s%s", used ? ", " : "",
						 devices[i].device.name);
	}
	free(devices);
	return rc ? rc : count > 0;
}

static const char *assumed_name(const struct kc_replay_options *options)
{
	return options->device ? options->device->name : kc_device_builtin("v100")->name;
}

int kc_replay_run(struct kc_store *s, const struct kc_replay_options *options, struct kc_replay **out, char *why,
		  size_t why_size)
{
	struct replay *r = calloc(1, sizeof(*r));
	struct kc_replay *replay = calloc(1, sizeof(*replay));
	int rc = -ENOMEM;

	*out = NULL;
	if (!r || !replay)
		goto out;
	replay->report = calloc(1, sizeof(*replay->report));
	snprintf(replay->assumed_name, sizeof(replay->assumed_name), "%s", assumed_name(options));
	r->loader.store = s;
	r->options = options;
	r->out = replay;
	r->figures = kc__figures_new();
	why[0] = '\0';
	r->subject = kc__subject_new(s, options, why, why_size);
	r->sites = (struct kc__sites){.loader = &r->loader, .subject = r->subject};
	if (!replay->report || !r->figures || !r->subject) {
		rc = *why ? -EINVAL : -ENOMEM;
		goto out;
	}
	replay->report->selection = options->selection;
	rc = replay_all(r);
out:
	if (r && r->subject)
		free_state(r);
	else if (r) {
		kc__figures_free(r->figures);
		free(r);
	}
	if (rc)
		kc_replay_free(replay);
	else
		*out = replay;
	return rc;
}
