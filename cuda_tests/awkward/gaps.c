/*
 * Leaves a GPU idle for known reasons. usage: gaps BYTES MILLISECONDS [busy]
 *
 *   stream one        K           (sleep)          K
 *   stream two   K          K     (sleep)   C      C
 *
 * The second kernel of stream two waits for the first of stream one by an event; all else begins when the host has
 * waited for what comes before it. A copy (C) is of BYTES, the sleep takes MILLISECONDS. busy: it sleeps first, while
 * the kernels run, and then waits for them.
 */
#include "awkward.h"

#include <time.h>

static void sleep_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) < 0)
		;
}

int main(int argc, char **argv)
{
	struct awkward a;
	CUstream one, two;
	CUevent event;
	CUdeviceptr to;
	size_t bytes;
	void *from;

	if (argc < 3)
		return 2;
	bytes = strtoul(argv[1], NULL, 10);
	awkward_start(&a);
	CHECK(cuMemAlloc(&to, bytes));
	CHECK(cuMemAllocHost(&from, bytes));
	CHECK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK(awkward_launch(&a, two, 1));
	CHECK(cuCtxSynchronize());
	CHECK(awkward_launch(&a, one, 1));
	CHECK(cuEventRecord(event, one));
	CHECK(cuStreamWaitEvent(two, event, 0));
	CHECK(awkward_launch(&a, two, 1));
	if (argc > 3)
		sleep_ms(strtol(argv[2], NULL, 10));
	CHECK(cuCtxSynchronize());
	if (argc == 3)
		sleep_ms(strtol(argv[2], NULL, 10));
	CHECK(cuMemcpyHtoDAsync(to, from, bytes, two));
	CHECK(cuCtxSynchronize());
	CHECK(awkward_launch(&a, one, 1));
	CHECK(cuMemcpyHtoDAsync(to, from, bytes, two));
	CHECK(cuCtxSynchronize());
	puts("done");
	return 0;
}
