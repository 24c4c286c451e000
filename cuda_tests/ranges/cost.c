/*
 * What a range takes: pushes and pops one of a few names, 3 deep, and prints the nanoseconds of a push with its pop.
 *
 *	cost [LAUNCHING]    with it: after cuInit and a launch, so that it is recorded
 */
#include "cuda_tests/awkward/awkward.h"

#include <nvtx3/nvToolsExt.h>

#include <time.h>

enum { BATCHES = 41, RANGES = 20000 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"aten::addmm", "aten::convolution_backward", "forward", "loss"};
	double taken[BATCHES];
	struct awkward a;

	(void)argv;
	if (argc > 1) {
		awkward_start(&a);
		CHECK(awkward_launch(&a, NULL, 1));
	}
	nvtxRangePushA("main");
	nvtxRangePushA("step");
	for (int batch = 0; batch < BATCHES; batch++) {
		double began = now_ns();

		for (int i = 0; i < RANGES; i++) {
			nvtxRangePushA(names[i % 4]);
			nvtxRangePop();
		}
		taken[batch] = (now_ns() - began) / RANGES;
	}
	qsort(taken, BATCHES, sizeof(*taken), by_value);
	printf("%.1f\n", taken[BATCHES / 2]);
	return 0;
}
