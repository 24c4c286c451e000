/* cudaLaunchCooperativeKernel. */
#include "kernels.h"
#include "runtime.h"

static void launch(int i, struct buffer *buffer, cudaStream_t stream)
{
	int d = i % 7;
	void *args[] = {&buffer->device, &buffer->n, &d};

	CHECK(cudaLaunchCooperativeKernel((const void *)add_together, (dim3){i % 4 < 2 ? 16 : 32, 1, 1},
					  (dim3){256, 1, 1}, args, 0, stream));
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
