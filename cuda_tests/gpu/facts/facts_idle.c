/*
 * What each state of CUPTI costs a launch, switched on step by step and off again, and what the records are worth
 * once it is attached again. All in one process, twice, so that a drift is seen. With --early CUPTI is attached before
 * there is a context, as by kerncast: the first time begins with everything on.
 *
 * The same of a graph is a part of its own, and ends before cuptiFinalize: a graph that CUPTI has seen may not survive
 * that (facts_survival.c). With CUPTI attached again it is another graph.
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
	int again_right; /* times that all records were, once CUPTI was attached again */
} idle;

struct figures {
	double median_ns, high_ns; /* of a launch call */
	double each_ns;            /* a launch, waits included */
	double threads_ns;         /* the same, of each of several threads */
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

static struct figures measure(void)
{
	struct figures f;

	f.each_ns = launch_many(idle.streams[0], idle.launches, idle.calls_ns);
	f.median_ns = (double)facts_quantile(idle.calls_ns, idle.launches, 0.5);
	f.high_ns = (double)facts_quantile(idle.calls_ns, idle.launches, 0.99);
	f.threads_ns = by_threads();
	return f;
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
    {"kinds off", kinds_off, false}, /* as kerncast rests between two windows */
    {"callbacks off", callbacks_off, false},
    {"graph callback off", clones_off, false},
    {"unsubscribed", unsubscribed, false},
    {"finalized", finalized, false},
    {"attached again", attached_again, true},
};
enum { STATES = sizeof(states) / sizeof(*states), KINDS_ON = 4, UNSUBSCRIBED = 8 };

/* Returns how long it took, in milliseconds. */
static double reach(int state)
{
	int64_t begin = facts_now_ns();

	states[state].reach();
	return (double)(facts_now_ns() - begin) / 1e6;
}

static void one_state(int pass, int state)
{
	double ms = reach(state);
	struct figures f = measure();
	char name[64];

	snprintf(name, sizeof(name), "state %d %s", pass, states[state].name);
	facts_value(name, "%.2f %.0f %.0f %.0f %.0f", ms, f.median_ns, f.high_ns, f.each_ns, f.threads_ns);
}

static void collect(void)
{
	FACTS_CALL(cuCtxSynchronize);
	FACTS_CUPTI_CALL(cuptiActivityFlushAll, 0);
	facts_window_read();
}

/* How many records came of all that was measured. */
static void count_records(int pass, int state)
{
	char name[64];

	collect();
	snprintf(name, sizeof(name), "records, %s, time %d", states[state].name, pass);
	facts_say(name, -1, "%d; %d launches", facts_seen_count(), idle.launches + idle.launches / THREADS * THREADS);
	facts_seen_forget();
}

static void judge_state(int pass, int state)
{
	struct facts_launch launches[JUDGED];
	struct facts_judged judged = {0};
	char name[64];

	for (int i = 0; i < JUDGED; i++)
		facts_launch_noted(idle.function, idle.streams[0], 1 + i % FACTS_GRIDS, &launches[i]);
	collect();
	facts_judge(&judged, launches, JUDGED);
	facts_seen_forget();
	snprintf(name, sizeof(name), "right or wrong, %s, time %d", states[state].name, pass);
	facts_say_judged(name, &judged);
	if (state == STATES - 1)
		idle.again_right += facts_all_right(&judged);
}

static void prepare(const struct facts_options *options)
{
	alarm(LIMIT_S);
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
}

void facts_idle(const struct facts_options *options)
{
	prepare(options);
	measure(); /* the device's clocks rise, code is loaded: not counted */
	if (options->early)
		count_records(0, KINDS_ON);
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
}

/* Graphs */

static void measure_graph(CUgraphExec graph, int64_t *call_ns, double *each_ns)
{
	int64_t calls_ns[GRAPH_LAUNCHES], begin = facts_now_ns();

	for (int i = 0; i < GRAPH_LAUNCHES; i++) {
		int64_t called = facts_now_ns();

		FACTS_CALL(cuGraphLaunch, graph, idle.streams[0]);
		calls_ns[i] = facts_now_ns() - called;
		FACTS_CALL(cuStreamSynchronize, idle.streams[0]);
	}
	*each_ns = (double)(facts_now_ns() - begin) / GRAPH_LAUNCHES;
	*call_ns = facts_quantile(calls_ns, GRAPH_LAUNCHES, 0.5);
}

/* Whether the records of the graph's kernels have the ids of its launches. */
static bool judge_graph(CUgraphExec graph, int state)
{
	uint32_t ids[JUDGED_GRAPHS];
	int right = 0;
	char name[64];

	facts_seen_forget();
	facts_launch(idle.function, idle.streams[0], 1, 32, 0); /* whose id they must not have */
	for (int i = 0; i < JUDGED_GRAPHS; i++) {
		facts_correlation = 0;
		FACTS_CALL(cuGraphLaunch, graph, idle.streams[0]);
		ids[i] = facts_correlation;
	}
	collect();
	for (int i = 0; i < JUDGED_GRAPHS; i++)
		right += ids[i] ? facts_seen_with(ids[i]) : 0;
	snprintf(name, sizeof(name), "graphs, %s", states[state].name);
	facts_say(name, -1,
		  "%d of %d records have their launch's id, of launches %u to %u; %d were read, the last of %u", right,
		  JUDGED_GRAPHS * NODES, ids[0], ids[JUDGED_GRAPHS - 1], facts_seen_count(),
		  facts_seen_count() ? facts_seen_at(facts_seen_count() - 1)->correlation : 0);
	facts_seen_forget();
	return right == JUDGED_GRAPHS * NODES;
}

/* How many records came of a graph that has been instantiated before CUPTI was attached, or with it. */
static void count_graph_records(int state)
{
	char name[64];

	collect();
	snprintf(name, sizeof(name), "records of graphs, %s", states[state].name);
	facts_say(name, -1, "%d; %d launches of a graph of %d kernels, which has been instantiated %s",
		  facts_seen_count(), GRAPH_LAUNCHES, NODES,
		  idle.options->early ? "with CUPTI attached" : "before CUPTI was attached");
	facts_seen_forget();
}

static void one_graph_state(CUgraphExec graph, int state)
{
	double ms = reach(state), each_ns;
	int64_t call_ns;
	char name[64];

	measure_graph(graph, &call_ns, &each_ns);
	snprintf(name, sizeof(name), "graphs %s", states[state].name);
	facts_value(name, "%.2f %lld %.0f", ms, (long long)call_ns, each_ns);
	if (!states[state].records)
		return;
	count_graph_records(state);
	judge_graph(graph, state);
}

void facts_idle_graphs(const struct facts_options *options)
{
	CUgraphExec graph;
	int64_t call_ns;
	double each_ns;

	prepare(options);
	graph = facts_captured(idle.function, idle.streams[0], NODES, 0);
	launch_many(idle.streams[0], idle.launches, NULL);
	measure_graph(graph, &call_ns, &each_ns); /* not counted, either */
	if (options->early)
		collect();
	facts_seen_forget();
	for (int state = options->early ? KINDS_ON : 0; state <= UNSUBSCRIBED; state++)
		one_graph_state(graph, state);
	FACTS_CALL(cuGraphExecDestroy, graph);
	finalized();
	attached_again();
	graph = facts_captured(idle.function, idle.streams[0], NODES, 0);
	facts_value("graphs_again", "%d", judge_graph(graph, STATES - 1));
	facts_window_kinds(false);
}
