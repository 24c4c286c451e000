/*
 * A program that goes on in the same way for some time, and in another from one moment on.
 *
 *	steady RATE LAUNCHES US [AT US [BLOCKS]]
 *
 * LAUNCHES kernels of one block at RATE per second, which take US microseconds each; from launch AT on the second time
 * and BLOCKS blocks. SIMCUDA_COSTS needs a line like "*awkward* 1410*a1 0" for that (1.41 GHz). The code of the kernel
 * does not tell what its argument means.
 *
 *	steady worker
 *
 * A thread works for 50 ms of processor time while the first one sleeps for a second at a time: how many seconds that
 * takes by the clock, which stands while a thread has something to do, is printed.
 */
#include "awkward.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <string.h>
#include <time.h>

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
		struct timespec t = {0, (long)(left_s * 1e9)};

		nanosleep(&t, NULL);
	}
}

static void *work(void *done)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 50000000);
	atomic_store((atomic_bool *)done, true);
	return NULL;
}

static int sleep_while_another_works(void)
{
	static const struct timespec second = {1, 0};
	double start_s = now_s();
	atomic_bool done = false;
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &done))
		return 1;
	while (!atomic_load(&done))
		nanosleep(&second, NULL);
	pthread_join(thread, NULL);
	printf("%.0f\n", now_s() - start_s);
	return 0;
}

int main(int argc, char **argv)
{
	double rate = argc > 3 ? atof(argv[1]) : 0, start_s;
	int launches = argc > 3 ? atoi(argv[2]) : 0, at = argc > 5 ? atoi(argv[4]) : launches;
	struct awkward a;

	if (argc == 2 && strcmp(argv[1], "worker") == 0)
		return sleep_while_another_works();
	if (rate <= 0)
		return 2;
	awkward_start(&a);
	start_s = now_s();
	for (int i = 0; i < launches; i++) {
		int us = atoi(argv[i < at ? 3 : 5]);
		unsigned blocks = i >= at && argc > 6 ? (unsigned)atoi(argv[6]) : 1;
		void *parameters[] = {&a.memory, &us};

		wait_until(start_s + i / rate);
		CHECK(cuLaunchKernel(a.kernel, blocks, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
	}
	CHECK(cuCtxSynchronize());
	return 0;
}
