#include "replay_figures.h"
#include "replay_recorded.h"
#include "replay_run.h"
#include "store/replay/relay/relay.h"
#include "store/database/internal.h"
#include "store/past/knowledge.h"
#include "store/query/rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What figures are made of, in the order in which it happened: a launch, or its measurement. */
struct note {
	struct kc__yardstick **yardstick; /* of its launch shape; NULL: the launch was not predicted */
	int64_t measured_ns;              /* of a measurement; 0: it is a launch */
	/* Of a launch: */
	int64_t device;
	struct kc_candidates candidates;
	float slowdown;
	int is_match;
	struct kc_placement plain;
	struct kc_replay_launch launch;
};

/* Figures are made by another thread (relay), which has all that they need to itself until kc_relay_wait(). */
struct replay_run {
	const struct kc_replay_options *options;
	struct kc_relay *relay;
	struct kc__replay_observer observer;
	struct kc__replay_state *state;
	struct kc__replay_knowledge *knowledge; /* what processes taught that are replayed by delay */
	struct kc__figures *figures;
	struct kc_replay *out;
	uint64_t prior;   /* checksum of the file that the process had begun with and does not have here; 0: none */
	int past_missing; /* 1: the process had begun with what is not in the database any more */
	int64_t latest_unix_ns; /* latest end of the processes so far */
};

/* The observer */

/* What each model alone would have said. */
static void note_models(struct kc_replay_launch *l, const struct kc_candidates *c, float slowdown)
{
	for (uint32_t i = 0; i < KC_CANDIDATES; i++) {
		float factor = i == KC_CANDIDATE_CONTEXT ? 1 : slowdown;

		if (c->present & 1u << i)
			l->said_ns[i] = (int64_t)(expf(c->log_ns[i]) * factor + 0.5f);
	}
}

/* In the other thread. */
static int add_to_figures(void *record, void *arg)
{
	const struct replay_run *run = arg;
	struct note *note = record;
	struct kc_replay_launch *l = &note->launch;
	int rc;

	if (note->measured_ns)
		return kc__yardstick_add(note->yardstick, note->measured_ns);
	if (!l->unpredictable) {
		note_models(l, &note->candidates, note->slowdown);
		kc__yardstick_look(*note->yardstick, l);
	}
	rc = kc__figures_add(run->figures, l, note->device, &note->plain);
	if (rc == 0 && note->is_match && run->options->launch)
		rc = run->options->launch(l, run->options->arg);
	return rc;
}

static void note_prediction(struct kc_replay_launch *l, const struct kc__replay_prediction *prediction)
{
	const struct kc_prediction *p = &prediction->by_engine;

	l->novelty = prediction->novelty;
	l->solo_ns = p->solo_ns;
	l->solo_low_ns = p->solo_low_ns;
	l->solo_high_ns = p->solo_high_ns;
	kc_engine_interval(&prediction->kept, &l->low_ns, &l->high_ns);
	l->model = p->model;
	l->start_ns = p->placement.start_ns;
	l->end_ns = p->placement.end_ns;
	l->slowdown = (double)p->placement.slowdown;
	l->slowdown_waves = (double)p->placement.slowdown_waves;
	l->concurrency_case = p->placement.concurrency_case;
}

static void count_assumed(struct kc_replay *out, const struct kc__replay_device *device)
{
	if (!out->assumed_device++)
		snprintf(out->assumed_name, sizeof(out->assumed_name), "%s", device->stand_in->name);
	if (!device->called[0])
		out->assumed_nameless++;
	else if (!out->unknown_name[0])
		snprintf(out->unknown_name, sizeof(out->unknown_name), "%s", device->called);
	if (device->by_capability && !out->assumed_cc_major) {
		out->assumed_cc_major = device->info.cc_major;
		out->assumed_cc_minor = device->info.cc_minor;
	}
}

static void count_foreign(struct kc_replay *out, const struct kc__replay_device *device)
{
	if (!out->foreign++)
		snprintf(out->foreign_name, sizeof(out->foreign_name), "%s", device->called);
}

static void count_beyond(struct kc_replay_beyond *out, uint32_t beyond)
{
	out->launches += beyond != 0;
	out->threads += (beyond & KC_BEYOND_THREADS) != 0;
	out->registers += (beyond & KC_BEYOND_REGISTERS) != 0;
	out->shared += (beyond & KC_BEYOND_SHARED) != 0;
	out->clusters += (beyond & KC_BEYOND_CLUSTER) != 0;
}

static void count(struct kc_replay *out, const struct kc_replay_launch *l)
{
	out->launches++;
	out->predicted += !l->unpredictable;
	out->measured += l->measured_end_ns != 0;
	out->excluded += l->excluded != 0;
	if (l->unpredictable)
		out->unpredictable[l->unpredictable]++;
	else
		count_beyond(&out->beyond, l->beyond);
}

/* A duration of 0 is shorter than the profiler's clock can resolve: no error can be relative to it. */
static int is_too_short(const struct kc__op *op)
{
	return op->end_ns && op->end_ns == op->start_ns;
}

/* 1, 0 or -errno. */
static int matches(struct replay_run *run, const struct kc__op *op)
{
	const struct kc_filter_launch launch = {
	    .id = run->state->ops.process << KC_SEQUENCE_BITS | (int64_t)op->sequence,
	    .process = run->state->ops.process,
	    .stream = op->stream,
	    .kernel = op->of ? op->of->kernel : 0,
	    .device = op->of ? op->of->device : 0,
	    .launched_ns = op->issued_ns,
	    .measured_ns = op->end_ns ? op->end_ns - op->start_ns : 0,
	};

	return kc_filter_matches(run->options->filter, &launch);
}

static struct kc__yardstick **yardstick_of(struct kc__replay_shape *launched)
{
	return (struct kc__yardstick **)&launched->observed;
}

static void count_process(const struct replay_run *run)
{
	struct kc_replay *out = run->out;

	out->as_recorded += run->state->as_recorded != 0;
	out->chosen += run->state->chosen != 0;
	out->incomplete += run->state->incomplete != 0;
	out->without_past += run->past_missing;
	out->without_prior += run->prior != 0;
	if (run->prior && !out->prior_missing)
		out->prior_missing = run->prior;
}

static int give(struct replay_run *run, const struct kc_replay_launch *l, const struct kc__replay_shape *shape,
		int is_match, const struct kc__replay_prediction *prediction)
{
	struct note *note = kc_relay_room(run->relay);

	note->yardstick = l->unpredictable ? NULL : yardstick_of(shape->launched);
	note->measured_ns = 0;
	note->device = shape ? shape->device : 0;
	note->is_match = is_match;
	note->launch = *l;
	if (!l->unpredictable) {
		note->candidates = prediction->by_engine.candidates;
		note->slowdown = prediction->kept.contended;
		note->plain = prediction->plain;
	}
	return kc_relay_give(run->relay);
}

static int predicted(void *arg, const struct kc__op *op, const struct kc__replay_prediction *prediction)
{
	struct replay_run *run = arg;
	const struct kc__replay_shape *shape = op->of;
	int is_match = matches(run, op);
	struct kc_replay_launch l = {
	    .process = run->state->ops.process,
	    .sequence = op->sequence,
	    .shape = op->shape,
	    .stream = op->stream,
	    .kernel = shape ? shape->kernel : 0,
	    .launched_ns = op->issued_ns,
	    .measured_start_ns = op->start_ns,
	    .measured_end_ns = op->end_ns,
	    .overlap = op->overlap,
	    .unpredictable = prediction->unpredictable,
	    .beyond = shape ? shape->beyond : 0,
	    .excluded = !is_match || is_too_short(op),
	};

	if (is_match < 0)
		return is_match;
	if (op->at && shape->on && shape->on->assumed && !shape->on->impossible)
		(shape->on->foreign ? count_foreign : count_assumed)(run->out, shape->on);
	if (!l.unpredictable)
		note_prediction(&l, prediction);
	count_process(run);
	count(run->out, &l);
	if (run->relay)
		return give(run, &l, shape, is_match, prediction);
	return is_match && run->options->launch ? run->options->launch(&l, run->options->arg) : 0;
}

static int measured(void *arg, struct kc__replay_shape *launched, int64_t ns)
{
	const struct replay_run *run = arg;
	struct note *note;

	if (!run->relay)
		return 0;
	note = kc_relay_room(run->relay);
	note->yardstick = yardstick_of(launched);
	note->measured_ns = ns;
	return kc_relay_give(run->relay);
}

static void forgotten(struct kc__replay_shape *launched)
{
	kc__yardstick_free(launched->observed);
	launched->observed = NULL;
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

static struct kc__replay_knowledge *knowledge_new(struct replay_run *run, struct kc_store *s,
						  const struct kc_past *past)
{
	struct kc__replay_knowledge *knowledge = kc__knowledge_new(s, run->options->device, &run->observer);

	if (!knowledge)
		return NULL;
	kc__knowledge_engine(knowledge)->without = run->options->without;
	kc__knowledge_recall(knowledge, &(const struct kc_beginning){past, run->options->knowledge});
	return knowledge;
}

/* The next process begins as the first one did. 0 or -ENOMEM. */
static int forget_all(struct replay_run *run)
{
	struct kc__replay_knowledge *fresh = knowledge_new(run, run->state->loader.store, NULL);

	if (!fresh)
		return -ENOMEM;
	kc__knowledge_free(run->knowledge);
	run->knowledge = fresh;
	return 0;
}

/* Of a process whose replay ended with rc. Returns rc if that is not 0, else 0 or the error of its figures. */
static int close_figures(struct replay_run *run, int rc)
{
	int failed = run->relay ? kc_relay_wait(run->relay) : 0;

	kc__figures_close(run->figures);
	return rc ? rc : failed;
}

/* forget: the process does not know what those before it taught. */
static int replay_by_delay(struct replay_run *run, int forget)
{
	int rc = forget ? forget_all(run) : 0;

	run->past_missing = 0;
	if (rc)
		return rc;
	kc__replay_use(run->state, run->knowledge);
	kc__figures_begin(run->figures, forget, run->state->ops.at[0].issued_ns);
	kc__used_devices_begin(&run->state->used, 0);
	rc = kc__replay_by_delay(run->state, &run->options->delay);
	return kc__replay_end(run->state, close_figures(run, rc));
}

/* The process begins with the past that it had loaded, not with what the processes before it taught. */
static int replay_recorded(struct replay_run *run, struct kc__recorded *recorded)
{
	struct kc__replay_state *r = run->state;
	struct kc__replay_knowledge *own = NULL;
	struct kc_past *past = NULL;
	int rc = 0;

	if (recorded->began_with.source)
		rc = kc_past_of(r->loader.store, &recorded->began_with, &past);
	run->past_missing = recorded->had_past && !past;
	if (rc == 0)
		own = knowledge_new(run, r->loader.store, past);
	if (own) {
		kc__replay_use(r, own);
		kc__figures_begin(run->figures, 1, r->ops.at[0].issued_ns);
		kc__used_devices_begin(&r->used, 0);
		r->used.answering = 1;
		rc = kc__recorded_replay(recorded, r);
		rc = kc__replay_end(r, close_figures(run, rc));
	} else if (rc == 0) {
		rc = -ENOMEM;
	}
	kc__knowledge_free(own);
	kc_past_free(past);
	return rc;
}

/* Whether the process can be replayed with what it had begun with: 1, 0 or -errno. */
static int begins_as_recorded(struct replay_run *run, int64_t process)
{
	const struct kc_knowledge *given = run->options->knowledge;
	uint64_t here = given ? given->head->checksum : 0;
	struct kc_past_entry began_with;
	int found, rc = kc__began_with_load(&run->state->loader, process, &began_with, &found);

	if (rc)
		return rc;
	run->prior = began_with.prior != here ? began_with.prior : 0;
	return !given || began_with.prior == here;
}

static int replay_process(sqlite3_stmt *row, void *arg)
{
	struct replay_run *run = arg;
	const struct kc__part whole = {sqlite3_column_int64(row, 0), 0, KC_SEQUENCE_MASK};
	int forget = must_forget(&run->latest_unix_ns, run->options, row);
	struct kc__recorded recorded = {0};
	int imported = sqlite3_column_int(row, 3), begins = begins_as_recorded(run, whole.process);
	int as_recorded = run->options->as_recorded && !imported && begins, rc;

	if (run->options->imported_only && !imported)
		return 0;
	rc = begins < 0 ? begins : kc__ops_load(&run->state->loader, &whole, as_recorded, &run->state->ops);
	if (rc == 0 && as_recorded)
		rc = kc__recorded_load(&recorded, run->state, whole.process);
	if (rc == 0)
		rc = kc__replay_load_rest(run->state, whole.process);
	if (rc == 0 && run->state->ops.count)
		rc = run->state->as_recorded ? replay_recorded(run, &recorded) : replay_by_delay(run, forget);
	kc__recorded_leave(&recorded, run->state);
	return rc;
}

static int replay_all(struct replay_run *run, struct kc_store *s)
{
	double began_s = processor_seconds();
	int rc = kc__select(s, &run->options->selection,
			    "SELECT id, started_unix_ns, started_unix_ns + (ended_ns - started_ns), source NOT NULL"
			    " FROM process WHERE run BETWEEN ?1 AND ?2"
			    " ORDER BY source NOT NULL, CASE WHEN source IS NULL THEN started_unix_ns END, id",
			    replay_process, run);

	run->out->seconds = processor_seconds() - began_s;
	return rc ? rc : kc__figures_finish(run->figures, s, run->out);
}

static int replay_with_figures(struct replay_run *run, struct kc_store *s)
{
	int rc = -ENOMEM;

	run->observer = (struct kc__replay_observer){predicted, measured, forgotten, run};
	run->state = kc__replay_new(s, &run->observer);
	if (run->state)
		run->state->used.with_plain = !run->options->launches_alone;
	run->knowledge = knowledge_new(run, s, NULL);
	run->figures = kc__figures_new();
	if (run->figures && !run->options->launches_alone)
		run->relay = kc_relay_new(sizeof(struct note), add_to_figures, run);
	if (run->state && run->knowledge && run->figures && (run->relay || run->options->launches_alone))
		rc = replay_all(run, s);
	kc_relay_free(run->relay);
	kc__replay_free(run->state);
	kc__knowledge_free(run->knowledge);
	kc__figures_free(run->figures);
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

int kc_replay_run(struct kc_store *s, const struct kc_replay_options *options, struct kc_replay **out)
{
	struct replay_run run = {.options = options};
	int rc;

	*out = NULL;
	run.out = calloc(1, sizeof(*run.out));
	if (run.out)
		run.out->report = calloc(1, sizeof(*run.out->report));
	if (run.out && run.out->report) {
		run.out->report->selection = options->selection;
		rc = replay_with_figures(&run, s);
	} else {
		rc = -ENOMEM;
	}
	if (rc)
		kc_replay_free(run.out);
	else
		*out = run.out;
	return rc;
}
