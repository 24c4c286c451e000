/*
 * Functions that drivers have since CUDA 13.1, resolved as a runtime does. usage: later_calls [VERSION]
 *
 * Copies with attributes; a graph captured and captured again with other launch sizes, launched after each; launches
 * and copies captured for a graphics API, which nothing executes. Prints what the calls return and what was copied.
 */
#include "awkward.h"
#include "shim/later_driver.h"

#include <string.h>

enum { BYTES = 64, LAUNCHES = 3 };

#define STEP(call) printf("%s: %d\n", #call, call)

static int version = 13030;

static void *resolve(const char *name, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	void *address = NULL;

	if (cuGetProcAddress_v2(name, &address, version, flags, &status) || !address) {
		printf("no %s\n", name);
		exit(0);
	}
	return address;
}
#define RESOLVED(name) ((__typeof__(&name))resolve(#name, CU_GET_PROC_ADDRESS_DEFAULT))
#define RESOLVED_TWIN(name) ((__typeof__(&name))resolve(#name, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))

static void copies(struct awkward *a, CUstream stream)
{
	static char from[BYTES] = "copied with attributes", to[BYTES];
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUDA_MEMCPY3D_BATCH_OP box = {.extent = {BYTES / 4, 4, 1}, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};

	box.src.type = box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	box.src.op.ptr.ptr = a->memory;
	box.dst.op.ptr.ptr = (CUdeviceptr)(uintptr_t)to;
	STEP(
	    RESOLVED(cuMemcpyWithAttributesAsync)(a->memory, (CUdeviceptr)(uintptr_t)from, BYTES, &attributes, stream));
	STEP(RESOLVED(cuMemcpy3DWithAttributesAsync)(&box, 0, stream));
	CHECK(cuStreamSynchronize(stream));
	printf("%s\n", to);
	STEP(RESOLVED_TWIN(cuMemcpyWithAttributesAsync)(a->memory, (CUdeviceptr)(uintptr_t)from, BYTES, &attributes,
							NULL));
	STEP(RESOLVED_TWIN(cuMemcpy3DWithAttributesAsync)(&box, 0, NULL));
	STEP(RESOLVED(cuMemcpy3DWithAttributesAsync)(NULL, 0, stream));
	CHECK(cuCtxSynchronize());
}

static void capture(struct awkward *a, CUstream stream, unsigned blocks)
{
	for (unsigned i = 0; i < LAUNCHES; i++)
		CHECK(awkward_launch(a, stream, blocks + i));
}

static void launch_graph(CUgraph graph, CUstream stream)
{
	CUgraphExec exec;

	CHECK(cuGraphInstantiate(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuGraphExecDestroy(exec));
}

static void recapture(struct awkward *a, CUstream stream)
{
	CUgraph graph, again;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	capture(a, stream, 10);
	CHECK(cuStreamEndCapture(stream, &graph));
	launch_graph(graph, stream);
	STEP(RESOLVED(cuStreamBeginRecaptureToGraph)(stream, CU_STREAM_CAPTURE_MODE_RELAXED, graph, NULL, NULL));
	capture(a, stream, 20);
	STEP(cuStreamEndCapture(stream, &again));
	launch_graph(graph, stream);
}

static void for_graphics(struct awkward *a, CUstream stream)
{
	void *list[4] = {NULL};
	CUstream beside;

	CHECK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	STEP(RESOLVED(cuStreamBeginCaptureToCig)(stream, (CUstreamCigCaptureParams *)list));
	capture(a, stream, 30);
	CHECK(cuMemsetD8Async(a->memory, 0, BYTES, stream));
	CHECK(awkward_launch(a, beside, 40)); /* runs */
	STEP(RESOLVED(cuStreamEndCaptureToCig)(stream));
	STEP(RESOLVED(cuStreamEndCaptureToCig)(stream));
	CHECK(awkward_launch(a, stream, 50)); /* runs */
	CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	struct awkward a;
	CUstream stream;

	if (argc == 2)
		version = atoi(argv[1]);
	awkward_start(&a);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	copies(&a, stream);
	recapture(&a, stream);
	for_graphics(&a, stream);
	return 0;
}
