/*
 * Graphs of five kernels. Each kind is launched the same number of times per thread:
 *   captured   from two streams that fork and join
 *   explicit   nodes added one by one; between launches a node's parameters change in
 *              the executable graph, a node is disabled for a while, and the
 *              executable graph is updated from the changed graph
 *   nested     two kernels around a child graph of three
 */
#include "driver.h"

#include <string.h>

#define KERNELS 5

struct state {
	struct buffer left, right; /* branches of a graph never share a buffer */
	CUstream stream, side;
	CUevent fork, join;
	long kernels;
};

static void capture_add(struct buffer *buffer, int d, CUstream stream)
{
	void *args[] = {&buffer->device, &buffer->n, &d};

	CHECK(CALL_NTH(d, cuLaunchKernel)(driver_kernels.add, 16, 1, 1, 256, 1, 1, 0, stream, args, NULL));
}

static CUgraphNode add_node(CUgraph graph, CUgraphNode *after, size_t count, struct buffer *buffer, int d)
{
	void *args[] = {&buffer->device, &buffer->n, &d};
	CUDA_KERNEL_NODE_PARAMS params = {.func = driver_kernels.add,
					  .gridDimX = 16,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 256,
					  .blockDimY = 1,
					  .blockDimZ = 1,
					  .kernelParams = args};
	CUgraphNode node;

	CHECK(CALL(cuGraphAddKernelNode)(&node, graph, after, count, &params));
	return node;
}

static void launch(struct state *s, CUgraphExec exec, CUstream stream, int kernels, int left, int right)
{
	CHECK(CALL_NTH(s->kernels, cuGraphLaunch)(exec, stream));
	s->kernels += kernels;
	s->left.expected += left;
	s->right.expected += right;
}

static void captured(struct state *s, int launches)
{
	CUgraph graph;
	CUgraphExec exec;

	CHECK(CALL(cuStreamBeginCapture)(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	capture_add(&s->left, 1, s->stream);
	CHECK(CALL(cuEventRecord)(s->fork, s->stream));
	CHECK(CALL(cuStreamWaitEvent)(s->side, s->fork, 0));
	capture_add(&s->right, 1, s->side);
	capture_add(&s->right, 2, s->side);
	capture_add(&s->left, 2, s->stream);
	CHECK(CALL(cuEventRecord)(s->join, s->side));
	CHECK(CALL(cuStreamWaitEvent)(s->stream, s->join, 0));
	capture_add(&s->left, 3, s->stream);
	CHECK(CALL(cuStreamEndCapture)(s->stream, &graph));
	CHECK(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	CHECK(CALL(cuGraphDestroy)(graph)); /* the executable graph keeps what it needs */
	for (int i = 0; i < launches; i++)
		launch(s, exec, s->stream, KERNELS, 1 + 2 + 3, 1 + 2);
	CHECK(CALL(cuStreamSynchronize)(s->stream));
	CHECK(CALL(cuGraphExecDestroy)(exec));
}

/* Twice as many blocks, and another d. */
static CUDA_KERNEL_NODE_PARAMS other_params(void **args)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = driver_kernels.add_shared,
					 .gridDimX = 32,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 128,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .sharedMemBytes = 128 * sizeof(int),
					 .kernelParams = args};
}

static void explicit_nodes(struct state *s, int launches)
{
	int ten = 10, twenty = 20;
	void *ten_args[] = {&s->right.device, &s->right.n, &ten};
	void *twenty_args[] = {&s->left.device, &s->left.n, &twenty};
	CUDA_KERNEL_NODE_PARAMS params;
	CUgraphExecUpdateResultInfo result;
	CUgraphNode node[KERNELS];
	CUgraphExec exec;
	CUgraph graph;
	int left = 1 + 2 + 3, right = 4 + 5, kernels = KERNELS;

	CHECK(CALL(cuGraphCreate)(&graph, 0));
	node[0] = add_node(graph, NULL, 0, &s->left, 1);
	node[1] = add_node(graph, &node[0], 1, &s->right, 4);
	node[2] = add_node(graph, &node[0], 1, &s->left, 2);
	node[3] = add_node(graph, &node[1], 1, &s->right, 5);
	node[4] = add_node(graph, &node[2], 2, &s->left, 3);
	CHECK(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	for (int i = 0; i < launches; i++) {
		if (i == launches / 4) {
			params = other_params(ten_args);
			CHECK(CALL(cuGraphExecKernelNodeSetParams)(exec, node[1], &params));
			right = 10 + 5;
		} else if (i == launches / 2) {
			CHECK(CALL(cuGraphNodeSetEnabled)(exec, node[3], 0));
			right = 10;
			kernels = KERNELS - 1;
		} else if (i == launches * 3 / 4) {
			params = other_params(twenty_args);
			CHECK(CALL(cuGraphNodeSetEnabled)(exec, node[3], 1));
			CHECK(CALL(cuGraphKernelNodeSetParams)(node[4], &params));
			CHECK(CALL(cuGraphExecUpdate)(exec, graph, &result));
			left = 1 + 2 + 20;
			right = 4 + 5; /* the graph's own value again */
			kernels = KERNELS;
		}
		launch(s, exec, s->stream, kernels, left, right);
	}
	CHECK(CALL(cuStreamSynchronize)(s->stream));
	CHECK(CALL(cuGraphExecDestroy)(exec));
	CHECK(CALL(cuGraphDestroy)(graph));
}

static void nested(struct state *s, int launches)
{
	CUgraph graph, child;
	CUgraphNode first, node, inner;
	CUgraphExec exec;

	CHECK(CALL(cuGraphCreate)(&child, 0));
	inner = add_node(child, NULL, 0, &s->left, 1);
	add_node(child, &inner, 1, &s->left, 2);
	add_node(child, &inner, 1, &s->right, 3);
	CHECK(CALL(cuGraphCreate)(&graph, 0));
	first = add_node(graph, NULL, 0, &s->left, 4);
	CHECK(CALL(cuGraphAddChildGraphNode)(&node, graph, &first, 1, child));
	add_node(graph, &node, 1, &s->right, 5);
	CHECK(CALL(cuGraphDestroy)(child)); /* the node has a copy */
	CHECK(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	for (int i = 0; i < launches; i++)
		launch(s, exec, NULL, KERNELS, 1 + 2 + 4, 3 + 5);
	CHECK(CALL(cuStreamSynchronize)(NULL));
	CHECK(CALL(cuGraphExecDestroy)(exec));
	CHECK(CALL(cuGraphDestroy)(graph));
}

static long work(int launches)
{
	struct state s;

	memset(&s, 0, sizeof(s));
	driver_enter();
	buffer_make(&s.left);
	buffer_make(&s.right);
	CHECK(CALL(cuStreamCreate)(&s.stream, CU_STREAM_NON_BLOCKING));
	CHECK(CALL(cuStreamCreate)(&s.side, CU_STREAM_NON_BLOCKING));
	CHECK(CALL(cuEventCreate)(&s.fork, CU_EVENT_DISABLE_TIMING));
	CHECK(CALL(cuEventCreate)(&s.join, CU_EVENT_DISABLE_TIMING));
	captured(&s, launches);
	explicit_nodes(&s, launches);
	nested(&s, launches);
	CHECK(CALL(cuEventDestroy)(s.fork));
	CHECK(CALL(cuEventDestroy)(s.join));
	CHECK(CALL(cuStreamDestroy)(s.stream));
	CHECK(CALL(cuStreamDestroy)(s.side));
	buffer_finish(&s.left);
	buffer_finish(&s.right);
	return s.kernels;
}

int main(int argc, char **argv)
{
	driver_start();
	return program_run(argc, argv, 20, work);
}
