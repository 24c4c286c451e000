/* Graphs: their records' ids and nodes, what capturing beside a flush does, and what large ones cost. */
#include "facts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NODES = 3, GRAPH_LAUNCHES = 2, COST_LAUNCHES = 5, CAPTURED = 200 };
#define QUEUED_NS UINT64_C(30000000) /* a graph of 10,000 kernels is launched in less, measured node by node, too */
#define CAPTURE_PAUSE_NS 500000      /* between two launches, so that flushes come between them */

/* The node that was captured or added, by way of every clone in between. */
static uint64_t root_of(uint64_t node)
{
	for (int depth = 0; depth < FACTS_CLONES_MAX; depth++) {
		int i = 0;

		while (i < facts_cupti.clone_count && facts_cupti.clones[i].node != node)
			i++;
		if (i == facts_cupti.clone_count)
			break;
		node = facts_cupti.clones[i].original;
	}
	return node;
}

static CUgraph capture(void)
{
	CUfunction first = facts_function("facts_first"), second = facts_function("facts_second");
	CUstream stream = facts_stream();
	CUgraph graph;

	FACTS_CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	facts_launch(first, stream, 11, 32, 1000);
	facts_launch(second, stream, 12, 64, 1000);
	facts_launch(first, stream, 13, 32, 1000);
	FACTS_CALL(cuStreamEndCapture, stream, &graph);
	FACTS_CALL(cuStreamDestroy_v2, stream);
	return graph;
}

static void run_graph(CUgraph graph)
{
	CUgraphExec executable;

	facts_forget();
	facts_cupti.clone_count = 0;
	FACTS_CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
	for (int i = 0; i < GRAPH_LAUNCHES; i++) {
		FACTS_CALL(cuGraphLaunch, executable, NULL);
		FACTS_CALL(cuCtxSynchronize);
	}
	facts_collect();
	FACTS_CALL(cuGraphExecDestroy, executable);
}

/* Records whose node leads back to the node of graph with the record's grid. */
static int mapped(const uint64_t *nodes, const int *grids)
{
	int count = 0;

	for (int i = 0; i < facts_cupti.record_count; i++)
		for (int n = 0; n < NODES; n++)
			count +=
			    root_of(facts_cupti.records[i].node) == nodes[n] && facts_cupti.records[i].grid == grids[n];
	return count;
}

static void captured_nodes(CUgraph graph, uint64_t *nodes, int *grids)
{
	CUgraphNode handles[NODES];
	CUDA_KERNEL_NODE_PARAMS params;
	size_t count = NODES;

	FACTS_CALL(cuGraphGetNodes, graph, handles, &count);
	for (size_t i = 0; i < count; i++) {
		FACTS_CALL(cuGraphKernelNodeGetParams_v2, handles[i], &params);
		grids[i] = (int)params.gridDimX;
		FACTS_CUPTI_CALL(cuptiGetGraphNodeId, handles[i], &nodes[i]);
	}
}

static void captured_graph(CUgraph graph, const uint64_t *nodes, const int *grids)
{
	enum { EXPECTED = NODES * GRAPH_LAUNCHES };
	int originals = 0, shared = 0, called = 0;
	bool ids;

	run_graph(graph);
	for (int i = 0; i < facts_cupti.record_count; i++) {
		called += facts_call_of(false, facts_cupti.records[i].correlation) != NULL;
		for (int n = 0; n < NODES; n++)
			originals += facts_cupti.records[i].node == nodes[n];
		for (int j = 0; j < facts_cupti.record_count; j++)
			shared += j != i && facts_cupti.records[j].correlation == facts_cupti.records[i].correlation;
	}
	facts_say("one record for each kernel node of a graph launch", facts_cupti.record_count == EXPECTED, "%d of %d",
		  facts_cupti.record_count, EXPECTED);
	ids = shared == EXPECTED * (NODES - 1) && called == EXPECTED;
	facts_say("the kernels of a graph launch share its correlation id", ids,
		  "%d of %d pairs, %d of %d with the driver callback's", shared / 2, EXPECTED * (NODES - 1) / 2, called,
		  EXPECTED);
	facts_value("graph_launch_id", "%s", ids ? "driver" : called ? "of some kernels the driver" : "neither");
	facts_say("records name instantiated nodes", -1, "%d of %d name the captured one", originals,
		  facts_cupti.record_count);
	facts_say("instantiated nodes lead back to captured ones", mapped(nodes, grids) == EXPECTED,
		  "%d of %d, %d clones told", mapped(nodes, grids), EXPECTED, facts_cupti.clone_count);
}

static void child_graph(CUgraph graph, const uint64_t *nodes, const int *grids)
{
	enum { EXPECTED = NODES * GRAPH_LAUNCHES };
	struct facts_clone inner[FACTS_CLONES_MAX];
	CUgraphNode child;
	CUgraph outer;
	int inner_count;

	FACTS_CALL(cuGraphCreate, &outer, 0);
	facts_cupti.clone_count = 0;
	FACTS_CALL(cuGraphAddChildGraphNode, &child, outer, NULL, 0, graph);
	inner_count = facts_cupti.clone_count;
	memcpy(inner, facts_cupti.clones, sizeof(inner));
	run_graph(outer);
	for (int i = 0; i < inner_count && facts_cupti.clone_count < FACTS_CLONES_MAX; i++)
		facts_cupti.clones[facts_cupti.clone_count++] = inner[i];
	facts_say("so do those of a child graph", -1, "%d of %d, %d clones told", mapped(nodes, grids), EXPECTED,
		  facts_cupti.clone_count);
	FACTS_CALL(cuGraphDestroy, outer);
}

void facts_graphs(const struct facts_options *options)
{
	uint64_t nodes[NODES] = {0};
	int grids[NODES] = {0};
	CUgraph graph;

	facts_driver_start();
	facts_attach(options);
	facts_context();
	graph = capture();
	captured_nodes(graph, nodes, grids);
	captured_graph(graph, nodes, grids);
	child_graph(graph, nodes, grids);
	FACTS_CALL(cuGraphDestroy, graph);
}

/* Capture while another thread flushes */

struct flushes {
	atomic_bool end;
	atomic_int done, failed;
};

static void pause_ns(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

static void *keep_flushing(void *argument)
{
	struct flushes *f = argument;

	while (!f->end) {
		if (facts_cupti.handle && facts_cupti.cuptiActivityFlushAll(0) != CUPTI_SUCCESS)
			f->failed++;
		f->done++;
		pause_ns(CAPTURE_PAUSE_NS);
	}
	return NULL;
}

/* Launches into a graph with pauses between them; the first error, of them or of the end of the capture. */
static CUresult capture_slowly(CUfunction function, CUstream stream)
{
	uint64_t ns = 1000;
	void *arguments[] = {&ns};
	CUresult result = CUDA_SUCCESS, ended;
	CUgraph graph = NULL;

	FACTS_CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	for (int i = 0; i < CAPTURED && result == CUDA_SUCCESS; i++) {
		result = facts_driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
		pause_ns(CAPTURE_PAUSE_NS);
	}
	ended = facts_driver.cuStreamEndCapture(stream, &graph);
	return result ? result : ended;
}

/* Kernels in flight on a second stream give the flushes something to deliver. */
void facts_capture(const struct facts_options *options)
{
	struct flushes flushes = {0};
	CUstream stream, beside;
	CUfunction first;
	CUresult result;
	pthread_t thread;
	int count;

	facts_driver_start();
	facts_attach(options);
	facts_context();
	first = facts_function("facts_first");
	stream = facts_stream();
	beside = facts_stream();
	facts_launch(first, stream, 1, 32, 1000); /* its code is loaded now: loading would end the capture */
	FACTS_CALL(cuCtxSynchronize);
	if (pthread_create(&thread, NULL, keep_flushing, &flushes))
		facts_give_up("capture", "no thread");
	for (int i = 0; i < CAPTURED; i++)
		facts_launch(first, beside, 1, 32, CAPTURE_PAUSE_NS);
	count = flushes.done;
	result = capture_slowly(first, stream);
	count = flushes.done - count;
	flushes.end = true;
	pthread_join(thread, NULL);
	facts_say("a global capture beside flushes ends well", result == CUDA_SUCCESS, "%s after %d %s, %d failed",
		  facts_error_name(result), count, facts_cupti.handle ? "flushes" : "pauses", flushes.failed);
	facts_value("end_capture", "%s", facts_error_name(result));
	facts_value("flushes", "%d", count);
}

/* What a large graph costs */

static CUgraph chain(CUfunction function, int count)
{
	uint64_t ns = 0;
	void *arguments[] = {&ns};
	CUDA_KERNEL_NODE_PARAMS params = {.func = function,
					  .gridDimX = 1,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1,
					  .kernelParams = arguments};
	CUgraphNode node = NULL, last = NULL;
	CUgraph graph;

	FACTS_CALL(cuGraphCreate, &graph, 0);
	for (int i = 0; i < count; i++) {
		FACTS_CALL(cuGraphAddKernelNode_v2, &node, graph, last ? &last : NULL, last ? 1 : 0, &params);
		last = node;
	}
	return graph;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Launches the graph between two events, and waits for it. Returns what the launch took, in ms. The device is kept busy
 * until all are queued: between the events lies the graph's time, and not that of the call, too. */
static double cost_of_launch(CUgraphExec executable, CUfunction function, CUevent before, CUevent after,
			     float *between_ms)
{
	int64_t begin;
	double took;

	facts_launch(function, NULL, 1, 32, QUEUED_NS);
	FACTS_CALL(cuEventRecord, before, NULL);
	begin = facts_now_ns();
	FACTS_CALL(cuGraphLaunch, executable, NULL);
	took = (double)(facts_now_ns() - begin) / 1e6;
	FACTS_CALL(cuEventRecord, after, NULL);
	FACTS_CALL(cuCtxSynchronize);
	FACTS_CALL(cuEventElapsedTime, between_ms, before, after);
	return took;
}

/* With --cupti none: alone, or with whatever is preloaded. */
void facts_graph_cost(const struct facts_options *options)
{
	float between_ms[COST_LAUNCHES + 1];
	double ms[COST_LAUNCHES];
	char between[32 * (COST_LAUNCHES + 1)] = "";
	CUevent before, after;
	CUgraphExec executable;
	CUfunction function;
	CUgraph graph;
	int64_t begin;

	facts_driver_start();
	facts_attach(options);
	facts_context();
	function = facts_function("facts_first");
	graph = chain(function, options->nodes);
	begin = facts_now_ns();
	FACTS_CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
	facts_value("instantiate_ms", "%.3f", (double)(facts_now_ns() - begin) / 1e6);
	FACTS_CALL(cuEventCreate, &before, CU_EVENT_DEFAULT);
	FACTS_CALL(cuEventCreate, &after, CU_EVENT_DEFAULT);
	cost_of_launch(executable, function, before, after, &between_ms[0]); /* uploads it, too */
	for (int i = 0; i < COST_LAUNCHES; i++)
		ms[i] = cost_of_launch(executable, function, before, after, &between_ms[i + 1]);
	qsort(ms, COST_LAUNCHES, sizeof(*ms), by_value);
	facts_value("launch_ms", "%.3f", ms[COST_LAUNCHES / 2]);
	for (int i = 0; i <= COST_LAUNCHES; i++)
		snprintf(between + strlen(between), sizeof(between) - strlen(between), "%s%.4f", i ? " " : "",
			 (double)between_ms[i]);
	facts_value("between_events_ms", "%s", between); /* of each launch, the first one too */
}
