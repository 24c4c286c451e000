#include "runtime.h"
#include "kernels.h"

#include <stdlib.h>

void runtime_check(cudaError_t error, const char *call)
{
	if (error)
		program_fail("%s: %s", call, cudaGetErrorString(error));
}

void buffer_make(struct buffer *buffer)
{
	buffer->n = BUFFER_INTS;
	buffer->expected = 0;
	CHECK(cudaMalloc((void **)&buffer->device, BUFFER_INTS * sizeof(int)));
	CHECK(cudaMemset(buffer->device, 0, BUFFER_INTS * sizeof(int)));
	CHECK(cudaStreamSynchronize(NULL)); /* not the device: another thread may be capturing */
}

static bool device_computes(void)
{
	static _Thread_local struct cudaDeviceProp properties; /* too large for a stack frame */
	int device;

	CHECK(cudaGetDevice(&device));
	CHECK(cudaGetDeviceProperties(&properties, device));
	return program_computes(properties.name);
}

void buffer_finish(struct buffer *buffer)
{
	static _Thread_local int host[BUFFER_INTS];

	CHECK(cudaMemcpy(host, buffer->device, sizeof(host), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(buffer->device));
	if (!device_computes())
		return;
	for (int i = 0; i < BUFFER_INTS; i++) {
		if (host[i] != buffer->expected)
			program_fail("element %d is %d, not %d", i, host[i], buffer->expected);
	}
}

long runtime_work(int launches, launch_function *launch)
{
	struct buffer own, common;
	cudaStream_t stream;

	buffer_make(&own);
	buffer_make(&common);
	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < launches; i++)
		launch(i, i % 2 ? &common : &own, i % 2 ? NULL : stream);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaStreamSynchronize(NULL));
	CHECK(cudaStreamDestroy(stream));
	buffer_finish(&own);
	buffer_finish(&common);
	return launches;
}

static void launch_add(int i, struct buffer *buffer, cudaStream_t stream)
{
	int d = i % 5;
	void *args[] = {&buffer->device, &buffer->n, &d};

	CHECK(cudaLaunchKernel((const void *)add, (dim3){16, 1, 1}, (dim3){256, 1, 1}, args, 0, stream));
	buffer->expected += d;
}

long runtime_add(int launches)
{
	return runtime_work(launches, launch_add);
}
