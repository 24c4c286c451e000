/* Calls of the simulated driver whose effect is seen without a kernel: virtual memory, user objects, arrays and
 * textures, calls of CUDA 3.2, what is not supported. */
#include "cuda_tests/simcuda/simcuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include <cuda.h>
#include <cupti_activity.h>

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

/* 3 rows of 5 elements of two 16-bit components, of which the middle part goes there and back by each way. */
static void test_arrays_keep_what_is_copied(void **state)
{
	enum { WIDTH = 5, ROWS = 3, ELEMENT = 4 };
	CUDA_ARRAY_DESCRIPTOR wanted = {.Width = WIDTH, .Height = ROWS, .Format = CU_AD_FORMAT_HALF, .NumChannels = 2};
	CUDA_ARRAY_DESCRIPTOR got;
	uint8_t host[ROWS][WIDTH * ELEMENT], back[ROWS][WIDTH * ELEMENT] = {{0}}, line[WIDTH * ELEMENT] = {0};
	CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = host,
			    .srcPitch = sizeof(host[0]),
			    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			    .WidthInBytes = sizeof(host[0]),
			    .Height = ROWS};
	CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
			     .srcXInBytes = ELEMENT,
			     .srcY = 1,
			     .dstMemoryType = CU_MEMORYTYPE_HOST,
			     .dstHost = back,
			     .dstPitch = sizeof(back[0]),
			     .WidthInBytes = 2 * ELEMENT,
			     .Height = 2};
	CUarray array, row;
	CUdeviceptr memory;
	size_t before = used();

	(void)state;
	for (size_t i = 0; i < sizeof(host); i++)
		((uint8_t *)host)[i] = (uint8_t)(i + 1);
	assert_int_equal(cuArrayCreate(&array, &wanted), CUDA_SUCCESS);
	assert_int_equal(used() - before, ROWS * WIDTH * ELEMENT);
	assert_int_equal(cuArrayGetDescriptor(&got, array), CUDA_SUCCESS);
	assert_int_equal(got.Height, ROWS);
	assert_int_equal(got.Format, CU_AD_FORMAT_HALF);
	in.dstArray = out.srcArray = array;
	assert_int_equal(cuMemcpy2D(&in), CUDA_SUCCESS);
	assert_int_equal(cuMemcpy2D(&out), CUDA_SUCCESS);
	for (int y = 0; y < 2; y++)
		assert_memory_equal(back[y], &host[1 + y][ELEMENT], 2 * ELEMENT);
	assert_int_equal(back[0][2 * ELEMENT], 0);
	out.srcXInBytes = 1; /* not the beginning of an element */
	assert_int_equal(cuMemcpy2D(&out), CUDA_ERROR_INVALID_VALUE);
	out.srcXInBytes = (WIDTH - 1) * ELEMENT; /* two elements do not fit */
	assert_int_equal(cuMemcpy2D(&out), CUDA_ERROR_INVALID_VALUE);
	out.srcXInBytes = 0;
	out.srcY = 2; /* nor do two rows */
	assert_int_equal(cuMemcpy2D(&out), CUDA_ERROR_INVALID_VALUE);

	/* By the calls for arrays of one dimension: into the array from the host, another array, the device, and back.
	 */
	wanted.Height = 0;
	assert_int_equal(cuArrayCreate(&row, &wanted), CUDA_SUCCESS);
	assert_int_equal(cuMemAlloc(&memory, WIDTH * ELEMENT), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyHtoA(row, 0, host[2], ELEMENT), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyAtoA(row, ELEMENT, array, 2 * ELEMENT, 2 * ELEMENT), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyHtoAAsync(row, 3 * ELEMENT, host[1], 2 * ELEMENT, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyAtoD(memory, row, 0, WIDTH * ELEMENT), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyDtoA(row, 0, memory + ELEMENT, ELEMENT), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyAtoHAsync(line, row, 0, WIDTH * ELEMENT, 0), CUDA_SUCCESS);
	assert_int_equal(cuCtxSynchronize(), CUDA_SUCCESS);
	assert_memory_equal(line, &host[0][2 * ELEMENT], ELEMENT);
	assert_memory_equal(line + ELEMENT, &host[0][2 * ELEMENT], 2 * ELEMENT);
	assert_memory_equal(line + 3 * ELEMENT, host[1], 2 * ELEMENT);
	assert_int_equal(cuMemcpyHtoA(row, 0, host, (WIDTH + 1) * ELEMENT), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree(memory), CUDA_SUCCESS);
	assert_int_equal(cuArrayDestroy(row), CUDA_SUCCESS);
	assert_int_equal(cuArrayDestroy(array), CUDA_SUCCESS);
	assert_int_equal(used(), before);
}

struct copies {
	uint32_t kinds[8];
	size_t count;
};

static void note(void *copies_, const struct simcuda_activity *activity)
{
	struct copies *copies = copies_;

	copies->kinds[copies->count++ % 8] = activity->copy_kind;
}

static void test_activities_tell_arrays_from_memory(void **state)
{
	static const uint32_t kinds[] = {CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA,
					 CUPTI_ACTIVITY_MEMCPY_KIND_ATOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA,
					 CUPTI_ACTIVITY_MEMCPY_KIND_ATOH};
	CUDA_ARRAY_DESCRIPTOR wanted = {.Width = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	struct copies copies = {.count = 0};
	struct simcuda_sink sink = {.user = &copies, .ended = note};
	uint8_t host[8] = {0};
	CUdeviceptr memory;
	CUarray array;

	(void)state;
	assert_int_equal(cuArrayCreate(&array, &wanted), CUDA_SUCCESS);
	assert_int_equal(cuMemAlloc(&memory, sizeof(host)), CUDA_SUCCESS);
	simcuda_subscribe(&sink);
	simcuda_collect(SIMCUDA_MEMCPY);
	assert_int_equal(cuMemcpyHtoA(array, 0, host, sizeof(host)), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyAtoA(array, 0, array, 4, 4), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyAtoD(memory, array, 0, sizeof(host)), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyDtoA(array, 0, memory, sizeof(host)), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyAtoH(host, array, 0, sizeof(host)), CUDA_SUCCESS);
	simcuda_collect(0);
	simcuda_subscribe(NULL);
	assert_int_equal(copies.count, 5);
	assert_memory_equal(copies.kinds, kinds, sizeof(kinds));
	assert_int_equal(cuMemFree(memory), CUDA_SUCCESS);
	assert_int_equal(cuArrayDestroy(array), CUDA_SUCCESS);
}

struct shape {
	CUDA_ARRAY3D_DESCRIPTOR wanted;
	CUresult result;
};

/* cuda.h, cuArray3DCreate */
static void test_arrays_have_the_documented_shapes(void **state)
{
	enum { L = CUDA_ARRAY3D_LAYERED, CUBE = CUDA_ARRAY3D_CUBEMAP };
	const CUarray_format BYTE = CU_AD_FORMAT_UNSIGNED_INT8;
	const struct shape shapes[] = {
	    {{8, 0, 0, BYTE, 1, 0}, CUDA_SUCCESS},                /* 1D */
	    {{8, 4, 2, BYTE, 4, 0}, CUDA_SUCCESS},                /* 3D */
	    {{8, 0, 3, BYTE, 1, L}, CUDA_SUCCESS},                /* 1D, layered */
	    {{8, 8, 6, BYTE, 1, CUBE}, CUDA_SUCCESS},             /* cubemap */
	    {{8, 8, 12, BYTE, 1, CUBE | L}, CUDA_SUCCESS},        /* two of them */
	    {{0, 4, 0, BYTE, 1, 0}, CUDA_ERROR_INVALID_VALUE},    /* no width */
	    {{8, 0, 3, BYTE, 1, 0}, CUDA_ERROR_INVALID_VALUE},    /* a depth without a height */
	    {{8, 4, 0, BYTE, 3, 0}, CUDA_ERROR_INVALID_VALUE},    /* 1, 2 or 4 channels */
	    {{8, 4, 6, BYTE, 1, CUBE}, CUDA_ERROR_INVALID_VALUE}, /* faces that are no squares */
	    {{8, 8, 12, BYTE, 1, CUBE}, CUDA_ERROR_INVALID_VALUE},
	    {{8, 8, 0, CU_AD_FORMAT_NV12, 1, 0}, CUDA_ERROR_NOT_SUPPORTED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		CUarray array;

		assert_int_equal(cuArray3DCreate(&array, &shapes[i].wanted), shapes[i].result);
		if (!shapes[i].result)
			assert_int_equal(cuArrayDestroy(array), CUDA_SUCCESS);
	}
}

/* A copy of a graph tells its array and the place in it, and makes it when the graph is launched. */
static void test_graphs_copy_into_arrays(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR wanted = {
	    .Width = 4, .Height = 4, .Depth = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	uint8_t host[2] = {7, 9}, back[2] = {0};
	CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			     .srcHost = host,
			     .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			     .dstXInBytes = 1,
			     .dstY = 2,
			     .dstZ = 3,
			     .WidthInBytes = 2,
			     .Height = 1,
			     .Depth = 1};
	CUDA_MEMCPY3D told;
	CUcontext context;
	CUgraphExec exec;
	CUgraphNode node;
	CUgraph graph;

	(void)state;
	assert_int_equal(cuCtxGetCurrent(&context), CUDA_SUCCESS);
	assert_int_equal(cuArray3DCreate(&box.dstArray, &wanted), CUDA_SUCCESS);
	assert_int_equal(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
	assert_int_equal(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, context), CUDA_SUCCESS);
	assert_int_equal(cuGraphMemcpyNodeGetParams(node, &told), CUDA_SUCCESS);
	assert_int_equal(told.dstMemoryType, CU_MEMORYTYPE_ARRAY);
	assert_ptr_equal(told.dstArray, box.dstArray);
	assert_int_equal(told.dstXInBytes, 1);
	assert_int_equal(told.dstY, 2);
	assert_int_equal(told.dstZ, 3);
	assert_int_equal(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
	assert_int_equal(cuGraphLaunch(exec, 0), CUDA_SUCCESS);
	box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	box.srcArray = box.dstArray;
	box.srcXInBytes = 1;
	box.srcY = 2;
	box.srcZ = 3;
	box.dstMemoryType = CU_MEMORYTYPE_HOST;
	box.dstHost = back;
	box.dstXInBytes = box.dstY = box.dstZ = 0;
	assert_int_equal(cuMemcpy3D(&box), CUDA_SUCCESS);
	assert_memory_equal(back, host, sizeof(host));
	assert_int_equal(cuGraphExecDestroy(exec), CUDA_SUCCESS);
	assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
	assert_int_equal(cuArrayDestroy(box.srcArray), CUDA_SUCCESS);
}

static void test_textures_tell_what_they_were_made_of(void **state)
{
	CUDA_ARRAY_DESCRIPTOR wanted = {.Width = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY}, got = {0};
	CUDA_RESOURCE_VIEW_DESC view;
	CUDA_TEXTURE_DESC sampling = {.filterMode = CU_TR_FILTER_MODE_LINEAR}, sampled = {0};
	CUtexObject texture;
	CUsurfObject surface;
	CUdeviceptr memory;

	(void)state;
	assert_int_equal(cuTexObjectCreate(&texture, &resource, &sampling, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuArrayCreate(&resource.res.array.hArray, &wanted), CUDA_SUCCESS);
	assert_int_equal(cuTexObjectCreate(&texture, &resource, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuTexObjectCreate(&texture, &resource, &sampling, NULL), CUDA_SUCCESS);
	assert_int_equal(cuTexObjectGetResourceDesc(&got, texture), CUDA_SUCCESS);
	assert_ptr_equal(got.res.array.hArray, resource.res.array.hArray);
	assert_int_equal(cuTexObjectGetTextureDesc(&sampled, texture), CUDA_SUCCESS);
	assert_int_equal(sampled.filterMode, CU_TR_FILTER_MODE_LINEAR);
	assert_int_equal(cuTexObjectGetResourceViewDesc(&view, texture), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuSurfObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuTexObjectDestroy(texture), CUDA_SUCCESS);
	assert_int_equal(cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
	assert_int_equal(cuSurfObjectDestroy(surface), CUDA_SUCCESS);
	assert_int_equal(cuArrayDestroy(resource.res.array.hArray), CUDA_SUCCESS);

	assert_int_equal(cuMemAlloc(&memory, 1024), CUDA_SUCCESS);
	resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR};
	resource.res.linear.devPtr = memory;
	resource.res.linear.format = CU_AD_FORMAT_FLOAT;
	resource.res.linear.numChannels = 1;
	resource.res.linear.sizeInBytes = 2048;
	assert_int_equal(cuTexObjectCreate(&texture, &resource, &sampling, NULL), CUDA_ERROR_INVALID_VALUE);
	resource.res.linear.sizeInBytes = 1024;
	assert_int_equal(cuTexObjectCreate(&texture, &resource, &sampling, NULL), CUDA_SUCCESS);
	assert_int_equal(cuTexObjectDestroy(texture), CUDA_SUCCESS);
	assert_int_equal(cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_VALUE); /* only of an array */
	assert_int_equal(cuMemFree(memory), CUDA_SUCCESS);
}

/* cuda.h hides these names behind those of CUDA 4.0; programs that ask for them by dlsym() get them. */
static void test_objects_are_destroyed_by_the_calls_of_cuda_3(void **state)
{
	static const char *const names[] = {"cuEventDestroy", "cuStreamDestroy", "cuCtxDestroy"};
	CUresult (*destroy[3])(void *);
	CUcontext before, context;
	CUstream stream;
	CUevent event;

	(void)state;
	for (int i = 0; i < 3; i++) {
		*(void **)&destroy[i] = dlsym(RTLD_DEFAULT, names[i]);
		assert_non_null(destroy[i]);
	}
	assert_int_equal(cuCtxGetCurrent(&before), CUDA_SUCCESS);
	assert_int_equal(cuCtxCreate(&context, NULL, 0, 0), CUDA_SUCCESS);
	assert_int_equal(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	assert_int_equal(cuEventCreate(&event, 0), CUDA_SUCCESS);
	assert_int_equal(destroy[0](event), CUDA_SUCCESS);
	assert_int_equal(destroy[1](stream), CUDA_SUCCESS);
	assert_int_equal(destroy[2](context), CUDA_SUCCESS);
	assert_int_equal(cuCtxGetCurrent(&context), CUDA_SUCCESS);
	assert_ptr_equal(context, before);
}

static void test_what_is_not_supported_says_so(void **state)
{
	CUmipmappedArray mipmapped;
	CUexternalMemory memory;
	CUipcMemHandle handle;

	(void)state;
	assert_int_equal(cuIpcGetMemHandle(&handle, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuMipmappedArrayCreate(&mipmapped, NULL, 1), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuImportExternalMemory(&memory, NULL), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_memory_is_mapped_twice),
	    cmocka_unit_test(test_graphs_keep_user_objects),
	    cmocka_unit_test(test_a_kernel_is_played_as_it_was_recorded),
	    cmocka_unit_test(test_arrays_keep_what_is_copied),
	    cmocka_unit_test(test_activities_tell_arrays_from_memory),
	    cmocka_unit_test(test_arrays_have_the_documented_shapes),
	    cmocka_unit_test(test_graphs_copy_into_arrays),
	    cmocka_unit_test(test_textures_tell_what_they_were_made_of),
	    cmocka_unit_test(test_objects_are_destroyed_by_the_calls_of_cuda_3),
	    cmocka_unit_test(test_what_is_not_supported_says_so),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
