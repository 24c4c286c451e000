#include "work.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

static cudaKernel_t kernel;
static void *memory;

struct stream {
	cudaStream_t stream;
	cudaGraphExec_t graph;
};

void work_start(const char *name)
{
	char *ptx = work_ptx(name);
	cudaLibrary_t library;

	CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cudaLibraryGetKernel(&kernel, library, name));
	CHECK(cudaMalloc(&memory, 4096));
	free(ptx);
}

void work_enter(void)
{
	CHECK(cudaSetDevice(0));
}

static cudaGraphExec_t make_graph(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t made;
	cudaGraphNode_t before = NULL;
	int n = 5;
	void *parameters[] = {&memory, &n};

	CHECK(cudaGraphCreate(&graph, 0));
	for (unsigned i = 0; i < WORK_NODES; i++) {
		struct cudaKernelNodeParams node = {.func = (void *)kernel,
						    .gridDim = {i + 1, 2, 1},
						    .blockDim = {128, 1, 1},
						    .kernelParams = parameters};

		CHECK(cudaGraphAddKernelNode(&before, graph, i ? &before : NULL, i ? 1 : 0, &node));
	}
	CHECK(cudaGraphInstantiate(&made, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return made;
}

void *work_stream(void)
{
	struct stream *made = calloc(1, sizeof(*made));

	if (!made)
		work_fail("calloc", 0);
	CHECK(cudaStreamCreateWithFlags(&made->stream, cudaStreamNonBlocking));
	made->graph = make_graph();
	return made;
}

void work_launch(void *stream, uint64_t i)
{
	int n = 5;
	void *parameters[] = {&memory, &n};

	CHECK(cudaLaunchKernel((const void *)kernel, (dim3){(unsigned)(i % WORK_GRIDS) + 1, 1, 1}, (dim3){128, 1, 1},
			       parameters, 0, ((struct stream *)stream)->stream));
}

void work_launch_graph(void *stream)
{
	CHECK(cudaGraphLaunch(((struct stream *)stream)->graph, ((struct stream *)stream)->stream));
}

void work_wait(void *stream)
{
	CHECK(cudaStreamSynchronize(((struct stream *)stream)->stream));
}
