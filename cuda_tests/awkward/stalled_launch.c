/*
 * A thread loses its core in the middle of a launch, the first time that the
 * launch reads the clock. Meanwhile another thread launches something that
 * overlaps an earlier kernel, and waits for that kernel. Kernels take 300 ms
 * (SIMCUDA_COSTS says so), each on a stream of its own:
 *
 *   first    |--------------------|
 *   stalled      (its launch does not get on)   |--------------------|
 *   second          |--------------------|
 */
#include "awkward.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DECIDE_US 50000 /* long enough that deciding too early what the first one met would show */

enum { FIRST, STALLED, SECOND, STREAMS };

static struct awkward program;
static CUstream streams[STREAMS];
static _Atomic int go, stalling, resume;
static __thread int stall;

static void wait_for(_Atomic int *flag)
{
	while (!atomic_load(flag))
		usleep(100);
}

/* Found by every library of this process in place of the C library's. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t)
{
	int status = (int)syscall(SYS_clock_gettime, id, t);

	if (stall) {
		stall = 0;
		atomic_store(&stalling, 1);
		wait_for(&resume);
	}
	return status;
}

static void *launch_slowly(void *unused)
{
	(void)unused;
	CHECK(cuCtxSetCurrent(program.context));
	wait_for(&go);
	stall = 1;
	CHECK(awkward_launch(&program, streams[STALLED], 1));
	return NULL;
}

int main(void)
{
	pthread_t thread;

	awkward_start(&program);
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		CHECK(awkward_launch(&program, streams[i], 1));
	}
	CHECK(cuCtxSynchronize());
	pthread_create(&thread, NULL, launch_slowly, NULL);
	CHECK(awkward_launch(&program, streams[FIRST], 1));
	atomic_store(&go, 1);
	wait_for(&stalling);
	CHECK(awkward_launch(&program, streams[SECOND], 1));
	CHECK(cuStreamSynchronize(streams[FIRST]));
	usleep(DECIDE_US);
	atomic_store(&resume, 1);
	pthread_join(thread, NULL);
	CHECK(cuCtxSynchronize());
	return 0;
}
