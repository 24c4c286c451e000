/*
 * A graph of three kernels, launched once in the range "one" and twice in "two":
 *
 *	graphs [steps]    steps: instead, as torch.profiler marks them, a launch in step 3, one and one more within the
 *	                  range "inner" in step 4, and one after them, likewise in "inner"
 */
#include "cuda_tests/awkward/awkward.h"

#include <nvtx3/nvToolsExt.h>

#include <unistd.h>

static void launch_graph(struct awkward *a)
{
	int n = 5;
	void *parameters[] = {&a->memory, &n};
	CUDA_KERNEL_NODE_PARAMS node = awkward_node(a, 4, parameters);
	CUgraphNode last = NULL;
	CUgraphExec exec;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cuGraphAddKernelNode(&last, graph, i ? &last : NULL, i != 0, &node));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	nvtxRangePushA("one");
	CHECK(cuGraphLaunch(exec, NULL));
	nvtxRangePop();
	nvtxRangePushA("two");
	for (int i = 0; i < 2; i++)
		CHECK(cuGraphLaunch(exec, NULL));
	nvtxRangePop();
}

static void launch_in_steps(struct awkward *a)
{
	nvtxRangePushA("ProfilerStep#3");
	CHECK(awkward_launch(a, NULL, 1));
	nvtxRangePop();
	nvtxRangePushA("ProfilerStep#4");
	CHECK(awkward_launch(a, NULL, 1));
	nvtxRangePushA("inner");
	CHECK(awkward_launch(a, NULL, 1));
	nvtxRangePop();
	nvtxRangePop();
	usleep(1000);
	nvtxRangePushA("inner");
	CHECK(awkward_launch(a, NULL, 1));
	nvtxRangePop();
}

int main(int argc, char **argv)
{
	struct awkward a;

	(void)argv;
	awkward_start(&a);
	if (argc > 1)
		launch_in_steps(&a);
	else
		launch_graph(&a);
	CHECK(cuCtxSynchronize());
	return 0;
}
