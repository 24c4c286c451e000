/* cudaLaunchKernelExC: no attribute, a priority, cooperative, and clusters where the device has them. */
#include "kernels.h"
#include "runtime.h"

#define CLUSTERS_MAJOR 9 /* compute capability from which there are clusters */

static bool has_clusters(void)
{
	int device, major;

	CHECK(cudaGetDevice(&device));
	CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
	return major >= CLUSTERS_MAJOR;
}

static void launch(int i, struct buffer *buffer, cudaStream_t stream)
{
	int d = i % 7;
	void *args[] = {&buffer->device, &buffer->n, &d};
	cudaLaunchAttribute attribute[2] = {{.id = cudaLaunchAttributePriority}};
	cudaLaunchConfig_t config = {
	    .gridDim = {16, 1, 1}, .blockDim = {256, 1, 1}, .stream = stream, .attrs = attribute};
	const void *kernel = (const void *)add;

	switch (i / 2 % 4) {
	case 0:
		break;
	case 1:
		config.numAttrs = 1;
		break;
	case 2:
		attribute[1] = (cudaLaunchAttribute){.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
		config.numAttrs = 2;
		kernel = (const void *)add_together;
		break;
	default:
		attribute[1] =
		    (cudaLaunchAttribute){.id = cudaLaunchAttributeClusterDimension, .val.clusterDim = {2, 1, 1}};
		config.numAttrs = has_clusters() ? 2 : 1;
	}
	CHECK(cudaLaunchKernelExC(&config, kernel, args));
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
