/* cudaLaunchKernel, with and without dynamic shared memory. */
#include "kernels.h"
#include "runtime.h"

static void launch(int i, struct buffer *buffer, cudaStream_t stream)
{
	int d = i % 7;
	void *args[] = {&buffer->device, &buffer->n, &d};

	if (i % 4 < 2)
		CHECK(cudaLaunchKernel((const void *)add, (dim3){32, 1, 1}, (dim3){128, 1, 1}, args, 0, stream));
	else
		CHECK(cudaLaunchKernel((const void *)add_shared, (dim3){8, 1, 1}, (dim3){512, 1, 1}, args,
				       512 * sizeof(int), stream));
	buffer->expected += d;
}

static long work(int launches)
{
	return runtime_work(launches, launch);
}

int main(int argc, char **argv)
{
	return program_run(argc, argv, 1000, work);
}
