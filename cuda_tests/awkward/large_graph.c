/*
 * A large graph: what building, instantiating, changing and launching it costs the calling thread.
 *
 *	large_graph captured|added NODES LAUNCHES [ahead|killed]
 *
 * A chain of kernel nodes of three sizes, from a capture or added one by one; in a captured one a copy comes first
 * and a memset last; NODES may be 0 there. Every node is changed once. Prints CPU time of the thread in ns, of
 * launches the least. It waits for each launch or, ahead, for all of them together, each in a stream of its own.
 * Killed: it launches once more, and kills itself as soon as that call has returned.
 */
#include "awkward.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { BYTES = 64, SIZES = 3 };

static char bytes[BYTES];

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static CUgraph captured(struct awkward *a, CUstream stream, unsigned nodes)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(cuMemcpyHtoDAsync(a->memory, bytes, BYTES, stream));
	for (unsigned i = 0; i < nodes; i++)
		CHECK(awkward_launch(a, stream, 1 + i % SIZES));
	CHECK(cuMemsetD8Async(a->memory, 0, BYTES, stream));
	CHECK(cuStreamEndCapture(stream, &graph));
	return graph;
}

static CUgraph added(struct awkward *a, unsigned nodes)
{
	int n = 5;
	void *parameters[] = {&a->memory, &n};
	CUgraphNode node = NULL;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < nodes; i++) {
		CUDA_KERNEL_NODE_PARAMS params = awkward_node(a, 1 + i % SIZES, parameters);
		CUgraphNode before = node;

		CHECK(cuGraphAddKernelNode(&node, graph, &before, before != NULL, &params));
	}
	return graph;
}

/* Each kernel node is given what it has. */
static void change(struct awkward *a, CUgraphExec exec, CUgraph graph)
{
	int n = 5;
	void *parameters[] = {&a->memory, &n};
	size_t count;
	CUgraphNode *nodes;
	unsigned kernels = 0;

	CHECK(cuGraphGetNodes(graph, NULL, &count));
	nodes = malloc(count * sizeof(*nodes));
	if (!nodes)
		exit(3);
	CHECK(cuGraphGetNodes(graph, nodes, &count));
	for (size_t i = 0; i < count; i++) {
		CUDA_KERNEL_NODE_PARAMS params = awkward_node(a, 1 + kernels % SIZES, parameters);
		CUgraphNodeType type;

		CHECK(cuGraphNodeGetType(nodes[i], &type));
		if (type != CU_GRAPH_NODE_TYPE_KERNEL)
			continue;
		CHECK(cuGraphExecKernelNodeSetParams(exec, nodes[i], &params));
		kernels++;
	}
	free(nodes);
}

static long long launches(CUgraphExec exec, CUstream stream, int count)
{
	long long least = 0;

	for (int i = 0; i < count; i++) {
		long long began = cpu_ns(), took;

		CHECK(cuGraphLaunch(exec, stream));
		took = cpu_ns() - began;
		if (!i || took < least)
			least = took;
		CHECK(cuStreamSynchronize(stream));
	}
	return least;
}

static void launches_ahead(CUgraphExec exec, int count)
{
	CUstream stream;

	for (int i = 0; i < count; i++) {
		CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		CHECK(cuGraphLaunch(exec, stream));
	}
	CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	unsigned nodes = argc >= 4 ? (unsigned)atoi(argv[2]) : 0;
	long long began, built, instantiated, changed;
	struct awkward a;
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	if (!nodes && (argc < 4 || strcmp(argv[1], "captured")))
		return 2;
	awkward_start(&a);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	began = cpu_ns();
	graph = strcmp(argv[1], "captured") ? added(&a, nodes) : captured(&a, stream, nodes);
	built = cpu_ns();
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	instantiated = cpu_ns();
	change(&a, exec, graph);
	changed = cpu_ns();
	printf("build %lld\ninstantiate %lld\nchange %lld\n", built - began, instantiated - built,
	       changed - instantiated);
	if (argc == 5 && !strcmp(argv[4], "ahead"))
		launches_ahead(exec, atoi(argv[3]));
	else
		printf("launch %lld\n", launches(exec, stream, atoi(argv[3])));
	if (argc == 5 && !strcmp(argv[4], "killed")) {
		CHECK(cuGraphLaunch(exec, stream));
		raise(SIGKILL);
	}
	began = cpu_ns();
	CHECK(cuGraphExecDestroy(exec));
	CHECK(cuGraphDestroy(graph));
	printf("destroy %lld\n", cpu_ns() - began);
	return 0;
}
