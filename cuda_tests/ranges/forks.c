/*
 * Forks within a range, before anything of CUDA, while another thread opens new ones all the time. Parent and child
 * launch in what was open, the parent 2 kernels and the child 3, and then the child leaves the range and launches one.
 */
#include "cuda_tests/awkward/awkward.h"

#include <nvtx3/nvToolsExt.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int stops;

static void *open_many(void *unused)
{
	char name[32];

	for (int i = 0; !stops && i < 20000; i++) {
		snprintf(name, sizeof(name), "other %d", i);
		nvtxRangePushA(name);
		nvtxRangePop();
	}
	return unused;
}

static void launch(int count)
{
	struct awkward a;

	awkward_start(&a);
	for (int i = 0; i < count; i++)
		CHECK(awkward_launch(&a, NULL, 1));
	CHECK(cuCtxSynchronize());
}

int main(void)
{
	pthread_t thread;
	int status;
	pid_t child;

	nvtxRangePushA("before");
	if (pthread_create(&thread, NULL, open_many, NULL))
		return 2;
	usleep(1000);
	child = fork();
	if (child == 0) {
		nvtxRangePushA("child");
		launch(3);
		nvtxRangePop();
		nvtxRangePop();
		launch(1);
		return 0;
	}
	nvtxRangePushA("parent");
	launch(2);
	stops = 1;
	pthread_join(thread, NULL);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
