/*
 * Many threads with buffers of their own in CUPTI: each launches on its own stream without waiting, all at once, and
 * then sleeps while the main thread launches 2,000 kernels more.
 *
 *	crowd THREADS LAUNCHES [held]     launches of each thread; held: none runs before all have been made
 */
#include "awkward.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 256, LAUNCHES = 2000 };

static struct {
	struct awkward a;
	int launches, held;
	pthread_barrier_t begin, end;
	sem_t release;
} crowd;

static void CUDA_CB hold(void *unused)
{
	(void)unused;
	while (sem_wait(&crowd.release))
		;
}

static void *launch_and_sleep(void *unused)
{
	CUstream stream;

	CHECK(cuCtxSetCurrent(crowd.a.context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	pthread_barrier_wait(&crowd.begin);
	if (crowd.held)
		CHECK(cuLaunchHostFunc(stream, hold, NULL));
	for (int i = 0; i < crowd.launches; i++)
		CHECK(awkward_launch(&crowd.a, stream, 1));
	pthread_barrier_wait(&crowd.end);
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread;

	crowd.launches = argc > 2 ? atoi(argv[2]) : 1;
	crowd.held = argc > 3 && !strcmp(argv[3], "held");
	sem_init(&crowd.release, 0, 0);
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	awkward_start(&crowd.a);
	pthread_barrier_init(&crowd.begin, NULL, (unsigned)threads);
	pthread_barrier_init(&crowd.end, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, launch_and_sleep, NULL))
			return 2;
	pthread_barrier_wait(&crowd.end);
	for (int i = 0; i < threads; i++)
		sem_post(&crowd.release);
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(awkward_launch(&crowd.a, NULL, 1));
	CHECK(cuCtxSynchronize());
	return 0;
}
