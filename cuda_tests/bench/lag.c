/*
 * A program that never synchronises: it launches kernels at an even rate and always has one in flight, and leaves
 * without waiting. scripts/lag finds in the database how soon each measurement was used by a prediction.
 *
 *	lag RATE LAUNCHES [EVERY]     launches per second; how many; after so many a new launch shape
 *
 * Two streams take turns, and a kernel takes three halves of the time between two launches. Its second argument is
 * that time in microseconds: with SIMCUDA_COSTS a line like "*awkward* 1410*a1 0" makes it so on the simulated device
 * (1.41 GHz).
 */
#include "cuda_tests/awkward/awkward.h"

#include <time.h>

#ifndef SPIN_S
#define SPIN_S 1e-3 /* the end of a wait, spent looking at the clock: a sleep ends late */
#endif

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_until(double s)
{
	double left_s;

	while ((left_s = s - now_s()) > 0) {
		struct timespec t = {0, (long)(left_s * (SPIN_S > 0 ? 0.9e9 : 1e9)) + !(SPIN_S > 0)};

		if (left_s > SPIN_S)
			nanosleep(&t, NULL);
	}
}

int main(int argc, char **argv)
{
	double rate = argc > 1 ? atof(argv[1]) : 1000, start_s;
	int launches = argc > 2 ? atoi(argv[2]) : 3000, us = (int)(1.5e6 / rate);
	int every = argc > 3 ? atoi(argv[3]) : launches + 1;
	struct awkward a;
	CUstream streams[2];
	void *parameters[] = {&a.memory, &us};

	awkward_start(&a);
	for (int i = 0; i < 2; i++)
		CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	start_s = now_s();
	for (int i = 0; i < launches; i++) {
		wait_until(start_s + i / rate);
		CHECK(cuLaunchKernel(a.kernel, 1 + (unsigned)(i / every), 1, 1, 128, 1, 1, 0, streams[i % 2],
				     parameters, NULL));
	}
	printf("%.0f launches per second\n", launches / (now_s() - start_s));
	return 0;
}
