/* Calls of the simulated driver whose effect is seen without a kernel: virtual memory, user objects, what is not
 * supported. */
#include "cuda_tests/simcuda/simcuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include <cuda.h>

#define BYTES (4 * 1024 * 1024)

static int begin(void **state)
{
	CUcontext context;

	(void)state;
	return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static size_t used(void)
{
	size_t free_bytes = 0, total = 0;

	assert_int_equal(cuMemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
	return total - free_bytes;
}

/* One memory at two addresses; it is freed by the last of handle and mappings, cuMemRelease(). */
static void test_memory_is_mapped_twice(void **state)
{
	CUmemAllocationProp of_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemAccessDesc all = {.location = of_device.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle memory;
	CUdeviceptr address;
	size_t unit = 0, before = used();
	uint32_t value = 0;

	(void)state;
	assert_int_equal(cuMemGetAllocationGranularity(&unit, &of_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
			 CUDA_SUCCESS);
	assert_int_equal(BYTES % unit, 0);
	assert_int_equal(cuMemCreate(&memory, BYTES + 1, &of_device, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemCreate(&memory, BYTES, &of_device, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemAddressReserve(&address, 2 * BYTES, 0, 0, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(address, BYTES, 0, memory, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(address, BYTES, 0, memory, 0), CUDA_ERROR_INVALID_VALUE); /* mapped already */
	assert_int_equal(cuMemMap(address + BYTES, BYTES, 0, memory, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemSetAccess(address, 2 * BYTES, &all, 1), CUDA_SUCCESS);
	assert_int_equal(cuMemsetD32(address, 4711, 1), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyDtoH(&value, address + BYTES, sizeof(value)), CUDA_SUCCESS);
	assert_int_equal(value, 4711);
	assert_int_equal(cuMemRelease(memory), CUDA_SUCCESS);
	assert_int_equal(cuMemUnmap(address, BYTES), CUDA_SUCCESS);
	assert_int_equal(used() - before, BYTES);
	assert_int_equal(cuMemAddressFree(address, 2 * BYTES), CUDA_ERROR_INVALID_VALUE); /* still mapped in part */
	assert_int_equal(cuMemUnmap(address + BYTES, BYTES), CUDA_SUCCESS);
	assert_int_equal(used() - before, 0);
	assert_int_equal(cuMemAddressFree(address, 2 * BYTES), CUDA_SUCCESS);
}

static void CUDA_CB count(void *calls)
{
	++*(int *)calls;
}

/* A graph and what was instantiated from it hold references of their own, cuGraphRetainUserObject(). */
static void test_graphs_keep_user_objects(void **state)
{
	CUuserObject object;
	CUgraphExec exec;
	CUgraph graph;
	int destroyed = 0;

	(void)state;
	assert_int_equal(cuUserObjectCreate(&object, &destroyed, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
			 CUDA_SUCCESS);
	assert_int_equal(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
	assert_int_equal(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
	assert_int_equal(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
	assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
	assert_int_equal(destroyed, 0);
	assert_int_equal(cuGraphExecDestroy(exec), CUDA_SUCCESS);
	assert_int_equal(destroyed, 1);
}

/* More blocks than there is room for, in two streams: alone each would take milliseconds more, and together longer. */
static void test_a_kernel_is_played_as_it_was_recorded(void **state)
{
	static const char text[] =
	    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";
	CUfunction kernel;
	CUmodule module;
	CUstream stream[2];
	CUevent event[2];
	float ms = 0;

	(void)state;
	assert_int_equal(cuModuleLoadData(&module, text), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&kernel, module, "nothing"), CUDA_SUCCESS);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
		assert_int_equal(cuEventCreate(&event[i], 0), CUDA_SUCCESS);
	}
	simcuda_play(20000000, 5000000); /* starts 20 ms after its call, so that all else has been called by then */
	assert_int_equal(cuLaunchKernel(kernel, 100000, 1, 1, 1024, 1, 1, 0, stream[0], NULL, NULL), CUDA_SUCCESS);
	assert_int_equal(cuEventRecord(event[0], stream[0]), CUDA_SUCCESS);
	simcuda_play(0, 3000000);
	assert_int_equal(cuLaunchKernel(kernel, 100000, 1, 1, 1024, 1, 1, 0, stream[0], NULL, NULL), CUDA_SUCCESS);
	assert_int_equal(cuEventRecord(event[1], stream[0]), CUDA_SUCCESS);
	simcuda_play(0, 30000000);
	assert_int_equal(cuLaunchKernel(kernel, 100000, 1, 1, 1024, 1, 1, 0, stream[1], NULL, NULL), CUDA_SUCCESS);
	assert_int_equal(cuCtxSynchronize(), CUDA_SUCCESS);
	assert_int_equal(cuEventElapsedTime(&ms, event[0], event[1]), CUDA_SUCCESS);
	assert_float_equal(ms, 3, 0.001);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cuEventDestroy(event[i]), CUDA_SUCCESS);
		assert_int_equal(cuStreamDestroy(stream[i]), CUDA_SUCCESS);
	}
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
}

static void test_what_is_not_supported_says_so(void **state)
{
	CUipcMemHandle handle;

	(void)state;
	assert_int_equal(cuIpcGetMemHandle(&handle, 0), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_memory_is_mapped_twice),
	    cmocka_unit_test(test_graphs_keep_user_objects),
	    cmocka_unit_test(test_a_kernel_is_played_as_it_was_recorded),
	    cmocka_unit_test(test_what_is_not_supported_says_so),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
