/*
 * Graphs of five kernels. Each kind is launched the same number of times per thread:
 *   captured   from two streams that fork and join
 *   explicit   nodes added one by one; between launches a node's parameters change in
 *              the executable graph, a node is disabled for a while, and the
 *              executable graph is updated from the changed graph
 *   nested     two kernels around a child graph of three
 */
#include "kernels.h"
#include "runtime.h"

#include <string.h>

#define KERNELS 5

struct state {
	struct buffer left, right; /* branches of a graph never share a buffer */
	cudaStream_t stream, side;
	cudaEvent_t fork, join;
	long kernels;
};

static void capture_add(struct buffer *buffer, int d, cudaStream_t stream)
{
	void *args[] = {&buffer->device, &buffer->n, &d};

	CHECK(cudaLaunchKernel((const void *)add, (dim3){16, 1, 1}, (dim3){256, 1, 1}, args, 0, stream));
}

static cudaGraphNode_t add_node(cudaGraph_t graph, cudaGraphNode_t *after, size_t count, struct buffer *buffer, int d)
{
	void *args[] = {&buffer->device, &buffer->n, &d};
	struct cudaKernelNodeParams params = {(void *)add, {16, 1, 1}, {256, 1, 1}, 0, args, NULL};
	cudaGraphNode_t node;

	CHECK(cudaGraphAddKernelNode(&node, graph, after, count, &params));
	return node;
}

static void launch(struct state *s, cudaGraphExec_t exec, cudaStream_t stream, int kernels, int left, int right)
{
	CHECK(cudaGraphLaunch(exec, stream));
	s->kernels += kernels;
	s->left.expected += left;
	s->right.expected += right;
}

static void captured(struct state *s, int launches)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
	capture_add(&s->left, 1, s->stream);
	CHECK(cudaEventRecord(s->fork, s->stream));
	CHECK(cudaStreamWaitEvent(s->side, s->fork, 0));
	capture_add(&s->right, 1, s->side);
	capture_add(&s->right, 2, s->side);
	capture_add(&s->left, 2, s->stream);
	CHECK(cudaEventRecord(s->join, s->side));
	CHECK(cudaStreamWaitEvent(s->stream, s->join, 0));
	capture_add(&s->left, 3, s->stream);
	CHECK(cudaStreamEndCapture(s->stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph)); /* the executable graph keeps what it needs */
	for (int i = 0; i < launches; i++)
		launch(s, exec, s->stream, KERNELS, 1 + 2 + 3, 1 + 2);
	CHECK(cudaStreamSynchronize(s->stream));
	CHECK(cudaGraphExecDestroy(exec));
}

/* Twice as many blocks, and another d. */
static struct cudaKernelNodeParams other_params(void **args)
{
	return (struct cudaKernelNodeParams){(void *)add_shared, {32, 1, 1}, {128, 1, 1},
					     128 * sizeof(int),  args,       NULL};
}

static void explicit_nodes(struct state *s, int launches)
{
	int ten = 10, twenty = 20;
	void *ten_args[] = {&s->right.device, &s->right.n, &ten};
	void *twenty_args[] = {&s->left.device, &s->left.n, &twenty};
	struct cudaKernelNodeParams params;
	cudaGraphExecUpdateResultInfo result;
	cudaGraphNode_t node[KERNELS];
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	int left = 1 + 2 + 3, right = 4 + 5, kernels = KERNELS;

	CHECK(cudaGraphCreate(&graph, 0));
	node[0] = add_node(graph, NULL, 0, &s->left, 1);
	node[1] = add_node(graph, &node[0], 1, &s->right, 4);
	node[2] = add_node(graph, &node[0], 1, &s->left, 2);
	node[3] = add_node(graph, &node[1], 1, &s->right, 5);
	node[4] = add_node(graph, &node[2], 2, &s->left, 3);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < launches; i++) {
		if (i == launches / 4) {
			params = other_params(ten_args);
			CHECK(cudaGraphExecKernelNodeSetParams(exec, node[1], &params));
			right = 10 + 5;
		} else if (i == launches / 2) {
			CHECK(cudaGraphNodeSetEnabled(exec, node[3], 0));
			right = 10;
			kernels = KERNELS - 1;
		} else if (i == launches * 3 / 4) {
			params = other_params(twenty_args);
			CHECK(cudaGraphNodeSetEnabled(exec, node[3], 1));
			CHECK(cudaGraphKernelNodeSetParams(node[4], &params));
			CHECK(cudaGraphExecUpdate(exec, graph, &result));
			left = 1 + 2 + 20;
			right = 4 + 5; /* the graph's own value again */
			kernels = KERNELS;
		}
		launch(s, exec, s->stream, kernels, left, right);
	}
	CHECK(cudaStreamSynchronize(s->stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

static void nested(struct state *s, int launches)
{
	cudaGraph_t graph, child;
	cudaGraphNode_t first, node, inner;
	cudaGraphExec_t exec;

	CHECK(cudaGraphCreate(&child, 0));
	inner = add_node(child, NULL, 0, &s->left, 1);
	add_node(child, &inner, 1, &s->left, 2);
	add_node(child, &inner, 1, &s->right, 3);
	CHECK(cudaGraphCreate(&graph, 0));
	first = add_node(graph, NULL, 0, &s->left, 4);
	CHECK(cudaGraphAddChildGraphNode(&node, graph, &first, 1, child));
	add_node(graph, &node, 1, &s->right, 5);
	CHECK(cudaGraphDestroy(child)); /* the node has a copy */
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < launches; i++)
		launch(s, exec, NULL, KERNELS, 1 + 2 + 4, 3 + 5);
	CHECK(cudaStreamSynchronize(NULL));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

static long work(int launches)
{
	struct state s;

	memset(&s, 0, sizeof(s));
	buffer_make(&s.left);
	buffer_make(&s.right);
	CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&s.side, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&s.fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&s.join, cudaEventDisableTiming));
	captured(&s, launches);
	explicit_nodes(&s, launches);
	nested(&s, launches);
	CHECK(cudaEventDestroy(s.fork));
	CHECK(cudaEventDestroy(s.join));
	CHECK(cudaStreamDestroy(s.stream));
	CHECK(cudaStreamDestroy(s.side));
	buffer_finish(&s.left);
	buffer_finish(&s.right);
	return s.kernels;
}

int main(int argc, char **argv)
{
	return program_run(argc, argv, 20, work);
}
