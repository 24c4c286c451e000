/*
 * More names than there is room for: opens a range of a name of its own, a range "inner" in it, and launches in that:
 *
 *	names COUNT    the launches of the first 1,000 ranges and of every 1,000th
 */
#include "cuda_tests/awkward/awkward.h"

#include <nvtx3/nvToolsExt.h>

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	struct awkward a;
	char name[64];

	awkward_start(&a);
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "iteration %d of many", i);
		nvtxRangePushA(name);
		nvtxRangePushA("inner");
		if (i < 1000 || i % 1000 == 0)
			CHECK(awkward_launch(&a, NULL, 1));
		nvtxRangePop();
		nvtxRangePop();
	}
	CHECK(cuCtxSynchronize());
	return 0;
}
