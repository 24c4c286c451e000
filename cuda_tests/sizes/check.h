/* What the programs here share: a call of the runtime that fails ends the program, which says why. */
#ifndef CHECK_H
#define CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		cudaError_t error = (call);                                                                            \
		if (error != cudaSuccess) {                                                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                                 \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
