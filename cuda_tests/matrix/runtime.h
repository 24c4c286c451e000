/*
 * What the programs that use the CUDA runtime share: a buffer with its expected
 * contents, and a loop that launches half of its kernels on a stream of its own and
 * half on the default stream.
 */
#ifndef RUNTIME_H
#define RUNTIME_H

#include "program.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BUFFER_INTS 4096

struct buffer {
	int *device;
	int n;
	int expected; /* in every element */
};

#define CHECK(call) runtime_check((call), #call)
void runtime_check(cudaError_t error, const char *call);

void buffer_make(struct buffer *buffer); /* zeros */
/* After all work on it is done: frees it; where the device computes, checks its contents first. */
void buffer_finish(struct buffer *buffer);

/* The ith launch: adds some d to every element of the buffer, in stream. */
typedef void launch_function(int i, struct buffer *buffer, cudaStream_t stream);
/* For program_run(): launches kernels with launch, checks what they computed. Returns the number of launches. */
long runtime_work(int launches, launch_function *launch);

/* runtime_work() that launches `add` with cudaLaunchKernel. */
long runtime_add(int launches);

#ifdef __cplusplus
}
#endif

#endif
