/*
 * What others met with CUPTI, each as a program of its own that is watched: by itself, or by kerncast around it.
 * Records of graphs' kernels by the million (parca-dev/parcagpu#23), recording that is switched off and on (release
 * notes of CUPTI 13.0 and 13.1), a context that is reset, a clock that is slow to read (as on virtual machines),
 * kernels timed by events, and a graph that is replayed again and again with one host wait each, which the makers of
 * the same profiler saw to take longer.
 */
#include "facts_window.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	GRAPH_LAUNCHES = 500, /* of 2,000 kernels: a million records */
	EACH_READ = 5,        /* graph launches between two looks at what was delivered */
	LAUNCHES = 200,
	WINDOW_LAUNCHES = 20, /* in one go */
	WINDOW_NODES = 20,
	CLOCKS = 100,
	LIMIT_S = 25, /* a process that takes longer hangs */
};
#define WORK 20000ull /* steps of facts_work: some ten cycles each */
#define BETWEEN_NS 5000000
#define WINDOW_NS 300000000

static CUstream start(CUfunction *function, const char *name)
{
	alarm(LIMIT_S);
	facts_driver_start();
	facts_context();
	*function = facts_function(name);
	return facts_stream();
}

/* Records */

struct told {
	int records, without_times;
};

static void count(struct told *told)
{
	facts_window_read();
	for (int i = 0; i < facts_seen_count(); i++)
		told->without_times += !facts_seen_at(i)->start_ns || !facts_seen_at(i)->end_ns;
	told->records += facts_seen_count();
	facts_seen_forget();
}

static double free_mb(void)
{
	size_t available = 0, total = 0;

	FACTS_CALL(cuMemGetInfo_v2, &available, &total);
	return (double)available / 1e6;
}

void facts_graph_records(const struct facts_options *options)
{
	int launches = options->launches ? options->launches : GRAPH_LAUNCHES;
	struct told told = {0};
	CUfunction function;
	CUstream stream = start(&function, "facts_first");
	CUgraphExec graph;
	double before;

	facts_window_attach(options);
	graph = facts_captured(function, stream, options->nodes, 0);
	FACTS_CALL(cuGraphLaunch, graph, stream);
	FACTS_CALL(cuStreamSynchronize, stream);
	before = free_mb();
	for (int i = 1; i < launches; i++) {
		FACTS_CALL(cuGraphLaunch, graph, stream);
		if (i % EACH_READ)
			continue;
		FACTS_CALL(cuStreamSynchronize, stream);
		count(&told);
	}
	FACTS_CALL(cuCtxSynchronize);
	facts_value("memory_mb", "%.1f", before - free_mb());
	facts_window_kinds(false);
	count(&told);
	facts_value("graph_kernels", "%d", launches * options->nodes);
	facts_value("graph_records", "%d", told.records);
	facts_value("without_times", "%d", told.without_times);
}

/* Recording switched off and on */

static void pause_ns(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

/* Kernels and graphs by turns, for some time. Returns how many kernels. */
static int launch_for(CUfunction function, CUstream stream, CUgraphExec graph, int64_t ns)
{
	int64_t end = facts_now_ns() + ns;
	int kernels = 0;

	while (facts_now_ns() < end) {
		for (int i = 0; i < WINDOW_LAUNCHES; i++)
			facts_launch(function, stream, 1, 32, 0);
		FACTS_CALL(cuGraphLaunch, graph, stream);
		kernels += WINDOW_LAUNCHES + WINDOW_NODES;
		pause_ns(BETWEEN_NS);
	}
	FACTS_CALL(cuStreamSynchronize, stream);
	return kernels;
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		facts_give_up("windows", "the file cannot be made");
	close(fd);
}

void facts_windows(const struct facts_options *options)
{
	CUfunction function;
	CUstream stream = start(&function, "facts_first");
	CUgraphExec graph = facts_captured(function, stream, WINDOW_NODES, 0);
	int kernels = 0;

	if (!options->file)
		facts_give_up("windows", "no --file");
	for (int i = 0; i < 2; i++) {
		make_file(options->file);
		kernels += launch_for(function, stream, graph, WINDOW_NS);
		unlink(options->file);
		launch_for(function, stream, graph, WINDOW_NS);
	}
	facts_value("kernels_with_file", "%d", kernels);
}

/* A context that is reset */

static void launch_loaded(void)
{
	CUmodule module;
	CUfunction function;
	CUstream stream = facts_stream();

	FACTS_CALL(cuModuleLoadData, &module, facts_ptx);
	FACTS_CALL(cuModuleGetFunction, &function, module, "facts_first");
	for (int i = 0; i < LAUNCHES; i++)
		facts_launch(function, stream, 1, 32, 1000);
	FACTS_CALL(cuCtxSynchronize);
}

void facts_reset(const struct facts_options *options)
{
	(void)options;
	alarm(LIMIT_S);
	facts_driver_start();
	facts_context();
	launch_loaded();
	FACTS_CALL(cuDevicePrimaryCtxReset_v2, facts_driver.device);
	facts_context();
	launch_loaded();
	facts_value("kernels", "%d", 2 * LAUNCHES);
}

/* Times */

/* In CLOCKS readings; the median of as many rounds. */
void facts_clock(const struct facts_options *options)
{
	int64_t ns[CLOCKS];

	(void)options;
	for (int i = 0; i < CLOCKS; i++) {
		int64_t begin = facts_now_ns();

		for (int j = 0; j < CLOCKS; j++)
			facts_now_ns();
		ns[i] = facts_now_ns() - begin;
	}
	facts_value("clock_ns", "%.1f", (double)facts_quantile(ns, CLOCKS, 0.5) / CLOCKS);
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

void facts_events(const struct facts_options *options)
{
	int launches = options->launches ? options->launches : LAUNCHES;
	float *ms = calloc((size_t)launches, sizeof(*ms));
	CUfunction function;
	CUstream stream = start(&function, "facts_work");
	CUevent events[2];

	if (!ms)
		facts_give_up("events", "no memory");
	FACTS_CALL(cuEventCreate, &events[0], CU_EVENT_DEFAULT);
	FACTS_CALL(cuEventCreate, &events[1], CU_EVENT_DEFAULT);
	for (int i = -launches; i < launches; i++) { /* the first half: the device's clocks rise */
		FACTS_CALL(cuEventRecord, events[0], stream);
		facts_launch(function, stream, 1, 32, WORK);
		FACTS_CALL(cuEventRecord, events[1], stream);
		FACTS_CALL(cuStreamSynchronize, stream);
		if (i >= 0)
			FACTS_CALL(cuEventElapsedTime, &ms[i], events[0], events[1]);
	}
	qsort(ms, (size_t)launches, sizeof(*ms), by_value);
	facts_value("kernel_us", "%.2f", 1000 * ms[launches / 2]);
	free(ms);
}

void facts_decode(const struct facts_options *options)
{
	int launches = options->launches ? options->launches : GRAPH_LAUNCHES;
	CUfunction function;
	CUstream stream = start(&function, "facts_first");
	CUgraphExec graph = facts_captured(function, stream, options->nodes, options->short_ns);
	int64_t begin = 0;

	for (int i = -launches / 10; i < launches; i++) {
		if (i == 0)
			begin = facts_now_ns();
		FACTS_CALL(cuGraphLaunch, graph, stream);
		FACTS_CALL(cuStreamSynchronize, stream);
	}
	facts_value("step_us", "%.1f", (double)(facts_now_ns() - begin) / 1e3 / launches);
}
