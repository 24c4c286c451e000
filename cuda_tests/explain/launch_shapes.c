/*
 * Kernels of a file, of some pointers and a size, in the shapes that are asked for: 25 launches of each, one after
 * the other.
 *
 *   usage: launch_shapes FILE KERNEL:POINTERS:SIZE:GRID_X,GRID_Y:BLOCK_X,BLOCK_Y...
 */
#include "cuda_tests/check.h"

#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 25, POINTERS_MAX = 7, BYTES = 1 << 22 };

static void launch(CUmodule module, CUdeviceptr *memory, const char *asked)
{
	unsigned pointers, grid[2], block[2];
	void *arguments[POINTERS_MAX + 1];
	char kernel[128];
	CUfunction function;
	int size;

	if (sscanf(asked, "%127[^:]:%u:%d:%u,%u:%u,%u", kernel, &pointers, &size, &grid[0], &grid[1], &block[0],
		   &block[1]) != 7 ||
	    pointers > POINTERS_MAX) {
		printf("not understood: %s\n", asked);
		exit(2);
	}
	for (unsigned i = 0; i < pointers; i++)
		arguments[i] = &memory[i];
	arguments[pointers] = &size;
	CHECK(cuModuleGetFunction(&function, module, kernel));
	for (int i = 0; i < REPEATS; i++) {
		CHECK(cuLaunchKernel(function, grid[0], grid[1], 1, block[0], block[1], 1, 0, NULL, arguments, NULL));
		CHECK(cuCtxSynchronize());
	}
}

int main(int argc, char **argv)
{
	CUdeviceptr memory[POINTERS_MAX];
	CUcontext context;
	CUmodule module;
	CUdevice device;

	if (argc < 3)
		return 2;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoad(&module, argv[1]));
	for (int i = 0; i < POINTERS_MAX; i++)
		CHECK(cuMemAlloc(&memory[i], BYTES));
	for (int i = 2; i < argc; i++)
		launch(module, memory, argv[i]);
	return 0;
}
