/*
 * Does what lines on standard input say, and answers each with a line:
 *
 *   N         launches N kernels, on two streams in turn, copies some bytes and waits
 *   graphs N  launches the graph N times, and waits
 *   streams   has two new streams from here on; the old ones are destroyed
 *   graph     makes the graph, of three kernels
 *   handle    handles SIGUSR1 from here on
 *   ignore    ignores it
 *   signals   says how many it has handled
 *   slow      for the next line, reading the clock takes 20 ms on this thread
 *   child     says which signal ends a forked child that raises SIGUSR1
 *
 * CUDA is initialised by the first line that needs it.
 */
#include "cuda_tests/awkward/awkward.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct awkward a;
static CUstream streams[2];
static CUgraphExec graph;
static volatile sig_atomic_t handled;

static __thread int slow; /* 1: during this line */

/* In place of the C library's, for every library of the process. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (slow == 1)
		usleep(20000);
	return (int)syscall(SYS_clock_gettime, clock, time);
}

static void handle(int number)
{
	(void)number;
	handled++;
}

static void need_cuda(void)
{
	if (a.context)
		return;
	awkward_start(&a);
	for (int i = 0; i < 2; i++)
		CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
}

static void launch(long n)
{
	for (long i = 0; i < n; i++)
		CHECK(awkward_launch(&a, streams[i % 2], 32));
	CHECK(cuMemsetD8Async(a.memory, 0, 64, streams[0]));
	CHECK(cuCtxSynchronize());
}

static void renew_streams(void)
{
	for (int i = 0; i < 2; i++) {
		CHECK(cuStreamDestroy(streams[i]));
		CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	}
}

static void make_graph(void)
{
	CUgraph made;

	CHECK(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < 3; i++)
		CHECK(awkward_launch(&a, streams[0], 16));
	CHECK(cuStreamEndCapture(streams[0], &made));
	CHECK(cuGraphInstantiate(&graph, made, 0));
}

static void launch_graphs(long n)
{
	for (long i = 0; i < n; i++)
		CHECK(cuGraphLaunch(graph, streams[0]));
	CHECK(cuCtxSynchronize());
}

static int ended_by(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		raise(SIGUSR1);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		exit(3);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int obey(const char *line)
{
	if (!strcmp(line, "handle"))
		signal(SIGUSR1, handle);
	else if (!strcmp(line, "ignore"))
		signal(SIGUSR1, SIG_IGN);
	else if (!strcmp(line, "signals"))
		return (int)handled;
	else if (!strcmp(line, "slow"))
		slow = 3;
	else if (!strcmp(line, "child"))
		return ended_by();
	else
		need_cuda();
	if (!strcmp(line, "streams"))
		renew_streams();
	else if (!strcmp(line, "graph"))
		make_graph();
	else if (!strncmp(line, "graphs ", strlen("graphs ")))
		launch_graphs(atol(line + strlen("graphs ")));
	else if (atol(line))
		launch(atol(line));
	return 0;
}

int main(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		printf("%d\n", obey(line));
		fflush(stdout);
		slow >>= 1;
	}
	return 0;
}
