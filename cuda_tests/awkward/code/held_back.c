/*
 * A program that says when the code of its kernels is read. Does what lines on standard input say:
 *
 *   hold        no code is read from here on, until
 *   read        it is again
 *   sleep MS    does nothing for so many milliseconds
 *   launch KERNEL N BLOCKS                  launches the kernel
 *   graph KERNEL N BLOCKS[, ...]            makes a graph of these launches, one after another, in place of the last
 *   graphs N    launches the graph N times
 *   sync        waits for all that was launched
 *
 * What a thread does of kernel `plain` depends on no argument, `loops` does N additions; `large` and `large_loops` do
 * the same and take 2,000 bytes of arguments more. CUDA is initialised by the first line that needs it.
 *
 * Code is held back where the thread that reads it asks how long it has worked, as it does before each of its steps.
 */
#include "cuda_tests/awkward/awkward.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"
#define PARAMS ".param .u64 p0, .param .u32 p1"
#define LARGE PARAMS ", .param .align 4 .b8 p2[2000]"
#define NOTHING ")\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [p1];\nret;\n}\n"
#define LOOP                                                                                                           \
	")\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\nld.param.u32 %r1, [p1];\nmov.u32 %r2, 0;\n"                        \
	"again:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra again;\nret;\n}\n"

static const char ptx[] = HEAD ".visible .entry plain(" PARAMS NOTHING ".visible .entry loops(" PARAMS LOOP
			       ".visible .entry large(" LARGE NOTHING ".visible .entry large_loops(" LARGE LOOP;

static const char *const names[] = {"plain", "loops", "large", "large_loops"};
enum { KERNELS = sizeof(names) / sizeof(*names) };

static CUfunction kernels[KERNELS];
static CUdeviceptr memory;
static CUstream stream;
static CUgraphExec graph;

static _Atomic int held;

static int reads_code(void)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	return !strcmp(name, "kerncast-code");
}

/* In place of the C library's, for every library of the process. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
	while (clock == CLOCK_THREAD_CPUTIME_ID && held && reads_code())
		usleep(100);
	return (int)syscall(SYS_clock_gettime, clock, time);
}

static void need_cuda(void)
{
	struct awkward a;
	CUmodule module;

	if (memory)
		return;
	awkward_start(&a);
	memory = a.memory;
	CHECK(cuModuleLoadData(&module, ptx));
	for (int i = 0; i < KERNELS; i++)
		CHECK(cuModuleGetFunction(&kernels[i], module, names[i]));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

/* text: KERNEL N BLOCKS. */
static void launch(const char *text)
{
	static char large[2000];
	char name[16];
	unsigned blocks;
	int n, kernel = 0;
	void *parameters[] = {&memory, &n, large};

	if (sscanf(text, "%15s %d %u", name, &n, &blocks) != 3)
		exit(2);
	while (kernel < KERNELS && strcmp(names[kernel], name))
		kernel++;
	if (kernel == KERNELS)
		exit(2);
	CHECK(cuLaunchKernel(kernels[kernel], blocks, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
}

static void make_graph(const char *text)
{
	CUgraph made;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (; text; text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL)
		launch(text);
	CHECK(cuStreamEndCapture(stream, &made));
	CHECK(cuGraphInstantiate(&graph, made, 0));
}

static void launch_graphs(int count)
{
	for (int i = 0; i < count; i++)
		CHECK(cuGraphLaunch(graph, stream));
}

static void obey(const char *what, const char *rest)
{
	if (!strcmp(what, "hold") || !strcmp(what, "read"))
		held = !strcmp(what, "hold");
	else if (!strcmp(what, "sleep"))
		usleep(1000 * (useconds_t)atoi(rest));
	else
		need_cuda();
	if (!strcmp(what, "launch"))
		launch(rest);
	else if (!strcmp(what, "graph"))
		make_graph(rest);
	else if (!strcmp(what, "graphs"))
		launch_graphs(atoi(rest));
	else if (!strcmp(what, "sync"))
		CHECK(cuCtxSynchronize());
}

int main(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		size_t end;

		line[strcspn(line, "\n")] = 0;
		end = strcspn(line, " ");
		if (line[end])
			line[end++] = 0;
		obey(line, line + end);
	}
	held = 0;
	return 0;
}
