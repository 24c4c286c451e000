/*
 * Programmatic dependent launch: in one stream pairs of kernels, the second of which may begin before the first has
 * ended. usage: dependent stream|graph ROUNDS
 */
#include "awkward.h"

#include <string.h>

static void pair(struct awkward *a, CUstream stream)
{
	int n = 5;
	void *parameters[] = {&a->memory, &n};
	CUlaunchAttribute attributes[] = {
	    {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = 0},
	    {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
	     .value.programmaticStreamSerializationAllowed = 1},
	};
	CUlaunchConfig config = {.gridDimX = 64,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 128,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .hStream = stream,
				 .attrs = attributes,
				 .numAttrs = 2};

	CHECK(awkward_launch(a, stream, 32));
	CHECK(cuLaunchKernelEx(&config, a->kernel, parameters, NULL));
}

static CUgraphExec captured(struct awkward *a, CUstream stream)
{
	CUgraphExec exec;
	CUgraph graph;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	pair(a, stream);
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

int main(int argc, char **argv)
{
	CUgraphExec exec = NULL;
	struct awkward a;
	CUstream stream;

	if (argc != 3)
		return 2;
	awkward_start(&a);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	if (!strcmp(argv[1], "graph"))
		exec = captured(&a, stream);
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (exec)
			CHECK(cuGraphLaunch(exec, stream));
		else
			pair(&a, stream);
		CHECK(cuStreamSynchronize(stream));
	}
	puts("done");
	return 0;
}
