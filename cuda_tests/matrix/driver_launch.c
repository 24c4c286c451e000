/* cuLaunchKernel, with parameters as pointers and as one packed buffer. */
#include "driver.h"

struct packed { /* add_shared's parameters, as in memory */
	CUdeviceptr x;
	int n, d;
};

static void launch(int i, struct buffer *buffer, CUstream stream)
{
	int d = i % 7;
	void *args[] = {&buffer->device, &buffer->n, &d};
	struct packed packed = {buffer->device, buffer->n, d};
	size_t bytes = sizeof(packed);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			 CU_LAUNCH_PARAM_END};

	if (i % 3)
		CHECK(CALL_NTH(i, cuLaunchKernel)(driver_kernels.add, 32, 1, 1, 128, 1, 1, 0, stream, args, NULL));
	else
		CHECK(CALL_NTH(i, cuLaunchKernel)(driver_kernels.add_shared, 8, 1, 1, 512, 1, 1, 512 * sizeof(int),
						  stream, NULL, extra));
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
