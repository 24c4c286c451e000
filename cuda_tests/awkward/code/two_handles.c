/*
 * One kernel by its two handles: a library's CUkernel, and the CUfunction of it. "kernel" or "function": which is
 * launched first; in all 10 launches by either, the last ones of each by a graph. "refused" checks that the driver
 * takes a handle of the other kind only where cuda.h says so, and launches nothing.
 */
#include "cuda_tests/awkward/awkward.h"

#include <string.h>

enum { LAUNCHES = 8 };

static struct awkward a;
static CUlibrary library;
static CUkernel kernel;
static CUfunction function;

static void launch(CUfunction handle, int times)
{
	for (int i = 0; i < times; i++) {
		a.kernel = handle;
		CHECK(awkward_launch(&a, NULL, 4));
		CHECK(cuCtxSynchronize());
	}
}

/* A node that was captured, and one that was added by the handle's own member. */
static void launch_graph(int by_kernel)
{
	int n = 5;
	void *parameters[] = {&a.memory, &n};
	CUDA_KERNEL_NODE_PARAMS node = awkward_node(&a, 4, parameters);
	CUgraphNode added;
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	node.kern = by_kernel ? kernel : NULL;
	node.func = by_kernel ? NULL : function;
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	a.kernel = by_kernel ? (CUfunction)kernel : function;
	CHECK(awkward_launch(&a, stream, 4));
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphAddKernelNode(&added, graph, NULL, 0, &node));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, stream));
	CHECK(cuStreamSynchronize(stream));
}

#define REFUSED(call)                                                                                                  \
	do {                                                                                                           \
		CUresult result_ = (call);                                                                             \
		if (result_ != CUDA_ERROR_INVALID_HANDLE)                                                              \
			printf("%s: %d\n", #call, result_);                                                            \
	} while (0)

static void refused(void)
{
	CUfunction as_function = (CUfunction)kernel, got;
	CUkernel as_kernel = (CUkernel)function;
	CUlibrary container;
	CUmodule module;
	const char *name;
	size_t offset, bytes;
	int value;

	REFUSED(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, as_function));
	REFUSED(cuFuncSetAttribute(as_function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
	REFUSED(cuFuncSetCacheConfig(as_function, CU_FUNC_CACHE_PREFER_L1));
	REFUSED(cuFuncGetName(&name, as_function));
	REFUSED(cuFuncGetModule(&module, as_function));
	REFUSED(cuFuncGetParamInfo(as_function, 0, &offset, &bytes));
	REFUSED(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, as_kernel, 0));
	REFUSED(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50, as_kernel, 0));
	REFUSED(cuKernelSetCacheConfig(as_kernel, CU_FUNC_CACHE_PREFER_L1, 0));
	REFUSED(cuKernelGetName(&name, as_kernel));
	REFUSED(cuKernelGetLibrary(&container, as_kernel));
	REFUSED(cuKernelGetParamInfo(as_kernel, 0, &offset, &bytes));
	REFUSED(cuKernelGetFunction(&got, as_kernel));
	CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, as_function, 128, 0));
	CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 128, 0));
	puts("refused");
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "kernel";

	awkward_start(&a);
	CHECK(cuLibraryLoadData(&library, awkward_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, library, "awkward"));
	if (!strcmp(first, "kernel"))
		launch((CUfunction)kernel, LAUNCHES);
	CHECK(cuKernelGetFunction(&function, kernel));
	if (!strcmp(first, "refused")) {
		refused();
		return 0;
	}
	launch(function, LAUNCHES);
	launch_graph(0);
	if (!strcmp(first, "function"))
		launch((CUfunction)kernel, LAUNCHES);
	launch_graph(1);
	return 0;
}
