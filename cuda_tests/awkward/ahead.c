/*
 * Launches 2,000 kernels on one stream, 256 ahead of the one that it waits for: there is
 * always one in flight. With "leave" the last 256 have 1,000 blocks instead of one, and
 * the program exits while they run.
 */
#include "awkward.h"

#include <string.h>

enum { LAUNCHES = 2000, AHEAD = 256 };

int main(int argc, char **argv)
{
	struct awkward a;
	CUevent ended[AHEAD];
	int leave = argc > 1 && !strcmp(argv[1], "leave");

	awkward_start(&a);
	for (int i = 0; i < AHEAD; i++)
		CHECK(cuEventCreate(&ended[i], CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < LAUNCHES; i++) {
		CHECK(cuEventSynchronize(ended[i % AHEAD]));
		CHECK(awkward_launch(&a, NULL, leave && i >= LAUNCHES - AHEAD ? 1000 : 1));
		CHECK(cuEventRecord(ended[i % AHEAD], NULL));
	}
	if (!leave)
		CHECK(cuCtxSynchronize());
	return 0;
}
