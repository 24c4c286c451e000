/*
 * graph_copies WHAT LAUNCHES: launches a graph so often, and waits for each launch.
 *
 * mixed    a copy of 256 bytes to the device, a kernel and a copy of 32 bytes to the host; and a child graph of a
 * memset of 128 bytes and a copy of 64 bytes within the device alone    the child graph, with no kernel changed  the
 * first; and as often again when the copy to the device is one of 512 bytes and the one to the host disabled killed the
 * first; launches it once more, and kills itself as soon as that call has returned
 */
#include "cuda_tests/awkward/awkward.h"

#include <signal.h>
#include <string.h>

enum { TO_DEVICE = 256, LATER = 512, TO_HOST = 32, SET = 128, WITHIN = 64, NODES_MAX = 8 };

static char host[LATER];

static CUgraph child_graph(struct awkward *a, CUstream stream)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(cuMemsetD8Async(a->memory, 0, SET, stream));
	CHECK(cuMemcpyDtoDAsync(a->memory + 1024, a->memory, WITHIN, stream));
	CHECK(cuStreamEndCapture(stream, &graph));
	return graph;
}

static CUgraph mixed_graph(struct awkward *a, CUstream stream)
{
	CUgraph graph, child = child_graph(a, stream);
	CUgraphNode node;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(cuMemcpyHtoDAsync(a->memory, host, TO_DEVICE, stream));
	CHECK(awkward_launch(a, stream, 4));
	CHECK(cuMemcpyDtoHAsync(host, a->memory, TO_HOST, stream));
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
	CHECK(cuGraphDestroy(child));
	return graph;
}

static void change(struct awkward *a, CUgraphExec exec, CUgraph graph)
{
	CUgraphNode nodes[NODES_MAX];
	size_t count = NODES_MAX;

	CHECK(cuGraphGetNodes(graph, nodes, &count));
	for (size_t i = 0; i < count; i++) {
		CUDA_MEMCPY3D copy;
		CUgraphNodeType type;

		CHECK(cuGraphNodeGetType(nodes[i], &type));
		if (type != CU_GRAPH_NODE_TYPE_MEMCPY)
			continue;
		CHECK(cuGraphMemcpyNodeGetParams(nodes[i], &copy));
		if (copy.WidthInBytes == TO_HOST) {
			CHECK(cuGraphNodeSetEnabled(exec, nodes[i], 0));
			continue;
		}
		copy.WidthInBytes = LATER;
		CHECK(cuGraphExecMemcpyNodeSetParams(exec, nodes[i], &copy, a->context));
	}
}

static void launch(CUgraphExec exec, CUstream stream, int times)
{
	for (int i = 0; i < times; i++) {
		CHECK(cuGraphLaunch(exec, stream));
		CHECK(cuStreamSynchronize(stream));
	}
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	struct awkward a;
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	if (argc != 3)
		return 2;
	awkward_start(&a);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	graph = strcmp(what, "alone") ? mixed_graph(&a, stream) : child_graph(&a, stream);
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	launch(exec, stream, atoi(argv[2]));
	if (!strcmp(what, "changed")) {
		change(&a, exec, graph);
		launch(exec, stream, atoi(argv[2]));
	}
	if (!strcmp(what, "killed")) {
		CHECK(cuGraphLaunch(exec, stream));
		raise(SIGKILL);
	}
	CHECK(cuGraphExecDestroy(exec));
	CHECK(cuGraphDestroy(graph));
	return 0;
}
