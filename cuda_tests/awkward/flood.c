/*
 * Launches as fast as it can: threads that take seven sizes in turn, each on a stream of its own, and wait for their
 * work every 256 launches.
 *
 *	flood THREADS SECONDS
 *
 * Prints how many launches it made.
 */
#include "awkward.h"

#include <pthread.h>
#include <time.h>

enum { THREADS_MAX = 64, SIZES = 7, AHEAD = 256 };

extern void awkward_started(void) __attribute__((weak)); /* of exit_waits.so, if it is loaded */

static struct awkward a;
static double end_s;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *flood(void *launches)
{
	unsigned long *made = launches;
	CUstream stream;

	CHECK(cuCtxSetCurrent(a.context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	while (now_s() < end_s) {
		for (int i = 0; i < AHEAD; i++)
			CHECK(awkward_launch(&a, stream, 1 + (unsigned)(++*made % SIZES)));
		CHECK(cuStreamSynchronize(stream));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	unsigned long made[THREADS_MAX] = {0}, all = 0;
	pthread_t thread[THREADS_MAX];

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	awkward_start(&a);
	if (awkward_started)
		awkward_started();
	end_s = now_s() + atof(argv[2]);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, flood, &made[i]))
			return 3;
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		all += made[i];
	}
	printf("%lu\n", all);
	return 0;
}
