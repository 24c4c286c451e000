/*
 * A program that launches each kernel of a module once, and then waits. Arguments: the module's file, the number of its
 * kernels, which are called k0, k1, …, and the seconds that it waits.
 */
#include "cuda_tests/awkward/awkward.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	struct awkward a;
	void *parameters[] = {&a.memory};
	char name[32];
	CUfunction kernel;
	CUmodule module;

	if (argc < 4)
		return 2;
	awkward_start(&a);
	CHECK(cuModuleLoad(&module, argv[1]));
	for (int i = 0; i < atoi(argv[2]); i++) {
		snprintf(name, sizeof(name), "k%d", i);
		CHECK(cuModuleGetFunction(&kernel, module, name));
		CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
	}
	CHECK(cuCtxSynchronize());
	sleep((unsigned)atoi(argv[3]));
	return 0;
}
