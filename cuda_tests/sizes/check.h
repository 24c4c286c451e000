/* If a call of the runtime fails, the program says why and ends. */
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
