/* cuLaunchCooperativeKernel. */
#include "driver.h"

static void launch(int i, struct buffer *buffer, CUstream stream)
{
	int d = i % 7;
	void *args[] = {&buffer->device, &buffer->n, &d};

	CHECK(CALL_NTH(i, cuLaunchCooperativeKernel)(driver_kernels.add_together, i % 3 ? 16 : 32, 1, 1, 256, 1, 1, 0,
						     stream, args));
	buffer->expected += d;
}

static long work(int launches)
{
	return driver_work(launches, launch);
}

int main(int argc, char **argv)
{
	driver_start();
	return program_run(argc, argv, 1000, work);
}
