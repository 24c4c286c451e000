/*
 * Calls while a stream is being captured into a graph, and beside it.
 *
 *	capture errno          what each call leaves in errno
 *	capture late LIBRARY   LIBRARY calls cuInit past what is preloaded: recording begins in mid-capture
 */
#include "awkward.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { BYTES = 64, LAUNCHES = 3 };

/* A value that no call sets. */
#define STEP(call)                                                                                                     \
	do {                                                                                                           \
		CUresult result_;                                                                                      \
		errno = EXFULL;                                                                                        \
		result_ = (call);                                                                                      \
		printf("%s: %d, errno %d\n", #call, result_, errno);                                                   \
	} while (0)

static char bytes[BYTES];

static void CUDA_CB host_function(void *data)
{
	(void)data;
}

static void CUDA_CB callback(CUstream stream, CUresult result, void *data)
{
	(void)stream;
	(void)result;
	(void)data;
}

static void on_stream(struct awkward *a, CUstream stream, CUevent event)
{
	CUdeviceptr memory;

	STEP(awkward_launch(a, stream, 1));
	STEP(cuMemcpyHtoDAsync(a->memory, bytes, BYTES, stream));
	STEP(cuMemsetD8Async(a->memory, 0, BYTES, stream));
	STEP(cuLaunchHostFunc(stream, host_function, NULL));
	STEP(cuStreamAddCallback(stream, callback, NULL, 0));
	STEP(cuEventRecord(event, stream));
	STEP(cuStreamWaitEvent(stream, event, 0));
	STEP(cuMemAllocAsync(&memory, BYTES, stream));
	STEP(cuMemFreeAsync(memory, stream));
}

static void waiting(struct awkward *a, CUstream stream, CUevent event)
{
	STEP(cuStreamSynchronize(stream));
	STEP(cuEventSynchronize(event));
	STEP(cuCtxSynchronize());
	STEP(cuMemcpyHtoD(a->memory, bytes, BYTES));
	STEP(cuMemFree(a->memory));
}

static void show_errno(struct awkward *a)
{
	CUstream captured, other, third;
	CUevent first, second;
	CUgraphExec exec;
	CUgraph graph;

	STEP(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
	STEP(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
	STEP(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&first, 0));
	CHECK(cuEventCreate(&second, 0));
	on_stream(a, NULL, first);
	STEP(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
	on_stream(a, captured, first);
	on_stream(a, other, second);
	STEP(cuStreamEndCapture(captured, &graph));
	STEP(cuGraphInstantiate(&exec, graph, 0));
	STEP(cuGraphLaunch(exec, other));
	waiting(a, other, second);
	STEP(cuGraphExecDestroy(exec));
	STEP(cuStreamDestroy(third));
}

static void record_late(struct awkward *a)
{
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(awkward_launch(a, stream, 1));
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 2; i++)
		CHECK(cuGraphLaunch(exec, stream));
	CHECK(awkward_launch(a, stream, 1));
	CHECK(cuStreamSynchronize(stream));
}

static void init_past(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	int (*init)(void) = library ? (int (*)(void))dlsym(library, "plugin_init") : NULL;

	CHECK(init ? (CUresult)init() : CUDA_ERROR_NOT_FOUND);
}

int main(int argc, char **argv)
{
	struct awkward a;

	if (argc == 3 && !strcmp(argv[1], "late")) {
		init_past(argv[2]);
		awkward_load(&a);
		record_late(&a);
	} else {
		awkward_start(&a);
		show_errno(&a);
	}
	return 0;
}
