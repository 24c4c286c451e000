/* Launches 80 kernels, 20 ms apart, and waits for each: with cuStreamSynchronize, or with what is named. */
#include "cuda_tests/awkward/awkward.h"

#include <string.h>
#include <unistd.h>

enum { LAUNCHES = 80, APART_US = 20000 };

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "stream";
	struct awkward a;
	CUevent ended;
	char copy[4];

	awkward_start(&a);
	CHECK(cuEventCreate(&ended, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < LAUNCHES; i++) {
		CHECK(awkward_launch(&a, NULL, 1));
		if (!strcmp(how, "event")) {
			CHECK(cuEventRecord(ended, NULL));
			CHECK(cuEventSynchronize(ended));
		} else if (!strcmp(how, "context")) {
			CHECK(cuCtxSynchronize());
		} else if (!strcmp(how, "copy")) {
			CHECK(cuMemcpyDtoH(copy, a.memory, sizeof(copy)));
		} else {
			CHECK(cuStreamSynchronize(NULL));
		}
		usleep(APART_US);
	}
	return 0;
}
