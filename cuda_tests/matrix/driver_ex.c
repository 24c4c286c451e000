/* cuLaunchKernelEx: no attribute, a priority, cooperative, and clusters where the device has them. */
#include "driver.h"

#define CLUSTERS_MAJOR 9 /* compute capability from which there are clusters */

static int clusters;

static void launch(int i, struct buffer *buffer, CUstream stream)
{
	int d = i % 7;
	void *args[] = {&buffer->device, &buffer->n, &d};
	CUlaunchAttribute attribute[2] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY}};
	CUlaunchConfig config = {.gridDimX = 16,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 256,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .hStream = stream,
				 .attrs = attribute};
	CUfunction kernel = driver_kernels.add;

	switch (i / 4 % 4) {
	case 0:
		break;
	case 1:
		config.numAttrs = 1;
		break;
	case 2:
		attribute[1] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
		config.numAttrs = 2;
		kernel = driver_kernels.add_together;
		break;
	default:
		attribute[1] =
		    (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}};
		config.numAttrs = clusters ? 2 : 1;
	}
	CHECK(CALL_NTH(i, cuLaunchKernelEx)(&config, kernel, args, NULL));
	buffer->expected += d;
}

static long work(int launches)
{
	return driver_work(launches, launch);
}

int main(int argc, char **argv)
{
	CUdevice device;
	int major;

	driver_start();
	CHECK(CALL(cuDeviceGet)(&device, 0));
	CHECK(CALL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
	clusters = major >= CLUSTERS_MAJOR;
	return program_run(argc, argv, 1000, work);
}
