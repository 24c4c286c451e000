/*
 * What each state of CUPTI costs a launch, switched on step by step and off again, and what the records are worth
 * once it is attached again. All in one process, twice, so that a drift is seen. With --early CUPTI is attached before
 * there is a context, as by kerncast: the first time begins with everything on.
 */
#include "facts_window.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LAUNCHES = 20000,
	EACH_WAIT = 1000, /* launches between two waits: fewer than the driver queues */
	THREADS = 4,
	NODES = 200,
	GRAPH_LAUNCHES = 50,
	PASSES = 2,
	LIMIT_S = 15, /* a process that takes longer hangs */
	JUDGED = 1000,
	JUDGED_GRAPHS = 10,
};

static struct {
	const struct facts_options *options;
	CUfunction function;
	CUstream streams[THREADS];
	CUgraphExec graph;
	int launches;
	int64_t *calls_ns;
	pthread_barrier_t barrier;
	int again_right, graphs_right; /* times that all records were, once CUPTI was attached again */
} idle;

struct figures {
	double median_ns, high_ns; /* of a launch call */
	double each_ns;            /* a launch, waits included */
	double threads_ns;         /* the same, of each of several threads */
	double graph_ns, graph_each_ns;
};

/* Launches, in groups that are waited for. calls_ns: how long each call took, or NULL. Returns the time of each. */
static double launch_many(CUstream stream, int count, int64_t *calls_ns)
{
	int64_t begin = facts_now_ns();

	for (int i = 0; i < count; i++) {
		int64_t called = calls_ns ? facts_now_ns() : 0;

		facts_launch(idle.function, stream, 1, 32, 0);
		if (calls_ns)
			calls_ns[i] = facts_now_ns() - called;
		if (i % EACH_WAIT == EACH_WAIT - 1)
			FACTS_CALL(cuStreamSynchronize, stream);
	}
	FACTS_CALL(cuStreamSynchronize, stream);
	return (double)(facts_now_ns() - begin) / count;
}

struct beside {
	pthread_t thread;
	CUstream stream;
	double each_ns;
};

static void *launch_beside(void *argument)
{
	struct beside *b = argument;

	FACTS_CALL(cuCtxSetCurrent, facts_driver.context);
	pthread_barrier_wait(&idle.barrier);
	b->each_ns = launch_many(b->stream, idle.launches / THREADS, NULL);
	return NULL;
}

/* Time of a launch on each of several threads. */
static double by_threads(void)
{
	struct beside beside[THREADS];
	double sum_ns = 0;

	for (int i = 0; i < THREADS; i++) {
		beside[i].stream = idle.streams[i];
		if (pthread_create(&beside[i].thread, NULL, launch_beside, &beside[i]))
			facts_give_up("idle", "no thread");
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(beside[i].thread, NULL);
		sum_ns += beside[i].each_ns;
	}
	return sum_ns / THREADS;
}

static void graphs(struct figures *f)
{
	int64_t calls_ns[GRAPH_LAUNCHES], begin = facts_now_ns();

	for (int i = 0; i < GRAPH_LAUNCHES; i++) {
		int64_t called = facts_now_ns();

		FACTS_CALL(cuGraphLaunch, idle.graph, idle.streams[0]);
		calls_ns[i] = facts_now_ns() - called;
		FACTS_CALL(cuStreamSynchronize, idle.streams[0]);
	}
	f->graph_each_ns = (double)(facts_now_ns() - begin) / GRAPH_LAUNCHES;
	f->graph_ns = (double)facts_quantile(calls_ns, GRAPH_LAUNCHES, 0.5);
}

static struct figures measure(void)
{
	struct figures f;

	f.each_ns = launch_many(idle.streams[0], idle.launches, idle.calls_ns);
	f.median_ns = (double)facts_quantile(idle.calls_ns, idle.launches, 0.5);
	f.high_ns = (double)facts_quantile(idle.calls_ns, idle.launches, 0.99);
	f.threads_ns = by_threads();
	graphs(&f);
	return f;
}

static CUgraphExec captured(void)
{
	CUgraphExec executable;
	CUgraph graph;

	FACTS_CALL(cuStreamBeginCapture_v2, idle.streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL);
	for (int i = 0; i < NODES; i++)
		facts_launch(idle.function, idle.streams[0], 1, 32, 0);
	FACTS_CALL(cuStreamEndCapture, idle.streams[0], &graph);
	FACTS_CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
	return executable;
}

/* States: what is done to come to each from the one before. */

static void bare(void)
{
	if (facts_cupti.handle)
		facts_check_cupti(facts_window_detach(idle.options->in_callback), "cuptiFinalize");
}

static void again(void)
{
}

static void subscribed(void)
{
	facts_window_subscribe(idle.options);
}

static void callbacks_on(void)
{
	facts_window_clones(true);
	facts_window_callbacks(true);
}

static void kinds_on(void)
{
	facts_window_kinds(true);
}

static void kinds_off(void)
{
	facts_window_kinds(false);
}

static void callbacks_off(void)
{
	facts_window_callbacks(false);
}

static void clones_off(void)
{
	facts_window_clones(false);
}

static void unsubscribed(void)
{
	facts_window_unsubscribe();
}

static void finalized(void)
{
	facts_check_cupti(facts_window_finalize(idle.options->in_callback), "cuptiFinalize");
}

static void attached_again(void)
{
	facts_window_attach(idle.options);
}

static const struct {
	const char *name;
	void (*reach)(void);
	bool records; /* kernels have them */
} states[] = {
    {"bare", bare, false},
    {"bare, measured again", again, false},
    {"subscribed", subscribed, false},
    {"callbacks on", callbacks_on, false},
    {"kinds on", kinds_on, true},
    {"kinds off", kinds_off, false},
    {"callbacks off", callbacks_off, false}, /* as kerncast rests between two windows */
    {"graph callback off", clones_off, false},
    {"unsubscribed", unsubscribed, false},
    {"finalized", finalized, false},
    {"attached again", attached_again, true},
};
enum { STATES = sizeof(states) / sizeof(*states), KINDS_ON = 4 };

static void one_state(int pass, int state)
{
	int64_t begin = facts_now_ns();
	double ms;
	struct figures f;
	char name[64];

	states[state].reach();
	ms = (double)(facts_now_ns() - begin) / 1e6;
	f = measure();
	snprintf(name, sizeof(name), "state %d %s", pass, states[state].name);
	facts_value(name, "%.2f %.0f %.0f %.0f %.0f %.0f %.0f", ms, f.median_ns, f.high_ns, f.each_ns, f.threads_ns,
		    f.graph_ns, f.graph_each_ns);
}

static void collect(void)
{
	FACTS_CALL(cuCtxSynchronize);
	FACTS_CUPTI_CALL(cuptiActivityFlushAll, 0);
	facts_window_read();
}

/* How many records came of all that was measured: that of a graph whose nodes CUPTI has not seen, too. */
static void count_records(int pass, int state)
{
	int launches = idle.launches + idle.launches / THREADS * THREADS;
	char name[64];

	collect();
	snprintf(name, sizeof(name), "records, %s, time %d", states[state].name, pass);
	facts_say(name, -1, "%d; %d launches, and %d of a graph of %d kernels, which has been instantiated %s",
		  facts_seen_count(), launches, GRAPH_LAUNCHES, NODES,
		  idle.options->early ? "with CUPTI attached" : "before CUPTI was attached");
	facts_seen_forget();
}

/* Records of the graph's kernels that have the id of its launch. */
static int judge_graph(void)
{
	uint32_t ids[JUDGED_GRAPHS];
	int right = 0;

	for (int i = 0; i < JUDGED_GRAPHS; i++) {
		facts_correlation = 0;
		FACTS_CALL(cuGraphLaunch, idle.graph, idle.streams[0]);
		ids[i] = facts_correlation;
	}
	collect();
	for (int i = 0; i < JUDGED_GRAPHS; i++)
		right += ids[i] ? facts_seen_with(ids[i]) : 0;
	return right;
}

static void judge_state(int pass, int state)
{
	struct facts_launch launches[JUDGED];
	struct facts_judged judged = {0};
	char name[64];
	int right;

	for (int i = 0; i < JUDGED; i++)
		facts_launch_noted(idle.function, idle.streams[0], 1 + i % FACTS_GRIDS, &launches[i]);
	collect();
	facts_judge(&judged, launches, JUDGED);
	facts_seen_forget();
	right = judge_graph();
	snprintf(name, sizeof(name), "right or wrong, %s, time %d", states[state].name, pass);
	facts_say_judged(name, &judged);
	snprintf(name, sizeof(name), "graphs, %s, time %d", states[state].name, pass);
	facts_say(name, -1, "%d of %d records have their launch's id", right, JUDGED_GRAPHS * NODES);
	facts_seen_forget();
	if (state == STATES - 1) {
		idle.again_right += facts_all_right(&judged);
		idle.graphs_right += right == JUDGED_GRAPHS * NODES;
	}
}

static void prepare(const struct facts_options *options)
{
	idle.options = options;
	idle.launches = options->launches ? options->launches : LAUNCHES;
	idle.calls_ns = calloc((size_t)idle.launches, sizeof(*idle.calls_ns));
	if (!idle.calls_ns || pthread_barrier_init(&idle.barrier, NULL, THREADS))
		facts_give_up("idle", "no memory");
	facts_driver_start();
	if (options->early)
		facts_window_attach(options);
	facts_context();
	idle.function = facts_function("facts_first");
	for (int i = 0; i < THREADS; i++)
		idle.streams[i] = facts_stream();
	idle.graph = captured();
	measure(); /* the device's clocks rise, code is loaded: not counted */
	if (options->early)
		count_records(0, KINDS_ON);
}

void facts_idle(const struct facts_options *options)
{
	alarm(LIMIT_S);
	prepare(options);
	for (int pass = 1; pass <= PASSES; pass++)
		for (int state = options->early && pass == 1 ? KINDS_ON : 0; state < STATES; state++) {
			one_state(pass, state);
			if (states[state].records) {
				count_records(pass, state);
				judge_state(pass, state);
			}
		}
	facts_window_kinds(false);
	facts_value("attached_again", "%d", idle.again_right == PASSES);
	facts_value("graphs_again", "%d", idle.graphs_right == PASSES);
}
